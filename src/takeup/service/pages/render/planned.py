"""What the planned reading says, for the head of a trial's page: read from its log as seldom as will do."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from takeup.live.findings import Findings
from takeup.log import Log
from takeup.trial.book import Book
from takeup.trial.stopping import FEW

SHORT = 5_000
"""Trials of so many decisions are read at every event, which takes a tenth of a second."""
GROWN = 1.02
"""Longer ones are read again when they have grown by this factor: reading then costs the same for every event."""
MOST_DECISIONS = 300_000
"""A longer trial is not read for its page."""
COMPARISONS = 3
"""How many comparisons with the control are told."""
KEPT = 128
"""How many trials are remembered."""

TOO_LONG = "What was planned to be read is not shown here for a trial of this size: it is under Analysis."


@dataclass(frozen=True, slots=True)
class PlannedReading:
    """What the planned reading says.

    Attributes:
        sentences: of each comparison.
        brief: the answer alone, for a list.
        decisions: from how many.
        sequence: of the last event that was read.
        over: whether nothing more was to come.
    """

    sentences: tuple[str, ...] = ()
    decisions: int = 0
    sequence: int = 0
    over: bool = False
    brief: str = ""


class PlannedReadings:
    """The latest of each trial, in the process that renders."""

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[str, str], PlannedReading] = OrderedDict()

    def of(self, database: str, book: Book, found: Findings, read: Callable[[], Log | None]) -> PlannedReading:
        """What the planned reading says of a trial.

        Args:
            database: where the trial is.
            book: the trial.
            found: what is known of it.
            read: gives its log; None where that cannot be read.
        """
        progress, name = found.summary.progress, (database, book.trial)
        if progress.outcomes_counted < FEW:
            return PlannedReading()
        last = self._found.get(name)
        if last is None or last.over != progress.over or book.sequence >= self._again(last):
            log = read() if book.decisions <= MOST_DECISIONS else None
            sentences, brief = _told(book, log, over=progress.over)
            last = PlannedReading(sentences, book.decisions, book.sequence, progress.over, brief)
            self._found[name] = last
        self._found.move_to_end(name)
        while len(self._found) > KEPT:
            self._found.popitem(last=False)
        return last

    @staticmethod
    def _again(last: PlannedReading) -> float:
        """From which event on the log is to be read again."""
        return due_again(last.decisions, last.sequence)


def due_again(decisions: int, sequence: int) -> float:
    """From which event on a trial of so many decisions is to be read again, that was read up to this one."""
    return sequence + 1 if decisions <= SHORT else GROWN * sequence


def _told(book: Book, log: Log | None, *, over: bool) -> tuple[tuple[str, ...], str]:
    """What is said at the head of the page, and in a list."""
    if log is None:
        return (TOO_LONG,), ""
    from takeup.analysis.headline import headline  # half a second, which pages without outcomes need not wait

    said = headline(log, book.design, finished=over, most=COMPARISONS)
    return tuple(said), said.brief
