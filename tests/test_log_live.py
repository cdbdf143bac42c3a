"""The log of a live trial: the same from its database and from every export, and what was known when."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeup import UNSEEN, Evidence, InputError, Log
from takeup.live import Trial, trials
from takeup.log import SOURCES, read_log
from takeup.log.exported import probability_columns
from takeup.store import Store
from takeup.trial.events import Closed, Decided, Reported, event_of

SPEC: dict[str, Any] = {
    "name": "Log",
    "space": {
        "contexts": ["young", "=old"],
        "proposals": ["usual", "'new'", "-"],
        "implemented": ["usual", "'new'", "-", "other"],
        "outcomes": ["ill", "well"],
    },
    "policy": {"kind": "TS"},
    "burn_in": 2,
    "seed": 5,
    "rehearsal": True,
    "window": 100,
    "fallback": {"usual": 0.5, "'new'": 0.25, "-": 0.25},
}
SECOND = 1_000_000
Step = tuple[str, int, int]
"""What happens, to which decision or context, and which label or outcome it brings."""


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.at = 0

    def __call__(self) -> int:
        return self.at * SECOND


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(emptied: str, clock: Clock) -> Iterator[Store]:
    with Store(emptied, clock=clock) as opened:
        yield opened


def same(one: Log, other: Log) -> None:
    assert one.space == other.space
    for name in ("context", "proposal", "probability", "implemented", "outcome", "implemented_by", "outcome_by"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
    np.testing.assert_array_equal(one.source, other.source)
    np.testing.assert_array_equal(one.unit, other.unit)
    np.testing.assert_array_equal(one.pending, other.pending)


def by_folding(trial: Trial) -> tuple[list[int], list[int], list[int], list[int]]:
    """Actions, outcomes that count, and how many decisions there were when each got its value, event by event."""
    space, made = trial.design.space, 0
    known: dict[str, dict[int, tuple[int, int]]] = {"implemented": {}, "outcome": {}}
    waits: dict[int, int | None] = {}
    for logged in trial.events(limit=10_000):
        event = event_of(logged.body)
        if isinstance(event, Decided):
            made += 1
            waits[event.number] = event.due
        if isinstance(event, Reported):
            for name, value in (("implemented", event.implemented), ("outcome", event.outcome)):
                if name in (event.stands or {}):
                    continue
                if name in event.missing:
                    known[name].pop(event.decision, None)
                if value is None:
                    continue
                code = space.index("outcome" if name == "outcome" else "implemented", value)
                had = known[name].get(event.decision)
                open_ = name == "outcome" and (waits[event.decision] or 0) > event.at
                if had is None or had[0] != code:
                    known[name][event.decision] = (code, -1 if open_ else made)
        if isinstance(event, Closed):
            for number in event.decisions:
                known["outcome"][number] = (known["outcome"][number][0], made)
    a, y = ([known[name].get(i + 1, (UNSEEN, made)) for i in range(made)] for name in ("implemented", "outcome"))
    seen = [(UNSEEN, made) if by < 0 else (code, by) for code, by in y]
    return [c for c, _ in a], [c for c, _ in seen], [by for _, by in a], [by for _, by in seen]


def lived(store: Store, clock: Clock, spec: dict[str, Any], steps: list[Step], outcomes: list[Any]) -> Trial:
    """A trial to which this happened."""
    trial = Trial.create(store, spec, trial=f"t{len(trials(store))}")
    trial.start()
    made = 0
    space = trial.design.space
    for what, which, value in steps:
        clock.at += 7
        number = which % max(made, 1) + 1
        if what == "decide":
            trial.decide(f"u{made}", which % len(space.contexts))
            made += 1
        elif what == "many":
            trial.decide_many([{"unit": f"u{made + i}", "context": 0} for i in range(3)])
            made += 3
        elif what == "fallback":
            trial.fallback(f"u{made}", value % len(space.proposals), which % len(space.contexts))
            made += 1
        elif not made:
            continue
        elif what == "action":
            trial.report(number, implemented=value % len(space.implemented), reason="again")
        elif what == "outcome":
            trial.report(number, outcome=outcomes[value % len(outcomes)], reason="again")
        elif what == "both":
            trial.report(number, implemented=0, outcome=outcomes[0], reason="again")
        elif what == "missing":
            trial.report(number, missing=[("implemented", "outcome")[value % 2]], reason="lost")
        else:
            clock.at += 60
            trial.tick()
    return trial


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ("decide", "decide", "many", "fallback", "action", "outcome", "outcome", "both", "missing", "wait")
        ),
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    min_size=3,
    max_size=25,
).map(lambda steps: [("decide", 0, 0), *steps])
NUMBERS = SPEC["space"] | {"outcomes": {"kind": "number", "low": -10, "high": 10, "step": 0.5}}
TIMES = SPEC["space"] | {"outcomes": {"kind": "time", "longest": 90, "unit": "days"}}
KINDS: list[tuple[dict[str, Any], list[Any]]] = [
    (SPEC, ["ill", "well"]),
    (SPEC | {"window": None, "space": NUMBERS, "burn_in": 0}, [-3.5, 0, 9]),
    (SPEC | {"space": TIMES}, [3, {"time": 9, "censored": True}]),
]


@pytest.mark.requirement("R-8.1")
@pytest.mark.parametrize("emptied", ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)], indirect=True)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, kind=st.sampled_from(KINDS), ending=st.sampled_from(["csv", "parquet", "jsonl", "json"]))
def test_log_evidence_and_export_agree_whatever_happened(
    store: Store, clock: Clock, tmp_path: Path, steps: list[Step], kind: tuple[dict[str, Any], list[Any]], ending: str
) -> None:
    trial = lived(store, clock, kind[0], steps, kind[1])
    log = trial.log()
    assert Evidence.from_log(log) == trial.evidence()
    found = [log.implemented, log.outcome, log.implemented_by, log.outcome_by]
    assert [each.tolist() for each in found] == list(by_folding(trial))
    progress = trial.progress()
    awaited = progress.outcomes_waiting + progress.outcomes_pending - progress.outcomes_late
    assert log.pending is not None
    assert int(log.pending.sum()) == awaited
    assert log.finished == progress.over
    trial.export(tmp_path / f"trial.{ending}")
    again = read_log(tmp_path / f"trial.{ending}")
    same(again, log)
    used, may_be = (
        np.zeros(len(log), dtype=bool) if each.corrected is None else each.corrected for each in (log, again)
    )
    assert (may_be >= used).all()  # a file says how often something was corrected, and when what stands was known


@pytest.mark.parametrize("emptied", ["sqlite"], indirect=True)
def test_a_file_says_what_was_corrected_after_it_could_be_used(store: Store, clock: Clock, tmp_path: Path) -> None:
    """The first is corrected before anybody else is decided on, the second after, the third never."""
    steps: list[Step] = [("decide", 0, 0), ("outcome", 0, 0), ("outcome", 0, 1), ("decide", 1, 0)]
    steps += [("action", 1, 0), ("decide", 0, 0), ("action", 1, 1), ("action", 2, 1)]
    trial = lived(store, clock, SPEC | {"window": None, "burn_in": 0}, steps, ["ill", "well"])
    trial.report(1, implemented=0)
    log = trial.log()
    trial.export(tmp_path / "all.csv")
    again = read_log(tmp_path / "all.csv")
    assert log.corrected is not None
    assert again.corrected is not None
    assert log.corrected.tolist() == [False, True, False]
    assert again.corrected.tolist() == [True, True, False]  # of the first something is known since later, so it may be
    pl.read_csv(tmp_path / "all.csv", infer_schema=False).drop("corrected").write_csv(tmp_path / "old.csv")
    assert read_log(tmp_path / "old.csv").corrected is None


TOLD = [("decide", i, 0) for i in range(12)] + [("both", i, 0) for i in range(6)] + [("wait", 0, 0)] * 2
TOLD += [("fallback", 1, 2), ("action", 3, 3), *[("decide", 0, 0)] * 12, ("outcome", 8, 1)]


@pytest.mark.parametrize("emptied", ["sqlite"], indirect=True)
def test_files_of_versions_that_wrote_no_space_are_read_and_blinded_ones_are_not(
    store: Store, clock: Clock, tmp_path: Path
) -> None:
    trial = lived(store, clock, SPEC | {"window": None}, TOLD, ["ill", "well"])
    log = trial.log()
    assert [SOURCES[i] for i in log.source[[0, 1, 2, 12]]] == ["burn-in", "burn-in", "policy", "fallback"]
    trial.export(tmp_path / "all.parquet")
    whole = pl.read_parquet(tmp_path / "all.parquet")
    new = ["implemented_at", "outcome_at", "corrected", *probability_columns(log.space.proposals)]
    assert new[-3:] == ["p_usual", "p_new", "p_3"]
    lists = pl.concat_list(new[-3:]).alias("probabilities")
    before = whole.drop("implemented_by", "outcome_by", "space").with_columns(lists).drop(new)
    before.write_parquet(tmp_path / "old.parquet")
    old = read_log(tmp_path / "old.parquet")
    np.testing.assert_array_equal(old.probability, log.probability)
    assert old.space.proposals == log.space.proposals
    whole.drop("space").filter(pl.col("ARM") != "-").write_parquet(tmp_path / "two.parquet")
    with pytest.raises(InputError, match="give space="):
        read_log(tmp_path / "two.parquet")
    assert "an older version wrote" in old.inferred[-1]
    own = read_log(tmp_path / "old.parquet", space=log.space)
    np.testing.assert_array_equal(own.implemented, log.implemented)
    part = whole.filter(pl.col("decision") % 3 != 0).reverse()
    part.write_parquet(tmp_path / "part.parquet")
    space = part.filter(pl.col("space").is_not_null())
    assert len(space) == 1
    same(read_log(tmp_path / "part.parquet"), log.only(np.arange(1, len(log) + 1) % 3 != 0))
    trial.export(tmp_path / "blinded.csv", blinded=True)
    with pytest.raises(InputError, match="a blinded export"):
        read_log(tmp_path / "blinded.csv")
    with pytest.raises(InputError, match="assigned: got 'ARM', expected nothing for an export of takeup"):
        read_log(tmp_path / "all.parquet", assigned="ARM", outcome="outcome", levels=["ill", "well"])
