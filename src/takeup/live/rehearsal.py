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
from takeup.errors import InputError, UnsuitableError
from takeup.evidence import Evidence
from takeup.families import Exponentials, Normals, Poissons
from takeup.live.job_process import Say, attend
from takeup.live.simulated_units import SEEN, response
from takeup.live.time_series import time_series_of
from takeup.outcomes import Count, Levels, Number, Outcome, Time
from takeup.randomness import stream
from takeup.space import Space
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
WORSE = 1 / 3
MOST_OUTCOMES = 20_000
POINTS = 20
DAY = 86_400


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """One way in which people may comply.

    Attributes:
        name: in a few words.
        words: in a sentence.
        environment: the truth.
    """

    name: str
    words: str
    environment: Environment


def scenarios(space: Space, rates: Sequence[Sequence[float]]) -> tuple[Scenario, ...]:
    """Three ways in which people may comply.

    Args:
        space: the trial's.
        rates: a row for each implemented action, the same in every context: the probability of each outcome level, or
            the numbers that `assumed_of` names.
    """
    outcome = _outcomes(space, rates)
    return (
        _followed(space, outcome, 0.95, "nearly all comply"),
        _followed(space, outcome, 0.70, "seven in ten comply"),
        _confounded(space, outcome),
    )


def assumed_of(outcome: Outcome) -> tuple[str, ...]:
    """What is assumed of the outcomes of an action, in words: the shares of levels but the first, or other numbers."""
    match outcome:
        case Levels():
            return outcome.names[1:]
        case Number():
            unit = f", {outcome.unit}" if outcome.unit else ""
            return (f"mean{unit}", f"standard deviation{unit}")
        case Count():
            return (f"mean count by {outcome.exposure}" if outcome.exposure else "mean count",)
        case Time():
            return (f"mean time, {outcome.unit}" if outcome.unit else "mean time",)
    raise UnsuitableError(f"nothing can be assumed of a {outcome.kind}")


def assumed(space: Space) -> list[list[float]]:
    """What to begin with: each action a little better than the one before."""
    actions, outcome = len(space.implemented), space.outcome
    good = np.linspace(-1, 1, actions) * (1.0 if getattr(outcome, "better", "higher") == "higher" else -1.0)
    match outcome:
        case Number():
            middle, width = (outcome.low + outcome.high) / 2, outcome.high - outcome.low
            return [[float(f"{middle + 0.05 * width * each:.4g}"), float(f"{width / 8:.4g}")] for each in good]
        case Count():
            return [[float(f"{outcome.most / outcome.longest / 5 * (1 + 0.2 * each):.4g}")] for each in good]
        case Time():
            return [[float(f"{outcome.longest / 2 * (1 + 0.2 * each):.4g}")] for each in good]
    levels = outcome.size
    order = np.argsort(np.argsort(space.reward, kind="stable"), kind="stable") / (levels - 1)
    tilt = np.linspace(-0.2, 0.2, actions)[:, np.newaxis] * (2 * order - 1)
    rates = (1 + tilt) / (1 + tilt).sum(axis=1, keepdims=True)
    rounded = [[round(float(p), 3) for p in row[1:]] for row in rates]
    return [[round(1 - sum(row), 6), *row] for row in rounded]


def _outcomes(space: Space, rates: Sequence[Sequence[float]]) -> FloatArray:
    """The distribution of the outcome under each action; shape (Ka, Y)."""
    outcome, actions = space.outcome, len(space.implemented)
    if isinstance(outcome, Levels):
        shares = checks.probabilities("rates", rates)
        checks.shaped("rates", shares, space.shape[2:], "implemented, outcome")
        return shares
    if outcome.size > MOST_OUTCOMES:
        allowed = f"at most {MOST_OUTCOMES:,} in a rehearsal"
        raise InputError("step", f"{outcome.size:,} different outcomes", allowed, "choose a larger step to rehearse it")
    given = checks.real("rates", rates)
    checks.shaped("rates", given, (actions, len(assumed_of(outcome))), "implemented, what is assumed")
    family: Normals | Poissons | Exponentials
    if isinstance(outcome, Number):
        family = Normals(given[:, 0], given[:, 1], outcome)
    elif isinstance(outcome, Count):
        family = Poissons(given[:, 0], outcome)
    else:
        family = Exponentials(given[:, 0]).worth(outcome)
    return np.asarray(family.table()[0])


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
        found = scenarios(design.space, self.rates)
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
        begun = time.perf_counter()
        design.policy.allocation(design.policy.start(design.space), 0, stream(self.seed, "warm"), design.spec.draws)
        begun = time.perf_counter()
        design.policy.allocation(design.policy.start(design.space), 0, stream(self.seed, "time"), design.spec.draws)
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
        many = design.spec.decisions == "many"
        for first in range(0, self.people, batch):
            at = round(first / self.per_day * DAY * MICROSECONDS)
            group = range(first, min(first + batch, self.people))
            units = tuple(
                Ask(unit=str(i), context=space.contexts[contexts[i]], occasion="1" if many else None) for i in group
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


def _followed(space: Space, outcome: FloatArray, share: float, name: str) -> Scenario:
    """Everybody complies with the same probability."""
    contexts, proposals, actions, _ = space.shape
    compliance = np.full((proposals, actions), (1 - share) / (actions - 1))
    compliance[np.arange(proposals), _meant(space)] = share
    joint = np.einsum("za,ay->zay", compliance, outcome)
    response = np.broadcast_to(joint, (contexts, *joint.shape))
    words = (
        f"{share:.0%} do what was proposed. Who does not is chance, and does any other thing with the same"
        " probability; outcomes depend on what was done alone."
    )
    return Scenario(name, words, Environment(space, np.full(contexts, 1 / contexts), response))


def _confounded(space: Space, outcome: FloatArray) -> Scenario:
    """Half comply; the others choose for themselves, and are not like those who comply."""
    _, proposals, actions, levels = space.shape
    share = [0.5, *[0.5 / actions] * actions]
    response = [list(_meant(space)), *[[a] * proposals for a in range(actions)]]
    worst = np.zeros(levels)
    worst[int(np.argmin(space.reward))] = 1.0
    others = (1 - WORSE) * outcome + WORSE * worst
    environment = Environment.from_types(space, share, response, np.stack([outcome, *[others] * actions]))
    words = (
        "Half do what was proposed. The other half do what they would do anyway, each action with the same"
        " probability, and they are other people: whatever they do, a third of them fare as badly as one can."
    )
    return Scenario("half comply, confounded", words, environment)


def _meant(space: Space) -> tuple[int, ...]:
    """What complying means; by position where the space does not say."""
    actions = len(space.implemented)
    return space.intended or tuple(z % actions for z in range(len(space.proposals)))


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
