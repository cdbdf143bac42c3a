"""Requests that are nearly right: a good one for every operation, and ways to spoil body, path and headers."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

from fuzzing import covariates, wire
from fuzzing.furniture import COVARIATES, FORM, NOBODY, SPEC, Furniture
from fuzzing.specs import near
from fuzzing.values import LETTERS, ODD, Dice, as_json, as_toml, hostile_value, mangled, spoiled
from page_visitor import TRY, choose
from takeup.service.sessions import form_token

MARK = "MARK"
"""Stands for a text that no other case has."""
BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", "/trials/{trial}/decisions"): {
        "unit": MARK,
        "context": "morning",
        "occasion": None,
        "covariates": None,
    },
    ("POST", "/trials/{trial}/decisions/batch"): {"units": [{"unit": MARK, "context": "morning"}]},
    ("POST", "/trials/{trial}/fallbacks"): {"unit": MARK, "context": 1, "proposal": "tea", "covariates": None},
    ("POST", "/trials/{trial}/reports"): {
        "unit": "a",
        "implemented": "tea",
        "outcome": "good",
        "reason": "x",
        "covariates": None,
    },
    ("POST", "/trials/{trial}/reports/batch"): {
        "reports": [
            {"unit": "a", "outcome": 1, "reason": "x"},
            {"decision": 1, "missing": ["implemented"], "reason": "y"},
        ]
    },
    ("POST", "/trials/{trial}/past"): {
        "past": [
            {"unit": MARK, "context": "morning", "proposal": "tea", "implemented": "tea", "outcome": 1, "decided": 5},
            {"unit": "b", "context": 1, "proposal": "coffee", "probability": [0.5, 0.25, 0.25]},
        ]
    },
    ("POST", "/trials/{trial}/leases"): {},
    ("POST", "/trials/{trial}/ingest"): {
        "unit": MARK,
        "context": "morning",
        "proposal": "tea",
        "lease": 1,
        "drawn": 5,
        "implemented": "tea",
        "outcome": "good",
        "missing": None,
    },
    ("PUT", "/trials/{trial}/state"): {"state": "paused", "reason": "x"},
    ("PUT", "/trials/{trial}/spec"): {
        **SPEC,
        "limits": {"floor": 0.1},
        "fallback": {"tea": 0.5, "coffee": 0.25, "water": 0.25},
    },
    ("POST", "/trials"): {**SPEC, "name": MARK, "description": "x"},
    ("POST", "/keys"): {"name": MARK, "scopes": ["decide"], "trials": ["t"]},
}
"""A good body for each operation that takes one."""
READS: dict[tuple[str, str], dict[str, str]] = {
    ("GET", "/trials"): {},
    ("GET", "/trials/{trial}"): {},
    ("GET", "/trials/{trial}/progress"): {},
    ("GET", "/trials/{trial}/summary"): {},
    ("GET", "/trials/{trial}/course"): {},
    ("GET", "/trials/{trial}/learnt"): {},
    ("GET", "/trials/{trial}/events"): {
        "after": "0",
        "limit": "5",
        "decision": "1",
        "kind": "decided",
        "backwards": "true",
    },
    ("GET", "/trials/{trial}/export"): {"format": "csv"},
    ("GET", "/trials/{trial}/audit"): {},
    ("DELETE", "/trials/{trial}/leases/{number}"): {"reason": "x"},
    ("GET", "/keys"): {},
    ("DELETE", "/keys/{id}"): {},
    ("GET", "/health"): {},
    ("GET", "/ready"): {},
    ("GET", "/metrics"): {},
}
"""The operations that take no body, with good queries."""
PAGES: dict[str, dict[str, str]] = {
    "/": {},
    "/app": {},
    "/app/sign-in": {"next": "/app/new"},
    "/app/new": {"by": "paste"},
    "/app/new/{id}": {},
    "/app/try": {"measured": "days"},
    "/app/static/{id}": {},
    "/app/people": {},
    "/app/people/{id}": {},
    "/app/keys": {},
    "/app/account": {},
    "/app/invitation/{id}": {},
    "/app/trials/{trial}/unblind": {},
    "/app/trials/{trial}": {},
    "/app/trials/{trial}/analysis": {},
    "/app/trials/{trial}/dashboard": {"after": "1"},
    "/app/trials/{trial}/edit": {},
    "/app/trials/{trial}/decide": {"unit": "a", "context": "0"},
    "/app/trials/{trial}/report": {"unit": "a", "decision": "1"},
    "/app/trials/{trial}/worklist": {"find": "a", "unit": "a", "occasion": "", "late": "1", "after": "2", "told": "1"},
    "/app/trials/{trial}/worklist.csv": {},
    "/app/trials/{trial}/log": {"kind": "decided", "decision": "1", "unit": "a", "before": "9", "after": "1"},
    "/app/trials/{trial}/export": {"format": "csv"},
    "/app/trials/{trial}/cdisc": {},
    "/app/trials/{trial}/past": {},
    "/openapi.json": {},
}
FORMS: dict[str, dict[str, str]] = {
    "/app/sign-in": {"key": NOBODY, "next": "/app/trials/t"},
    "/app/sign-out": {},
    "/app/sign-out-everywhere": {},
    "/app/people": {"name": MARK, "login": "a@b.c", "role-observer": "yes", "trials": "nowhere", "site": "x"},
    "/app/people/{id}": {"do": "rights", "role-observer": "yes", "trials": "nowhere", "site": "x"},
    "/app/keys": {"name": MARK, "trials": "nowhere", "site": "x"},
    "/app/keys/{id}/revoke": {},
    "/app/account/password": {"password": "x", "new": MARK, "again": MARK},
    "/app/account/codes": {"password": "x", "secret": "A" * 32, "code": "123456"},
    "/app/invitation/{id}": {"password": MARK, "again": MARK},
    "/app/trials/{trial}/unblind": {"password": "x"},
    "/app/new": {**choose(name=MARK, contexts="young\nold", window="90 days", probability_best="95"), "do": "save"},
    "/app/trials/draft/edit": {**choose(name=MARK, floor="5", maximum="100"), "do": "save"},
    "/app/trials/t/decide": {"unit": MARK, "context": "morning", "occasion": "", "key": MARK},
    "/app/trials/t/report": {
        "unit": "a",
        "implemented": "0",
        "outcome": "1",
        "reason": "x",
        "key": MARK,
        "back": "worklist",
    },
    "/app/trials/clinic/decide": {
        "unit": MARK,
        "context": "morning",
        "key": MARK,
        "covariate-0": "50",
        "covariate-1": "120",
        "covariate-2": "1",
    },
    "/app/trials/clinic/report": {
        "unit": "a",
        "implemented": "0",
        "outcome": "1",
        "reason": "x",
        "key": MARK,
        "covariate-0": "51",
    },
    "/app/trials/moved/state": {"state": "paused", "reason": "x", "sure": "no"},
    "/app/trials/{trial}/audit": {},
    "/app/trials/draft/analysis": {},
    "/app/trials/draft/past": {"table": "unit,proposal\na,0", "column-unit": "unit", "do": "look", "key": MARK},
    "/app/try": {**TRY, "measured": "well", "policy": "TS", "compliance": "always", "do": "none"},
}
"""A good form for each page that takes one; none of them starts a simulation, and a draft has nothing to analyse."""
TRIALS = ("t", "t", "t", "clinic", "clinic", "many", "paused", "stopped", "draft")
KINDS = (
    "application/json",
    "application/json; charset=utf-8",
    "application/toml",
    FORM,
    "text/plain",
    "",
    "*/*",
    "a/b;c=",
)
BATCH_KINDS = ("application/x-ndjson", "application/x-ndjson", "application/vnd.apache.arrow.stream")
SIMULATED = 0.03
"""How many of the forms that may start a simulation do; each takes a processor for seconds."""
MOST_BODY, MOST_BATCH = 1_000_000, 8_000_000


def bodies(dice: Dice, furniture: Furniture, mark: str) -> bytes:
    """A body with one value spoiled; or as it should be, which is what the others differ from."""
    method, path, body = _operation(dice, mark)
    given = body if dice.chance(0.2) else spoiled(dice, body)
    return _sent(dice, furniture, mark, method, path, as_json(given))


def text(dice: Dice, furniture: Furniture, mark: str) -> bytes:
    """A body whose bytes are spoiled, or whose headers say something else about it."""
    method, path, body = _operation(dice, mark)
    toml = "spec" in path or (path == "/trials" and dice.chance(0.5))
    raw = as_toml(body) if toml else as_json(body)
    headers = {"Content-Type": "application/toml" if toml else "application/json"}
    if dice.chance(0.25):
        headers["Content-Type"] = dice.pick(KINDS)
    else:
        raw = mangled(dice, raw)
    return _sent(dice, furniture, mark, method, path, raw, headers)


def paths(dice: Dice, furniture: Furniture, mark: str) -> bytes:
    """Reading, with odd names in the path and odd values in the query."""
    if dice.chance(0.3):
        page, query = dice.pick(list(PAGES.items()))
        headers = {"Cookie": f"takeup={furniture.cookie(dice.pick(('all', 'all', 'read', 'design', 'site', NOBODY)))}"}
        return wire.request("GET", _path(dice, page) + _query(dice, query), {**headers, "X-Request-ID": mark})
    (method, path), query = dice.pick(list(READS.items()))
    key = dice.pick(("all", "all", "all", "read", "report", "site", "decide", NOBODY))
    headers = {"Authorization": f"Bearer {furniture.key(key)}", "X-Request-ID": mark}
    return wire.request(method, _path(dice, path) + _query(dice, query), headers)


def forms(dice: Dice, furniture: Furniture, mark: str) -> bytes:
    """What a page sends, with some fields spoiled; a spec that is pasted; a form of somebody else."""
    path, good = dice.pick(list(FORMS.items()))
    fields: dict[str, Any] = {name: value.replace(MARK, mark) for name, value in good.items()}
    if path == "/app/new" and dice.chance(0.4):
        given = near(dice)
        written = (as_json(given) if dice.chance(0.6) else as_toml(given)).decode("utf-8", "replace")
        fields = {"by": "paste", "text": written, "do": "rehearse" if dice.chance(SIMULATED) else "save"}
    elif fields and dice.chance(0.85):
        for _ in range(dice.whole(1, 2)):
            fields[dice.pick(list(fields))] = _typed(dice)
    if path == "/app/try" and dice.chance(SIMULATED):
        fields["do"] = "100"
    cookie = furniture.cookie("leaving" if "sign-out" in path else dice.pick(("all", "all", "all", "design", "site")))
    fields["form_token"] = form_token(cookie) if dice.chance(0.95) else dice.pick(LETTERS)
    raw = urlencode(fields, errors="replace").encode()
    if dice.chance(0.1):
        raw = mangled(dice, raw)
    kind = FORM if dice.chance(0.97) else dice.pick(KINDS)
    headers = {"Cookie": f"takeup={cookie}", "Content-Type": kind, "X-Request-ID": mark}
    return wire.request("POST", _path(dice, path, odd=0.02), headers, raw)


def large(dice: Dice, furniture: Furniture, mark: str) -> bytes:
    """As much as is allowed, and a little more, of something that is dear to read."""
    if dice.chance(0.25):
        kind = {"Content-Type": "application/toml"}
        return _sent(dice, furniture, mark, "POST", "/trials", dice.pick(TOMLS)(dice.size(10_000, MOST_BODY)), kind)
    if dice.chance(0.75):
        path = f"/trials/t/{dice.pick(('decisions', 'reports'))}"
        body = dice.pick(JSONS)(dice.size(10_000, MOST_BODY + 20_000))
        return _sent(dice, furniture, mark, "POST", path, body)
    size = dice.size(10_000, MOST_BATCH + 20_000)
    body = dice.pick(BATCHES)(size) if dice.chance(0.7) else as_json(_units(mark, dice.size(100, 10_500)))
    return _sent(dice, furniture, mark, "POST", "/trials/t/decisions/batch", body)


def _units(mark: str, count: int) -> dict[str, Any]:
    return {"units": [{"unit": f"{mark} {i}", "context": "morning"} for i in range(count)]}


def _many(size: int, part: Callable[[int], bytes]) -> bytes:
    """Numbered parts, as many as have this size."""
    return b"".join(part(i) for i in range(size // len(part(99_999))))


JSONS: tuple[Callable[[int], bytes], ...] = (
    lambda size: b'{"unit": "' + b"x" * size + b'"}',
    lambda size: b'{"unit": "a"' + _many(size, lambda i: b', "k%d": 1' % (i // 2)) + b"}",
    lambda size: b'{"unit": "a"' + b', "a": {"a": 1, "a": 1}' * (size // 24) + b"}",
    lambda size: b'{"unit": ' + b"[" * (size // 2) + b"]" * (size // 2) + b"}",
    lambda size: b'{"unit": [' + b"[]," * (size // 3) + b"[]]}",
    lambda size: b'{"unit": "' + b"\\ud83d\\ude00\\u0041" * (size // 18) + b'"}',
    lambda size: b'{"unit": [' + b"1e5," * (size // 4) + b"1" * 99 + b"]}",
    lambda size: b'{"unit": ' + b"1" * size + b"}",
    lambda size: b'{"unit": "a", "' + b"\\" * size + b'": 1}',
)
"""Bodies of about this size that are dear to read."""
BATCHES: tuple[Callable[[int], bytes], ...] = (
    lambda size: b'{"units": [' + b'{"unit": "a", "context": 7, "x": [1]}, ' * (size // 40) + b"1]}",
    lambda size: b'{"units": [' + b"{}," * (size // 3) + b"1]}",
    lambda size: b'{"units": [' + b'{"unit": "", "unit": ""}, ' * (size // 26) + b"1]}",
)
TOMLS: tuple[Callable[[int], bytes], ...] = (
    lambda size: b".".join([b"a"] * (size // 2)) + b" = 1",
    lambda size: b"[" + b".".join([b"a"] * (size // 2)) + b"]",
    lambda size: _many(size, lambda i: b"a.b%d = 1\n" % i),
    lambda size: _many(size, lambda i: b"[a.b%d]\n" % i),
    lambda size: b"[[a]]\n" * (size // 6),
    lambda size: b"a = [" + b"{}," * (size // 3) + b"]",
    lambda size: b"a = " + b"[" * (size // 2) + b"]" * (size // 2),
    lambda size: b'a = """' + b"\\\n  " * (size // 4) + b'"""',
    lambda size: b"a = 0x" + b"f" * size,
    lambda size: b"a = " + b"9" * size,
    lambda size: _many(size, lambda i: b"k%d = 1\n" % i),
    lambda size: b"a = {" + _many(size, lambda i: b"b%d.c = 1, " % i) + b"d = 1}",
)
"""The same in TOML."""


def _operation(dice: Dice, mark: str) -> tuple[str, str, Any]:
    """An operation with a path that is there, and a good body for it."""
    (method, path), good = dice.pick(list(BODIES.items()))
    body = json.loads(json.dumps(good).replace(MARK, mark))
    if path == "/trials/{trial}/decisions" and dice.chance(0.5):
        body["occasion"] = "1"
    if "units" in body:
        body["units"] = [{**body["units"][0], "unit": f"{mark} {i}"} for i in range(dice.size(1, 30))]
    trial = {"state": "moved", "spec": "draft"}.get(path.rpartition("/")[2]) or dice.pick(TRIALS)
    if trial == "clinic":
        for each in (body, *body.get("units", ()), *body.get("reports", ()), *body.get("past", ())):
            if each.keys() & {"unit", "decision"}:
                draw = covariates.values if dice.chance(0.6) else covariates.wrong
                each["covariates"] = draw(dice, COVARIATES)
    return method, path.replace("{trial}", trial), body


def _sent(
    dice: Dice,
    furniture: Furniture,
    mark: str,
    method: str,
    path: str,
    body: bytes,
    headers: dict[str, str] | None = None,
) -> bytes:
    """The request, mostly with a key that allows it."""
    key = "all" if dice.chance(0.9) else dice.pick(("decide", "report", "read", "design", "site", NOBODY))
    said = {
        "Authorization": f"Bearer {furniture.key(key)}",
        "Content-Type": "application/json",
        "X-Request-ID": mark,
        **(headers or {}),
    }
    if path.endswith("/ingest"):  # a row, which is a batch, whatever its bytes
        path += f"?batch={mark}"
        said["Content-Type"] = said["Content-Type"].replace("application/json", dice.pick(BATCH_KINDS))
    if dice.chance(0.5):
        said["Idempotency-Key"] = mark if dice.chance(0.7) else dice.pick(("same", "x" * 180, "x" * 181, " ", "é"))
    return wire.request(method, path, said, body)


def _path(dice: Dice, path: str, odd: float = 0.2) -> str:
    """A path with what it stands for; now and then with something that it cannot stand for."""
    name = dice.pick(TRIALS) if not dice.chance(odd) else _quoted(_typed(dice))[:300]
    if "{number}" in path:
        path = path.replace("{number}", "1" if dice.chance(0.8) else _quoted(_typed(dice))[:100])
    return path.replace("{trial}", name).replace("{id}", _quoted(_typed(dice))[:100] if dice.chance(0.7) else "ab" * 6)


def _query(dice: Dice, good: dict[str, str]) -> str:
    given: dict[str, str] = {name: value for name, value in good.items() if dice.chance(0.5)}
    if good and dice.chance(0.7):
        given[dice.pick(list(good))] = _typed(dice)
    if dice.chance(0.1):
        given[_typed(dice)[:50]] = _typed(dice)
    return f"?{urlencode(given, errors='replace')}" if given else ""


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace") or "%20"


def _typed(dice: Dice) -> str:
    """Something that one can type into a field."""
    value = dice.pick(LETTERS) if dice.chance(0.5) else dice.pick(ODD) if dice.chance(0.5) else hostile_value(dice, 100)
    return str(value)[: dice.size(1, 5_000)]
