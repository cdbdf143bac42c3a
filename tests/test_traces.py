"""Traces: parts that add up, frames that say the same as the arrays, files that come back whole."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from takeup import (
    TS,
    Environment,
    Exponentials,
    InputError,
    MismatchError,
    Normals,
    Number,
    Reporting,
    Space,
    Time,
    Trace,
    TSLat,
    TSObs,
    Uniform,
    World,
    simulate,
)
from takeup.checks import IntArray
from takeup.evidence import Event, Index
from takeup.policies import Policy, WarmTSLat
from takeup.randomness import Random
from takeup.regret import KINDS
from takeup.simulation import blocks
from takeup.simulation.run import EngineName, plan

SPACE = Space(["rest", "drug"], contexts=["young", "old"], outcomes=["died", "lived"])
WORLD = World.bernoulli([[[0.8, 0.2], [0.3, 0.7]]] * 2, [[0.3, 0.6], [0.5, 0.4]])
TRUTH = Environment.from_world(WORLD, space=SPACE)
TRAP = Environment.from_types(SPACE, [0.5, 0.5], [[1, 1], [0, 1]], np.full((2, 2, 2), 0.5))

OTHER = Environment.from_types(
    SPACE, [0.2, 0.8], [[1, 0], [0, 1]], [[[0.9, 0.1], [0.4, 0.6]], [[0.5, 0.5], [0.7, 0.3]]]
)


def run(replications: range = range(120), seed: int = 3) -> Trace:
    return simulate(
        {"truth": TRUTH, "trap": TRAP}, [TS(), TSObs(beta=[[2, 1], [1, 2]])], 20, replications, seed,
        engine="reference", record="full", steps=[5, 20], reporting=Reporting(compliance=0.7, delay=2),
    )  # fmt: skip


WHOLE = run()


def same(one: Trace, other: Trace) -> None:
    one.setup.check_same(other.setup)
    for name in ("replications", "regret", "pulls", "decisions"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_parts_add_up_in_any_order() -> None:
    parts = [run(range(80, 120)), run(range(30)), run(range(30, 80))]
    same(parts[0] + parts[1] + parts[2], WHOLE)


def test_what_does_not_belong_together_does_not_add() -> None:
    with pytest.raises(MismatchError, match="differ in seed"):
        WHOLE + run(range(120, 130), seed=4)
    with pytest.raises(MismatchError, match="10 replications are in both traces, number 110 for one"):
        WHOLE + run(range(110, 130))
    with pytest.raises(MismatchError, match="differ in environments, policies"):
        simulate(TRUTH, TS(), 20, 3, engine="reference") + simulate(TRAP, TSObs(), 20, range(3, 6), engine="reference")


def test_a_file_comes_back_whole(tmp_path: Path) -> None:
    path = str(tmp_path / "trace.parquet")
    WHOLE.write(path)
    back = Trace.read(path)
    same(back, WHOLE)
    trap = back.setup.environments["trap"]
    assert isinstance(trap, Environment)
    assert trap.types is not None
    assert not list(tmp_path.glob("*.part"))
    with pytest.raises(MismatchError, match="in both"):
        back + WHOLE


def test_every_policy_comes_back(tmp_path: Path) -> None:
    policies: list[Policy[Any]] = [
        TS(alpha=[1, 2]),
        TSLat(soft_start=3, restarts=2),
        WarmTSLat(TSLat(soft_start=4, tolerance=1e-4)),
    ]
    trace = simulate(TRUTH, policies, 3, 2, engine="reference")
    trace.write(str(tmp_path / "p.parquet"))
    same(Trace.read(str(tmp_path / "p.parquet")), trace)


class Own:
    """A policy of one's own that is no dataclass, so that no file can say what it is."""

    name, live = "Own", False

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> tuple[int, ...]:
        return batch

    def propose(self, state: tuple[int, ...], context: Index, rng: Random) -> IntArray:
        return rng.integers(2, size=state)

    def learn(self, state: tuple[int, ...], event: Event, rng: Random) -> tuple[int, ...]:
        return state

    def report(self, state: tuple[int, ...], before: Event, after: Event, rng: Random) -> tuple[int, ...]:
        return state


def test_what_cannot_be_written_down_is_refused(tmp_path: Path) -> None:
    trace = simulate(TRUTH, Own(), 3, 2)
    assert trace.setup.engines == ("reference",)
    with pytest.raises(InputError, match="policies: got Own, expected policies that a file can be read back into"):
        trace.write(str(tmp_path / "own.parquet"))
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_text("not one")
    WHOLE.frame().write_parquet(tmp_path / "foreign.parquet")
    for name in ("x.parquet", "foreign.parquet", "absent.parquet"):
        with pytest.raises(InputError, match="a Parquet file that takeup has written"):
            Trace.read(str(tmp_path / name))


