"""The analysis of a trial on its page: for unblinded readers alone, made elsewhere, and as old as it says."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import asgi
from page_visitor import Parsed, RenderHere, Visitor, harmless
from takeup.analysis import analyse
from takeup.analysis.headline import RUNS
from takeup.analysis.job import AnalysisJob
from takeup.analysis.job import shown as shown_of
from takeup.errors import TakeupError
from takeup.live import Trial
from takeup.live.findings import findings_of
from takeup.live.log import log_of
from takeup.log import Log
from takeup.service.background import BackgroundJob
from takeup.service.drafts import LiveAnalysis
from takeup.service.pages.render import child
from takeup.service.pages.render.planned import MOST_DECISIONS, SHORT, TOO_LONG, PlannedReading, PlannedReadings
from takeup.service.pages.render.process import RenderTask
from takeup.store import looking, reading

LEADS = f"{RUNS} Planned is intention to treat at its end. By intention to treat, at any time: Offering new drug"
PAGE = "/app/trials/clinic/analysis"
SPEC = {
    "name": "Clinic",
    "space": {"proposals": ["usual <b>care", "new drug"], "outcomes": ["ill", "well"]},
    "policy": {"kind": "TS"},
    "limits": {"floor": 0.2},
    "analysis": {"reading": "intention to treat", "test": "betting"},
    "rehearsal": True,
    "seed": 7,
}


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[tuple[asgi.Api, Trial]]:
    with asgi.api(str(tmp_path / "trials.db")) as running:
        running.app.state.render_cache.process = RenderHere()
        trial = Trial.create(running.store, SPEC, trial="clinic")
        trial.start()
        for i in range(40):
            made = trial.decide(f"unit-{i}")
            trial.report(made.number, implemented=made.proposal if i % 4 else 0, outcome=i % 2)
        yield running, trial


def wait(api: asgi.Api) -> Mapping[str, Any] | None:
    """Until the analysis is over; what it found."""
    last: LiveAnalysis = api.app.state.service.drafts.analyses.get("clinic")
    assert last.job.task is not None
    task = last.job.task

    async def over() -> None:
        await task

    api.run(over())
    return last.job.result


def test_an_analysis_is_made_when_asked_for(clinic: tuple[asgi.Api, Trial]) -> None:
    api, trial = clinic
    visitor, analyses = Visitor(api, "read-unblinded"), api.app.state.service.drafts.analyses
    assert PAGE in visitor.get("/app/trials/clinic").body.decode()
    assert "Nothing has been analysed here" in harmless(visitor.get(PAGE)).text
    turn = api.app.state.service.drafts.background._turn
    api.run(turn.acquire())  # so that nothing is over before it is looked at
    assert visitor.post(PAGE, {}).status == 303
    first = analyses.get("clinic")
    assert visitor.post(PAGE, {}).status == 303  # a double click starts nothing
    assert analyses.get("clinic") is first
    waiting = visitor.get(PAGE)
    assert b'data-poll="analysis"' in waiting.body
    assert "Waiting for another computation" in harmless(waiting).text
    turn.release()
    found = wait(api)
    assert found is not None
    shown = harmless(visitor.get(PAGE)).text
    assert "Offering new drug rather than usual <b>care" in shown
    assert re.search(r"From 40 decisions, 20\S+ \S+ UTC; nothing has happened since then\.", shown)
    for words in ("intention to treat", "complier effect", "per protocol", "betting", "planned", "at one look"):
        assert words in shown
    assert {each["test"] for each in found["tests"]} >= {"betting", "martingale score", "re-randomisation"}
    trial.decide("another")
    assert "1 event since then" in harmless(visitor.get(PAGE)).text
    _keeps_the_last(api, visitor, found)


def _keeps_the_last(api: asgi.Api, visitor: Visitor, found: Mapping[str, Any]) -> None:
    """What was found stays while it is made again, and where that fails; what comes first is shown first."""
    answer = found["answers"][0]
    for job, words in (
        (BackgroundJob("running"), "Analysing"),
        (BackgroundJob("failed", problem="it broke off"), "The last analysis failed: it broke off. What follows was"),
    ):
        api.app.state.service.drafts.analyses.put("clinic", LiveAnalysis(job, found))
        shown = harmless(visitor.get(PAGE)).text
        assert (words in shown, answer in shown, "From 40 decisions" in shown) == (True, True, True)
    part = {**found, "to_come": ["re-randomisation"]}
    for job, words in (
        (BackgroundJob("running", result=part), "Still computed: re-randomisation."),
        (
            BackgroundJob("failed", result=part, problem="it took too long"),
            "Not done here: re-randomisation, as it took too long. On the service's machine takeup analyse DATABASE",
        ),
    ):
        api.app.state.service.drafts.analyses.put("clinic", LiveAnalysis(job, None))
        shown = harmless(visitor.get(PAGE)).text
        assert (words in shown, answer in shown, "failed" in shown) == (True, True, False)


def test_a_running_trial_is_read_by_what_holds_at_any_time(clinic: tuple[asgi.Api, Trial]) -> None:
    api, trial = clinic
    database = api.store.url
    trial.decide("pending")
    running = AnalysisJob(database=database, trial="clinic").run(lambda *_: None)
    assert not running["finished"]
    assert running["answers"][0].startswith(LEADS)
    assert (
        "survives adaptation and drift, at any number of looks. The planned test, betting: p" in running["answers"][0]
    )
    assert running["answers"][1].startswith("At one look, as if it were the last: Offering new drug")
    assert any("More is to come" in each["sentence"] and each["alarm"] for each in running["checks"])
    naive = [each for each in running["rows"] if each["kind"] == "naive"]
    assert naive
    api.app.state.service.drafts.analyses.put("clinic", LiveAnalysis(BackgroundJob("done", result=running)))
    shown = harmless(Visitor(api, "read-unblinded").get(PAGE)).text
    assert all(each["shown"] and each["interval"] in shown for each in naive)  # whatever is said against them
    trial.stop()
    assert not trial.progress().over  # an outcome is pending
    trial.report(41, outcome=1)
    assert trial.progress().over


def test_it_is_for_those_who_may_know(clinic: tuple[asgi.Api, Trial]) -> None:
    api, _ = clinic
    for scope in ("read-blinded", "decide", "report", "design"):
        visitor = Visitor(api, scope)
        assert visitor.get(PAGE).status == 403
        assert visitor.post(PAGE, {}).status == 403
        assert "/analysis" not in visitor.get("/app/trials/clinic").body.decode()
    assert Visitor(api, "read-unblinded").get("/app/trials/none/analysis").status == 404


def test_what_cannot_be_analysed_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job is done here; that one which fails in a process says why, tests/test_pages_simulations.py holds."""

    def at_once(module: str, content: dict[str, Any]) -> BackgroundJob:
        assert module == AnalysisJob.__module__
        with pytest.raises(TakeupError) as failed:
            AnalysisJob(**content).run(lambda *_: None)
        return BackgroundJob("failed", problem=str(failed.value))

    with asgi.api(str(tmp_path / "trials.db")) as api:
        monkeypatch.setattr(api.app.state.service.drafts.background, "start", at_once)
        Trial.create(api.store, SPEC, trial="clinic").start()
        visitor = Visitor(api, "read-unblinded")
        assert visitor.post(PAGE, {}).status == 303
        assert "There is no analysis: log: got no decisions" in harmless(visitor.get(PAGE)).text
    with asgi.api() as api:
        Trial.create(api.store, SPEC, trial="clinic")
        visitor = Visitor(api, "read-unblinded")
        shown = visitor.get(PAGE)
        assert "in memory" in harmless(shown).text
        assert b"Analyse now" not in shown.body
        assert visitor.post(PAGE, {}).status == 503


