"""What was found of a plan, as parts of its report."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from takeup.charts.document import Picture, ReportTable, Section
from takeup.design.analysed import Analysed
from takeup.design.cells import Cells
from takeup.design.comparing import Compared
from takeup.design.operate import Calibration
from takeup.design.pictures import (
    allocation_picture,
    ends_picture,
    number,
    plus_minus,
    promise_picture,
    share,
    sizes_picture,
    take_up_picture,
)
from takeup.design.plan import Plan
from takeup.design.promises import promise_curve
from takeup.design.results import ENDS, Figure, Outcomes
from takeup.design.sizes import Goal, two_rates
from takeup.design.sizing import Sized
from takeup.design.steady import steady
from takeup.design.take_up import TakeUpCurve
from takeup.errors import InputError
from takeup.outcomes import Levels

BY_ARM = {"superior_by_arm": "superior", "dropped_by_arm": "dropped", "selected": "selected", "share": "share of units"}
SHOWN = {*ENDS, *BY_ARM, "size", "claimed", "power", "successes", "stopped_by_look", "ends_by_look", "on_worse"}
SHOWN |= {"ideal_design", "naive_estimates"}
"""Metrics that have a place of their own; all others are listed after them."""
PROMISES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1)
NAMES = {
    "claimed": "type I error",
    "right": "power",
    "successes": "worth of all outcomes",
    "on_worse": "share on worse",
}


def characteristics(plan: Plan, outcomes: Mapping[str, Outcomes], nulls: Mapping[str, Figure]) -> Section:
    """What the plan does in each scenario."""
    every = {name: each.metrics() for name, each in outcomes.items()}
    further = tuple(
        (name, path, text)
        for name, metrics in every.items()
        for path, text in flat({key: value for key, value in metrics.items() if key not in SHOWN})
    )
    tables = [_scenarios(outcomes, every), _arms(plan, outcomes, every), _estimates(every)]
    if further:
        tables.append(ReportTable("Further figures", ("scenario", "figure", "found"), further, 2))
    text = []
    if nulls:
        worst = max(nulls.values(), key=lambda figure: figure.mean)
        text.append(
            "Type I error: the probability that any proposal is called better where none is. Over all "
            f"{len(nulls)} null scenarios it is {share(worst, 4)} at the most; two Monte Carlo errors above that is "
            f"{worst.mean + 2 * worst.error:.4f}."
        )
    text.append(
        "Power: the probability that one is called better, and rightly. Wrong ones are among those called better."
    )
    return Section(
        name="characteristics",
        title="Operating characteristics",
        text=tuple(text),
        tables=tuple(tables),
        pictures=(ends_picture(outcomes), sizes_picture(outcomes), allocation_picture(outcomes)),
    )


def _scenarios(outcomes: Mapping[str, Outcomes], every: Mapping[str, Mapping[str, Any]]) -> ReportTable:
    ends = [end for end in ENDS if any(metrics[end]["mean"] for metrics in every.values())]
    rows = []
    for name, metrics in every.items():
        ideal, power, null = metrics["ideal_design"], metrics["power"], outcomes[name].truth.role == "null"
        rows.append(
            (
                name,
                share(metrics["claimed"]) if null else "",
                "" if power is None else share(power),
                "" if null else share(metrics["claimed"]),
                *(share(metrics[end]) for end in ends),
                number(metrics["size"]),
                number(metrics["successes"]),
                share(metrics["on_worse"]),
                "" if ideal is None else plus_minus(ideal, ".1f", ".1f"),
            )
        )
    told = ("scenario", "type I error", "power", "one called better", *ends)
    columns = (*told, "size", "worth of all outcomes", "share on worse", "ideal design, %")
    return ReportTable("Each scenario; ± is the Monte Carlo error", columns, tuple(rows))


def _arms(plan: Plan, outcomes: Mapping[str, Outcomes], every: Mapping[str, Mapping[str, Any]]) -> ReportTable:
    rows = []
    for name, metrics in every.items():
        for k, label in enumerate(plan.space.proposals):
            found = (share(metrics[column][label]) for column in BY_ARM)
            rows.append((name, label, f"{outcomes[name].truth.values[k]:.4g}", *found))
    columns = ("scenario", "proposal", "worth", *BY_ARM.values())
    return ReportTable("Each proposal in each scenario", columns, tuple(rows), 2)


def _estimates(every: Mapping[str, Mapping[str, Any]]) -> ReportTable:
    """Bias, error and coverage of the differences that would be reported."""
    rows = []
    for name, metrics in every.items():
        told = metrics["naive_estimates"]
        for label, each in told["by_arm"].items():
            figures = ("" if each[key] is None else share(each[key], 4) for key in ("bias", "rmse", "coverage"))
            rows.append((name, f"{label} less {told['against']}", f"{each['truth']:.4g}", *figures))
    caption = "The difference of means as it would be reported, with its 95 % interval, as if nothing had adapted"
    return ReportTable(caption, ("scenario", "difference", "truth", "bias", "RMSE", "coverage"), tuple(rows), 2)


def planned_analysis(analysed: Sequence[Analysed]) -> Section | None:
    """What the analysis that the plan names would report."""
    if not analysed:
        return None
    planned, rows = analysed[0].planned, []
    for each in analysed:
        told = each.plain()
        figures = (told[name] for name in ("concludes", "shown", "coverage", "bias", "width"))
        truth = "" if told["truth"] is None else f"{told['truth']:.4g}"
        compared = f"{each.proposal} - {each.control}"
        rows.append((each.scenario, compared, truth, *("" if figure is None else share(figure) for figure in figures)))
    by = f"the test {planned.test}" if planned.test else "its interval"
    text = (
        f"The {planned.measure} by the reading {planned.reading}, at {planned.level:.4g}: each of "
        f"{analysed[0].value.size:,} trials of a scenario was run one by one and analysed as it will be. It concludes "
        f"where {by} leaves out no effect. Coverage is of the intervals that are shown."
    )
    columns = ("scenario", "compared", "truth", "concludes", "shown", "coverage", "bias", "width")
    caption = "The planned analysis; ± is the Monte Carlo error"
    return Section(
        name="planned",
        title="What the planned analysis would report",
        text=(text,),
        tables=(ReportTable(caption, columns, tuple(rows), 2),),
    )


def noncompliance(plan: Plan, outcomes: Mapping[str, Outcomes], curve: TakeUpCurve | None) -> Section | None:
    """Against take-up, and against what may be promised about those who refuse."""
    pictures, text = [], []
    if curve is not None:
        pictures.append(take_up_picture(curve))
    promised = _promises(plan, outcomes)
    if promised is not None:
        name, picture = promised
        changes = plan.scenarios[name].environment.later
        mean = " (its mean over a whole trial)" if changes else ""
        pictures.append(picture)
        text.append(
            f"With the rates and the take-up of {name}{mean}, a trial of fixed size and even allocation, one-sided "
            ".025, 80 % power: intention to treat needs most, and fewer suffice where those who refuse are promised to "
            "be like those who take, but for Δ. Such a promise cannot be tested before the trial."
        )
    if not pictures:
        return None
    return Section(name="noncompliance", title="If fewer comply", text=tuple(text), pictures=tuple(pictures))


def _promises(plan: Plan, outcomes: Mapping[str, Outcomes]) -> tuple[str, Picture] | None:
    """For the first alternative of two rates in which some refuse."""
    if len(plan.space.proposals) != 2:
        return None
    control, truths = plan.rules.control or 0, steady(plan).scenarios
    for name, each in outcomes.items():
        success = plan.content["scenarios"][name].get("success")
        if each.truth.role == "null" or not success or np.ndim(success) != 1:
            continue
        cells = Cells.of_environment(truths[name].environment, [control, 1 - control])
        if (cells.share.max(axis=1) == 1).all():
            continue
        width = float(np.ptp(plan.space.reward))
        try:
            points = promise_curve(replace(cells, mean=cells.mean / width, sd=cells.sd / width), PROMISES)
        except InputError:
            continue  # rates for which there is no such size
        return name, promise_picture(points)
    return None


def calibration(plan: Plan, tuned: Calibration | None) -> Section:
    """How the threshold was found, and what error it has in fresh trials."""
    title = "Calibration"
    if tuned is None:
        text = "The thresholds were chosen, and not searched for: their error is what the table above says."
        return Section(name="calibration", title=title, text=(text,))
    below = plan.content.get("stopping", {}).get("inferiority")
    said = f"superiority above {tuned.threshold:.6f}" + ("" if below is None else f", inferiority below {below:.6f}")
    text = (
        f"Searched for: the threshold at which no null scenario has an error above {tuned.target:g}. Found: {said}. "
        "The errors below come from trials that the search did not see, as those of a search flatter what it finds. "
        f"The largest is {share(tuned.worst, 4)}."
    )
    rows = tuple((name, share(figure, 4)) for name, figure in tuned.errors.items())
    table = ReportTable("Error in fresh trials", ("null scenario", "called better"), rows)
    return Section(name="calibration", title=title, text=(text,), tables=(table,))


def fixed(
    plan: Plan,
    outcomes: Mapping[str, Outcomes],
    nulls: Mapping[str, Figure],
    size: Sized | None,
    compared: Compared | None,
) -> Section:
    """Beside a trial of fixed size with the same error and power, and beside what else was compared."""
    tables, text = [], []
    rows = tuple(_fixed_rows(plan, outcomes, nulls))
    if rows:
        columns = ("scenario", "power", "mean size", "at most", "fixed size for that power")
        tables.append(ReportTable("Beside a fixed size and even allocation, with the same error", columns, rows))
        text.append(
            "A trial of fixed size is looked at once, by a normal test of two rates by intention to treat, at the "
            "error that was found in the worst null scenario."
        )
    if size is not None:
        text.append(
            f"Searched for: the smallest last look with a power of {size.target:g} in all alternatives. Found: "
            f"{size.size:,} outcomes, ± {size.error:.0f}; in fresh trials {size.found.scenario} has a power of "
            f"{share(size.found.power)}{size.below}."
        )
    if compared is not None:
        tables.append(_side_by_side(compared))
    if not tables:
        text.append(
            "No fixed size was put beside it: the formula here is for two proposals and two outcomes, and needs a null."
        )
    return Section(name="fixed", title="Comparison with a fixed design", text=tuple(text), tables=tuple(tables))


def _side_by_side(compared: Compared) -> ReportTable:
    """Plans on common random numbers, and what each has more than the first."""
    first, *others = compared.plans
    rows = []
    for scenario in compared.scenarios:
        for metric in compared.metrics(scenario):
            told = number if metric in ("size", "successes") else share
            figures = (told(compared.figure(plan, scenario, metric)) for plan in compared.plans)
            more = (told(compared.difference(plan, scenario, metric)) for plan in others)
            rows.append((scenario, NAMES.get(metric, metric), *figures, *more))
    columns = ("scenario", "figure", *compared.plans, *(f"{plan} more than {first}" for plan in others))
    return ReportTable("Beside other plans, on common random numbers", columns, tuple(rows), 2)


def _fixed_rows(
    plan: Plan, outcomes: Mapping[str, Outcomes], nulls: Mapping[str, Figure]
) -> Iterator[tuple[str, str, str, str, str]]:
    space = plan.space
    if len(space.proposals) != 2 or not isinstance(space.outcome, Levels) or space.outcome.size != 2 or not nulls:
        return
    error = max(figure.mean for figure in nulls.values())
    low, width = float(space.reward.min()), float(np.ptp(space.reward))
    for name, each in outcomes.items():
        power = Figure.of(each.right)
        first, second = ((float(value) - low) / width for value in each.truth.values)
        if each.truth.role == "null" or not 0 < error < power.mean < 1:
            continue
        try:
            goal = Goal(alpha=error, power=power.mean, sided=2 if plan.rules.control is None else 1)
            fixed = two_rates(first, second, goal=goal)
        except InputError:
            continue  # rates for which there is no such size
        yield name, share(power), number(Figure.of(each.size)), f"{int(plan.looks.at[-1]):,}", f"{fixed.whole:,}"


def flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Figures for machines as lines of a name and a text; what is not there has none."""
    if isinstance(value, Mapping) and set(value) == {"mean", "error"}:
        yield path, plus_minus(value, ".4g", ".2g")
    elif isinstance(value, Mapping):
        for key, each in value.items():
            named = str(key).replace("_", " ")
            yield from flat(each, f"{path}, {named}" if path else named)
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from flat(each, f"{path}, {place + 1}")
    elif value is not None:
        yield path, f"{value:.6g}" if isinstance(value, float) else str(value)
