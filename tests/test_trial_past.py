"""A trial that takes over a running one: what is recorded, what learns from it, and what is refused as a whole."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from typer.testing import CliRunner

import asgi
import tampering
from page_visitor import Visitor
from takeup import UNSEEN, Evidence, InputError, LabelError, Log, analysis
from takeup.analysis.replay import re_randomise
from takeup.cli import app
from takeup.errors import AccessError, ConflictError, StateError
from takeup.live import Past, Trial, audit
from takeup.live.findings import findings_of
from takeup.log import SOURCES, read_log
from takeup.randomness import stream
from takeup.service.pages.render.child import dashboard
from takeup.store import Store, looking, reading
from takeup.trial import Ask, Decide
from takeup.trial.events import TakenOver, event_of

SPEC: dict[str, Any] = {
    "name": "Takes over",
    "space": {"proposals": ["A", "B", "C"], "contexts": ["Bonn", "Kiel"], "outcomes": ["ill", "well"]},
    "policy": {"kind": "TS"},
    "compliance": "sometimes",
    "rehearsal": True,
    "seed": 3,
}
DAY = 86_400_000_000
NOW = 20_000 * DAY
START = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=19_000)
MANY = 8
ROWS: dict[str, list[Any]] = {
    "patient": [f"p{i}" for i in range(1, MANY + 1)],
    "arm": ["A", "B", "C", "A", "B", "C", "A", "B"],
    "got": ["A", "A", "C", None, "B", "", "B", "B"],
    "site": ["Bonn", "Kiel", "Bonn", "Kiel", "Bonn", "Kiel", "Bonn", "Kiel"],
    "came": ["ill", "well", "well", None, "ill", "well", "well", ""],
    "when": [START + timedelta(days=100 * i) for i in range(MANY)],
    "pA": [0.5, 0.25, 0.25, 0.5, 0.25, 0.25, 0.4, 0.2],
    "pB": [0.25, 0.5, 0.25, 0.25, 0.5, 0.25, 0.4, 0.4],
    "pC": [0.25, 0.25, 0.5, 0.25, 0.25, 0.5, 0.2, 0.4],
}
COLUMNS: dict[str, Any] = {"unit": "patient", "assigned": "arm", "taken": "got", "outcome": "came", "context": "site"}
SHARES: dict[str, Any] = {"probability": ["pA", "pB", "pC"]}


class Clock:
    """Tells the time that it was set to."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now


ON_SQLITE = pytest.mark.parametrize(
    "emptied", ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)], indirect=True
)
"""For what is computed from a trial, whatever keeps it."""


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(emptied: str, clock: Clock) -> Iterator[Store]:
    with Store(emptied, clock=clock) as opened:
        yield opened


def taken_over(
    store: Store, changed: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, **more: Any
) -> Trial:
    past = Past({**ROWS, **(changed or {})}, **(COLUMNS | more))
    return Trial.create(store, SPEC | (spec or {}), past=past, by="ann")


def test_past_assignments_are_decisions_with_what_is_known_of_them(store: Store) -> None:
    trial = taken_over(store, time="when", **SHARES)
    progress = trial.progress()
    assert (progress.state, progress.decisions, progress.past) == ("draft", MANY, MANY)
    assert (progress.compliance_seen, progress.compliance_pending) == (6, 2)
    assert (progress.outcomes_counted, progress.outcomes_pending) == (6, 2)
    by_hand = Evidence.from_frame(
        ROWS, assigned="arm", taken="got", outcome="came", context="site", space=trial.design.space
    )
    assert trial.evidence() == by_hand
    events = [event_of(each.body) for each in trial.events(kind="taken over")]
    first = events[0]
    assert isinstance(first, TakenOver)
    assert (first.unit, first.context, first.proposal, first.implemented, first.outcome) == (
        "p1",
        "Bonn",
        "A",
        "A",
        "ill",
    )
    assert (first.by, first.decided, first.probability) == ("ann", 19_000 * DAY, (0.5, 0.25, 0.25))
    found = trial.audit()
    assert found.passed, found
    assert (found.past, found.decisions, found.rederived) == (MANY, MANY, 0)


