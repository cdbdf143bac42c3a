"""The process that renders: it takes tasks from its standard input until that ends."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from takeup.live.estimates import Estimate
from takeup.live.findings import Findings, findings_of, leader_of
from takeup.live.log import log_of
from takeup.live.model_checks import Withheld
from takeup.live.summary import GroupSummary
from takeup.live.tally import Tally, tally_of
from takeup.log import Log
from takeup.outcomes.base import Shown
from takeup.pipes import lower_priority, packed, standard, unpacked
from takeup.service.pages import sentences
from takeup.service.pages.render.planned import SHORT, PlannedReading, PlannedReadings
from takeup.service.pages.render.process import Brief, Rendered, RenderTask
from takeup.service.pages.render.tallies import Tallies
from takeup.service.pages.templates import count, render
from takeup.service.pages.trial_charts import known_in, page_charts, readings, unread
from takeup.store import looking, reading
from takeup.trial.book import Book
from takeup.trial.spec import WordsTable
from takeup.trial.stopping import FEW, chance
from takeup.trial.wording import Wording

PLANNED, TALLIES = PlannedReadings(), Tallies()
MOST_CONTEXTS = 24
"""How many contexts have a table of their own."""


def render_trial(task: RenderTask) -> Rendered:
    """What pages show of a trial."""
    began = time.process_time()
    with _opened(task) as (book, late, read, counted):
        found = findings_of(book, late, TALLIES.of(task.database, book, counted) if task.full else None)
        wanted = task.full or book.decisions <= SHORT
        planned = PLANNED.of(task.database, book, found, read) if wanted else PlannedReading()
    return Rendered.of(
        dashboard(found, task.at, planned, book.design.spec.words) if task.full else "",
        sequence=book.sequence,
        at=task.at,
        lasts=not found.window,
        brief=Brief(sentences.brief(found, planned.brief), tuple(sentences.warnings(found))),
        seconds=time.process_time() - began,
        state=book.state,
    )


def dashboard(
    found: Findings, at: int, planned: PlannedReading = PlannedReading(), words: WordsTable = WordsTable()
) -> str:
    """The dashboard as HTML, led by what the planned reading says."""
    summary, wording = found.summary, Wording(words, found.space)
    how = wording.all(found.space.outcome.shown)
    contexts = summary.contexts if len(summary.contexts) > 1 else ()
    return render(
        "dashboard",
        found=found,
        progress=summary.progress,
        at=at,
        headlines=[_apart(each, planned.brief) for each in planned.sentences or (sentences.headline(found),)],
        behind=bool(planned.sentences) and planned.sequence < summary.progress.sequence,
        planned=planned,
        believed=sentences.believed(found, words),
        checks=wording.all(sentences.checks(found)),
        notes=[(each.kind, wording.told(sentences.disagreement(each))) for each in found.disagreements],
        words=words,
        charts=page_charts(found, how, words),
        unlearnt=found.learnt.reason if found.personal and isinstance(found.learnt, Withheld) else None,
        readings=readings(found, summary.overall),
        unread=unread(found),
        contexts=[_context(found, group) for group in contexts[:MOST_CONTEXTS]],
        contexts_left=max(0, len(contexts) - MOST_CONTEXTS),
        how=how,
        regret=sentences.regret(found, words),
        withheld=summary.overall.compliance.reason if isinstance(summary.overall.compliance, Withheld) else None,
    )


def _apart(sentence: str, answer: str) -> tuple[str, str, str]:
    """What stands before the answer, the answer, and what follows; a sentence without it is one by itself."""
    before, found, after = sentence.partition(answer) if answer else ("", "", "")
    return (before, found, after) if found else ("", sentence, "")


def _context(found: Findings, group: GroupSummary) -> dict[str, object]:
    leader = leader_of(group)
    columns, rows = readings(found, group)
    return {
        "label": group.context,
        "decisions": group.decisions,
        "leader": f"{leader.label}, {chance(leader.probability_best)}" if known_in(group) >= FEW else "",
        "regret": _sum(found.space.outcome.shown, group.regret),
        "columns": ("proposal", "decisions", *columns[1:]),
        "rows": [(row[0], count(each.decisions), *row[1:]) for row, each in zip(rows, group.proposals, strict=True)],
    }


def _sum(how: Shown, estimate: Estimate) -> str:
    """An estimate in units of the outcome, or of reward where it has none."""
    mean, low, high = (f"{each:,.{how.summed_digits}f}" for each in (estimate.mean, estimate.low, estimate.high))
    return f"{mean} ({low} to {high}) {how.unit}".rstrip()


@contextmanager
def _opened(task: RenderTask) -> Iterator[tuple[Book, int, Callable[[], Log | None], Callable[[], Tally | None]]]:
    """A trial, how many outcomes are late, what reads its log, and what counts who was met."""
    if task.book is not None:
        yield *task.book, lambda: task.log, lambda: task.tally
        return
    with looking(task.database) as connection:
        book, late = reading.snapshot(connection, task.trial), reading.late(connection, task.trial, task.at)
        yield book, late, lambda: log_of(connection, task.trial), lambda: tally_of(connection, task.trial, book.design)


def main() -> None:
    """Take tasks until the input closes, as it does when the service ends."""
    lower_priority()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the service, which ends this process
    tasks, answers = standard()
    with suppress(EOFError):
        while True:
            task: RenderTask = unpacked(tasks)
            try:
                answer: Rendered | str = render_trial(task)
            except Exception as error:  # the process stays, and the page says what happened
                answer = f"{type(error).__name__}: {error}"
            answers.write(packed(answer))
            answers.flush()


if __name__ == "__main__":
    main()
