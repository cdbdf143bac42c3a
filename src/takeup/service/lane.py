"""The way of requests that come a thousand times a second: past everything that others need and they do not."""

from collections.abc import Callable, Iterable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from takeup.errors import TakeupError
from takeup.service import problem
from takeup.service.guard import Handler
from takeup.service.quick import Quick


class Application(FastAPI):
    """FastAPI, with a lane for `POST /trials/{trial}/NAME` of quick routes.

    What is asked and answered is the same either way; FastAPI's wrappers, made for whatever an application may be, cost
    as much again as the rest of such a request.
    """

    def open_lane(self, routes: Iterable[Quick], gate: Callable[[ASGIApp], ASGIApp]) -> None:
        """Let these routes have a lane, behind a gate of its own."""
        self._lanes: dict[str, tuple[Quick, ASGIApp]] = {}
        for route in routes:
            parts = route.path.split("/")
            if parts[:3] == ["", "trials", "{trial}"] and len(parts) == 4 and route.methods == {"POST"}:
                self._lanes[parts[3]] = route, gate(_Lane(route.get_route_handler()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """By the lane, or by the road."""
        if scope["type"] == "http" and scope["method"] == "POST" and not scope.get("root_path"):
            parts = scope["path"].split("/")
            if len(parts) == 4 and parts[1] == "trials" and parts[2] and not parts[0]:
                found = self._lanes.get(parts[3])
                if found is not None:
                    scope["app"], scope["route"], scope["path_params"] = self, found[0], {"trial": parts[2]}
                    await found[1](scope, receive, send)
                    return
        await super().__call__(scope, receive, send)


class _Lane:
    """One route as an ASGI application."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response: Any
        try:
            response = await self._handler(request)
        except (HTTPException, RequestValidationError, TakeupError) as error:
            response = await problem.handle(request, error)
        await response(scope, receive, send)
