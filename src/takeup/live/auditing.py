"""The audit: everything that a database says about a trial, derived again from its log."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from sqlalchemy import Connection

from takeup.live.anchors import Anchor
from takeup.live.replaying import Difference, Replay, Shape
from takeup.store import reading
from takeup.store.indexes import disagreements
from takeup.store.shape import ALONE, oddities
from takeup.trial.proposal import forget


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found.

    Attributes:
        trial: the trial's identifier.
        difference: the first difference; None where all is as it should be.
        events: how many events were read.
        decisions: how many of them are decisions.
        rederived: decisions that were derived again, with their probabilities, and came out the same.
        other_software: decisions that another version made and this one would have made otherwise, or not at all, by
            version: whether they can be true is checked.
        fallbacks: decisions that clients drew by themselves.
        past: assignments from before the trial came to takeup, which nothing can derive again.
        looks: planned looks that were held, and derived again.
        looks_other_software: how many of them another version judged otherwise than this one does.
        refits: how often a policy's models were fitted, and derived again.
        refits_other_software: how many of them another version computed otherwise than this one does.
        leases: how many leases were given, and derived again.
        leases_other_software: how many of them another version computed otherwise than this one does.
        leased: how many decisions clients drew under leases; each is derived again from the seed and the lease.
        anchors: how many signed anchors were compared; None where none were given, so that a log whose end was cut
            off would not be noticed.
        unanchored: how many events follow the last anchor; None where none were given.
        fallbacks_by: how many of the fallbacks each of those who recorded them did.
        seeded: whether somebody chose the seed, so that they could foresee every proposal; None where the log does not
            say, as version 0.1 did not.
    """

    trial: str
    difference: Difference | None
    events: int
    decisions: int
    rederived: int
    other_software: dict[str, int]
    fallbacks: int
    anchors: int | None
    unanchored: int | None
    looks: int = 0
    looks_other_software: int = 0
    fallbacks_by: dict[str, int] = field(default_factory=dict)
    seeded: bool | None = None
    past: int = 0
    refits: int = 0
    refits_other_software: int = 0
    leases: int = 0
    leases_other_software: int = 0
    leased: int = 0

    @property
    def passed(self) -> bool:
        """Whether no difference was found."""
        return self.difference is None


@dataclass(frozen=True, slots=True)
class DatabaseAudit:
    """What an audit of a whole database found.

    Attributes:
        difference: the first that is about no single trial; None where all is as it should be.
        audits: of every trial.
    """

    difference: Difference | None
    audits: tuple[Audit, ...]

    @property
    def passed(self) -> bool:
        """Whether no difference was found, in any trial or beside them."""
        return self.difference is None and all(each.passed for each in self.audits)


def audit(
    connection: Connection, trial: str, anchors: Sequence[Anchor] | None = None, *, at_rest: bool = False
) -> Audit:
    """Audit a trial, in one consistent state of its database.

    Args:
        connection: to the database, in a transaction.
        trial: the trial's identifier.
        anchors: signed anchors, of this and of other trials.
        at_rest: that nothing writes to the log, so that its last event must be anchored: events that somebody added
            without the key are then a difference.

    Raises:
        NotFoundError: there is no such trial, and no anchor says that there was.
    """
    return _audit(connection, trial, anchors, at_rest, _shape(connection))


def _audit(connection: Connection, trial: str, anchors: Sequence[Anchor] | None, at_rest: bool, shape: Shape) -> Audit:
    forget()
    own = None if anchors is None else [anchor for anchor in anchors if anchor.trial == trial]
    replay = Replay(connection, trial, own, at_rest, shape)
    with closing(replay.differences()) as differences:
        difference = next(differences, None)
    return Audit(
        trial,
        difference,
        replay.events,
        sum(replay.other.values()) + replay.rederived + replay.fallbacks + replay.past,
        replay.rederived,
        dict(replay.other),
        replay.fallbacks,
        None if own is None else len(own),
        None if own is None else max(0, replay.events - max((anchor.sequence for anchor in own), default=0)),
        replay.looks,
        replay.other_looks,
        {} if replay.book is None else {by: sum(each.proposals) for by, each in replay.book.draws.items()},
        replay.seeded,
        replay.past,
        replay.refits,
        replay.other_refits,
        replay.leases,
        replay.other_leases,
        replay.leased,
    )


def audit_database(
    connection: Connection, anchors: Sequence[Anchor] | None = None, *, at_rest: bool = False
) -> DatabaseAudit:
    """Audit every trial, and what no trial shows: trials that are gone, and rows and tables that belong to none.

    Args:
        connection: to the database, in a transaction.
        anchors: signed anchors of its trials, and of no others: a trial that is anchored must be there.
        at_rest: as `audit` takes it.
    """
    names = reading.identifiers(connection)
    shape = _shape(connection)
    audits = tuple(_audit(connection, name, anchors, at_rest, shape) for name in names)
    return DatabaseAudit(next(_beside(connection, {anchor.trial for anchor in anchors or ()}, shape), None), audits)


def _beside(connection: Connection, anchored: set[str], shape: Shape) -> Iterator[Difference]:
    """What is wrong and is no single trial's."""
    yield from (*shape.ours, *shape.extra)
    for trial in sorted(anchored - set(reading.identifiers(connection))):
        yield Difference(f"trial {trial}", "a trial, as its events are anchored", "nothing")
    for table, trial in reading.unknown(connection):
        yield Difference(f"the table {table}", "no rows of a trial that there is none of", f"rows of {trial!r}")


def _shape(connection: Connection) -> Shape:
    """Once an audit: to compare the indexes, all of the database is read."""
    odd = [*disagreements(connection), *oddities(connection)]
    return Shape(
        [Difference(*each) for each in odd if each.expected != ALONE],
        [Difference(*each) for each in odd if each.expected == ALONE],
    )
