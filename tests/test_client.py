"""The client: the same answers as without HTTP, and an answer even when the service is out of reach."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from browser import served_here
from proxy import Mode, Proxy
from serving import Served
from takeup.client import Client, Drawn, RemoteTrial
from takeup.client.spool import Spool
from takeup.client.trial import _GRAIN
from takeup.errors import (
    AccessError,
    ConflictError,
    InputError,
    NotFoundError,
    ReusedKeyError,
    StateError,
    TakeupError,
    UnreachableError,
)
from takeup.live import Trial
from takeup.log import read_log
from takeup.trial import Decision

SPEC = {
    "name": "Far away",
    "space": {"proposals": ["rest", "drug", "surgery"], "contexts": ["young", "old"]},
    "policy": {"kind": "TSObs"},
    "fallback": {"rest": 0.25, "drug": 0.75, "surgery": 0},
}
SHORT = 0.1
"""A deadline that a bad line always misses."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    with served_here(folder / "trials.db") as running:
        yield running


@pytest.fixture(scope="module")
def key(server: Served) -> str:
    return server.key("decide", "report", "design", "read-unblinded")


@pytest.fixture
def line(server: Served) -> Iterator[Proxy]:
    proxy = Proxy(server.port)
    yield proxy
    proxy.close()


@pytest.fixture
def client(line: Proxy, key: str) -> Iterator[Client]:
    with Client(line.url, key) as made:
        yield made


@pytest.fixture
def name(client: Client, request: pytest.FixtureRequest) -> str:
    """A trial of the test's own, which is running."""
    name = f"t{abs(hash(request.node.name)) % 10**9}"
    client.create(SPEC, trial=name)
    RemoteTrial(client, name).start()
    return name


@pytest.fixture
def trial(client: Client, name: str, tmp_path: Path) -> Iterator[RemoteTrial]:
    with RemoteTrial(client, name, spool=tmp_path / "spool", deadline=SHORT) as made:
        yield made


def stored(server: Served, name: str) -> Trial:
    return Trial.open(server.database, name)


