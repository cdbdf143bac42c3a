"""Past decisions as MABWiser has them, and the evidence that they are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray, shown
from takeup.errors import InputError
from takeup.evidence import Evidence
from takeup.outcomes import UNSEEN, Levels, Outcome
from takeup.space import Space

MOST_REWARDS = 10_000
"""How many different rewards there may be without saying what they are."""


@dataclass(frozen=True)
class History:
    """Decisions in columns; those that are the same in everything may be one row that counts for all.

    Attributes:
        proposal: which label each was, (n,).
        implemented: which label was done; UNSEEN where nobody says.
        reward: NaN where it is not known yet.
        context: (n, d), as numbers or texts; (n, 0) where there are none.
        own: whether each was made of its arm, rather than copied from another one by a warm start.
        count: how many decisions each row is.
    """

    proposal: IntArray
    implemented: IntArray
    reward: FloatArray
    context: NDArray[Any]
    own: NDArray[np.bool_]
    count: IntArray

    def __len__(self) -> int:
        return len(self.proposal)

    def plus(self, other: "History") -> "History":
        """Both, one after the other."""
        if len(self) and self.context.shape[1] != other.context.shape[1]:
            given, had = other.context.shape[1], self.context.shape[1]
            raise InputError("contexts", f"{given} values in each row", f"{had}, as there were before")
        if len(self) and self.context.dtype.kind != other.context.dtype.kind:
            raise InputError("contexts", "numbers in one call and texts in another", "the same in all")
        parts = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in _COLUMNS if len(self)}
        return replace(self, **parts) if parts else other

    def sized(self, size: int) -> "History":
        """None of the decisions, as if their contexts had so many values."""
        return replace(self.only(np.zeros(len(self), dtype=bool)), context=np.zeros((0, size)))

    def without(self, label: int) -> "History":
        """All decisions but those of an arm."""
        return self.only(self.proposal != label)

    def begun(self, new: int, old: int) -> "History":
        """With the decisions of an old arm once more, as decisions of a new one."""
        of = self.only((self.proposal == old) & self.own)
        did = np.where(of.implemented == old, new, of.implemented)
        many = len(of)
        return self.plus(replace(of, proposal=np.full(many, new), implemented=did, own=np.zeros(many, dtype=bool)))

    def only(self, rows: NDArray[np.bool_] | IntArray) -> "History":
        """Some of the decisions."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _COLUMNS})

    def collapsed(self) -> "History":
        """The same decisions in as few rows as there are different ones, so that history costs nothing."""
        _, reward = np.unique(self.reward, return_inverse=True)
        context = np.zeros(len(self), dtype=np.int64)
        for k, where in enumerate(grouped(self.context).values()):
            context[where] = k
        keys = [self.proposal, self.implemented + 1, reward, context, self.own.astype(np.int64)]
        sizes = tuple(int(key.max(initial=0)) + 1 for key in keys)
        _, first, which = np.unique(np.ravel_multi_index(keys, sizes), return_index=True, return_inverse=True)
        many = np.bincount(which, weights=self.count).astype(np.int64)
        order = np.argsort(first)
        return replace(self.only(first[order]), count=many[order])

    def evidence(self, space: Space, places: IntArray) -> Evidence:
        """The table of these decisions, given what number each label has among proposals and actions."""
        did = np.append(places, UNSEEN)[self.implemented]
        counts = np.zeros(space.table, dtype=np.int64)
        amounts = space.outcome.amounts(_codes(self.reward, space.outcome)) * self.count[:, np.newaxis]
        np.add.at(counts[0], (places[self.proposal], did), amounts)
        return Evidence(space, counts)


_COLUMNS = ("proposal", "implemented", "reward", "context", "own", "count")


def matrix(contexts: object, many: int | None = None, width: int = 0) -> NDArray[Any]:
    """Contexts in rows: numbers as floats, anything else as texts.

    A data frame's column is a value for each of `many` decisions, all values of a single one, or rows of this width.
    """
    given = contexts.to_numpy() if hasattr(contexts, "to_numpy") else np.asarray(contexts)
    if given.ndim == 1 and hasattr(contexts, "to_numpy"):
        wide = max(width, 1) if many is None else given.size if many == 1 else 1
        given = given.reshape(-1, wide) if wide and given.size % wide == 0 else given
    if given.ndim != 2 or (many is not None and len(given) != many):
        allowed = "rows of values" if many is None else f"a row of values for each of {many} decisions"
        raise InputError("contexts", f"shape {given.shape}", allowed)
    try:
        return np.asarray(given, dtype=np.float64)
    except ValueError:
        return given.astype(str).astype(object)


def grouped(rows: NDArray[Any]) -> dict[tuple[Any, ...], list[int] | slice]:
    """The different rows, and where each is."""
    if not rows.shape[1]:
        return {(): slice(None)}
    found: dict[tuple[Any, ...], Any] = {}
    for i, row in enumerate(map(tuple, rows.tolist())):
        found.setdefault(row, []).append(i)
    return found


def numbers(rewards: Sequence[Any]) -> FloatArray:
    """Rewards as numbers; None and NaN are not known yet."""
    try:
        found = np.array([np.nan if each is None else float(each) for each in rewards])
    except (TypeError, ValueError):
        raise InputError("rewards", shown(rewards), "a number each, or None where it is not known yet") from None
    if np.isinf(found).any():
        raise InputError("rewards", "an infinite one", "finite numbers")
    return found


def outcome_for(rewards: FloatArray, told: "Outcome | Sequence[float] | None", binary: bool) -> Outcome:
    """What kind of outcome the rewards are: as told, or 0 and 1, or a level for every value that was seen."""
    if isinstance(told, Outcome):
        return told
    seen = np.unique(rewards[~np.isnan(rewards)] if told is None else numbers(told)).tolist()
    if told is None and set(seen) <= {0.0, 1.0}:
        seen = [0.0, 1.0]
    elif told is None and binary:
        hint = "say which there can be, rewards=[..] or rewards=Number(..), or what is a success, binarizer="
        raise InputError("rewards", f"{seen[0]:g} and others", "0 and 1 for this policy", hint)
    elif len(seen) > MOST_REWARDS:
        hint = "round them, or say what they are: rewards=Number(low, high, step)"
        raise InputError("rewards", f"{len(seen)} different values", f"at most {MOST_REWARDS:,}", hint)
    elif len(seen) == 1:
        seen = [seen[0], seen[0] + 1]
    return Levels(tuple(f"{value!r}" for value in seen), tuple(seen))


def _codes(rewards: FloatArray, outcome: Outcome) -> IntArray:
    """Which outcome each reward is."""
    seen, which = np.unique(rewards, return_inverse=True)
    worth = {value: code for code, value in enumerate(outcome.utility)} if isinstance(outcome, Levels) else None
    codes = np.empty(len(seen), dtype=np.int64)
    for k, value in enumerate(seen.tolist()):
        if worth is None or np.isnan(value):
            codes[k] = UNSEEN if np.isnan(value) else outcome.code(value)
        elif value in worth:
            codes[k] = worth[value]
        else:
            raise InputError("rewards", f"{value:g}", f"one of {shown(list(worth))}")
    return codes[which]
