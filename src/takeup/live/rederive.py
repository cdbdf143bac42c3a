"""What the next event of a log should have been, given all before it."""

from collections.abc import Mapping
from dataclasses import replace

from takeup.errors import TakeupError
from takeup.trial import events
from takeup.trial.book import Book
from takeup.trial.bounds import text
from takeup.trial.commands import MOST_NAME, decided_event
from takeup.trial.computing import BY
from takeup.trial.design import Design, canonical
from takeup.trial.edge_draws import EdgeDraw, drawn_event
from takeup.trial.events import Event, stamp_of
from takeup.trial.fallbacks import fallback_event
from takeup.trial.fitting import Refit, refitted_event, wanted
from takeup.trial.following import closed_event
from takeup.trial.ingesting import check_occasion
from takeup.trial.leases import GRAIN
from takeup.trial.leasing import leased_event, revoked_event
from takeup.trial.looking import due_look, looked_event
from takeup.trial.met import Met, kept
from takeup.trial.models import close, models_of
from takeup.trial.models import fits as fits_models
from takeup.trial.past import past_of, taken_over_event
from takeup.trial.proposal import Proposal
from takeup.trial.reporting import labels_of, reported_event
from takeup.trial.secret import Secret
from takeup.trial.software import software
from takeup.trial.steering import Signature, amended_event, created_event, moved_event, unblinded_event


class UnexpectedError(TakeupError):
    """Says what should have been there instead."""


Fits = Mapping[int, Refit]
"""Fits to what was known after an event, by its number."""


def expected(book: Book | None, trial: str, event: Event, secret: Secret, fits: Fits) -> Event:
    """The event that follows from the book for the request that `event` answers.

    Args:
        book: all before it.
        trial: the trial's identifier.
        event: as it was logged.
        secret: the trial's.
        fits: the fits of models that events to come say that there were.

    Raises:
        UnexpectedError: no event of this kind can be here.
        TakeupError: the request would have been refused.
    """
    if book is None:
        return _first(trial, event, secret)
    if event.at < book.at:
        raise UnexpectedError(f"a time of at least {book.at}")
    look = due_look(book)
    if look is not None and (book.design.refused is None or isinstance(event, events.Looked)):
        return _looked(book, look, event)
    due = closed_event(book, event.at)
    if isinstance(event, events.Closed):
        if due is None:
            raise UnexpectedError("no windows to close")
        return due
    if due is not None:
        raise UnexpectedError(f"that the windows of decisions {due.decisions} close first")
    if isinstance(event, events.KeyedEvent) and event.key is not None and event.key in book.keys:
        raise UnexpectedError(f"a new key: {event.key!r} has been answered by event {book.keys[event.key][1]}")
    if isinstance(event, events.Refitted):
        return _refitted(book, event, fits)
    return _following(book, event)


def _refitted(book: Book, event: events.Refitted, fits: Fits) -> Event:
    """The fit, derived again; as it was logged where it differs by no more than machines round."""
    fit = fits.get(event.known)
    if fit is None or book.state == "stopped" or not fits_models(book.design):
        raise UnexpectedError("a fit of models to what was known before it")
    if not wanted(book, fit.at) or fit.spec != book.design.text:
        raise UnexpectedError("no fit of models, as none is due")
    if close(book.design, event.models, fit.models):
        fit = replace(fit, models=event.models)
    again = refitted_event(book, fit, event.at)
    return again if again.software == event.software else replace(again, software=event.software)


def _first(trial: str, event: Event, secret: Secret) -> Event:
    if not isinstance(event, events.Created):
        raise UnexpectedError("the trial's creation")
    design = Design.of_text(canonical(event.spec))
    if event.seeded and not design.spec.rehearsal:
        raise UnexpectedError("a seed that nobody chose, as the trial is no rehearsal")
    again = created_event(trial, design, secret, event.at, event.by)
    return replace(again, software=event.software, seeded=event.seeded)


