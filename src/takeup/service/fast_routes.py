"""Decisions and reports come a thousand times a second: their routes skip what FastAPI does for any signature."""

import re
from collections.abc import Callable, Iterable
from typing import Any, get_type_hints

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from takeup.errors import InputError, TakeupError
from takeup.service import problem
from takeup.service.auth import Handler, KeyRoute
from takeup.service.body import parse_json
from takeup.service.models import IDENTIFIER, MOST_KEY
from takeup.service.problem import ProblemError
from takeup.service.refusals import AGAIN, REASONS
from takeup.service.service import Service, service_of

_IDENTIFIER = re.compile(IDENTIFIER)
_CROWDED = ProblemError(*REASONS["crowded"], headers=AGAIN)
_TURNED_AWAY = problem.response(_CROWDED)
"""Made once: it is sent where there is no time."""


class FastRoute(KeyRoute):
    """A route of one shape: a trial in the path, JSON in the body, perhaps an idempotency key.

    FastAPI describes it like any other. Validating the request here instead of in FastAPI halves its cost.
    """

    def handler(self) -> Handler:
        """Validate path, header and body, call the endpoint, and encode its reply."""
        endpoint: Any = self.endpoint
        hints = get_type_hints(endpoint)
        reply: TypeAdapter[Any] = TypeAdapter(hints.pop("return"))
        (body,) = (hint for name, hint in hints.items() if name not in ("request", "trial", "idempotency_key"))
        asked: TypeAdapter[Any] = TypeAdapter(body)
        batch = self.path.endswith("/batch")

        def read(content: bytes) -> Any:
            found = parse_json(content)
            try:
                return asked.validate_python(found)
            except ValidationError as error:
                raise RequestValidationError(error.errors(include_url=False), body=found) from None

        async def handle(request: Request) -> Response:
            trial, key = request.path_params["trial"], request.headers.get("idempotency-key")
            if not _IDENTIFIER.fullmatch(trial):
                raise InputError("trial", repr(trial), f"what matches {IDENTIFIER}")
            if key is not None and not 1 <= len(key) <= MOST_KEY:
                raise InputError("idempotency-key", f"{len(key)} characters", f"from 1 to {MOST_KEY}")
            given = await service_of(request).bodies.read(read, await request.body())
            if batch:
                answer = await endpoint(request, trial, given, key)
            else:
                with service_of(request).waiting.place(trial):
                    answer = await endpoint(request, trial, given, key)
            return Response(reply.dump_json(answer), media_type="application/json")

        return handle


class Application(FastAPI):
    """FastAPI, except that `POST /trials/{trial}/NAME` of a fast route goes straight to its handler.

    Requests and replies are the same either way; FastAPI's own middleware and routing would double the cost.
    """

    def setup(self) -> None:
        """Serve the description; FastAPI would write it anew for everybody who asks."""
        written: list[bytes] = []

        async def described(_: Request) -> Response:
            if not written:
                written.append(bytes(JSONResponse(self.openapi()).body))
            return Response(written[0], media_type="application/json")

        self.add_route("/openapi.json", described, include_in_schema=False)

    def add_fast_routes(self, routes: Iterable[FastRoute], middleware: Callable[[ASGIApp], ASGIApp]) -> None:
        """Serve these routes directly, each within `middleware`."""
        self._fast: dict[str, tuple[FastRoute, ASGIApp]] = {}
        for route in routes:
            parts = route.path.split("/")
            if parts[:3] == ["", "trials", "{trial}"] and len(parts) == 4 and route.methods == {"POST"}:
                self._fast[parts[3]] = route, middleware(_application(route.get_route_handler()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, directly where its path is that of a fast route."""
        if scope["type"] == "http":
            found = self._find(scope)
            if found is not None:
                await found(scope, receive, send)
                return
        await super().__call__(scope, receive, send)

    def no_room(self, scope: Scope) -> bool:
        """Whether a request whose head was read goes to a fast route, and is turned away there.

        `_application` would say the same, at three times the cost; here it is counted, and has no line and no id.
        """
        if self._find(scope) is None:
            return False
        service: Service = self.state.service
        trial = scope["path_params"]["trial"]
        if not service.waiting.full(trial):
            service.waiting.expect(trial)
            return False
        service.metrics.answered("POST", scope["route"].path, _TURNED_AWAY.status_code, 0.0)
        return True

    def _find(self, scope: Scope) -> ASGIApp | None:
        """What serves a fast route, if this is one."""
        if scope["method"] != "POST" or scope.get("root_path"):
            return None
        parts = scope["path"].split("/")
        if len(parts) != 4 or parts[1] != "trials" or not parts[2] or parts[0]:
            return None
        found = self._fast.get(parts[3])
        if found is None:
            return None
        scope["app"], scope["route"], scope["path_params"] = self, found[0], {"trial": parts[2]}
        return found[1]


def _application(handler: Handler) -> ASGIApp:
    """A handler as an ASGI application that turns our errors into problems."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response: Response
        if service_of(request).waiting.full(scope["path_params"]["trial"]):
            scope["takeup.problem"] = _CROWDED.kind
            await _TURNED_AWAY(scope, receive, send)
            return
        try:
            response = await handler(request)
        except (HTTPException, RequestValidationError, TakeupError) as error:
            response = await problem.handle(request, error)
        await response(scope, receive, send)

    return application