def test_the_policy_learns_from_them_and_its_decisions_are_derived_again(store: Store) -> None:
    trial, plain = taken_over(store), Trial.create(store, SPEC, trial="plain")
    for each in (trial, plain):
        each.start()
    mine, theirs = trial.decide("new", "Bonn"), plain.decide("new", "Bonn")
    assert (mine.number, theirs.number) == (MANY + 1, 1)
    (logged,) = trial.events(kind="decided")
    (other,) = plain.events(kind="decided")
    assert json.loads(logged.body)["probability"] != json.loads(other.body)["probability"]
    assert json.loads(logged.body)["version"] == 1 + MANY  # the last of them of whom something is known
    found = trial.audit()
    assert found.passed, found
    assert (found.past, found.rederived) == (MANY, 1)


def test_the_log_has_them_as_past_and_says_what_is_not_known_of_them(store: Store, tmp_path: Path) -> None:
    trial = taken_over(store)
    trial.start()
    for i in range(4):
        trial.report(trial.decide(f"new {i}", i % 2), outcome=i % 2)
    log = trial.log()
    assert [SOURCES[k] for k in log.source] == ["past"] * MANY + ["policy"] * 4
    assert log.estimated
    assert log.inferred[0].startswith("The probabilities of 8 past assignments are not known: they are the shares")
    np.testing.assert_allclose(log.probability[0], [0.5, 0.25, 0.25])  # Bonn: A, C, B, A
    np.testing.assert_allclose(log.probability[1], [0.25, 0.5, 0.25])  # Kiel: B, A, C, B
    assert log.outcome_by[:MANY].tolist() == [1, 2, 3, 12, 5, 6, 7, 12]
    own = log.only(log.source != SOURCES.index("past"))
    assert not own.estimated
    assert Evidence.from_log(log) == trial.evidence()
    for name in ("past.csv", "past.parquet", "past.jsonl"):
        trial.export(tmp_path / name)
        back = read_log(tmp_path / name)
        for part in ("proposal", "implemented", "outcome", "probability", "source", "outcome_by", "implemented_by"):
            np.testing.assert_array_equal(getattr(back, part), getattr(log, part), part)
        assert back.estimated
        assert log.inferred[0] in back.inferred
    frame = pl.read_parquet(tmp_path / "past.parquet")
    assert frame["source"].to_list() == ["past"] * MANY + ["policy"] * 4
    assert frame["probability"].null_count() == frame["p_a"].null_count() == frame["software"].null_count() == MANY


@ON_SQLITE
def test_what_needs_probabilities_says_that_they_are_not_known(store: Store) -> None:
    trial = taken_over(store)
    unknown = analysis.analyse(trial.log(), own=trial.design)
    told = " ".join(check.detail for check in unknown.checks)
    assert "nobody wrote them down" in told
    known = taken_over(store, spec={"name": "Known"}, **SHARES).log()
    assert not known.estimated
    np.testing.assert_array_equal(known.probability[:, 0], ROWS["pA"])
    refused = re_randomise(known, trial.design, None, "A").refused
    assert refused.startswith("8 were assigned before the trial was taken over, not by its design")


def test_times_are_their_own_and_make_the_order(store: Store, tmp_path: Path) -> None:
    turned = {name: values[::-1] for name, values in ROWS.items()}
    trial, same = taken_over(store, turned, time="when"), taken_over(store, spec={"name": "Same"}, time="when")
    assert trial.log().unit is not None
    np.testing.assert_array_equal(trial.log().unit, same.log().unit)
    trial.export(tmp_path / "t.parquet")
    frame = pl.read_parquet(tmp_path / "t.parquet")
    assert frame["unit"].to_list() == ROWS["patient"]
    assert frame["decided_at"].to_list() == ROWS["when"]


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations(range(MANY)), st.sampled_from(["times", "texts", "naive"]))
def test_no_order_of_rows_matters_where_times_are_known(order: list[int], how: str) -> None:
    shuffled = {name: [values[i] for i in order] for name, values in ROWS.items()}
    if how == "texts":
        shuffled["when"] = [each.isoformat() for each in shuffled["when"]]
    elif how == "naive":
        shuffled["when"] = [each.replace(tzinfo=None) for each in shuffled["when"]]
    with Trial.create("sqlite://", SPEC, past=Past(shuffled, **COLUMNS, time="when"), clock=lambda: NOW) as trial:
        log = trial.log()
        assert log.unit is not None
        assert log.unit.tolist() == ROWS["patient"]
        assert log.proposal.tolist() == [0, 1, 2, 0, 1, 2, 0, 1]


