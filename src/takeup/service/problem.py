"""Errors of one shape: `application/problem+json`, as RFC 9457 has it."""

import logging
from collections.abc import Mapping
from reprlib import Repr
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from takeup import errors
from takeup.errors import NOTHING, InputError, TakeupError
from takeup.specfile import allowed, told

LOG = logging.getLogger("takeup.service")
UNAVAILABLE = "the database cannot be used now, or did not take it; ask again under the same idempotency key"
MEDIA = "application/problem+json"
MOST_VALUE, MOST_DETAIL = 200, 1_000

KINDS: Mapping[str, tuple[int, str]] = {
    "malformed": (400, "The body cannot be read"),
    "unauthenticated": (401, "No valid API key"),
    "forbidden": (403, "The API key does not allow this"),
    "not-found": (404, "There is no such thing"),
    "method": (405, "This cannot be done here"),
    "timeout": (408, "The request took too long"),
    "conflict": (409, "This contradicts what is on record"),
    "in-flight": (409, "A request with this idempotency key is on its way"),
    "state": (409, "The trial's state does not allow this"),
    "too-large": (413, "The body is too large"),
    "url-too-long": (414, "The address is too long"),
    "media-type": (415, "The body is of another kind than is expected"),
    "input": (422, "A value is not allowed"),
    "reused-key": (422, "The idempotency key was used for another request"),
    "too-many": (429, "Too many requests"),
    "headers-too-large": (431, "The headers are too large"),
    "internal": (500, "The service failed"),
    "unavailable": (503, "The service cannot do this now"),
}
"""What can be wrong: the status and the title of each kind. The type is `urn:takeup:` and the kind."""

_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = MOST_VALUE
"""Shows the beginning of a value, however large it is."""

_ERRORS: tuple[tuple[type[TakeupError], str], ...] = (
    (errors.ReusedKeyError, "reused-key"),
    (errors.ConflictError, "conflict"),
    (errors.StateError, "state"),
    (errors.NotFoundError, "not-found"),
    (errors.AccessError, "forbidden"),
    (TakeupError, "input"),
)


class Problem(BaseModel):
    """What went wrong, and what would be right.

    Attributes:
        type: `urn:takeup:` and the kind.
        title: the kind in words.
        status: the HTTP status.
        detail: what went wrong this time.
        argument: what it is about, where it is one value.
        value: what was given.
        allowed: what would be right.
    """

    type: str = Field(pattern="^urn:takeup:[a-z-]+$")
    title: str
    status: int
    detail: str
    argument: str | None = None
    value: str | None = None
    allowed: str | None = None


_NOWHERE = {
    "Not Found": "there is nothing at this path; GET /openapi.json tells of all that there is",
    "Method Not Allowed": "this path is there, and takes other methods; GET /openapi.json tells which",
}
"""What Starlette says of paths that no route has, in words."""


class ProblemError(HTTPException):
    """A request that is turned away."""

    def __init__(
        self,
        kind: str,
        detail: str,
        *,
        argument: str | None = None,
        value: str | None = None,
        allowed: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        status, title = KINDS[kind]
        detail = detail if len(detail) <= MOST_DETAIL else f"{detail[:MOST_DETAIL]}.."
        super().__init__(status, detail, dict(headers or {}))
        self.kind = kind
        cut = None if value is None else value[:MOST_VALUE]
        self.problem = Problem(
            type=f"urn:takeup:{kind}",
            title=title,
            status=status,
            detail=detail,
            argument=argument,
            value=cut,
            allowed=allowed,
        )


def refused(error: Exception) -> ProblemError:
    """An error as the answer that it leads to."""
    match error:
        case ProblemError():
            return error
        case RequestValidationError():
            return _invalid(error)
        case HTTPException():
            kind = {404: "not-found", 405: "method"}.get(error.status_code, "malformed")
            said = str(error.detail)
            return ProblemError(kind, _NOWHERE.get(said, said), headers=error.headers)
        case InputError():
            value = None if error.value is None else str(error.value)
            return ProblemError("input", str(error), argument=error.argument, value=value, allowed=error.allowed)
        case errors.BusyError():
            return ProblemError("unavailable", str(error), headers={"Retry-After": "1"})
        case errors.StoreError():
            LOG.error("the database cannot be used: %s", error)  # it names files and hosts
            return ProblemError("unavailable", UNAVAILABLE, headers={"Retry-After": "1"})
        case TakeupError():
            kind = next(kind for type_, kind in _ERRORS if isinstance(error, type_))
            return ProblemError(kind, str(error))
    return ProblemError("internal", "the service failed; its log says more under the request's id")


def response(error: Exception) -> JSONResponse:
    """The answer to a request that led to an error."""
    found = refused(error)
    content = found.problem.model_dump(exclude_none=True)
    return JSONResponse(content, found.status_code, headers=found.headers, media_type=MEDIA)


async def handle(request: Request, error: Exception) -> JSONResponse:
    """FastAPI's way to `response`; leaves the kind for the request's log line."""
    found = refused(error)
    request.scope["takeup.problem"] = found.kind
    return response(found)


def documented(*kinds: str) -> dict[int | str, dict[str, Any]]:
    """The `responses` of an operation that can end in these problems."""
    found: dict[int | str, dict[str, Any]] = {}
    for kind in sorted(kinds, key=list(KINDS).index):
        status, title = KINDS[kind]
        before = found.get(status, {}).get("description")
        content = {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}
        found[status] = {"description": title if before is None else f"{before}; or: {title}", "content": content}
    return found


def _invalid(error: RequestValidationError) -> ProblemError:
    """The first thing that is wrong with a request, as an error of ours."""
    first = error.errors()[0]
    place = tuple(part for part in first["loc"] if part not in ("body", "query", "path", "header"))
    said = allowed(str(first["msg"]))
    if error.body is not None and first["loc"][:1] not in (("query",), ("path",), ("header",)):
        place, first, said = told(error.body, error.errors())
    argument = ".".join(map(str, place)) or "body"
    value = _SHORT.repr(first["input"])
    match first["type"]:
        case "missing":
            return refused(InputError(argument, NOTHING, "a value"))
        case "extra_forbidden":
            words = f"{argument} is not a key that this request has; leave it out, or correct its name"
            return refused(InputError(argument, value, "no such key", words=words))
    return refused(InputError(argument, value, said))
