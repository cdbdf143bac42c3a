"""What a plan does if fewer people take what they are offered than one hopes, or more."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from takeup import checks
from takeup.design.bounded import with_reading
from takeup.design.operate import REPLICATIONS, operate
from takeup.design.plan import Plan
from takeup.design.results import Outcomes
from takeup.errors import InputError
from takeup.simulation.engine import Progress, silent
from takeup.simulation.run import EngineName

WHOLE = ("compliance", "share")
"""What only scenarios have that say in full what people do."""
GRID = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

TakeUpCurve: TypeAlias = Mapping[str, Mapping[float, Outcomes]]
"""Trials of each scenario, by the share who take what they are offered."""


def by_take_up(
    plan: Plan,
    take_ups: Sequence[float] = GRID,
    replications: int | range = REPLICATIONS,
    seed: int = 0,
    *,
    scenarios: Sequence[str] | None = None,
    engine: EngineName = "auto",
    scheduler: object = None,
    progress: Progress = silent,
) -> TakeUpCurve:
    """Run a plan in each scenario as if this share of people took what they are offered.

    Args:
        plan: what to try.
        take_ups: shares above 0 and up to 1.
        replications: how many trials of each, or a range of their numbers.
        seed: any whole number of at least 0.
        scenarios: the names of some of its scenarios; where left out all but those that say in full what people do,
            the first of those that differ in their take-up alone.
        engine: as of `operate`.
        scheduler: likewise.
        progress: called with the number of trials made.
    """
    shares = [float(checks.real("take_ups", each)) for each in take_ups]
    if not shares or not all(0 < each <= 1 for each in shares) or len(set(shares)) < len(shares):
        raise InputError("take_ups", list(take_ups), "different numbers above 0 and up to 1")
    plan = with_reading(plan)  # its weights, whatever people take
    written: Mapping[str, Any] = plan.content["scenarios"]
    short = changeable(plan)
    names = _unlike(short, written) if scenarios is None else list(scenarios)
    for name in names:
        if name not in short:
            raise InputError("scenarios", repr(name), f"some of those that take_up can change: {', '.join(short)}")
    if not names:
        raise InputError(
            "scenarios", ", ".join(written), f"one without {' and '.join(WHOLE)}, which take_up can change"
        )
    tables = {(name, share): {**written[name], "take_up": share} for name in names for share in shares}
    called = {key: f"{key[0]} at a take-up of {key[1]:g}" for key in tables}
    tried = plan.changed(scenarios={called[key]: table for key, table in tables.items()})
    found = operate(tried, None, replications, seed, engine=engine, scheduler=scheduler, progress=progress)
    return {name: {share: found[called[name, share]] for share in shares} for name in names}


def changeable(plan: Plan) -> list[str]:
    """The scenarios whose take-up can be another: all but those that say in full what people do."""
    tables: Mapping[str, Any] = plan.content["scenarios"]
    return [name for name, table in tables.items() if not any(key in table for key in WHOLE)]


def _unlike(names: Sequence[str], written: Mapping[str, Any]) -> list[str]:
    """Those that differ in more than their take-up."""
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        rest = {key: value for key, value in written[name].items() if key != "take_up"}
        if rest not in found.values():
            found[name] = rest
    return list(found)
