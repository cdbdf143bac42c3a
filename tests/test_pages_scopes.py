"""Every page with every scope: exactly those that are specified are let in, and no form works without its token."""

import pytest

import asgi
from page_visitor import TRY, Visitor, choose, harmless
from takeup.service import pages
from takeup.service.callers import SCOPES

ALL: set[str] = set(SCOPES)
READ: set[str] = {"read-blinded", "read-unblinded"}
NOBODY: set[str] = set()
PAGES: dict[tuple[str, str], tuple[set[str], dict[str, str]]] = {
    ("GET", "/"): (NOBODY, {}),
    ("GET", "/app"): (ALL, {}),
    ("GET", "/app/sign-in"): (NOBODY, {}),
    ("POST", "/app/sign-in"): (NOBODY, {"key": "takeup_"}),
    ("POST", "/app/sign-out"): (ALL, {}),
    ("POST", "/app/sign-out-everywhere"): (ALL, {}),
    ("GET", "/app/static/{name}"): (NOBODY, {}),
    ("GET", "/app/{path:path}"): (NOBODY, {}),
    ("GET", "/app/new"): ({"design"}, {}),
    ("POST", "/app/new"): ({"design"}, choose(name="")),
    ("GET", "/app/new/{sketch}"): ({"design"}, {}),
    ("GET", "/app/trials/{trial}/edit"): ({"design"}, {}),
    ("POST", "/app/trials/{trial}/edit"): ({"design"}, choose(name="")),
    ("POST", "/app/trials/{trial}/state"): ({"design"}, {"state": "running"}),
    ("GET", "/app/trials/{trial}/decide"): ({"decide"}, {}),
    ("POST", "/app/trials/{trial}/decide"): ({"decide"}, {"unit": "a", "context": "morning"}),
    ("GET", "/app/trials/{trial}/report"): ({"report"}, {}),
    ("POST", "/app/trials/{trial}/report"): ({"report"}, {"decision": "1", "implemented": "0"}),
    ("GET", "/app/trials/{trial}/log"): (READ, {}),
    ("GET", "/app/trials/{trial}/export"): (READ, {}),
    ("GET", "/app/trials/{trial}"): (READ, {}),
    ("GET", "/app/trials/{trial}/dashboard"): (READ, {}),
    ("GET", "/app/trials/{trial}/stream"): (READ, {}),
    ("POST", "/app/trials/{trial}/audit"): (READ, {}),
    ("GET", "/app/trials/{trial}/analysis"): ({"read-unblinded"}, {}),
    ("POST", "/app/trials/{trial}/analysis"): ({"read-unblinded"}, {}),
    ("GET", "/app/try"): (ALL, {}),
    ("POST", "/app/try"): (ALL, {**TRY, "policy": "TS", "compliance": "always", "do": "over"}),
}
"""Who may see each page, and what a form of it may send. A new page has its line here."""

STREAM = "/app/trials/{trial}/stream"
"""Has no end for those who may listen; tests/test_pages_render.py does."""

ANALYSED = ("POST", "/app/trials/{trial}/analysis")
"""Needs another process that reads the database, and that of these tests is in memory; tests/test_pages_analysis.py has
one on disk."""

SENT = [place for place in PAGES if place[0] == "POST"]
OF_A_TRIAL = [place for place in PAGES if "{trial}" in place[1]]


def place_of(path: str, trial: str = "shared") -> str:
    return (
        path.replace("{trial}", trial)
        .replace("{name}", "page.js")
        .replace("{path:path}", "nowhere")
        .replace("{sketch}", "x")
    )


def test_every_page_is_in_the_table() -> None:
    found = {(method, page.path): set(page.scopes) for page in pages.routes() for method in page.methods or ()}
    assert found == {place: scopes for place, (scopes, _) in PAGES.items()}


