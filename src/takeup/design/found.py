"""What was found of a plan, as parts of its report."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from takeup.charts.document import ReportTable
from takeup.design.operate import Calibration
from takeup.design.pictures import (
    Picture,
    allocation_picture,
    ends_picture,
    number,
    promise_picture,
    promise_points,
    share,
    sizes_picture,
    take_up_picture,
)
from takeup.design.plan import Plan
from takeup.design.protocol import Section
from takeup.design.results import Figure, Outcomes
from takeup.design.sizes import Goal, two_rates
from takeup.design.take_up import TakeUpCurve
from takeup.errors import InputError

ENDS = ("superior", "equivalent", "futile", "maximum")
BY_ARM = ("superior_by_arm", "dropped_by_arm", "selected", "share")
SHOWN = {*ENDS, *BY_ARM, "size", "claimed", "successes", "stopped_by_look", "on_worse", "ideal_design"}
"""Metrics that have a place of their own; all others are listed after them."""


def characteristics(plan: Plan, outcomes: Mapping[str, Outcomes], nulls: Mapping[str, Figure]) -> Section:
    """What the plan does in each scenario."""
    every = {name: each.metrics() for name, each in outcomes.items()}
    ends = [end for end in ENDS if any(metrics[end]["mean"] for metrics in every.values())]
    rows = []
    for name, metrics in every.items():
        ideal = metrics.get("ideal_design")
        rows.append(
            (
                name,
                outcomes[name].truth.role,
                share(metrics["claimed"]),
                *(share(metrics[end]) for end in ends),
                number(metrics["size"]),
                number(metrics["successes"]),
                share(metrics["on_worse"]),
                "" if ideal is None else f"{ideal['mean']:.1f} ± {ideal['error']:.1f}",
            )
        )
    called = "called better" if plan.rules.control is None else "better than the first control"
    columns = ("scenario", "role", called, *ends, "size", "worth of all outcomes", "share on worse", "ideal design, %")
    tables = [ReportTable("Each scenario; ± is the Monte Carlo error", columns, tuple(rows), 2), _arms(plan, outcomes)]
    further = [
        (name, path, text)
        for name, metrics in every.items()
        for path, text in flat({key: value for key, value in metrics.items() if key not in SHOWN})
    ]
    if further:
        tables.append(ReportTable("Further figures", ("scenario", "figure", "found"), tuple(further), 2))
    text = []
    if nulls:
        worst = max(nulls.values(), key=lambda figure: figure.mean)
        text.append(
            f"Type I error: the probability that any proposal is called better where none is. Over all "
            f"{len(nulls)} null scenarios it is {share(worst, 4)} at the most; two Monte Carlo errors above that is "
            f"{worst.mean + 2 * worst.error:.4f}. In other scenarios the same column is the power, of naming any "
            "proposal; the table of proposals says which."
        )
    return Section(
        name="characteristics",
        title="Operating characteristics",
        text=tuple(text),
        tables=tuple(tables),
        pictures=(ends_picture(outcomes), sizes_picture(outcomes), allocation_picture(outcomes)),
    )


def _arms(plan: Plan, outcomes: Mapping[str, Outcomes]) -> ReportTable:
    rows = []
    for name, each in outcomes.items():
        metrics = each.metrics()
        for k, label in enumerate(plan.design.space.proposals):
            found = (share(metrics[column][label]) for column in BY_ARM)
            rows.append((name, label, f"{each.truth.values[k]:.4g}", *found))
    columns = ("scenario", "proposal", "worth", "superior", "dropped", "selected", "share of units")
    return ReportTable("Each proposal in each scenario", columns, tuple(rows), 2)


def noncompliance(plan: Plan, outcomes: Mapping[str, Outcomes], curve: TakeUpCurve | None) -> Section | None:
    """Against take-up, and against what may be promised about those who refuse."""
    pictures, text = [], []
    if curve is not None:
        pictures.append(take_up_picture(curve))
    promised = _promises(plan, outcomes)
    if promised is not None:
        name, picture = promised
        pictures.append(picture)
        text.append(
            f"With the rates and the take-up of {name}, a trial of fixed size and even allocation, one-sided .025, 80 "
            "% power: intention to treat needs most, and fewer suffice where those who refuse are promised to be like "
            "those who take, but for Δ. Such a promise cannot be tested before the trial."
        )
    if not pictures:
        return None
    return Section(name="noncompliance", title="If fewer comply", text=tuple(text), pictures=tuple(pictures))


def _promises(plan: Plan, outcomes: Mapping[str, Outcomes]) -> tuple[str, Picture] | None:
    """For the first alternative of two rates in which some refuse."""
    if len(plan.design.space.proposals) != 2:
        return None
    control = plan.rules.control or 0
    for name, each in outcomes.items():
        written = plan.content["scenarios"][name]
        success, take_up = written.get("success"), written.get("take_up", 1)
        if each.truth.role == "null" or not success or take_up == 1 or np.ndim(success) != 1:
            continue
        try:
            points = promise_points(success[control], success[1 - control], take_up)
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
    plan: Plan, outcomes: Mapping[str, Outcomes], nulls: Mapping[str, Figure], size: Any, compared: Any
) -> Section | None:
    """Beside a trial of fixed size with the same error and power, and beside what else was compared."""
    tables = []
    rows = tuple(_fixed_rows(plan, outcomes, nulls))
    if rows:
        columns = ("scenario", "power", "mean size", "at most", "fixed size for that power")
        tables.append(ReportTable("Beside a fixed size and even allocation, with the same error", columns, rows))
    for caption, given in (("Size for a power", size), ("Beside other plans", compared)):
        listed = () if given is None else tuple(flat(given))
        if listed:
            tables.append(ReportTable(caption, ("figure", "found"), listed))
    if not tables:
        text = "No fixed size was put beside it: there is a formula here for two proposals and two outcomes alone."
        return Section(name="fixed", title="Comparison with a fixed design", text=(text,))
    text = (
        "A trial of fixed size is looked at once, by a normal test of two rates by intention to treat, at the error "
        "that was found in the worst null scenario."
    )
    return Section(
        name="fixed", title="Comparison with a fixed design", text=(text,) if rows else (), tables=tuple(tables)
    )


def _fixed_rows(
    plan: Plan, outcomes: Mapping[str, Outcomes], nulls: Mapping[str, Figure]
) -> Iterator[tuple[str, str, str, str, str]]:
    space = plan.design.space
    if len(space.proposals) != 2 or len(space.outcomes) != 2 or not nulls:
        return
    error = max(figure.mean for figure in nulls.values())
    low, width = float(space.reward.min()), float(np.ptp(space.reward))
    for name, each in outcomes.items():
        power = Figure.of(each.claimed)
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
    """Whatever was found as lines of a name and a text; a figure has its error."""
    if hasattr(value, "plain"):
        value = value.plain()
    elif is_dataclass(value) and not isinstance(value, type):
        value = {each.name: getattr(value, each.name) for each in fields(value) if each.name != "plan"}
    if isinstance(value, Mapping) and set(value) == {"mean", "error"}:
        yield path, f"{value['mean']:.4g} ± {value['error']:.2g}"
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from flat(each, f"{path}, {key}" if path else str(key).replace("_", " "))
    elif isinstance(value, list | tuple):
        for place, each in enumerate(value):
            yield from flat(each, f"{path}, {place + 1}")
    elif value is not None and not isinstance(value, Plan | Outcomes | np.ndarray):
        yield path, f"{value:.6g}" if isinstance(value, float) else str(value)
