"""Effects by covariates as tables and sentences have them: the same on the terminal, in the report and on pages."""

from collections.abc import Iterator
from typing import NamedTuple

from takeup.analysis.subgroups import Subgroups
from takeup.analysis.telling import amount, p_value
from takeup.analysis.words import figure, interval
from takeup.space import Space

COLUMNS = ("covariate", "group", "decisions", "by itself", "interval", "drawn", "interval", "beware")
ABOUT = (
    "Effects in groups that were known before the decision, by intention to treat. By itself: each group alone, with an"
    " interval for it alone. Drawn: the same drawn towards the other groups of its covariate, by as much as they are"
    " alike. What a group shows that the others do not is more often chance than not: look at whether effects differ at"
    " all first, and at what is drawn before what is by itself."
)


class Row(NamedTuple):
    """A group in words."""

    covariate: str
    group: str
    decisions: str
    own: str
    own_interval: str
    drawn: str
    drawn_interval: str
    beware: str


def rows(found: Subgroups, space: Space) -> Iterator[Row]:
    """A row a group."""
    for each in found.groups:
        drawn = ("", "")
        if each.drawn is not None:
            drawn = figure(each.drawn.value, each.drawn, space), interval(each.drawn, space)
        yield Row(
            found.covariate,
            each.label,
            f"{each.n:,}",
            figure(each.own.value, each.own, space),
            interval(each.own, space),
            *drawn,
            each.own.withheld or each.few,
        )


def verdict(found: Subgroups, space: Space) -> str:
    """Whether the effect differs between the groups of a covariate, as far as the trial tells."""
    name = f"{found.covariate}, {found.contrast}"
    if found.p is None or found.corrected is None or found.between is None:
        return f"{name}: whether the effect differs cannot be told, as fewer than two groups have an interval."
    several = f"; {p_value(found.corrected)} corrected for {found.tests} such tests (Holm)" if found.tests > 1 else ""
    middle, low, high = (amount(each, space, signed=False) for each in found.between)
    return (
        f"{name}: whether the effect differs between groups: {p_value(found.p)}{several}. Effects differ by about"
        f" {middle} from group to group, as a standard deviation ({low} to {high})."
    )
