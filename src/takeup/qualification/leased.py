"""Operation qualification: decisions that clients draw from leases by themselves, taken in and audited."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from takeup.qualification.check import Check, Finding, Group
from takeup.trial.leases import Lease

if TYPE_CHECKING:
    from takeup.live import Trial

UNITS = 200
DRAWN = "c136aa6d80840232"
"""The beginning of the SHA-256 of what a lease with a key that is known gives to a thousand units."""


class LeasedTrial:
    """A trial in a folder that has given a lease, and rows that were drawn from it.

    Args:
        folder: where it is kept.
    """

    def __init__(self, folder: Path) -> None:
        from takeup.live import Trial
        from takeup.qualification.killed import SPEC

        self.database = folder / "leased.db"
        spec = {**SPEC, "name": "Leased", "edge": {"allowed": True, "seconds": 3600}}
        with Trial.create(self.database, spec) as trial:
            trial.start()
            self.lease = trial.lease(by="qualification")
        self.rows = [self._row(f"unit {i}", i % 2) for i in range(UNITS)]

    @contextmanager
    def open(self) -> Iterator["Trial"]:
        """The trial."""
        from takeup.live import Trial

        with Trial.open(self.database) as trial:
            yield trial

    def _row(self, unit: str, x: int) -> dict[str, Any]:
        lease = self.lease
        proposal = lease.proposals[lease.draw(unit, None, x)]
        where = {"unit": unit, "context": lease.contexts[x], "lease": lease.number}
        return {**where, "proposal": proposal, "drawn": lease.issued, "implemented": proposal, "outcome": "lived"}


def group(folder: Path) -> Group:
    """The checks of leases, of a trial that is kept in a folder."""

    @cache
    def trial() -> LeasedTrial:
        return LeasedTrial(folder)

    return Group(
        "Leases",
        (
            Check(
                title="What a lease gives to a unit is what it always was",
                requirements=("R-12.1",),
                look=_draws,
            ),
            Check(
                title="What was drawn from a lease and sent three times is in the log once, as it was drawn",
                requirements=("R-12.1", "R-12.6"),
                look=lambda: _once(trial()),
            ),
            Check(
                title="Control: proposals that the lease does not give, and a lease that nobody gave",
                requirements=("R-12.3",),
                look=lambda: _forged(trial()),
                control=True,
            ),
            Check(
                title="The audit derives the lease and every draw again",
                requirements=("R-12.1",),
                look=lambda: _audited(trial()),
            ),
        ),
    )


def _draws() -> Finding:
    lease = Lease(
        trial="known",
        number=1,
        spec="",
        version=0,
        issued=0,
        expires=1,
        most=1,
        key=bytes(range(32)).hex(),
        contexts=("all",),
        proposals=("a", "b", "c"),
        ends=((2**30, 3 * 2**30, 2**32),),
        many=False,
    )
    drawn = "".join(lease.proposals[lease.draw(f"unit {i}", None, 0)] for i in range(1_000))
    found = sha256(drawn.encode()).hexdigest()[: len(DRAWN)]
    return Finding(DRAWN, f"{found}; {', '.join(f'{each}: {drawn.count(each)}' for each in 'abc')}", found == DRAWN)


def _once(trial: LeasedTrial) -> Finding:
    from takeup.qualification.killed import logged, not_once

    with trial.open() as opened:
        first = opened.ingest("one", trial.rows)
        again, other = opened.ingest("one", trial.rows), opened.ingest("two", trial.rows)
        log = logged(opened)
    drawn = [("decided", i, str(row["unit"]), str(row["proposal"])) for i, row in enumerate(trial.rows, start=1)]
    wrong = not_once(drawn, log)
    said = "recorded: {}, stood already: {}, decisions: {}, lost or doubled: {}".format
    found, right = said(first.recorded, other.standing, log.total(), len(wrong)), said(UNITS, UNITS, UNITS, 0)
    return Finding(right, found, found == right and again == first)


def _forged(trial: LeasedTrial) -> Finding:
    first, second = trial.lease.proposals
    others = [
        {
            **row,
            "unit": f"forged {i}",
            "proposal": second if trial.lease.draw(f"forged {i}", None, i % 2) == 0 else first,
        }
        for i, row in enumerate(trial.rows)
    ]
    unknown = {**trial.rows[0], "unit": "forged", "lease": 2}
    with trial.open() as opened:
        taken = opened.ingest("forged", [*others, unknown])
        decisions = opened.progress().decisions
    found = f"set aside: {taken.set_aside}, decisions: {decisions}"
    right = f"set aside: {UNITS + 1}, decisions: {UNITS}"
    return Finding(right, found, found == right)


def _audited(trial: LeasedTrial) -> Finding:
    with trial.open() as opened:
        audit = opened.audit()
    found = f"{audit.difference or 'no difference'}; leases: {audit.leases}, drawn under them: {audit.leased}"
    right = f"no difference; leases: 1, drawn under them: {UNITS}"
    return Finding(right, found, audit.passed and found == right)
