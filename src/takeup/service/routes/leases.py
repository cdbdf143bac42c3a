"""Leases: what a client decides from by itself, given and taken back."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict

from takeup.service.auth import KeyRoute, needs
from takeup.service.models import IdempotencyKey, TrialId
from takeup.service.problem import ProblemError
from takeup.service.service import caller_of, service_of
from takeup.trial.commands import MOST_REASON
from takeup.trial.leasing import Lend, Revoke
from takeup.trial.reporting import MOST_NUMBER

router = APIRouter(route_class=KeyRoute, tags=["edge"])
_PROBLEMS = ("not-found", "state", "in-flight", "reused-key")


class LeaseGiven(BaseModel):
    """A lease.

    Attributes:
        trial: the trial's identifier.
        number: 1, 2, .. within the trial.
        spec: SHA-256 of the trial's spec as canonical JSON.
        version: the evidence that was seen.
        issued: when, in microseconds since 1970, UTC.
        expires: until when decisions may be drawn under it, likewise.
        most: how many decisions may be.
        key: 64 hexadecimal digits; whoever has them can foresee every proposal under this lease.
        contexts: the trial's contexts.
        proposals: what may be proposed.
        ends: for each context where the share of each proposal ends, in 2^-32; the last is 2^32.
        many: whether a unit has many decisions, which are told apart by their occasion.
        fingerprint: which lease it is, whatever its number; rows that say it as `lease_hash` are taken for no other.
    """

    model_config = ConfigDict(from_attributes=True)

    trial: str
    number: int
    spec: str
    version: int
    issued: int
    expires: int
    most: int
    key: str
    contexts: tuple[str, ...]
    proposals: tuple[str, ...]
    ends: tuple[tuple[int, ...], ...]
    many: bool
    fingerprint: str


class LeaseRevoked(BaseModel):
    """A lease under which nothing may be drawn any more."""

    trial: str
    number: int


def check_unblinded(request: Request) -> None:
    """Turn blinded keys away: a lease has the probabilities of every arm, and what is ingested says what was drawn.

    Raises:
        ProblemError: the key is blinded.
    """
    caller = caller_of(request)
    if not caller.unblinded:
        said = "a lease has the probabilities of every arm: a blinded key gets none, and sends nothing drawn from one"
        needed = f"it needs the scope read-unblinded too; the key has {', '.join(caller.scopes)}"
        raise ProblemError("forbidden", f"{said}; {needed}")


@router.post("/trials/{trial}/leases", status_code=201, **needs("lease", problems=_PROBLEMS))
async def lend(request: Request, trial: TrialId, idempotency_key: IdempotencyKey = None) -> LeaseGiven:
    """Let a client decide by itself for a while, where the spec allows it (`[edge] allowed = true`).

    A lease has the probabilities of all contexts as they are now, so that it needs a key that is not blinded. It is in
    the log, without its key, which the audit derives from the trial's seed.
    """
    check_unblinded(request)
    service, caller = service_of(request), caller_of(request)
    service.edges.lease(caller.id)
    given = await service.submit(trial, Lend(key=idempotency_key, **caller.asking), idempotency_key)
    return LeaseGiven.model_validate(given)


@router.delete("/trials/{trial}/leases/{number}", **needs("lease", "design", problems=("not-found", "state")))
async def revoke(
    request: Request,
    trial: TrialId,
    number: Annotated[int, Path(description="The lease's number.", ge=1, le=MOST_NUMBER)],
    reason: Annotated[
        str | None, Query(description="Why; the log keeps it.", min_length=1, max_length=MOST_REASON)
    ] = None,
) -> LeaseRevoked:
    """Let nothing stand that is drawn under a lease from now on; what was drawn before stands.

    With `design` any lease, with `lease` those that the key was given itself.
    """
    caller = caller_of(request)
    own = "design" not in caller.scopes
    done = await service_of(request).submit(trial, Revoke(lease=number, reason=reason, by=caller.shown, own=own))
    return LeaseRevoked(trial=trial, number=done)
