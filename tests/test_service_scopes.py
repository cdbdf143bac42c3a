"""Every operation with every scope: exactly those that are specified are let in."""

import json
from typing import Any

import pytest

import asgi
from page_visitor import member
from takeup.service import pages
from takeup.service.auth import SCOPES as DECLARED
from takeup.service.callers import SCOPES
from takeup.service.people import ROLES, Role
from takeup.service.routes import ROUTERS, routes

ALL: set[str] = set(SCOPES)
READ: set[str] = {"read-blinded", "read-unblinded"}
OPERATIONS: dict[tuple[str, str], tuple[set[str], Any]] = {
    ("POST", "/trials"): ({"design"}, asgi.SPEC),
    ("GET", "/trials"): (ALL, None),
    ("GET", "/trials/{trial}"): (ALL, None),
    ("PUT", "/trials/{trial}/spec"): ({"design"}, asgi.SPEC),
    ("PUT", "/trials/{trial}/state"): ({"design"}, {"state": "running"}),
    ("POST", "/trials/{trial}/past"): (
        {"design"},
        {"past": [{"unit": "p", "context": "morning", "proposal": "tea"}]},
    ),
    ("POST", "/trials/{trial}/decisions"): ({"decide"}, {"unit": "a", "context": "morning"}),
    ("POST", "/trials/{trial}/decisions/batch"): ({"decide"}, {"units": [{"unit": "b", "context": "morning"}]}),
    ("POST", "/trials/{trial}/fallbacks"): ({"decide"}, {"unit": "c", "context": "morning", "proposal": "tea"}),
    ("POST", "/trials/{trial}/reports"): ({"report"}, {"decision": 1, "implemented": "tea"}),
    ("POST", "/trials/{trial}/reports/batch"): ({"report"}, {"reports": [{"decision": 1, "outcome": "good"}]}),
    ("POST", "/trials/{trial}/leases"): ({"lease"}, None),
    ("DELETE", "/trials/{trial}/leases/{number}"): ({"lease", "design"}, None),
    ("POST", "/trials/{trial}/ingest"): ({"lease"}, None),
    ("GET", "/trials/{trial}/progress"): (READ, None),
    ("GET", "/trials/{trial}/summary"): ({"read-unblinded"}, None),
    ("GET", "/trials/{trial}/course"): ({"read-unblinded"}, None),
    ("GET", "/trials/{trial}/learnt"): ({"read-unblinded"}, None),
    ("GET", "/trials/{trial}/events"): (READ, None),
    ("GET", "/trials/{trial}/export"): (READ, None),
    ("GET", "/trials/{trial}/audit"): (READ, None),
    ("POST", "/keys"): ({"admin"}, {"name": "x", "scopes": ["decide"]}),
    ("GET", "/keys"): ({"admin"}, None),
    ("DELETE", "/keys/{id}"): ({"admin"}, None),
    ("GET", "/metrics"): (ALL, None),
    ("GET", "/health"): (set(), None),
    ("GET", "/ready"): (set(), None),
}
"""What each operation needs, as docs/service.md has it."""
UNBLINDED = {("POST", "/trials/{trial}/leases"), ("POST", "/trials/{trial}/ingest")}
"""Operations that a blinded key is turned away from, whatever else it may do."""


def address(path: str, trial: str, id_: str) -> str:
    """A path of the table with what a request needs in it."""
    query = "?batch=b" if path.endswith("/ingest") else ""
    return path.replace("{trial}", trial).replace("{id}", id_).replace("{number}", "1") + query


@pytest.mark.requirement("R-4.1")
def test_every_operation_is_in_the_table() -> None:
    found = {
        (method, route.path): set((route.openapi_extra or {})[DECLARED])
        for route in routes()
        for method in route.methods or ()
    }
    assert found == {operation: scopes for operation, (scopes, _) in OPERATIONS.items()}


@pytest.mark.requirement("R-4.1")
def test_the_application_has_no_other_way_in(api: asgi.Api) -> None:
    """What these tests and those of the pages go through is all that there is, but for the description of the API."""
    listed = [*routes(), *pages.routes()]
    assert [getattr(way, "path", way) for way in api.app.routes if way not in listed] == ["/openapi.json"]
    assert all(way in api.app.routes for way in listed)
    assert all(route in routes() for router in ROUTERS for route in router.routes)


@pytest.mark.requirement("R-4.1")
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_the_scopes_let_in_whom_they_should(
    api: asgi.Api, shared_trial: str, method: str, path: str, scope: str
) -> None:
    scopes, body = OPERATIONS[method, path]
    key = api.key(scope)
    other = key.split("_")[1]
    reply = api.request(method, address(path, shared_trial, other), body, key)
    if (method, path) in UNBLINDED and scope in scopes:
        assert reply.status == 403
        assert "a blinded key gets none" in reply.json["detail"]
        reply = api.request(method, address(path, shared_trial, other), body, api.key(scope, "read-unblinded"))
    if not scopes or scope in scopes:
        assert reply.status not in (401, 403), reply.body
        assert reply.status < 500
    else:
        assert reply.status == 403
        assert scope in reply.json["detail"]


