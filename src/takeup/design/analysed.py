"""The planned analysis in trials of a plan: how often it concludes, and how often its interval holds the truth.

`[analysis]` names what will be reported. Here trials of the plan are run one by one as they would go live, each leaves
a log, and the log is analysed by what `takeup analyse` would say of it: the power of a plan is then that of the figure
in its report, and its intervals have a coverage before anybody is asked.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from takeup import checks
from takeup.analysis import regions
from takeup.analysis.planned import Planned, planned_of
from takeup.analysis.readings import Readings
from takeup.analysis.survival import Watched, hazard_ratio, restricted_mean
from takeup.checks import FloatArray
from takeup.design import reference
from takeup.design.bounded import reading_of
from takeup.design.figures import Figure
from takeup.design.plan import Plan
from takeup.design.scenarios import Scenario
from takeup.design.side_by_side import BLOCK, Block
from takeup.environment import Environment
from takeup.errors import LabelError
from takeup.log import Log
from takeup.outcomes import Count, Time
from takeup.policies.meeting import uses_covariates
from takeup.policies.readings import Reading
from takeup.randomness import bits
from takeup.simulation.engine import Progress, silent
from takeup.trial.planned_analysis import larger_is_better
from takeup.trial.rules import BoundedTable

SEED_BITS = 63
REPLAYS = 399
"""How many replays a planned re-randomisation has here, where each trial is one of many: .05 and .025 are met."""
ROUNDING = 1e-12
"""By how much a p-value may exceed the level that it is equal to."""


@dataclass(frozen=True, slots=True, eq=False)
class Analysed:
    """The planned analysis of one proposal against the control, in trials of one scenario.

    Attributes:
        scenario: its name.
        proposal: the proposal.
        control: what it is compared with.
        planned: what was analysed.
        better: 1 where what is measured is larger the better outcomes are, -1 where it is smaller.
        value: the estimate of each trial, (R,); NaN where there was none.
        region: the confidence region of each, (R, 2 parts, from and to); NaN where it was withheld, and where a region
            has no second part.
        p: of the planned test, on one side where the plan looks on one; NaN where there is none.
        truth: what the estimate is of, in each trial; NaN where nothing is, as with naive readings.
    """

    scenario: str
    proposal: str
    control: str
    planned: Planned
    better: int
    value: FloatArray
    region: FloatArray
    p: FloatArray
    truth: FloatArray

    @property
    def low(self) -> FloatArray:
        """The lower end of each interval, or of the least interval around its region; NaN where it was withheld."""
        return np.asarray(self.region[:, 0, 0])

    @property
    def high(self) -> FloatArray:
        """The upper end."""
        return np.asarray(np.where(np.isnan(self.region[:, 1, 1]), self.region[:, 0, 1], self.region[:, 1, 1]))

    @property
    def shown(self) -> NDArray[np.bool_]:
        """Whether there was an interval or a region to be relied upon, be it without an end."""
        return ~np.isnan(self.low)

    @property
    def concludes(self) -> NDArray[np.bool_]:
        """Whether the trial would report a difference: by its test where one is planned, else by its interval.

        A plan that looks on one side concludes where the proposal is better.
        """
        if self.planned.test:
            return np.asarray(self.p <= 1 - self.planned.level + ROUNDING)
        none = 0.0 if self.planned.measure == "difference" else 1.0
        if self.planned.sided == 2:
            return self.shown & ~regions.holds(self.region, none)
        return np.asarray(self.low > none if self.better > 0 else self.high < none)

    def plain(self) -> dict[str, Any]:
        """Figures with their Monte Carlo errors, for machines.

        Bias and RMSE are of trials with an estimate, and coverage of those whose interval was shown.
        """
        off = (self.value - self.truth)[np.isfinite(self.value - self.truth)]
        held = regions.holds(self.region, self.truth)[self.shown & np.isfinite(self.truth)]
        width = (self.high - self.low)[np.isfinite(self.low) & np.isfinite(self.high)]
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
        rows: dict[int, list[_Row]] = {}
        for number, log in enumerate(_logs(plan, reading, plan.scenarios[name], seed, trials)):
            planned = planned_of(log, plan.design)
            readings, own = Readings(log, planned), replay_seed(seed, number)
            for one in readings.others:
                truth = true_effect(environment, planned, one, log)
                rows.setdefault(one, []).append(_row(readings, one, plan, own, truth))
            progress(1)
        space = plan.space
        better = 1 if larger_is_better(space, planned.measure) else -1
        for one, each in rows.items():
            names_of = space.proposals[one], space.proposals[planned.control]
            found.append(Analysed(name, *names_of, planned, better, *map(np.array, zip(*each, strict=True))))
    return found


def _logs(plan: Plan, reading: Reading, scenario: Scenario, seed: int, trials: int) -> Iterator[Log]:
    """What so many trials leave."""
    if not uses_covariates(plan.design.policy):
        for number in range(trials):
            trial = reference.Trial(plan, reading, scenario.environment, seed, number)
            trial.run()
            yield trial.log()
        return
    for block in range(-(-trials // BLOCK)):
        courses = Block(plan, reading, scenario, seed, block, logging=True).run()
        yield from (course.log() for course in courses[: trials - block * BLOCK])


class _Row(NamedTuple):
    """One trial, as `Analysed` has it."""

    value: float
    region: FloatArray
    p: float
    truth: float


def replay_seed(seed: int, number: int) -> int:
    """The seed of what is random in the analysis of one trial: another for each."""
    return bits(SEED_BITS, seed, "analysis", number)


def _row(readings: Readings, one: int, plan: Plan, seed: int, truth: float) -> _Row:
    """Estimate, region and p-value of one trial."""
    entry = readings.primary(one)
    tested = readings.planned_test(one, plan.design, REPLAYS, seed)
    p = math.nan if tested is None or tested.refused else tested.p
    region = np.full((2, 2), np.nan)
    if entry is None:
        return _Row(math.nan, region, p, truth)
    estimate = entry.estimate
    parts = estimate.region or (() if estimate.withheld else ((estimate.low, estimate.high),))
    region[: len(parts)] = parts if parts else region[:0]
    return _Row(estimate.value, region, p, truth)


def true_effect(environment: Environment, planned: Planned, one: int, log: Log) -> float:
    """What the planned estimate is of, over those who came; NaN where it is of nothing."""
    cells, space = over_units(environment, len(log)), log.space
    by_outcome, other = cells.sum(axis=1)[[one, planned.control]], planned.control
    if planned.reading == "per protocol":
        return math.nan
    if isinstance(space.outcome, Time):
        return _of_times(by_outcome, space.outcome, planned.measure)
    if isinstance(space.outcome, Count) and (planned.measure == "rate ratio" or not space.outcome.valued):
        ours, theirs = _rates(by_outcome, space.outcome)
        return ours / theirs if planned.measure == "rate ratio" else ours - theirs
    ours, theirs = by_outcome @ (space.outcome.shown.sign * space.reward)
    if planned.reading == "compliers":
        taken = cells.sum(axis=2)[:, space.complying("the complier effect")[one]]
        return float((ours - theirs) / (taken[one] - taken[other]))
    if planned.measure == "ratio":
        return float(ours / theirs)
    if planned.measure == "odds ratio":
        return float(ours / (1 - ours) / (theirs / (1 - theirs)))
    return float(ours - theirs)


def _rates(share: FloatArray, outcome: Count) -> list[float]:
    """Events by exposure where outcomes have these shares, (2, Y)."""
    events, steps = outcome.parts_of(np.arange(outcome.size))[1].T
    found: list[float] = (share @ events / (share @ (steps * outcome.step))).tolist()
    return found


def _of_times(share: FloatArray, outcome: Time, measure: str) -> float:
    """The difference of mean times, or the hazard ratio, where all are offered the one or the other, (2, Y)."""
    steps, censored = np.divmod(np.arange(outcome.size), 2)
    time, event = outcome.step * steps, 1.0 - censored
    if measure == "hazard ratio":
        both, none = Watched.of(np.tile(time, 2), np.tile(event, 2)), np.zeros(outcome.size)
        ours, theirs = np.concatenate([share[0], none]), np.concatenate([none, share[1]])
        return math.exp(float(hazard_ratio(both, ours, theirs)[0]))
    ours, theirs = (restricted_mean(Watched.of(time, event), each, outcome.longest)[0] for each in share)
    return float(ours - theirs)


def over_units(environment: Environment, units: int) -> FloatArray:
    """P(a, y given z) over the first so many who come, (Kz, Ka, Y); a truth may change on the way."""
    starts = [min(step, units) for step, _ in environment.phases]
    lasted = np.diff([*starts, units]) / units
    return np.asarray(
        sum(share * each.response[0] for share, (_, each) in zip(lasted, environment.phases, strict=True))
    )
