"""What a policy has learnt about whom, found out from its beliefs.

All of it is a function of what the policy believes of a unit, whatever its model: one covariate is varied, and the
others are those of a typical unit of the trial. What it believes comes from the policy's state, which does not grow
with history; how many decisions there were near each value, so that a reader knows where the model is all that there
is, comes from a tally.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.covariates import ONE, Category, Covariate, Measure, Profile
from takeup.covariates.kinds import Value
from takeup.evidence import Evidence
from takeup.live.learnt import BelievedDifference, Learnt, LearntContext, LearntCovariate, LearntPoint
from takeup.live.model_checks import Withheld
from takeup.live.nearby import FEW_NEAR, near, nearest, stretches
from takeup.live.tally import Counts, Tally
from takeup.outcomes.grid import grid
from takeup.policies.beliefs import Beliefs, Exact
from takeup.policies.meeting import uses_covariates
from takeup.randomness import stream
from takeup.trial.book import Book
from takeup.trial.models import state_with

POINTS, LEAST_POINTS, MOST_PROFILES = 21, 5, 400
"""How many values of a measure are looked at, at most and at least, and how many units altogether where that allows."""
MOST_CONTEXTS = 24
"""How many contexts are looked at: those with the most decisions."""
MOST_DRAWS, LEAST_DRAWS, MOST_NUMBERS = 4_000, 500, 20_000_000
_INNER, _OUTER = (0.1, 0.9), (0.025, 0.975)


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
        state = state_with(design, book.seen_by(book.decisions + 1), book.models)
        return cls(book, tally, Evidence(design.space, book.counts), state)

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
        around = [near(kind, value, counts, len(proposals)) for value in values]
        points = tuple(
            LearntPoint(value, own, _differences(proposals[1:], draws, here))
            for value, own, draws, here in zip(values, nearest(values, counts), drawn, around, strict=True)
        )
        covariates = self.book.design.space.covariates
        pairs = () if covariates is None else covariates.interactions
        return LearntCovariate(
            name,
            "measure" if isinstance(kind, Measure) else "category",
            kind.unit if isinstance(kind, Measure) else "",
            points,
            tuple(stretches(kind, proposals[1:], points, counts)),
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


def _differences(proposals: Sequence[str], draws: FloatArray, near: IntArray) -> tuple[BelievedDifference, ...]:
    outer, inner = np.quantile(draws, _OUTER, axis=0), np.quantile(draws, _INNER, axis=0)
    return tuple(
        BelievedDifference(
            label,
            mean=float(draws[:, z].mean()),
            low=float(outer[0, z]),
            high=float(outer[1, z]),
            inner_low=float(inner[0, z]),
            inner_high=float(inner[1, z]),
            decisions=(int(near[0]), int(near[z + 1])),
            sparse=bool(min(near[0], near[z + 1]) < FEW_NEAR),
        )
        for z, label in enumerate(proposals)
    )
