"""People on pages: invited, signed in, managed, and what they sign."""

import re
from collections.abc import Iterator
from dataclasses import replace
from http.cookies import SimpleCookie
from urllib.parse import urlencode

import pytest
from sqlalchemy import text

import asgi
from page_visitor import FORM, PASSWORD, Visitor, harmless, member, person
from store_internals import engine
from takeup.service import codes
from takeup.service.sessions import form_token
from takeup.store.schema import TRIGGERS
from takeup.trial.events import body_of, event_of, link

OTHER = "another good password"


@pytest.fixture
def api() -> Iterator[asgi.Api]:
    with asgi.api() as running:
        yield running


def send(api: asgi.Api, path: str, cookie: str = "visitor", **fields: str) -> asgi.Reply:
    """A form of somebody who has not signed in."""
    sent = urlencode({"form_token": form_token(cookie), **fields}).encode()
    return api.request("POST", path, raw=sent, headers={"content-type": FORM, "cookie": f"takeup={cookie}"})


def signed_in(api: asgi.Api, login: str, password: str, **fields: str) -> Visitor | None:
    """Somebody who signs in as people do."""
    reply = send(api, "/app/sign-in", login=login, password=password, **fields)
    if reply.status != 303:
        assert reply.status == 401
        return None
    (cookie,) = SimpleCookie(reply.headers["set-cookie"]).values()
    visitor = Visitor(api, "decide")
    visitor.cookie, visitor.headers = cookie.value, {"cookie": f"takeup={cookie.value}"}
    return visitor


def link_of(reply: asgi.Reply) -> str:
    """The path of the link that a page shows."""
    found = re.search(r'value="http[^"]*(/app/invitation/[^"]+)"', reply.body.decode())
    assert found is not None, reply.body
    return found[1]


INVITED = {
    "name": "Max Born",
    "login": "Max@clinic.example",
    "role-clinician": "yes",
    "trials": "t, u",
    "site": "ward 3",
}


def test_from_invitation_to_signing_out(api: asgi.Api) -> None:
    admin = member(api, "admin")
    link = link_of(admin.post("/app/people", INVITED))
    assert "Max Born" in harmless(api.request("GET", link)).text
    assert api.request("GET", link).status == 200  # looking does not use it up
    for fields, said in (
        ({"password": "short", "again": "short"}, "at least 12 characters"),
        ({"password": PASSWORD, "again": OTHER}, "not the same"),
        ({"password": "max born max born", "again": "max born max born"}, "less regular"),
        ({"password": "maxborn12345", "again": "maxborn12345"}, "your own name"),
    ):
        refused = send(api, link, **fields)
        assert refused.status == 422
        assert said in harmless(refused).text
    assert signed_in(api, "max@clinic.example", PASSWORD) is None
    done = send(api, link, password=PASSWORD, again=PASSWORD)
    assert (done.status, done.headers["location"]) == (303, "/app/sign-in?set")
    assert "set-cookie" not in done.headers  # a link begins no session
    for method in ("GET", "POST"):
        over = api.request("GET", link) if method == "GET" else send(api, link, password=OTHER, again=OTHER)
        assert over.status == 410
        assert "has ended" in harmless(over).text
    max_ = signed_in(api, " MAX@clinic.example ", PASSWORD)
    assert max_ is not None
    shown = harmless(max_.get("/app/account")).text
    assert "Max Born" in shown
    assert "In t, u." in shown
    assert max_.post("/app/sign-out-everywhere", {}).status == 303
    assert max_.get("/app").status == 303


@pytest.mark.requirement("R-5.9")
def test_an_invitation_ends_with_its_time_and_with_the_next() -> None:
    time = [1_000_000]
    with asgi.api(clock=lambda: time[0]) as api:
        admin = member(api, "admin")
        first = link_of(admin.post("/app/people", INVITED))
        (max_,) = (each for each in api.run(api.app.state.service.people.all()) if each.name == "Max Born")
        second = link_of(admin.post(f"/app/people/{max_.id}", {"do": "invite"}))
        assert [api.request("GET", link).status for link in (first, second)] == [410, 200]
        time[0] += 3 * 86_400_000_000
        assert send(api, second, password=PASSWORD, again=PASSWORD).status == 410


