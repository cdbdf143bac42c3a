"""Signing in to the pages: sessions, cookies, form tokens, headers."""

import http.cookies
import re
from collections.abc import Iterator
from dataclasses import replace
from http.cookies import SimpleCookie
from itertools import count
from urllib.parse import urlencode

import pytest
from starlette.types import Message

import asgi
from store_internals import engine
from takeup.service.callers import SCOPES
from takeup.service.pages import routes
from takeup.service.pages.page import CONTENT_POLICY
from takeup.service.pages.sign_in import _inside
from takeup.service.sessions import MOST_OF_A_KEY, digest, form_token
from takeup.store.schema import sessions

FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.fixture
def api() -> Iterator[asgi.Api]:
    with asgi.api() as running:
        yield running


def cookie_of(reply: asgi.Reply) -> str:
    (found,) = SimpleCookie(reply.headers["set-cookie"]).values()
    return found.value


def send(api: asgi.Api, path: str, cookie: str, token: str | None = None, **fields: str) -> asgi.Reply:
    sent = {"form_token": form_token(cookie) if token is None else token, **fields}
    return api.request("POST", path, raw=urlencode(sent).encode(), headers={**FORM, "cookie": f"takeup={cookie}"})


def signed_in(api: asgi.Api, *scopes: str) -> str:
    return cookie_of(send(api, "/app/sign-in", "visitor", key=api.key(*scopes)))


def get(api: asgi.Api, path: str, cookie: str) -> asgi.Reply:
    return api.request("GET", path, headers={"cookie": f"takeup={cookie}"})


def test_a_visitor_signs_in_and_out(api: asgi.Api) -> None:
    asked = api.request("GET", "/app")
    assert (asked.status, asked.headers["location"]) == (303, "/app/sign-in?next=/app")
    form = api.request("GET", asked.headers["location"])
    visitor = cookie_of(form)
    assert f'name="form_token" value="{form_token(visitor)}"'.encode() in form.body
    key = api.key("read-blinded")
    reply = send(api, "/app/sign-in", visitor, key=key, next="/app/trials/x")
    assert (reply.status, reply.headers["location"]) == (303, "/app/trials/x")
    session = cookie_of(reply)
    assert session != visitor
    assert get(api, "/app", session).status == 200
    out = send(api, "/app/sign-out", session)
    assert out.status == 303
    assert cookie_of(out) != session
    assert get(api, "/app", session).headers["location"].startswith("/app/sign-in")


def test_the_cookie_is_for_this_site_and_no_script(api: asgi.Api) -> None:
    reply = send(api, "/app/sign-in", "visitor", key=api.key("decide"))
    said = reply.headers["set-cookie"].lower()
    assert "httponly" in said
    assert "samesite=strict" in said
    assert "max-age=43200" in said
    with asgi.api(settings=replace(asgi.GENEROUS, behind_proxy=True)) as safe:
        said = safe.request("GET", "/app/sign-in").headers["set-cookie"]
    assert said.startswith("__Host-takeup=")
    assert "secure" in said.lower()


def test_no_key_no_session(api: asgi.Api) -> None:
    for key in ("", "nonsense", "takeup_000000000000_" + "x" * 43, api.key("decide")[:-1]):
        reply = send(api, "/app/sign-in", "visitor", key=key)
        assert reply.status == 401
        assert b"no API key of this service" in reply.body
    with engine(api.store).connect() as connection:
        assert connection.execute(sessions.select()).all() == []


@pytest.mark.requirement("R-4.7")
def test_the_database_holds_the_hash_alone(api: asgi.Api) -> None:
    session = signed_in(api, "decide")
    with engine(api.store).connect() as connection:
        (row,) = connection.execute(sessions.select()).all()
    assert row.hash == digest(session)
    assert session not in str(row)


def test_a_form_whose_session_ends_while_it_comes_is_not_taken(api: asgi.Api) -> None:
    """As long as a form is on its way, somebody may sign out, or a key may be revoked."""
    cookie, sent = signed_in(api, "design"), list[Message]()

    async def receive() -> Message:
        await api.app.state.service.sessions.end(cookie)
        return {"type": "http.request", "body": urlencode({"form_token": form_token(cookie)}).encode()}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = {**FORM, "cookie": f"takeup={cookie}"}
    api.run(api.app(asgi.scope("POST", "/app/trials/t/state", None, headers), receive, send))
    assert sent[0]["status"] == 401


