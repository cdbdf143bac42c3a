"""How large a plan must be: the last look at which it finds what is there as often as is asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtri

from takeup.checks import FloatArray
from takeup.design.bounded import with_reading
from takeup.design.figures import or_none
from takeup.design.operate import REPLICATIONS, Calibration, Stage, calibrate, operate, silent_stage
from takeup.design.plan import Plan
from takeup.design.results import Figure
from takeup.design.scenarios import Scenario
from takeup.design.size_range import check_trials, size_range
from takeup.design.sizes import Goal, between, two_rates
from takeup.errors import InputError
from takeup.outcomes import Levels
from takeup.simulation.engine import Progress, silent
from takeup.simulation.run import EngineName
from takeup.specfile import SpecError
from takeup.trial.looks import MOST_UNITS

FEWER, FEWEST = 10, 500
"""A search begins with so many times fewer trials."""
MOST_STEPS, NEAR = 12, 0.01
"""How many sizes are tried at most, and how near two of them are for the search to end, as a part."""
CONFIRMED = 6
"""How many sizes are tried at most in other trials, each in its own; the first with the power within an error is it."""
SEARCHED = 2 + CONFIRMED
"""How many times as many trials as are asked for a search may have seen: its own, a calibration's, and these."""
FURTHEST = 4.0
"""By which factor a size grows or shrinks at most from one try to the next."""
APART = 0.05
"""By which part roots of sizes must differ for a slope between them to be believed."""
NEVER = 1e-3
"""A power so near to 0 or 1 counts as this, where it is looked at on the scale of the normal distribution."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A size that was tried.

    Attributes:
        size: outcomes at the last look.
        power: in the scenario that has least.
        scenario: which that is.
        trials: how many it is from.
        threshold: for superiority, where it was calibrated.
    """

    size: int
    power: Figure
    scenario: str
    trials: int
    threshold: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sized:
    """The smallest last look with a power, as far as trials can tell.

    Attributes:
        plan: with that last look, and its threshold where that was calibrated.
        target: the power that was asked for.
        size: outcomes at the last look.
        error: by how much it would differ with other trials, one Monte Carlo error.
        found: power and scenario in fresh trials of the plan.
        tried: the sizes of the search.
        calibration: of the threshold at this size, where one was asked for.
    """

    plan: Plan
    target: float
    size: int
    error: float
    found: Tried
    tried: tuple[Tried, ...]
    calibration: Calibration | None = None

    @property
    def below(self) -> str:
        """What is to be said where the power in fresh trials is less than was asked for; else nothing."""
        return ", which is less, by at most one Monte Carlo error" if self.found.power.mean < self.target else ""

    def plain(self) -> dict[str, Any]:
        """For machines."""
        return {
            "target": self.target,
            "size": {"mean": self.size, "error": or_none(self.error)},
            "scenario": self.found.scenario,
            "power": self.found.power.plain(),
            "tried": [
                {
                    "size": t.size,
                    "power": t.power.plain(),
                    "scenario": t.scenario,
                    "replications": t.trials,
                    "threshold": t.threshold,
                }
                for t in self.tried
            ],
        }


