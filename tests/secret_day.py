"""A day of a service with people, keys, trials and errors of every kind; and whether a secret is where none belongs."""

import base64
import http.client
import io
import json
import os
import re
import secrets
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote, urlencode

from fuzzing.furniture import FORM, SPEC
from serving import Served, served
from takeup.adapters.redcap.writing import write_csv
from takeup.cli import main
from takeup.client.spool import Spool
from takeup.key_files import new_key
from takeup.live import Anchors, Trial
from takeup.service import codes
from takeup.service.callers import SCOPES
from takeup.service.sessions import form_token
from takeup.store import looking, reading, sealing
from takeup.store.books import secret_of
from takeup.trial.formats import Format

COOKIE = re.compile(r"takeup=([\w-]+)")
PROCESSES = ("cmdline", "environ")


@dataclass
class Day:
    """What was secret, and all that was left behind.

    Attributes:
        folder: with the database, its files and whatever commands wrote.
        secret: what nobody may find, by what it is.
        left: where somebody could look, by what it is.
    """

    folder: Path
    secret: dict[str, str] = field(default_factory=dict)
    left: dict[str, bytes] = field(default_factory=dict)

    def found(self) -> list[str]:
        """Which secrets are where."""
        return [
            f"{name} is in {place}"
            for name, text in self.secret.items()
            for form in forms(text)
            for place, content in self.left.items()
            if form in content
        ]

    def open_to_others(self) -> list[str]:
        """Files that others than their owner may open; those that a shell would make, for logs, are not takeup's."""
        files = (file for file in self.folder.rglob("*") if file.is_file() and file.suffix not in (".log", ".out"))
        modes = {file.name: file.stat().st_mode & 0o777 for file in files}
        return [f"{name} has mode {mode:04o}" for name, mode in modes.items() if mode & 0o077]


def forms(text: str) -> set[bytes]:
    """A secret as it is, in hexadecimal digits, in base64, in an address; a seed also as a number and as bytes."""
    raw = text.encode()
    found = {raw, raw.hex().encode(), quote(text, safe="").encode(), *_base64(raw)}
    if re.fullmatch(r"[0-9a-f]{64}", text):
        whole = bytes.fromhex(text)
        found |= {str(int(text, 16)).encode(), whole, whole[::-1], text.upper().encode(), *_base64(whole)}
    return found


def _base64(raw: bytes) -> set[bytes]:
    return {code(raw).rstrip(b"=") for code in (base64.b64encode, base64.urlsafe_b64encode)}


@contextmanager
def surroundings(**variables: str) -> Iterator[None]:
    """A process in which everybody may read what it makes, with these variables for whatever it starts."""
    before, mask = dict(os.environ), os.umask(0)
    os.environ.pop(sealing.VARIABLE, None)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.umask(mask)
        os.environ.clear()
        os.environ.update(before)


def lived(folder: Path, *, seal: bool = True) -> Day:
    """A whole day, in a folder."""
    day, database = Day(folder), folder / "trials.db"
    new_key(folder / "anchors.key")
    new_key(folder / "seal.key")
    with surroundings(**({sealing.VARIABLE: str(folder / "seal.key")} if seal else {})):
        options = ("--anchors", str(folder / "anchors.jsonl"), "--anchor-key", str(folder / "anchors.key"))
        with served(database, folder, *options) as server:
            _Visit(day, server).all()
            _processes(day, server)
            _backup(day, database)
        _commands(day, database)
    for name in ("service.log", "anchors.jsonl"):
        day.left[name] = (folder / name).read_bytes()
    told = (folder / "service.out").read_text()
    day.left["standard output, but for the first key"] = told.replace(server.admin or "", "", 1).encode()
    for file in ("anchors.key", "seal.key"):
        day.secret[f"the key in {file}"] = (folder / file).read_text().strip()
    return day


