"""Why an edge does not decide, in the words of whoever asked."""

from takeup.client.edge_rows import EdgeDecision
from takeup.client.held import Held
from takeup.errors import NOTHING, ConflictError, InputError, LabelError, LeaseError, TakeupError
from takeup.trial.bounds import text
from takeup.trial.commands import MOST_NAME
from takeup.trial.edge_rows import MOST_TIME


def check_names(unit: object, occasion: object, *, many: bool) -> None:
    """Refuse what the trial would refuse: names, an occasion that it does not have, or the lack of one."""
    text("unit", unit, MOST_NAME)
    if many and occasion is None:
        raise InputError("occasion", NOTHING, "which of the unit's decisions: this trial makes many for a unit")
    if not many and occasion is not None:
        raise InputError("occasion", repr(occasion)[:100], "nothing: this trial makes one decision for a unit")
    if occasion is not None:
        text("occasion", occasion, MOST_NAME)


def check_made(held: Held, made: EdgeDecision) -> None:
    """Refuse what `decide` cannot have given for this trial: what is written of a decision must be readable as one."""
    labels = made.context in held.contexts and made.proposal in held.proposals
    whole = all(type(each) is int and 0 <= each < MOST_TIME for each in (made.lease, made.drawn))
    if not (labels and whole and (made.lease_hash is None or isinstance(made.lease_hash, str))):
        raise InputError("unit", repr(made)[:200], f"a decision that an edge of trial {held.lease.trial} made")


def wrong(held: Held, unit: object, context: object, occasion: object) -> TakeupError:
    """What is wrong with what was asked."""
    try:
        check_names(unit, occasion, many=held.many)
    except TakeupError as error:
        return error
    allowed = f"one of {', '.join(held.contexts)}"
    return InputError("context", NOTHING, allowed) if context is None else LabelError("context", repr(context), allowed)


def agreeing(held: Held, found: EdgeDecision, context: str | int) -> EdgeDecision:
    """A decision that the unit has, where it was made in this context."""
    place = held.index.get(context) if isinstance(context, str | int) else None
    if place is None:
        raise wrong(held, found.unit, context, found.occasion)
    if held.contexts[place] != found.context:
        raise ConflictError(f"unit {found.unit!r} has a decision, made in context {found.context!r}")
    return found


def over(held: Held, at: int, stopped: str | None, refusal: str | None) -> LeaseError:
    """Why nothing can be decided from a lease, and what to do.

    Args:
        held: the lease.
        at: when it was to be decided from.
        stopped: why the edge decides nothing at all.
        refusal: why another lease could not be had.
    """
    if stopped is not None:
        return LeaseError(f"nothing can be decided: {stopped}")
    late = (at - held.expires) / 1e6
    what = f"expired {late:.3g} seconds ago" if late >= 0 else f"is used up: it allows {held.most} decisions"
    why = "another is on its way" if refusal is None else f"another could not be had: {refusal}"
    return LeaseError(
        f"lease {held.number} of trial {held.lease.trial} {what}, and {why}; ask again in a moment, or ask"
        " takeup.client.RemoteTrial, which falls back to the spec's probabilities where the service is away;"
        " longer leases ([edge] seconds, most) bridge longer gaps"
    )
