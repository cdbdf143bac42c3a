"""The planned analysis in trials of a plan: how often it concludes, and how often its interval holds the truth.

`[analysis]` names what will be reported. Here trials of the plan are run one by one as they would go live, each leaves
a log, and the log is analysed by what `takeup analyse` would say of it: the power of a plan is then that of the figure
in its report, and its intervals have a coverage before anybody is asked.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from takeup import checks
from takeup.analysis.estimate import Estimate
from takeup.analysis.planned import Planned, planned_of
from takeup.analysis.readings import Readings
from takeup.checks import FloatArray
from takeup.design import reference
from takeup.design.bounded import reading_of
from takeup.design.figures import Figure
from takeup.design.plan import Plan
from takeup.environment import Environment
from takeup.errors import LabelError
from takeup.log import Log
from takeup.simulation.engine import Progress, silent
from takeup.trial.rules import BoundedTable

NEUTRAL = {"difference": 0.0}
"""What no effect is; 1 for ratios."""


@dataclass(frozen=True, slots=True, eq=False)
class Analysed:
    """The planned analysis of one proposal against the control, in trials of one scenario.

    Attributes:
        scenario: its name.
        proposal: the proposal.
        control: what it is compared with.
        planned: what was analysed.
        value: the estimate of each trial, (R,); NaN where there was none.
        low: the lower end of its interval; NaN where it was withheld.
        high: the upper end.
        p: of the planned test; NaN where there is none.
        truth: what the estimate is of, in each trial; NaN where nothing is, as with naive readings.
    """

    scenario: str
    proposal: str
    control: str
    planned: Planned
    value: FloatArray
    low: FloatArray
    high: FloatArray
    p: FloatArray
    truth: FloatArray

    @property
    def shown(self) -> NDArray[np.bool_]:
        """Whether there was an interval to be relied upon."""
        return np.isfinite(self.low) | np.isfinite(self.high)

    @property
    def concludes(self) -> NDArray[np.bool_]:
        """Whether the trial would report a difference: by its test where one is planned, else by its interval."""
        if self.planned.test:
            return np.asarray(self.p <= 1 - self.planned.level)
        neutral = NEUTRAL.get(self.planned.measure, 1.0)
        above = self.low > neutral
        return np.asarray(above | (self.high < neutral)) if self.planned.sided == 2 else above

    def plain(self) -> dict[str, Any]:
        """Figures with their Monte Carlo errors, for machines.

        Bias and RMSE are of trials with an estimate, and coverage of those whose interval was shown.
        """
        off = (self.value - self.truth)[np.isfinite(self.value - self.truth)]
        held = ((self.low <= self.truth) & (self.truth <= self.high))[self.shown & np.isfinite(self.truth)]
        width = (self.high - self.low)[self.shown]
        width = width[np.isfinite(width)]
        return {
            "scenario": self.scenario,
            "proposal": self.proposal,
            "control": self.control,
            "trials": self.value.size,
            "truth": float(np.nanmean(self.truth)) if np.isfinite(self.truth).any() else None,
            "concludes": Figure.of(self.concludes).plain(),
            "shown": Figure.of(self.shown).plain(),
            "coverage": Figure.of(held).plain() if held.size else None,
            "bias": Figure.of(off).plain() if off.size else None,
            "rmse": float(np.sqrt((off**2).mean())) if off.size else None,
            "width": Figure.of(width).plain() if width.size else None,
        }


def analysed(
    plan: Plan,
    scenarios: Iterable[str] | None = None,
    replications: int = 1_000,
    seed: int = 0,
    progress: Progress = silent,
) -> list[Analysed]:
    """Run trials of a plan and the analysis that it names in each, for every proposal against the control.

    Args:
        plan: whose `[analysis]` it is; intention to treat where it has none.
        scenarios: all of its scenarios where left out.
        replications: trials of each.
        seed: of all trials, which are those of the engine `reference`.
        progress: is told how many trials are done.
    """
    reference.check(plan)
    trials = checks.whole("replications", replications, least=2)
    names = list(plan.scenarios if scenarios is None else scenarios)
    unknown = [name for name in names if name not in plan.scenarios]
    if unknown:
        raise LabelError("scenarios", repr(unknown[0]), f"one of {', '.join(plan.scenarios)}")
    reading = reading_of(plan) if isinstance(plan.reading, BoundedTable) else plan.reading
    found: list[Analysed] = []
    for name in names:
        environment = plan.scenarios[name].environment
        rows: dict[int, list[tuple[float, ...]]] = {}
        for number in range(trials):
            trial = reference.Trial(plan, reading, environment, seed, number)
            trial.run()
            log = trial.log()
            planned = planned_of(log, plan.design)
            readings = Readings(log, planned)
            for one in readings.others:
                truth = true_effect(environment, planned, one, log)
                rows.setdefault(one, []).append((*_figures(readings, one, plan, seed), truth))
            progress(1)
        labels = plan.design.space.proposals
        for one, each in rows.items():
            found.append(Analysed(name, labels[one], labels[planned.control], planned, *np.array(each).T))
    return found


def _figures(readings: Readings, one: int, plan: Plan, seed: int) -> tuple[float, float, float, float]:
    """Estimate, interval and p-value of one trial."""
    entry = readings.primary(one)
    estimate: Estimate | None = None if entry is None else entry.estimate
    tested = readings.planned_test(one, plan.design, None, seed)
    p = float("nan") if tested is None or tested.refused else tested.p
    if estimate is None:
        return float("nan"), float("nan"), float("nan"), p
    if estimate.withheld:
        return estimate.value, float("nan"), float("nan"), p
    return estimate.value, estimate.low, estimate.high, p


def true_effect(environment: Environment, planned: Planned, one: int, log: Log) -> float:
    """What the planned estimate is of, over those who came; NaN where it is of nothing."""
    cells, space = over_units(environment, len(log)), log.space
    values = cells.sum(axis=1) @ (space.outcome.shown.sign * space.reward)
    other = planned.control
    if planned.measure == "difference" and planned.reading in ("intention to treat", "bounded"):
        return float(values[one] - values[other])
    if planned.measure == "difference" and planned.reading == "compliers" and space.intended is not None:
        taken = cells.sum(axis=2)[:, space.intended[one]]
        return float((values[one] - values[other]) / (taken[one] - taken[other]))
    if planned.measure == "ratio":
        return float(values[one] / values[other])
    if planned.measure == "odds ratio":
        return float(values[one] / (1 - values[one]) / (values[other] / (1 - values[other])))
    return float("nan")


def over_units(environment: Environment, units: int) -> FloatArray:
    """P(a, y given z) over the first so many who come, (Kz, Ka, Y); a truth may change on the way."""
    starts = [min(step, units) for step, _ in environment.phases]
    lasted = np.diff([*starts, units]) / units
    return np.asarray(
        sum(share * each.response[0] for share, (_, each) in zip(lasted, environment.phases, strict=True))
    )
