"""What the log of a trial consists of, and the chain that binds it.

An event is a frozen value. Its body is canonical JSON, and its hash covers the body, its place in the log and the hash
before it. The log is the truth: everything else that a store holds is a fold of it (`takeup.trial.book`).
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from operator import attrgetter
from typing import Any, ClassVar, Literal, Required, TypeAlias, TypedDict, get_args

from takeup.covariates.kinds import Value
from takeup.errors import InputError
from takeup.outcomes import Plain
from takeup.trial.design import canonical

GENESIS = "0" * 64
"""The hash before the first event."""


Kind = Literal[
    "created",
    "amended",
    "moved",
    "unblinded",
    "taken over",
    "decided",
    "reported",
    "closed",
    "answered",
    "set aside",
    "refused",
    "looked",
    "refitted",
    "leased",
    "revoked",
    "taken in",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """What every event has.

    Attributes:
        kind: what its body calls its kind.
        plural: what people call events of this kind.
        at: when, in microseconds since 1970, UTC; never less than in the event before.
        by: who asked for it, as far as is known.
    """

    kind: ClassVar[Kind]
    plural: ClassVar[str]

    at: int
    by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Created(_Event):
    """A trial in draft. `commitment` binds its seed without showing it.

    `seeded` is whether somebody chose the seed; None in the logs of version 0.1, which did not say.
    """

    kind: ClassVar[Kind] = "created"
    plural: ClassVar[str] = "creation"

    trial: str
    spec: Mapping[str, Any]
    commitment: str
    software: str
    seeded: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Amended(_Event):
    """Another spec for a draft."""

    kind: ClassVar[Kind] = "amended"
    plural: ClassVar[str] = "changes of the draft"

    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved(_Event):
    """Another state; `secret` is shown when it is the last one.

    `signature` has the name of whoever signed with their password, and what that means; `at` is when.
    """

    kind: ClassVar[Kind] = "moved"
    plural: ClassVar[str] = "state changes"

    state: str
    reason: str | None = None
    secret: str | None = None
    signature: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unblinded(_Event):
    """Somebody signed, with their password, that they want to see what each arm does."""

    kind: ClassVar[Kind] = "unblinded"
    plural: ClassVar[str] = "unblindings"

    signature: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedEvent(_Event):
    """What a request came to that an idempotency key may protect.

    Attributes:
        site: where the one who asked works, as far as is known.
        key: the idempotency key.
        request: a hash of what was asked for under it.
    """

    site: str | None = None
    key: str | None = None
    request: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenOver(KeyedEvent):
    """An assignment from before the trial came to takeup: a decision that nothing here made, and nothing derives again.

    Attributes:
        number: i, counted from 1, as of all decisions.
        unit: who it was for.
        occasion: which of the unit's decisions.
        context: x, as a label.
        covariates: by name, each measure at the nearest point of its grid, as features are derived from them.
        proposal: z, as a label.
        probability: what z was drawn from; None where nobody wrote it down.
        implemented: a, as a label; None where it was not known when the trial was taken over.
        outcome: y, as a report has it; likewise.
        decided: when it was assigned; None where nobody wrote it down.
        due: when the outcome window closes.
    """

    kind: ClassVar[Kind] = "taken over"
    plural: ClassVar[str] = "past assignments"

    number: int
    unit: str
    occasion: str = ""
    context: str
    proposal: str
    probability: tuple[float, ...] | None = None
    implemented: str | None = None
    outcome: Plain | None = None
    decided: int | None = None
    due: int | None = None
    covariates: Mapping[str, Value] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided(KeyedEvent):
    """A decision, with all that is needed to derive it again.

    Attributes:
        number: i, counted from 1.
        unit: who it is for.
        occasion: which of the unit's decisions.
        context: x, as a label.
        covariates: by name, each measure at the nearest point of its grid, as features are derived from them.
        proposal: z, as a label.
        probability: what z was drawn from.
        best: the probability that each proposal is best; left out where it is `probability`.
        version: the evidence that was seen: the sequence number of the last event that moved a cell of it.
        due: when the outcome window closes.
        software: what computed it; None for a fallback that a client drew.
        drawn: when the client says that it drew it.
        lease: the number of the lease that a client drew it under; its probabilities and its version are the lease's.
        implemented: a, as a label, where that came with the client's decision.
        outcome: y, as a report has it; likewise.
        missing: what will never be known; likewise.
    """

    kind: ClassVar[Kind] = "decided"
    plural: ClassVar[str] = "decisions"

    number: int
    unit: str
    occasion: str = ""
    context: str
    proposal: str
    probability: tuple[float, ...]
    best: tuple[float, ...] | None = None
    version: int
    due: int | None = None
    software: str | None = None
    drawn: int | None = None
    covariates: Mapping[str, Value] | None = None
    lease: int | None = None
    implemented: str | None = None
    outcome: Plain | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported(KeyedEvent):
    """What became of a decision, or a correction of it.

    Attributes:
        decision: its number.
        implemented: a, as a label.
        outcome: y: a label, a number, or a table such as {"time": 90, "censored": true}.
        missing: what will never be known.
        covariates: those that are not what was said before the decision, as an event that decides has them.
        reason: why something that was reported before is corrected.
        before: what a correction replaces: labels, or None for what had been declared missing; of covariates a table.
        stands: what it contradicts without a reason, likewise: that stays as it was. Those who report blinded are not
            told, as they could find out by guessing what was reported.
    """

    kind: ClassVar[Kind] = "reported"
    plural: ClassVar[str] = "reports"

    decision: int
    implemented: str | None = None
    outcome: Plain | None = None
    missing: tuple[str, ...] = ()
    reason: str | None = None
    before: Mapping[str, Any] | None = None
    stands: Mapping[str, Any] | None = None
    covariates: Mapping[str, Value] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed(_Event):
    """Outcome windows that have closed: the outcomes of these decisions enter the evidence."""

    kind: ClassVar[Kind] = "closed"
    plural: ClassVar[str] = "closed outcome windows"

    decisions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(KeyedEvent):
    """Decisions that somebody was told of, where no other event says so: a batch, or units that had theirs before."""

    kind: ClassVar[Kind] = "answered"
    plural: ClassVar[str] = "repeated requests"

    decisions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside(KeyedEvent):
    """What a client drew and does not stand: a fallback for a unit that had its decision, or a draw under a lease.

    Attributes:
        decision: the decision that the unit had already; None where it had none.
        proposal: what the client drew.
        lease: the lease that it names; None of a fallback. What follows is of leases alone.
        lease_hash: the fingerprint of that lease, where the client says it.
        reason: why it does not stand.
        unit: who it was for.
        occasion: which of the unit's decisions.
        context: x, as a label.
        drawn: when the client says that it drew it.
        implemented: what it says was done, and came of it: nothing counts that did not follow a decision that stands.
        outcome: likewise.
        missing: what it says will never be known; likewise.
    """

    kind: ClassVar[Kind] = "set aside"
    plural: ClassVar[str] = "clients' draws that were set aside"

    decision: int | None = None
    proposal: str
    lease: int | None = None
    lease_hash: str | None = None
    reason: str | None = None
    unit: str | None = None
    occasion: str = ""
    context: str | None = None
    drawn: int | None = None
    implemented: str | None = None
    outcome: Plain | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused(_Event):
    """Somebody asked for decisions that neither they nor their site had asked for, and was told nothing."""

    kind: ClassVar[Kind] = "refused"
    plural: ClassVar[str] = "refused requests"

    decisions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked(_Event):
    """A planned look: what the rules concluded, from the outcomes known then, whatever is corrected later.

    After a look that advised an end, the looks that were planned beyond it repeat what it concluded: that there are no
    more of them would tell blinded readers of the log. Looks that became due while takeup had paused the trial are held
    one after the other when it goes on, all from what is known then.

    Attributes:
        look: its number, counted from 1.
        outcomes: how many were known when this was concluded.
        version: the evidence that was seen then.
        status: "going on", or the end that is advised: superior, equivalent, futile or maximum.
        ended: the number of the look that advised the end.
        chosen: the proposal that is superior.
        offered: what is still offered where it goes on.
        control: the control from now on.
        dropped: why each proposal was dropped that was dropped: inferior, equivalent or futile.
        compared: what was compared: each with its rule, proposal, probability and threshold.
        probability: with which proposals are made from now on; left out where they follow every outcome.
        best: the probability that each proposal is best, of those that are offered; left out where it is `probability`.
        still: after an end, where proposals depend on the unit: what goes on being offered, and the control.
        software: what computed it.
    """

    kind: ClassVar[Kind] = "looked"
    plural: ClassVar[str] = "planned looks"

    look: int
    outcomes: int
    version: int
    status: str
    ended: int | None = None
    chosen: str | None = None
    offered: tuple[str, ...]
    control: str | None = None
    dropped: Mapping[str, str] | None = None
    compared: tuple[Mapping[str, Any], ...] = ()
    probability: tuple[float, ...] | None = None
    best: tuple[float, ...] | None = None
    still: Mapping[str, Any] | None = None
    software: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refitted(_Event):
    """The models of a policy that fits them to its decisions: those that are made from here on are made by these.

    Attributes:
        decisions: how many there were that it was fitted to.
        due: how many decisions there are when it is fitted next, or how many actions and outcomes are seen.
        known: the number of the event up to which reports of them were known.
        models: every number of them, as `takeup.trial.fitting` writes it, to the bit.
        software: what computed it.
    """

    kind: ClassVar[Kind] = "refitted"
    plural: ClassVar[str] = "fits of models"

    decisions: int
    due: tuple[int, int]
    known: int
    models: str
    software: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Leased(KeyedEvent):
    """A lease: what a client may decide from by itself. Its key follows from the seed and its number, and is not here.

    Attributes:
        lease: its number, counted from 1.
        spec: SHA-256 of the spec as canonical JSON.
        version: the evidence that was seen.
        expires: until when decisions may be drawn under it.
        most: how many decisions may be.
        probability: what proposals are drawn from, by context.
        best: the probability that each proposal is best, by context; left out where it is `probability`.
        software: what computed it.
    """

    kind: ClassVar[Kind] = "leased"
    plural: ClassVar[str] = "leases"

    lease: int
    spec: str
    version: int
    expires: int
    most: int
    probability: tuple[tuple[float, ...], ...]
    best: tuple[tuple[float, ...], ...] | None = None
    software: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoked(_Event):
    """A lease under which nothing may be drawn any more; what was drawn before stands, whenever it comes."""

    kind: ClassVar[Kind] = "revoked"
    plural: ClassVar[str] = "revoked leases"

    lease: int
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenIn(KeyedEvent):
    """Rows of a batch of what clients decided and reported, which the events before this one say; its key names them.

    Attributes:
        batch: what its sender calls it; `request` is a hash of all that is in it.
        rows: how many rows it has.
        taken: how many of them have been taken by now, from the first on.
        recorded: decisions that were recorded, of these rows.
        standing: of these rows, those that said what the log said already.
        set_aside: decisions that do not stand.
        reported: reports of decisions that were there.
        refused: the first rows that were not recorded, each with its place in the batch, from 0, and why.
        lapsed: leases with draws that were set aside, but for those of units that have another decision: each with its
            number, the hash that the client said, and when the first of them was drawn.
    """

    kind: ClassVar[Kind] = "taken in"
    plural: ClassVar[str] = "parts of batches"

    batch: str
    rows: int
    taken: int
    recorded: int = 0
    standing: int = 0
    set_aside: int = 0
    reported: int = 0
    refused: tuple[tuple[int, str], ...] = ()
    lapsed: tuple[tuple[int, str | None, int], ...] = ()


Event: TypeAlias = (
    Created
    | Amended
    | Moved
    | Unblinded
    | TakenOver
    | Decided
    | Reported
    | Closed
    | Answered
    | SetAside
    | Refused
    | Looked
    | Refitted
    | Leased
    | Revoked
    | TakenIn
)

KINDS: Mapping[str, type[Event]] = {each.kind: each for each in get_args(Event)}
_FIELDS = {each: tuple((f.name, f.default) for f in fields(each)) for each in KINDS.values()}
_VALUES = {each: attrgetter(*(f.name for f in fields(each))) for each in KINDS.values()}
_LISTS = {each: tuple(f.name for f in fields(each) if "tuple" in str(f.type)) for each in KINDS.values()}


class Stamp(TypedDict, total=False):
    """When a request was made, by whom, where, and under which idempotency key: what its event takes over from it."""

    at: Required[int]
    by: str | None
    site: str | None
    key: str | None
    request: str | None


def stamp_of(event: KeyedEvent) -> Stamp:
    """The stamp of the request that an event is about."""
    return {"at": event.at, "by": event.by, "site": event.site, "key": event.key, "request": event.request}


def answered_numbers(event: KeyedEvent) -> tuple[int, ...]:
    """The decisions that an event with a key is about."""
    match event:
        case Decided() | TakenOver():
            return (event.number,)
        case Answered():
            return event.decisions
        case SetAside():
            return () if event.decision is None else (event.decision,)
        case Reported():
            return (event.decision,)
    return ()


def body_of(event: Event) -> str:
    """An event as canonical JSON; what has its default is left out."""
    kind = type(event)
    pairs = zip(_FIELDS[kind], _VALUES[kind](event), strict=True)
    body: dict[str, Any] = {name: value for (name, default), value in pairs if value != default}
    body["kind"] = event.kind
    return canonical(body)


def event_of(body: str) -> Event:
    """The event whose body this is.

    Raises:
        InputError: it is not the body of any event.
    """
    try:
        content = json.loads(body)
        kind = KINDS[content.pop("kind")]
        required = {name for name, default in _FIELDS[kind] if default is MISSING}
        if not required <= set(content):
            raise KeyError(*required - set(content))
        for name in _LISTS[kind]:
            if isinstance(content.get(name), list):
                content[name] = tuple(content[name])
        return kind(**content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError("event", body[:200], "the body of an event", str(error)) from None


def link(previous: str, sequence: int, body: str) -> str:
    """The hash of an event: SHA-256 over the hash before it, its sequence number and its body."""
    return hashlib.sha256(f"{previous}\n{sequence}\n{body}".encode()).hexdigest()