def test_a_trial_at_a_distance(client: Client, server: Served, tmp_path: Path) -> None:
    name = client.create(SPEC, trial="distant")
    assert {"trial": "distant", "name": "Far away", "state": "draft", "rehearsal": False} in client.trials()
    trial = RemoteTrial(client, name, deadline=30)
    trial.amend({**SPEC, "burn_in": 1})
    assert trial.show()["spec"]["burn_in"] == 1
    assert trial.start() == "running"
    decision = trial.decide("ann", "old")
    assert isinstance(decision, Decision)
    assert (decision.number, decision.unit, decision.context) == (1, "ann", "old")
    assert trial.decide("ann", "old") == decision
    assert trial.report(decision, implemented="drug").corrected == ()
    receipt = trial.report(unit="ann", implemented="rest", outcome=1, reason="mistyped")
    assert receipt.corrected == ("implemented",)
    many = trial.decide_many([{"unit": f"u{i}", "context": 0} for i in range(3)])
    assert [each.number for each in many] == [2, 3, 4]
    results = trial.report_many([{"decision": 2, "outcome": 1}, {"decision": 9, "outcome": 1}])
    assert [each["problem"] is None for each in results] == [True, False]
    assert trial.pause() == "paused"
    assert trial.stop(reason="enough") == "stopped"
    assert trial.progress()["decisions"] == 4
    assert trial.summary()["policy"] == "TS-Obs"
    assert len(trial.course()["overall"]) == 4
    assert trial.learnt() == {"reason": "the trial has no covariates"}
    assert trial.events(limit=2)["next"] == 2
    assert trial.audit()["passed"] is True
    trial.export(tmp_path / "t.jsonl")
    rows = [json.loads(row) for row in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert [row["unit"] for row in rows] == ["ann", "u0", "u1", "u2"]


def test_a_running_trial_is_taken_over_at_a_distance(client: Client, server: Served) -> None:
    trial = RemoteTrial(client, client.create(SPEC, trial="over"), deadline=30)
    past: list[dict[str, Any]] = [
        {"unit": "p1", "context": "old", "proposal": "drug", "outcome": 1},
        {"unit": "p2", "context": 0, "proposal": 0},
    ]
    with pytest.raises(InputError, match="unit 'p2', proposal"):
        trial.take_over([past[0], {**past[1], "proposal": "else"}])
    assert trial.take_over(past, key="over") == trial.take_over(past, key="over") == 2
    assert (trial.progress()["past"], trial.audit()["past"]) == (2, 2)
    with stored(server, "over") as same:
        assert same.log().estimated


@pytest.mark.parametrize("kind", [pytest.param("LinTS", marks=pytest.mark.long), "LogitTS"])
def test_covariates_are_sent_and_kept_with_what_is_drawn(line: Proxy, key: str, tmp_path: Path, kind: str) -> None:
    ann = {"age": 63, "mood": "high"}
    kinds = {
        "age": {"kind": "measure", "low": 18, "high": 100, "missing": "kept"},
        "mood": {"kind": "category", "levels": ["low", "high"]},
    }
    space = {"proposals": ["rest", "drug"], "covariates": kinds}
    with Client(line.url, key) as client:
        client.create({"name": "Known", "space": space, "policy": {"kind": kind}}, trial=f"known-{kind.lower()}")
        RemoteTrial(client, f"known-{kind.lower()}").start()
        with RemoteTrial(client, f"known-{kind.lower()}", spool=tmp_path / "spool", deadline=30) as trial:
            trial.decide("ann", covariates=ann)
            trial.decide_many([{"unit": "bob", "covariates": ann}])
            trial.report(unit="ann", covariates={"age": None}, reason="not known")
            with pytest.raises(InputError, match=r"covariates\.age: got 17"):
                trial.decide("cat", covariates=ann | {"age": 17})
            with pytest.raises(ConflictError, match="with age None and not 63"):
                trial.decide("ann", covariates=ann)
    line.mode = "refuse"
    with (
        Client(line.url, key) as client,
        RemoteTrial(client, f"known-{kind.lower()}", spool=tmp_path / "spool", deadline=SHORT) as trial,
    ):
        with pytest.raises(InputError, match=r"covariates\.mood: got 'blue'"):
            trial.decide("dan", covariates=ann | {"mood": "blue"})
        drawn = trial.decide("dan", covariates=ann | {"age": 70.2})
        assert isinstance(drawn, Drawn)
        assert drawn.covariates == ann | {"age": 70}
        line.mode = "pass"
        ((_, decision),) = trial.flush()
        assert decision.unit == "dan"
        assert trial.audit()["passed"] is True


def test_refusals_are_the_errors_that_they_are_without_http(client: Client, name: str, line: Proxy) -> None:
    trial = RemoteTrial(client, name, deadline=30)
    trial.decide("ann", "old", key="k")
    stranger = Client(line.url, "takeup_x")
    refusals: list[tuple[type[TakeupError], str, Callable[[], object]]] = [
        (InputError, "context: got 'noon', expected one of young, old", lambda: trial.decide("x", "noon")),
        (ConflictError, "made in context 'old'", lambda: trial.decide("ann", "young")),
        (ReusedKeyError, "key 'k' was used", lambda: trial.decide("bob", "young", key="k")),
        (NotFoundError, "no decision 9", lambda: trial.report(9, outcome=1)),
        (NotFoundError, "no trial 'nowhere'", RemoteTrial(client, "nowhere").progress),
        (StateError, "only a draft can change", lambda: trial.amend(SPEC)),
        (AccessError, "valid API key", stranger.trials),
        (InputError, "format", lambda: trial.export("/dev/null", "xls")),  # type: ignore[arg-type]  # as a user may
        (InputError, r"ends in \.csv, \.parquet, \.jsonl", lambda: trial.export("/dev/t.xls")),
        (InputError, "http://127", lambda: Client("ftp://x", "k")),
        (InputError, "timeout: got -1, expected a number of seconds", lambda: Client(line.url, "k", timeout=-1)),
        (InputError, "deadline: got -1", lambda: RemoteTrial(client, name, deadline=-1)),
        (InputError, "deadline: got -1", lambda: trial.decide("x", "old", deadline=-1)),
        (InputError, "trial: got '', expected the identifier", lambda: RemoteTrial(client, "")),
        (NotFoundError, "nothing at this path; GET /openapi.json", lambda: client.call("GET", "/trial/stroke")),
        (InputError, "this path is there, and takes other methods", lambda: client.call("PATCH", "/trials")),
    ]
    for error, words, call in refusals:
        with pytest.raises(error, match=words):
            call()
    stranger.close()


@pytest.mark.parametrize("mode", ["refuse", pytest.param("swallow", marks=pytest.mark.long), "trickle", "hang"])
def test_an_answer_before_the_deadline_whatever_the_line_does(
    trial: RemoteTrial, line: Proxy, server: Served, name: str, mode: Mode
) -> None:
    """One decision in the log, whichever side made it, and the same proposal for whoever asks again."""
    reaches = mode in ("swallow", "trickle")
    if not reaches:  # the others send by the line that there is, at once
        line.hang_up()
    line.mode = mode
    drawn = trial.decide("ann", "old", deadline=1 if reaches else SHORT)
    assert isinstance(drawn, Drawn)
    with stored(server, name) as log:
        while reaches and not log.progress().decisions:  # what was sent arrives, however busy the machine
            time.sleep(0.01)
        committed = log.decide("ann", "old") if reaches else None
    assert drawn.proposal in ("rest", "drug")
    assert trial.decide("ann", "old") == drawn
    assert trial.waiting() == [drawn]
    with Client(line.url, "x", timeout=SHORT) as other, pytest.raises(UnreachableError):
        RemoteTrial(other, name).progress()
    line.hang_up()
    line.mode = "pass"
    answer = trial.decide("ann", "old", deadline=30)
    assert isinstance(answer, Decision)
    assert answer.proposal == (committed.proposal if committed is not None else drawn.proposal)
    assert trial.waiting() == []
    assert trial.decide("ann", "old", deadline=30) == answer
    assert trial.flush() == []
    with stored(server, name) as log:
        found = log.audit()
        assert (found.passed, found.decisions) == (True, 1)
        assert found.fallbacks == (committed is None)
        kinds = [each.kind for each in log.events(limit=1_000)]
        assert kinds.count("decided") == 1
        assert kinds.count("set aside") == (committed is not None)
        if committed is None:
            event = json.loads(log.events(kind="decided")[0].body)
            assert event["probability"] == [0.25, 0.75, 0.0]


def test_a_lost_answer_is_asked_for_again_under_the_same_key(
    client: Client, name: str, line: Proxy, server: Served
) -> None:
    """Without a spool and with time enough: the first answers get lost, the retries have no second effect."""
    trial = RemoteTrial(client, name, deadline=30)
    line.mode = "swallow"

    def mend() -> None:
        while line.swallowed < 3:
            time.sleep(0.001)
        line.mode = "pass"

    threading.Thread(target=mend, daemon=True).start()
    line.hang_up()
    assert isinstance(trial.decide("ann", "old"), Decision)
    assert line.swallowed >= 3
    with stored(server, name) as log:
        assert [each.kind for each in log.events(limit=100)] == ["created", "moved", "decided"]


def test_numbers_may_be_numpys_and_decimal(client: Client) -> None:
    """As `Trial.report` takes them; what is no number is refused before it is sent."""
    outcomes = {"kind": "count", "most": 50, "exposure": "days", "longest": 90, "step": 0.5}
    client.create({**SPEC, "space": {**SPEC["space"], "outcomes": outcomes}}, trial="numbers")  # type: ignore[dict-item]
    trial = RemoteTrial(client, "numbers")
    trial.start()
    decision, three = trial.decide("a", "old"), cast("Any", np.int64(3))
    exposures: tuple[Any, ...] = (
        np.float64(60.5),
        np.float32(60.5),
        Decimal("60.5"),
        "60.5",
        np.array(60.5),
        np.longdouble(60.5),
    )
    for exposure in exposures:
        trial.report(decision, outcome={"events": three, "exposure": exposure})
    endless: list[object] = []
    endless.append(endless)
    wrong: list[tuple[Any, str]] = [
        (float("nan"), "got a number that is nan or infinite, .* declare it missing"),
        (np.longdouble("inf"), "got a number that is nan or infinite"),
        (3j, "got 3j,"),
        (np.clongdouble(3j), "got .*3j"),
        (endless, "got a list or table that contains itself,"),
        ({three: 1}, "got a key of type numpy.int64, expected texts as the keys of tables"),
        (10**5_000, "got a number of very many digits,"),
    ]
    for bad, words in wrong:
        with pytest.raises(InputError, match=words):
            trial.report(decision, outcome={"events": 3, "exposure": bad})


@pytest.mark.requirement("R-4.9")
@pytest.mark.parametrize("key", ["takeup_secret\n", " takeup_secret", "takeup\u00a0secret", "", None, b"takeup_secret"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_told(key: Any) -> None:
    """As text that was read from a file and has its end of line."""
    with pytest.raises(InputError, match=r"key.*expected an API key") as caught:
        Client("http://127.0.0.1:9", key)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_what_may_have_happened_is_not_repeated_without_a_key(client: Client, line: Proxy) -> None:
    line.hang_up()
    line.mode = "swallow"
    with pytest.raises(UnreachableError):
        client.create(SPEC, trial="once")
    assert line.swallowed == 1
    line.mode = "pass"
    with pytest.raises(ConflictError, match="already"):
        client.create(SPEC, trial="once")


@pytest.mark.requirement("R-3.9")
def test_fallbacks_outlive_the_client_and_are_recorded_once(
    client: Client, name: str, line: Proxy, server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client dies after drawing, and again after recording but before it could note that it had."""
    with RemoteTrial(client, name, spool=tmp_path / "spool", deadline=SHORT) as trial:
        line.hang_up()
        line.mode = "refuse"
        drawn = [trial.decide(f"u{i}", i % 2) for i in range(5)]
        assert all(isinstance(each, Drawn) for each in drawn)
    with (tmp_path / "spool").open("a") as torn:
        torn.write('{"kind": "drawn", "trial"')
    with RemoteTrial(client, name, spool=tmp_path / "spool", deadline=SHORT) as trial:
        assert trial.waiting() == drawn
        assert trial.decide("u3", 1) == drawn[3]
        line.mode = "pass"
        with monkeypatch.context() as patch:
            patch.setattr(Spool, "recorded", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                trial.flush()
    with RemoteTrial(client, name, spool=tmp_path / "spool", deadline=30) as trial:
        assert trial.waiting() == drawn
        done = trial.flush()
        assert [each for each, _ in done] == drawn
        assert [decision.proposal for _, decision in done] == [each.proposal for each in drawn]
        assert trial.report(drawn[2], implemented="rest", outcome=1).decision == 3
    with RemoteTrial(client, name, spool=tmp_path / "spool") as trial:
        assert trial.waiting() == []
    with stored(server, name) as log:
        found = log.audit()
        assert (found.passed, found.decisions, found.fallbacks) == (True, 5, 5)


def test_a_report_about_what_was_drawn_records_it_first(
    trial: RemoteTrial, line: Proxy, server: Served, name: str
) -> None:
    line.hang_up()
    line.mode = "refuse"
    drawn = trial.decide("ann", "old")
    line.mode = "pass"
    assert trial.report(drawn, outcome=1).decision == 1
    assert trial.waiting() == []
    with stored(server, name) as log:
        kinds = [each.kind for each in log.events(limit=100)]
        assert (kinds.count("decided"), kinds.count("reported")) == (1, 1)


def test_threads_agree_on_what_was_drawn(trial: RemoteTrial, line: Proxy) -> None:
    line.hang_up()
    line.mode = "refuse"
    answers: list[Decision | Drawn] = []
    threads = [threading.Thread(target=lambda: answers.append(trial.decide("ann", "old"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8
    assert len(set(answers)) == 1
    assert len(trial.waiting()) == 1


def test_one_refusal_does_not_keep_the_others_in_the_spool(
    trial: RemoteTrial, client: Client, line: Proxy, name: str
) -> None:
    line.hang_up()
    line.mode = "refuse"
    trial.decide("ann", "old")
    trial.decide("bob", "old")
    line.mode = "pass"
    RemoteTrial(client, name, deadline=30).decide("ann", "young")  # somebody else knew better
    with pytest.raises(ConflictError, match="made in context 'young'"):
        trial.flush()
    assert [each.unit for each in trial.waiting()] == ["ann"]


def test_draws_follow_the_agreed_probabilities(client: Client, name: str, line: Proxy, tmp_path: Path) -> None:
    """Every 64th of the way: a quarter of the draws are the first proposal, the rest the second, none the third."""
    places = iter(range(0, _GRAIN, _GRAIN // 64))
    with RemoteTrial(client, name, spool=tmp_path / "s", deadline=0.01, draw=lambda _: next(places)) as trial:
        line.hang_up()
        line.mode = "refuse"
        drawn = [trial.decide(f"u{i}", 0).proposal for i in range(64)]
    assert drawn == ["rest"] * 16 + ["drug"] * 48


def test_nothing_is_drawn_before_it_is_agreed(client: Client, line: Proxy, tmp_path: Path) -> None:
    name = client.create(SPEC, trial="still-a-draft")
    with RemoteTrial(client, name, spool=tmp_path / "spool", deadline=SHORT) as trial:
        line.hang_up()
        line.mode = "refuse"
        with pytest.raises(UnreachableError, match="nothing is agreed"):
            trial.decide("ann", "old")
        with Client(line.url, "x", timeout=SHORT) as other, pytest.raises(UnreachableError):
            RemoteTrial(other, name, spool=tmp_path / "other")
        line.mode = "pass"
        trial.start()
        trial.decide("ann", "old", deadline=30)
        line.hang_up()
        line.mode = "refuse"
        assert isinstance(trial.decide("bob", "old"), Drawn)
        with pytest.raises(InputError, match="context"):
            trial.decide("cid", "noon")


def test_a_spool_is_for_one_client_and_one_trial(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    first = Spool(path, "a")
    with pytest.raises(InputError, match="no other client"):
        Spool(path, "a")
    first.agree({"name": "x"})
    first.close()
    with pytest.raises(InputError, match="trial a"):
        Spool(path, "b")
    path.write_text("{}\n")
    with pytest.raises(InputError, match="line 1"):
        Spool(path, "a")
    with pytest.raises(InputError, match="can be written"):
        Spool(tmp_path / "no" / "folder", "a")


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool(tmp_path / "spool", "a")
    drawn = Drawn(trial="a", unit="u", occasion=None, context="x", proposal="z", at=1, key="k")
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:10]))
    with pytest.raises(OSError, match="whole line"):
        spool.add(drawn)
    monkeypatch.undo()
    assert spool.waiting() == []
    assert (tmp_path / "spool").read_bytes() == b""
    assert spool.add(drawn) == drawn
    spool.close()
    assert Spool(tmp_path / "spool", "a").waiting() == [drawn]


def test_feature_flags_are_decided_by_the_service(client: Client, name: str, tmp_path: Path) -> None:
    """OpenFeature's client over this one: what was shown is implemented, and what was tracked is the outcome."""
    from openfeature import api
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.flag_evaluation import Reason
    from openfeature.track import TrackingEventDetails

    from takeup.adapters.openfeature import TakeupProvider

    trial, ann = RemoteTrial(client, name), EvaluationContext("ann", {"context": "old"})
    try:
        api.set_provider(TakeupProvider({"care": trial}, exposed=True))
        shown = api.get_client().get_string_details("care", "rest", ann)
        api.get_client().track("care", ann, TrackingEventDetails(1))
    finally:
        api.clear_providers()
    assert (shown.reason, shown.flag_metadata["decision"]) == (Reason.SPLIT, 1)
    trial.export(tmp_path / "log.jsonl")
    log = read_log(tmp_path / "log.jsonl")
    assert shown.value == log.space.proposals[log.proposal[0]] == log.space.implemented[log.implemented[0]]
    assert log.outcome.tolist() == [1]
