"""The fields of covariates on the forms that decide and report by hand."""

from collections.abc import Mapping
from typing import NamedTuple

from takeup.covariates import Category, Covariate, Covariates, Measure
from takeup.trial.commands import MOST_NAME

FIELD = "covariate-"
"""What the names of these fields begin with; the place of the covariate follows, as its name may be any text."""

UNKNOWN = "unknown"
"""The choice that it is missing; levels are chosen by their places."""


class Field(NamedTuple):
    """A field.

    Attributes:
        name: of the field.
        label: the covariate's name.
        help: what it may be.
        levels: the places and names of a category's levels; empty for a measure.
        keyboard: what a phone offers to type a measure with; empty where that must have a minus sign, or a category.
        missing: whether it may be missing.
    """

    name: str
    label: str
    help: str
    levels: tuple[tuple[str, str], ...]
    keyboard: str
    missing: bool


def covariate_fields(covariates: Covariates) -> list[Field]:
    """One for each covariate, in their order."""
    return [
        _field(f"{FIELD}{place}", name, kind)
        for place, (name, kind) in enumerate(zip(covariates.names, covariates.kinds, strict=True))
    ]


def field_of(covariates: Covariates, argument: str) -> str:
    """The field of the covariate that an error is about; the argument itself where it is about none."""
    name = argument.removeprefix("covariates.")
    if name == argument or name not in covariates.names:
        return argument
    return f"{FIELD}{covariates.names.index(name)}"


def written(covariates: Covariates, form: Mapping[str, str]) -> dict[str, str | None]:
    """The values that were filled in; those left empty are missing where that may be, and else not there."""
    found = changed(covariates, form)
    pairs = zip(covariates.names, covariates.kinds, strict=True)
    return {**{name: None for name, kind in pairs if kind.missing == "kept"}, **found}


def changed(covariates: Covariates, form: Mapping[str, str]) -> dict[str, str | None]:
    """Those alone that were filled in."""
    found: dict[str, str | None] = {}
    for place, (name, kind) in enumerate(zip(covariates.names, covariates.kinds, strict=True)):
        value = form.get(f"{FIELD}{place}", "").strip()[:MOST_NAME]
        if value:
            found[name] = _value(kind, value)
    return found


def _field(name: str, label: str, kind: Covariate) -> Field:
    levels = tuple((str(k), level) for k, level in enumerate(kind.levels)) if isinstance(kind, Category) else ()
    return Field(name, label, kind.allowed, levels, _keyboard(kind), kind.missing == "kept")


def _keyboard(kind: Covariate) -> str:
    """Number pads of phones have no minus sign, and those for whole numbers no point."""
    if not isinstance(kind, Measure) or kind.low < 0:
        return ""
    return "numeric" if kind.step.is_integer() and kind.low.is_integer() else "decimal"


def _value(kind: Covariate, value: str) -> str | None:
    """What was chosen or typed; a place that there is not stays as it is, and is refused by its covariate."""
    if value == UNKNOWN and kind.missing == "kept":
        return None
    if isinstance(kind, Category) and value.isascii() and value.isdecimal() and int(value[:9]) < len(kind.levels):
        return kind.levels[int(value[:9])]
    return value