@pytest.mark.requirement("R-5.7")
def test_a_session_ends_with_its_key_and_with_its_time() -> None:
    time = [1_000_000]
    with asgi.api(clock=lambda: time[0]) as api:
        short, long = signed_in(api, "decide"), signed_in(api, "decide")
        assert get(api, "/app", short).status == 200
        with engine(api.store).connect() as connection:
            row = next(row for row in connection.execute(sessions.select()).all() if row.hash == digest(short))
        api.run(api.app.state.service.keys.revoke(row.key, by="test"))
        assert get(api, "/app", short).status == 303
        assert get(api, "/app", long).status == 200
        time[0] += 12 * 3_600 * 1_000_000
        assert get(api, "/app", long).status == 303
        signed_in(api, "decide")  # and takes expired ones along
        with engine(api.store).connect() as connection:
            assert len(connection.execute(sessions.select()).all()) == 1


def test_a_key_has_few_sessions_and_the_oldest_ends() -> None:
    time = count(1_000_000)
    with asgi.api(clock=lambda: next(time)) as api:
        bystander, key = signed_in(api, "decide"), api.key("decide")
        begun = [cookie_of(send(api, "/app/sign-in", "visitor", key=key)) for _ in range(MOST_OF_A_KEY + 2)]
        assert [get(api, "/app", each).status for each in begun] == [303] * 2 + [200] * MOST_OF_A_KEY
        assert get(api, "/app", bystander).status == 200


def test_signing_in_counts_as_a_request_of_the_key() -> None:
    with asgi.api(settings=replace(asgi.GENEROUS, rate=1e-9, burst=3)) as api:
        key = api.key("decide")
        statuses = [send(api, "/app/sign-in", "visitor", key=key).status for _ in range(5)]
        assert statuses == [303, 303, 303, 429, 429]


@pytest.mark.parametrize("token", ["", "x", form_token("another")])
def test_a_form_from_elsewhere_is_refused(api: asgi.Api, token: str) -> None:
    session = signed_in(api, *SCOPES)
    for route in routes():
        if "POST" in (route.methods or ()):
            path = route.path.replace("{trial}", "x")
            reply = send(api, path, session, token)
            assert reply.status == 403, path
            assert b"came from elsewhere" in reply.body
    assert get(api, "/app", session).status == 200


def test_pages_run_nothing_that_is_not_ours(api: asgi.Api) -> None:
    session = signed_in(api, "read-unblinded")
    for path in ("/app", "/app/sign-in", "/app/nowhere"):
        reply = get(api, path, session)
        assert reply.headers["content-security-policy"] == CONTENT_POLICY
        assert reply.headers["cache-control"] == "no-store"
        assert not re.search(rb"<script(?! src=)|<style| style=| on[a-z]+=|https?://(?!www\.w3\.org)", reply.body)


def test_files_are_kept_by_browsers_until_they_change(api: asgi.Api) -> None:
    page = api.request("GET", "/app/sign-in").body.decode()
    found = re.findall(r'(?:href|src)="(/app/static/[^"]+)"', page)
    assert len(found) >= 4
    for path in found:
        reply = api.request("GET", path)
        assert reply.status == 200
        assert "immutable" in reply.headers["cache-control"]
    assert api.request("GET", "/app/static/..%2fpage.py").status == 404


@pytest.mark.parametrize(
    "path",
    [
        "https://elsewhere.example/app/x",
        "//elsewhere.example/app/",
        "/\\elsewhere.example",
        "javascript:alert(1)",
        "/app\\@x",
        "",
    ],
)
def test_nobody_is_sent_to_another_site(path: str) -> None:
    assert _inside(path) == "/app"


def test_our_cookie_is_found_among_others_and_never_unquoted(api: asgi.Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unquoting takes the square of a cookie's length: 40 s for one of 200 kB."""
    session = signed_in(api, "read-blinded")

    def never(_: object) -> str:
        raise AssertionError("it was unquoted")

    monkeypatch.setattr(http.cookies, "_unquote", never)
    others = 'a="\\1\\2"; takeup2=x; =;; takeup'
    for cookies in (f"takeup={session}", f"{others}; takeup={session}", f"takeup={session};{others}"):
        assert api.request("GET", "/app", headers={"cookie": cookies}).status == 200
    for cookies in (f'takeup="{session}"', f"takeup={session}; takeup=x", f"takeup={session}; takeup={session}"):
        assert api.request("GET", "/app", headers={"cookie": cookies}).status == 303


def test_a_form_that_anybody_may_send_is_small(api: asgi.Api) -> None:
    assert send(api, "/app/sign-in", "visitor", key="x" * 10_000).status == 401
    assert send(api, "/app/sign-in", "visitor", key="x" * 20_000).status == 413