def _following(book: Book, event: Event) -> Event:
    match event:
        case events.Decided():
            return _decided(book, event)
        case events.TakenOver():
            return _taken_over(book, event)
        case events.Reported():
            return reported_event(
                book,
                event.decision,
                implemented=event.implemented,
                outcome=event.outcome,
                missing=event.missing,
                covariates=event.covariates,
                reason=event.reason,
                disputing=event.stands is not None,
                **stamp_of(event),
            )
        case events.SetAside() if event.lease is not None:
            return drawn_event(book, _draw(book, event, event.unit or "", event.context or ""), **stamp_of(event))
        case events.SetAside():
            if event.decision is None:
                raise UnexpectedError("a fallback for a unit that had its decision")
            standing = book.records[event.decision]
            proposal = book.design.index("proposal", event.proposal)
            place = standing.unit, standing.occasion
            met = Met(standing.context, standing.covariates)
            return fallback_event(book, place, met, proposal, None, **stamp_of(event))
        case events.Answered() | events.Refused():
            if not event.decisions or not all(number in book.records for number in event.decisions):
                raise UnexpectedError("decisions that have been made")
            return event
        case events.Moved():
            signature = None if event.signature is None else Signature.of(event.signature)
            return moved_event(book, event.state, event.reason, event.at, event.by, signature)
        case events.Unblinded():
            return unblinded_event(Signature.of(event.signature), event.at, event.by)
        case events.Amended():
            return amended_event(book, Design.of_text(canonical(event.spec)), event.at, event.by)
        case events.Looked():
            raise UnexpectedError("no look, as none is due")
        case events.Leased():
            again = leased_event(book, **stamp_of(event))
            return again if again.software == event.software else replace(again, software=event.software)
        case events.Revoked():
            return revoked_event(book, event.lease, event.reason, event.at, event.by)
        case events.TakenIn():
            return _taken_in(book, event)
    raise UnexpectedError("no second creation")


def _looked(book: Book, look: int, event: Event) -> Event:
    """The look that is due; or that it could not be computed, which nobody can tell afterwards."""
    if isinstance(event, events.Moved) and (event.state, event.by) == ("paused", BY):
        return replace(event, secret=None)
    if not isinstance(event, events.Looked):
        raise UnexpectedError(f"look {look + 1}, as {book.known} outcomes are known")
    if book.design.refused is not None and (book.look is None or book.look.ended is None):
        return replace(event, look=look + 1, outcomes=book.known, version=book.version)
    return replace(looked_event(book, look, event.at), software=event.software)


def _decided(book: Book, event: events.Decided) -> Event:
    """The decision, derived again; that of a client, as far as it can be."""
    space, place = book.design.space, (event.unit, event.occasion)
    if place in book.units:
        raise UnexpectedError(f"one decision for unit {event.unit!r}: it has {book.units[place]}")
    if event.lease is not None:
        return drawn_event(book, _draw(book, event, event.unit, event.context), **stamp_of(event))
    if event.implemented is not None or event.outcome is not None or event.missing:
        raise UnexpectedError("a decision of which nothing is known yet, as no lease is named")
    met = Met(space.contexts.index(event.context), kept(space, event.covariates))
    proposal = space.proposals.index(event.proposal)
    if event.software is None:
        return fallback_event(book, place, met, proposal, event.drawn, **stamp_of(event))
    unknown = None if book.design.refused is None else Proposal(proposal, (), ())
    again = decided_event(book, book.decisions + 1, place, met, unknown, **stamp_of(event))
    return again if again.software == event.software else replace(again, software=event.software)


