"""Every page with every scope: exactly those that are specified are let in, and no form works without its token."""

from functools import partial

import pytest
from sqlalchemy import update

import asgi
from page_visitor import PASSWORD, TRY, RenderHere, Visitor, choose, harmless, member, person
from store_internals import engine
from takeup.service import pages
from takeup.service.callers import SCOPES, WORDS
from takeup.service.people import ROLES, Person, Role
from takeup.store.schema import sessions
from takeup.trial.steering import UNBLINDING

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
    ("GET", "/app/trials/{trial}/past"): ({"design"}, {}),
    ("POST", "/app/trials/{trial}/past"): ({"design"}, {"table": ""}),
    ("POST", "/app/trials/{trial}/state"): ({"design"}, {"state": "running"}),
    ("GET", "/app/trials/{trial}/decide"): ({"decide"}, {}),
    ("POST", "/app/trials/{trial}/decide"): ({"decide"}, {"unit": "a", "context": "morning"}),
    ("GET", "/app/trials/{trial}/report"): ({"report"}, {}),
    ("POST", "/app/trials/{trial}/report"): ({"report"}, {"decision": "1", "implemented": "0"}),
    ("GET", "/app/trials/{trial}/worklist"): ({"report"}, {}),
    ("GET", "/app/trials/{trial}/worklist.csv"): ({"report"}, {}),
    ("GET", "/app/trials/{trial}/log"): (READ, {}),
    ("GET", "/app/trials/{trial}/export"): (READ, {}),
    ("GET", "/app/trials/{trial}/cdisc"): ({"read-unblinded"}, {}),
    ("GET", "/app/trials/{trial}"): (READ, {}),
    ("GET", "/app/trials/{trial}/dashboard"): (READ, {}),
    ("GET", "/app/trials/{trial}/stream"): (READ, {}),
    ("POST", "/app/trials/{trial}/audit"): (READ, {}),
    ("GET", "/app/trials/{trial}/analysis"): ({"read-unblinded"}, {}),
    ("POST", "/app/trials/{trial}/analysis"): ({"read-unblinded"}, {}),
    ("GET", "/app/trials/{trial}/unblind"): ({"read-unblinded"}, {}),
    ("POST", "/app/trials/{trial}/unblind"): ({"read-unblinded"}, {}),
    ("GET", "/app/people"): ({"admin"}, {}),
    ("POST", "/app/people"): ({"admin"}, {"name": ""}),
    ("GET", "/app/people/{person}"): ({"admin"}, {}),
    ("POST", "/app/people/{person}"): ({"admin"}, {"do": "invite"}),
    ("GET", "/app/keys"): ({"admin"}, {}),
    ("POST", "/app/keys"): ({"admin"}, {"name": ""}),
    ("POST", "/app/keys/{id}/revoke"): ({"admin"}, {}),
    ("GET", "/app/account"): (ALL, {}),
    ("POST", "/app/account/password"): (ALL, {}),
    ("POST", "/app/account/codes"): (ALL, {}),
    ("GET", "/app/invitation/{token}"): (NOBODY, {}),
    ("POST", "/app/invitation/{token}"): (NOBODY, {}),
    ("GET", "/app/try"): (ALL, {}),
    ("POST", "/app/try"): (ALL, {**TRY, "policy": "TS", "compliance": "always", "do": "over"}),
}
"""Who may see each page, and what a form of it may send. A new page has its line here."""

DONE_ELSEWHERE = {
    ("POST", "/app/trials/{trial}/analysis"),
    ("GET", "/app/trials/{trial}"),
    ("GET", "/app/trials/{trial}/dashboard"),
    ("POST", "/app/try"),
}
"""Those that take long; the scopes above have been there."""

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
        .replace("{person}", "x")
        .replace("{id}", "x")
        .replace("{token}", "x")
    )


@pytest.fixture(scope="module", autouse=True)
def rendered_here(api: asgi.Api) -> None:
    """No other process draws."""
    api.app.state.render_cache.process = RenderHere()


@pytest.mark.requirement("R-4.1")
def test_every_page_is_in_the_table() -> None:
    found = {(method, page.path): set(page.scopes) for page in pages.routes() for method in page.methods or ()}
    assert found == {place: scopes for place, (scopes, _) in PAGES.items()}


