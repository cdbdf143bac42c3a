"""What the tests of edges share: a trial that gives leases, a service to ask, and what its log has in the end."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from http.client import HTTPMessage
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from serving import Served
from takeup.client import Client, Edge
from takeup.client.transport import HttpAnswer
from takeup.errors import UnreachableError
from takeup.live import Trial, audit
from takeup.service.edge_bodies import read_batch
from takeup.store import looking, reading
from takeup.trial.ingesting import Batch

SPEC: dict[str, Any] = {
    "name": "At the edge",
    "space": {"proposals": ["rest", "drug"], "contexts": ["young", "old"]},
    "policy": {"kind": "TS"},
    "rehearsal": True,
    "seed": "5eed" * 16,
    "edge": {"allowed": True, "seconds": 600, "most": 1_000_000},
}
LONGEST = 300.0
SCOPES = ("lease", "read-unblinded", "design", "decide", "report")


class Clock:
    """Nanoseconds that a test sets."""

    def __init__(self) -> None:
        self.now = 10**18

    def __call__(self) -> int:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += int(seconds * 1e9)


class Nearby:
    """A client of a service that is a trial in this process, which can be away."""

    timeout = 5.0

    def __init__(self, **edge_table: Any) -> None:
        self.spec = {**SPEC, "edge": {**SPEC["edge"], **edge_table}}
        self.trial = Trial.create("sqlite://", self.spec)
        self.trial.start()
        self.away = False
        self.leases = 0

    def call(self, method: str, *_: object, key: str | None = None, **__: object) -> Any:
        if self.away:
            raise UnreachableError("away")
        if method == "GET":
            return {"spec": {name: value for name, value in self.spec.items() if name != "seed"}}
        self.leases += 1
        return json.loads(json.dumps(self.trial.lease(key=key).plain()))

    def raw(self, _: str, path: str, body: bytes, *, media: str, **__: object) -> HttpAnswer:
        if self.away:
            raise UnreachableError("away")
        trial, sent = self.trial, Batch(parse_qs(urlsplit(path).query)["batch"][0], read_batch(media, body))
        found = trial.store.read(lambda connection: sent.begun(reading.answers(connection, trial.id, sent.keys)))
        while found.taken < found.rows:
            found = found.plus(trial.submit(sent.chunk(found.taken)).result())
        said = {
            **asdict(found),
            "refused": [{"row": row, "why": why} for row, why in found.refused],
            "lapsed": [each._asdict() for each in found.lapsed],
            "later": 1,
        }
        return HttpAnswer(200, HTTPMessage(), json.dumps(said).encode())

    def edge(self, spool: Path, **options: Any) -> Edge:
        """An edge that sends when it is told to, where nothing else is said."""
        client: Any = self
        return Edge(client, self.trial.id, spool=spool, **{"seconds": 1e9, **options})

    def outcomes(self) -> dict[str, Any]:
        """The outcomes that the log has of each unit's decision, by what was decided and reported."""
        units: dict[int, str] = {}
        found: dict[str, Any] = {}
        for event in self.trial.events(limit=10_000):
            said = json.loads(event.body)
            if event.kind == "decided":
                units[said["number"]] = said["unit"]
            unit = units.get(said.get("number", said.get("decision")))
            if event.kind in ("decided", "reported") and unit is not None and "outcome" in said:
                found[unit] = said["outcome"]
        return found


def until(true: Callable[[], bool]) -> None:
    """Wait for another thread, as long as any machine takes."""
    pause, last = threading.Event(), time.monotonic() + LONGEST
    while not true():
        assert time.monotonic() < last, f"not within {LONGEST:g} seconds"
        pause.wait(0.01)


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