@pytest.mark.requirement("R-5.5")
def test_wrong_ones_are_told_nothing_and_slowed_down(api: asgi.Api) -> None:
    ada = person(api, "clinician", password=PASSWORD)
    answers = set()
    for login, password in ((ada.login, OTHER), ("nobody@clinic.example", PASSWORD), ("", ""), ("'; --", "x")):
        reply = send(api, "/app/sign-in", login=login, password=password)
        assert reply.status == 401
        said = harmless(reply)
        answers.add(said.text)
        assert PASSWORD not in reply.body.decode()
    assert len(answers) == 1
    statuses = [send(api, "/app/sign-in", login=ada.login, password=OTHER).status for _ in range(10)]
    assert statuses == [401] * 7 + [429] * 3
    late = send(api, "/app/sign-in", login=ada.login, password=PASSWORD)
    assert late.status == 429
    assert int(late.headers["retry-after"]) <= 30
    assert "try again in" in harmless(late).text


def test_no_cookie_that_a_browser_brought_along_becomes_a_session(api: asgi.Api) -> None:
    """Session fixation: an attacker who sets the cookie before the sign-in does not know the one after it."""
    ada = person(api, "observer", password=PASSWORD)
    for planted in ("planted", member(api, "clinician").cookie):
        reply = send(api, "/app/sign-in", planted, login=ada.login, password=PASSWORD)
        assert reply.status == 303
        (cookie,) = SimpleCookie(reply.headers["set-cookie"]).values()
        assert cookie.value != planted
        assert api.request("GET", "/app", headers={"cookie": f"takeup={planted}"}).status == 303


def test_pages_can_be_closed_to_keys() -> None:
    with asgi.api(settings=replace(asgi.GENEROUS, key_sign_in=False)) as api:
        assert send(api, "/app/sign-in", key=api.key("admin")).status == 401
        assert "API key" not in harmless(api.request("GET", "/app/sign-in")).text


def test_one_time_codes_are_set_up_used_and_ended() -> None:
    time = [1_000_000 * 30 * 1_000_000]
    with asgi.api(clock=lambda: time[0]) as api:
        ada = person(api, "admin", password=PASSWORD)
        visitor = signed_in(api, ada.login, PASSWORD)
        assert visitor is not None
        secret = harmless(visitor.get("/app/account")).value("secret")
        assert secret is not None
        good = codes.code(secret, 1_000_000)
        for fields in (
            {"secret": secret, "code": good, "password": OTHER},
            {"secret": secret, "code": "000000", "password": PASSWORD},
            {"secret": "AA", "code": good, "password": PASSWORD},
        ):
            assert visitor.post("/app/account/codes", fields).status == 422
        assert signed_in(api, ada.login, PASSWORD) is not None
        assert visitor.post("/app/account/codes", {"secret": secret, "code": good, "password": PASSWORD}).status == 303
        assert visitor.get("/app").status == 303
        assert signed_in(api, ada.login, PASSWORD) is None
        assert signed_in(api, ada.login, PASSWORD, code=good) is None  # it was used to set them up
        time[0] += 30_000_000
        late = signed_in(api, ada.login, PASSWORD, code=codes.code(secret, 1_000_001))
        assert late is not None
        assert late.post("/app/account/codes", {"password": PASSWORD}).status == 303
        assert signed_in(api, ada.login, PASSWORD) is not None


def test_a_new_password_of_ones_own(api: asgi.Api) -> None:
    ada = person(api, "observer", password=PASSWORD)
    visitor, elsewhere = Visitor(api, caller=ada), Visitor(api, caller=ada)
    new = {"password": PASSWORD, "new": OTHER, "again": OTHER}
    for fields in ({**new, "password": OTHER}, {**new, "again": PASSWORD}, {**new, "new": "short", "again": "short"}):
        assert visitor.post("/app/account/password", fields).status == 422
    reply = visitor.post("/app/account/password", new)
    assert reply.headers["location"] == "/app/account"
    assert [each.get("/app").status for each in (visitor, elsewhere)] == [303, 303]
    assert signed_in(api, ada.login, OTHER) is not None
    assert signed_in(api, ada.login, PASSWORD) is None