def test_a_past_outcome_that_is_still_pending_is_reported_later(store: Store) -> None:
    trial = taken_over(store)
    assert trial.report(unit="p4", implemented="B").decision == 4  # also while it is a draft
    trial.start()
    trial.decide("new", "Kiel")
    trial.report(unit="p4", outcome="well")
    assert trial.report(unit="p8", missing=["outcome"]).decision == 8
    with pytest.raises(ConflictError, match="outcome of decision 1 was reported as 'ill'; a correction needs a reason"):
        trial.report(unit="p1", outcome="well")
    assert trial.report(unit="p1", outcome="well", reason="typing error").corrected == ("outcome",)
    log = trial.log()
    assert log.outcome[[0, 3, 7]].tolist() == [1, 1, UNSEEN]
    assert log.outcome_by[[0, 3]].tolist() == [9, 9]
    assert log.implemented_by[3] == 8
    assert log.corrected is not None
    assert log.corrected.tolist() == [True] + [False] * MANY
    assert trial.progress().corrections == 1
    assert trial.audit().passed


def test_who_was_assigned_before_is_not_assigned_again(store: Store) -> None:
    trial = taken_over(store)
    trial.start()
    standing = trial.decide("p3", "Bonn")
    assert (standing.number, standing.proposal) == (3, "C")
    with pytest.raises(ConflictError, match="made in context 'Bonn'"):
        trial.decide("p3", "Kiel")
    assert trial.fallback("p2", "A", "Kiel").proposal == "B"
    blinded = Decide(ask=Ask(unit="p1", context="Bonn"), by="somebody", blinded=True)
    with pytest.raises(AccessError, match="somebody else asked for"):
        trial.submit(blinded).result()
    kinds = [each.kind for each in trial.events(after=MANY + 2)]
    assert kinds == ["answered", "set aside", "refused"]
    assert trial.progress().decisions == MANY
    assert trial.audit().passed


WRONG: list[tuple[dict[str, Any], dict[str, Any], type[Exception], str]] = [
    ({"arm": [*"ABCABCA", "D"]}, {}, LabelError, r"assigned: row 8, column 'arm': got 'D', expected one of A, B, C"),
    ({"came": ["ill"] * 6 + ["sick", "ill"]}, {}, LabelError, r"outcome: row 7, column 'came': got 'sick'"),
    ({"site": ["Bonn"] * 7 + [None]}, {}, InputError, r"context: row 8, column 'site' is missing"),
    ({"arm": [*"ABCABC", None, "A"]}, {}, InputError, r"assigned: row 7, column 'arm' is missing"),
    ({"patient": [*"abcdefga"]}, {}, InputError, r"unit: row 8, column 'patient': got 'a', who is in row 1 too"),
    ({"patient": [*"abcdefg", " "]}, {}, InputError, r"unit: row 8, column 'patient' is missing"),
    ({"patient": [*"abcdefg", "h\x00"]}, {}, InputError, r"unit: row 8, column 'patient'.*without control characters"),
    ({"when": ["2020-01-01"] * 7 + ["soon"]}, {"time": "when"}, InputError, r"time: row 8, column 'when': got 'soon'"),
    ({"when": ["2020-01-01"] * 7 + [None]}, {"time": "when"}, InputError, r"time: row 8, column 'when' is missing"),
    ({"when": ["2020-01-01"] * 7 + ["2999-01-01"]}, {"time": "when"}, InputError, r"unit 'p8'.*in the future"),
    ({"when": list(range(8))}, {"time": "when"}, InputError, r"time: row 1, column 'when': got 0"),
    ({"pC": [0.25] * 7 + [0.9]}, SHARES, InputError, r"probability: row 3"),
    ({"pA": [0.5] * 7 + [None]}, SHARES, InputError, r"probability: row 8, column 'pA' is missing"),
    ({}, {"context": None}, InputError, r"context is missing; expected the column of the context, one of Bonn, Kiel"),
    ({}, {"occasion": "when"}, InputError, r"occasion: got 'when', expected nothing"),
    ({}, {"taken": "arm"}, InputError, r"taken: got 'arm', expected a column of its own"),
]


