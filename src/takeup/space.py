"""What an experiment happens in: contexts, proposals, implemented actions and outcomes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.covariates import Covariate, Covariates, Features, Profile, Sums, covariates_of, sums_of
from takeup.errors import NOTHING, InputError, LabelError, UnsuitableError
from takeup.frames.columns import Frame
from takeup.frames.files import own_table
from takeup.frames.inferring import columns_of, inferred, once
from takeup.outcomes import UNSEEN, Better, Levels, Outcome, described, outcome_of

__all__ = ["UNSEEN", "Axis", "Label", "Names", "Space"]

Axis: TypeAlias = Literal["context", "proposal", "implemented", "outcome"]
"""The four things that a decision has a label of."""

Label: TypeAlias = int | str
"""One of them, by its place or by its name."""

Names: TypeAlias = int | Sequence[str]
"""How many there are, or what each is called."""


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Space:
    """What can be met (x), proposed (z), implemented (a) and come out (y), and what each outcome is worth.

    Every argument takes a number or the names: `Space(proposals=2)` is a plain two-armed experiment,
    `Space(["rest", "surgery"], outcomes=["died", "lived"])` one with names. Indices are what the rest of takeup
    works with; names are for people, at the edges.

    Args:
        proposals: the Kz things that can be proposed.
        implemented: the Ka things that can happen; the proposals where left out. Kz and Ka may differ.
        contexts: the X groups that are told apart before proposing.
        outcomes: the Y levels of the outcome, or what kind it is: a `Number`, a `Count` or a `Time`.
        utility: the reward of each outcome level; (0, 1) where there are two. Other outcomes say by themselves what
            they are worth.
        intended: the implemented action that complying with each proposal means, as indices or names, or as a
            mapping from proposals to actions. Where left out: the action of the same name, or else of the same
            position where there are as many actions as proposals, or else nothing.
        covariates: what else is known of a unit before it is decided about, by name: a `Measure` or a `Category` each.
        interactions: pairs of covariates of which one matters the more, or the less, the higher the other is.

    Attributes:
        inferred: what was taken to be so where nobody said, a sentence each, of one that was read from a table; two
            spaces that differ in nothing else are equal.
    """

    contexts: tuple[str, ...]
    proposals: tuple[str, ...]
    implemented: tuple[str, ...]
    outcome: Outcome
    intended: tuple[int, ...] | None
    covariates: Covariates | None
    inferred: tuple[str, ...] = field(compare=False)

    def __init__(
        self,
        proposals: Names,
        implemented: Names | None = None,
        *,
        contexts: Names = 1,
        outcomes: Names | Outcome | Mapping[str, Any] = 2,
        utility: Sequence[float] | None = None,
        intended: Sequence[Label] | Mapping[Label, Label] | None = None,
        covariates: Covariates | Mapping[str, Covariate | Mapping[str, Any]] | None = None,
        interactions: Sequence[Sequence[str]] = (),
    ) -> None:
        set_ = object.__setattr__
        set_(self, "contexts", _names("contexts", contexts, least=1))
        set_(self, "proposals", _names("proposals", proposals, least=2))
        set_(
            self,
            "implemented",
            self.proposals if implemented is None else _names("implemented", implemented, least=2),
        )
        set_(self, "outcome", _outcome(outcomes, utility))
        set_(self, "intended", self._intended(intended))
        set_(self, "covariates", covariates_of(covariates, interactions))
        self.sums  # noqa: B018  # refuses outcomes that covariates do not go with
        set_(self, "inferred", ())

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        *,
        assigned: str,
        outcome: str,
        taken: str | None = None,
        context: str | Sequence[str] | None = None,
        exposure: str | None = None,
        levels: Sequence[str] | None = None,
        better: Better | None = None,
    ) -> "Space":
        """What there is in a table of somebody else's trial, a row a decision; `inferred` says what was taken to be so.

        All arguments are as `takeup.Log.from_frame` takes them, and `takeup.log.frames.log_of` says what they are for.

        Args:
            frame: a polars or pandas frame, a mapping from the names of columns to lists, or the path of a file.
            assigned: the column of what was proposed.
            outcome: the column of what came of it.
            taken: the column of what was implemented.
            context: the column, or several that are crossed, that people were told apart by before.
            exposure: the column of how long events were counted.
            levels: the labels of the outcome from worst to best.
            better: "lower" where low numbers are good.
        """
        columns: dict[str, Any] = {"assigned": assigned, "outcome": outcome, "taken": taken, "context": context}
        columns["exposure"] = exposure
        once(**columns)
        table, read = own_table(frame, columns)
        found = columns_of(table, **columns, levels=levels or ())
        arguments, said = inferred(found, levels=levels, better=better, exposure=exposure)
        space = cls(**arguments)
        object.__setattr__(space, "inferred", (*said, *read))
        return space

    def __repr__(self) -> str:
        names = (
            "contexts",
            "proposals",
            "implemented",
            "outcome",
            "intended",
            *(() if self.covariates is None else ("covariates",)),
            *(("inferred",) if self.inferred else ()),
        )
        return f"Space({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(X, Kz, Ka, Y), where Y is how many different outcomes there are."""
        return len(self.contexts), len(self.proposals), len(self.implemented), self.outcome.size

    @property
    def table(self) -> tuple[int, int, int, int]:
        """The shape of a table of evidence: (X, Kz, Ka + 1, W + 1), where W is the width of what a decision adds.

        That is the outcome's statistic, and after it the sums of covariates, where there are any.
        """
        width = self.outcome.width + (self.sums.width if self.sums else 0)
        return len(self.contexts), len(self.proposals), len(self.implemented) + 1, width + 1

    @property
    def sums(self) -> Sums | None:
        """What covariates add to the evidence; nothing where there are none."""
        return None if self.covariates is None else sums_of(self.outcome, self.covariates)

    def amounts(self, outcome: ArrayLike, features: Features | None = None) -> IntArray:
        """What decisions add to the evidence, along a new last axis; its last slot counts those that are pending.

        Args:
            outcome: their codes, UNSEEN where they are pending.
            features: (.., d), where there are covariates.
        """
        added, sums = self.outcome.amounts(outcome), self.sums
        if sums is None:
            return added
        if features is None:
            raise InputError("features", NOTHING, f"those of {', '.join(sums.covariates.names)}", "profile has them")
        more = sums.amounts(np.asarray(outcome), features)
        added = np.broadcast_to(added, (*more.shape[:-1], added.shape[-1]))
        return np.concatenate([added[..., :-1], more, added[..., -1:]], axis=-1)

    @property
    def levels(self) -> Levels:
        """The outcome, where it is one of a few levels; an UnsuitableError where it is not."""
        if not isinstance(self.outcome, Levels):
            raise UnsuitableError(f"the outcome is a {self.outcome.kind}, and this needs one with levels")
        return self.outcome

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The names of the outcome's levels."""
        return self.levels.names

    @property
    def utility(self) -> tuple[float, ...]:
        """The reward of each level."""
        return self.levels.utility

    def differences(self, other: "Space") -> list[str]:
        """In what another space differs for a policy; some take contexts for intents by their names."""
        parts = {
            "contexts": self.contexts == other.contexts,
            "proposals": self.proposals == other.proposals,
            "actions": self.shape[2] == other.shape[2],
            **_outcome_parts(self.outcome, other.outcome),
            "intended actions": self.intended == other.intended,
            "covariates": self.covariates == other.covariates,
        }
        return [part for part, same in parts.items() if not same]

    @property
    def reward(self) -> FloatArray:
        """What each outcome is worth, as an array over y."""
        return self.outcome.worths

    def described(self) -> dict[str, Any]:
        """The arguments that make it again, as JSON would have them."""
        levels = isinstance(self.outcome, Levels)
        return {
            "contexts": list(self.contexts),
            "proposals": list(self.proposals),
            "implemented": list(self.implemented),
            "outcomes": list(self.outcomes) if levels else described(self.outcome),
            "utility": list(self.utility) if levels else None,
            "intended": None if self.intended is None else list(self.intended),
            **self._described_covariates(),
        }

    def _described_covariates(self) -> dict[str, Any]:
        """Their arguments; none where there are none, as it was before there could be any."""
        if self.covariates is None:
            return {}
        pairs = [list(pair) for pair in self.covariates.interactions]
        return {"covariates": self.covariates.described(), **({"interactions": pairs} if pairs else {})}

    def names(self, axis: Axis) -> tuple[str, ...]:
        """The names on an axis."""
        found: tuple[str, ...] = getattr(self, axis if axis == "implemented" else axis + "s")
        return found

    def index(self, axis: Axis, label: object) -> int:
        """The index of a name; an index is returned as it is, if there is such a one. Of an outcome, its code."""
        if axis == "outcome":
            return self.outcome.code(label)
        names = self.names(axis)
        if isinstance(label, str) and label in names:
            return names.index(label)
        if isinstance(label, int | np.integer) and not isinstance(label, bool) and 0 <= label < len(names):
            return int(label)
        raise LabelError(axis, repr(label), f"one of {', '.join(names)}, or an index from 0 to {len(names) - 1}")

    def profile(self, covariates: Mapping[str, object] | None = None, *, context: Label = 0) -> Profile:
        """A unit as it is met, in the words of the space; an InputError or a LabelError that names what is wrong.

        Args:
            covariates: the value of each, by name; None where it is missing.
            context: its context.
        """
        if self.covariates is None:
            raise UnsuitableError("the space has no covariates; give it covariates={'age': Measure(18, 100)}")
        return Profile(self.index("context", context), self.covariates.features(covariates or {}))

    def complying(self, who: str) -> tuple[int, ...]:
        """The intended action of each proposal, or an error that says who needs it."""
        if self.intended is None:
            raise UnsuitableError(
                f"{who} needs to know what complying means, and the {len(self.proposals)} proposals"
                f" ({', '.join(self.proposals)}) and {len(self.implemented)} actions"
                f" ({', '.join(self.implemented)}) do not say; give the space intended=[..], an action each"
            )
        return self.intended

    def of_one_context(self) -> "Space":
        """The same space with one nameless context and no covariates: where each context's own bandit lives."""
        return _of_one_context(self)

    def by_cell(self) -> "Space":
        """The same space with a level for each cell that counts outcomes, worth its number; without covariates."""
        return _by_cell(self)

    def without_covariates(self) -> "Space":
        """The same space as policies see it that make nothing of covariates; itself where there are none."""
        return self if self.covariates is None else _without_covariates(self)

    def _intended(self, given: Sequence[Label] | Mapping[Label, Label] | None) -> tuple[int, ...] | None:
        if isinstance(given, Mapping):
            actions = {self.index("proposal", z): self.index("implemented", a) for z, a in given.items()}
            given = [actions[z] for z in sorted(actions)]
        if given is not None:
            if isinstance(given, str) or len(given) != len(self.proposals):
                raise InputError(
                    "intended",
                    repr(given),
                    f"one action for each of {len(self.proposals)} proposals",
                )
            return tuple(self.index("implemented", a) for a in given)
        places = {name: a for a, name in enumerate(self.implemented)}
        shared = [z in places for z in self.proposals]
        if all(shared):
            return tuple(places[z] for z in self.proposals)
        if not any(shared) and len(self.proposals) == len(self.implemented):
            return tuple(range(len(self.proposals)))
        return None


