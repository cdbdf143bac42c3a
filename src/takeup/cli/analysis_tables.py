"""What `takeup analyse` prints: the answer first, then a row a reading."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from takeup.analysis.group_words import ABOUT, verdict
from takeup.analysis.group_words import rows as group_rows
from takeup.analysis.headline import answers, beside, unplanned
from takeup.analysis.results import LEADING, Analysis, Entry
from takeup.analysis.taken import compared_with
from takeup.analysis.telling import span
from takeup.analysis.words import figure, interval, p_value, reasons, survives
from takeup.version import __version__


def show(analysis: Analysis) -> None:
    """Answers, estimates, tests, bounds and checks."""
    console, told = Console(), analysis.wording.told
    for sentence in answers(analysis):
        console.print(f"[bold]{escape(sentence)}[/]", highlight=False, soft_wrap=True)
    for sentence in [compared_with(analysis), *beside(analysis), *unplanned(analysis)]:
        console.print(escape(sentence), highlight=False, soft_wrap=True)
    console.print()
    name = f"{analysis.name}: " if analysis.name else ""
    title = f"{name}{len(analysis.log):,} decisions, seed {analysis.seed}, takeup {__version__}"
    console.print(escape(title), highlight=False)
    if analysis.log.inferred:
        taken = f"Taken to be so: {' '.join(analysis.log.inferred)}"
        console.print(f"[dim]{escape(taken)}[/]", highlight=False, soft_wrap=True)
    space = analysis.log.space
    control = space.proposals[analysis.planned.control]
    for one, label in enumerate(space.proposals):
        compared = [each for each in analysis.entries if each.one == one and not each.of_one]
        if compared:
            console.print(_estimates(analysis, compared, f"{label} against {control}"))
    alone = [each for each in analysis.entries if each.of_one]
    if alone:
        console.print(_estimates(analysis, alone, "Each proposal by itself"))
    _groups(console, analysis)
    if analysis.tests:
        console.print(_tests(analysis))
    if analysis.bounds:
        console.print(_bounds(analysis))
    for check in analysis.checks:
        mark = "[dim]?[/]" if check.alarm is None else "[red]✗[/]" if check.alarm else "[green]✓[/]"
        console.print(f"{mark} {check.check}: {escape(told(check.sentence))}", highlight=False, soft_wrap=True)
    for labels, why in reasons(analysis):
        console.print(
            f"[dim]not to be relied upon: {escape(labels)}: {escape(told(why))}[/]", highlight=False, soft_wrap=True
        )
    for left in analysis.left_out:
        console.print(
            f"[dim]not computed: {escape(told(left.what))}: {escape(told(left.why))}[/]",
            highlight=False,
            soft_wrap=True,
        )


def _estimates(analysis: Analysis, entries: Sequence[Entry], title: str) -> Table:
    space = analysis.log.space
    table = _table(escape(title), ("reading",), ("estimate", "interval"), ("holds after",))
    for each in entries:
        label = f"{each.estimate.contrast}: {each.label}" if each.of_one else each.label
        label += f", {each.context}" if each.context else ""
        label += "" if each.kind == "explored" else f" ({each.kind})"
        table.add_row(
            escape(label),
            figure(each.estimate.value, each.estimate, space),
            interval(each.estimate, space),
            survives(each.estimate, short=True),
            style="bold" if each.kind in LEADING else "dim" if each.kind == "naive" else None,
        )
    return table


def _groups(console: Console, analysis: Analysis) -> None:
    """Effects by covariates, a table a comparison, and whether they differ."""
    space, told = analysis.log.space, analysis.wording.told
    for one in dict.fromkeys(each.one for each in analysis.subgroups):
        found = [each for each in analysis.subgroups if each.one == one]
        title = f"{found[0].contrast}, by covariates: each group by itself, and drawn towards the others"
        table = _table(escape(told(title)), ("group",), ("decisions", "by itself", "drawn"), ())
        rows = [row for each in found for row in group_rows(each, space)]
        for row in rows:
            pairs = ((row.own, row.own_interval), (row.drawn, row.drawn_interval))
            table.add_row(escape(f"{row.covariate}: {row.group}"), row.decisions, *("\n".join(pair) for pair in pairs))
        console.print(table)
        for row in rows:
            if row.beware:
                said = f"{row.covariate}: {row.group}: {told(row.beware)}"
                console.print(f"[dim]{escape(said)}[/]", highlight=False, soft_wrap=True)
        for each in found:
            console.print(escape(told(verdict(each, space))), highlight=False, soft_wrap=True)
    if analysis.subgroups:
        console.print(f"[dim]{escape(told(ABOUT))}[/]", highlight=False, soft_wrap=True)


def _tests(analysis: Analysis) -> Table:
    table = _table("Tests of no effect", ("test", "comparison"), ("p", "e-value", "replays"), ("why not",))
    for each in analysis.tests:
        tested = each.tested
        table.add_row(
            tested.test if each.kind == "explored" else f"{tested.test} ({each.kind})",
            escape(tested.contrast),
            "" if tested.refused else p_value(tested.p).removeprefix("p ").removeprefix("= "),
            "" if tested.e is None or tested.refused else f"{tested.e:.3g}",
            f"{tested.replays:,}" if tested.replays else "",
            escape(analysis.wording.told(tested.refused)),
        )
    return table


def _bounds(analysis: Analysis) -> Table:
    title = "Bounds of what taking it would do to everybody"
    table = _table(title, ("of what",), ("bounds", "interval of both"), ("why not",))
    space = analysis.log.space
    for each in analysis.bounds:
        ends = "" if each.withheld else span(each.least, each.most, space)
        table.add_row(
            escape(each.contrast), span(each.low, each.high, space), ends, escape(analysis.wording.told(each.withheld))
        )
    return table


def _table(title: str, words: Sequence[str], figures: Sequence[str], more: Sequence[str]) -> Table:
    """Columns of words, which wrap, of figures, which do not, and of words again."""
    table = Table(title=title, box=SIMPLE_HEAD, title_justify="left")
    for name in words:
        table.add_column(name, overflow="fold")
    for name in figures:
        table.add_column(name, justify="right", no_wrap=True)
    for name in more:
        table.add_column(name, overflow="fold")
    return table
