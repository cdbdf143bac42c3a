"""What clients decided from leases comes back in batches: exactly once, whatever is sent twice, late or wrong."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from ingest_model import Held, IngestModel
from model import Model
from store_internals import engine
from takeup import stream
from takeup.errors import ConflictError, InputError, NotFoundError, StateError
from takeup.live import Trial
from takeup.log import SOURCES
from takeup.space import Axis
from takeup.specfile import SpecError
from takeup.store import Store
from takeup.trial import design, ingesting
from takeup.trial.design import Design
from takeup.trial.leases import Lease

SECOND = 1_000_000
DAY = 86_400 * SECOND
SPEC: dict[str, Any] = {
    "name": "Edge",
    "space": {"proposals": ["rest", "drug", "both"], "contexts": ["young", "old"], "outcomes": ["ill", "well"]},
    "policy": {"kind": "TSObs"},
    "draws": 100,
    "edge": {"allowed": True, "seconds": 30, "most": 25},
    "rehearsal": True,
    "seed": 3,
}
Row = dict[str, Any]


class Clock:
    def __init__(self) -> None:
        self.now = 1_000 * SECOND

    def __call__(self) -> int:
        return self.now


def running(database: str | Path, clock: Clock, **changes: Any) -> Trial:
    trial = Trial.create(database, {**SPEC, **changes}, clock=clock)
    trial.start()
    return trial


def row_of(lease: Lease, unit: str, context: int = 0, **more: Any) -> Row:
    drawn = lease.draw(unit, more.get("occasion"), context)
    return {
        "unit": unit,
        "context": context,
        "proposal": drawn,
        "lease": lease.number,
        "drawn": lease.issued + 1,
        **more,
    }


class World:
    """Edges that do everything that goes well, and everything that does not."""

    def __init__(self, database: str, seed: int) -> None:
        self.rng, self.clock = stream(seed, "edges"), Clock()
        many = bool(self.rng.integers(2))
        window = (None, 40)[self.rng.integers(2)]
        changes: dict[str, Any] = {"decisions": "many"} if many else {}
        if window is not None:
            changes["window"] = window
        changes["edge"] = {"allowed": True, "seconds": 30, "most": int(self.rng.integers(3, 25))}
        changes["burn_in"] = int(self.rng.integers(0, 10))
        self.trial, self.many = running(database, self.clock, **changes), many
        paper = Model(self.trial.design.space, None if window is None else window * SECOND, "running")
        self.model, self.sent = IngestModel(paper), [Row()]
        self.lease()

    def lease(self) -> None:
        lease = self.trial.lease(by="edge")
        self.model.leases[lease.number] = Held(lease)

    def revoke(self) -> None:
        held = self.model.leases[int(self.rng.integers(1, 1 + len(self.model.leases)))]
        self.trial.revoke(held.lease.number)
        if held.revoked is None:
            held.revoked = self.clock.now

    def batch(self, name: str) -> None:
        rows = [self.row() for _ in range(int(self.rng.integers(1, 25)))]
        self.rng.shuffle(rows)
        found = self.trial.ingest(name, [self.labelled(row) for row in rows], by="edge")
        self.model.begin()
        for place, row in enumerate(rows):
            self.model.take(place, row, self.clock.now)
        assert {name: getattr(found, name) for name in self.model.counts} == self.model.counts
        assert [place for place, _ in found.refused] == self.model.refused
        assert (found.rows, found.taken) == (len(rows), len(rows))
        self.sent += rows

    def row(self) -> Row:
        kind = self.rng.integers(10)
        if kind == 0 and len(self.sent) > 1:  # once more
            return self.sent[int(self.rng.integers(1, len(self.sent)))]
        unit = f"unit {self.rng.integers(40)}"
        occasion = {"occasion": f"week {self.rng.integers(2)}"} if self.many else {}
        if kind < 4:
            return {"unit": unit, **occasion, **self.said(), **({"reason": "typing error"} if kind == 3 else {})}
        held = self.model.leases[int(self.rng.integers(1, 1 + len(self.model.leases)))]
        more = {**occasion, **(self.said() if self.rng.integers(2) else {})}
        row = row_of(held.lease, unit, int(self.rng.integers(2)), **more)
        row["drawn"] += int(self.rng.integers(0, 35 * SECOND))
        if kind == 4:
            row["proposal"] = (row["proposal"] + 1) % 3
        if kind == 5:
            row["lease"] = 99
        if kind in (7, 8):
            row["lease_hash"] = self.model.leases[1 if kind == 8 else held.lease.number].lease.fingerprint
        if kind == 6:
            row["drawn"] += int(self.rng.integers(-900, 900)) * SECOND
        return row

    def labelled(self, row: Row) -> Row:
        """As most would send it; others say indices."""
        if self.rng.random() < 0.2:
            return row
        axes: tuple[Axis, ...] = ("proposal", "context", "implemented", "outcome")
        return row | {axis: self.trial.design.space.names(axis)[row[axis]] for axis in axes if axis in row}

    def said(self) -> Row:
        said: Row = {}
        for name, values in (("implemented", 3), ("outcome", 2)):
            match self.rng.integers(3):
                case 0:
                    said[name] = int(self.rng.integers(values))
                case 1 if self.rng.random() < 0.3:
                    said.setdefault("missing", []).append(name)
        return said

    def check(self) -> None:
        self.trial.tick()
        paper, progress = self.model.paper, self.trial.progress()
        assert np.array_equal(self.trial.evidence().counts, paper.evidence(self.clock.now))
        for name, value in paper.statuses(self.clock.now).items():
            assert getattr(progress, name) == value, name
        found = self.trial.audit()
        assert found.passed, found.difference
        assert (found.leased, found.leases) == (len(paper.cases), len(self.model.leases))
        log = self.trial.log()
        cases = paper.cases
        assert log.proposal.tolist() == [case.proposal for case in cases]
        assert (log.source == SOURCES.index("lease")).all()
        assert (np.take_along_axis(log.probability, log.proposal[:, np.newaxis], axis=1) > 0).all()


@pytest.mark.parametrize(
    ("emptied", "seed"),
    [
        *(pytest.param("sqlite", seed, marks=pytest.mark.long if seed > 3 else []) for seed in range(6)),
        *(pytest.param("postgresql", seed, marks=pytest.mark.long if seed > 0 else []) for seed in range(6)),
    ],
    indirect=["emptied"],
)
@pytest.mark.requirement("R-12.5")
def test_ingestion_is_what_the_model_says(emptied: str, seed: int) -> None:
    world = World(emptied, seed)
    with world.trial:
        for step in range(30):
            world.clock.now += int(world.rng.integers(0, 20)) * SECOND
            match world.rng.integers(8):
                case 0:
                    world.lease()
                case 1:
                    world.revoke()
                case _:
                    world.batch(f"batch {step}")
        world.check()


@pytest.mark.requirement("R-12.6")
def test_a_batch_that_breaks_off_goes_on_where_it_stopped(emptied: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingesting, "CHUNK", 7)
    clock = Clock()
    with running(emptied, clock) as trial:
        lease = trial.lease()
        rows = [row_of(lease, f"unit {i}", i % 2, outcome="well") for i in range(24)]
        rows[9]["proposal"] = (rows[9]["proposal"] + 1) % 3
        submit, chunks = trial.submit, list[object]()

        def breaking(command: Any) -> Any:
            if len(chunks) == 2:
                raise RuntimeError("the line is cut")
            chunks.append(command)
            return submit(command)

        with monkeypatch.context() as patched:
            patched.setattr(trial, "submit", breaking)
            with pytest.raises(RuntimeError):
                trial.ingest("b", rows)
        assert trial.progress().decisions == 13
        before = trial.progress().sequence
    with Trial.open(emptied, clock=clock) as trial:
        found = trial.ingest("b", rows)
        assert (found.recorded, found.set_aside, found.taken, found.standing) == (23, 1, 24, 0)
        assert [place for place, _ in found.refused] == [9]
        assert trial.progress().sequence == before + 10 + 2  # ten rows, and the ends of two chunks
        after = trial.progress().sequence
        assert trial.ingest("b", rows) == found
        assert trial.progress().sequence == after
        with pytest.raises(ConflictError, match="other rows"):
            trial.ingest("b", rows[:-1])
        assert trial.audit().passed


def test_many_rows_at_a_time(emptied: str) -> None:
    """As many as are copied, and looked up together; names as odd as they are allowed."""
    with running(emptied, Clock(), edge={"allowed": True, "most": 10_000}) as trial:
        lease = trial.lease()
        odd = [
            "\\N",
            "\\",
            "a\\tb",
            "'; --",
            '"quoted"',
            "%s",
            "{}",
            "é",
            "日本",
            "\U0001f600",
            " a ",
            "[1, 2]",
            "null",
        ]
        rows = [row_of(lease, name, i % 2, outcome="well") for i, name in enumerate([*odd, *map(str, range(1_000))])]
        found = trial.ingest("first", rows, by='\\ "edge"')
        assert found.recorded == len(rows)
        again = trial.ingest("second", [{name: row[name] for name in row if name != "outcome"} for row in rows])
        assert (again.standing, again.recorded, again.set_aside) == (len(rows), 0, 0)
        reports = [{"unit": row["unit"], "implemented": "rest"} for row in rows]
        assert trial.ingest("third", reports).reported == len(rows)
        assert trial.progress().compliance_seen == len(rows)
        units = trial.log().unit
        assert units is not None
        assert sorted(units) == sorted(row["unit"] for row in rows)
        assert trial.audit().passed


ODD: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        7,
        1.5,
        1e300,
        float("nan"),
        float("inf"),
        10**30,
        "",
        " ",
        "x",
        "0",
        "\ud800",
        "\x00",
    ),
    *(
        [],
        ["outcome"],
        [1],
        {},
        {"time": 3},
        {"time": "x"},
        {"count": 1, "exposure": 0},
        [[]],
        b"x",
        object,
        np.int64(1),
    ),
    *("rest", "young", "well", np.float64(2.5), np.arange(3), {"time": 5, "censored": "no"}, (1,), {1: 2}),
]
OUTCOMES: dict[str, Any] = {
    "levels": ["ill", "well"],
    "number": {"kind": "number", "low": 0, "high": 10},
    "count": {"kind": "count", "most": 10, "exposure": "days", "longest": 30},
    "time": {"kind": "time", "longest": 9},
}


@pytest.mark.parametrize("kind", OUTCOMES)
def test_no_value_of_a_row_stops_a_batch(tmp_path: Path, kind: str) -> None:
    """Anything anywhere: each row is recorded, set aside or refused, and the log is sound."""
    space = {**SPEC["space"], "outcomes": OUTCOMES[kind]}
    edge = {"allowed": True, "most": 10_000}
    with running(tmp_path / "t.db", Clock(), space=space, policy={"kind": "TS"}, edge=edge) as trial:
        lease, rng, rows = trial.lease(), stream(4, kind), list[Row]()
        for i in range(1_500):
            row = row_of(lease, f"unit {i}") if i % 3 else {"unit": f"unit {max(0, i - 2)}", "missing": ["outcome"]}
            names = ("unit", "occasion", "context", "proposal", "lease", "drawn", "implemented", "outcome", "missing")
            for name in rng.choice(
                [*names, "reason", "spec", "lease_hash", "other"], int(rng.integers(0, 3)), replace=False
            ):
                row[str(name)] = ODD[rng.integers(len(ODD))]
            rows.append(row)
        found = trial.ingest("b", rows)
        assert found.taken == len(rows)
        assert found.unrecorded > 100
        assert found.recorded > 200
        assert trial.progress().decisions == found.recorded
        audit = trial.audit()
        assert audit.passed, audit.difference


def test_a_chunk_that_was_committed_and_not_answered_is_answered_from_the_log(emptied: str) -> None:
    with running(emptied, Clock()) as trial:
        lease = trial.lease()
        batch = ingesting.Batch.of("b", [row_of(lease, f"unit {i}") for i in range(3)])
        first = trial.submit(batch.chunk(0)).result()
        assert trial.submit(batch.chunk(0)).result() == first
        assert trial.progress().decisions == 3


@pytest.mark.requirement("R-12.3")
def test_a_row_has_its_reason_and_stops_no_other(tmp_path: Path) -> None:
    clock = Clock()
    with running(tmp_path / "t.db", clock) as trial:
        lease = trial.lease()
        clock.now += 40 * SECOND
        late = trial.lease()
        trial.revoke(late.number)
        trial.revoke(late.number)
        rows: list[Row] = [
            row_of(lease, "good", outcome="well", implemented="rest"),
            {**row_of(lease, "a"), "proposal": (lease.draw("a", None, 0) + 1) % 3},
            {**row_of(lease, "b"), "lease": 7},
            {**row_of(lease, "c"), "drawn": lease.expires + 1},
            {**row_of(late, "d"), "drawn": late.issued},
            {**row_of(lease, "e"), "drawn": lease.issued - 301 * SECOND},
            {**row_of(lease, "good", 1)},
            {**row_of(lease, "f"), "context": "middle-aged"},
            {**row_of(lease, "g"), "proposal": "nothing"},
            {**row_of(lease, "h"), "drawn": "yesterday"},
            {**row_of(lease, "i"), "lease": True},
            {**row_of(lease, "j"), "unit": ""},
            {**row_of(lease, "k"), "unit": "\ud800"},
            {**row_of(lease, "l"), "colour": "red"},
            {**row_of(lease, "m"), "occasion": "week 1"},
            {**row_of(lease, "n"), "outcome": "great"},
            {**row_of(lease, "o"), "missing": "outcome"},
            {**row_of(lease, "p"), "spec": "00" * 32},
            {**row_of(lease, "q"), "outcome": float("nan")},
            {"unit": "nobody", "outcome": "well"},
            {"unit": "good", "outcome": "ill"},
            {"unit": "good"},
            {"unit": "good", "outcome": "well", "lease": None, "proposal": "rest"},
            {"unit": "good", "outcome": "well", "drawn": 5},
            {"unit": "good", "outcome": "well", "context": "young"},
            {"unit": "good", "outcome": "well", "spec": ""},
            {"unit": "good", "outcome": "well", "lease_hash": lease.fingerprint},
            row_of(lease, "last", spec=lease.spec),
        ]
        found = trial.ingest("b", rows)
        assert (found.recorded, found.standing, found.set_aside, found.reported) == (2, 0, 6, 0)
        why = dict(found.refused)
        assert found.unrecorded == 20
        assert set(why) == set(range(1, 27))
        for place, words in {
            1: "gives another proposal",
            2: "no lease with this number",
            3: "had expired",
            4: "was revoked",
            5: "before the lease was given",
            6: "has another decision",
            7: "context",
            8: "proposal",
            9: "drawn",
            10: "lease",
            11: "unit",
            13: "colour",
            14: "occasion",
            15: "outcome",
            16: "missing",
            17: "take another lease",
            19: "no decision for unit 'nobody'",
            20: "a correction needs a reason",
            **dict.fromkeys(range(22, 27), "the row has no lease and so is a report"),
        }.items():
            assert words in why[place], place
        assert trial.progress().decisions == 2
        kinds = [each.kind for each in trial.events(limit=100)]
        assert kinds.count("set aside") == 6
        assert trial.audit().passed


def test_a_lease_of_the_same_number_is_not_the_same(tmp_path: Path) -> None:
    """Another trial's by its key, and this one's, given anew after a backup was restored, by its time."""
    clock = Clock()
    with running(tmp_path / "other.db", clock, seed=4) as other, running(tmp_path / "t.db", clock) as trial:
        clock.now += SECOND
        foreign, lease = other.lease(), trial.lease()
        again = replace(lease, issued=lease.issued - SECOND // 2)
        assert foreign.number == again.number == lease.number
        rows = [
            {**row_of(each, f"unit {i}"), "lease_hash": each.fingerprint}
            for each in (foreign, again, lease)
            for i in range(7)
        ]
        first = trial.ingest("first", rows)
        assert (first.recorded, first.set_aside) == (7, 14)
        assert all("another lease of this number" in why for _, why in first.refused)
        second = trial.ingest("second", rows)
        assert (second.standing, second.set_aside) == (7, 14)
        assert trial.ingest("without", [row_of(lease, f"unit {i}") for i in range(7)]).standing == 7
        wrong = trial.ingest("no hash", [{**rows[-1], "lease_hash": "F" * 16}, {**rows[-1], "lease_hash": 7}])
        assert all("16 hexadecimal digits" in why for _, why in wrong.refused)
        kept = [json.loads(each.body) for each in trial.events(limit=99) if each.kind == "set aside"]
        assert {each["lease_hash"] for each in kept} == {foreign.fingerprint, again.fingerprint}
        assert trial.audit().passed


def test_what_is_set_aside_keeps_all_that_its_row_says(tmp_path: Path) -> None:
    with running(tmp_path / "t.db", Clock()) as trial:
        trial.ingest("b", [{**row_of(trial.lease(), "a", missing=["outcome"], implemented="rest"), "lease": 9}])
        (kept,) = [json.loads(each.body) for each in trial.events(limit=9) if each.kind == "set aside"]
        assert (kept["missing"], kept["implemented"]) == (["outcome"], "rest")
        assert trial.audit().passed


def test_no_key_stands_in_the_way_of_a_batch(tmp_path: Path) -> None:
    with running(tmp_path / "t.db", Clock()) as trial:
        for key in ("batch b 0", "batch a b 5000"):
            with pytest.raises(InputError, match="the log calls parts of batches from leases so"):
                trial.decide("a", 0, key=key)
        trial.decide("a", 0, key="batch 0")
        assert trial.ingest("b", [row_of(trial.lease(), "b")]).recorded == 1


def test_the_log_has_no_more_of_a_wrong_row_than_it_takes_to_mend_it(tmp_path: Path) -> None:
    """A megabyte in every column that is told of: the event that closes the batch stays small."""
    with running(tmp_path / "t.db", Clock()) as trial:
        lease, long = trial.lease(), "x" * 1_000_000
        names = ("unit", "occasion", "context", "proposal", "implemented", "outcome", "spec", "reason", "missing", long)
        found = trial.ingest("b", [{**row_of(lease, "a"), name: long} for name in names])
        assert found.unrecorded == len(names) == len(found.refused)
        assert max(len(why) for _, why in found.refused) <= ingesting.MOST_WHY
        assert found.refused[3][1].endswith("expected one of rest, drug, both, or an index from 0 to 2")
        assert len(next(each for each in trial.events(limit=99) if each.kind == "taken in").body) < 10_000


def test_a_lease_takes_no_more_than_it_allows(tmp_path: Path) -> None:
    with running(tmp_path / "t.db", Clock(), edge={"allowed": True, "most": 2}) as trial:
        lease = trial.lease()
        found = trial.ingest("b", [row_of(lease, f"unit {i}") for i in range(4)])
        assert (found.recorded, found.set_aside) == (2, 2)
        again = trial.ingest("c", [row_of(lease, f"unit {i}") for i in range(4)])
        assert (again.standing, again.set_aside) == (2, 2)


def test_what_was_drawn_while_a_trial_ran_is_taken_when_it_does_not(tmp_path: Path) -> None:
    clock = Clock()
    with running(tmp_path / "t.db", clock) as trial:
        lease = trial.lease()
        trial.pause()
        assert trial.ingest("a", [row_of(lease, "a")]).recorded == 1
        with pytest.raises(StateError, match="paused; leases are given while it is running"):
            trial.lease()
        trial.stop()
        clock.now += 6 * DAY
        assert trial.ingest("b", [row_of(lease, "b"), {"unit": "a", "outcome": "well"}]).recorded == 1
        assert trial.audit().passed


@pytest.mark.parametrize("within", [None, "2 days"])
def test_what_comes_too_late_is_set_aside(tmp_path: Path, within: str | None) -> None:
    """A week after the lease has expired where the spec does not say; what is known of decisions may come later."""
    clock, told = Clock(), {} if within is None else {"within": within}
    with running(tmp_path / "t.db", clock, edge={"allowed": True, **told}) as trial:
        lease = trial.lease()
        trial.stop()
        clock.now = lease.expires + (7 if within is None else 2) * DAY
        assert trial.ingest("in time", [row_of(lease, "a")]).recorded == 1
        clock.now += 1
        late = trial.ingest("late", [row_of(lease, "b"), row_of(lease, "a"), {"unit": "a", "outcome": "well"}])
        assert (late.recorded, late.set_aside, late.standing, late.reported) == (0, 1, 1, 1)
        assert late.refused == ((0, f"set aside: it came more than {within or '1 week'} after the lease had expired"),)
        assert trial.audit().passed


def test_a_trial_from_before_there_was_a_limit_goes_on_as_it_was_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text and its hash stay; what it recorded late derives again."""
    clock = Clock()
    with monkeypatch.context() as before:
        before.setattr(design, "_edge", lambda table: table)
        trial = running(tmp_path / "t.db", clock)
    with trial:
        assert "within" not in json.loads(trial.design.text)["edge"]
        assert Design.of(json.loads(trial.design.text)).spec.edge.within == 7 * 86_400
        lease = trial.lease()
        clock.now += 100 * DAY
        assert trial.ingest("late", [row_of(lease, "a")]).recorded == 1
        assert trial.audit().passed


