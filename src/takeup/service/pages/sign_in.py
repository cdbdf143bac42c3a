"""Signing in and out, and the files that all pages use."""

from urllib.parse import urlsplit

from fastapi import Response

from takeup.service.auth import admit
from takeup.service.keys import SCOPES
from takeup.service.pages.page import HOME, SIGN_IN, Pages, Visit, html, new_cookie, set_cookie
from takeup.service.pages.templates import render, static
from takeup.service.problem import ProblemError
from takeup.service.sessions import form_token

pages = Pages()


@pages.get("/")
async def root(visit: Visit) -> Response:
    """The trials."""
    return visit.see(HOME)


@pages.get(SIGN_IN)
async def ask(visit: Visit) -> Response:
    """A form for the API key."""
    return _form(visit, visit.request.query_params.get("next", HOME))


@pages.post(SIGN_IN)
async def sign_in(visit: Visit) -> Response:
    """Begin a session with an API key, and go where the visitor wanted to go."""
    service, wanted = visit.service, visit.form.get("next", HOME)
    key = await service.keys.find(visit.form.get("key", ""))
    if key is None:
        return _form(visit, wanted, "This is no API key of this service, or it was revoked.", 401)
    admit(visit.request, key, SCOPES)
    answer = visit.see(_inside(wanted))
    token = await service.sessions.begin(key)
    set_cookie(answer, service.settings, token, int(service.settings.session_seconds))
    return answer


@pages.post("/app/sign-out", *SCOPES)
async def sign_out(visit: Visit) -> Response:
    """End the session."""
    await visit.service.sessions.end(visit.cookie)
    answer = visit.see(SIGN_IN)
    set_cookie(answer, visit.service.settings, new_cookie(), None)
    return answer


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
    """No such page."""
    raise ProblemError("not-found", f"there is no page {visit.request.url.path!r}")


def _form(visit: Visit, wanted: str, wrong: str | None = None, status: int = 200) -> Response:
    """The form, with a cookie that ties it to this browser."""
    cookie = visit.cookie or new_cookie()
    bare = Visit(visit.request, visit.service, cookie)
    content = render("sign_in", visit=bare, form_token=form_token(cookie), next=_inside(wanted), wrong=wrong)
    answer = html(content, status)
    if not visit.cookie:
        set_cookie(answer, visit.service.settings, cookie, None)
    return answer


def _inside(path: str) -> str:
    """The path if it is one of our pages, else the first page: nobody is sent to another site."""
    parts = urlsplit(path)
    ours = not parts.scheme and not parts.netloc and parts.path.startswith(f"{HOME}/") and "\\" not in path
    return parts.path if ours else HOME
