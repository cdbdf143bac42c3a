"""Effects by covariates as a forest plot: each group by itself, and drawn towards the others."""

import math
from functools import partial
from typing import Any

from takeup import charts
from takeup.analysis.assumed import Assumed
from takeup.analysis.group_words import COLUMNS, rows
from takeup.analysis.results import Analysis
from takeup.analysis.subgroups import Group, Subgroups
from takeup.analysis.telling import axis
from takeup.charts.document import Picture, ReportFigure, ReportTable

DRAWN = "drawn towards the others"


def group_pictures(analysis: Analysis) -> tuple[Picture, ...]:
    """A forest plot a comparison, with its table."""
    return tuple(_picture(analysis, one) for one in dict.fromkeys(each.one for each in analysis.subgroups))


def _picture(analysis: Analysis, one: int) -> Picture:
    space, assumed = analysis.log.space, Assumed.by(analysis)
    found = [each for each in analysis.subgroups if each.one == one]
    records = [record for each in found for group in each.groups for record in _records(each, group)]
    caption = (
        f"{found[0].contrast} in each group, by itself and drawn towards the other groups of its covariate. Crosses:"
        " the interval is withheld, and the table says why."
    )
    told = [row for each in found for row in rows(each, space)]
    words = "; ".join(f"{row.covariate} {row.group}: {row.own}, {row.own_interval}" for row in told)
    groups = [group for each in found for group in each.groups]
    letters = (
        assumed.letters(dict.fromkeys((*group.own.assumes, *(group.drawn.assumes if group.drawn else ()))))
        for group in groups
    )
    lines = tuple((*row, letter) for row, letter in zip(told, letters, strict=True))
    table = ReportTable("The same in figures", (*COLUMNS, "assumes"), lines, 2, 2)
    draw = partial(charts.forest, records, axis(space, ["difference"]))
    return Picture(ReportFigure(f"subgroups-{one}", caption, words, draw), table)


def _records(found: Subgroups, group: Group) -> list[dict[str, Any]]:
    """A record for the group by itself, and one drawn towards the others."""
    own, name = group.own, {"group": found.covariate}
    kind = "by itself" if own.shown else "no interval to rely upon"
    ends = (own.low, own.high) if own.shown else (math.nan, math.nan)
    made = [{**name, "label": group.label, "kind": kind, "value": own.value, "low": ends[0], "high": ends[1]}]
    if group.drawn is not None:
        drawn = group.drawn
        label = f"{group.label}, drawn"
        made.append({**name, "label": label, "kind": DRAWN, "value": drawn.value, "low": drawn.low, "high": drawn.high})
    return made