@pytest.mark.requirement("R-5.8")
def test_an_admin_changes_roles_and_closes_accounts(api: asgi.Api) -> None:
    root = person(api, "admin")
    admin, max_ = Visitor(api, caller=root), person(api, "clinician", password=PASSWORD, name="Max Born")
    visitor, page = Visitor(api, caller=max_), f"/app/people/{max_.id}"
    assert visitor.get("/app/new").status == 403
    assert admin.post(page, {"do": "rights", "role-coordinator": "yes", "trials": "", "site": ""}).status == 303
    visitor = Visitor(api, caller=max_)
    assert visitor.get("/app/new").status == 200
    assert admin.post(page, {"do": "rights"}).status == 422
    assert admin.post(page, {"do": "close"}).status == 303
    assert visitor.get("/app").status == 303
    assert signed_in(api, max_.login, PASSWORD) is None
    for login in (max_.login, f" {max_.login.upper()}"):
        taken = admin.post("/app/people", {**INVITED, "login": login, "trials": ""})
        assert taken.status == 422
        assert "Somebody has the login" in harmless(taken).text
    assert admin.post(page, {"do": "open"}).status == 303
    assert signed_in(api, max_.login, PASSWORD) is None  # the old password is gone
    assert link_of(admin.post(page, {"do": "invite"}))
    said = harmless(admin.get(page)).text
    assert f"made coordinator, in all trials by {root.shown}" in said
    for do in ("close", "rights"):
        assert "Somebody else has to" in harmless(admin.post(f"/app/people/{root.id}", {"do": do})).text
    assert admin.post(page, {"do": "delete"}).status == 422


def test_an_admin_of_one_trial_manages_its_people_and_keys_alone(api: asgi.Api) -> None:
    admin, stranger = member(api, "admin", trials=["t"]), person(api, "clinician", name="A Stranger")
    assert "A Stranger" not in harmless(admin.get("/app/people")).text
    assert admin.get(f"/app/people/{stranger.id}").status == 404
    for fields in ({**INVITED, "trials": ""}, INVITED):
        assert "name those" in harmless(admin.post("/app/people", fields)).text
    assert admin.post("/app/people", {**INVITED, "trials": "t"}).status == 200
    assert admin.post("/app/people", {**INVITED, "trials": "t"}).status == 422  # the login is taken
    assert "name those" in harmless(admin.post("/app/keys", {"name": "x", "scope-decide": "yes"})).text
    other = api.key("decide").split("_")[1]
    assert admin.post(f"/app/keys/{other}/revoke", {}).status == 404


def test_keys_are_made_and_revoked_on_a_page(api: asgi.Api) -> None:
    admin = member(api, "admin")
    assert "Tick what it may do" in harmless(admin.post("/app/keys", {"name": "ward 3"})).text
    made = admin.post("/app/keys", {"name": "ward 3", "scope-decide": "yes", "trials": "t"})
    found = re.search(r"takeup_[0-9a-f]{12}_[\w-]+", made.body.decode())
    assert found is not None
    key = found[0]
    assert api.request("GET", "/trials", key=key).status == 200
    assert key not in admin.get("/app/keys").body.decode()
    assert admin.post(f"/app/keys/{key.split('_')[1]}/revoke", {}).status == 303
    assert api.request("GET", "/trials", key=key).status == 401


@pytest.mark.requirement("R-2.11")
def test_the_log_names_the_person(api: asgi.Api) -> None:
    key = api.key("design", "read-unblinded")
    api.request("POST", "/trials?trial=t", asgi.SPEC, key)
    api.request("PUT", "/trials/t/state", {"state": "running"}, key)
    ada = person(api, "clinician")
    assert Visitor(api, caller=ada).post("/app/trials/t/decide", {"unit": "a", "context": "morning"}).status == 200
    (event,) = api.request("GET", "/trials/t/events?kind=decided", key=key).json["events"]
    assert event["event"]["by"] == f"Ada Byron ({ada.login})"


START = {"state": "running", "meaning": "I start this trial"}
STOP = {"state": "stopped", "reason": "harm", "sure": "yes", "meaning": "I stop this trial for good"}


