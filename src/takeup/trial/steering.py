"""Steering a trial: its spec while it is a draft, its state, and the passing of time."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from takeup.errors import InputError, StateError
from takeup.trial.book import Book
from takeup.trial.bounds import text
from takeup.trial.commands import MOST_REASON, Needs
from takeup.trial.design import Design
from takeup.trial.events import Amended, Created, Moved, Unblinded
from takeup.trial.secret import Secret
from takeup.trial.software import software

STATES: Mapping[str, tuple[str, ...]] = {
    "draft": ("running", "stopped"),
    "running": ("paused", "stopped"),
    "paused": ("running", "stopped"),
    "stopped": (),
}
"""The states that each state can change to."""


MEANINGS: Mapping[tuple[str, str], str] = {
    ("draft", "running"): "I start this trial",
    ("paused", "running"): "I let this trial go on",
    ("draft", "stopped"): "I stop this trial for good",
    ("running", "stopped"): "I stop this trial for good",
    ("paused", "stopped"): "I stop this trial for good",
}
"""What a signature says, by the states before and after. A pause must be quick, and has none."""

UNBLINDING = "I want to see what each arm of this trial does"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What somebody puts their name to, having given their password again.

    Attributes:
        name: who, as people write it.
        meaning: what they were shown.
    """

    name: str
    meaning: str

    @classmethod
    def of(cls, said: object) -> "Signature":
        """The signature in a log."""
        match said:
            case {"name": str(name), "meaning": str(meaning), **rest} if not rest:
                return cls(name=name, meaning=meaning)
        raise InputError("signature", repr(said)[:100], "a name and a meaning")

    def agreed(self, meaning: str) -> Mapping[str, str]:
        """As a log has it, where it is still this that they sign.

        Raises:
            StateError: the trial has changed since they read it.
        """
        if self.meaning != meaning:
            raise StateError(f"what was signed is {self.meaning!r}, and it would be {meaning!r} now; look again")
        return {"name": self.name, "meaning": self.meaning}


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Start, pause, go on or stop. Asking for the state that the trial is in changes nothing."""

    state: str
    reason: str | None = None
    by: str | None = None
    signature: Signature | None = None
    needs: Needs = field(default=Needs(), init=False, repr=False)

    def __post_init__(self) -> None:
        if self.state not in STATES:
            raise InputError("state", repr(self.state), f"one of {', '.join(STATES)}")
        if self.reason is not None:
            text("reason", self.reason, MOST_REASON)

    def run(self, book: Book, at: int) -> str:
        """The state after."""
        if book.state != self.state:
            book.append(moved_event(book, self.state, self.reason, at, self.by, self.signature))
        return book.state


@dataclass(frozen=True, slots=True, kw_only=True)
class Unblind:
    """Write down that somebody signed to see what each arm does."""

    by: str
    signature: Signature
    needs: Needs = field(default=Needs(), init=False, repr=False)

    def run(self, book: Book, at: int) -> str:
        """The state, which stays."""
        book.append(unblinded_event(self.signature, at, self.by))
        return book.state


@dataclass(frozen=True, slots=True, kw_only=True)
class Amend:
    """Another spec for a draft."""

    design: Design
    by: str | None = None
    needs: Needs = field(default=Needs(), init=False, repr=False)

    def run(self, book: Book, at: int) -> str:
        """The state, which stays draft."""
        book.append(amended_event(book, self.design, at, self.by))
        return book.state


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """Let time pass: outcome windows that have closed by now close."""

    needs: Needs = field(default=Needs(), init=False, repr=False)

    def run(self, book: Book, at: int) -> int:
        """The version of the evidence after."""
        return book.version


def created_event(trial: str, design: Design, secret: Secret, at: int, by: str | None) -> Created:
    """A trial in draft."""
    spec = design.spec.model_dump(mode="json", exclude={"seed"})
    return Created(
        at=at,
        by=by,
        trial=trial,
        spec=spec,
        commitment=secret.commitment,
        software=software(design),
        seeded=secret.given,
    )


def amended_event(book: Book, design: Design, at: int, by: str | None) -> Amended:
    """Another spec, which only a draft can get."""
    if book.state != "draft":
        raise StateError(f"trial {book.trial} is {book.state}; only a draft can change")
    if book.design.spec.rehearsal and not design.spec.rehearsal:
        raise StateError(f"trial {book.trial} is a rehearsal and stays one; make a new trial for real")
    if book.decisions and _recorded(design) != _recorded(book.design):
        told = f"trial {book.trial} has {book.decisions} past assignments, in the labels and windows of its spec"
        raise StateError(f"{told}, which stay; create another trial for other ones")
    if book.decisions and _forgotten(design) != _forgotten(book.design):
        told = f"trial {book.trial} has {book.decisions} past assignments, counted by what its policy forgets when"
        raise StateError(f"{told}, which stays; create another trial for another half-life or epoch")
    return Amended(at=at, by=by, spec=design.spec.model_dump(mode="json", exclude={"seed"}))


def _recorded(design: Design) -> tuple[object, ...]:
    """What of a design past assignments are recorded by."""
    return design.space, design.window, design.spec.decisions, design.spec.compliance


def _forgotten(design: Design) -> tuple[int, int, bool] | None:
    """How many decisions an epoch has, how many epochs are kept apart and whether with sums, where a policy forgets."""
    epochs = design.epochs
    return None if epochs is None else (epochs.length, epochs.kept, epochs.space.sums is not None)


def unblinded_event(signature: Signature, at: int, by: str | None) -> Unblinded:
    """Somebody is blinded no more."""
    return Unblinded(at=at, by=by, signature=signature.agreed(UNBLINDING))


def moved_event(
    book: Book, state: str, reason: str | None, at: int, by: str | None, signature: Signature | None = None
) -> Moved:
    """Another state."""
    allowed = STATES[book.state]
    if state not in allowed:
        after = f"can become {' or '.join(allowed)}" if allowed else "stays so"
        raise StateError(f"trial {book.trial} is {book.state} and cannot become {state}; it {after}")
    return Moved(
        at=at,
        by=by,
        state=state,
        reason=reason,
        secret=book.secret.text if state == "stopped" else None,
        signature=None if signature is None else signature.agreed(MEANINGS.get((book.state, state), "nothing")),
    )
