"""An Event is one decision as far as it is known."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from takeup.checks import IntArray
from takeup.covariates import Features
from takeup.errors import NOTHING, InputError, LabelError, MismatchError
from takeup.space import UNSEEN, Label, Space

Index: TypeAlias = "int | IntArray"
"""One index, or an array of them, one for each of many replications that run side by side."""


@dataclass(frozen=True, slots=True)
class Event:
    """One decision as far as it is known, in the order of algorithm 1 of Stirn & Jebara (2019).

    Attributes:
        context: x, the a priori variable, revealed before the decision.
        proposal: z, the control.
        implemented: a, an a posteriori variable; UNSEEN while compliance has not been reported.
        outcome: y, an a posteriori variable, as its code; UNSEEN while the outcome is pending.
        number: which decision it is, counted from 0; those who tell old from new need it.
        features: v, what covariates say of the unit, revealed before the decision, (.., d); None where there are none.
    """

    context: Index
    proposal: Index
    implemented: Index = UNSEEN
    outcome: Index = UNSEEN
    number: int | None = None
    features: Features | None = field(default=None, kw_only=True)


def event(
    space: Space,
    proposal: Label,
    implemented: Label | None = None,
    outcome: object = None,
    *,
    context: Label = 0,
    covariates: Mapping[str, object] | None = None,
) -> Event:
    """An event in the words of its space; what is left out is UNSEEN."""
    known = None if space.covariates is None and covariates is None else space.profile(covariates).features
    return Event(
        space.index("context", context),
        space.index("proposal", proposal),
        UNSEEN if implemented is None else space.index("implemented", implemented),
        UNSEEN if outcome is None else space.index("outcome", outcome),
        features=known,
    )


def check_report(before: Event, after: Event) -> None:
    """A MismatchError where a report would change what was known before the decision, or what was proposed."""
    if not (np.array_equal(before.context, after.context) and np.array_equal(before.proposal, after.proposal)):
        raise MismatchError(f"a report cannot change the context or the proposal: {before} became {after}")
    one, other = before.features, after.features
    if one is not other and (one is None or other is None or not np.array_equal(one, other)):
        raise MismatchError(f"a report cannot change the covariates: {before} became {after}")


def checked(space: Space, event: Event) -> tuple[Index, ...]:
    """The indices of an event, checked: UNSEEN is allowed for what may be unseen."""
    if (event.features is None) != (space.covariates is None):
        if space.covariates is None:
            raise InputError("features", "some", "none, as the space has no covariates")
        raise InputError("features", NOTHING, f"those of {', '.join(space.covariates.names)}", "Space.profile has them")
    axes = (
        ("context", event.context, 0),
        ("proposal", event.proposal, 0),
        ("implemented", event.implemented, UNSEEN),
        ("outcome", event.outcome, UNSEEN),
    )
    for (name, index, least), size in zip(axes, space.shape, strict=True):
        if np.min(index) < least or np.max(index) >= size:
            unseen = ", or UNSEEN" if least == UNSEEN else ""
            raise LabelError(name, f"index {index}", f"an index from 0 to {size - 1}{unseen}")
    return tuple(index for _, index, _ in axes)
