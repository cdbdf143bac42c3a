"""What happens to a trial by itself, before anything else can: outcome windows close, and looks are held."""

from takeup.trial.book import Book
from takeup.trial.computing import BY, FailedPolicyError
from takeup.trial.events import Closed, Looked, Moved
from takeup.trial.looking import due_look, looked_event, room_before_look

MOST_CLOSED = 1_000
"""How many windows close in one event."""


def settle(book: Book, at: int) -> None:
    """Hold the looks that are due, and close the windows that have closed by now, in the order of their decisions.

    Raises:
        BusyError: a look has to wait for the next transaction; what came before it has happened.
    """
    hold_look(book, at)
    while (closed := closed_event(book, at)) is not None:
        book.append(closed)
        hold_look(book, at)


def hold_look(book: Book, at: int) -> None:
    """Hold the look that is due, if one is; a trial in which it cannot be computed is paused.

    Raises:
        BusyError: it has to wait for the next transaction.
    """
    look = due_look(book)
    if look is None or book.design.refused is not None:
        return
    event: Looked | Moved
    try:
        event = looked_event(book, look, at)
    except FailedPolicyError as error:
        event = Moved(at=at, by=BY, state="paused", reason=f"look {look + 1}: {error}")
    book.append(event)


def closed_event(book: Book, at: int) -> Closed | None:
    """The next windows that have closed by now: at most so many that a look is held when its outcomes are known.

    Where more are due than were loaded, only as many as an audit, which knows them all, would close together.
    """
    due, room = book.due(at), room_before_look(book)
    most = MOST_CLOSED if room is None else min(MOST_CLOSED, room)
    if not due or (book.horizon is not None and len(due) < most):
        return None
    return Closed(at=at, decisions=tuple(due[:most]))
