"""The flow of a trial as CONSORT draws it: boxes from those who were assessed to those who are analysed."""

from collections.abc import Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Any

from takeup.charts.style import FONT, INK
from takeup.errors import InputError

WIDTH, GAP, LINE, PAD, STEP = 190, 16, 17, 9, 26
"""Of a box, between boxes, of a line of text, inside a box, and of an arrow; in pixels."""
MOST_LETTERS = 30
"""How many letters are in a line of a box."""
HEADING = ' font-weight="bold"'


def flow_diagram(flow: Mapping[str, Any], alternative: str = "", *, took: str = "took") -> str:
    """An SVG picture, in the colour of the text around it, on nothing.

    Args:
        flow: what `takeup.analysis.flow.Flow.plain` gives: assessed, contexts, and arms with their counts.
        alternative: what it shows in words; a sentence of its own where left out.
        took: what those do who have an action.
    """
    arms = list(flow["arms"])
    if not arms:
        raise InputError("flow", "no arms", "at least one")
    top = _wrapped(["Assessed and allocated", f"{flow['assessed']:,}", *_few(flow["contexts"])])
    columns = [[_wrapped(box) for box in _boxes(arm, took)] for arm in arms]
    heights = [max(len(column[row]) for column in columns) * LINE + 2 * PAD for row in range(len(columns[0]))]
    wide = len(arms) * WIDTH + (len(arms) - 1) * GAP
    first = len(top) * LINE + 2 * PAD
    parts = [_box(wide / 2 - WIDTH / 2, 1, first, top)]
    fork = 1 + first + STEP / 2
    middles = [WIDTH / 2 + i * (WIDTH + GAP) for i in range(len(arms))]
    parts.append(_line(wide / 2, 1 + first, wide / 2, fork))
    parts.append(_line(middles[0], fork, middles[-1], fork))
    end = 0.0
    for middle, column in zip(middles, columns, strict=True):
        y, above = 1 + first + STEP, fork
        for lines, height in zip(column, heights, strict=True):
            parts += [_arrow(middle, above, y), _box(middle - WIDTH / 2, y, height, lines)]
            above = y + height
            y = above + STEP
        end = above
    said = alternative or sentence(flow)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(said)}" class="flow"'
        f' width="{wide + 2:g}" height="{end + 2:g}" viewBox="-1 -1 {wide + 2:g} {end + 2:g}"'
        f' font-family="{FONT}" font-size="12" fill="{INK}" stroke="none">{"".join(parts)}</svg>'
    )


def sentence(flow: Mapping[str, Any]) -> str:
    """The flow in words."""
    counts = {"allocated": "allocated", "followed_up": "followed up", "awaited": "awaited", "lost": "lost"}
    arms = (
        f"{arm['proposal']}: " + ", ".join(f"{arm[key]:,} {word}" for key, word in counts.items() if key in arm)
        for arm in flow["arms"]
    )
    return f"{flow['assessed']:,} were assessed and allocated. {'; '.join(arms)}."


def _boxes(arm: Mapping[str, Any], verb: str) -> list[list[str]]:
    """What the boxes of an arm say, from allocated to analysed."""
    took = [f"{verb} {name}: {many:,}" for name, many in arm["took"].items() if many]
    silent = [f"not reported: {arm['not_reported']:,}"] if arm["not_reported"] else []
    return [
        [str(arm["proposal"]), f"allocated: {arm['allocated']:,}"],
        [*took, *silent] or [f"{verb}: nothing reported"],
        [f"followed up: {arm['followed_up']:,}", *_without(arm)],
        [f"analysed: {arm['analysed']:,}", f"with action: {arm['analysed_by_action']:,}"],
    ]


def _without(arm: Mapping[str, Any]) -> list[str]:
    """Those without an outcome: awaited while a trial goes on, lost in the end."""
    awaited = [f"outcome awaited: {arm['awaited']:,}"] if arm.get("awaited") else []
    return awaited + ([f"lost: {arm['lost']:,}"] if arm["lost"] or not awaited else [])


def _few(contexts: Mapping[str, int], most: int = 6) -> list[str]:
    """A line for each context, where there are several; those beyond the first few together."""
    if len(contexts) < 2:
        return []
    named = [f"{name}: {many:,}" for name, many in contexts.items()]
    rest = sum(list(contexts.values())[most:])
    return named[:most] + ([f"{len(named) - most} others: {rest:,}"] if len(named) > most else [])


def _box(x: float, y: float, height: float, lines: Sequence[tuple[str, str]]) -> str:
    texts = "".join(
        f'<text x="{x + WIDTH / 2:g}" y="{y + PAD + (i + 0.75) * LINE:g}" text-anchor="middle"'
        f"{look}>{escape(line)}</text>"
        for i, (line, look) in enumerate(lines)
    )
    frame = f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{height:g}" rx="3" fill="none" stroke="{INK}"'
    return f'{frame} stroke-opacity="0.5"/>{texts}'


def _wrapped(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Lines that fit, and how each looks: of what is too long nothing is cut off, and the first is a heading."""
    return [(part, "" if i else HEADING) for i, line in enumerate(lines) for part in wrap(line, MOST_LETTERS)]


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<path d="M{x:g} {y:g}L{to_x:g} {to_y:g}" fill="none" stroke="{INK}" stroke-opacity="0.5"/>'


def _arrow(x: float, y: float, to: float) -> str:
    head = f'<path d="M{x - 4:g} {to - 6:g}L{x + 4:g} {to - 6:g}L{x:g} {to:g}Z" fill-opacity="0.5"/>'
    return _line(x, y, x, to - 6) + head