def _processes(day: Day, server: Served) -> None:
    """What any user of the machine, or its owner, can list of the service and all that it has started."""
    parents = {server.process.pid}
    for each in sorted(Path("/proc").glob("[0-9]*"), key=lambda each: int(each.name)):
        with suppress(OSError):
            parent = int((each / "stat").read_text().rpartition(")")[2].split()[1])
            if parent in parents or int(each.name) in parents:
                parents.add(int(each.name))
                for name in PROCESSES:
                    day.left[f"{name} of process {len(parents)}"] = (each / name).read_bytes()


def _backup(day: Day, database: Path) -> None:
    """A copy as sqlite3 makes it, the file itself, its log, and the seeds that are in it."""
    copy = day.folder / "copy.db"
    copy.touch(mode=0o600)
    source, target = sqlite3.connect(database), sqlite3.connect(copy)
    source.backup(target)
    source.close()
    target.close()
    day.left["a backup"] = copy.read_bytes()
    for suffix in ("", "-wal"):
        file = Path(f"{database}{suffix}")
        day.left[f"the database's file{suffix}"] = file.read_bytes() if file.exists() else b""
    with looking(str(database)) as connection:
        for trial in ("t", "paused", "edge"):
            found = secret_of(reading.head(connection, trial))
            day.secret[f"the seed of {trial}"], day.secret[f"the salt of {trial}"] = found.seed, found.salt


def _commands(day: Day, database: Path) -> None:
    """What the commands say, and write."""
    folder, name = day.folder, str(database)
    anchored = ("--anchors", str(folder / "anchors.jsonl"), "--key", str(folder / "anchors.key"))
    for arguments in (
        ("doctor", name),
        ("audit", name, *anchored),
        ("keys", "list", "--database", name, "--json"),
        ("people", "list", "--database", name, "--json"),
        ("export", name, str(folder / "t.csv"), "--trial", "t"),
        ("export", name, str(folder / "t.parquet"), "--trial", "t"),
        ("export", name, "--trial", "t", "--cdisc", str(folder / "cdisc")),
        ("audit", "postgresql://me:hunter2-hunter2@127.0.0.1:1/t"),
        ("doctor", "postgresql://me:hunter2-hunter2@127.0.0.1:1/t"),
    ):
        day.left[f"what takeup {arguments[0]} {arguments[1][:4]} says"] = _said(arguments).encode()
    day.secret["a password in a URL"] = "hunter2-hunter2"
    for file in [*folder.glob("t.*"), *(folder / "cdisc").glob("*")]:
        day.left[f"the export {file.name}"] = file.read_bytes()


def _said(arguments: tuple[str, ...]) -> str:
    """What a command says, run here: to start another Python takes longer than most of them."""
    told, before = io.StringIO(), sys.argv
    sys.argv = ["takeup", *arguments]
    try:
        with redirect_stdout(told), redirect_stderr(told), suppress(SystemExit):
            main()
    finally:
        sys.argv = before
    assert told.getvalue(), f"takeup {' '.join(arguments)} says nothing"
    return told.getvalue()