@pytest.mark.requirement("R-4.1")
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
            said = harmless(reply).text
            assert any(WORDS[each] in said for each in SCOPES if each in scopes)
            assert "scope" not in said


@pytest.mark.requirement("R-4.4", "R-4.6")
@pytest.mark.parametrize("role", ROLES)
def test_every_role_on_every_page(api: asgi.Api, shared_trial: str, role: Role) -> None:
    """Generated from the routes: signed in, not at all, for too long, deactivated, of another trial."""
    service = api.app.state.service
    open_, over, closed = (person(api, role) for _ in range(3))
    elsewhere = person(api, role, trials=["another"])
    if "read-unblinded" in ROLES[role]:
        open_ = api.run(service.people.unblind(open_, shared_trial))
    visitors = {each.id: Visitor(api, caller=each) for each in (open_, over, closed, elsewhere)}
    with engine(api.store).begin() as connection:
        connection.execute(update(sessions).where(sessions.c.key == over.id).values(expires_at=0))
    api.run(service.people.close(closed, "test"))
    for page in pages.routes():
        method = "".join(page.methods or ())
        allowed = any(scope in ROLES[role] for scope in page.scopes)
        fields, where = PAGES[method, page.path][1], place_of(page.path, shared_trial)
        status = partial(_status, visitors, method, where, {**fields, "unit": f"of a {role}"})
        if page.scopes:
            out = 303 if method == "GET" else 401
            assert [status(over), status(closed)] == [out, out], (method, page.path)
            if "{trial}" in page.path or not allowed:
                assert status(elsewhere) == 403, (method, page.path)
        if allowed and page.path != STREAM and (method, page.path) not in DONE_ELSEWHERE:
            visitors[open_.id] = Visitor(api, caller=open_)  # as the last page may have signed them out
            assert status(open_) not in (401, 403), (method, page.path)
        elif page.scopes and not allowed:
            assert status(open_) == 403, (method, page.path)


def _status(visitors: dict[str, Visitor], method: str, where: str, fields: dict[str, str], caller: Person) -> int:
    visitor = visitors[caller.id]
    return (visitor.get(where) if method == "GET" else visitor.post(where, fields)).status


@pytest.mark.requirement("R-5.3")
def test_who_has_not_signed_to_see_the_arms_sees_none(api: asgi.Api, shared_trial: str) -> None:
    visitor = member(api, "statistician", password=PASSWORD)
    analysis, dashboard = f"/app/trials/{shared_trial}/analysis", f"/app/trials/{shared_trial}/dashboard"
    assert visitor.get(analysis).headers["location"] == f"/app/trials/{shared_trial}/unblind"
    assert b"tea" not in visitor.get(dashboard).body.replace(b"tea or coffee", b"")
    for path in ("", "/log", "/export?format=csv"):
        assert b"coffee" not in visitor.get(f"/app/trials/{shared_trial}{path}").body.replace(b"tea or coffee", b"")
    wrong = visitor.post(f"/app/trials/{shared_trial}/unblind", {"password": "not this one"})
    assert wrong.status == 422
    assert "Nothing was signed" in harmless(wrong).text
    assert visitor.get(analysis).status == 303
    assert visitor.post(f"/app/trials/{shared_trial}/unblind", {"password": PASSWORD}).status == 303
    assert visitor.get(analysis).status == 200
    (last,) = api.request("GET", f"/trials/{shared_trial}/events?kind=unblinded", key=api.key("read-unblinded")).json[
        "events"
    ]
    assert last["event"]["signature"] == {"name": "Ada Byron", "meaning": UNBLINDING}


@pytest.mark.requirement("R-4.1")
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


@pytest.mark.requirement("R-9.9")
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


@pytest.mark.requirement("R-4.4")
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
                or path.endswith(("/export", "/cdisc", "/worklist.csv", "/dashboard", "/stream"))
                or path == "/"
            ):
                continue
            reply = visitor.get(place_of(path, shared_trial))
            page = harmless(reply)
            assert "default-src 'none'" in reply.headers["content-security-policy"]
            assert "unsafe" not in reply.headers["content-security-policy"]
            assert set(page.unlabelled) <= set(page.described), (path, set(page.unlabelled) - set(page.described))
