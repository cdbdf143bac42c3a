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
    hold_looks(book, at)
    while (closed := closed_event(book, at)) is not None:
        book.append(closed)
        hold_looks(book, at)


def hold_looks(book: Book, at: int) -> None:
    """Hold every look that is due; a trial in which one cannot be computed is paused, and then none is.

    More than one is due where outcomes became known while the trial was so paused: all of them see what is known now.

    Raises:
        BusyError: one has to wait for the next transaction; those before it were held.
    """
    while book.design.refused is None and (look := due_look(book)) is not None:
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
