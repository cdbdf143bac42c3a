"""What people of a clinic stumble over in a day: every answer says what happened and what to do."""

import html
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import asgi
from asgi import Reply
from page_fixtures import book_of
from page_visitor import Visitor, choose, harmless, member
from takeup.live import Trial
from takeup.live.progress import progress_of
from takeup.service.callers import SCOPES
from takeup.service.pages.sentences import blinded_headline
from takeup.service.pages.spec_sentences import spec_sentences
from takeup.trial import Design


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


def test_whoever_signs_a_start_reads_what_is_started(api: asgi.Api) -> None:
    """The draft's page tells those who can change it all of it; once it runs, the blinded read no arm."""
    trial = trial_of(api, "signed", draft=True)
    designer, watcher = member(api, "coordinator"), member(api, "observer")
    assert "tea or coffee is offered" in said(designer.get("/app/trials/signed"))
    assert "bad (worth 0)" in said(designer.get("/app/trials/signed"))
    assert "tea or coffee is offered" not in said(watcher.get("/app/trials/signed"))
    trial.start()
    assert "tea or coffee is offered" not in said(designer.get("/app/trials/signed"))


def test_outcomes_that_wait_for_their_window_are_told_from_those_that_nobody_reported() -> None:
    book = book_of(np.zeros((2, 2, 2, 2), dtype=np.int64))
    progress = replace(progress_of(book, 0), decisions=14, outcomes_waiting=11, outcomes_missing=2, outcomes_pending=1)
    assert blinded_headline(progress) == (
        "14 decisions; the outcome of 0 is known; 11 outcomes are reported and count once their window has closed;"
        " 1 outcome pending."
    )


def test_groups_with_commas_in_their_names_are_told_apart() -> None:
    groups = ["under 50, mild", "under 50, severe", "over 50, mild"]
    space = {**asgi.SPEC["space"], "contexts": groups}  # type: ignore[dict-item]
    meaning = spec_sentences(Design.of({**asgi.SPEC, "space": space}))
    assert (
        "Told apart are under 50, mild; under 50, severe; and over 50, mild. Each is learnt about by itself." in meaning
    )


def test_a_window_without_a_unit_is_asked_for_one(api: asgi.Api) -> None:
    reply = member(api, "coordinator").post("/app/new", {**choose(window="30"), "do": "look"})
    assert "Expected: a number and its unit, such as 30 days, 36 hours or 12 weeks." in said(reply)


def test_an_invitation_to_a_trial_that_is_not_there_says_so(api: asgi.Api) -> None:
    trial_of(api, "there")
    fields = {"name": "Ada", "role-clinician": "yes", "trials": "there, their"}
    boss = Visitor(api, *SCOPES)
    reply = boss.post("/app/people", {**fields, "login": "ada-clinic@clinic.example"})
    assert "There is no trial their yet" in said(reply)
    assert "no trial there" not in said(reply)


def test_a_blinded_log_is_in_words(api: asgi.Api, nurse: Visitor) -> None:
    trial_of(api, "logged")
    for _ in range(2):
        asked(nurse, "logged", "P01")
    shown = said(nurse.get("/app/trials/logged/log"))
    for words in ("The draft was made", "Its state changed", "A decision was made", "Somebody asked again"):
        assert words in shown
    assert "moved" not in shown


def test_whom_somebody_else_asked_for_is_told_in_the_words_of_the_page(api: asgi.Api, nurse: Visitor) -> None:
    trial_of(api, "elsewhere")
    asked(nurse, "elsewhere", "P01")
    reply = asked(member(api, "clinician"), "elsewhere", "P01")
    assert reply.status == 403
    assert "P01 was decided on before, and somebody else asked." in said(reply)
    assert "key" not in said(reply)