@lru_cache(maxsize=256)
def _of_one_context(space: Space) -> Space:
    return Space(
        space.proposals,
        space.implemented,
        contexts=1,
        outcomes=space.outcome,
        intended=space.intended,
    )


@lru_cache(maxsize=256)
def _by_cell(space: Space) -> Space:
    cells = space.outcome.cells
    return Space(
        space.proposals,
        space.implemented,
        contexts=space.contexts,
        outcomes=cells,
        utility=range(cells),
        intended=space.intended,
    )


@lru_cache(maxsize=256)
def _without_covariates(space: Space) -> Space:
    return Space(
        space.proposals,
        space.implemented,
        contexts=space.contexts,
        outcomes=space.outcome,
        intended=space.intended,
    )


def _names(argument: str, given: Names, least: int) -> tuple[str, ...]:
    """Names, or the numbers from 0 where only their count is given."""
    if isinstance(given, str) or not isinstance(given, int | np.integer | Sequence):
        raise InputError(argument, repr(given), "a number or a list of names")
    if isinstance(given, int | np.integer):
        return tuple(str(i) for i in range(checks.whole(argument, given, least)))
    for name in given:
        if not isinstance(name, str) or not name.strip():
            raise InputError(argument, repr(name), "names that are strings and not blank")
    if len(given) < least or len(set(given)) != len(given):
        raise InputError(argument, repr(list(given)), f"at least {least} names, all different")
    return tuple(given)


def _outcome(given: Names | Outcome | Mapping[str, Any], utility: Sequence[float] | None) -> Outcome:
    if isinstance(given, Mapping):
        with checks.inside("outcomes"):
            given = outcome_of(given)
    if not isinstance(given, Outcome | int | np.integer | Sequence) or isinstance(given, str | bool):
        allowed = "the names of levels, how many there are, or what else it is: Number(..), Count(..) or Time(..)"
        raise InputError("outcomes", checks.shown(given), allowed)
    if not isinstance(given, Outcome):
        return Levels(_names("outcomes", given, least=2), utility)  # type: ignore[arg-type]  # Levels checks it
    if utility is not None:
        hint = f"a {given.kind} says by itself what it is worth: better=, or utility= of a Number"
        raise InputError("utility", repr(utility), "nothing beside such an outcome", hint)
    return given


def _outcome_parts(one: Outcome, other: Outcome) -> dict[str, bool]:
    """In what two outcomes are the same; the names of levels do not matter."""
    if isinstance(one, Levels) and isinstance(other, Levels):
        return {"outcomes": one.size == other.size, "utility": one.utility == other.utility}
    return {"outcomes": one == other}
