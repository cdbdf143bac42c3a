"""One page with all that a board asks of an adaptive design, in the order of the guidances for such designs.

The ICH's guideline E20 and the FDA's guidance of 2019 on adaptive designs ask for the same: the design and why, the
rules, what adapts, what is estimated, operating characteristics by simulation, integrity, and how to repeat all of it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from takeup import specfile
from takeup.charts.document import ReportTable, Section, drawn_all, page
from takeup.design import found, protocol
from takeup.design.analysed import Analysed
from takeup.design.comparing import Compared
from takeup.design.operate import Calibration
from takeup.design.plan import Plan
from takeup.design.results import Figure, Outcomes
from takeup.design.sizing import Sized
from takeup.design.take_up import TakeUpCurve
from takeup.errors import InputError

TEMPLATE = "design/report.html.jinja"
REPEAT = """Each trial depends on the plan, the scenario, the seed and its number alone, whatever the machine. The plan
below is all of it; saved as plan.toml it gives these figures again."""

RUN = ("scenario", "trials", "their numbers", "seed", "engine", "takeup")


def report(
    plan: Plan,
    outcomes: Mapping[str, Outcomes],
    *,
    calibration: Calibration | None = None,
    size: Sized | None = None,
    compared: Compared | None = None,
    take_up: TakeUpCurve | None = None,
    analysed: Sequence[Analysed] = (),
    folder: Path | None = None,
) -> str:
    """A page of HTML that needs nothing else to be read.

    Args:
        plan: what was tried.
        outcomes: the trials, by scenario.
        calibration: how its threshold was found.
        size: what was found about its size.
        compared: what was found beside other plans.
        take_up: the trials by take-up, as `by_take_up` makes them.
        analysed: the planned analysis in trials.
        folder: where the charts are written as files too.
    """
    if not outcomes:
        raise InputError("outcomes", "no scenarios", "the trials of at least one")
    nulls = {name: Figure.of(each.claimed) for name, each in outcomes.items() if each.truth.role == "null"}
    sections = [
        protocol.description(plan),
        protocol.looks(plan),
        protocol.adaptation(plan),
        protocol.estimand(plan),
        protocol.scenarios(plan, outcomes),
        found.characteristics(plan, outcomes, nulls),
        found.planned_analysis(analysed),
        found.noncompliance(plan, outcomes, take_up),
        found.calibration(plan, calibration),
        found.fixed(plan, outcomes, nulls, size, compared),
        protocol.integrity(),
        _simulation(plan, outcomes, calibration),
    ]
    kept = [each for each in sections if each is not None]
    images = drawn_all(kept, folder)
    return page(TEMPLATE, plan=plan, sections=kept, images=images, summary=_summary(outcomes, nulls))


def _summary(outcomes: Mapping[str, Outcomes], nulls: Mapping[str, Figure]) -> list[str]:
    said = []
    if nulls:
        name = max(nulls, key=lambda each: nulls[each].mean)
        said.append(f"In {name}, the worst of its null scenarios, a proposal is called better in {_of(nulls[name])}.")
    else:
        said.append("No null scenario was tried: its error of the first kind is not known.")
    for name, each in outcomes.items():
        if each.truth.apart:
            size = Figure.of(each.size)
            power = _of(Figure.of(each.right))
            said.append(f"In {name} one is rightly called better in {power}, with {size.mean:,.0f} units on average.")
    return said


def _of(figure: Figure) -> str:
    return f"{figure.mean:.1%} of trials (Monte Carlo error {figure.error:.2%})"


def _simulation(plan: Plan, outcomes: Mapping[str, Outcomes], calibration: Calibration | None) -> Section:
    rows = []
    for name, each in outcomes.items():
        first, last = int(each.replications.min()), int(each.replications.max())
        numbers = f"{first:,} to {last:,}"
        rows.append((name, f"{each.replications.size:,}", numbers, str(each.seed), each.engine, each.version))
    one = next(iter(outcomes.values()))
    first, last = int(one.replications.min()), int(one.replications.max())
    text = REPEAT if calibration is None else f"{REPEAT} Its threshold was found by --calibrate {calibration.target:g}."
    given = f'replications=range({first}, {last + 1}), seed={one.seed}, engine="{one.engine}"'
    code = f'from takeup.design import Plan, operate\n\nfound = operate(Plan.load("plan.toml"), {given})'
    shell = f"takeup design plan.toml --replications {one.replications.size} --seed {one.seed} --engine {one.engine}"
    command = (shell,) if first == 0 else ()
    return Section(
        name="simulation",
        title="Simulation report: how to repeat it",
        text=(text,),
        tables=(ReportTable("What was run", RUN, tuple(rows)),),
        code=(*command, code, specfile.toml(plan.content)),
    )
