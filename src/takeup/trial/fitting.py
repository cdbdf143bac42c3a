"""Fits of a policy's models to the decisions of a trial: when, from what, and what the log says of it.

A fit is a function of the multiset of decisions as an event of the log has left them. It is an event itself, so that
whoever decides later, or audits, has every number of it to the bit, however long it took to compute.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from takeup.checks import IntArray
from takeup.evidence import Event, Evidence
from takeup.policies.fitted import due_after, is_due
from takeup.policies.refitting import Refitting
from takeup.rows import Rows
from takeup.trial.book import Book, Record
from takeup.trial.commands import Needs
from takeup.trial.design import Design
from takeup.trial.events import Refitted
from takeup.trial.met import features_of_all
from takeup.trial.models import fits, fitted
from takeup.trial.software import software


def due(book: Book) -> bool:
    """Whether models are to be fitted: at the moments that simulations have, or as soon after as a transaction ends."""
    return fits(book.design) and book.state != "stopped" and wanted(book, now(book))


def now(book: Book) -> tuple[int, int]:
    """How many decisions there are, and how much is seen of them, as the policy counts it."""
    assert isinstance(book.design.policy, Refitting)  # `fits` has looked
    return book.decisions, int(book.design.policy.seen(Evidence(book.design.shown, book.shown)))


def wanted(book: Book, then: tuple[int, int]) -> bool:
    """Whether a fit to so much is more than what a book has."""
    return bool(is_due(then, _due(book)))


def _due(book: Book) -> tuple[int, int]:
    return (1, 1) if book.fit is None else book.fit.due


def rows_of(design: Design, cells: Sequence[Sequence[int] | IntArray], covariates: Iterable[str]) -> Rows:
    """Rows of the columns x, z, a and y, as far as they count; covariates are as they are kept."""
    space = design.shown
    assert space.covariates is not None  # `Carded.suits` has looked
    x, z, a, y = (np.asarray(each, dtype=np.int64) for each in cells)
    return Rows.gathered(space, Event(x, z, a, y, features=features_of_all(space.covariates, covariates)))


def rows_of_records(design: Design, records: Iterable[Record]) -> Rows:
    """The same of decisions."""
    found = list(records)
    cells = list(zip(*(each.cell for each in found), strict=True))
    return rows_of(design, cells, (each.covariates or "" for each in found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Refit:
    """Models that were fitted to a trial, for those who decide from now on.

    Attributes:
        spec: of the trial that they were fitted to, as canonical JSON.
        at: how many decisions there were, and how much was seen of them.
        known: the number of its last event.
        models: as `fitted` writes them.
    """

    spec: str
    at: tuple[int, int]
    known: int
    models: str
    needs: Needs = field(default=Needs(), init=False, repr=False)

    @classmethod
    def of(cls, book: Book, rows: Rows) -> "Refit":
        """A fit to these rows, which a book has after its last event."""
        models = fitted(book.design, rows)
        return cls(spec=book.design.text, at=now(book), known=book.sequence, models=models)

    def run(self, book: Book, at: int) -> bool:
        """Append them; whether they were still wanted: somebody else may have fitted meanwhile."""
        same = fits(book.design) and book.state != "stopped" and book.design.text == self.spec
        if not same or not wanted(book, self.at):
            return False
        book.append(refitted_event(book, self, at))
        return True


def refitted_event(book: Book, fit: Refit, at: int) -> Refitted:
    """What the log says of a fit."""
    decisions, seen = due_after(fit.at, _due(book))
    return Refitted(
        at=at,
        decisions=fit.at[0],
        due=(int(decisions), int(seen)),
        known=fit.known,
        models=fit.models,
        software=software(book.design),
    )