@pytest.mark.requirement("R-4.4", "R-4.6")
@pytest.mark.parametrize("role", ROLES)
def test_every_role_on_every_operation(api: asgi.Api, shared_trial: str, role: Role) -> None:
    """Generated from the routes: a role's scopes as a key, the same of another trial, and a person's session."""
    whole, elsewhere = api.key(*ROLES[role]), api.key(*ROLES[role], trials=["another"])
    visitor = member(api, role)
    for route in routes():
        method = "".join(route.methods or ())
        needed = (route.openapi_extra or {})[DECLARED]
        if not needed:
            continue
        body = json.loads(json.dumps(OPERATIONS[method, route.path][1]).replace('"unit": "', f'"unit": "{role} '))
        place = address(route.path, shared_trial, "0" * 12)
        assert api.request(method, place, body, headers=visitor.headers).status == 401, (method, place)
        allowed = any(scope in ROLES[role] for scope in needed)
        assert (api.request(method, place, body, whole).status == 403) is not allowed, (method, place)
        if "{trial}" in route.path or not allowed:
            assert api.request(method, place, body, elsewhere).status == 403, (method, place)


@pytest.mark.requirement("R-4.1")
@pytest.mark.parametrize(("method", "path"), [place for place, (scopes, _) in OPERATIONS.items() if scopes])
def test_without_a_valid_key_there_is_no_way_in(api: asgi.Api, shared_trial: str, method: str, path: str) -> None:
    place = address(path, shared_trial, "0" * 12)
    body = OPERATIONS[method, path][1]
    good = api.key(*SCOPES)
    revoked = api.key(*SCOPES)
    api.request("DELETE", f"/keys/{revoked.split('_')[1]}", key=api.key("admin"))
    wrong = good[:-1] + ("A" if good[-1] != "A" else "B")
    for headers in (
        {},
        {"authorization": "Bearer"},
        {"authorization": "Bearer takeup_"},
        {"authorization": f"Basic {good}"},
        {"authorization": f"Bearer {wrong}"},
        {"authorization": f"Bearer {revoked}"},
        {"authorization": f"Bearer {good} "},
        {"authorization": "Bearer \xff\xfe"},
    ):
        reply = api.request(method, place, body, headers=headers)
        assert reply.status == 401, headers
        assert reply.headers["www-authenticate"] == "Bearer"


@pytest.mark.requirement("R-4.4")
@pytest.mark.parametrize(("method", "path"), [place for place in OPERATIONS if "{trial}" in place[1]])
def test_a_key_of_one_trial_is_no_key_of_another(api: asgi.Api, shared_trial: str, method: str, path: str) -> None:
    body = OPERATIONS[method, path][1]
    elsewhere, here = api.key(*SCOPES, trials=["another"]), api.key(*SCOPES, trials=["another", shared_trial])
    place = address(path, shared_trial, "")
    assert api.request(method, place, body, elsewhere).status == 403
    assert api.request(method, place, body, here).status != 403


def test_a_key_of_one_trial_lists_and_creates_that_one_alone(api: asgi.Api, shared_trial: str) -> None:
    key = api.key(*SCOPES, trials=["mine"])
    assert api.request("GET", "/trials", key=key).json == {"trials": []}
    assert api.request("POST", "/trials?trial=yours", asgi.SPEC, key).status == 403
    assert api.request("POST", "/trials", asgi.SPEC, key).status == 403
    assert api.request("POST", "/trials?trial=mine", asgi.SPEC, key).status == 201
    assert [each["trial"] for each in api.request("GET", "/trials", key=key).json["trials"]] == ["mine"]


def test_an_admin_of_one_trial_makes_and_sees_keys_of_that_one_alone(api: asgi.Api) -> None:
    key = api.key("admin", trials=["mine"])
    asked = {"name": "x", "scopes": ["decide"]}
    assert api.request("POST", "/keys", asked, key).status == 403
    assert api.request("POST", "/keys", {**asked, "trials": ["mine", "yours"]}, key).status == 403
    made = api.request("POST", "/keys", {**asked, "trials": ["mine"]}, key)
    assert made.status == 201
    stranger = api.key("decide").split("_")[1]
    listed = api.request("GET", "/keys", key=key).json["keys"]
    assert {each["id"] for each in listed} >= {made.json["id"], key.split("_")[1]}
    assert stranger not in {each["id"] for each in listed}
    assert api.request("DELETE", f"/keys/{stranger}", key=key).status == 404
    assert api.request("DELETE", f"/keys/{made.json['id']}", key=key).status == 200


@pytest.mark.requirement("R-4.5")
def test_a_revoked_key_stops_at_once_and_stays_in_the_list(api: asgi.Api) -> None:
    admin = api.key("admin")
    made = api.request("POST", "/keys", {"name": "x", "scopes": ["decide", "decide"]}, admin).json
    assert made["scopes"] == ["decide"]
    assert api.request("GET", "/trials", key=made["key"]).status == 200
    revoked = api.request("DELETE", f"/keys/{made['id']}", key=admin).json
    assert api.request("GET", "/trials", key=made["key"]).status == 401
    again = api.request("DELETE", f"/keys/{made['id']}", key=admin).json
    assert again == revoked
    assert revoked["revoked_by"].startswith("admin (")
    assert made["key"] not in api.request("GET", "/keys", key=admin).body.decode()
