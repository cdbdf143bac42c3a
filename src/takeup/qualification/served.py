"""Operation qualification: the service on loopback, in a process of its own, that is asked, refused and killed."""

import http.client
import json
import os
import re
import sqlite3
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache, partial
from pathlib import Path
from textwrap import shorten
from typing import Any

from takeup import pipes
from takeup.errors import UnreachableError
from takeup.qualification.check import Check, Finding, Group, NotHereError
from takeup.qualification.needs import missing

SPEC: dict[str, Any] = {
    "name": "Served",
    "space": {"proposals": ["usual care", "new drug"], "outcomes": ["died", "lived"]},
    "policy": {"kind": "TS"},
}
WAIT_SECONDS = 300.0
AT_ONCE = 16


class Service:
    """`takeup serve` with a trial that runs, and keys of several kinds.

    Args:
        folder: where its database and its log are kept.
    """

    def __init__(self, folder: Path) -> None:
        if lacking := missing("server"):
            raise NotHereError(f"no service without {', '.join(lacking)}; pip install 'takeup[server]'")
        self.folder = folder
        self.process, self.port, self.admin = self._start()
        try:
            self.all = self.key("decide", "report", "read-unblinded", "design")
            self.blinded, self.reporter = self.key("decide", "report", "read-blinded"), self.key("report")
            self._made(self.ask("POST", "/trials?trial=served", self.all, SPEC))
            self._made(self.ask("PUT", "/trials/served/state", self.all, {"state": "running"}))
        except BaseException:
            self.kill()
            raise

    def _start(self) -> tuple["subprocess.Popen[bytes]", int, str]:
        out, database = self.folder / "service.out", self.folder / "served.db"
        command = [*pipes.running("takeup"), "serve", "--database", str(database), "--port", "0"]
        with out.open("wb") as written, (self.folder / "service.log").open("ab") as errors:
            environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
            process = subprocess.Popen(command, stdout=written, stderr=errors, env=environment)
        until = time.monotonic() + WAIT_SECONDS
        try:
            while (at := re.search(r"at http://127\.0\.0\.1:(\d+)", said := out.read_text(encoding="utf-8"))) is None:
                if process.poll() is not None or time.monotonic() > until:
                    raise UnreachableError(f"the service did not start; see {self.folder / 'service.log'}")
                time.sleep(0.02)
        except BaseException:
            process.kill()
            process.wait()
            raise
        key = re.search(r"takeup_\S+", said)
        return process, int(at[1]), key[0] if key else ""

    def ask(
        self, method: str, path: str, key: str | None = None, body: object = None, idempotency: str | None = None
    ) -> tuple[int, Any]:
        """One request: its status and what came."""
        headers = {"Content-Type": "application/json"}
        headers |= {} if key is None else {"Authorization": f"Bearer {key}"}
        headers |= {} if idempotency is None else {"Idempotency-Key": idempotency}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_SECONDS)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read() or b"null")
        finally:
            connection.close()

    def decide(self, key: str | None, unit: str, idempotency: str | None = None) -> tuple[int, Any]:
        """What to propose to a unit; asked again while the same key is on its way."""
        asked = partial(self.ask, "POST", "/trials/served/decisions", key, {"unit": unit}, idempotency)
        return asked() if idempotency is None else _settled(asked, 409)

    def key(self, *scopes: str) -> str:
        """A new key with these scopes."""
        made = self.ask("POST", "/keys", self.admin, {"name": "qualification", "scopes": list(scopes)})
        return str(self._made(made)["key"])

    def _made(self, answer: tuple[int, Any]) -> Any:
        """What an answer says, or an error where it was refused."""
        status, body = answer
        if status >= 400:
            raise UnreachableError(f"the service refused to be set up: {status} {json.dumps(body)}")
        return body

    def again(self, statement: str | None = None) -> None:
        """Kill it, do something to its database where that is said, and start another."""
        self.kill()
        if statement is not None:
            with closing(sqlite3.connect(self.folder / "served.db", isolation_level=None)) as connection:
                connection.execute(statement)
        self.process, self.port, _ = self._start()

    def kill(self) -> None:
        """End it without a warning."""
        self.process.kill()
        self.process.wait()


