"""One page with what may be concluded from a trial, in words that a clinician reads, and how to repeat all of it."""

from dataclasses import replace
from pathlib import Path

from takeup.analysis.assumed import Assumed
from takeup.analysis.group_pictures import group_pictures
from takeup.analysis.group_words import ABOUT, verdict
from takeup.analysis.headline import answers, beside, leading, unplanned
from takeup.analysis.pictures import (
    compliance_picture,
    estimates_table,
    flow_picture,
    forest_pictures,
    stretches_table,
    tipping_pictures,
)
from takeup.analysis.results import Analysis
from takeup.analysis.taken import compared_with
from takeup.analysis.telling import span
from takeup.analysis.words import p_value, quantity, reasons
from takeup.charts.document import Judged, ReportTable, Section, drawn_all, page
from takeup.version import __version__

TEMPLATE = "analysis/report.html.jinja"
READINGS = """Intention to treat compares what was offered, whoever then took it, and assumes nothing about who
complies or why. The effect among compliers is that of what is taken, for those who take it because it is offered. Per
protocol and as treated compare people who chose: they are shown as what they are, which is not what an offer or a
treatment does."""
TESTS = """A test asks whether what was offered made any difference. Those that say so hold after adaptive allocation,
where the usual ones do not. Betting may be looked at as often as one likes; its p-value is 1 / e. The martingale score
is for one look: person by person it holds what was offered against the chance that it had."""
DRIFT = """People who come late may differ from those who come early. Where offers changed meanwhile, whatever compares
plain means then compares early with late. Estimates that survive drift weight each outcome by the probability with
which it was offered at that moment."""
MISSING = """Estimates are of those whose outcome, and where needed what they took, is known. That is fair where being
known does not depend on the outcome."""
PLANNED = "Planned before the trial"
GIVEN = "By the plan that was given, of which nobody here knows when it was written"
CAPTIONS = {
    "planned": "What the plan that was given names",
    "by convention": "What leads by convention",
    "explored": "What was asked for, which is not what the plan names",
}
"""What the first table is called where no plan was stored before the trial, by what kind of answer leads."""
EXPLORED = "Whatever is not marked as planned was not planned: take it as a question, not as an answer."


def report(analysis: Analysis, folder: Path | None = None) -> str:
    """A page of HTML that needs nothing else to be read; where there is a folder, its charts are written there too."""
    sections = [
        _planned(analysis),
        _explored(analysis),
        _groups(analysis),
        _alone(analysis),
        _compliance(analysis),
        _flow(analysis),
        _tests(analysis),
        _checks(analysis),
        _drift(analysis),
        _bounds(analysis),
        _assumed(analysis),
        _repeat(analysis),
    ]
    wording = analysis.wording
    kept = [replace(wording.all(each), name=each.name, code=each.code) for each in sections if each is not None]
    return page(
        TEMPLATE,
        title=f"{analysis.name or 'A trial'}: analysis",
        answers=answers(analysis),
        beside=[compared_with(analysis), *beside(analysis)],
        alarms=wording.all([each.sentence for each in analysis.checks if each.alarm]),
        sections=kept,
        images=drawn_all(kept, folder),
    )


def _planned(analysis: Analysis) -> Section:
    planned, space = analysis.planned, analysis.log.space
    others = len(space.proposals) - 1
    text = []
    if planned.named:
        test = f", tested by {planned.test}" if planned.test else ""
        text.append(
            f"{PLANNED if planned.stored else GIVEN}: the {planned.measure} by the reading {planned.reading}, with"
            f" intervals of {100 * planned.level:g} %, {'one' if planned.sided == 1 else 'two'}-sided{test}."
        )
    text += unplanned(analysis)
    if planned.sided == 1:
        text.append(f"Each end of an interval by itself holds in {100 * planned.level:g} % of trials.")
    if others > 1:
        text.append(
            f"There are {others} comparisons with {space.proposals[planned.control]}, each with a level of its own: one"
            f" of them misses in up to {100 * min(1.0, others * (1 - planned.level)):.3g} % of trials."
        )
    caption = "What was planned" if planned.stored else CAPTIONS[planned.leads]
    found, tests = leading(analysis), [each.tested for each in analysis.primary_tests]
    tables = (estimates_table(caption, found, analysis, tests),) if found or tests else ()
    return Section(
        name="answer", title="The answer", text=tuple(text), tables=tables, pictures=tipping_pictures(analysis)
    )


def _explored(analysis: Analysis) -> Section:
    return Section(
        name="explored",
        title="Explored: all readings beside each other",
        text=(READINGS, EXPLORED),
        pictures=forest_pictures(analysis),
    )


def _groups(analysis: Analysis) -> Section | None:
    if not analysis.subgroups:
        return None
    told = tuple(verdict(each, analysis.log.space) for each in analysis.subgroups)
    return Section(name="groups", title="Effects by covariates", text=(ABOUT, *told), pictures=group_pictures(analysis))


