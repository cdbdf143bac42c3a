"""Re-randomisation: how often it rejects, for every kind of policy; kernels of policies against the reference."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import adaptive_trials
from replayed_trials import design_of, lived, side_by_side
from takeup import Log
from takeup.analysis.replay import replayed
from takeup.analysis.replayable import Replayable, Statistic
from takeup.checks import FloatArray
from takeup.simulation.kernels import replay_cpu

pytestmark = pytest.mark.long
TRIALS, REPLAYS = 2_000, 199
MOST = 0.05 + 3 * np.sqrt(0.05 * 0.95 / TRIALS)
"""Three errors above the level: a valid test of which p is uniform is beyond it once in 700 runs."""


@pytest.mark.requirement("R-7.5")
@pytest.mark.parametrize("drift", [0.0, 0.4])
@pytest.mark.parametrize(
    ("tables", "reports"),
    [
        ({}, {}),
        ({}, {"delay": 7, "batch": 10}),
        ({"policy": "TopTwo"}, {}),
        ({"policy": "EpsilonGreedy"}, {}),
        ({"policy": "Uniform"}, {}),
        ({"space": {"proposals": 3}}, {"delay": 3}),
    ],
)
def test_error_is_at_most_the_level(tables: dict[str, Any], reports: dict[str, int], drift: float) -> None:
    design = design_of(**tables)
    log = side_by_side(design, TRIALS, 200, 17, drift, **reports)
    found = replayed(log, design, None, 0, replays=REPLAYS, check=False)
    assert np.mean(found <= 0.05) <= MOST


@pytest.mark.parametrize("drift", [0.0, 0.4])
@pytest.mark.parametrize("statistic", ["difference", "score"])
def test_error_with_a_floor_is_at_most_the_level(statistic: Statistic, drift: float) -> None:
    log = adaptive_trials.trials(adaptive_trials.compliant(200, 0.25, 0.25, drift), TRIALS, seed=5, floor=0.1)
    design = design_of(limits={"floor": 0.1})
    found = replayed(log, design, "new", "usual", statistic=statistic, replays=REPLAYS)
    assert np.mean(found <= 0.05) <= MOST


@pytest.mark.parametrize(
    ("new", "drift", "difference", "score"),
    [(0.25, 0.0, 0.05, 0.056), (0.25, 0.4, 0.05, 0.052), (0.35, 0.0, 0.104, 0.128), (0.45, 0.0, 0.226, 0.250)],
)
def test_200_decisions_have_the_figures_of_others(new: float, drift: float, difference: float, score: float) -> None:
    """Within four errors of 4,000 trials here and of the thousand or so there: one run in 16,000 misses."""
    log = adaptive_trials.trials(adaptive_trials.compliant(200, 0.25, new, drift), 4_000, seed=7)
    for statistic, right in (("difference", difference), ("score", score)):
        found = replayed(log, design_of(), "new", "usual", statistic=statistic, replays=999, check=False)  # type: ignore[arg-type]
        error = np.sqrt(right * (1 - right) * (1 / 4_000 + 1 / 1_000))
        assert abs(np.mean(found <= 0.05) - right) < 4 * error


@pytest.mark.parametrize(
    "tables",
    [
        {"space": {"proposals": 3}, "burn_in": 5},
        {"space": {"proposals": 3, "contexts": 2}, "policy": {"kind": "EpsilonGreedy", "epsilon": 0.3}},
        {"space": {"proposals": 3, "outcomes": 3, "utility": [0, 2, 3]}, "policy": "TopTwo"},
        {"space": {"proposals": 2, "outcomes": 2}, "policy": "KLUCB", "looks": {"at": [6, 12, 18, 24]}},
    ],
)
def test_kernels_of_policies_replay_like_the_reference(tables: dict[str, Any]) -> None:
    """By chance one run in 10,000 fails; lanes change no bit."""
    design = design_of(**tables)
    contexts, proposals = len(design.space.contexts), len(design.space.proposals)
    log: Log = lived(design, 24, 3, np.full((contexts, proposals), 0.4), delay=2, fallback=9)
    trial = Replayable.of(log, design, (1, 0), stronger=False)
    assert alike(trial.replays("difference", 4_000, 1), trial.by_reference("difference", 4_000, 2)[0]) > 1e-4
    assert trial.form("difference") == "draws"
    recorded = trial._recorded("draws", 1)
    plain = replay_cpu.replay_drawn(recorded, design.policy, design.space, 100, lanes=False)
    np.testing.assert_array_equal(plain, replay_cpu.replay_drawn(recorded, design.policy, design.space, 100))


@pytest.mark.parametrize("statistic", ["difference", "score"])
def test_quadrature_replays_like_the_reference(statistic: Statistic) -> None:
    """Three proposals within limits, in two contexts with late outcomes; by chance one run in 10,000 fails."""
    limits = {"floor": 0.15, "ceiling": 0.6}
    design = design_of(space={"proposals": 3, "contexts": 2, "utility": [1, 0]}, limits=limits, burn_in=3)
    log = lived(design, 14, 3, np.full((2, 3), 0.4), delay=2, fallback=9)
    trial = Replayable.of(log, design, (2, 0), stronger=False)
    assert trial.form(statistic) == "quadrature"
    assert alike(trial.replays(statistic, 20_000, 1), trial.by_reference(statistic, 1_000, 2)[0]) > 1e-4


def alike(one: FloatArray, other: FloatArray) -> float:
    """The p-value of two samples being from one distribution, which may have few values."""
    values, back = np.unique(np.round(np.concatenate([one, other]), 4), return_inverse=True)
    counts = np.stack([np.bincount(each, minlength=values.size) for each in (back[: one.size], back[one.size :])])
    group = np.cumsum(counts.sum(axis=0)) * 12 // (one.size + other.size + 1)  # of neighbours
    table = np.stack([np.bincount(group, weights=each, minlength=12) for each in counts])
    return float(stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue)