def _settled(asked: Callable[[], tuple[int, Any]], passing: int) -> tuple[int, Any]:
    """The answer, asked for again while it is one that passes by itself."""
    until = time.monotonic() + WAIT_SECONDS
    while (answer := asked())[0] == passing and time.monotonic() < until:
        time.sleep(0.02)
    return answer


def group(folder: Path) -> tuple[Group, Callable[[], None]]:
    """The checks of the service, and what ends it."""
    running: list[Service] = []

    @cache
    def service() -> Service:
        running.append(Service(folder))
        return running[0]

    checks = (
        Check(
            title="It starts, and a real write shows that it is ready",
            requirements=("R-9.2",),
            look=lambda: _ready(service()),
        ),
        Check(
            title="Nobody is let in without a valid key, nor beyond a key's scope",
            requirements=("R-4.1",),
            look=lambda: _let_in(service()),
        ),
        Check(
            title=f"One request {AT_ONCE} times at once under one key has one effect",
            requirements=("R-3.3",),
            look=lambda: _once(service()),
        ),
        Check(
            title="A blinded key is not told the arms of others, and the log says that it asked",
            requirements=("R-4.2",),
            look=lambda: _not_told(service()),
        ),
        Check(
            title="The service is killed and started again: what it acknowledged is there, and the audit passes",
            requirements=("R-3.1",),
            look=lambda: _killed(service()),
        ),
        Check(
            title="Control: somebody changes a count in its database, and it is audited over HTTP",
            requirements=("R-2.3",),
            look=lambda: _forged(service()),
            control=True,
        ),
    )

    def stop() -> None:
        for each in running:
            each.kill()

    return Group("The service", checks), stop


def _ready(service: Service) -> Finding:
    status, body = _settled(partial(service.ask, "GET", "/ready"), 503)
    return Finding("200", f"{status} {json.dumps(body)}", status == 200)


def _let_in(service: Service) -> Finding:
    asked = {
        "without a key": service.decide(None, "a")[0],
        "with a wrong one": service.decide("takeup_wrong", "a")[0],
        "with one that may report": service.decide(service.reporter, "a")[0],
        "with one that may decide": service.decide(service.all, "a")[0],
    }
    found = ", ".join(f"{who}: {status}" for who, status in asked.items())
    return Finding("401, 401, 403, 200", found, list(asked.values()) == [401, 401, 403, 200])


def _once(service: Service) -> Finding:
    before = service.ask("GET", "/trials/served/progress", service.all)[1]["decisions"]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        answers = list(threads.map(lambda _: service.decide(service.all, "once", "once"), range(AT_ONCE)))
    made = service.ask("GET", "/trials/served/progress", service.all)[1]["decisions"] - before
    different = len({json.dumps(body, sort_keys=True) for _, body in answers})
    right = {status for status, _ in answers} == {200} and (different, made) == (1, 1)
    return Finding("answers: 1, decisions: 1", f"answers: {different}, decisions: {made}", right)


def _not_told(service: Service) -> Finding:
    _, decided = service.decide(service.all, "of others")
    status, told = service.decide(service.blinded, "of others")
    events = service.ask("GET", "/trials/served/events?limit=1000", service.all)[1]["events"]
    refused = sum(each["kind"] == "refused" for each in events)
    arm = decided["proposal"] in json.dumps(told)
    found = f"{status}, {'with' if arm else 'without'} the arm; events that say so: {refused}"
    return Finding("an answer without the arm; events that say so: 1", found, not arm and refused == 1)


def _killed(service: Service) -> Finding:
    said = [service.decide(service.all, f"unit {i}", f"key {i}") for i in range(20)]
    service.again()
    again = [service.decide(service.all, f"unit {i}", f"key {i}") for i in range(20)]
    _, audit = service.ask("GET", "/trials/served/audit", service.all)
    same = sum(first == second for first, second in zip(said, again, strict=True))
    words = f"{same} of 20 answers the same, audit {'passed' if audit['passed'] else audit['where']}"
    return Finding("20 answers the same, audit passed", words, same == 20 and audit["passed"])


def _forged(service: Service) -> Finding:
    service.again("UPDATE evidence SET amount = amount + 1")
    _, audit = service.ask("GET", "/trials/served/audit", service.all)
    words = f"{audit['where']}: expected {audit['expected']}, found {audit['found']}"
    return Finding("a difference", shorten(words, 200), not audit["passed"])
