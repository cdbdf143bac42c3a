"""What people of a clinic stumble over in a day: every answer says what happened and what to do."""

import html
import re
from typing import Any

import pytest

import asgi
from asgi import Reply
from page_visitor import Visitor, harmless, member
from takeup.live import Trial


@pytest.fixture(scope="module")
def nurse(api: asgi.Api) -> Visitor:
    return member(api, "clinician")


def trial_of(api: asgi.Api, name: str, *, draft: bool = False, **changes: Any) -> Trial:
    made = Trial.create(api.store, {**asgi.SPEC, **changes}, trial=name)
    if not draft:
        made.start()
    return made


def said(reply: Reply) -> str:
    """The text of a page, as it is read."""
    return " ".join(re.sub(r"<[^>]+>", " ", html.unescape(reply.body.decode())).split())


def asked(who: Visitor, trial: str, unit: str, **more: str) -> Reply:
    return who.post(f"/app/trials/{trial}/decide", {"unit": unit, "context": "morning", **more})


def test_an_answer_from_before_is_called_so(api: asgi.Api, nurse: Visitor) -> None:
    trial_of(api, "again")
    first, second = asked(nurse, "again", "P01"), asked(nurse, "again", "P01")
    assert "decided before" not in said(first)
    assert "P01 was decided before" in said(second)
    assert "Group morning" in said(first)


def test_a_patient_of_another_group_is_told_in_the_words_of_the_page(api: asgi.Api, nurse: Visitor) -> None:
    trial_of(api, "other-group")
    asked(nurse, "other-group", "P01")
    reply = asked(nurse, "other-group", "P01", context="evening")
    assert reply.status == 409
    assert "P01 was decided before, in the group morning (decision 1)." in said(reply)
    assert "Unit '" not in said(reply)
    unknown = nurse.post("/app/trials/other-group/report", {"unit": "P99", "outcome": "0"})
    assert unknown.status == 404
    assert "Nobody called P99 has been decided on in this trial." in said(unknown)


def test_capital_letters_make_nobody_a_second_patient(api: asgi.Api, nurse: Visitor) -> None:
    trial = trial_of(api, "letters")
    asked(nurse, "letters", "P02")
    reply = asked(nurse, "letters", "p02")
    assert reply.status == 409
    assert "P02 was decided on before" in said(reply)
    assert trial.progress().decisions == 1
    harmless(reply)
    assert asked(nurse, "letters", "p02", another="yes").status == 200
    assert trial.progress().decisions == 2
    assert asked(nurse, "letters", "p02").status == 200  # is known by now
    assert asked(nurse, "letters", "P03").status == 200


def test_find_minds_neither_capital_letters_nor_decisions_for_patients(api: asgi.Api, nurse: Visitor) -> None:
    trial_of(api, "found")
    for unit in ("P01", "P02", "q7"):
        asked(nurse, "found", unit)
    listed = said(nurse.get("/app/trials/found/worklist?find=p0"))
    assert "P01" in listed
    assert "P02" in listed
    assert "q7" in said(nurse.get("/app/trials/found/worklist?find=Q"))
    assert "q7" not in listed
    assert "Report on q7" in said(nurse.get("/app/trials/found/worklist?find=3"))
    assert "Nobody's number begins so" in said(nurse.get("/app/trials/found/worklist?find=44"))


def test_the_worklist_says_what_becomes_of_a_report_that_contradicts_another(api: asgi.Api, nurse: Visitor) -> None:
    trial_of(api, "disputed")
    asked(nurse, "disputed", "P01")
    for outcome in ("0", "1"):
        sent = nurse.post("/app/trials/disputed/report", {"unit": "P01", "outcome": outcome, "back": "worklist"})
        assert sent.status == 303
    shown = said(nurse.get(sent.headers["location"]))
    assert "If there was one that says something else, that one stands" in shown
    assert "report again and say why" in shown


def test_a_session_that_has_ended_says_that_nothing_was_recorded_and_leads_back(api: asgi.Api) -> None:
    trial_of(api, "ended")
    gone = member(api, "clinician")
    api.run(api.app.state.service.sessions.end(gone.cookie))
    reply = asked(gone, "ended", "P01")
    assert reply.status == 401
    assert "Nothing that you sent was recorded." in said(reply)
    assert 'href="/app/sign-in?next=/app/trials/ended/decide"' in reply.body.decode()


def test_a_slash_too_many_leads_home_and_nobody_who_is_signed_in_is_asked_to(api: asgi.Api, nurse: Visitor) -> None:
    assert (nurse.get("/app/").status, nurse.get("/app/").headers["location"]) == (303, "/app")
    trial_of(api, "slash")
    assert nurse.get("/app/trials/slash/").headers["location"] == "/app/trials/slash"
    lost = nurse.get("/app/nowhere")
    assert lost.status == 404
    assert "All trials" in said(lost)
    assert "Sign in" not in said(lost)
    stranger = api.request("GET", "/app/nowhere")
    assert stranger.status == 404
    assert "Sign in" in said(stranger)


def test_a_trial_that_does_not_decide_says_so_once(api: asgi.Api, nurse: Visitor) -> None:
    trial = trial_of(api, "halted")
    trial.pause()
    assert said(asked(nurse, "halted", "P01")).count("decide") == said(nurse.get("/app/trials/halted/decide")).count(
        "decide"
    )
    trial.stop()
    assert "<button>Decide" not in nurse.get("/app/trials/halted/decide").body.decode()
