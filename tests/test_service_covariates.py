"""Covariates over HTTP, and on the pages that decide and report by hand."""

import json
from typing import Any

import pytest

import asgi
from page_visitor import Visitor, harmless
from takeup.live import Trial
from takeup.live.rehearsal import Rehearsal
from takeup.service.callers import SCOPES
from takeup.service.pages.spec_sentences import spec_sentences

SPACE: dict[str, Any] = {
    **asgi.SPEC["space"],  # type: ignore[dict-item]  # a table
    "covariates": {
        "hours of sleep": {"kind": "measure", "low": 0, "high": 16, "step": 0.5},
        "mood": {"kind": "category", "levels": ["<low>", "high"], "missing": "kept"},
        "weight": {"kind": "measure", "low": 30, "high": 200, "unit": "kg", "missing": "kept"},
    },
}
SPEC = {**asgi.SPEC, "space": SPACE, "policy": {"kind": "LinTS"}}
ANN = {"hours of sleep": 7.5, "mood": "high", "weight": None}


def running(api: asgi.Api, name: str, kind: str = "LinTS") -> Trial:
    trial = Trial.create(api.store, {**SPEC, "policy": {"kind": kind}}, trial=name)
    trial.start()
    return trial


@pytest.fixture(scope="module")
def boss(api: asgi.Api) -> Visitor:
    return Visitor(api, *SCOPES)


@pytest.fixture(scope="module")
def refusing(api: asgi.Api) -> Trial:
    return running(api, "refusing")


class TestWire:
    @pytest.mark.parametrize("kind", ["LinTS", "LogitTSObs"])
    def test_decisions_fallbacks_and_reports_take_them(self, api: asgi.Api, kind: str) -> None:
        wire = f"/trials/{kind.lower()}"
        trial, key = running(api, kind.lower(), kind), api.key("decide", "report", "read-unblinded")
        asked = {"unit": "ann", "context": "morning", "covariates": ANN}
        made = api.request("POST", f"{wire}/decisions", asked, key)
        assert made.status == 200, made.body
        assert api.request("POST", f"{wire}/decisions", asked, key).json == made.json
        batch = {"units": [{**asked, "unit": name} for name in ("bob", "cat")]}
        assert len(api.request("POST", f"{wire}/decisions/batch", batch, key).json["decisions"]) == 2
        drawn = {**asked, "unit": "dan", "proposal": "tea"}
        assert api.request("POST", f"{wire}/fallbacks", drawn, key).status == 200
        corrected = {"unit": "ann", "covariates": {"weight": 70}, "reason": "weighed"}
        assert api.request("POST", f"{wire}/reports", corrected, key).json["corrected"] == ["covariates"]
        several = {
            "reports": [{"unit": "bob", "covariates": {"weight": 700}, "reason": "x"}, {"unit": "bob", "outcome": 1}]
        }
        results = api.request("POST", f"{wire}/reports/batch", several, key).json["results"]
        assert [each["problem"] is None for each in results] == [False, True]
        assert json.loads(trial.events(decision=1)[0].body)["covariates"] == ANN
        assert trial.audit().difference is None

    @pytest.mark.parametrize(
        ("covariates", "status", "words"),
        [
            (None, 422, "covariates is missing"),
            ({}, 422, "covariates.hours of sleep is missing"),
            (ANN | {"hours of sleep": 17}, 422, "covariates.hours of sleep: got 17"),
            (ANN | {"hours of sleep": None}, 422, "covariates.hours of sleep: got None"),
            (ANN | {"mood": "low"}, 422, "covariates.mood: got 'low'"),
            (ANN | {"sex": 1}, 422, "covariates.sex: got 1"),
            (ANN | {"weight": [70]}, 422, "weight"),
            (ANN | {"weight": True}, 422, "weight"),
            ([1], 422, "covariates"),
        ],
    )
    def test_what_is_wrong_is_named_and_nothing_is_written(
        self, api: asgi.Api, refusing: Trial, covariates: Any, status: int, words: str
    ) -> None:
        before, key = refusing.progress().sequence, api.key("decide")
        asked = {"unit": "ann", "context": "morning", "covariates": covariates}
        reply = api.request("POST", "/trials/refusing/decisions", asked, key)
        assert reply.status == status
        assert words in reply.json["detail"]
        assert refusing.progress().sequence == before

    def test_not_a_number_is_no_json(self, api: asgi.Api) -> None:
        running(api, "nan")
        raw = b'{"unit": "ann", "context": "morning", "covariates": {"hours of sleep": NaN, "mood": null, "weight": 1}}'
        headers = {"content-type": "application/json"}
        reply = api.request("POST", "/trials/nan/decisions", raw=raw, key=api.key("decide"), headers=headers)
        assert reply.status in (400, 422)


class TestPages:
    @pytest.mark.parametrize("kind", ["LinTS", "LinTSObs"])
    def test_a_field_for_each_decides_and_corrects(self, api: asgi.Api, boss: Visitor, kind: str) -> None:
        pages = f"/app/trials/pages-{kind.lower()}"
        trial = running(api, f"pages-{kind.lower()}", kind)
        page = boss.get(f"{pages}/decide")
        harmless(page)
        body = page.body.decode()
        assert "hours of sleep" in body
        assert "&lt;low&gt;" in body
        form = {"unit": "ann", "context": "morning", "covariate-0": "7.5", "covariate-1": "0", "covariate-2": ""}
        assert boss.post(f"{pages}/decide", form).status == 200
        made = json.loads(trial.events(decision=1)[0].body)["covariates"]
        assert made == {"hours of sleep": 7.5, "mood": "<low>", "weight": None}
        wrong = boss.post(f"{pages}/decide", {**form, "unit": "bob", "covariate-0": "75"})
        assert wrong.status == 422
        assert 'id="covariate-0-wrong"' in wrong.body.decode()
        harmless(wrong)
        left_out = boss.post(f"{pages}/decide", {**form, "unit": "bob", "covariate-0": ""})
        assert (left_out.status, trial.progress().decisions) == (422, 1)
        harmless(boss.get(f"{pages}/report"))
        report = {"unit": "ann", "covariate-1": "unknown", "covariate-2": "70"}
        assert boss.post(f"{pages}/report", report).status == 409
        told = boss.post(f"{pages}/report", {**report, "reason": "weighed"})
        assert told.status == 200
        harmless(told)
        said = json.loads(trial.events(decision=1)[-1].body)
        assert (said["covariates"], said["reason"]) == ({"mood": None, "weight": 70}, "weighed")
        assert trial.audit().difference is None
        for path in ("", "/log", "/worklist"):
            assert boss.get(f"{pages}{path}").status == 200

    def test_a_spec_says_what_is_known_before(self, api: asgi.Api) -> None:
        (sentence,) = (each for each in spec_sentences(running(api, "sentences").design) if "Known before" in each)
        assert "weight, a number from 30 to 200 kg" in sentence


@pytest.mark.parametrize("kind", ["LinTS", "LinTSRobust"])
def test_a_rehearsal_makes_people_up(kind: str) -> None:
    rates = [[0.5, 0.5], [0.3, 0.7]]
    found = Rehearsal(
        spec={**SPEC, "policy": {"kind": kind}}, rates=rates, people=40, per_day=10, runs=1, seconds=0.1
    ).run(lambda _: None)
    assert found["runs"] == 1
