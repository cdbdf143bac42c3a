"""Who comes, as a scenario says it: the distribution of each covariate, or people of the past drawn again and again."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from takeup import checks
from takeup.checks import FloatArray
from takeup.covariates import Category, Measure
from takeup.covariates.kinds import MISSING, Covariate
from takeup.design.lines import number
from takeup.errors import NOTHING, InputError
from takeup.populations import Independent, Population, Resampled, normal_shares
from takeup.randomness import stream
from takeup.space import Space

MOST_ROWS = 5_000
"""How many people of the past a scenario may list."""
MOST_SUMMED = 100_000
"""Over how many different people it is summed; where there may be more, some that are drawn stand for all."""
DRAWN = 20_000
"""How many stand for all."""


def who_comes(given: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None, space: Space) -> Population:
    """The population: each covariate by itself where `given` is a table, or the rows of a list, each as likely."""
    assert space.covariates is not None
    if isinstance(given, Sequence):
        return _listed(given, space)
    names = space.covariates.names
    table = {} if given is None else given
    with checks.inside("who"):
        checks.keys(table, names)
        shares = {}
        for name, each in table.items():
            with checks.inside(name):
                shares[name] = _shares(space.covariates.kind(name), each)
        found = Independent(space.covariates, shares)
    if np.prod([float(len(kind.table())) for kind in space.covariates.kinds]) <= MOST_SUMMED:
        return found
    some = found.meet(stream(0, "who comes").random((DRAWN, found.uniforms)))
    return Resampled(np.asarray(some.features), np.asarray(some.context))


def _listed(given: Sequence[Mapping[str, Any]], space: Space) -> Population:
    """People of the past; what is left out of a row is missing."""
    assert space.covariates is not None
    if not 1 <= len(given) <= MOST_ROWS:
        hint = "draw some of them, which stand for the others"
        raise InputError("who", f"{len(given):,} people", f"from 1 to {MOST_ROWS:,} of them", hint)
    rows = []
    for i, row in enumerate(given):
        with checks.inside(f"who[{i}]"):
            checks.keys(row, space.covariates.names)
            rows.append(space.covariates.features({name: row.get(name) for name in space.covariates.names}))
    return Resampled(np.array(rows, dtype=np.int64), np.zeros(len(rows), dtype=np.int64))


def _shares(kind: Covariate, given: Any) -> FloatArray:
    """The probability of each value, that of a missing one at the end where those are kept."""
    if not isinstance(given, Mapping):
        allowed = "shares of levels, such as { no = 0.8, yes = 0.2 }"
        if isinstance(kind, Measure):
            allowed = "a table such as { mean = 60, sd = 10 }"
        raise InputError("distribution", checks.shown(given), allowed)
    missing = 0.0 if MISSING not in given else _share(MISSING, given[MISSING])
    if MISSING in given and kind.missing != "kept":
        raise InputError(MISSING, given[MISSING], 'nothing, as the covariate has no missing = "kept"')
    if isinstance(kind, Measure):
        return _bell(kind, given, missing)
    assert isinstance(kind, Category)
    checks.keys(given, (*kind.levels, *((MISSING,) if kind.missing == "kept" else ())))
    found = [_share(level, given.get(level, 0.0)) for level in kind.levels]
    if abs(sum(found) + missing - 1) > checks.TOLERANCE:
        raise InputError(
            "shares", f"a sum of {sum(found) + missing:g}", f"shares of {', '.join(kind.levels)} that sum to 1"
        )
    return np.array([*found, *((missing,) if kind.missing == "kept" else ())])


def _share(name: str, given: Any) -> float:
    share = number(name, given)
    if not 0 <= share <= 1:
        raise InputError(name, given, "a share from 0 to 1")
    return share


def _bell(kind: Measure, given: Mapping[str, Any], missing: float) -> FloatArray:
    """A bell curve without what is beyond the ends of the measure."""
    checks.keys(given, ("mean", "sd", MISSING))
    for name in ("mean", "sd"):
        if name not in given:
            raise InputError(name, NOTHING, "a number: it is normal, without what is beyond its ends")
    mean, sd = number("mean", given["mean"]), number("sd", given["sd"])
    if not kind.low <= mean <= kind.high:
        raise InputError("mean", mean, kind.allowed)
    if sd < kind.step / 2:
        raise InputError("sd", sd, f"at least half a step of the measure, {kind.step / 2:g}")
    found = normal_shares(kind, mean, sd) * (1 - missing)
    if kind.missing == "kept":
        found[-1] = missing
    return found


def with_people(content: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A plan in which people are listed where it named a CSV file, beside it or anywhere, of those who came before.

    The file has a column for each covariate; a blank cell is a missing value.
    """
    covariates: Mapping[str, Any] = (content.get("space") or {}).get("covariates") or {}
    scenarios = {}
    for name, table in (content.get("scenarios") or {}).items():
        who = table.get("who") if isinstance(table, Mapping) else None
        if isinstance(who, str) and who.lower().endswith(".csv"):
            with checks.inside(name):
                table = {**table, "who": _read(folder / who, covariates)}
        scenarios[name] = table
    return {**content, "scenarios": scenarios} if scenarios else dict(content)


def _read(path: Path, covariates: Mapping[str, Any]) -> list[dict[str, Any]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            lacking = [name for name in covariates if name not in (reader.fieldnames or ())]
            if lacking:
                raise InputError(
                    "who", path.name, f"a file with a column for each covariate; {', '.join(lacking)} lacks"
                )
            return [_row(row, covariates) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError("who", path.name, f"a CSV file that can be read ({error})") from None


def _row(row: Mapping[str, str], covariates: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers where a covariate is a measure; nothing where a cell is blank."""
    found: dict[str, Any] = {}
    for name, kind in covariates.items():
        cell = (row[name] or "").strip()
        if not cell:
            continue
        found[name] = cell
        if kind.get("kind") == Measure.kind:
            try:
                number = float(cell)
            except ValueError:
                continue  # what it may be is said where it is checked
            found[name] = int(number) if number.is_integer() else number
    return found
