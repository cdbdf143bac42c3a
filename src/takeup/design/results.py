"""What trials of a plan came to, and the figures that a protocol needs, each with its Monte Carlo error."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from takeup.checks import FloatArray, IntArray
from takeup.design.plan import Plan
from takeup.design.scenarios import NEARLY, Scenario
from takeup.design.statistics import statistic_of
from takeup.errors import MismatchError
from takeup.policies.judging import EQUIVALENT, FUTILE, MAXIMUM, SUPERIOR
from takeup.simulation.kernels.look_tables import LookOutput
from takeup.version import __version__

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number and its Monte Carlo error, the standard deviation that it has over other seeds."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: ArrayLike) -> "Figure":
        """The mean of what every trial has."""
        each = np.asarray(values, dtype=np.float64)
        return cls(float(each.mean()), float(each.std(ddof=1) / np.sqrt(each.size)) if each.size > 1 else float("nan"))

    def plain(self) -> dict[str, float]:
        """For machines."""
        return {"mean": self.mean, "error": self.error}


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Trials of a plan in one scenario.

    Attributes:
        plan: what was tried.
        scenario: its name.
        seed: the seed.
        replications: the numbers of the trials.
        kept: what is known of each.
        engine: whose draws they have, "cpu" or "gpu".
        version: the version of takeup.
    """

    plan: Plan
    scenario: str
    seed: int
    replications: IntArray
    kept: LookOutput
    engine: str = "cpu"
    version: str = __version__

    @property
    def truth(self) -> Scenario:
        """The scenario itself."""
        return self.plan.scenarios[self.scenario]

    @property
    def units(self) -> IntArray:
        """How many each trial randomised to each proposal; shape (R, K)."""
        return statistic_of(self.plan).units(self.kept.statistic)

    @property
    def rewards(self) -> FloatArray:
        """What the outcomes of each proposal are worth together in each trial; shape (R, K)."""
        return statistic_of(self.plan).rewards(self.kept.statistic)

    @property
    def size(self) -> IntArray:
        """How many each trial randomised."""
        return np.asarray(self.units.sum(axis=-1))

    @property
    def selected(self) -> IntArray:
        """The proposal that each trial would be followed by: the superior one, else that with the best mean."""
        middle = self.plan.design.space.reward.mean()
        mean = np.where(self.kept.dropped == 0, (self.rewards + 2 * middle) / (self.units + 2), -np.inf)
        best = mean.argmax(axis=-1)
        return np.asarray(np.where(self.kept.status == SUPERIOR, self.kept.chosen, best))

    @property
    def claimed(self) -> NDArray[np.bool_]:
        """Whether each trial called a proposal better than all others, or than the first control where there is one."""
        control, kept = self.plan.rules.control, self.kept
        superior = kept.status == SUPERIOR
        if control is None:
            return np.asarray(superior)
        return np.asarray((kept.chosen != control) & (superior | (kept.dropped[:, control] > 0)))

    def probability(self, status: int) -> Figure:
        """How often trials end so."""
        return Figure.of(self.kept.status == status)

    def superior(self, proposal: int) -> Figure:
        """How often this proposal is found superior."""
        return Figure.of((self.kept.status == SUPERIOR) & (self.kept.chosen == proposal))

    def by_look(self) -> list[Figure]:
        """How often trials end at each look."""
        return [Figure.of(self.kept.look == look) for look in range(self.plan.looks.at.size)]

    def ideal(self) -> Figure | None:
        """The ideal design percentage: how much of what there was to gain the selected proposal gives."""
        values = self.truth.values
        if np.ptp(values) <= NEARLY:
            return None
        return Figure.of(100 * (values[self.selected] - values.min()) / np.ptp(values))

    def metrics(self) -> dict[str, Any]:
        """All figures, for machines."""
        labels = self.plan.design.space.proposals
        size = self.size
        ideal = self.ideal()
        share = self.units / size[:, np.newaxis]
        worse = self.truth.values < self.truth.values.max() - NEARLY
        return {
            "size": {
                **Figure.of(size).plain(),
                "sd": float(size.std(ddof=1)) if size.size > 1 else float("nan"),
                "quantiles": {str(q): float(np.quantile(size, q)) for q in QUANTILES},
            },
            "claimed": Figure.of(self.claimed).plain(),
            "superior": self.probability(SUPERIOR).plain(),
            "equivalent": self.probability(EQUIVALENT).plain(),
            "futile": self.probability(FUTILE).plain(),
            "maximum": self.probability(MAXIMUM).plain(),
            "successes": Figure.of(self.rewards.sum(axis=-1)).plain(),
            "selected": {label: Figure.of(self.selected == k).plain() for k, label in enumerate(labels)},
            "superior_by_arm": {label: self.superior(k).plain() for k, label in enumerate(labels)},
            "dropped_by_arm": {label: Figure.of(self.kept.dropped[:, k] > 0).plain() for k, label in enumerate(labels)},
            "stopped_by_look": [figure.plain() for figure in self.by_look()],
            "share": {label: Figure.of(share[:, k]).plain() for k, label in enumerate(labels)},
            "on_worse": Figure.of(share[:, worse].sum(axis=1)).plain(),
            "ideal_design": None if ideal is None else ideal.plain(),
        }

    def __add__(self, other: "Outcomes") -> "Outcomes":
        mine, theirs = (
            (each.plan.content, each.scenario, each.seed, each.engine, each.version) for each in (self, other)
        )
        if mine != theirs:
            raise MismatchError("these are trials of two plans, scenarios, seeds, engines or versions")
        shared = np.intersect1d(self.replications, other.replications)
        if shared.size:
            raise MismatchError(f"{shared.size} trials are in both, number {shared[0]} for one")
        numbers = np.concatenate([self.replications, other.replications])
        order = np.argsort(numbers)
        pairs = zip(self.kept, other.kept, strict=True)
        kept = LookOutput(*(np.concatenate(pair)[order] for pair in pairs))
        return Outcomes(self.plan, self.scenario, self.seed, numbers[order], kept, self.engine)


def plain(outcomes: Mapping[str, Outcomes]) -> list[dict[str, Any]]:
    """All scenarios, for machines."""
    return [
        {
            "scenario": name,
            "role": each.truth.role,
            "replications": int(each.replications.size),
            "metrics": each.metrics(),
        }
        for name, each in outcomes.items()
    ]