def test_frames_say_what_the_arrays_say() -> None:
    frame = WHOLE.frame()
    assert frame.columns[:4] == ["environment", "policy", "replication", "regret"]
    assert len(frame) == 2 * 2 * 120
    row = frame.filter(environment="trap", policy="TS-Obs", replication=7).row(0, named=True)
    assert row["regret"] == WHOLE.regret[1, 1, 7, -1]
    assert row["proposed drug in old"] == WHOLE.pulls[1, 1, 7, 1, 1]


def test_curves_are_statistics_over_replications() -> None:
    curves = WHOLE.curves()
    row = curves.filter(environment="truth", policy="TS", step=5).row(0, named=True)
    regret = WHOLE.regret[0, 0, :, 0]
    assert row["mean"] == pytest.approx(regret.mean())
    assert row["sd"] == pytest.approx(regret.std(ddof=1))
    assert row["q95"] == pytest.approx(np.quantile(regret, 0.95))
    assert len(curves) == 2 * 2 * 2


def test_decisions_come_in_names_and_add_up_to_the_pulls() -> None:
    decisions = WHOLE.every_decision()
    assert len(decisions) == 2 * 2 * 120 * 20
    assert decisions.columns[3:] == ["step", "context", "proposal", "implemented", "outcome"]
    proposed = decisions.filter(environment="truth", policy="TS", replication=11, context="old", proposal="drug")
    assert len(proposed) == WHOLE.pulls[0, 0, 11, 1, 1]
    with pytest.raises(InputError, match="record='full'"):
        simulate(TRUTH, TS(), 3, 2, engine="reference").every_decision()


@pytest.mark.parametrize(
    ("outcome", "family", "shown"),
    [
        (Number(0, 9, 0.5), Normals(np.array([2.5, 6.5]), np.full(2, 1e-6)), {"0": 2.5, "1": 6.5}),
        (Time(9, unit="days"), Exponentials(np.array([1e-6, 1e9])), {"0": "0 days", "1": "9+ days"}),
    ],
    ids=["numbers", "times"],
)
def test_outcomes_that_are_no_levels_are_shown_as_what_they_are(outcome: Any, family: Any, shown: Any) -> None:
    truth = Environment.from_world(World(np.eye(2), family, outcome))
    frame = simulate(truth, Uniform(), 20, 5, engine="reference", record="full").every_decision()
    assert dict(frame.select("implemented", "outcome").unique().iter_rows()) == shown


def test_decisions_unpack_into_the_pulls() -> None:
    x, z, a, y = WHOLE.unpacked()
    assert x.shape == z.shape == a.shape == y.shape == (2, 2, 120, 20)
    cells = [[((x == i) & (z == j)).sum(axis=-1) for j in range(2)] for i in range(2)]
    np.testing.assert_array_equal(np.moveaxis(np.array(cells), (0, 1), (-2, -1)), WHOLE.pulls)
    assert a[1, 0][z[1, 0] == 1].min() == 1  # in the trap whoever is proposed the drug takes it
    assert {*np.unique(a), *np.unique(y)} == {0, 1}
    with pytest.raises(InputError, match="record='full'"):
        simulate(TRUTH, TS(), 3, 2, engine="reference").unpacked()


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_the_cost_follows_an_environment_that_changes(engine: EngineName) -> None:
    """Five decisions cost by the first phase's gaps, seven by the second's, eight by the first's again."""
    changing = TRAP.switch(5, OTHER).switch(12, TRAP).switch(50, OTHER)
    arguments: dict[str, Any] = {"horizon": 20, "replications": 40, "engine": engine}
    trace = simulate(changing, TS(), record="full", **arguments)
    x, z, _, _ = (axis[0, 0] for axis in trace.unpacked())
    for kind, of in KINDS.items():
        gaps = [of(OTHER if 5 <= t < 12 else TRAP) for t in range(20)]
        by_hand = [sum(gaps[t][x[i, t], z[i, t]] for t in range(20)) for i in range(40)]
        np.testing.assert_allclose(trace.cost(kind, "TS"), by_hand)
    np.testing.assert_allclose(trace.cost("proposals", "TS"), trace.final("TS"))
    with pytest.raises(InputError, match="record='full'"):
        simulate(changing, TS(), **arguments).cost("static", "TS")
    steady = simulate(TRAP.switch(20, OTHER), TS(), **arguments)
    np.testing.assert_allclose(steady.cost("proposals", "TS"), steady.final("TS"))


def test_blocks_run_what_is_missing_and_nothing_else() -> None:
    assert blocks.missing(None, 5) == [range(5)]
    part = run(range(30, 80))
    assert blocks.missing(part, 120) == [range(30), range(80, 120)]
    assert blocks.missing(part, 60) == [range(30)]
    assert blocks.missing(WHOLE, 120) == []
    planned = plan(
        {"truth": TRUTH, "trap": TRAP}, [TS(), TSObs(beta=[[2, 1], [1, 2]])], 20, 3,
        engine="reference", record="full", steps=[5, 20], reporting=Reporting(compliance=0.7, delay=2),
    )  # fmt: skip
    trace = part
    for block in blocks.run(planned, 120, part):
        trace = trace + block
    same(trace, WHOLE)
