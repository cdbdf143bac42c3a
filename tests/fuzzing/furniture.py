"""What a service is furnished with before it is fuzzed: keys of several scopes, people who signed in, trials."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fuzzing import wire
from serving import Served
from takeup.service.callers import SCOPES
from takeup.service.sessions import form_token

SPEC: dict[str, Any] = {
    "name": "Tea",
    "space": {"proposals": ["tea", "coffee", "water"], "contexts": ["morning", "evening"], "outcomes": ["bad", "good"]},
    "policy": {"kind": "TSObs"},
}
COVARIATES: dict[str, dict[str, Any]] = {
    "age": {"kind": "measure", "low": 18, "high": 100, "unit": "years"},
    "state": {"kind": "category", "levels": ["alert", "drowsy", "out"], "missing": "kept"},
    "pressure": {"kind": "measure", "low": 60, "high": 260, "step": 5, "missing": "kept"},
}
CLINIC: dict[str, Any] = {
    "space": {**SPEC["space"], "covariates": COVARIATES, "interactions": [["age", "state"]]},
    "policy": {"kind": "LinTS"},
}
TRIALS: dict[str, dict[str, Any]] = {
    "t": {"edge": {"allowed": True}},
    "clinic": CLINIC,
    "many": {"decisions": "many", "compliance": "sometimes"},
    "moved": {},
    "paused": {},
    "stopped": {},
    "draft": {},
    "probe": {},
}
"""Trials by what becomes of them: `t` gives leases, `moved` changes its state, `clinic` has covariates, `probe` belongs
to the probe."""

KEYS: dict[str, tuple[str, ...]] = {
    "all": SCOPES,
    "decide": ("decide",),
    "report": ("report", "read-blinded"),
    "read": ("read-unblinded",),
    "design": ("design",),
}
FORM = "application/x-www-form-urlencoded"
NOBODY = "nobody"
"""A key, and a cookie, that the service does not know."""


@dataclass(frozen=True, slots=True)
class Furniture:
    """What requests name: the texts of keys and cookies, by what cases call them."""

    keys: dict[str, str]
    cookies: dict[str, str]

    def key(self, name: str) -> str:
        """The text of a key."""
        return self.keys.get(name, f"takeup_{NOBODY}")

    def cookie(self, name: str) -> str:
        """The text of the cookie of somebody who signed in with a key."""
        return self.cookies.get(name, NOBODY)


async def furnish(server: Served) -> Furniture:
    """Keys, sessions and trials; `site` is a key that is valid in one trial."""
    keys = {name: server.key(*scopes) for name, scopes in KEYS.items()}
    asked = {"name": "site", "scopes": ["decide", "report", "design", "read-blinded"], "trials": ["t"]}
    keys["site"] = str(server.request("POST", "/keys", asked, server.admin)[1]["key"])
    for trial, changes in TRIALS.items():
        status, made = server.request("POST", f"/trials?trial={trial}", {**SPEC, **changes}, keys["all"])
        assert status == 201, made
        for state in {"draft": (), "paused": ("running", "paused"), "stopped": ("running", "stopped")}.get(
            trial, ("running",)
        ):
            asked = {"state": state, "reason": "as furniture"}
            assert server.request("PUT", f"/trials/{trial}/state", asked, keys["all"])[0] == 200
    for trial, known in (("t", None), ("clinic", {"age": 50, "state": None, "pressure": 120})):
        unit = {"unit": "a", "context": "morning", "covariates": known}
        assert server.request("POST", f"/trials/{trial}/decisions", unit, keys["all"])[0] == 200
    cookies = {name: await _signed_in(server.port, keys[name]) for name in ("all", "design", "read", "site")}
    cookies["leaving"] = await _signed_in(server.port, server.key(*SCOPES))  # signs out everywhere
    return Furniture(keys, cookies)


async def _signed_in(port: int, key: str) -> str:
    """The text of a cookie that the service gave for a key."""
    line = await wire.Line.open(port)
    form = urlencode({"key": key, "form_token": form_token(NOBODY)}).encode()
    headers = {"Cookie": f"takeup={NOBODY}", "Content-Type": FORM}
    answer = await line.ask(wire.request("POST", "/app/sign-in", headers, form), 30)
    line.close()
    assert answer.status == 303, answer
    return answer.headers["set-cookie"].partition(";")[0].partition("=")[2]
