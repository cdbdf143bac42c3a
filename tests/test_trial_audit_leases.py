"""The audit of a trial whose clients decide from leases: everything is derived again, and what is forged is found."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tampering
from takeup.live import Anchors, DatabaseAudit, audit, audit_database, new_key, read_anchors, read_key
from takeup.randomness import stream
from takeup.store import looking
from takeup.trial.design import canonical

Event = dict[str, Any]


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("leased")
    tampering.leased(folder / "victim.db", stream(3), Anchors(folder / "anchors", new_key(folder / "key")))
    return folder / "victim.db"


def findings(path: Path, folder: Path) -> DatabaseAudit:
    anchors = read_anchors(folder / "anchors", read_key(folder / "key"))
    with looking(path) as connection:
        return audit_database(connection, anchors, at_rest=True)


def test_an_honest_log_passes(victim: Path) -> None:
    whole = findings(victim, victim.parent)
    assert whole.passed, whole
    (found,) = whole.audits
    assert (found.leases, found.leases_other_software, found.leased) == (3, 0, 12)
    assert (found.decisions, found.rederived, found.fallbacks) == (13, 13, 0)


@pytest.mark.parametrize("many", [50, pytest.param(100, marks=pytest.mark.long)])
def test_every_tampering_is_found(victim: Path, tmp_path: Path, many: int) -> None:
    """Those that there are for other trials."""
    for i in range(many):
        path = tampering.copied(victim, tmp_path / "forged.db")
        forger = tampering.Forger(path, stream(7, i))
        done = forger.tamper()
        forger.close()
        assert not findings(path, victim.parent).passed, done
        for leftover in tmp_path.glob("forged.db*"):
            leftover.unlink()


def _first(events: list[Event], kind: str, **having: Any) -> Event:
    return next(e for e in events if e["kind"] == kind and all(e.get(name) == value for name, value in having.items()))


def _other_proposal(events: list[Event]) -> None:
    event = _first(events, "decided", lease=1)
    event["proposal"] = {"rest": "drug", "drug": "rest"}[event["proposal"]]


def _other_vector(events: list[Event]) -> None:
    event = _first(events, "decided", lease=1)
    event["probability"] = [0.25, 0.75]


def _vector_of_a_lease(events: list[Event]) -> None:
    event = _first(events, "leased", lease=3)
    event["probability"] = [[0.25, 0.75], [0.25, 0.75]]


def _vector_everywhere(events: list[Event]) -> None:
    """The lease and all that was drawn under it, by whoever knows no key."""
    _first(events, "leased", lease=1)["probability"] = [[0.75, 0.25], [0.75, 0.25]]
    for event in events:
        if event["kind"] == "decided" and event.get("lease") == 1:
            event["probability"] = [0.75, 0.25]


def _other_lease(events: list[Event]) -> None:
    _first(events, "decided", unit="unit 0")["lease"] = 2


def _expiry(events: list[Event]) -> None:
    _first(events, "leased", lease=1)["expires"] += 1


def _more(events: list[Event]) -> None:
    _first(events, "leased", lease=1)["most"] += 1


def _later(events: list[Event]) -> None:
    event = _first(events, "decided", lease=1)
    event["drawn"] += 40_000_000


def _another_unit(events: list[Event]) -> None:
    _first(events, "decided", unit="unit 4")["unit"] = "unit 40"


def _version(events: list[Event]) -> None:
    _first(events, "decided", lease=2)["version"] += 1


def _not_set_aside(events: list[Event]) -> None:
    """What was refused becomes a decision."""
    aside = _first(events, "set aside", unit="new", lease=2)
    before = _first(events, "decided", lease=2, context=aside["context"])
    place = events.index(aside)
    events[place] = {**before, "at": aside["at"], "due": aside["at"] + 60_000_000, "unit": "new", "number": 13}
    del events[place]["by"]


def _why(events: list[Event]) -> None:
    _first(events, "set aside", lease=9)["reason"] = "nobody liked it"


def _no_revocation(events: list[Event]) -> None:
    events.remove(_first(events, "revoked"))


def _early_revocation(events: list[Event]) -> None:
    """Before what was drawn under it: that could not have been recorded."""
    event = _first(events, "revoked")
    events.remove(event)
    place = events.index(_first(events, "leased", lease=2)) + 1
    events.insert(place, {**event, "at": events[place - 1]["at"]})


def _counts_of_a_batch(events: list[Event]) -> None:
    _first(events, "taken in", batch="first")["recorded"] -= 1


def _outcome_without_a_lease(events: list[Event]) -> None:
    event = _first(events, "decided", unit="asked")
    event["outcome"] = "1"


def _end_of_a_batch(events: list[Event]) -> None:
    events.remove(_first(events, "taken in", batch="second"))


FORGERIES = [
    _other_proposal,
    _other_vector,
    _vector_of_a_lease,
    _vector_everywhere,
    _other_lease,
    _expiry,
    _more,
    _later,
    _another_unit,
    _version,
    _not_set_aside,
    _why,
    _no_revocation,
    _early_revocation,
    _counts_of_a_batch,
    _outcome_without_a_lease,
    _end_of_a_batch,
]


BY_TABLES = (_another_unit, _other_lease, _end_of_a_batch)
"""What can have happened so by chance, as another unit or lease may have the same draw, and is no event of its own."""


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda each: each.__name__.strip("_"))
@pytest.mark.requirement("R-12.1")
def test_a_forgery_that_fits_the_chain_is_found_without_anchors(
    victim: Path, tmp_path: Path, forge: Callable[[list[Event]], None]
) -> None:
    """The log is rewritten with a valid chain, and the audit has no anchors: what is wrong is what it says."""
    path = tampering.copied(victim, tmp_path / "forged.db")
    forger = tampering.Forger(path, stream(1))
    with forger.unlocked(True):
        events = [json.loads(body) for body in forger.bodies()]
        forge(events)
        forger.write_log([canonical(event) for event in events])
    forger.close()
    with looking(path) as connection:
        found = audit(connection, "victim")
    assert found.difference is not None
    assert found.difference.where.startswith("event") or forge in BY_TABLES, found.difference


def test_more_decisions_than_a_lease_allows_are_found(victim: Path, tmp_path: Path) -> None:
    """A forger who knows the seed adds true draws beyond `most`."""
    path = tampering.copied(victim, tmp_path / "forged.db")
    forger = tampering.Forger(path, stream(1))
    with forger.unlocked(True):
        events = [json.loads(body) for body in forger.bodies()]
        closing = events.index(_first(events, "taken in", batch="first"))
        book = forger.book([canonical(event) for event in events[:closing]])
        held = book.leases[1]
        for i in range(3):  # six are there, and eight are allowed
            z = held.lease.draw(f"more {i}", None, 0)
            before = _first(events, "decided", unit="unit 0")
            unit = {"unit": f"more {i}", "number": 13 + i, "proposal": held.lease.proposals[z]}
            events.insert(closing + i, {**before, **unit})
        events[closing + 3]["recorded"] += 3
        forger.write_log([canonical(event) for event in events])
    forger.close()
    with looking(path) as connection:
        found = audit(connection, "victim")
    assert found.difference is not None
    assert found.difference.where == f"event {closing + 3}"
    assert "as many decisions as the lease allows" in found.difference.expected


def test_another_key_is_found(victim: Path, tmp_path: Path) -> None:
    """Whoever swaps the seed gets other keys, and other draws."""
    path = tampering.copied(victim, tmp_path / "forged.db")
    forger = tampering.Forger(path, stream(1))
    with forger.unlocked(True):
        forger.do_change_the_secret()
    forger.close()
    with looking(path) as connection:
        assert not audit(connection, "victim").passed
