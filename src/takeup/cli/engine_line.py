"""One line that says what runs a simulation, and about how long it takes."""

import os
from collections.abc import Mapping

from takeup.simulation import compiled
from takeup.simulation.engine import Choice
from takeup.simulation.run import Plan

CPU = {"lanes": f"{compiled.GRAIN} replications side by side", "plain": "one replication after the other"}
NAMES = {"reference": "the reference (numpy) on one core", "gpu": "GPU", "dask": "a Dask cluster"}


def engine_line(planned: Plan, replications: int) -> str:
    """What was picked for so many replications."""
    setup = planned.setup
    chosen = dict(zip(setup.policies, planned.choices, strict=True))
    told = f"Engine: {_who(chosen)}"
    measured = [choice.seconds for choice in planned.choices if choice.seconds is not None]
    seconds = sum(measured)
    if len(measured) < len(chosen):
        return f"{told}."
    if seconds < 1:
        return f"{told}; a second or less."
    decisions = len(setup.environments) * len(setup.policies) * setup.horizon * replications
    told = (
        f"{told}, about {_rounded(decisions / seconds)} decisions a second; about {_time(seconds)} on an idle machine."
    )
    if any(choice.engine == "gpu" for choice in planned.choices):
        told += " A GPU's numbers may differ from a CPU's in a last bit: --engine cpu is the same on any machine."
    return told


def _who(chosen: Mapping[str, Choice]) -> str:
    """The engines in words, with the policies of each where there are several."""
    cores = os.cpu_count() or 1
    on = f"on {cores} cores" if cores > 1 else "on one core"
    groups: dict[str, list[str]] = {}
    for policy, choice in chosen.items():
        words = f"CPU, {CPU[choice.form]} {on}" if choice.engine == "cpu" else NAMES[choice.engine]
        groups.setdefault(words, []).append(policy)
    if len(groups) == 1:
        return next(iter(groups))
    return "; ".join(f"{words} ({', '.join(policies)})" for words, policies in groups.items())


def _rounded(number: float) -> str:
    """Two digits: 41 million, 540 thousand."""
    for unit, word in ((1e9, " billion"), (1e6, " million"), (1e3, " thousand")):
        if number >= unit:
            return f"{float(f'{number / unit:.2g}'):g}{word}"
    return f"{float(f'{number:.2g}'):g}"


def _time(seconds: float) -> str:
    """Two digits: 12 s, 3.5 min, 2 h."""
    for unit, word in ((3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{float(f'{seconds / unit:.2g}'):g} {word}"
    return f"{float(f'{seconds:.2g}'):g} s"