def _alone(analysis: Analysis) -> Section | None:
    alone = [each for each in analysis.entries if each.of_one]
    tables = [estimates_table("Each proposal by itself", alone, analysis)] if alone else []
    if why := reasons(analysis):
        caption = "What is withheld or not to be relied upon"
        tables.append(ReportTable(caption, ("reading", "why"), tuple(why), 1, 1))
    left_out = tuple((each.what, each.why) for each in analysis.left_out)
    if left_out:
        tables.append(ReportTable("What could not be computed", ("reading", "why"), left_out, 1, 1))
    title = "Each proposal by itself, and what is withheld"
    return Section(name="alone", title=title, tables=tuple(tables)) if tables else None


def _compliance(analysis: Analysis) -> Section | None:
    picture = compliance_picture(analysis)
    return None if picture is None else Section(name="compliance", title="Who did what", pictures=(picture,))


def _flow(analysis: Analysis) -> Section:
    space = analysis.log.space
    rows = tuple(
        (
            each.contrast,
            f"{each.missing:,} of {each.n:,}",
            span(each.low, each.high, space),
            each.withheld or span(*each.interval, space),
        )
        for each in analysis.worst
    )
    columns = ("comparison", "without an outcome", "effect", "with sampling error")
    caption = f"The difference in {quantity(space)}, whatever the missing outcomes were"
    tables = (ReportTable(caption, columns, rows),) if rows else ()
    return Section(
        name="flow",
        title="Who was followed up",
        text=(MISSING,),
        pictures=(flow_picture(analysis.flow),),
        tables=tables,
    )


def _tests(analysis: Analysis) -> Section:
    assumed = Assumed.by(analysis)
    rows = tuple(
        (
            each.tested.test,
            each.tested.contrast,
            each.kind,
            "not done" if each.tested.refused else p_value(each.tested.p),
            "" if each.tested.e is None or each.tested.refused else f"{each.tested.e:.3g}",
            f"{each.tested.replays:,}" if each.tested.replays else "",
            each.tested.refused or each.tested.null,
            assumed.letters(each.tested.assumes),
        )
        for each in analysis.tests
    )
    columns = ("test", "comparison", "kind", "p", "e-value", "replays", "of what, or why not", "assumes")
    table = ReportTable("Tests", columns, rows, 3, 2)
    return Section(name="tests", title="Tests of no effect", text=(TESTS,), tables=(table,))


def _checks(analysis: Analysis) -> Section:
    rows = tuple(
        (
            each.check,
            each.sentence,
            each.concerns,
            "not checked" if each.alarm is None else Judged("alarm" if each.alarm else "nothing found", not each.alarm),
        )
        for each in analysis.checks
    )
    table = ReportTable("What the data say about what is assumed", ("check", "found", "concerns", "verdict"), rows, 3)
    details = tuple(f"{each.check}: {line}" for each in analysis.checks for line in each.detail.split("\n") if line)
    return Section(name="checks", title="Checks", tables=(table,), notes=details)


def _drift(analysis: Analysis) -> Section:
    drift = next(each for each in analysis.checks if each.check == "drift")
    table = stretches_table(analysis.log)
    survive = sorted({each.label for each in analysis.entries if each.estimate.survives_drift})
    fall = sorted({each.label for each in analysis.entries if not each.estimate.survives_drift})
    text = [DRIFT, drift.sentence]
    if survive:
        text.append(f"Survive drift: {', '.join(survive)}.")
    if fall:
        text.append(f"Do not: {', '.join(fall)}.")
    return Section(
        name="drift", title="Sensitivity to drift", text=tuple(text), tables=() if table is None else (table,)
    )


def _bounds(analysis: Analysis) -> Section | None:
    if not analysis.bounds:
        return None
    text = (
        "What taking something does to everybody is not determined by a trial in which people refuse. These bounds hold"
        " whatever those who refuse are like, if an offer acts through what is taken alone."
    )
    rows = tuple(
        (
            each.contrast,
            "sharp" if each.sharp else "natural",
            span(each.low, each.high, analysis.log.space),
            each.withheld or span(each.least, each.most, analysis.log.space),
        )
        for each in analysis.bounds
    )
    columns = ("of what", "kind", "bounds", f"{100 * analysis.bounds[0].level:g} % interval of both")
    return Section(
        name="bounds", title="Bounds", text=(text,), tables=(ReportTable("Bounds of effects", columns, rows, 2),)
    )


def _assumed(analysis: Analysis) -> Section:
    caption = "What has to be true of what has the letter in its row"
    table = ReportTable(caption, ("letter", "assumes"), Assumed.by(analysis).lettered, 1, 1)
    taken = analysis.log.inferred
    text = ("Taken to be so, as nobody said: " + " ".join(taken),) if taken else ()
    return Section(name="assumed", title="What everything assumes", text=text, tables=(table,))


def _repeat(analysis: Analysis) -> Section:
    text = (
        f"takeup {__version__}, seed {analysis.seed}, {len(analysis.log):,} decisions. The same log gives the same"
        " figures on any machine and any number of cores. SHA-256 of the log, whatever file it came from:"
    )
    code = (analysis.digest, analysis.command) if analysis.command else (analysis.digest,)
    return Section(name="repeat", title="How to repeat it", text=(text,), code=code)
