"""What trials of a plan came to, and the figures that a protocol needs, each with its Monte Carlo error."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.design.estimates import Estimates
from takeup.design.figures import Figure as Figure
from takeup.design.plan import Plan
from takeup.design.scenarios import Scenario
from takeup.design.statistics import ByUnit, statistic_of
from takeup.errors import InputError, MismatchError
from takeup.policies.judging import EQUIVALENT, FUTILE, INFERIOR, MAXIMUM, SUPERIOR
from takeup.simulation.kernels.look_tables import NONE, LookOutput
from takeup.version import __version__

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
IMBALANCE = 0.1
"""A trial is imbalanced against the better arms where they have by more than this part fewer units than evenly."""
ENDS = {"superior": SUPERIOR, "equivalent": EQUIVALENT, "futile": FUTILE, "maximum": MAXIMUM}
"""How trials end."""
REASONS = {"inferior": INFERIOR, "equivalent": EQUIVALENT, "futile": FUTILE}
"""Why proposals are dropped."""
Inconclusive: TypeAlias = Literal["best", "control", "none"]
"""What is selected where nothing is superior: the best mean among those offered, the last control, or nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Trials of a plan in one scenario.

    Attributes:
        plan: what was tried.
        scenario: its name.
        seed: the seed.
        replications: the numbers of the trials.
        kept: what is known of each.
        engine: whose draws they have, "cpu", "gpu" or "reference".
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
    def against(self) -> int | None:
        """What proposals are compared with: the first control, else the first of two; None among more."""
        if self.plan.rules.control is not None:
            return self.plan.rules.control
        return 0 if len(self.plan.space.proposals) == 2 else None

    @property
    def selected(self) -> IntArray:
        """The proposal that each trial would be followed by: the superior one, else that with the best mean."""
        return self.selection()

    def selection(self, inconclusive: Inconclusive = "best") -> IntArray:
        """The proposal that each trial would be followed by: the superior one, else as agreed; -1 for none."""
        checks.one_of("inconclusive", inconclusive, get_args(Inconclusive))
        if inconclusive == "control":
            if self.plan.rules.control is None:
                raise InputError("inconclusive", "'control'", "best or none, as the plan has no control")
            return np.asarray(self.kept.chosen, dtype=np.int64)
        if inconclusive == "none":
            return np.where(self.kept.status == SUPERIOR, self.kept.chosen, NONE)
        mean = statistic_of(self.plan).means(self.kept.statistic)
        best = np.where(self.kept.dropped == 0, mean, -np.inf).argmax(axis=-1)
        return np.asarray(np.where(self.kept.status == SUPERIOR, self.kept.chosen, best))

    @property
    def claimed(self) -> NDArray[np.bool_]:
        """Whether each trial called a proposal better than all others, or than the first control where there is one."""
        control, kept = self.plan.rules.control, self.kept
        superior = kept.status == SUPERIOR
        if control is None:
            return np.asarray(superior)
        return np.asarray((kept.chosen != control) & (superior | (kept.dropped[:, control] > 0)))

    @property
    def different(self) -> NDArray[np.bool_]:
        """Whether each trial called a proposal better, or dropped one as worse: what is counted on two sides."""
        return np.asarray(self.claimed | (self.kept.reason == INFERIOR).any(axis=-1))

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether each trial claimed what is so: one of the best, or one better than the first control."""
        return np.asarray(self.claimed & self.truth.better(self.plan.rules.control)[self.kept.chosen])

    @property
    def one_sided(self) -> NDArray[np.bool_] | None:
        """Whether each trial called a proposal better than the control, or than the first of two."""
        if self.against is None:
            return None
        return np.asarray(self.claimed & (self.kept.chosen != self.against))

    @property
    def estimates(self) -> Estimates:
        """Naive differences from the control, or from the first proposal."""
        statistic = statistic_of(self.plan)
        return Estimates.of(statistic, self.kept.statistic, self.truth.values, self.against or 0)

    @property
    def imbalanced(self) -> NDArray[np.bool_]:
        """Whether the best proposals have by more than a tenth fewer units than they would have evenly."""
        best = self.truth.values >= self.truth.values.max() - self.truth.nearly
        evenly = self.size * best.mean()
        return np.asarray(self.units[:, best].sum(axis=1) < (1 - IMBALANCE) * evenly)

    def by_unit(self) -> dict[str, FloatArray] | None:
        """With covariates: how well proposals suited the units of each trial, (R,); None without.

        `best` is the share who had the proposal that is best for them, `inferior` how many had another, and `regret`
        what that cost them together. Where the policy makes nothing of covariates they are what is expected, given how
        many had each proposal.
        """
        if not self.truth.people:
            return None
        statistic = statistic_of(self.plan)
        best, regret = (self.units @ each for each in self.truth.by_unit)
        if isinstance(statistic, ByUnit):
            best = np.asarray(statistic.best(self.kept.statistic), dtype=np.float64)
            regret = statistic.regret(self.kept.statistic)
        return {"best": best / self.size, "inferior": self.size - best, "regret": regret}

    def each(self) -> dict[str, FloatArray]:
        """What every trial has of the figures that designs are compared by; shape (R,)."""
        worse = self.truth.values < self.truth.values.max() - self.truth.nearly
        return {
            "claimed": self.claimed.astype(np.float64),
            "right": self.right.astype(np.float64),
            "size": self.size.astype(np.float64),
            "successes": self.rewards.sum(axis=-1),
            "on_worse": self.units[:, worse].sum(axis=1) / self.size,
        }

    def probability(self, status: int) -> Figure:
        """How often trials end so."""
        return Figure.of(self.kept.status == status)

    def superior(self, proposal: int) -> Figure:
        """How often this proposal is found superior."""
        return Figure.of((self.kept.status == SUPERIOR) & (self.kept.chosen == proposal))

    def by_look(self, status: int | None = None) -> list[Figure]:
        """How often trials end at each look, in any way or in this one."""
        so = np.ones(self.kept.status.shape, dtype=bool) if status is None else self.kept.status == status
        return [Figure.of(so & (self.kept.look == look)) for look in range(self.plan.looks.at.size)]

    def ideal(self, inconclusive: Inconclusive = "best") -> Figure | None:
        """The ideal design percentage: how much of what there was to gain the selected proposal gives.

        Of the trials that select one; None where all are alike, or nothing is selected.
        """
        values, selected = self.truth.values, self.selection(inconclusive)
        some = selected != NONE
        if not self.truth.apart or not some.any():
            return None
        return Figure.of(100 * (values[selected[some]] - values.min()) / np.ptp(values))

    def metrics(self, inconclusive: Inconclusive = "best") -> dict[str, Any]:
        """All figures, for machines; trials without a superior proposal select what is agreed."""
        labels = self.plan.space.proposals
        size, each = self.size, self.each()
        share, selected = self.units / size[:, np.newaxis], self.selection(inconclusive)
        ideal, estimates, by_unit = self.ideal(inconclusive), self.estimates, self.by_unit()
        null = self.truth.role == "null"

        def by_arm(values: NDArray[Any]) -> dict[str, dict[str, float]]:
            return {label: Figure.of(values[:, k]).plain() for k, label in enumerate(labels)}

        def plain(values: NDArray[Any] | None, wanted: bool = True) -> dict[str, float] | None:
            return Figure.of(values).plain() if values is not None and wanted else None

        return {
            "size": {
                **Figure.of(size).plain(),
                "sd": float(size.std(ddof=1)) if size.size > 1 else None,
                "quantiles": {str(q): float(np.quantile(size, q)) for q in QUANTILES},
            },
            "claimed": plain(each["claimed"]),
            "type_one_error": {
                "any": plain(self.claimed),
                "one_sided": plain(self.one_sided),
                "two_sided": plain(self.different),
            }
            if null
            else None,
            "power": plain(self.right, self.truth.apart),
            **{name: self.probability(status).plain() for name, status in ENDS.items()},
            "successes": plain(each["successes"]),
            "inconclusive": inconclusive,
            "selected": {label: Figure.of(selected == k).plain() for k, label in enumerate(labels)},
            "superior_by_arm": {label: self.superior(k).plain() for k, label in enumerate(labels)},
            "dropped_by_arm": by_arm(self.kept.dropped > 0),
            "reasons_by_arm": {name: by_arm(self.kept.reason == reason) for name, reason in REASONS.items()},
            "stopped_by_look": [figure.plain() for figure in self.by_look()],
            "ends_by_look": {name: [f.plain() for f in self.by_look(status)] for name, status in ENDS.items()},
            "share": by_arm(share),
            "on_worse": plain(each["on_worse"]),
            **({} if by_unit is None else {"by_unit": {name: plain(found) for name, found in by_unit.items()}}),
            "imbalance": plain(self.imbalanced, self.truth.apart),
            "ideal_design": None if ideal is None else ideal.plain(),
            "naive_estimates": {
                "against": labels[estimates.against],
                "by_arm": {label: estimates.metrics(k) for k, label in enumerate(labels) if k != estimates.against},
            },
        }

    def __add__(self, other: "Outcomes") -> "Outcomes":
        mine, theirs = ((o.plan.content, o.scenario, o.seed, o.engine, o.version) for o in (self, other))
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
            "engine": each.engine,
            "metrics": each.metrics(),
        }
        for name, each in outcomes.items()
    ]
