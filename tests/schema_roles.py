"""schemathesis that follows the links of /openapi.json, in every role: whatever is sent, no surprise and no way round.

Requests are what the description allows, and what it does not. One in two is led further in by values that the service
knows. All chance follows from one number.
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import schemathesis
from fastapi.responses import JSONResponse
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import content_type_conformance, response_schema_conformance, status_code_conformance

import asgi
from fuzzing.requests import BODIES, MARK
from fuzzing.values import Dice
from takeup.live import Trial
from takeup.service import create_app, keys
from takeup.service.callers import SCOPES
from takeup.service.openapi import describe
from takeup.store import Store

ROLES: Mapping[str, tuple[str, ...]] = {
    "everything": SCOPES,
    **{scope: (scope,) for scope in SCOPES},
    "clinic": ("decide", "report", "read-blinded"),
    "elsewhere": SCOPES,
    "no key": (),
    "a wrong key": (),
}
"""Keys by what they are called; that of `elsewhere` is valid in one other trial."""
CHECKS = (status_code_conformance, content_type_conformance, response_schema_conformance)
STEPS = 12
"""How many requests follow on one another."""
LED = 0.75
HEADER = "Authorization"


class Roles:
    """A service, the keys of all roles, and what was asked of it.

    Attributes:
        asked: how often each operation was asked for.
        statuses: how often each status was answered.
        surprises: answers that should not have been. No error is raised where one comes: to play it again, and smaller,
            means little where the service has changed meanwhile.
    """

    def __init__(self, store: Store, checking: asgi.Beside) -> None:
        app = create_app(asgi.GENEROUS, store)
        service = app.state.service
        service.drafts.checking = checking
        service.keys.wrong.wait = lambda _: 0.0  # wrong keys are what another gate is about
        self.asked: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.surprises: list[str] = []
        trial = Trial.create(store, asgi.SPEC, trial="t")
        trial.start()
        trial.decide("a", "morning")
        self.keys = {role: _key(store, role, scopes) for role, scopes in ROLES.items() if scopes}
        self.keys["a wrong key"] = f"{self.keys['everything'][:-1]}!"
        schema = shorter(describe(app))
        self.scopes = {
            (method.upper(), path): each["x-scopes"]
            for path, some in schema["paths"].items()
            for method, each in some.items()
        }
        self.schema = schemathesis.openapi.from_asgi("/openapi.json", serving(app, schema))

    def walk(self, role: str, examples: int, number: int) -> None:
        """So many walks along the links, by one role."""
        machine = self._machine(role, Dice(number, "walks", role))
        machine._hypothesis_internal_use_seed = number
        machine.run(settings=_settings(examples))

    def each(self, role: str, examples: int, number: int) -> None:
        """Every operation so many times, by one role."""
        dice = Dice(number, "operations", role)
        for found in self.schema.get_all_operations():
            operation: Any = found.ok()  # type: ignore[union-attr]  # all of ours are fine, or a test says so

            def ask(case: Any) -> None:
                self.prepare(role, case, dice)
                self.check(role, case.call(timeout=asgi.WAIT), case)

            seed(number)(_settings(examples)(given(case=operation.as_strategy())(ask)))()

    def _machine(self, role: str, dice: Dice) -> Any:
        roles, base = self, self.schema.as_state_machine()

        class Machine(base):  # type: ignore[misc, valid-type]  # schemathesis makes it
            def get_call_kwargs(self, case: Any) -> dict[str, Any]:
                return {"timeout": asgi.WAIT}

            def before_call(self, case: Any) -> None:
                roles.prepare(role, case, dice)

            def validate_response(self, response: Any, case: Any, *_: Any, **__: Any) -> None:
                roles.check(role, response, case)

        return Machine

    def prepare(self, role: str, case: Any, dice: Dice) -> None:
        """With the key of the role; perhaps led further in."""
        self.lead(case, dice)
        key = self.keys.get(role)
        kept = {name: value for name, value in (case.headers or {}).items() if name != HEADER}
        case.headers = kept | ({} if key is None else {HEADER: f"Bearer {key}"})

    def check(self, role: str, response: Any, case: Any) -> None:
        """Take down what is wrong with an answer."""
        self.surprises += self.look(role, response, case)
        try:
            case.validate_response(response, checks=CHECKS)
        except AssertionError as error:
            self.surprises.append(f"{case.method} {case.operation.path} to {role}: {str(error)[:500]}")

    def lead(self, case: Any, dice: Dice) -> None:
        """Now and then a trial that is there, and a body that is good for it."""
        if not dice.chance(LED):
            return
        given = case.path_parameters
        if given and "trial" in given and not dice.chance(0.3):
            case.path_parameters = {**given, "trial": "t"}
        good = BODIES.get((case.method, case.operation.path))
        if good is None or not isinstance(case.body, dict | list) or dice.chance(0.3):
            return
        mark = f"m{dice.whole(0, 10**9)}"
        better = json.loads(json.dumps(good).replace(MARK, mark).replace("water", "tea"))
        if "policy" in better:
            better = {**asgi.SPEC, "name": mark}
        linked = case.body.get("decision") if isinstance(case.body, dict) else None
        if linked is not None and "unit" in better:
            better = {**{name: value for name, value in better.items() if name != "unit"}, "decision": linked}
        case.body = better
        if case.media_type == "application/toml":
            case.media_type = "application/json"

    def look(self, role: str, response: Any, case: Any) -> list[str]:
        """What is wrong with an answer to this role."""
        place, status = (case.method, case.operation.path), response.status_code
        self.asked[" ".join(place)] += 1
        self.statuses[status] += 1
        keyed = HEADER.lower() in {name.lower() for name in response.request.headers}  # schemathesis may leave it out
        needed, allowed = self.scopes.get(place, []), ROLES[role] if keyed else ()
        later = status in (429, 503) and "retry-after" in {name.lower() for name in response.headers}
        elsewhere = role == "elsewhere" and (case.path_parameters or {}).get("trial", role) != role
        if later or (status < 500 and not needed):
            expected: tuple[int, ...] = (status,)
        elif not allowed:
            expected = (401,)
        elif not set(allowed) & set(needed) or elsewhere:
            expected = (403, *_UNREAD) if elsewhere else (403,)
        else:
            expected = tuple({*range(200, 500)} - ({401, 403} if role == "everything" else {401}))
        words = f"{status} for {case.method} {case.formatted_path} to {role}: {response.content[:200]!r}"
        return [] if status in expected else [words]


_UNREAD = (404, 405, 422)
"""What is said of a path before it is known which trial it is about."""


@schemathesis.serializer("application/toml")
def toml(_: Any, value: Any) -> bytes:
    """Any text, most of which is not TOML."""
    return str(value).encode("utf-8", "surrogatepass")


@schemathesis.serializer("application/x-ndjson", "application/vnd.apache.arrow.stream")
def batch(_: Any, value: Any) -> bytes:
    """Any text, most of which is no batch; now and then it is one."""
    rows = b'{"unit": "a", "outcome": "good"}\n{"unit": "b", "proposal": "tea", "lease": 1, "drawn": 1}\n'
    return str(value).encode("utf-8", "surrogatepass") or rows


def _settings(examples: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        database=None,
        deadline=None,
        derandomize=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def _key(store: Store, role: str, scopes: tuple[str, ...]) -> str:
    key, token = keys.new(role, scopes, ["elsewhere"] if role == "elsewhere" else None, at=1)
    keys.add(store, key).result()
    return token


def serving(app: Any, schema: Any) -> Any:
    """The app without its end, which schemathesis would bring about after every request; with this description."""

    async def endless(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] == "/openapi.json":
            await JSONResponse(schema)(scope, receive, send)
        elif scope["type"] == "http":
            await app(scope, receive, send)
        else:
            for what in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{what}.complete"})

    return endless


def shorter(value: Any) -> Any:
    """The description with lists of at most 12 instead of 10,000, most of whose time goes into making them up."""
    if isinstance(value, dict):
        capped = {"maxItems": min(12, value["maxItems"])} if isinstance(value.get("maxItems"), int) else {}
        return {name: shorter(each) for name, each in value.items()} | capped
    return [shorter(each) for each in value] if isinstance(value, list) else value
