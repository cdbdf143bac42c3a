"""Logs from takeup's own exports: a row a decision, see `takeup.live.export`."""

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError
from takeup.frames.columns import Column, Frame, column, names_of, values_of
from takeup.frames.covariates import features_in, kinds_in
from takeup.frames.labels import indices, ordered
from takeup.frames.measured import codes_of, outcome_from
from takeup.log.shares import filled
from takeup.log.table import SOURCES, Log
from takeup.space import UNSEEN, Space

COVARIATES = "covariates."
"""What the column of a covariate is called before its name, so that none is called like another column."""

AWAITED = ("pending", "waiting")
"""What an export says of outcomes that may still come."""

NOT_PENDING = "No outcome is pending in this file: the trial is taken to have ended."
AT_ONCE = "When reports came is not in this file, which an older version wrote: taken to be known by the next decision."


def probability_columns(proposals: Sequence[str]) -> list[str]:
    """What the columns of the proposals' probabilities are called: p_ and the label, in small ASCII letters and digits.

    A label without any is called by its place; where two come to the same name, all have their place in front.
    """
    plain = [unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode().lower() for label in proposals]
    short = [re.sub("[^a-z0-9]+", "_", text).strip("_") for text in plain]
    names = [f"p_{name or place}" for place, name in enumerate(short, start=1)]
    if len(set(names)) == len(names):
        return names
    return [f"p_{place}_{name}".rstrip("_") for place, name in enumerate(short, start=1)]


def log_of_export(frame: Frame, space: Space | None = None) -> Log:
    """The log of an export; files of versions that wrote no space are read, too, where it follows from them.

    Args:
        frame: the table.
        space: what labels there are, where the file does not say.
    """
    if "ARM" not in names_of(frame):
        hint = "ask somebody who may see arms and outcomes for one"
        raise InputError("file", "a blinded export, without arms and outcomes", "one that is not blinded", hint)
    of = column(frame, "file", "trial")
    if len(of.values) > 1:
        raise InputError("file", f"the trials {', '.join(map(str, of.values))}", "the export of one trial")
    if not of.codes.size:
        raise InputError("file", "no rows", "a row for each decision")
    numbers = column(frame, "file", "decision").numbers("a decision's number").astype(np.int64)
    order = np.argsort(numbers, kind="stable")
    space = _space_in(frame) or space
    probability = _probability(frame, space)
    said: list[str] = []
    if space is None:
        space, sentence = _guessed(frame, probability)
        said = ["What labels there are is taken from the rows of this file.", sentence]
    came = _text(frame, "outcome")
    status = np.array(values_of(frame, "file", "outcome_status"))
    counted, pending = status == "counted", np.isin(status, AWAITED)[order]
    said += [] if pending.any() else [NOT_PENDING]
    unit = _text(frame, "unit")
    x, z = indices(_text(frame, "context"), space.contexts), indices(_text(frame, "ARM"), space.proposals)
    probability, estimated, how = filled(probability, z, x)
    said += [how] if how else []
    space, features, more = _covariates(frame, space)
    said += more
    log = Log.of(
        space,
        z[order],
        probability[order],
        outcome=np.where(counted, codes_of(came, space.outcome), UNSEEN)[order],
        implemented=indices(_text(frame, "ACTARM"), space.implemented)[order],
        context=x[order],
        source=indices(column(frame, "file", "source"), SOURCES)[order],
        unit=np.array([*map(str, unit.values), ""])[unit.codes][order],
        estimated=estimated,
        inferred=said,
        features=None if features is None else features[order],
    )
    log = replace(log, pending=pending, running=bool(pending.any()))
    if not {"implemented_by", "outcome_by"} <= set(names_of(frame)):
        return replace(log, inferred=(*said, AT_ONCE))
    action, outcome = (_by(frame, name, numbers[order])[order] for name in ("implemented_by", "outcome_by"))
    log = replace(log, implemented_by=action, outcome_by=outcome)
    return replace(log, corrected=_corrected(frame, log, order))