def test_a_unit_that_was_asked_for_has_its_decision(tmp_path: Path) -> None:
    with running(tmp_path / "t.db", Clock()) as trial:
        lease = trial.lease()
        decision = trial.decide("a", 0)
        found = trial.ingest("b", [row_of(lease, "a"), row_of(lease, "b")])
        assert (found.set_aside, found.recorded) == (1, 1)
        assert trial.decide("a", 0) == decision
        given = trial.decide("b", 0)
        assert given.proposal == SPEC["space"]["proposals"][lease.draw("b", None, 0)]
        assert trial.audit().passed


def test_the_burn_in_is_even_and_later_leases_are_not(tmp_path: Path) -> None:
    with running(tmp_path / "t.db", Clock(), burn_in=4) as trial:
        first = trial.lease()
        assert np.allclose([first.probability(x) for x in (0, 1)], 1 / 3)
        rows = [row_of(first, f"unit {i}") for i in range(8)]
        best = rows[0]["proposal"]
        trial.ingest(
            "b", [{**row, "implemented": row["proposal"], "outcome": int(row["proposal"] == best)} for row in rows]
        )
        second = trial.lease()
        assert second.version == trial.progress().version
        assert max(second.probability(0)) == second.probability(0)[best] > 0.5


def test_a_lease_asked_for_again_is_the_same(tmp_path: Path) -> None:
    with running(tmp_path / "t.db", Clock()) as trial:
        lease = trial.lease(key="k", by="edge")
        assert trial.lease(key="k", by="edge") == lease
        with pytest.raises(ConflictError):
            trial.lease(key="k", by="somebody else")
        with pytest.raises(NotFoundError, match="no lease 2; it has given 1"):
            trial.revoke(2)
        assert trial.audit().passed


