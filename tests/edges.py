"""What the tests of edges share: a trial that gives leases, a service to ask, and what its log has in the end."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from serving import Served
from takeup.client import Client, Edge
from takeup.live import audit
from takeup.store import looking, reading

SPEC: dict[str, Any] = {
    "name": "At the edge",
    "space": {"proposals": ["rest", "drug"], "contexts": ["young", "old"]},
    "policy": {"kind": "TS"},
    "rehearsal": True,
    "seed": "5eed" * 16,
    "edge": {"allowed": True, "seconds": 600, "most": 1_000_000},
}
SCOPES = ("lease", "read-unblinded", "design", "decide", "report")


class Clock:
    """Nanoseconds that a test sets."""

    def __init__(self) -> None:
        self.now = 10**18

    def __call__(self) -> int:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += int(seconds * 1e9)


@contextmanager
def edge(url: str, key: str, trial: str, spool: Path, **options: Any) -> Iterator[Edge]:
    """An edge with a client of its own, that gives up soon."""
    with (
        Client(url, key, timeout=options.pop("timeout", 60.0)) as client,
        Edge(client, trial, spool=spool, **options) as made,
    ):
        yield made


def logged(database: str | Path, trial: str) -> dict[str, list[dict[str, Any]]]:
    """The events of a trial's log by kind."""
    found: dict[str, list[dict[str, Any]]] = {}
    with looking(database) as connection:
        for event in reading.log(connection, trial):
            found.setdefault(event.kind, []).append(json.loads(event.body))
    return found


def lost(database: str | Path, trial: str, acknowledged: dict[str, str]) -> list[str]:
    """What edges acknowledged, a proposal by unit, and is not in the log exactly once; and what an audit finds."""
    events = logged(database, trial)
    decided = [(each["unit"] + each.get("occasion", ""), each["proposal"]) for each in events.get("decided", ())]
    times, proposals = Counter(unit for unit, _ in decided), dict(decided)
    wrong = [f"{unit}: {times[unit]} times" for unit in acknowledged if times[unit] != 1]
    wrong += [
        f"{unit}: {proposals[unit]}, not {proposal}"
        for unit, proposal in acknowledged.items()
        if proposals.get(unit, proposal) != proposal
    ]
    wrong += [f"{unit} twice" for unit, many in times.items() if many > 1]
    with looking(database) as connection:
        found = audit(connection, trial)
    return wrong if found.passed else [*wrong, str(found.difference)]


def running(server: Served, key: str, name: str, **edge_table: Any) -> str:
    """A running trial of one's own."""
    spec = {**SPEC, "name": name, "edge": {**SPEC["edge"], **edge_table}}
    return server.trial(spec, key)