@pytest.mark.requirement("R-8.5")
@pytest.mark.parametrize(("changed", "more", "error", "told"), WRONG)
def test_what_is_wrong_in_one_row_refuses_all_and_names_it(
    changed: dict[str, Any], more: dict[str, Any], error: type[Exception], told: str
) -> None:
    with Store("sqlite://", clock=lambda: NOW) as store:
        with pytest.raises(error, match=told):
            taken_over(store, changed, **more)
        assert store.read(reading.identifiers) == []
        assert store.read(lambda connection: connection.execute(text("SELECT count(*) FROM events")).scalar()) == 0


def test_what_a_spec_says_of_compliance_occasions_and_windows_is_kept(store: Store, clock: Clock) -> None:
    with pytest.raises(InputError, match="compliance is never reported"):
        taken_over(store, spec={"compliance": "never"})
    with pytest.raises(InputError, match="this trial makes many for a unit"):
        taken_over(store, spec={"decisions": "many"})
    with pytest.raises(InputError, match=r"unit 'p1' is missing.*outcome window.*time="):
        taken_over(store, spec={"window": "500 days"})
    trial = taken_over(store, spec={"window": "500 days"}, time="when")  # the last are of days 600 and 700 of 1,000
    progress = trial.progress()
    assert (progress.outcomes_counted, progress.outcomes_waiting, progress.outcomes_late) == (5, 1, 1)
    assert trial.log().outcome.tolist() == [0, 1, 1, UNSEEN, 0, 1, UNSEEN, UNSEEN]
    clock.now += 100 * DAY
    trial.tick()
    assert trial.progress().outcomes_counted == 6
    trial.start()
    trial.decide("new", "Bonn")
    assert trial.log().outcome.tolist()[:MANY] == [0, 1, 1, UNSEEN, 0, 1, 1, UNSEEN]
    assert trial.log().outcome_by[6] == MANY
    assert trial.audit().passed


def test_a_draft_takes_over_one_table_and_a_key_makes_it_safe_to_ask_again(store: Store) -> None:
    trial = Trial.create(store, SPEC)
    past = Past(ROWS, **COLUMNS)
    assert trial.take_over(past, key="once", by="ann") == MANY
    assert trial.take_over(past, key="once", by="ann") == MANY
    with pytest.raises(ConflictError, match="used for another request"):
        trial.take_over(Past({**ROWS, "arm": ["A"] * MANY}, **COLUMNS), key="once")
    with pytest.raises(ConflictError, match="8 past assignments already"):
        trial.take_over(past)
    assert trial.progress().decisions == MANY
    late = Trial.create(store, SPEC, trial="late")
    late.start()
    with pytest.raises(StateError, match="taken over while it is a draft"):
        late.take_over(past)
    assert late.progress().decisions == 0
    assert trial.audit().passed
    assert late.audit().passed


def test_a_draft_with_a_past_keeps_its_labels_and_may_change_all_else(store: Store) -> None:
    trial = taken_over(store)
    before = trial.evidence()
    spec = {name: value for name, value in SPEC.items() if name != "seed"}
    trial.amend(spec | {"policy": {"kind": "Uniform"}})
    assert trial.evidence() == before
    with pytest.raises(StateError, match="8 past assignments, in the labels and windows of its spec"):
        trial.amend(spec | {"space": {**SPEC["space"], "proposals": ["A", "B", "D"]}})
    trial.start()
    trial.decide("new", "Bonn")
    assert trial.audit().passed


@ON_SQLITE
def test_a_bare_table_has_columns_called_what_they_are_for(store: Store, tmp_path: Path) -> None:
    names = {"patient": "unit", "arm": "assigned", "got": "taken", "came": "outcome", "site": "context", "when": "time"}
    frame = pl.DataFrame(ROWS).select(*names).rename(names)
    frame.write_csv(tmp_path / "past.csv")
    trial = Trial.create(store, SPEC, past=frame)
    other = Trial.create(store, SPEC, past=tmp_path / "past.csv", trial="other")
    assert trial.evidence() == other.evidence() == taken_over(store, spec={"name": "Third"}).evidence()
    assert [each.body for each in trial.events(kind="taken over")] == [
        each.body for each in other.events(kind="taken over")
    ]
    with pytest.raises(InputError, match="unit: got 'unit', expected one of the columns assigned"):
        Trial.create(store, SPEC, past=frame.drop("unit"), trial="none")