def test_leases_are_refused_where_nobody_allowed_them(tmp_path: Path) -> None:
    words = "no \\[edge\\] with allowed = true"
    with running(tmp_path / "t.db", Clock(), edge={}) as trial, pytest.raises(StateError, match=words):
        trial.lease()
    with Trial.create(tmp_path / "u.db", SPEC) as trial:
        with pytest.raises(StateError, match="draft"):
            trial.lease()
        with pytest.raises(StateError, match="draft"):
            trial.ingest("b", [{"unit": "a", "lease": 1, "drawn": 1, "proposal": 0, "context": 0}])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"looks": {"at": [100, 200]}, "space": {"proposals": 2}}, "look"),
        ({"space": {"proposals": 2, "covariates": {"age": {"kind": "measure", "low": 0, "high": 9}}}}, "covariates"),
        (
            {
                "policy": {"kind": "LinTS"},
                "space": {"proposals": 2, "covariates": {"age": {"kind": "measure", "low": 0, "high": 9}}},
            },
            "by its covariates",
        ),
        ({"edge": {"allowed": True, "seconds": 0}}, "seconds"),
        ({"edge": {"allowed": True, "most": 0}}, "most"),
        ({"edge": {"allowed": 1}}, "allowed"),
        ({"analysis": {"test": "re-randomisation"}, "space": {"proposals": 2}, "policy": {"kind": "TS"}}, "leases"),
    ],
)
def test_a_spec_that_leases_cannot_serve_is_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        Trial.create(tmp_path / "t.db", {**SPEC, **changes})