@pytest.mark.parametrize("scope", SCOPES)
def test_the_scopes_let_in_whom_they_should(api: asgi.Api, shared_trial: str, scope: str) -> None:
    for (method, path), (scopes, fields) in PAGES.items():
        if path == STREAM and scope in scopes:
            continue
        visitor, where = Visitor(api, scope), place_of(path, shared_trial)
        reply = visitor.get(where) if method == "GET" else visitor.post(where, fields)
        if path == "/app/sign-in" and method == "POST":
            assert reply.status == 401
        elif not scopes or scope in scopes:
            assert reply.status not in (401, 403), (method, path, reply.body)
            assert reply.status == 503 if (method, path) == ANALYSED else reply.status < 500
        else:
            assert reply.status == 403, (method, path)
            assert scope in harmless(reply).text


def test_who_has_not_signed_in_is_sent_to_do_so(api: asgi.Api, shared_trial: str) -> None:
    for (method, path), (scopes, _) in PAGES.items():
        if not scopes:
            continue
        for headers in ({}, {"cookie": "takeup="}, {"cookie": "takeup=made-up"}, {"cookie": "takeup=\xff"}):
            reply = api.request(method, place_of(path, shared_trial), headers=headers)
            if method == "GET":
                assert reply.status == 303
                assert reply.headers["location"].startswith("/app/sign-in")
            else:
                assert reply.status == 401, (path, headers)


@pytest.mark.parametrize(("method", "path"), SENT)
def test_no_form_works_without_its_own_token(api: asgi.Api, shared_trial: str, method: str, path: str) -> None:
    visitor, other = Visitor(api, *SCOPES), Visitor(api, *SCOPES)
    before = api.request("GET", f"/trials/{shared_trial}/progress", key=api.key("read-unblinded")).json
    stolen = harmless(other.get("/app/try")).value("form_token")
    for token in ("", "x", stolen or "", "é"):
        assert visitor.post(place_of(path, shared_trial), PAGES[method, path][1], token).status == 403
    plain = api.request("POST", place_of(path, shared_trial), PAGES[method, path][1], headers=visitor.headers)
    assert plain.status == 415
    assert api.request("GET", f"/trials/{shared_trial}/progress", key=api.key("read-unblinded")).json == before


@pytest.mark.parametrize(("method", "path"), OF_A_TRIAL)
def test_a_key_of_one_trial_opens_no_page_of_another(api: asgi.Api, shared_trial: str, method: str, path: str) -> None:
    visitor = Visitor(api, *SCOPES, trials=["another"])
    where = place_of(path, shared_trial)
    reply = visitor.get(where) if method == "GET" else visitor.post(where, PAGES[method, path][1])
    assert reply.status == 403


@pytest.mark.parametrize(("method", "path"), OF_A_TRIAL)
def test_a_trial_that_is_not_there_is_a_page_that_says_so(api: asgi.Api, method: str, path: str) -> None:
    visitor, fields = Visitor(api, *SCOPES), PAGES[method, path][1]
    for name in ("nothing", "%3Cscript%3E", "a%20b", "..", "%E2%80%AE"):
        where = place_of(path, name)
        reply = visitor.get(where) if method == "GET" else visitor.post(where, {**fields, "name": "x"})
        assert reply.status == 404, (where, reply.status)
        harmless(reply)


def test_pages_are_whole_labelled_and_strict(api: asgi.Api, shared_trial: str) -> None:
    for scopes in (SCOPES, ("decide", "report", "read-blinded", "design")):
        visitor = Visitor(api, *scopes)
        for (method, path), _ in PAGES.items():
            if (
                method != "GET"
                or "{name}" in path
                or path.endswith(("/export", "/dashboard", "/stream"))
                or path == "/"
            ):
                continue
            reply = visitor.get(place_of(path, shared_trial))
            page = harmless(reply)
            assert "default-src 'none'" in reply.headers["content-security-policy"]
            assert "unsafe" not in reply.headers["content-security-policy"]
            assert set(page.unlabelled) <= set(page.described), (path, set(page.unlabelled) - set(page.described))