def test_planned_looks_count_past_outcomes(store: Store) -> None:
    space = {"proposals": ["A", "B", "C"], "outcomes": ["ill", "well"]}
    looks = {"looks": {"first": 4, "every": 4, "last": 12}, "stopping": {"superiority": 0.99}}
    trial = taken_over(store, spec={"space": space, **looks}, context=None)
    trial.start()
    (held,) = trial.events(kind="looked")
    assert json.loads(held.body)["outcomes"] == 6
    trial.decide("new")
    found = trial.audit()
    assert found.passed, found
    assert found.looks == 1


def test_tampering_with_a_past_row_is_found(tmp_path: Path) -> None:
    path = tmp_path / "victim.db"
    with Trial.create(path, SPEC, past=Past(ROWS, **COLUMNS, time="when")) as trial:
        trial.start()
        trial.decide("new", "Bonn")
    with looking(path) as connection:
        assert audit(connection, "takes-over").passed
    for number, (table, change) in enumerate(
        {
            "decisions": "UPDATE decisions SET outcome = 1 WHERE number = 1",
            "evidence": "UPDATE evidence SET amount = amount + 1 WHERE context = 0",
            "at": "UPDATE decisions SET at = at + 1 WHERE number = 2",
            "the trial's past": "UPDATE trials SET past = past - 1",
            "event 4": "UPDATE events SET body = replace(body, '\"p3\"', '\"q3\"') WHERE sequence = 4",
        }.items()
    ):
        forged = tampering.copied(path, tmp_path / f"forged {number}.db")
        forger = tampering.Forger(forged, stream(1))
        with forger.unlocked(True):
            forger.connection.execute(change)
            forger.connection.commit()
        forger.close()
        with looking(forged) as connection:
            found = audit(connection, "takes-over")
        assert not found.passed, table
        assert table in str(found.difference)


def test_a_past_row_that_cannot_have_been_is_found_although_the_hashes_fit(tmp_path: Path) -> None:
    """Somebody writes the log again from a row on: what nothing can derive must still be able to be."""
    path = tmp_path / "victim.db"
    with Trial.create(path, SPEC, trial="victim", past=Past(ROWS, **COLUMNS, time="when", **SHARES)) as trial:
        bodies = [each.body for each in trial.events(kind="taken over")]
    assert len(bodies) == MANY
    for old, new in (
        ('"proposal":"C"', '"proposal":"D"'),
        ('"unit":"p3"', '"unit":"p1"'),
        ('"number":3', '"number":30'),
        ('"probability":[0.25,0.25,0.5]', '"probability":[0.5,0.5,0.5]'),
        (f'"decided":{19_200 * DAY}', f'"decided":{19_001 * DAY}'),
    ):
        forged = tampering.copied(path, tmp_path / f"{len(list(tmp_path.iterdir()))}.db")
        forger = tampering.Forger(forged, stream(1))
        with forger.unlocked(True):
            assert old in bodies[2]
            forger.write_log([body.replace(old, new) if body == bodies[2] else body for body in forger.bodies()])
        forger.close()
        with looking(forged) as connection:
            found = audit(connection, "victim")
        assert "event 4" in str(found.difference), new


@ON_SQLITE
def test_the_next_log_of_a_frame_and_the_log_of_its_trial_agree(store: Store) -> None:
    theirs = Log.from_frame(ROWS, **COLUMNS, **SHARES)
    ours = taken_over(store, **SHARES).log()
    for part in ("proposal", "implemented", "outcome", "probability", "context"):
        np.testing.assert_array_equal(getattr(ours, part), getattr(theirs, part), part)


