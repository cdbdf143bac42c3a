"""Who was met in a trial with covariates: counted from its decisions as seldom as will do."""

from collections import OrderedDict
from collections.abc import Callable

from takeup.live.tally import Tally
from takeup.service.pages.render.planned import KEPT, due_again
from takeup.trial.book import Book


class Tallies:
    """The latest of each trial, in the process that renders; a long trial is counted again when it has grown."""

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[str, str], tuple[int, Tally]] = OrderedDict()

    def of(self, database: str, book: Book, count: Callable[[], Tally | None]) -> Tally | None:
        """The tally of a trial; None where it has no covariates.

        Args:
            database: where the trial is.
            book: the trial.
            count: counts who was met.
        """
        name = database, book.trial
        known = self._found.get(name)
        if known is not None and book.sequence < due_again(known[1].decisions, known[0]):
            self._found.move_to_end(name)
            return known[1]
        counted = count()
        if counted is not None:
            self._found[name] = book.sequence, counted
            self._found.move_to_end(name)
        while len(self._found) > KEPT:
            self._found.popitem(last=False)
        return counted