@pytest.mark.requirement("R-5.1")
def test_people_sign_what_they_start_and_stop(api: asgi.Api) -> None:
    begun = api.store.clock()
    key = api.key("design", "read-unblinded")
    api.request("POST", "/trials?trial=t", asgi.SPEC, key)
    ada = person(api, "coordinator", password=PASSWORD)
    visitor, place = Visitor(api, caller=ada), "/app/trials/t/state"
    assert "I start this trial" in harmless(visitor.get("/app/trials/t")).text
    for fields in (START, {**START, "password": OTHER}):
        refused = visitor.post(place, fields)
        assert refused.status == 422
        assert "Nothing was signed" in harmless(refused).text
    assert visitor.post(place, {**START, "meaning": "I like tea", "password": PASSWORD}).status == 409
    assert visitor.post(place, {**STOP, "password": PASSWORD, "sure": ""}).status == 422
    assert visitor.post(place, {**START, "password": PASSWORD}).status == 303
    assert visitor.post(place, {"state": "paused"}).status == 303  # quick, where somebody may be harmed
    assert visitor.post(place, {**START, "meaning": "I let this trial go on", "password": PASSWORD}).status == 303
    assert visitor.post(place, {**STOP, "password": PASSWORD}).status == 303
    events = api.request("GET", "/trials/t/events?kind=moved", key=key).json["events"]
    times = [each["event"]["at"] for each in events]
    assert begun < times[0] < times[1] < times[2] < times[3] < api.store.clock()
    assert [(each["event"]["by"], each["event"].get("signature")) for each in events] == [
        (ada.shown, {"name": "Ada Byron", "meaning": "I start this trial"}),
        (ada.shown, None),
        (ada.shown, {"name": "Ada Byron", "meaning": "I let this trial go on"}),
        (ada.shown, {"name": "Ada Byron", "meaning": "I stop this trial for good"}),
    ]
    assert api.request("GET", "/trials/t/audit", key=key).json["passed"]


@pytest.mark.requirement("R-5.2")
@pytest.mark.parametrize(("said", "instead"), [("Ada Byron", "Max Born"), ("I start this trial", "I like tea")])
@pytest.mark.parametrize("hashed", [False, True])
def test_an_audit_holds_signatures_to_what_they_say(api: asgi.Api, said: str, instead: str, hashed: bool) -> None:
    """They are under the hash; in a log that was hashed anew they still have to fit what they stand under.

    Another name in a log that was hashed anew is a matter for anchors, as is everything that makes sense.
    """
    key = api.key("design", "read-unblinded")
    api.request("POST", "/trials?trial=t", asgi.SPEC, key)
    visitor = member(api, "coordinator", password=PASSWORD)
    assert visitor.post("/app/trials/t/state", {**START, "password": PASSWORD}).status == 303
    with engine(api.store).begin() as connection:
        first, last = connection.execute(text("SELECT hash, body FROM events ORDER BY sequence")).all()
        assert body_of(event_of(last.body)) == last.body
        assert said in last.body
        body = last.body.replace(said, instead)
        hash_ = link(first.hash, 2, body) if hashed else last.hash
        for change in (
            "DROP TRIGGER events_no_update",
            "UPDATE events SET body = :body, hash = :hash WHERE sequence = 2",
            f"CREATE TRIGGER {TRIGGERS['sqlite']['events_no_update'].removeprefix('CREATE TRIGGER ')}",
            "UPDATE trials SET hash = :hash",
        ):
            connection.execute(text(change).bindparams(**_given(change, body=body, hash=hash_)))
    found = api.request("GET", "/trials/t/audit", key=key).json
    assert found["passed"] is (hashed and said == "Ada Byron"), found


def _given(statement: str, **values: str) -> dict[str, str]:
    return {name: value for name, value in values.items() if f":{name}" in statement}


def test_refusals_speak_to_people(api: asgi.Api) -> None:
    visitor = member(api, "clinician")
    said = harmless(visitor.get("/app/new")).text
    assert "Your account may not make, start and stop trials; ask whoever manages people here." in said
    assert "key" not in said.lower().replace("keyboard", "")
