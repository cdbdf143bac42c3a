"""Pages for browsers: visitors are admitted by a session instead of a key, and use the same service."""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from urllib.parse import quote

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute

from takeup.errors import InputError
from takeup.service import problem
from takeup.service.auth import Handler, address_of, admit, media_type
from takeup.service.body import parse_form
from takeup.service.callers import Caller, Scope
from takeup.service.pages.templates import render
from takeup.service.people import Person
from takeup.service.problem import ProblemError
from takeup.service.service import Service, service_of
from takeup.service.sessions import form_token, same
from takeup.service.settings import Settings

HOME, SIGN_IN, UNBLIND = "/app", "/app/sign-in", "/app/trials/{trial}/unblind"
BY_ITSELF = ("/stream", "/dashboard")
"""How paths end that an open page asks for by itself: nobody need be there, so that no session lasts by it."""

TITLES = {"forbidden": "This is not allowed", "unauthenticated": "You are not signed in"}
"""What pages say of problems, where keys are none of the reader's business."""

UNSENT = " Nothing that you sent was recorded."
"""Of a form that came when its session had ended."""

FORM = "application/x-www-form-urlencoded"
FORM_TOKEN = "form_token"  # a field's name
CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
MOST_OPEN = 16_384
"""The most bytes of a form that needs no key."""
READERS: tuple[Scope, ...] = ("read-blinded", "read-unblinded")

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """One request of a browser.

    Attributes:
        request: the request.
        service: what it has come to.
        cookie: the text of the visitor's cookie: a session's, or one of somebody who has not signed in.
        caller: who has signed in, as far as they may do things in the trial that the page is about; None on the pages
            that are open to all.
        holder: the same, as far as they may do things anywhere: a person, or somebody with an API key.
        form: the fields that were sent.
    """

    request: Request
    service: Service
    cookie: str
    caller: Caller | None = None
    holder: Caller | None = None
    form: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> Caller:
        """Who has signed in."""
        assert self.caller is not None  # checked before the view is called
        return self.caller

    @property
    def person(self) -> Person | None:
        """Who has signed in, if it was not with an API key."""
        return self.holder if isinstance(self.holder, Person) else None

    @property
    def address(self) -> str:
        """Where the request comes from, as sign-ins are counted."""
        return address_of(self.request)

    @property
    def trial(self) -> str:
        """The trial that the page is about."""
        return str(self.request.path_params["trial"])

    @property
    def unblinded(self) -> bool:
        """Whether the visitor may see what each arm does."""
        return self.may("read-unblinded")

    def may(self, *scopes: Scope) -> bool:
        """Whether the visitor has one of these scopes."""
        return self.caller is not None and self.caller.allows(scopes)

    async def read(self, call: Callable[[], Result]) -> Result:
        """Run a blocking call in a thread."""
        return await self.service.read(call)

    def page(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A page from a template, which knows the visit and the token that its forms must carry."""
        return html(render(template, visit=self, form_token=form_token(self.cookie), **values), status)

    def see(self, path: str) -> RedirectResponse:
        """Send the browser to another page, after a form has had its effect."""
        return RedirectResponse(path, 303)


Endpoint = Callable[[Visit], Awaitable[Response]]


class Page(APIRoute):
    """A page, and who may see it: visitors who have one of its scopes, or everybody where it has none."""

    def __init__(self, path: str, view: Endpoint, method: str, scopes: tuple[Scope, ...]) -> None:
        self.view, self.method, self.scopes = view, method, scopes

        async def endpoint(request: Request) -> Response:  # FastAPI needs one; the handler below is what runs
            raise NotImplementedError

        super().__init__(path, endpoint, methods=[method], include_in_schema=False, response_model=None)

    def get_route_handler(self) -> Handler:
        """Admit the visitor or send them to sign in, call the view, and show any error as a page."""

        async def handle(request: Request) -> Response:
            visit = Visit(request, service_of(request), _cookie(request))
            try:
                if self.scopes:
                    visit = await _known(visit)
                    admit(request, visit.key, self.scopes, page=True)
                    visit = _in_trial(visit)
                    if not visit.key.allows(self.scopes) and self.path != UNBLIND:
                        return visit.see(UNBLIND.replace("{trial}", visit.trial))
                if request.method == "POST":
                    visit = await _sent(visit)
                return await self.view(visit)
            except Exception as error:
                found = problem.refused(error)
                if found.kind == "internal":
                    raise  # our own fault, or the client has gone
                request.scope["takeup.problem"] = found.kind
                if found.kind == "unauthenticated" and request.method == "GET":
                    return RedirectResponse(f"{SIGN_IN}?next={quote(request.url.path)}", 303)
                if found.kind == "not-found" and visit.caller is None:
                    visit = await _perhaps_known(visit)
                said = {
                    "title": TITLES.get(found.kind, found.problem.title),
                    "detail": sentence(found) + (UNSENT if found.kind == "unauthenticated" else ""),
                    "allowed": found.problem.allowed,
                    "back": self._form_path(request),
                }
                answer = visit.page("problem", found.status_code, **said)
                answer.headers.update(found.headers or {})
                return answer

        return handle

    def _form_path(self, request: Request) -> str:
        """Where the form is that was sent: at its own address, or else on the page of its trial, or on the first."""
        shown = {route.path for route in request.app.routes if isinstance(route, Page) and route.method == "GET"}
        trial = request.path_params.get("trial")
        return request.url.path if self.path in shown else HOME if trial is None else f"{HOME}/trials/{trial}"


class Pages:
    """Collects the pages of one module."""

    def __init__(self) -> None:
        self.routes: list[Page] = []

    def get(self, path: str, *scopes: Scope) -> Callable[[Endpoint], Endpoint]:
        """A page to look at."""
        return self._add("GET", path, scopes)

    def post(self, path: str, *scopes: Scope) -> Callable[[Endpoint], Endpoint]:
        """What a form does; its fields and its token have been checked by the time it is called."""
        return self._add("POST", path, scopes)

    def _add(self, method: str, path: str, scopes: tuple[Scope, ...]) -> Callable[[Endpoint], Endpoint]:
        def add(view: Endpoint) -> Endpoint:
            self.routes.append(Page(path, view, method, scopes))
            return view

        return add


def sentence(error: Exception) -> str:
    """An error as a form shows it beside the field: what is allowed, without the API's name of the field."""
    if isinstance(error, InputError):
        return f"Expected: {error.allowed}{f' ({error.hint})' if error.hint else ''}."
    said = str(error.detail if isinstance(error, ProblemError) else error)
    return f"{said[:1].upper()}{said[1:].removesuffix('.')}."


def html(content: str, status: int = 200) -> HTMLResponse:
    """An HTML response whose content policy allows no scripts and styles but our own."""
    return HTMLResponse(content, status, {"Content-Security-Policy": CONTENT_POLICY})


def cookie_name(settings: Settings) -> str:
    """The cookie's name; the prefix makes browsers insist on TLS and on this host."""
    return "__Host-takeup" if settings.encrypted else "takeup"


def set_cookie(response: Response, settings: Settings, token: str, seconds: int | None) -> None:
    """Give the visitor a cookie that no script and no other site can use; without `seconds` until the browser ends."""
    response.set_cookie(
        cookie_name(settings),
        token,
        max_age=seconds,
        path="/",
        secure=settings.encrypted,
        httponly=True,
        samesite="strict",
    )


def new_cookie() -> str:
    """A cookie for somebody who has not signed in."""
    return secrets.token_urlsafe(32)


def _cookie(request: Request) -> str:
    """The text of our cookie, as it was sent; empty where there is none, or more than one."""
    name = cookie_name(service_of(request).settings).encode()
    sent = b";".join(value for header, value in request.scope["headers"] if header == b"cookie")
    pairs = (pair.strip().partition(b"=") for pair in sent.split(b";"))
    found = [value for cookie, equals, value in pairs if equals and cookie == name]
    return found[0].decode("latin-1") if len(found) == 1 else ""


async def _known(visit: Visit) -> Visit:
    """The visit with whoever has signed in."""
    sessions = visit.service.sessions
    look = sessions.find if visit.request.url.path.endswith(BY_ITSELF) else sessions.use
    holder = await look(visit.cookie) if visit.cookie else None
    if holder is None:
        raise ProblemError("unauthenticated", "nobody is signed in here, or the session has ended; sign in again")
    return replace(visit, holder=holder, caller=holder)


async def _perhaps_known(visit: Visit) -> Visit:
    """The visit with whoever has signed in, if somebody has, on a page for everybody."""
    holder = await visit.service.sessions.find(visit.cookie) if visit.cookie else None
    return visit if holder is None else replace(visit, holder=holder, caller=holder)


def _in_trial(visit: Visit) -> Visit:
    """The visit with what its holder may do in the trial that the page is about."""
    trial = visit.request.path_params.get("trial")
    if trial is None:
        return visit
    caller = visit.request.scope["takeup.caller"] = visit.key.within(trial)
    return replace(visit, caller=caller)


async def _sent(visit: Visit) -> Visit:
    """The visit with its form; an error where the form does not come from one of our pages."""
    if media_type(visit.request) != FORM:
        raise ProblemError("media-type", "this takes what a form of these pages sends", allowed=FORM)
    body = await _body(visit.request, None if visit.caller is not None else MOST_OPEN)
    if visit.caller is not None:
        visit = _in_trial(await _known(visit))  # once more: the body may have taken minutes to come
    form = await visit.service.bodies.read(parse_form, body)
    token = form.pop(FORM_TOKEN, "")
    if not visit.cookie or not same(token, form_token(visit.cookie)):
        raise ProblemError("forbidden", "the form has expired, or came from elsewhere; load the page again and repeat")
    return replace(visit, form=form)


async def _body(request: Request, most: int | None) -> bytes:
    """The body, which is small where anybody may send it."""
    found = bytearray()
    async for part in request.stream():
        found += part
        if most is not None and len(found) > most:
            raise ProblemError("too-large", f"the form has more than {most} bytes", allowed=f"{most} bytes")
    return bytes(found)
