"""The analysis of a trial on its page: for unblinded readers alone, made elsewhere, and as old as it says."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import asgi
from page_visitor import Visitor, harmless
from takeup.live import Trial

SPEC = {
    "name": "Clinic",
    "space": {"proposals": ["usual <b>care", "new drug"], "outcomes": ["ill", "well"]},
    "policy": {"kind": "TS"},
    "limits": {"floor": 0.2},
    "analysis": {"reading": "intention to treat", "test": "betting"},
}


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[tuple[asgi.Api, Trial]]:
    with asgi.api(str(tmp_path / "trials.db")) as running:
        trial = Trial.create(running.store, SPEC, trial="clinic")
        trial.start()
        for i in range(40):
            made = trial.decide(f"unit-{i}")
            trial.report(made.number, implemented=made.proposal if i % 4 else 0, outcome=i % 2)
        yield running, trial


def wait(api: asgi.Api) -> None:
    """Until the analysis is over."""
    job = api.app.state.service.drafts.analyses.get("clinic")

    async def over() -> None:
        await job.task

    api.run(over())


def test_an_analysis_is_made_when_asked_for(clinic: tuple[asgi.Api, Trial]) -> None:
    api, trial = clinic
    visitor, page = Visitor(api, "read-unblinded"), "/app/trials/clinic/analysis"
    assert page in visitor.get("/app/trials/clinic").body.decode()
    assert "Nothing has been analysed here" in harmless(visitor.get(page)).text
    assert visitor.post(page, {}).status == 303
    first = api.app.state.service.drafts.analyses.get("clinic")
    assert visitor.post(page, {}).status == 303  # a double click starts nothing
    assert api.app.state.service.drafts.analyses.get("clinic") is first
    assert b'data-poll="analysis"' in visitor.get(page).body
    wait(api)
    shown = harmless(visitor.get(page)).text
    assert "Offering new drug rather than usual <b>care" in shown
    assert "From 40 decisions." in shown
    for words in ("intention to treat", "complier effect", "per protocol", "betting", "planned", "at one look"):
        assert words in shown
    trial.decide("another")
    assert "1 event since then" in harmless(visitor.get(page)).text


def test_it_is_for_those_who_may_know(clinic: tuple[asgi.Api, Trial]) -> None:
    api, _ = clinic
    for scope in ("read-blinded", "decide", "report", "design"):
        visitor = Visitor(api, scope)
        assert visitor.get("/app/trials/clinic/analysis").status == 403
        assert visitor.post("/app/trials/clinic/analysis", {}).status == 403
        assert "/analysis" not in visitor.get("/app/trials/clinic").body.decode()
    assert Visitor(api, "read-unblinded").get("/app/trials/none/analysis").status == 404


def test_what_cannot_be_analysed_says_why(tmp_path: Path) -> None:
    with asgi.api(str(tmp_path / "trials.db")) as api:
        Trial.create(api.store, SPEC, trial="clinic").start()
        visitor, page = Visitor(api, "read-unblinded"), "/app/trials/clinic/analysis"
        visitor.post(page, {})
        wait(api)
        assert "There is no analysis: log: got no decisions" in harmless(visitor.get(page)).text
    with asgi.api() as api:
        Trial.create(api.store, SPEC, trial="clinic")
        assert Visitor(api, "read-unblinded").post("/app/trials/clinic/analysis", {}).status == 503
