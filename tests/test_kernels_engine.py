"""The CPU engine: results depend on what is simulated alone, and what is recorded adds up."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_runs import interpreted, laid_out, run_cpu
from takeup import (
    TS,
    Environment,
    Policy,
    Reporting,
    TSObs,
    Uniform,
    UnsuitableError,
    World,
    simulate,
)
from takeup.simulation.kernels import cpu, layout
from takeup.simulation.kernels.tables import Scenarios, alias_table, scenarios
from takeup.simulation.run import plan

TRUTH = Environment.from_world(
    World.bernoulli(np.random.default_rng(1).dirichlet(np.ones(3), (2, 4)), np.random.default_rng(2).random((2, 3))),
    context=[0.4, 0.6],
)
OTHER = Environment.from_world(
    World.bernoulli(np.random.default_rng(3).dirichlet(np.ones(3), (2, 4)), np.random.default_rng(4).random((2, 3)))
)
LATE = Reporting(delay=7, batch=3)


@pytest.mark.requirement("R-6.4")
@pytest.mark.parametrize(
    ("policy", "reporting"),
    [
        (Uniform(), Reporting()),
        (Uniform(), LATE),
        (TS(), Reporting()),
        pytest.param(TS(), LATE, marks=pytest.mark.long),
        (TSObs(), Reporting()),
        (TSObs(alpha=0.7), LATE),  # as test_kernels_agree.py compiles it
    ],
    ids=[f"{policy}-{when}" for policy in ("Uniform", "TS", "TS-Obs") for when in ("at once", "late")],
)
def test_threads_blocks_ranges_and_company_change_nothing(policy: Policy[Any], reporting: Reporting) -> None:
    whole = run_cpu([TRUTH, OTHER], policy, 120, range(100), 9, reporting=reporting, steps=[10, 50, 120], threads=1)
    split = run_cpu(
        [TRUTH, OTHER], policy, 120, range(100), 9, reporting=reporting, steps=[10, 50, 120], threads=3, block=7
    )
    part = run_cpu([OTHER], policy, 120, range(33, 80), 9, reporting=reporting, steps=[50])
    for one, two in zip(whole[:2], split[:2], strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(part.pulls, whole.pulls[1:, 33:80])
    np.testing.assert_array_equal(part.regret, whole.regret[1:, 33:80, 1:2])


def test_other_seeds_and_environments_give_other_numbers() -> None:
    one, two = (run_cpu([TRUTH, OTHER], TS(), 50, range(20), seed).pulls for seed in (0, 1))
    assert not np.array_equal(one, two)
    assert not np.array_equal(one[0], one[1])


TWO = Environment.from_world(World.bernoulli([[0.8, 0.2], [0.3, 0.7]], [0.3, 0.6]))


@pytest.mark.parametrize(
    ("truth", "policy", "compiled"),
    [
        (TRUTH, Uniform(), True),
        (TWO, TS(), True),
        (TRUTH, TS(), False),
        (TRUTH, TSObs(), False),
        pytest.param(TRUTH, TS(), True, marks=pytest.mark.long),
        pytest.param(TRUTH, TSObs(), True, marks=pytest.mark.long),
    ],
    ids=["Uniform", "TS-two", "TS-in Python", "TS-Obs-in Python", "TS", "TS-Obs"],
)
def test_decisions_pulls_and_regret_add_up(truth: Environment, policy: Policy[Any], compiled: bool) -> None:
    steps, many = ([1, 30, 70], 40) if compiled else ([1, 5, 12], 35)
    layout = laid_out([truth], policy, steps[-1], full=True, steps=steps)
    result = cpu.run(layout, range(many)) if compiled else interpreted(layout, range(many), "lanes")
    assert result.decisions.dtype == np.uint8
    x, z, _, _ = np.unravel_index(result.decisions[0], truth.space.shape)
    gap = truth.regret()
    for i in range(many):
        pulls = np.zeros_like(gap, dtype=np.int64)
        np.add.at(pulls, (x[i], z[i]), 1)
        np.testing.assert_array_equal(result.pulls[0, i], pulls)
    cumulative = np.cumsum(gap[x, z], axis=1)[:, np.array(steps) - 1]
    np.testing.assert_allclose(result.regret[0], cumulative, rtol=1e-12, atol=1e-12)


def test_policies_meet_the_same_patients() -> None:
    """The contexts are the same, and where the proposals are, so are action and outcome."""
    runs = [run_cpu([TRUTH], Uniform(), 15, range(30), full=True)]
    for policy in (TS(), TSObs()):
        runs.append(interpreted(laid_out([TRUTH], policy, 15, full=True), range(30), "lanes"))
    fields = [np.unravel_index(run.decisions[0], TRUTH.space.shape) for run in runs]
    first = fields[0]
    for other in fields[1:]:
        np.testing.assert_array_equal(first[0], other[0])
        alike = first[1] == other[1]
        assert 0 < alike.sum() < alike.size
        np.testing.assert_array_equal(first[2][alike], other[2][alike])
        np.testing.assert_array_equal(first[3][alike], other[3][alike])


def test_responses_have_their_probabilities() -> None:
    """Frequencies of (a, y) given (x, z) under Uniform: each within five standard errors."""
    result = run_cpu([TRUTH], Uniform(), 1000, range(400), full=True)
    counts = np.bincount(result.decisions.ravel(), minlength=TRUTH.response.size).reshape(TRUTH.response.shape)
    shown = counts.sum(axis=(2, 3), keepdims=True)
    error = np.sqrt(TRUTH.response * (1 - TRUTH.response) / shown)
    assert (np.abs(counts / shown - TRUTH.response) <= 5 * error).all()


def test_alias_tables_hold_their_distribution() -> None:
    """Summing what each entry keeps and lends gives the distribution back; impossible entries never come up."""
    probability = np.array([[0.5, 0.25, 0.125, 0.125], [0.0, 0.3, 0.0, 0.7], [0.0, 0.0, 1.0, 0.0], [0.25] * 4])
    threshold, alias = alias_table(probability)
    kept = threshold / 2**32 / 4
    back = kept.copy()
    for row in range(len(probability)):
        np.add.at(back[row], alias[row], 1 / 4 - kept[row])
    np.testing.assert_allclose(back, probability, atol=1e-9)
    assert (back[probability == 0] == 0).all()


@pytest.mark.long
def test_many_arms() -> None:
    """64 proposals and 64 actions, and as many contexts as one likes."""
    rng = np.random.default_rng(5)
    truth = Environment.from_world(World.bernoulli(rng.dirichlet(np.ones(64), (2, 64)), rng.random((2, 64))))
    for policy in (TS(), TSObs()):
        result = run_cpu([truth], policy, 20, range(40))
        assert (result.pulls.sum(axis=(2, 3)) == 20).all()
    assert result.decisions.dtype == np.uint16


def test_progress_counts_every_decision() -> None:
    seen: list[int] = []
    cpu.run(laid_out([TRUTH, OTHER], Uniform(), 30), range(100), block=8, progress=seen.append)
    assert sum(seen) == 2 * 30 * 100


@pytest.mark.long
def test_builds_that_other_processes_left_on_disk_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numba numbers functions from one in every process: the same function in two builds may have the same number."""
    monkeypatch.setenv("TAKEUP_CACHE_DIR", str(tmp_path))
    script = """
import sys
from takeup import Environment, Uniform, World, simulate
steady = Environment.from_world(World.bernoulli([[1, 0], [0, 1]], [0.25, 0.75]))
turned = Environment.from_world(World.bernoulli([[0, 1], [1, 0]], [0, 1]))
truths = {"steady": steady, "turns": steady.switch(10, turned)}
for name in sys.argv[1:]:
    print(simulate(truths[name], Uniform(), 20, 8, engine="cpu").regret.tolist())
"""
    steady, turns, both = (
        subprocess.run([sys.executable, "-c", script, *names], capture_output=True, text=True, check=True).stdout
        for names in (["steady"], ["turns"], ["steady", "turns"])
    )
    assert both == steady + turns


class Own(Uniform):
    """A policy that nobody wrote a kernel for: types are compared exactly."""


def test_what_has_no_kernel_is_refused() -> None:
    with pytest.raises(UnsuitableError, match="no kernel"):
        simulate(TRUTH, Own(), 10, 3, engine="cpu")


def test_a_simulation_is_laid_out_once_for_all_its_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted(environments: list[Environment], seed: int) -> Scenarios:
        made.append(seed)
        return scenarios(environments, seed)

    monkeypatch.setattr(layout, "scenarios", counted)
    checked = plan([TRUTH], [Uniform(), TS()], 10, engine="cpu")
    parts = [checked.run(range(i, i + 5)) for i in range(0, 20, 5)]
    whole = checked.run(range(20))
    assert len(made) == 2  # one for each policy
    np.testing.assert_array_equal(np.concatenate([part.regret for part in parts], axis=2), whole.regret)