def test_the_command_line_creates_a_trial_and_takes_over(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(SPEC))
    pl.DataFrame(ROWS).write_csv(tmp_path / "past.csv")
    base = ["create", str(tmp_path / "plan.json"), "--database", str(tmp_path / "trials.db")]
    past = ["--past", str(tmp_path / "past.csv"), "--unit", "patient", "--assigned", "arm", "--taken", "got"]
    past += ["--outcome", "came", "--context", "site", "--time", "when"]
    shares = [word for label in "ABC" for word in ("--probability", f"{label}=p{label}")]
    done = CliRunner().invoke(app, [*base, *past, *shares])
    assert (done.exit_code, done.stdout) == (0, "takes-over: a draft, with 8 past assignments\n"), done
    with Trial.open(tmp_path / "trials.db") as trial:
        assert not trial.log().estimated
        assert trial.log().proposal.tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    plain = CliRunner().invoke(app, [*base, "--trial", "plain"])
    assert plain.stdout == "plain: a draft\n"
    for options, told in (
        ([*past, "--outcome", "got"], r"--taken: .*a column of its own; the same column is named for --outcome"),
        ([*past, "--assigned", "pA"], r"--assigned: row 1, column 'pA': got '0.5', expected one of A, B, C"),
        (["--unit", "patient"], r"--unit: .*nothing without --past"),
        (["--past", str(tmp_path / "none.csv"), "--context", "site"], r"--past: .*a file that exists"),
    ):
        with pytest.raises(InputError, match=told):
            CliRunner().invoke(app, [*base, "--trial", "other", *options], catch_exceptions=False)
    found = CliRunner().invoke(app, ["audit", str(tmp_path / "trials.db"), "--trial", "takes-over"])
    assert "8 from before the trial came here, taken as they were" in " ".join(found.stdout.split())


def test_pages_show_a_trial_that_has_only_a_past() -> None:
    with asgi.api(clock=lambda: NOW) as api:
        trial = taken_over(api.store, time="when")
        trial.start()
        seen, blinded = Visitor(api, "read-unblinded"), Visitor(api, "read-blinded")
        assert "assigned before the trial came here" in blinded.get("/app/trials/takes-over").body.decode()
        for visitor, shown in ((seen, True), (blinded, False)):
            log = visitor.get("/app/trials/takes-over/log?kind=taken+over")
            assert log.status == 200
            assert ("Outcome: <b>well</b>" in log.body.decode()) == shown
        for path in ("summary", "course", "progress"):
            assert api.request("GET", f"/trials/takes-over/{path}", key=api.key("read-unblinded")).status == 200
        for _ in range(2):
            book = api.store.read(lambda connection: reading.snapshot(connection, "takes-over"))
            assert "assigned before the trial came here" in dashboard(findings_of(book, 0), NOW)
            trial.decide("new", "Bonn")


@pytest.mark.parametrize(
    ("outcome", "values", "shown"),
    [
        ({"kind": "number", "low": 0, "high": 10, "step": 0.5}, [2.5, None, 7], [2.5, None, 7.0]),
        (
            {"kind": "time", "longest": 90},
            ["30", "90+", None],
            [{"censored": False, "time": 30}, {"censored": True, "time": 90}, None],
        ),
    ],
)
def test_outcomes_of_every_kind_are_taken_over(outcome: dict[str, Any], values: list[Any], shown: list[Any]) -> None:
    pandas = pytest.importorskip("pandas")
    when = pandas.to_datetime(["2020-01-01 10:00", "2020-01-02 10:00", "2020-01-03 10:00"])
    frame = pandas.DataFrame({"unit": [1, 2, 3], "assigned": ["A", "B", "A"], "outcome": values, "time": when})
    spec = SPEC | {"space": {"proposals": ["A", "B"], "outcomes": outcome}}
    with Trial.create("sqlite://", spec, past=frame) as trial:
        told = [event_of(each.body) for each in trial.events(kind="taken over")]
        assert [getattr(each, "outcome", "") for each in told] == shown
        assert [getattr(each, "unit", "") for each in told] == ["1", "2", "3"]
        first = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=getattr(told[0], "decided", 0))
        assert first == datetime(2020, 1, 1, 10, tzinfo=UTC)
        table = Evidence.from_frame(frame, assigned="assigned", outcome="outcome", space=trial.design.space)
        assert trial.evidence() == table
        assert trial.audit().passed