def _draw(book: Book, event: events.Decided | events.SetAside, unit: str, context: str) -> EdgeDraw:
    """What a client drew under a lease, as the log has it."""
    text("unit", unit, MOST_NAME)
    check_occasion(book, event.occasion)
    labels = labels_of(book.design, event.implemented, event.outcome, event.missing, said=True)
    implemented, drawn = labels.get("implemented"), event.drawn
    if type(drawn) is not int or type(event.lease) is not int:
        raise UnexpectedError("a lease, and when it was drawn")
    space = book.design.space
    return EdgeDraw(
        unit,
        event.occasion,
        space.contexts.index(context),
        space.proposals.index(event.proposal),
        event.lease,
        drawn,
        None if implemented is None else str(implemented),
        labels.get("outcome"),
        tuple(sorted(set(event.missing))),
        event.lease_hash if isinstance(event, events.SetAside) else None,
    )


def _taken_in(book: Book, event: events.TakenIn) -> Event:
    """The end of a part of a batch: whether it can be one. What came to nothing left no trace."""
    counts = (event.recorded, event.standing, event.set_aside, event.reported)
    some = all(type(each) is int and each >= 0 for each in (*counts, event.rows, event.taken))
    if not some or not sum(counts) <= event.taken <= event.rows or event.key is None or book.state == "draft":
        raise UnexpectedError("rows of a batch, at most as many as it has")
    if (event.recorded, event.set_aside) != book.taking:
        raise UnexpectedError(f"{book.taking[0]} decisions recorded and {book.taking[1]} set aside, as before it")
    return event


def _taken_over(book: Book, event: events.TakenOver) -> Event:
    """A past assignment, which nothing derives: whether it can be one."""
    place = event.unit, event.occasion
    if place in book.units:
        raise UnexpectedError(f"one decision for unit {event.unit!r}: it has {book.units[place]}")
    last = book.records[book.decisions].at if book.decisions else 0
    return taken_over_event(book, book.decisions + 1, past_of(event), last, **stamp_of(event))


def otherwise(book: Book, again: Event, event: Event) -> bool:
    """Whether another version made the decision or held the look, and what it computed otherwise can be true."""
    computed = events.Decided | events.Looked | events.Refitted | events.Leased
    if not isinstance(event, computed) or type(again) is not type(event):
        return False
    if isinstance(event, events.Decided) and event.lease is not None:
        return False  # it follows from the lease, whatever made that
    if event.software is None or event.software == software(book.design):
        return False
    if isinstance(event, events.Refitted):
        assert isinstance(again, events.Refitted)  # it is of the same kind
        return replace(again, models=event.models) == event and bool(models_of(book.design, event.models))
    if isinstance(event, events.Leased):
        return _other_lease(book, again, event)
    proposals, p = book.design.space.proposals, event.probability
    if p is not None and not (len(p) == len(proposals) and abs(sum(p) - 1) <= 1e-9 and min(p) >= 0):
        return False
    if isinstance(event, events.Looked):
        fixed = {name: getattr(again, name) for name in ("at", "by", "look", "outcomes", "version")}
        return set(event.offered) <= set(proposals) and replace(event, **fixed) == event
    if p is None or not isinstance(again, events.Decided) or not p[proposals.index(event.proposal)] > 0:
        return False
    return replace(again, proposal=event.proposal, probability=p, best=event.best) == event


def _other_lease(book: Book, again: Event, event: events.Leased) -> bool:
    """Whether the probabilities of a lease that another version gave can be some, and all else is as it is here."""
    space, vectors = book.design.space, [*event.probability, *(event.best or ())]
    sound = all(
        len(p) == len(space.proposals) and sum(p) == 1 and min(p) >= 0 and all(map(_grained, p)) for p in vectors
    )
    if not sound or any(len(each) != len(space.contexts) for each in (event.probability, event.best) if each):
        return False
    assert isinstance(again, events.Leased)  # it is of the same kind
    return events.body_of(replace(again, probability=event.probability, best=event.best)) == events.body_of(event)


def _grained(p: float) -> bool:
    """Whether it is a multiple of 2^-32, as what is drawn from has to be."""
    return float(p * GRAIN).is_integer()