def test_the_trial_page_leads_with_the_planned_reading(clinic: tuple[asgi.Api, Trial]) -> None:
    api, _ = clinic
    task = RenderTask("clinic", api.store.clock(), True, api.store.url)

    def told() -> str:
        page = Parsed(child.render_trial(task).html).text
        return page[: page.index("As of event")]

    first = told()
    assert f"{LEADS} rather than usual <b>care may be better" in first
    assert "This interval survives adaptation and drift, at any number of looks." in first
    assert first.index("By intention to treat") < first.index("Believed so far, not corrected for adaptive allocation:")


def test_the_log_of_a_long_trial_is_read_for_its_page_once_in_a_while(clinic: tuple[asgi.Api, Trial]) -> None:
    api, trial = clinic
    reads: list[int] = []
    readings = PlannedReadings()

    def look(more: int = 0) -> PlannedReading:
        with looking(api.store.url) as connection:
            book = reading.snapshot(connection, "clinic")
            book.decisions += more

            def read() -> Log:
                reads.append(book.sequence)
                return log_of(connection, "clinic")

            return readings.of("here", book, findings_of(book, 0), read)

    assert look() is look()
    trial.decide("another")
    assert look().decisions == 41
    trial.pause()
    long = look(SHORT)
    trial.start()
    assert look(SHORT) is long  # an event more is less than a fiftieth
    assert len(reads) == 3
    trial.stop()
    trial.report(41, outcome=0)
    assert "at one look" in look(SHORT).sentences[0]
    assert len(reads) == 4
    readings = PlannedReadings()
    assert look(MOST_DECISIONS).sentences == (TOO_LONG,)
    assert len(reads) == 4


def test_effects_by_covariates_have_a_table(tmp_path: Path) -> None:
    """A row a group, in the words of the command, and what is for one look says so while the trial runs."""
    covariates = {"old": {"kind": "category", "levels": ["<i>young", "old"]}}
    spec = {**SPEC, "space": {**SPEC["space"], "covariates": covariates}}  # type: ignore[dict-item]
    with asgi.api(str(tmp_path / "trials.db")) as api:
        trial = Trial.create(api.store, spec, trial="clinic")
        trial.start()
        for i in range(60):
            made = trial.decide(f"unit-{i}", covariates={"old": ["<i>young", "old"][i % 2]})
            trial.report(made.number, implemented=made.proposal, outcome=i // 2 % 2)
        found = shown_of(analyse(trial.log(), own=trial.design))
        assert [each["group"] for each in found["groups"]] == ["<i>young", "old"]
        assert any("The trial still runs" in each for each in found["assumed"])
        result = {"sequence": 0, "state": "running", "at": 0, "finished": False, "to_come": [], **found}
        api.app.state.service.drafts.analyses.put("clinic", LiveAnalysis(BackgroundJob("done", result=result)))
        shown = harmless(Visitor(api, "read-unblinded").get(PAGE)).text
    assert "Effects by covariates" in shown
    assert "whether the effect differs between groups" in shown
