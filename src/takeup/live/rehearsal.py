"""A rehearsal: what a spec would lead to, by the code that will decide, if people complied in one of three ways.

It runs in a process of its own, for a bounded time, and says on standard output how far it is.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from takeup import checks
from takeup.checks import FloatArray
from takeup.environment import Environment
from takeup.errors import InputError
from takeup.evidence import Evidence
from takeup.live.job_process import Say, attend
from takeup.live.scenarios import Scenario, scenarios
from takeup.live.simulated_units import SEEN, evenly, response
from takeup.live.time_series import time_series_of
from takeup.randomness import stream
from takeup.trial.book import Book
from takeup.trial.commands import Ask, DecideMany, perform
from takeup.trial.design import MICROSECONDS, Design
from takeup.trial.secret import Secret
from takeup.trial.steering import Move, created_event

FEWEST, MOST_PEOPLE = 20, 5_000
UPDATES = (10, 60)
"""How often the policy looks at the evidence in one run, at least and at most."""
RUNS = 200
WORTH = 10
"""How many runs of each scenario should fit in the time; the policy looks less often where they would not."""
POINTS = 20
DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """What to rehearse.

    Attributes:
        spec: the trial's.
        rates: see `scenarios`.
        people: how many there are in one run.
        per_day: how many come a day, which matters where outcomes have a window.
        seconds: how long all of it may take.
        runs: how many of each scenario, at most.
        seed: who the people are.
    """

    spec: dict[str, Any]
    rates: list[list[float]]
    people: int = 300
    per_day: float = 10.0
    seconds: float = 20.0
    runs: int = RUNS
    seed: int = 0

    def __post_init__(self) -> None:
        if not FEWEST <= checks.whole("people", self.people, least=1) <= MOST_PEOPLE:
            raise InputError("people", self.people, f"a number from {FEWEST} to {MOST_PEOPLE}")
        if not 0.01 <= self.per_day <= 1e6:
            raise InputError("per_day", self.per_day, "a number from 0.01 to a million")

    def run(self, say: Say) -> dict[str, Any]:
        """As many runs of each scenario as the time allows, at least one."""
        design = Design.of(self.spec)
        begun = time.monotonic()
        found = scenarios(design.space.without_covariates(), self.rates)
        batch = self._batch(design)
        tallies = [_Tally() for _ in found]
        run = 0
        while run < self.runs and (run == 0 or time.monotonic() - begun < self.seconds * run / (run + 1)):
            for tally, scenario in zip(tallies, found, strict=True):
                tally.add(self._once(design, scenario.environment, batch, run), scenario.environment)
            run += 1
            say(max(run / self.runs, (time.monotonic() - begun) / max(self.seconds, 1e-9)))
        shown = [tally.shown(scenario, self.people) for tally, scenario in zip(tallies, found, strict=True)]
        return {"people": self.people, "batch": batch, "runs": run, "scenarios": shown, "chart": _chart(design, shown)}

    def _batch(self, design: Design) -> int:
        """How many people are decided on the same evidence, so that enough runs fit in the time."""
        somebody = evenly(design.shown, 1, stream(self.seed, "somebody"))[0]
        met = 0 if somebody is None else design.shown.profile(somebody)
        design.policy.allocation(design.start, met, stream(self.seed, "warm"), design.spec.draws)
        begun = time.perf_counter()
        design.policy.allocation(design.start, met, stream(self.seed, "time"), design.spec.draws)
        cost = time.perf_counter() - begun
        updates = np.clip(self.seconds / (3 * WORTH * cost), *UPDATES)
        return max(1, int(np.ceil(self.people / updates)))

    def _once(self, design: Design, environment: Environment, batch: int, run: int) -> Book:
        """One trial from beginning to end, in memory."""
        space = design.space
        secret = Secret.new(f"{stream(self.seed, 'secret', run).integers(2**62):064x}")
        book = Book.begin(created_event("rehearsal", design, secret, 0, None), secret)
        perform(Move(state="running"), book, 0)
        who, fate, told = stream(self.seed, "people", run).random((3, self.people))
        contexts, seen = environment.meet(who), SEEN[design.spec.compliance]
        covariates = evenly(space, self.people, stream(self.seed, "covariates", run))
        many = design.spec.decisions == "many"
        for first in range(0, self.people, batch):
            at = round(first / self.per_day * DAY * MICROSECONDS)
            group = range(first, min(first + batch, self.people))
            units = tuple(
                Ask(
                    unit=str(i),
                    context=space.contexts[contexts[i]],
                    occasion="1" if many else None,
                    covariates=covariates[i],
                )
                for i in group
            )
            for i, decision in zip(group, perform(DecideMany(units=units), book, at), strict=True):
                perform(response(environment, decision, int(contexts[i]), fate[i], seen=told[i] < seen), book, at)
        return book


@dataclass(slots=True, eq=False)
class _Tally:
    """What the runs of one scenario came to."""

    regrets: list[float] = field(default_factory=list)
    proposed: list[FloatArray] = field(default_factory=list)
    late: list[FloatArray] = field(default_factory=list)

    def add(self, book: Book, environment: Environment) -> None:
        made = Evidence(book.design.space, book.counts).decisions.sum(axis=2)
        self.regrets.append(float((environment.regret() * made).sum()))
        points = time_series_of(book).overall
        edges = np.linspace(0, book.decisions, POINTS + 1)
        upto = np.array([[0] * made.shape[1], *np.cumsum([point.proposed for point in points], axis=0)], dtype=float)
        numbers = [0, *(point.last for point in points)]
        filled = np.stack([np.interp(edges, numbers, column) for column in upto.T], axis=1)
        shares = np.diff(filled, axis=0) / np.diff(edges)[:, np.newaxis]
        self.proposed.append(shares)
        self.late.append(shares[-POINTS // 4 :].mean(axis=0))

    def shown(self, scenario: Scenario, people: int) -> dict[str, Any]:
        environment, regrets = scenario.environment, np.array(self.regrets)
        error = float(regrets.std(ddof=1) / np.sqrt(regrets.size)) if regrets.size > 1 else None
        course = np.mean(self.proposed, axis=0)
        value = environment.context @ environment.value()
        return {
            "name": scenario.name,
            "words": scenario.words,
            "regret": float(regrets.mean()),
            "error": error,
            "even": float(people * environment.context @ environment.regret().mean(axis=1)),
            "value": value.tolist(),
            "share": course.mean(axis=0).tolist(),
            "late": np.mean(self.late, axis=0).tolist(),
            "course": course.tolist(),
        }


def _chart(design: Design, shown: Sequence[dict[str, Any]]) -> str | None:
    from takeup import charts

    if not charts.available():
        return None
    people = np.linspace(0, 1, POINTS + 1)[1:]
    records = [
        {"panel": each["name"], "proposal": label, "people": float(at), "share": row[z]}
        for each in shown
        for at, row in zip(people, each["course"], strict=True)
        for z, label in enumerate(design.space.proposals)
    ]
    words = "; ".join(
        f"{each['name']}: "
        + ", ".join(f"{label} {share:.0%}" for label, share in zip(design.space.proposals, each["late"], strict=True))
        for each in shown
    )
    drawn = charts.shares(records, "trial so far", percent=True)
    return charts.inline(drawn, "rehearsal", f"Share of each proposal over the trial. In the last quarter: {words}.")


def main() -> None:
    """Do what standard input says."""
    attend(lambda content, say: Rehearsal(**content).run(say))


if __name__ == "__main__":
    main()
