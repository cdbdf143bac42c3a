"""Covariates on the form of a new trial: a row of fields for each, and a line for each pair that interacts."""

from typing import Any

from takeup.covariates import Category, Covariates, Measure
from takeup.service.pages.form_numbers import Fields, Wrong, number, real

PARTS = ("name", "kind", "low", "high", "step", "unit", "levels", "missing")
"""What is asked of a covariate; the names of the fields are `known_` and these, with the place of its row."""
TYPED = ("name", "low", "high", "unit", "levels")
"""Those that are blank in a row that nobody has filled in."""
INTERACTIONS = "interactions"
CROSS = " x "
"""What stands between the two of a pair."""
MOST_ROWS = 50
NEEDED = "This is needed."


def field(part: str, place: int) -> str:
    """The name of a field."""
    return f"known_{part}-{place}"


def filled(fields: Fields) -> list[int]:
    """The rows that somebody has filled in."""
    return [i for i in range(MOST_ROWS) if any(fields.get(field(part, i), "").strip() for part in TYPED)]


def rows(fields: Fields) -> list[int]:
    """The rows that are shown: one more than are filled in."""
    return list(range(min(MOST_ROWS, max(filled(fields), default=-1) + 2)))


def known(fields: Fields) -> set[str]:
    """The names of all fields there are."""
    return {INTERACTIONS, *(field(part, i) for i in rows(fields) for part in PARTS)}


def content(fields: Fields, wrong: Wrong) -> dict[str, Any]:
    """What a spec's `[space]` has of covariates; nothing where there are none."""
    found: dict[str, dict[str, Any]] = {}
    for i in filled(fields):
        name = fields.get(field("name", i), "").strip()
        if not name:
            wrong[field("name", i)] = "Give it a name, or leave the whole row blank."
        elif name in found:
            wrong[field("name", i)] = "Another row has this name."
        else:
            found[name] = (
                _category(fields, i) if fields.get(field("kind", i)) == "category" else _measure(fields, i, wrong)
            )
    pairs = _pairs(fields, list(found), wrong)
    return {**({"covariates": found} if found else {}), **({INTERACTIONS: pairs} if pairs else {})}


def place(key: str, fields: Fields) -> str | None:
    """The field that an error of a spec at this key is about; None where it is not about covariates."""
    if key == f"space.{INTERACTIONS}":
        return INTERACTIONS
    rest = key.removeprefix("space.covariates")
    if rest == key:
        return None
    for i in filled(fields):
        name = f".{fields.get(field('name', i), '').strip()}"
        if rest == name:
            return field("name", i)
        if rest.startswith(f"{name}."):
            part = rest.removeprefix(f"{name}.").partition(".")[0]
            return field(part if part in PARTS else "name", i)
    return field("name", 0)


def fields_of(covariates: Covariates | None) -> dict[str, str]:
    """The fields that covariates would be filled in with."""
    if covariates is None:
        return {}
    found: dict[str, str] = {INTERACTIONS: "\n".join(CROSS.join(pair) for pair in covariates.interactions)}
    for i, (name, kind) in enumerate(zip(covariates.names, covariates.kinds, strict=True)):
        found |= {field("name", i): name, field("kind", i): kind.kind, field("missing", i): kind.missing}
        if isinstance(kind, Measure):
            found |= {field(part, i): number(getattr(kind, part)) for part in ("low", "high", "step")}
            found[field("unit", i)] = kind.unit
        if isinstance(kind, Category):
            found[field("levels", i)] = "\n".join(kind.levels)
    return found


def _measure(fields: Fields, i: int, wrong: Wrong) -> dict[str, Any]:
    made: dict[str, Any] = {"kind": "measure", "missing": _missing(fields, i)}
    for part in ("low", "high", "step"):
        given = real(fields, field(part, i), wrong)
        if given is not None:
            made[part] = given
        elif part != "step":
            wrong.setdefault(field(part, i), NEEDED)
    return {**made, "unit": fields.get(field("unit", i), "").strip()}


def _category(fields: Fields, i: int) -> dict[str, Any]:
    lines = fields.get(field("levels", i), "").splitlines()
    levels = [line.strip() for line in lines if line.strip()]
    return {"kind": "category", "levels": levels, "missing": _missing(fields, i)}


def _missing(fields: Fields, i: int) -> str:
    return "kept" if fields.get(field("missing", i)) == "kept" else "refused"


def _pairs(fields: Fields, names: list[str], wrong: Wrong) -> list[list[str]]:
    """Pairs of names; a name may have the cross in it, so that the first cut between two names counts."""
    found = []
    for line in fields.get(INTERACTIONS, "").splitlines():
        parts = line.strip().split(CROSS)
        cuts = [(CROSS.join(parts[:i]).strip(), CROSS.join(parts[i:]).strip()) for i in range(1, len(parts))]
        pair = next((list(cut) for cut in cuts if all(name in names for name in cut)), None)
        if pair is not None:
            found.append(pair)
        elif line.strip():
            wrong[INTERACTIONS] = (
                "Expected: two of the names above with an x between them, one pair a line: age x state."
            )
    return found
