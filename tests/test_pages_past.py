"""Taking over a running trial on a draft's page: the table is looked at first, and taken over whole or not at all."""

import hashlib
import re
from typing import Any

import pytest

import asgi
from page_visitor import Visitor, harmless, member
from takeup.live import Trial

TABLE = """patient,arm,had,result,when of day,weight
P1,tea,tea,good,morning,61
P2,coffee,tea,bad,evening,72
P3,coffee,,,evening,80
"""
CALLED = {
    "column-unit": "patient",
    "column-assigned": "arm",
    "column-taken": "had",
    "column-outcome": "result",
    "column-context": "when of day",
}


@pytest.fixture
def boss(api: asgi.Api) -> Visitor:
    return member(api, "coordinator")


def draft(api: asgi.Api, name: str, **changes: Any) -> Trial:
    return Trial.create(api.store, {**asgi.SPEC, **changes}, trial=name)


def test_a_table_is_looked_at_and_taken_over(api: asgi.Api, boss: Visitor) -> None:
    trial = draft(api, "taken-over")
    assert 'href="/app/trials/taken-over/past"' in boss.get("/app/trials/taken-over").body.decode()
    harmless(boss.get("/app/trials/taken-over/past"))
    looked = boss.post("/app/trials/taken-over/past", {"table": TABLE, **CALLED, "do": "look"})
    assert looked.status == 200
    text = " ".join(re.sub("<[^>]+>", " ", looked.body.decode()).split())
    assert "3 patients: tea 1, coffee 2." in text
    assert "morning: 1; evening: 2." in text
    assert "What came of it is known of 2, what was done of 2." in text
    assert "Not used: weight." in text
    assert trial.progress().decisions == 0
    form = harmless(looked)
    sent = {"table": TABLE, **CALLED, "key": form.value("key") or "", "do": "take"}
    for _ in range(2):  # a double click takes over once
        assert boss.post("/app/trials/taken-over/past", sent).status == 303
    progress = trial.progress()
    assert (progress.past, progress.decisions, progress.outcomes_counted) == (3, 3, 2)
    assert "/past" not in boss.get("/app/trials/taken-over").body.decode()
    assert (
        "has 3 past assignments already"
        in boss.post("/app/trials/taken-over/past", {"table": TABLE, **CALLED, "do": "take"}).body.decode()
    )
    trial.start()
    assert boss.get("/app/trials/taken-over/past").status == 409
    nurse = member(api, "clinician")
    spelt = nurse.post("/app/trials/taken-over/decide", {"unit": "p1", "context": "morning"})
    assert (spelt.status, "P1 was decided on before" in spelt.body.decode()) == (409, True)


def test_columns_that_are_called_what_they_are_for_need_no_names(api: asgi.Api, boss: Visitor) -> None:
    trial = draft(api, "plain-names")
    table = "unit;assigned;outcome;context\na;tea;good;morning\nb;tea;;evening\n"
    assert boss.post("/app/trials/plain-names/past", {"table": table, "do": "take"}).status == 303
    assert trial.progress().past == 2


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("", "is missing"),
        ("unit,assigned,outcome,context\n", "from 1 to 10,000"),
        ("unit,assigned,outcome,context\na,wine,good,morning\n", "tea"),
        ("unit,assigned,outcome,context\na,tea,good,noon\n", "morning"),
        ("unit,assigned,outcome,context\na,tea,good,morning\na,tea,good,morning\n", "row 2"),
        ("who,assigned,outcome,context\na,tea,good,morning\n", "unit"),
        ("unit,assigned,outcome\na,tea,good\n", "context"),
        ("unit,assigned,outcome,context,time\na,tea,good,morning,soon\n", "soon"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_and_nothing_is_taken_over(
    api: asgi.Api, boss: Visitor, table: str, words: str
) -> None:
    name = f"wrong-{hashlib.sha256(table.encode()).hexdigest()[:8]}"
    trial = draft(api, name)
    reply = boss.post(f"/app/trials/{name}/past", {"table": table, "do": "take"})
    assert reply.status == 422
    found = re.search(r'<p class="wrong" role="alert">(.*?)</p>', reply.body.decode())
    assert found is not None
    assert words in found[1]
    assert trial.progress().decisions == 0


def test_two_columns_make_the_groups_of_a_form(api: asgi.Api, boss: Visitor) -> None:
    groups = ["young, mild", "young, severe", "old, mild", "old, severe"]
    trial = draft(api, "crossed", space={**asgi.SPEC["space"], "contexts": groups})  # type: ignore[dict-item]
    table = "unit,assigned,outcome,age,state\na,tea,good,young,mild\nb,tea,,old,severe\n"
    sent = {"table": table, "column-context": "age, state", "do": "take"}
    assert boss.post("/app/trials/crossed/past", sent).status == 303
    assert trial.progress().contexts == {"young, mild": 1, "young, severe": 0, "old, mild": 0, "old, severe": 1}
    wrong = boss.post("/app/trials/crossed/past", {**sent, "table": table.replace("old", "elderly")})
    assert "Group: row 2" in wrong.body.decode()
