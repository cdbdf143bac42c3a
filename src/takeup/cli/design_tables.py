"""What `takeup design` prints: tables that a protocol can take over."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from takeup.design.analysed import Analysed
from takeup.design.comparing import Compared
from takeup.design.operate import Calibration
from takeup.design.plan import Plan
from takeup.design.results import Figure
from takeup.design.sizing import Sized
from takeup.design.study import Study
from takeup.version import __version__

ENDS = ("superior", "equivalent", "futile", "maximum")
ARMS = {"superior_by_arm": "superior", "dropped_by_arm": "dropped", "selected": "selected", "share": "share"}
NAMES = {
    "claimed": "error",
    "right": "power",
    "size": "size",
    "successes": "worth",
    "on_worse": "on worse",
}


def show(study: Study) -> None:
    """Error, power, size and ends of each scenario; then each proposal."""
    console, scenarios = Console(), study.scenarios()
    if study.sized is not None:
        console.print(_sized(study.sized), highlight=False, soft_wrap=True)
    if study.calibration is not None:
        console.print(_calibrated(study.calibration), highlight=False, soft_wrap=True)
    console.print(_characteristics(study.plan, scenarios, study.seed))
    console.print(_ends(scenarios))
    console.print(_arms(study.plan, scenarios))
    if "by_unit" in scenarios[0]["metrics"]:
        console.print(_by_unit(scenarios))
    if study.analysed:
        console.print(_analysed(study.analysed))
    if study.compared is not None:
        show_compared(study.compared)


def show_compared(compared: Compared) -> None:
    """Plans side by side; then what each has more than the first."""
    trials = compared.outcomes[compared.plans[0]][compared.scenarios[0]].replications.size
    title = f"{trials:,} trials of each plan in each scenario, seed {compared.seed}, takeup {__version__}"
    console, first = Console(), escape(compared.plans[0])
    console.print(_side_by_side(compared, title, compared.plans, compared.figure))
    more = f"What others have more than {first}, with the error of the difference"
    console.print(_side_by_side(compared, more, compared.plans[1:], compared.difference))


def _side_by_side(
    compared: Compared, title: str, plans: Sequence[str], figure: Callable[[str, str, str], Figure]
) -> Table:
    table = _table(title, ("scenario", "plan"), tuple(NAMES.values()))
    for scenario in compared.scenarios:
        metrics = compared.metrics(scenario)
        for i, plan in enumerate(plans):
            cells = (_either(name, figure(plan, scenario, name)) if name in metrics else "" for name in NAMES)
            table.add_row(escape(scenario) if i == 0 else "", escape(plan), *cells)
    return table


def _analysed(found: Sequence[Analysed]) -> Table:
    """What the planned analysis would report."""
    planned = found[0].planned
    by = f"{planned.test}, {planned.level:g}" if planned.test else f"intervals of {planned.level:g}"
    table = _table(
        f"The planned analysis in {found[0].value.size:,} trials of each scenario: {planned.reading}, by {by}",
        ("scenario", "compared"),
        ("truth", "concludes", "shown", "coverage", "bias"),
        "coverage is of intervals that are shown; where trials may stop early it says what that does to them",
    )
    for each in found:
        told = each.plain()
        table.add_row(
            escape(each.scenario),
            escape(f"{each.proposal} - {each.control}"),
            "" if told["truth"] is None else f"{told['truth']:.4g}",
            *("" if told[name] is None else _share(told[name]) for name in ("concludes", "shown", "coverage", "bias")),
        )
    return table


def _sized(sized: Sized) -> str:
    power, give = sized.found.power, f", give or take {sized.error:,.0f}" if np.isfinite(sized.error) else ""
    return (
        f"{sized.size:,} outcomes at the last look{give}: the power is {power.mean:.4f} ± {power.error:.4f} in other"
        f" trials of {escape(sized.found.scenario)}, where it is least{sized.below}; {sized.target:g} was asked for"
    )


def _calibrated(found: Calibration) -> str:
    worst, stopping = found.worst, found.plan.content["stopping"]
    below = "" if stopping.get("inferiority") is None else f" and inferiority below {stopping['inferiority']:.5f}"
    return (
        f"superiority above {found.threshold:.5f}{below}: the largest error over the null scenarios is"
        f" {worst.mean:.4f} ± {worst.error:.4f} in {found.replications:,} other trials of each; {found.target:g} was"
        " asked for"
    )


def _characteristics(plan: Plan, scenarios: Sequence[Mapping[str, Any]], seed: int) -> Table:
    """Error, power and size."""
    trials = scenarios[0]["replications"]
    how = "exact figures" if trials is None else f"{trials:,} trials of each scenario, seed {seed}"
    reads = plan.reading if isinstance(plan.reading, str) else "a bounded reading"
    noise = "" if trials is None else "± is the Monte Carlo error; "
    table = _table(
        f"{escape(plan.name)}: {how}, takeup {__version__}",
        ("scenario",),
        ("error", "power", "size", "sd", *(() if trials is None else ("5 to 95 %",)), "on worse"),
        f"{noise}rules read {reads}, under the policy's priors",
    )
    for each in scenarios:
        metrics, size, error = each["metrics"], each["metrics"]["size"], each["metrics"]["type_one_error"]
        width = () if trials is None else (f"{size['quantiles']['0.05']:,.0f}-{size['quantiles']['0.95']:,.0f}",)
        table.add_row(
            escape(each["scenario"]),
            "" if error is None else _share(error["any"]),
            "" if metrics["power"] is None else _share(metrics["power"]),
            f"{size['mean']:,.0f}{_plus(size['error'], '.0f')}",
            f"{size['sd']:,.0f}",
            *width,
            "" if metrics["power"] is None else _share(metrics["on_worse"]),
        )
    return table


def _ends(scenarios: Sequence[Mapping[str, Any]]) -> Table:
    table = _table("How trials end", ("scenario",), ENDS)
    for each in scenarios:
        table.add_row(escape(each["scenario"]), *(_share(each["metrics"][end]) for end in ENDS))
    return table


def _arms(plan: Plan, scenarios: Sequence[Mapping[str, Any]]) -> Table:
    shown = {key: name for key, name in ARMS.items() if key in scenarios[0]["metrics"]}
    table = _table("Each proposal", ("scenario", "proposal"), ("worth", *shown.values()))
    for each in scenarios:
        values = plan.scenarios[each["scenario"]].values
        for k, label in enumerate(plan.design.space.proposals):
            figures = (_share(each["metrics"][column][label]) for column in shown)
            table.add_row(escape(each["scenario"]) if k == 0 else "", escape(label), f"{values[k]:.4g}", *figures)
    return table


def _by_unit(scenarios: Sequence[Mapping[str, Any]]) -> Table:
    """How well proposals suited each unit."""
    table = _table(
        "Each unit, by its covariates",
        ("scenario",),
        ("had its best", "units that had another", "regret"),
        "regret is what that cost them together, in units of the outcome",
    )
    for each in scenarios:
        best, inferior, regret = (each["metrics"]["by_unit"][name] for name in ("best", "inferior", "regret"))
        others = f"{inferior['mean']:,.1f}{_plus(inferior['error'], '.1f')}"
        cost = f"{regret['mean']:,.2f}{_plus(regret['error'], '.2f')}"
        table.add_row(escape(each["scenario"]), _share(best), others, cost)
    return table


def _table(title: str, words: Sequence[str], figures: Sequence[str], caption: str | None = None) -> Table:
    """A table as narrow as may be: columns of words, which wrap, then of figures, which do not."""
    table = Table(title=title, caption=caption, box=SIMPLE_HEAD, title_justify="left", caption_justify="left")
    for name in words:
        table.add_column(name, overflow="fold")
    for name in figures:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _either(metric: str, figure: Figure) -> str:
    """A number of units or of what they are worth, else a probability."""
    if metric in ("size", "successes"):
        form = ".0f" if abs(figure.mean) >= 100 else ".1f"
        return f"{figure.mean:,{form}}±{figure.error:{form}}"
    return _share(figure.plain())


def _share(figure: Mapping[str, float]) -> str:
    """A probability and its error, in as few characters as a terminal has."""
    return _short(figure["mean"]) + _plus(figure["error"])


def _short(number: float) -> str:
    return f"{number:.3f}".replace("0.", ".", 1)


def _plus(error: float | None, form: str = ".3f") -> str:
    """The error of a number, where it has one."""
    return "" if not error else "±" + f"{error:{form}}".replace("0.", ".", 1)
