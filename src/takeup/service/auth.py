"""Who may do what: every route says which scopes it needs, and is closed to all others."""

import ipaddress
import math
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from takeup.service.body import parse_json
from takeup.service.callers import Caller, Scope, refusal
from takeup.service.problem import ProblemError, documented
from takeup.service.service import service_of

SCOPES = "x-scopes"
"""Where an operation's OpenAPI description names the scopes of which a key needs one."""

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

_WITH_KEY = ("unauthenticated", "forbidden", "input", "too-many", "unavailable")
_WITH_BODY = ("malformed", "too-large", "media-type")


def needs(*scopes: Scope, problems: tuple[str, ...] = (), body: bool = False, **openapi: Any) -> dict[str, Any]:
    """Options of a route that needs a key with one of these scopes, and can end in these problems."""
    kinds = (*_WITH_KEY, *problems, *(_WITH_BODY if body else ()))
    extra = {SCOPES: list(scopes), "security": [{"key": []}], **openapi}
    return {"openapi_extra": extra, "responses": documented(*dict.fromkeys(kinds))}


def open_to_all(*problems: str) -> dict[str, Any]:
    """Options of a route that needs no key."""
    return {"openapi_extra": {SCOPES: [], "security": []}, "responses": documented(*problems)}


class KeyRoute(APIRoute):
    """A route that asks for a key before it looks at anything else."""

    def get_route_handler(self) -> Handler:
        """The handler that asks for a key first."""
        handler = self.handler()
        scopes: list[Scope] = (self.openapi_extra or {})[SCOPES]
        takes_json = self.body_field is not None

        async def admitted(request: Request) -> Response:
            if scopes:
                admit(request, await _authenticate(request), scopes)
            if takes_json:
                _check_media(request, "application/json")
            return await handler(StrictRequest(request.scope, request.receive))

        return admitted

    def handler(self) -> Handler:
        """The handler of requests that were admitted."""
        return super().get_route_handler()


class StrictRequest(Request):
    """A request whose JSON is read strictly, and whose key must still be valid when all of its body has come."""

    async def body(self) -> bytes:
        """The body, which may take minutes to come."""
        body = await super().body()
        caller: Caller | None = self.scope.get("takeup.caller")
        if caller is not None and await service_of(self).keys.get(caller.id) is None:
            raise _unauthenticated()
        return body

    async def json(self) -> Any:
        """The body."""
        return await service_of(self).bodies.read(parse_json, await self.body())


def media_type(request: Request) -> str:
    """The media type that the request states for its body."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _check_media(request: Request, wanted: str) -> None:
    given = media_type(request)
    if given != wanted:
        raise ProblemError(
            "media-type", f"the body is {given or 'of no stated type'}, expected {wanted}", allowed=wanted
        )


async def _authenticate(request: Request) -> Caller:
    """The key in the request's header."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    key = await service_of(request).keys.find(token) if scheme.lower() == "bearer" else None
    if key is None:
        if token:
            count_wrong(request)
        raise _unauthenticated()
    return key


def count_wrong(request: Request) -> None:
    """A key was wrong.

    Raises:
        ProblemError: too many from this address were.
    """
    address = address_of(request)
    wait = math.ceil(service_of(request).keys.wrong.wait(address))
    if wait:
        said = f"too many wrong API keys came from {address}; try again in {wait} seconds, with a valid one"
        raise ProblemError("too-many", said, headers={"Retry-After": str(wait)})


def address_of(request: Request) -> str:
    """Where a request comes from, as tries are counted; of IPv6 the network that one customer has."""
    host = request.client.host if request.client else ""
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:
        return host
    return host if version == 4 else str(ipaddress.ip_network(f"{host}/64", strict=False))


def _unauthenticated() -> ProblemError:
    detail = "send a valid API key in the header Authorization: Bearer .."
    return ProblemError("unauthenticated", detail, headers={"WWW-Authenticate": "Bearer"})


def admit(request: Request, caller: Caller, scopes: Sequence[Scope], *, page: bool = False) -> None:
    """Let a request in, of the API or of a page, when it is known who asks. Pages say in other words why not.

    Raises:
        ProblemError: they ask too often, have none of the scopes, or may do nothing in the trial.
    """
    request.scope["takeup.caller"], request.scope["takeup.key"] = caller, caller.id
    wait = service_of(request).limiter.wait(caller.id)
    if wait:
        seconds = str(math.ceil(wait))
        said = "you ask more often than you may" if page else "the key asks more often than it may"
        raise ProblemError("too-many", said, headers={"Retry-After": seconds})
    if not caller.allows(scopes):
        needed = f"this needs the scope {' or '.join(scopes)}; the key has {', '.join(caller.scopes)}"
        raise ProblemError("forbidden", refusal(scopes) if page else needed)
    trial = request.path_params.get("trial")
    if trial is not None:
        if not caller.covers(trial):
            elsewhere = f"your account is not for trial {trial!r}; ask whoever manages people here"
            raise ProblemError("forbidden", elsewhere if page else f"the key is not valid in trial {trial!r}")
        request.scope["takeup.trial"] = trial
