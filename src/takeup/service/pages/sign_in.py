"""Signing in and out, and the files that all pages use."""

from urllib.parse import quote, urlsplit

from fastapi import Response

from takeup.service.auth import admit, count_wrong
from takeup.service.callers import SCOPES, Caller
from takeup.service.pages.page import HOME, SIGN_IN, Pages, Visit, html, new_cookie, set_cookie
from takeup.service.pages.templates import render, static
from takeup.service.problem import ProblemError
from takeup.service.sessions import form_token

pages = Pages()
WRONG = "Login, password or code are not right. If you cannot remember, ask whoever manages people here for a new link."
NO_KEY = "This is no API key of this service, or it was revoked."


@pages.get("/")
async def root(visit: Visit) -> Response:
    """The trials."""
    return visit.see(HOME)


@pages.get(SIGN_IN)
async def ask(visit: Visit) -> Response:
    """A form for login and password, or for an API key."""
    query = visit.request.query_params
    return await _form(visit, query.get("next", HOME), done="set" in query)


@pages.post(SIGN_IN)
async def sign_in(visit: Visit) -> Response:
    """Begin a session, and go where the visitor wanted to go."""
    wanted = visit.form.get("next", HOME)
    by_key = "key" in visit.form and visit.service.settings.key_sign_in
    try:
        caller = await (_by_key if by_key else _by_password)(visit)
    except ProblemError as error:
        if error.kind != "too-many":
            raise
        answer = await _form(visit, wanted, f"{error.detail[:1].upper()}{error.detail[1:]}.", 429)
        answer.headers.update(error.headers or {})
        return answer
    if caller is None:
        return await _form(visit, wanted, NO_KEY if by_key else WRONG, 401)
    return await signed_in(visit, caller, wanted)


@pages.post("/app/sign-out", *SCOPES)
async def sign_out(visit: Visit) -> Response:
    """End the session."""
    await visit.service.sessions.end(visit.cookie)
    return _out(visit)


@pages.post("/app/sign-out-everywhere", *SCOPES)
async def sign_out_everywhere(visit: Visit) -> Response:
    """End all sessions of the visitor, also those of other browsers."""
    await visit.service.sessions.end_all(visit.key)
    return _out(visit)


@pages.get("/app/static/{name}")
async def file(visit: Visit) -> Response:
    """A script or a style."""
    name = str(visit.request.path_params["name"])
    found = static().get(name)
    if found is None:
        raise ProblemError("not-found", f"there is no file {name!r}")
    content, kind = found
    return Response(content, media_type=kind, headers={"Cache-Control": "public, max-age=31536000, immutable"})


@pages.get("/app/{path:path}")
async def nowhere(visit: Visit) -> Response:
    """No such page, unless there is one without the slash at its end."""
    path = visit.request.url.path
    if path.endswith("/") and path.rstrip("/").startswith(HOME):
        return visit.see(quote(path.rstrip("/")))
    raise ProblemError("not-found", f"there is no page {path!r}")


async def signed_in(visit: Visit, caller: Caller, wanted: str) -> Response:
    """A session with a cookie of its own, whatever cookie the browser came with; the session of that one ends."""
    admit(visit.request, caller, SCOPES)
    if await visit.service.sessions.find(visit.cookie) is not None:
        await visit.service.sessions.end(visit.cookie)
    answer, settings = visit.see(_inside(wanted)), visit.service.settings
    set_cookie(answer, settings, await visit.service.sessions.begin(caller), int(settings.session_seconds))
    return answer


def bare_page(visit: Visit, template: str, status: int = 200, **values: object) -> Response:
    """A page with a form for somebody who has not signed in, with a cookie that ties the form to this browser."""
    cookie = visit.cookie or new_cookie()
    bare = Visit(visit.request, visit.service, cookie)
    answer = html(render(template, visit=bare, form_token=form_token(cookie), **values), status)
    if not visit.cookie:
        set_cookie(answer, visit.service.settings, cookie, None)
    return answer


async def _by_key(visit: Visit) -> Caller | None:
    key = await visit.service.keys.find(visit.form["key"])
    if key is None:
        count_wrong(visit.request)
    return key


async def _by_password(visit: Visit) -> Caller | None:
    form = visit.form
    said = (form.get("login", ""), form.get("password", ""), form.get("code", ""))
    return await visit.service.people.proven(*said, visit.address)


async def _form(visit: Visit, wanted: str, wrong: str | None = None, status: int = 200, done: bool = False) -> Response:
    return bare_page(
        visit,
        "sign_in",
        status,
        next=_inside(wanted),
        login=visit.form.get("login", ""),
        wrong=wrong,
        done=done,
        by_key=visit.service.settings.key_sign_in,
        first=not await visit.service.people.some(),
    )


def _out(visit: Visit) -> Response:
    answer = visit.see(SIGN_IN)
    set_cookie(answer, visit.service.settings, new_cookie(), None)
    return answer


def _inside(path: str) -> str:
    """The path if it is one of our pages, else the first page: nobody is sent to another site."""
    parts = urlsplit(path)
    ours = not parts.scheme and not parts.netloc and parts.path.startswith(f"{HOME}/") and "\\" not in path
    return parts.path if ours else HOME