def size(
    plan: Plan,
    power: float = 0.8,
    scenarios: str | Sequence[str] | None = None,
    replications: int = REPLICATIONS,
    seed: int = 0,
    *,
    calibrate_to: float | None = None,
    rates: Sequence[float] = (),
    two_sided: bool = False,
    most: int = MOST_UNITS,
    engine: EngineName = "auto",
    scheduler: object = None,
    progress: Progress = silent,
    stage: Stage = silent_stage,
) -> Sized:
    """The smallest last look at which a plan rightly claims something with this probability.

    Looks stay where they are and only the last one moves, so that there are more or fewer of them; where they are a
    list, all of it is stretched. The search fits a line of the normal quantile of the power over the root of the size
    to what was tried, on common random numbers, and the power that is told comes from other trials: the size is the
    first whose power in these is at most one Monte Carlo error below what was asked for; `below` says whether it is.

    Args:
        plan: what to try.
        power: the probability that is asked for.
        scenarios: one alternative, or several, of which that with the least power counts; all where left out.
        replications: trials of each.
        seed: any whole number of at least 0.
        calibrate_to: find the threshold for superiority again at every size, to this error in the null scenarios: a
            power without an error that is kept says nothing.
        rates: more nulls for that, as of `calibrate`.
        two_sided: likewise.
        most: the largest size.
        engine: as of `operate`.
        scheduler: likewise.
        progress: called with the number of trials made.
        stage: called with what is being done.
    """
    between("power", power)
    names = _alternatives(plan, scenarios)
    low, high = size_range(plan, most)
    check_trials(replications, power)
    tried: list[Tried] = []
    options: dict[str, Any] = {"engine": engine, "scheduler": scheduler, "progress": progress}

    def attempt(units: int, trials: range) -> tuple[Tried, Plan, Calibration | None]:
        at, found = with_reading(with_last(plan, units)), None
        if calibrate_to is not None:
            found = calibrate(at, calibrate_to, len(trials), seed, rates=rates, two_sided=two_sided, **options)
            at = found.plan
        each = operate(at, names, trials, seed, **options)
        powers = {name: Figure.of(outcomes.right) for name, outcomes in each.items()}
        worst = min(powers, key=lambda name: powers[name].mean)
        stage(f"{units:,} units have a power of {powers[worst].mean:.4f} in {len(trials):,} trials of {worst}")
        threshold = None if found is None else found.threshold
        return Tried(units, powers[worst], worst, len(trials), threshold), at, found

    few = max(replications // FEWER, FEWEST, int(4 / (calibrate_to or 1)))  # no fewer than `calibrate` takes
    units, trials = _start(plan, names, power, calibrate_to), min(few, replications)
    line = partial(_next, target=power)
    for _ in range(MOST_STEPS):
        units = int(np.clip(units, low, high))
        tried.append(attempt(units, range(trials))[0])
        last = tried[-1].power
        if units == high and last.mean < power - 2 * last.error:
            raise _never(plan, power, high, tried[-1])
        following = int(np.clip(np.ceil(line(tried)), low, high))
        if abs(following - units) <= max(NEAR * units, 1):
            if trials == replications:
                units = following
                break
            trials = replications
        units = following
    for first in range(2 * replications, SEARCHED * replications, replications):
        found, at, calibration = attempt(units, range(first, first + replications))
        if found.power.mean >= power - found.power.error:
            break
        tried.append(found)
        units = int(np.clip(np.ceil(line(tried)), min(units + 1, high), high))
    else:
        raise _never(plan, power, high, found)
    return Sized(at, power, units, _error(tried, found), found, tuple(tried), calibration)


def with_last(plan: Plan, units: int) -> Plan:
    """The same with another last look: others stay, or are stretched where they are a list."""
    looks = dict(plan.content["looks"])
    if looks.get("at") is not None:
        stretched = np.round(np.asarray(looks["at"]) * (units / plan.looks.at[-1])).astype(int)
        looks["at"] = np.unique(np.maximum(stretched, 1)).tolist()
    else:
        looks["last"] = units
        if looks.get("first") is not None:
            looks["first"] = min(looks["first"], units)
    return plan.changed(looks=looks)


def _alternatives(plan: Plan, scenarios: str | Sequence[str] | None) -> list[str]:
    """The scenarios whose power counts, in each of which there is something to find."""
    if scenarios is None:
        names = [name for name, each in plan.scenarios.items() if each.role == "alternative"]
    else:
        names = [scenarios] if isinstance(scenarios, str) else list(scenarios)
    if not names:
        allowed = 'at least one without role = "null"'
        raise SpecError(f"{plan.source}: scenarios", ", ".join(plan.scenarios), allowed)
    for name in names:
        if name not in plan.scenarios:
            raise InputError("scenarios", repr(name), f"some of {', '.join(plan.scenarios)}")
        if not plan.scenarios[name].better(plan.rules.control).any():
            shown = plan.scenarios[name].values.round(6).tolist()
            allowed = "one in which a proposal is better than others, or than the control: else nothing can be found"
            raise SpecError(f"{plan.source}: scenarios.{name}", f"values of proposing {shown}", allowed)
    return names


def _start(plan: Plan, names: Sequence[str], power: float, error: float | None) -> int:
    """The size of a design without looks, where there is a formula; else that of the plan."""
    space, rules = plan.space, plan.rules
    if not isinstance(space.outcome, Levels):
        return int(plan.looks.at[-1])
    threshold = 0.975 if rules.superiority is None else float(rules.superiority[-1])
    alpha = min(error or 1 - threshold, power / 2, 0.4)
    reward, goal = space.reward, Goal(alpha=alpha, power=power)

    def needed(truth: Scenario) -> float:
        values = (truth.values - reward.min()) / np.ptp(reward)
        best = float(values.max())
        other = float(values[rules.control] if rules.control is not None else np.sort(values)[-2])
        if best - other < NEVER:
            return float(plan.looks.at[-1])
        arm = two_rates(*np.clip([other, best], NEVER / 2, 1 - NEVER / 2), goal=goal).units / 2
        return arm * len(space.proposals)

    return int(max(needed(plan.scenarios[name]) for name in names))


def _next(tried: Sequence[Tried], target: float) -> float:
    """Where the line through what was tried has the target: z(power) = a + b sqrt(size), near sizes counting most."""
    last, (a, b) = tried[-1].size, _line(tried)
    root = (ndtri(target) - a) / b if b > 0 else np.inf
    if root <= 0:
        return last / FURTHEST
    return float(np.clip(root**2, last / FURTHEST, last * FURTHEST))


def _line(tried: Sequence[Tried]) -> tuple[float, float]:
    """Intercept and slope: by least squares of those with most trials, or through the last of them where they are near.

    From one size alone it begins at z = -2, about where the error of a trial without units is.
    """
    most = max(t.trials for t in tried)
    full = [t for t in tried if t.trials == most]
    root, z, weight = _points(full)
    if np.ptp(root) > APART * root[-1]:
        b, a = np.polyfit(root, z, 1, w=weight)
        return float(a), float(b)
    every, height, also = _points(tried)
    if np.ptp(every) > APART * every[-1]:
        b = float(np.polyfit(every, height, 1, w=also)[0])
        return float(z[-1] - b * root[-1]), b
    return -2.0, float((z[-1] + 2.0) / root[-1])


def _points(tried: Sequence[Tried]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The roots of sizes, the normal quantiles of powers, and weights by their errors and how near they are."""
    root = np.sqrt([t.size for t in tried])
    z = ndtri(np.clip([t.power.mean for t in tried], NEVER, 1 - NEVER))
    error = np.array([max(t.power.error, NEVER) for t in tried]) / np.exp(-(z**2) / 2)
    return root, z, np.exp(-2 * np.abs(np.log(root / root[-1]))) / error


def _error(tried: Sequence[Tried], found: Tried) -> float:
    """What an error of the power is, in units: by the slope of the line."""
    _, b = _line([*tried, found])
    z = float(ndtri(np.clip(found.power.mean, NEVER, 1 - NEVER)))
    rise = b * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) / (2 * np.sqrt(found.size))
    return float(found.power.error / rise) if rise > 0 else float("nan")


def _never(plan: Plan, power: float, most: int, last: Tried) -> InputError:
    found = f"{last.power.mean:.4f} ± {last.power.error:.4f} in scenario {last.scenario}"
    early = [rule for rule in ("equivalence", "futility") if getattr(plan.rules, rule) is not None]
    hint = f"{' and '.join(early)} may end trials before, whatever their size" if early else ""
    return InputError("power", power, f"one that some size up to {most:,} has; {last.size:,} has {found}", hint)
