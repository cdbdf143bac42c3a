"""The events that requests lead to: what a trial decides and accepts. An audit derives them again from here."""

from collections.abc import Iterator, Mapping

from takeup.errors import ConflictError, InputError, NotFoundError, StateError
from takeup.space import UNSEEN
from takeup.trial.book import Book, Record
from takeup.trial.decision import choose
from takeup.trial.design import Design
from takeup.trial.events import Amended, Closed, Created, Decided, Moved, Reported, SetAside
from takeup.trial.secret import Secret
from takeup.trial.software import software

STATES: Mapping[str, tuple[str, ...]] = {
    "draft": ("running", "stopped"),
    "running": ("paused", "stopped"),
    "paused": ("running", "stopped"),
    "stopped": (),
}
"""Where each state can lead."""

MOST_CLOSED = 1_000
"""So many windows close in one event."""


def created(trial: str, design: Design, secret: Secret, at: int, by: str | None) -> Created:
    """A trial in draft."""
    spec = design.spec.model_dump(mode="json", exclude={"seed"})
    return Created(at=at, by=by, trial=trial, spec=spec, commitment=secret.commitment, software=software())


def amended(book: Book, design: Design, at: int, by: str | None) -> Amended:
    """Another spec, which only a draft can get."""
    if book.state != "draft":
        raise StateError(f"trial {book.trial} is {book.state}; only a draft can change")
    return Amended(at=at, by=by, spec=design.spec.model_dump(mode="json", exclude={"seed"}))


def moved(book: Book, state: str, reason: str | None, at: int, by: str | None) -> Moved:
    """Another state."""
    allowed = STATES[book.state]
    if state not in allowed:
        after = f"can become {' or '.join(allowed)}" if allowed else "stays so"
        raise StateError(f"trial {book.trial} is {book.state} and cannot become {state}; it {after}")
    return Moved(at=at, by=by, state=state, reason=reason, secret=book.secret.text if state == "stopped" else None)


def decided(
    book: Book,
    *,
    number: int,
    unit: str,
    occasion: str,
    context: int,
    at: int,
    by: str | None = None,
    key: str | None = None,
    request: str | None = None,
) -> Decided:
    """The policy's decision for a unit."""
    if book.state != "running":
        raise StateError(f"trial {book.trial} is {book.state}; decisions are made while it is running")
    design = book.design
    choice = choose(design, book.secret, book.counts, context, number)
    return Decided(
        at=at,
        by=by,
        key=key,
        request=request,
        number=number,
        unit=unit,
        occasion=occasion,
        context=design.space.contexts[context],
        proposal=design.space.proposals[choice.proposal],
        probability=choice.probability,
        best=None if choice.best == choice.probability else choice.best,
        version=book.version,
        due=None if design.window is None else at + design.window,
        software=software(),
    )


def fallen_back(
    book: Book,
    *,
    unit: str,
    occasion: str,
    context: int,
    proposal: int,
    at: int,
    by: str | None = None,
    key: str | None = None,
    request: str | None = None,
) -> Decided | SetAside:
    """A decision that a client drew by itself; set aside where the unit has one already."""
    if book.state == "draft":
        raise StateError(f"trial {book.trial} is a draft; nothing can have been decided")
    design = book.design
    label = design.space.proposals[proposal]
    standing = book.units.get((unit, occasion))
    if standing is not None:
        return SetAside(at=at, by=by, key=key, request=request, decision=standing, proposal=label)
    if design.fallback[proposal] == 0:
        raise InputError("proposal", repr(label), "a proposal that the fallback can draw")
    return Decided(
        at=at,
        by=by,
        key=key,
        request=request,
        number=book.decisions + 1,
        unit=unit,
        occasion=occasion,
        context=design.space.contexts[context],
        proposal=label,
        probability=design.fallback,
        version=book.version,
        due=None if design.window is None else at + design.window,
    )


def reported(
    book: Book,
    *,
    decision: int,
    implemented: str | int | None,
    outcome: str | int | None,
    missing: tuple[str, ...],
    reason: str | None,
    at: int,
    by: str | None = None,
    key: str | None = None,
    request: str | None = None,
) -> Reported:
    """What became of a decision; what contradicts an earlier report needs a reason."""
    record = book.records.get(decision)
    if record is None:
        raise NotFoundError(f"trial {book.trial} has no decision {decision}; it has made {book.decisions}")
    labels = _labels(book, implemented, outcome, missing)
    before = {name: old for name, (old, new) in _known(book, record, labels).items() if old != new}
    if before and reason is None:
        name, old = next(iter(before.items()))
        said = "declared missing" if old is None else f"reported as {old!r}"
        raise ConflictError(f"{name} of decision {decision} was {said}; a correction needs a reason")
    return Reported(
        at=at,
        by=by,
        key=key,
        request=request,
        decision=decision,
        implemented=labels.get("implemented"),
        outcome=labels.get("outcome"),
        missing=tuple(sorted(set(missing))),
        reason=reason,
        before=before or None,
    )


def closed(book: Book, at: int) -> Iterator[Closed]:
    """The windows that have closed by now, in the order of their decisions."""
    due = book.due(at)
    for first in range(0, len(due), MOST_CLOSED):
        yield Closed(at=at, decisions=tuple(due[first : first + MOST_CLOSED]))


def _labels(
    book: Book, implemented: str | int | None, outcome: str | int | None, missing: tuple[str, ...]
) -> dict[str, str | None]:
    """What is reported, by name; None for what is declared missing."""
    design, labels = book.design, dict[str, str | None]()
    for name in missing:
        if name not in ("implemented", "outcome"):
            raise InputError("missing", repr(name), "implemented or outcome")
        labels[name] = None
    for name, value in (("implemented", implemented), ("outcome", outcome)):
        if value is not None and name in labels:
            raise InputError(name, repr(value), f"either a value or missing, not both for {name}")
    if implemented is not None:
        labels["implemented"] = design.space.implemented[design.index("implemented", implemented)]
    if outcome is not None:
        labels["outcome"] = design.space.outcomes[design.index("outcome", outcome)]
    if not labels:
        raise InputError("report", "nothing", "implemented, outcome, or what is missing")
    if "implemented" in labels and design.spec.compliance == "never":
        raise InputError("implemented", repr(implemented), "nothing: the spec says that compliance is never reported")
    return labels


def _known(book: Book, record: Record, labels: dict[str, str | None]) -> dict[str, tuple[str | None, str | None]]:
    """Old and new, for what is reported now and has been before."""
    space, known = book.design.space, dict[str, tuple[str | None, str | None]]()
    if "implemented" in labels and (record.implemented != UNSEEN or record.missing_implemented):
        old = None if record.missing_implemented else space.implemented[record.implemented]
        known["implemented"] = (old, labels["implemented"])
    if "outcome" in labels and (record.outcome != UNSEEN or record.missing_outcome):
        old = None if record.missing_outcome else space.outcomes[record.outcome]
        known["outcome"] = (old, labels["outcome"])
    return known
