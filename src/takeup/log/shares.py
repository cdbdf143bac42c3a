"""With which probability each proposal was made, as somebody else's table or its reader says."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from takeup.checks import FloatArray, IntArray, shown
from takeup.errors import NOTHING, InputError
from takeup.frames.columns import Frame, column
from takeup.log.arrays import TOLERANCE

Probability: TypeAlias = "str | float | Sequence[str] | Mapping[str, float | str] | None"
"""Of what was assigned, a column; one share that all proposals had; of every proposal, columns or shares; None where it
has to be estimated."""

Found: TypeAlias = tuple[FloatArray, bool, str]
"""The probability of each proposal in each row, whether it was estimated, and the sentence that says so."""


def columns_of(given: Probability) -> list[str]:
    """The columns that probabilities are in."""
    if given is None or isinstance(given, float | int):
        return []
    if isinstance(given, str):
        return [given]
    return [each for each in (given.values() if isinstance(given, Mapping) else given) if isinstance(each, str)]


def probabilities(
    frame: Frame, given: Probability, proposals: Sequence[str], proposal: IntArray, context: IntArray
) -> Found:
    """What each row's proposal was drawn from."""
    if given is None:
        return _estimated(proposals, proposal, context)
    if isinstance(given, str):
        return _own(frame, given, proposals, proposal, context)
    if isinstance(given, float | int):
        return _even(float(given), proposals, proposal.size)
    if isinstance(given, Mapping):
        return _by_label(frame, given, proposals, proposal.size)
    if len(given) != len(proposals):
        allowed = f"a column for each of {', '.join(proposals)}, in this order"
        raise InputError("probability", f"{len(given)} columns", allowed)
    pairs = ", ".join(f"{z} from {name}" for z, name in zip(proposals, given, strict=True))
    return np.stack([_numbers(frame, name) for name in given], axis=-1), False, f"Probabilities: {pairs}."


def _even(share: float, proposals: Sequence[str], n: int) -> Found:
    """One number for all: fixed randomisation, evenly."""
    many = len(proposals)
    if abs(share * many - 1) > TOLERANCE * many:
        allowed = f"{1 / many:.4g}, the share of each of {many} proposals that are drawn evenly"
        raise InputError(
            "probability", f"{share:g}", allowed, f"give a share for each of {', '.join(proposals)} otherwise"
        )
    return np.full((n, many), 1 / many), False, ""


def _by_label(frame: Frame, given: Mapping[str, float | str], proposals: Sequence[str], n: int) -> Found:
    if set(given) != set(proposals):
        raise InputError("probability", f"{', '.join(map(str, given))}", f"each of {', '.join(proposals)}")
    each = [given[z] for z in proposals]
    if all(isinstance(value, str) for value in each):
        return np.stack([_numbers(frame, str(value)) for value in each], axis=-1), False, ""
    try:
        shares = np.array([float(value) for value in each])
    except (TypeError, ValueError):
        raise InputError("probability", shown(dict(given)), "a share for each proposal, or a column for each") from None
    if np.any(shares <= 0) or abs(shares.sum() - 1) > TOLERANCE:
        raise InputError("probability", shown(dict(given)), "shares above 0 that sum to 1")
    return np.broadcast_to(shares, (n, shares.size)), False, ""


def _own(frame: Frame, name: str, proposals: Sequence[str], proposal: IntArray, context: IntArray) -> Found:
    """From the probability of what was assigned: of two proposals, or where all like it had the same."""
    own, rows = _numbers(frame, name), np.arange(proposal.size)
    found = np.zeros((proposal.size, len(proposals)))
    if len(proposals) == 2:
        found[rows, proposal], found[rows, 1 - proposal] = own, 1 - own
        return found, False, ""
    for x in np.unique(context):
        here = context == x
        for z in range(len(proposals)):
            same = own[here & (proposal == z)]
            if not same.size or np.ptp(same) > TOLERANCE:
                why = f"{proposals[z]} has {'none' if not same.size else f'{same.min():g} to {same.max():g}'}"
                allowed = "two proposals, or the same probability of a proposal throughout its context"
                hint = f"{why}; give a column for each label with probability="
                raise InputError("probability", f"one column, {name!r}, for {len(proposals)} proposals", allowed, hint)
            found[here, z] = same[0]
    return found, False, f"{name} is the probability of what was assigned, the same throughout a context."


def _estimated(proposals: Sequence[str], proposal: IntArray, context: IntArray) -> Found:
    """The shares of what was proposed in each context; zero of what was never proposed there."""
    counts = np.zeros((int(context.max()) + 1, len(proposals)))
    np.add.at(counts, (context, proposal), 1)
    used = counts.sum(axis=1) > 0
    if never := ", ".join(z for z, many in zip(proposals, counts.sum(axis=0), strict=True) if not many):
        allowed = f"a share of each label, as {never} was never assigned"
        raise InputError("probability", NOTHING, allowed, "or leave it out of the space")
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    where = "" if used.sum() == 1 else " in each context"
    how = f"Probabilities were not given: they are the shares of what was assigned{where}"
    return shares[context], True, f"{how}, as of randomisation that never changed. If it did, nothing here holds."


def filled(probability: FloatArray, proposal: IntArray, context: IntArray) -> Found:
    """Probabilities of which some rows are NaN, as nobody wrote those down: shares of what was proposed in these."""
    lost = np.asarray(np.isnan(probability).any(axis=1))
    many = int(lost.sum())
    if not many:
        return probability, False, ""
    counts = np.zeros((int(context.max()) + 1, probability.shape[1]))
    np.add.at(counts, (context[lost], proposal[lost]), 1)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    found = np.where(lost[:, np.newaxis], shares[context], probability)
    how = f"The probabilities of {many:,} past assignments are not known: they are the shares of what was assigned"
    told = f"{how} in each context, as of randomisation that never changed. If it did, nothing here holds for them."
    return found, True, told


def _numbers(frame: Frame, name: str) -> FloatArray:
    found = column(frame, "probability", name)
    numbers = found.numbers("a probability")
    wrong = ~((numbers >= 0) & (numbers <= 1))
    if wrong.any():
        row = int(wrong.argmax())
        got = NOTHING if np.isnan(numbers[row]) else f"{numbers[row]:g}"
        raise InputError(f"probability: row {row + 1}, column {name!r}", got, "a probability from 0 to 1")
    return numbers
