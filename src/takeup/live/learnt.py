"""What a policy has learnt about whom: the difference that a proposal makes, as it believes, over each covariate.

All of it is a function of the policy's beliefs about a unit, whatever its model: one covariate is varied, and the
others are those of a typical unit of the trial. What it believes comes from the policy's state, which does not grow
with history; how many decisions there were near each value, so that a reader knows where the model is all that there
is, comes from a tally.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.covariates import ONE, Category, Covariate, Measure, Profile
from takeup.covariates.kinds import Value
from takeup.evidence import Evidence
from takeup.live.model_checks import Withheld
from takeup.live.tally import Counts, Tally
from takeup.outcomes import Shown
from takeup.outcomes.grid import grid
from takeup.policies.beliefs import Beliefs, Exact
from takeup.policies.meeting import uses_covariates
from takeup.randomness import stream
from takeup.trial.book import Book

POINTS, LEAST_POINTS, MOST_PROFILES = 21, 5, 400
"""How many values of a measure are looked at, at most and at least, and how many units altogether where that allows."""
MOST_CONTEXTS = 24
"""How many contexts are looked at: those with the most decisions."""
MOST_DRAWS, LEAST_DRAWS, MOST_NUMBERS = 4_000, 500, 20_000_000
FEW_NEAR = 10
"""Where fewer decisions were made under either proposal, what is believed is what the model assumes."""
NEAR = 1 / 20
"""How far from a value, in parts of a measure's scale, a decision is near."""
_INNER, _OUTER = (0.1, 0.9), (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class BelievedDifference:
    """What a proposal is worth more than the first one to such a unit, in the outcome's own unit, as is believed.

    Attributes:
        proposal: which.
        mean: the posterior mean.
        low: the lower end of the 95 % credible interval.
        high: its upper end.
        inner_low: the lower end of the 80 % credible interval.
        inner_high: its upper end.
        decisions: how many near there had the first proposal, and this one.
        sparse: whether either is less than `few`.
    """

    proposal: str
    mean: float
    low: float
    high: float
    inner_low: float
    inner_high: float
    decisions: tuple[int, int]
    sparse: bool


@dataclass(frozen=True, slots=True)
class LearntPoint:
    """One value of a covariate.

    Attributes:
        value: a number of a measure, a level of a category; None where it is missing.
        decisions: how many there were with this value, or with one that is nearer to it than to its neighbours.
        differences: one for each proposal but the first.
    """

    value: str | int | float | None
    decisions: int
    differences: tuple[BelievedDifference, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Values in a row near which few were decided about.

    Attributes:
        proposal: which is compared with the first.
        first: the lowest value, or the one level; None where it is missing.
        last: the highest value, or the same again.
        decisions: how many from the one to the other had the first proposal, and this one.
        from_low: whether there is no value below that is not sparse.
        to_high: whether there is none above.
    """

    proposal: str
    first: str | int | float | None
    last: str | int | float | None
    decisions: tuple[int, int]
    from_low: bool = False
    to_high: bool = False


@dataclass(frozen=True, slots=True)
class LearntCovariate:
    """What is believed over one covariate, the others being those of the typical unit.

    Attributes:
        name: of the covariate.
        kind: which kind it is.
        unit: what a measure is measured in; may be empty.
        points: its values, from the low end on or level by level; a missing one is the last.
        sparse: where few were decided about.
        interacts: the covariates without which it cannot be told.
    """

    name: str
    kind: Literal["measure", "category"]
    unit: str
    points: tuple[LearntPoint, ...]
    sparse: tuple[Stretch, ...]
    interacts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LearntContext:
    """What is believed in one context.

    Attributes:
        context: its label.
        decisions: how many were made in it.
        typical: the value of each covariate of its typical unit: the mean of a measure, the commonest level.
        covariates: one entry each.
    """

    context: str
    decisions: int
    typical: dict[str, str | int | float | None]
    covariates: tuple[LearntCovariate, ...]


@dataclass(frozen=True, slots=True)
class Learnt:
    """What a policy has learnt about whom; unblinds.

    Attributes:
        policy: whose belief it is: no effect that was shown.
        reference: the first proposal, with which the others are compared.
        shown: how people are shown values; differences are in its unit, and below zero is better where its sign is -1.
        few: below so many decisions under either proposal, what is believed is what the model assumes.
        counted: in how many decisions it was counted who was near.
        contexts: those in which decisions were made, the ones with the most first.
    """

    policy: str
    reference: str
    shown: Shown
    few: int
    counted: int
    contexts: tuple[LearntContext, ...]


def learnt_of(book: Book, tally: Tally | None) -> Learnt | Withheld:
    """What the policy of a trial has learnt about whom, or why that cannot be told: a function of its arguments."""
    design, space = book.design, book.design.space
    if space.covariates is None or tally is None:
        return Withheld("the trial has no covariates")
    if design.refused is not None:
        return Withheld(f"this version does not decide by the policy: {design.refused}")
    if not uses_covariates(design.policy):
        return Withheld(f"{design.policy.name} learns nothing from covariates")
    look = _Look.of(book, tally)
    if isinstance(look.beliefs(Profile(0, look.features(look.typical(0)))), Exact):
        return Withheld(f"{design.policy.name} has no model of what a proposal is worth")
    made = look.evidence.decisions.sum(axis=(1, 2))
    order = [int(x) for x in np.argsort(-made, kind="stable")[:MOST_CONTEXTS] if made[x]]
    return Learnt(
        design.policy.name,
        space.proposals[0],
        space.outcome.shown,
        FEW_NEAR,
        tally.decisions,
        tuple(look.context(x, int(made[x]), len(order)) for x in order),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """A trial, its tally, its evidence and the state that its policy believes from."""

    book: Book
    tally: Tally
    evidence: Evidence
    state: Any

    @classmethod
    def of(cls, book: Book, tally: Tally) -> "_Look":
        design = book.design
        return cls(book, tally, Evidence(design.space, book.counts), design.state(book.seen_by(book.decisions + 1)))

    @property
    def kinds(self) -> dict[str, Covariate]:
        covariates = self.book.design.space.covariates
        assert covariates is not None  # there would be nothing to look at
        return dict(zip(covariates.names, covariates.kinds, strict=True))

    def features(self, values: dict[str, Value]) -> tuple[int, ...]:
        covariates = self.book.design.space.covariates
        assert covariates is not None  # likewise
        return covariates.features(values)

    def beliefs(self, unit: Profile) -> Beliefs:
        book = self.book
        return book.design.policy.beliefs(self.state, unit, stream(0, "learnt", book.trial, book.version))

    def context(self, x: int, decisions: int, contexts: int) -> LearntContext:
        """What is believed in one context of so many that are looked at."""
        typical, design = self.typical(x), self.book.design
        points = int(np.clip(MOST_PROFILES // (contexts * len(self.kinds)), LEAST_POINTS, POINTS))
        size = len(design.space.proposals) * len(self.features(typical)) * points * contexts * len(self.kinds)
        draws = int(np.clip(MOST_NUMBERS // size, LEAST_DRAWS, MOST_DRAWS))
        found = []
        for name, kind in self.kinds.items():
            counts, values = self.tally.at(x, name), _values(kind, points)
            drawn = [self.differences(x, {**typical, name: value}, draws) for value in values]
            found.append(self.covariate(name, kind, values, counts, drawn))
        return LearntContext(design.space.contexts[x], decisions, typical, tuple(found))

    def differences(self, x: int, values: dict[str, Value], draws: int) -> FloatArray:
        """Draws of what each proposal but the first is worth more to a unit, as people are shown it.

        The same random numbers for every unit, so that what is believed of two that are alike is alike.
        """
        book = self.book
        beliefs = self.beliefs(Profile(x, self.features(values)))
        worth = beliefs.values(stream(0, "learnt draws", book.trial, book.version), draws)
        return np.asarray(book.design.space.outcome.shown.sign * (worth[:, 1:] - worth[:, :1]))

    def covariate(
        self, name: str, kind: Covariate, values: Sequence[Value], counts: Counts, drawn: Sequence[FloatArray]
    ) -> LearntCovariate:
        """The points of one covariate."""
        proposals = self.book.design.space.proposals
        near = [_near(kind, value, counts, len(proposals)) for value in values]
        points = tuple(
            LearntPoint(value, own, _differences(proposals[1:], draws, around))
            for value, own, draws, around in zip(values, _nearest(values, counts), drawn, near, strict=True)
        )
        covariates = self.book.design.space.covariates
        pairs = () if covariates is None else covariates.interactions
        return LearntCovariate(
            name,
            "measure" if isinstance(kind, Measure) else "category",
            kind.unit if isinstance(kind, Measure) else "",
            points,
            tuple(_stretches(kind, proposals[1:], points, counts)),
            tuple(other for pair in pairs if name in pair for other in pair if other != name),
        )

    def typical(self, x: int) -> dict[str, Value]:
        """The typical unit of a context, from the sums of the evidence."""
        total = self.evidence.least_squares.summed((1, 2)).everybody[x, 0]
        found: dict[str, Value] = {}
        place = 1
        for name, kind in self.kinds.items():
            own = total[place : place + len(kind.parts)]
            found[name] = _typical(kind, own, float(total[0]))
            place += len(kind.parts)
        return found


def _typical(kind: Covariate, sums: FloatArray, many: float) -> Value:
    """The mean of those known of a measure, the commonest level of a category."""
    missing = float(sums[-1]) if kind.missing == "kept" else 0.0
    if isinstance(kind, Category):
        levels = [float(each) for each in sums[: len(kind.levels) - 1]]
        return kind.levels[int(np.argmax([many - missing - sum(levels), *levels]))]
    assert isinstance(kind, Measure)  # there are two kinds
    half = kind.unknown[0] / ONE
    known = many - missing
    mean = (float(sums[0]) - half * missing) / known if known > 0 else half
    points = grid(kind.low, kind.high, kind.step)
    return points.point(round(min(max(mean, 0.0), 1.0) * (points.size - 1)))


def _values(kind: Covariate, points: int) -> list[Value]:
    """The values that are looked at."""
    missing: list[Value] = [None] if kind.missing == "kept" else []
    if isinstance(kind, Category):
        return [*kind.levels, *missing]
    assert isinstance(kind, Measure)  # there are two kinds
    scale = grid(kind.low, kind.high, kind.step)
    steps = np.unique(np.round(np.linspace(0, scale.size - 1, min(points, scale.size))).astype(int))
    return [*(scale.point(int(step)) for step in steps), *missing]


def _apart(one: Value, other: Value) -> float:
    """How far apart two numbers are; what is none is near to none."""
    return abs(one - other) if isinstance(one, int | float) and isinstance(other, int | float) else np.inf


def _reach(kind: Measure) -> float:
    """How far away is still near."""
    return max(NEAR * (kind.high - kind.low), kind.step / 2) + 1e-9 * kind.step


def _near(kind: Covariate, value: Value, counts: Counts, proposals: int) -> IntArray:
    """How many decisions near a value had each proposal."""
    found = np.zeros(proposals, dtype=np.int64)
    if not isinstance(kind, Measure) or value is None:
        return found + counts.get(value, 0)
    return found + sum(n for other, n in counts.items() if _apart(other, value) <= _reach(kind))


def _nearest(values: Sequence[Value], counts: Counts) -> list[int]:
    """How many decisions belong to each value: its own, or those nearest to it; the lower of two."""
    found = [0] * len(values)
    for value, many in counts.items():
        place = values.index(value) if value in values else int(np.argmin([_apart(value, each) for each in values]))
        found[place] += int(many.sum())
    return found


def _differences(proposals: Sequence[str], draws: FloatArray, near: IntArray) -> tuple[BelievedDifference, ...]:
    ends = np.quantile(draws, (*_OUTER, *_INNER), axis=0)
    return tuple(
        BelievedDifference(
            label,
            float(draws[:, z].mean()),
            *(float(end) for end in ends[:, z]),
            (int(near[0]), int(near[z + 1])),
            bool(min(near[0], near[z + 1]) < FEW_NEAR),
        )
        for z, label in enumerate(proposals)
    )


def _stretches(
    kind: Covariate, proposals: Sequence[str], points: Sequence[LearntPoint], counts: Counts
) -> Iterator[Stretch]:
    """The values in a row of a measure, and the levels one by one, where few were decided about."""
    for z, label in enumerate(proposals):
        scale = [point for point in points if isinstance(kind, Measure) and point.value is not None]
        sparse = [point.differences[z].sparse for point in scale]
        for first in (i for i, few in enumerate(sparse) if few and (i == 0 or not sparse[i - 1])):
            last = next((i for i in range(first, len(sparse)) if not sparse[i]), len(sparse)) - 1
            assert isinstance(kind, Measure)  # only that has a scale
            low, high = _ends(kind, scale[first].value, scale[last].value)
            inside = [n for value, n in counts.items() if isinstance(value, int | float) and low <= value <= high]
            decisions = int(sum(n[0] for n in inside)), int(sum(n[z + 1] for n in inside))
            yield Stretch(label, low, high, decisions, first == 0, last == len(sparse) - 1)
        for point in points[len(scale) :]:
            if point.differences[z].sparse:
                yield Stretch(label, point.value, point.value, point.differences[z].decisions)


def _ends(kind: Measure, first: Value, last: Value) -> tuple[int | float, int | float]:
    """From where to where it is told of values in a row; of a single one, all that is near."""
    assert isinstance(first, int | float)  # a value of a measure
    assert isinstance(last, int | float)  # another
    if first != last:
        return first, last
    points = grid(kind.low, kind.high, kind.step)
    steps, here = int(_reach(kind) / kind.step), points.index(first)
    return points.point(max(here - steps, 0)), points.point(min(here + steps, points.size - 1))
