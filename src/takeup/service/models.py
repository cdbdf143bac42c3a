"""What requests and answers consist of, where no type of the layers below says it already.

Times are microseconds since 1970, UTC.
"""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import Header, Path
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from takeup.live import Audit
from takeup.service.keys import MOST_NAME as MOST_KEY_NAME
from takeup.service.keys import MOST_TRIALS, Scope
from takeup.service.problem import Problem
from takeup.trial import Ask, Decision, Receipt
from takeup.trial.commands import MOST_BATCH, MOST_NAME, MOST_REASON
from takeup.trial.reporting import MOST_NUMBER

IDENTIFIER = r"^[a-z0-9][a-z0-9-]{0,63}$"
MOST_KEY = 180
"""The longest idempotency key; a batch of reports adds their places to it."""

TrialId = Annotated[str, Path(description="The trial's identifier.", pattern=IDENTIFIER)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        description="Any text that is never used for anything else: sent again, the request has no second effect.",
        min_length=1,
        max_length=MOST_KEY,
    ),
]
Label = Annotated[str, Field(min_length=1, max_length=MOST_NAME)] | StrictInt
Name = Annotated[str, Field(min_length=1, max_length=MOST_NAME)]


class Strict(BaseModel):
    """A body: what it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class UnitAsked(Strict):
    """A unit that needs a decision.

    Attributes:
        unit: who it is for.
        context: which of the trial's contexts the unit is in; may be left out where there is one.
        occasion: which of the unit's decisions, where a unit has many.
    """

    unit: Name
    context: Label | None = None
    occasion: Name | None = None

    @property
    def ask(self) -> Ask:
        """As a trial takes it."""
        return Ask(unit=self.unit, context=self.context, occasion=self.occasion)


class UnitsAsked(Strict):
    """Units that need decisions, which all see the same evidence."""

    units: Annotated[list[UnitAsked], Field(min_length=1, max_length=MOST_BATCH)]


class Decisions(BaseModel):
    """Decisions, in the order of the units."""

    decisions: tuple[Decision, ...]


class FallbackMade(UnitAsked):
    """A proposal that a client drew from the trial's fallback probabilities."""

    proposal: Label


class ReportMade(Strict):
    """What became of a decision.

    Attributes:
        decision: the decision's number; or else `unit` and `occasion` say which.
        unit: whose decision it is.
        occasion: which of the unit's.
        implemented: a, the action.
        outcome: y, the outcome level.
        missing: what will never be known.
        reason: why, where something that was reported before is corrected.
    """

    decision: Annotated[StrictInt, Field(ge=1, le=MOST_NUMBER)] | None = None
    unit: Name | None = None
    occasion: Name | None = None
    implemented: Label | None = None
    outcome: Label | None = None
    missing: Annotated[tuple[Literal["implemented", "outcome"], ...], Field(max_length=2)] = ()
    reason: Annotated[str, Field(min_length=1, max_length=MOST_REASON)] | None = None


class ReportsMade(Strict):
    """Reports, each of which stands for itself."""

    reports: Annotated[list[ReportMade], Field(min_length=1, max_length=MOST_BATCH)]


class ReportResult(BaseModel):
    """What became of a report: a receipt or a problem."""

    receipt: Receipt | None = None
    problem: Problem | None = None


class ReportResults(BaseModel):
    """What became of each report, in their order."""

    results: tuple[ReportResult, ...]


class StateAsked(Strict):
    """The state that a trial shall have."""

    state: Literal["running", "paused", "stopped"]
    reason: Annotated[str, Field(min_length=1, max_length=MOST_REASON)] | None = None


class TrialLine(BaseModel):
    """A trial in a list."""

    trial: str
    name: str
    state: str


class TrialList(BaseModel):
    """The trials that a key is valid in."""

    trials: tuple[TrialLine, ...]


class TrialShown(TrialLine):
    """A trial as it was designed.

    Attributes:
        trial: its identifier.
        name: what people call it.
        state: draft, running, paused or stopped.
        spec: with every default filled in; the seed is never part of it.
        fallback: the probabilities that a client draws from when the service cannot be reached.
    """

    spec: dict[str, Any]
    fallback: dict[str, float]


class EventShown(BaseModel):
    """An event of the log.

    Attributes:
        sequence: its place.
        kind: what kind of event.
        at: when it happened.
        decision: the one decision that it is about.
        hash: covers it and all before it; withheld from blinded readers, who could test guesses against it.
        event: all that it says; withheld from blinded readers.
    """

    sequence: int
    kind: str
    at: int
    decision: int | None
    hash: str | None
    event: dict[str, Any] | None


class EventPage(BaseModel):
    """A part of the log; `next` is the `after` of the next page, None at the end."""

    events: tuple[EventShown, ...]
    next: int | None


class AuditShown(BaseModel):
    """What an audit found.

    Attributes:
        trial: the trial's identifier.
        passed: whether no difference was found.
        where: where the first difference is.
        expected: what follows from the log up to there; withheld from blinded readers.
        found: what is there; withheld from blinded readers.
        events: how many events were read.
        decisions: how many of them are decisions.
        rederived: decisions that were derived again, with their probabilities, and came out the same.
        other_software: decisions that another version made, by version: they are checked, but not derived again.
        fallbacks: decisions that clients drew by themselves.
        anchors: how many signed anchors were compared; None where there are none.
        unanchored: how many events follow the last anchor; None where there are none.
    """

    trial: str
    passed: bool
    where: str | None
    expected: str | None
    found: str | None
    events: int
    decisions: int
    rederived: int
    other_software: dict[str, int]
    fallbacks: int
    anchors: int | None
    unanchored: int | None

    @classmethod
    def of(cls, audit: Audit, *, blinded: bool) -> "AuditShown":
        """The findings, for a reader."""
        values, difference = asdict(audit), audit.difference
        del values["difference"]
        shown = None if blinded else difference
        return cls(
            **values,
            passed=audit.passed,
            where=None if difference is None else difference.where,
            expected=None if shown is None else shown.expected,
            found=None if shown is None else shown.found,
        )


class KeyAsked(Strict):
    """A key to make.

    Attributes:
        name: whose it is.
        scopes: what it may do.
        trials: in which trials; in all where left out.
    """

    name: Annotated[str, Field(min_length=1, max_length=MOST_KEY_NAME)]
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=6)]
    trials: (
        Annotated[list[Annotated[str, Field(pattern=IDENTIFIER)]], Field(min_length=1, max_length=MOST_TRIALS)] | None
    ) = None


class KeyShown(BaseModel):
    """A key, without its text."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    name: str
    scopes: tuple[Scope, ...]
    trials: tuple[str, ...] | None
    created_at: int
    created_by: str | None
    revoked_at: int | None
    revoked_by: str | None


class KeyMade(KeyShown):
    """A new key; `key` is its text, which is shown this once."""

    key: str


class KeyList(BaseModel):
    """Keys, the revoked ones too."""

    keys: tuple[KeyShown, ...]


class Health(BaseModel):
    """That the service is there."""

    status: Literal["ok"] = "ok"
    version: str
