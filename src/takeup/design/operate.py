"""What a plan does: its operating characteristics, the thresholds that keep an error, and the size that has a power."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from takeup import checks
from takeup.checks import FloatArray
from takeup.design.bounded import with_reading
from takeup.design.engines import engine_of
from takeup.design.plan import Plan
from takeup.design.results import Figure, Outcomes
from takeup.design.thresholds import highest, unchanged
from takeup.design.truths import keys_for
from takeup.errors import InputError
from takeup.simulation.engine import Progress, silent
from takeup.simulation.kernels.look_tables import LookOutput
from takeup.simulation.run import EngineName
from takeup.specfile import SpecError
from takeup.version import __version__

REPLICATIONS = 10_000
FEWER, FEWEST, COARSE = 20, 500, 0.2
"""A search begins with so many times fewer trials, until the threshold is known to a fifth of what it leaves."""
MOST_STEPS, SLOPES = 10, (0.4, 3.0)
"""How often all trials are run at most, and what powers are believed."""
LEAST_THRESHOLD, MOST_THRESHOLD = 0.5, 1 - 1e-12
"""Between which a threshold is looked for."""
TIE = 1e-6
"""By how much probabilities that are equal may differ, as quadrature finds them, where they are not near one."""
LATER = 100
"""From which part on trials are numbered that check a threshold again, behind those of whatever else is run."""
DOUBT = 2.0
"""How many of its own errors above the target the error in other trials may be."""
MOST_LEFT = float(np.log(0.49))
"""The logarithm of the most that a threshold may leave."""
Stage: TypeAlias = Callable[[str], object]
"""Called with what is being done, in words."""
MOST_OF_EVEN = 0.9
"""How much of the probability of equal proposals inferiority may be, while thresholds are tried."""


def silent_stage(what: str) -> None:
    """Stages that nobody watches."""


def operate(
    plan: Plan,
    scenarios: Sequence[str] | None = None,
    replications: int | range = REPLICATIONS,
    seed: int = 0,
    *,
    engine: EngineName = "auto",
    scheduler: object = None,
    progress: Progress = silent,
) -> dict[str, Outcomes]:
    """Run a plan many times in each scenario.

    Args:
        plan: what to try.
        scenarios: the names of some of its scenarios; all where left out.
        replications: how many trials of each, or a range of their numbers.
        seed: any whole number of at least 0.
        engine: "cpu" is the compiled kernel on all cores; "gpu" the same on a CUDA device; "dask" spreads the CPU's
            over a cluster, with the same result bit by bit; "reference" runs any plan in plain Python, thousands of
            times slower. "auto" takes the CPU, or the reference where there is no kernel.
        scheduler: for "dask", the address of a scheduler or a Client; a local cluster where left out.
        progress: called with the number of trials made, as the work goes on.
    """
    numbers = replications if isinstance(replications, range) else range(checks.whole("replications", replications, 1))
    if not numbers or numbers.step != 1 or numbers.start < 0:
        raise InputError("replications", replications, "numbers of trials that follow each other, from 0 on")
    names = list(plan.scenarios) if scenarios is None else list(scenarios)
    for name in names:
        if name not in plan.scenarios:
            raise InputError("scenarios", repr(name), f"some of {', '.join(plan.scenarios)}")
    draws, run = engine_of(plan, engine, scheduler)
    found = run(plan, {name: plan.scenarios[name] for name in names}, numbers, seed, progress)
    return {
        name: Outcomes(plan, name, seed, np.array(numbers), LookOutput(*(part[i] for part in found)), draws)
        for i, name in enumerate(names)
    }


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """A threshold that keeps an error.

    Attributes:
        plan: with the threshold, and with the error that it has.
        target: the error that was asked for.
        threshold: for superiority; inferiority is one less it, where the plan has any.
        errors: what a fresh run found in each null scenario.
        tried: the thresholds of the search, with the largest error of each.
        two_sided: whether claims that a proposal is worse count too.
        replications: trials of each null scenario.
        seed: the seed.
    """

    plan: Plan
    target: float
    threshold: float
    errors: Mapping[str, Figure]
    tried: tuple[tuple[float, float], ...] = ()
    two_sided: bool = False
    replications: int = 0
    seed: int = 0

    @property
    def worst(self) -> Figure:
        """The largest of the errors."""
        return max(self.errors.values(), key=lambda figure: figure.mean)

    def plain(self) -> dict[str, Any]:
        """For machines."""
        stopping = self.plan.content["stopping"]
        return {
            "target": self.target,
            **{name: stopping.get(name) for name in ("superiority", "inferiority")},
            "two_sided": self.two_sided,
            "replications": self.replications,
            "errors": {name: figure.plain() for name, figure in self.errors.items()},
            "tried": [{"superiority": threshold, "error": error} for threshold, error in self.tried],
        }


def calibrate(
    plan: Plan,
    target: float = 0.05,
    replications: int = 100_000,
    seed: int = 0,
    *,
    rates: Sequence[float] = (),
    two_sided: bool = False,
    engine: EngineName = "auto",
    scheduler: object = None,
    progress: Progress = silent,
    stage: Stage = silent_stage,
) -> Calibration:
    """The threshold for superiority at which no null scenario has a larger error, in common random numbers.

    All thresholds are tried on the same trials, so that the error falls as the threshold rises but for what dropping
    changes; inferiority becomes one less it. Where thresholds change nothing but when a trial ends, one run answers all
    of them. The search aims one Monte Carlo error below the target. The errors that are told come from other trials, as
    those of the search flatter the threshold that it found; where they are more than two errors above the target, the
    threshold is raised and tried in yet others.

    Args:
        plan: what to try; its null scenarios count, the worst of them.
        target: the probability of calling a proposal better where none is.
        replications: trials of each.
        seed: any whole number of at least 0.
        rates: more nulls, at which all proposals have such a rate; or such a mean, and so on: see `null_values`.
        two_sided: count it, too, where a proposal is dropped as worse than the control or than others. Of two proposals
            without a control either may be called better, so that both sides count in any case.
        engine: as of `operate`.
        scheduler: likewise.
        progress: called with the number of trials made.
        stage: called with what is being done.
    """
    if not 0 < target < 1:
        raise InputError("target", target, "a number between 0 and 1")
    plan = with_reading(null_values(plan, rates) if len(rates) else plan)  # the same weights at every threshold
    nulls = [name for name, each in plan.scenarios.items() if each.role == "null"]
    if not nulls:
        raise SpecError(f"{plan.source}: scenarios", ", ".join(plan.scenarios), 'at least one with role = "null"')
    rules = plan.rules
    for name, given in (("superiority", rules.superiority), ("inferiority", rules.inferiority)):
        if given is not None and np.ptp(given) > 0:
            raise SpecError(f"{plan.source}: stopping.{name}", given.tolist(), "one number, where it is to be found")
    most = MOST_THRESHOLD if rules.control is not None else MOST_OF_EVEN / len(plan.space.proposals)

    def at(threshold: float) -> Plan:
        return plan.with_thresholds(threshold, None if rules.inferiority is None else min(1 - threshold, most))

    def errors(threshold: float, trials: range) -> dict[str, Figure]:
        found = operate(at(threshold), nulls, trials, seed, engine=engine, scheduler=scheduler, progress=progress)
        return {name: Figure.of(each.different if two_sided else each.claimed) for name, each in found.items()}

    tried: list[tuple[float, float]] = []

    def error(threshold: float, trials: int) -> float:
        worst = max(figure.mean for figure in errors(threshold, range(trials)).values())
        stage(f"a threshold of {threshold:.5f} errs in {worst:.4f} of {trials:,} trials")
        tried.append((threshold, worst))
        return worst

    slack = np.sqrt(target * (1 - target) / checks.whole("replications", replications, 1))
    if slack > target / 2:
        least = int(np.ceil(4 * (1 - target) / target))
        raise InputError("replications", replications, f"at least {least:,} for an error of {target:g}")
    if unchanged(plan):
        stage("every threshold at once")
        _, run = engine_of(plan, engine, scheduler)
        threshold = _at_once(highest(plan, nulls, replications, seed, progress, run=run), target - slack)
    else:
        start = _bracket(error, target, min(max(replications // FEWER, FEWEST), replications))
        threshold = _search(lambda each: error(each, replications), target - slack, slack, start)
    threshold, fresh = _kept(errors, threshold, target, replications, stage)
    told = _with_error(at(threshold), target, fresh, replications, seed)
    return Calibration(told, target, threshold, fresh, tuple(tried), two_sided, replications, seed)


def _with_error(plan: Plan, target: float, errors: Mapping[str, Figure], trials: int, seed: int) -> Plan:
    """The plan with `stopping.error`: what is known of its thresholds, for whoever reads the file."""
    worst = max(errors, key=lambda name: errors[name].mean)
    found = {"target": target, "found": errors[worst].mean, "error": errors[worst].error, "trials": trials}
    told = {**found, "seed": seed, "scenario": worst, "version": __version__, "digest": plan.design.digest(worst)}
    return Plan.of({**plan.content, "stopping": {**plan.content["stopping"], "error": told}}, plan.source)


def _at_once(tops: FloatArray, target: float) -> float:
    """The lowest threshold that no more trials cross than may, from the highest probability that each of them saw."""
    may = max(int(target * tops.shape[1]), 0)
    threshold = float(np.sort(tops, axis=1)[:, -1 - may].max())
    if threshold >= MOST_THRESHOLD or target <= 0:
        raise _unkept(target)
    return max(threshold + min(TIE, (1 - threshold) / 10), LEAST_THRESHOLD)


def _kept(
    errors: Callable[[float, range], dict[str, Figure]], threshold: float, target: float, trials: int, stage: Stage
) -> tuple[float, dict[str, Figure]]:
    """The threshold, raised until other trials than those that found it do not deny that it keeps the error."""
    for part in (1, *range(LATER, LATER + MOST_STEPS)):
        stage(f"a threshold of {threshold:.5f} in other trials")
        found = errors(threshold, range(part * trials, (part + 1) * trials))
        worst = max(found.values(), key=lambda figure: figure.mean)
        if worst.mean <= target + DOUBT * worst.error:
            return threshold, found
        threshold = 1 - (1 - threshold) * target / worst.mean
    raise _unkept(target)


def _bracket(error: Callable[[float, int], float], target: float, trials: int) -> float:
    """A threshold to begin with, from few trials."""
    low, high = LEAST_THRESHOLD, 1.0
    while high - low > COARSE * (1 - low):
        middle = (low + high) / 2
        low, high = (middle, high) if error(middle, trials) > target else (low, middle)
    return (low + high) / 2


def _search(error: Callable[[float], float], target: float, slack: float, start: float) -> float:
    """The lowest threshold found that keeps the error, from a good guess on, until it does so by less than the slack.

    The error is near a power of 1 - threshold, so that a secant in logarithms arrives in a few steps.
    """
    at, kept, slope = float(np.log(1 - start)), -np.inf, 1.0
    before: tuple[float, float] | None = None
    for _ in range(MOST_STEPS):
        found = error(float(1 - np.exp(at)))
        if found <= target:
            kept = max(kept, at)
            if found > target - slack:
                break
        here = float(np.log(max(found, target / 10)))
        if before is not None and at != before[0]:
            slope = float(np.clip((here - before[1]) / (at - before[0]), *SLOPES))
        before = (at, here)
        step = float(np.log(target - slack / 2) - here) / slope
        at = float(np.clip(at + step, np.log(1 - MOST_THRESHOLD), MOST_LEFT))
    if not np.isfinite(kept):
        raise _unkept(target)
    return float(1 - np.exp(kept))


def _unkept(target: float) -> InputError:
    return InputError("target", target, "an error that some threshold keeps", "look less often, or later; or try more")


def null_values(plan: Plan, values: Sequence[float]) -> Plan:
    """The plan with a null scenario for each of these values, at which all proposals are alike.

    They are what the plan's scenarios are written in: rates of success, means (with the standard deviation of the first
    scenario that has one), events by unit of exposure, hazards or medians.
    """
    written = [{**table} for table in plan.content["scenarios"].values()]
    allowed = keys_for(plan.space.outcome)
    key = next((key for table in written for key in allowed if key in table), allowed[0])
    if key == "outcome":
        raise InputError("values", list(values), "two outcomes, or numbers, counts or times", "write the nulls down")
    spread = next(({"sd": table["sd"]} for table in written if "sd" in table), {})
    same = len(plan.space.proposals)
    more = {f"null {value:g}": {"role": "null", key: [float(value)] * same, **spread} for value in values}
    return Plan.of({**plan.content, "scenarios": {**plan.content["scenarios"], **more}}, plan.source)