class _Visit:
    """All that people and software do on that day."""

    def __init__(self, day: Day, server: Served) -> None:
        self.day, self.server, self.number = day, server, 0
        self.keys = {"admin": server.admin or ""}

    def all(self) -> None:
        self._software()
        self._people()
        self._mistakes()
        self.day.secret |= {f"the key {name}": text for name, text in self.keys.items()}

    def ask(self, method: str, path: str, body: Any = None, key: str = "", **headers: str) -> tuple[int, Any, str]:
        """Status, headers and body; errors are kept to be looked through."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=300)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        kind = {} if content is None else {"Content-Type": "application/json"}
        if key:
            sent["Authorization"] = f"Bearer {key}"
        connection.request(method, path, content, {**kind, **sent})
        reply = connection.getresponse()
        said = reply.read()
        connection.close()
        self.number += 1
        shown = [(name, value) for name, value in reply.getheaders() if name.lower() != "set-cookie"]
        own = re.search("keys|leases|invitation|people|account", path)  # these show what their reader asked them for
        if not own or (reply.status >= 400 and reply.status != 422):
            name = f"answer {reply.status} to request {self.number}, {method} {path[:20]}"
            self.day.left[name] = said + repr(shown).encode()
        return reply.status, reply.headers, said.decode("utf-8", "replace")

    def form(self, path: str, cookie: str, **fields: str) -> tuple[int, Any, str]:
        sent = urlencode({**fields, "form_token": form_token(cookie)}).encode()
        return self.ask("POST", path, sent, Cookie=f"takeup={cookie}", Content_Type=FORM)

    def _software(self) -> None:
        for name, scopes in {"all": SCOPES, "decide": ("decide",), "blinded": ("report", "read-blinded")}.items():
            made = {"name": name, "scopes": list(scopes)}
            self.keys[name] = json.loads(self.ask("POST", "/keys", made, self.keys["admin"])[2])["key"]
        for trial in ("t", "paused", "stopped"):
            self.ask("POST", f"/trials?trial={trial}", SPEC, self.keys["all"])
            self.ask("PUT", f"/trials/{trial}/state", {"state": "running"}, self.keys["all"])
        self.ask("POST", "/trials?trial=edge", {**SPEC, "edge": {"allowed": True}}, self.keys["all"])
        self.ask("PUT", "/trials/edge/state", {"state": "running"}, self.keys["all"])
        status, _, lent = self.ask("POST", "/trials/edge/leases", b"", self.keys["all"], Idempotency_Key="lent")
        assert status == 201, lent
        self.day.secret["the key of a lease"] = json.loads(lent)["key"]
        for i in range(12):
            asked = {"unit": f"u{i}", "context": i % 2}
            self.ask("POST", "/trials/t/decisions", asked, self.keys["decide"], Idempotency_Key=f"k{i}")
            told = {"unit": f"u{i}", "implemented": i % 3, "outcome": i % 2}
            self.ask("POST", "/trials/t/reports", told, self.keys["all"])
        for trial in ("paused", "stopped"):
            self.ask("PUT", f"/trials/{trial}/state", {"state": trial, "reason": "x"}, self.keys["all"])
        reads = ("", "/progress", "/summary", "/events", "/audit", "/export?format=jsonl", "/export?format=csv")
        for key in ("all", "blinded"):
            for what in reads:
                self.ask("GET", f"/trials/t{what}", key=self.keys[key])
        for path in ("/trials", "/health", "/ready", "/metrics", "/openapi.json"):
            self.ask("GET", path, key=self.keys["all"])

    def _people(self) -> None:
        self.day.secret["a password"] = password = f"four words and {secrets.token_hex(8)}"
        cookie = self._signed_in(key=self.keys["all"])
        invited = self.form("/app/people", cookie, **{"name": "Ada", "login": "ada@x.example", "role-clinician": "yes"})
        link = re.search(r"/app/invitation/([\w-]+)", invited[2])
        assert link is not None, invited
        self.day.secret["an invitation"] = link[1]
        guest = self._cookie(self.ask("GET", link[0])[1])
        self.form(link[0], guest, password="short", again="short")
        self.form(link[0], guest, password=password, again=password)
        self.form(link[0], guest, password=password, again=password)  # it was used
        self._signed_in(login="ada@x.example", password=f"{password}, but wrong", fails=True)
        ada = self._signed_in(login="ada@x.example", password=password)
        self.day.secret["the key of codes"] = secret = codes.new_secret()
        code = codes.code(secret, int(time.time()) // codes.SECONDS)
        self.form("/app/account/codes", ada, password=f"{password} no", secret="", code="123456")
        answer = self.form("/app/account/codes", ada, password=password, secret=secret, code=code)
        ada = self._cookie(answer[1]) or ada
        for path in ("/app", "/app/trials/t", "/app/trials/t/log", "/app/trials/t/worklist", "/app/trials/t/decide"):
            self.ask("GET", path, Cookie=f"takeup={ada}")
        for path in ("/app", "/app/trials/t", "/app/trials/t/log", "/app/trials/t/export?format=csv"):
            self.ask("GET", path, Cookie=f"takeup={cookie}")
        self.form("/app/account/password", ada, password="no", new=password, again=password)
        self._signed_in(login="ada@x.example", password=password, code="000000", fails=True)

    def _mistakes(self) -> None:
        all_, decide = self.keys["all"], self.keys["decide"]
        for wrong in (f"{decide[:-1]}!", f"{decide}x", decide[:-1]):
            self.ask("GET", "/trials", key=wrong)
            self._signed_in(key=wrong, fails=True)
        bodies = (b"{", b"\xff", b'{"unit": NaN}', b'{"unit": "a", "unit": "b"}', b"[" * 5_000, b'{"unit": 1e999}')
        for body in (*bodies, b'{"unit": "' + b"x" * 2_000_000 + b'"}'):
            with suppress(OSError):  # it may be refused before all of it was sent
                self.ask("POST", "/trials/t/decisions", body, decide)
        asked = {"unit": "u0", "context": 0}
        self.ask("POST", "/trials/t/decisions", asked, self.keys["blinded"])
        self.ask("POST", "/trials/t/decisions", asked, decide, Content_Type="text/plain")
        self.ask("POST", "/trials/t/decisions", {"unit": "u1", "context": 0}, decide, Idempotency_Key="k0")
        self.ask("POST", "/trials/paused/decisions", asked, decide)
        self.ask("GET", "/trials/nothing", key=all_)
        self.ask("GET", "/nowhere", key=all_)
        self.ask("PATCH", "/trials", key=all_)
        self.ask("PUT", "/trials/t/spec", SPEC, all_)
        self.ask("POST", "/trials?trial=s", {**SPEC, "seed": 7}, all_)
        self.ask("POST", "/trials?trial=s", {**SPEC, "policy": {"kind": "TSObs", "alpha": 1e-320}}, all_)
        self.ask("GET", "/health", X_Large="x" * 20_000)
        self.ask("POST", "/trials/t/reports", {"unit": "u0", "outcome": "no such"}, all_)

    def _signed_in(self, *, fails: bool = False, **fields: str) -> str:
        before = secrets.token_urlsafe(16)
        status, headers, _ = self.form("/app/sign-in", before, **fields)
        assert fails or status == 303, status
        found = self._cookie(headers)
        if not fails:
            self.day.secret[f"session {len(self.day.secret)}"] = found
        return found

    def _cookie(self, headers: Any) -> str:
        found = COOKIE.search(headers.get("set-cookie", ""))
        return "" if found is None else found[1]


def written(folder: Path) -> dict[str, int]:
    """The mode of every file that comes about where a trial lives, is exported and analysed, while it is open."""
    key = new_key(folder / "a.key")
    anchors = Anchors(folder / "anchors.jsonl", key)
    with Trial.create(folder / "trials.db", SPEC, witness=anchors) as trial:
        trial.start()
        for i in range(4):
            trial.report(trial.decide(f"u{i}", 0), implemented=i % 2, outcome=i // 2)
        for kind in get_args(Format):
            trial.export(folder / f"rows.{kind}")
        _said(("export", str(folder / "trials.db"), "--cdisc", str(folder / "cdisc")))
        _said(("analyse", str(folder / "trials.db"), "--out", str(folder / "found"), "--json"))
        write_csv([{"record_id": "1", "arm": "0"}], folder / "redcap.csv")
        Spool(folder / "spool", "t").close()
        return {str(file.relative_to(folder)): file.stat().st_mode & 0o777 for file in folder.rglob("*")}