def _covariates(frame: Frame, space: Space) -> tuple[Space, IntArray | None, list[str]]:
    """The space with the covariates that the file has columns of, the features of each row, and what was inferred."""
    columns = {name.removeprefix(COVARIATES): name for name in names_of(frame) if name.startswith(COVARIATES)}
    if not columns and space.covariates is None:
        return space, None, []
    texts: Frame = {own: _column(_text(frame, own)) for own in columns.values()}
    kinds, said = space.covariates, list[str]()
    if kinds is None:  # files of versions that wrote down no kinds
        kinds, said = kinds_in(texts, list(columns), columns)
        space = Space(**{**space.described(), "covariates": kinds})
    assert kinds is not None
    columns = {name: f"{COVARIATES}{name}" for name in kinds.names}
    if lacking := [own for own in columns.values() if own not in texts]:
        raise InputError("file", f"no column {lacking[0]}", "a column for each covariate of its space")
    return space, features_in(texts, kinds, columns), said


def _column(given: Column) -> list[Any]:
    """The value of each row; None where there is none."""
    return [*map([*given.values, None].__getitem__, given.codes.tolist())]


def _corrected(frame: Frame, log: Log, order: IntArray) -> NDArray[np.bool_] | None:
    """Of which decisions something else was known before that others may have used; None where nothing was corrected.

    A file says how often a decision was corrected, not what. What was corrected after others were decided on is known
    since then, so that a decision of which all is known by the next one is none of them.
    """
    if "corrected" not in names_of(frame):
        return None
    often = column(frame, "file", "corrected").numbers("how often it was corrected")[order]
    since = np.maximum(log.implemented_by, log.outcome_by)
    found = (often > 0) & (since > np.arange(1, len(log) + 1))
    return found if found.any() else None


def _by(frame: Frame, name: str, numbers: IntArray) -> IntArray:
    """By which of the decisions that are in the file something was known; all of them where it is not."""
    first = column(frame, "file", name).numbers("a decision's number")
    return np.asarray(np.searchsorted(numbers, np.where(np.isnan(first), np.inf, first)))


def _text(frame: Frame, name: str) -> Column:
    """A column of texts; a CSV file has an apostrophe before those that a spreadsheet would take for a formula."""
    given = column(frame, "file", name)
    if not _from_csv(frame):
        return given
    return replace(given, values=tuple(str(value).removeprefix("'") for value in given.values))


def _from_csv(frame: Frame) -> bool:
    """Whether numbers are texts here."""
    return isinstance(values_of(frame, "file", "decision")[0], str)


def _probability(frame: Frame, space: Space | None) -> FloatArray:
    """Of every proposal: a column each, or, as older versions wrote them, lists in one."""
    if "probabilities" not in names_of(frame):
        own = [name for name in names_of(frame) if name.startswith("p_")]
        named = own if space is None else probability_columns(space.proposals)
        return np.stack([column(frame, "file", name).numbers("a probability") for name in named], axis=-1)
    rows: Sequence[Any] = values_of(frame, "file", "probabilities")
    if rows and isinstance(rows[0], str):
        rows = json.loads(f"[{','.join(rows)}]")
    return np.array(rows, dtype=np.float64)


def _space_in(frame: Frame) -> Space | None:
    """The space that the first row holds, wherever it is now."""
    if "space" not in names_of(frame):
        return None
    found = _text(frame, "space").values
    return Space(**json.loads(str(found[0]))) if found else None


def _guessed(frame: Frame, probability: FloatArray) -> tuple[Space, str]:
    """The space that an old file leads to: the place of each arm is where its own probability is in every row."""
    arm, taken, came = _text(frame, "ARM"), _text(frame, "ACTARM"), _text(frame, "outcome")
    own = column(frame, "file", "probability").numbers("a probability")[:, np.newaxis] == probability
    many, names = probability.shape[1], ordered(arm.values)
    index = indices(arm, names)
    fits = np.array([own[index == k].all(axis=0) for k in range(len(names))])
    ways = [each for each in permutations(range(many), len(names)) if fits[range(len(names)), each].all()]
    if len(names) != many or not ways or any(np.any(probability[:, ways[0]] != probability[:, way]) for way in ways):
        allowed = "an export that says what was proposed in which order"
        hint = "give space=, or export it again with this version"
        raise InputError("file", "an old export whose arms cannot be told apart", allowed, hint)
    proposals = [name for _, name in sorted(zip(ways[0], names, strict=True))]
    others = [label for label in ordered(taken.values) if label not in proposals]
    outcome, sentence = outcome_from(came, None)
    contexts = ordered(_text(frame, "context").values)
    return Space(proposals, [*proposals, *others], contexts=contexts, outcomes=outcome), sentence