def test_batches_have_bounds(tmp_path: Path) -> None:
    with running(tmp_path / "t.db", Clock()) as trial:
        for rows in ([], [{"unit": "a"}] * 100_001):
            with pytest.raises(InputError, match="from 1 to 100000"):
                trial.ingest("b", rows)
        with pytest.raises(InputError, match=r"rows\[1\]"):
            trial.ingest("b", [{"unit": "a"}, "b"])  # type: ignore[list-item]  # that is the point
        with pytest.raises(InputError, match="batch"):
            trial.ingest("b" * 151, [{"unit": "a"}])


def test_a_database_of_schema_13_goes_on(database: str) -> None:
    with Store(database) as store:
        before = Trial.create(store, {**SPEC, "edge": {}})
        before.start()
        before.decide("a", 0)
        assert "edge" not in before.design.text  # as it was before there was such a table
        with engine(store).begin() as connection:
            connection.execute(text("DROP TABLE leases"))
            connection.execute(text("ALTER TABLE trials DROP COLUMN leased"))
            connection.execute(text("UPDATE alembic_version SET version_num = '0013'"))
    with Store(database) as store:
        assert Trial(store, before.id).decide("b", 0).number == 2
        trial = Trial.create(store, SPEC, trial="new")
        trial.start()
        assert trial.ingest("b", [row_of(trial.lease(), "a")]).recorded == 1
        for each in (trial, Trial(store, before.id)):
            assert each.audit().passed


def test_exports_and_logs_have_them(tmp_path: Path) -> None:
    with running(tmp_path / "t.db", Clock()) as trial:
        lease = trial.lease()
        trial.ingest("a", [row_of(lease, f"unit {i}", outcome="well", implemented="rest") for i in range(3)])
        trial.decide("asked", 0)
        trial.report(unit="asked", outcome="ill")
        log = trial.log()
        assert [SOURCES[each] for each in log.source] == ["lease"] * 3 + ["policy"]
        assert log.outcome.tolist() == [1, 1, 1, 0]
        assert log.outcome_by.tolist() == [1, 2, 3, 4]
        assert np.allclose(log.probability[:3], lease.probability(0))
        trial.export(tmp_path / "t.csv")
        lines = (tmp_path / "t.csv").read_text().splitlines()
        assert sum(",lease," in line for line in lines) == 3
        assert trial.summary().progress.outcomes_counted == 4
        assert trial.course() is not None
