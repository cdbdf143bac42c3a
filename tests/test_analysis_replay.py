"""Re-randomisation: against the sum over all proposals, against live decisions, and what it refuses."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import naive
from kernel_runs import uncompiled
from replayed_trials import design_of, lived
from takeup import Log, UnsuitableError
from takeup.analysis import replay
from takeup.analysis.replay import check_log, re_randomise, replayed
from takeup.analysis.replayable import Replayable, Statistic
from takeup.errors import InputError
from takeup.live import Trial
from takeup.simulation.kernels import compile_cpu, replay_cpu

RATES = np.array([[0.3, 0.7]])
HARD: dict[str, Any] = {
    "limits": {"floor": 0.1, "soften": "i/2n"},
    "looks": {"at": [10, 40], "update": "patient"},
    "burn_in": 4,
}


def enumerated(log: Log, floor: float, statistic: str) -> float:
    """P(as extreme as the trial) over all proposals of a trial of TS with Beta(1, 1), as its definition reads."""
    n, y = len(log), log.outcome
    expected = [(y[:t].sum() + (y[:t].sum() + 0.5) / (t + 1)) / (t + 1) for t in range(n)]
    found = []
    for z in product((0, 1), repeat=n):
        chance, score, variance, table = 1.0, 0.0, 0.0, np.ones((2, 2), dtype=int)
        for t in range(n):
            for i in range(t):
                if log.outcome_by[i] == t:
                    table[z[i], 1 - y[i]] += 1
            best = float(naive.largest_exactly([(int(a), int(b)) for a, b in table])[1])
            p = min(max(best, floor), 1 - floor)
            chance *= p if z[t] else 1 - p
            score += (z[t] - p) * (y[t] - expected[t])
            variance += p * (1 - p) * (y[t] - expected[t]) ** 2
        one, other = (y[[each == k for each in z]] for k in (1, 0))
        apart = one.mean() - other.mean() if len(one) and len(other) else 0.0
        found.append((z, chance, apart if statistic == "difference" else score / np.sqrt(variance)))
    (own,) = [abs(value) for z, _, value in found if z == tuple(log.proposal)]
    return sum(chance for _, chance, value in found if abs(value) >= own - 1e-9)


@pytest.mark.parametrize("statistic", ["difference", "score"])
def test_p_is_the_sum_over_all_proposals(statistic: Statistic) -> None:
    """Nine decisions with late outcomes: kernel within 4.5 errors of 100,000 replays, reference within those of 500.

    Each misses once in 150,000 runs.
    """
    design = design_of(limits={"floor": 0.1})
    log = lived(design, 9, 4, RATES, delay=2)
    right = enumerated(log, 0.1, statistic)
    found = re_randomise(log, design, "new", "usual", statistic=statistic, replays=100_000, seed=3)
    assert 0.01 < right < 0.99
    assert abs(found.p - right) < 4.5 * np.sqrt(right * (1 - right) / 100_000)
    trial, many = Replayable.of(log, design, (1, 0), stronger=False), 500
    own = abs(trial.observed(check=True).statistics[["difference", "score"].index(statistic)])
    slow = np.abs(trial.by_reference(statistic, many, seed=5)[0]) >= own - 1e-9
    assert abs(slow.mean() - right) < 4.5 * np.sqrt(right * (1 - right) / many)


@pytest.mark.parametrize(
    ("tables", "delay"),
    [
        ({}, 0),
        ({"limits": {"floor": {"usual": 0.3}, "ceiling": 0.8}, "burn_in": 5}, 3),
        (HARD, 2),
        ({**HARD, "looks": {"first": 8, "every": 6, "last": 32}}, 2),
        ({"policy": {"kind": "TopTwo", "leader": 0.7}, "limits": {"floor": 0.2}}, 1),
        ({"policy": "Uniform", "limits": {"floor": {"usual": 0.6}}}, 1),
        ({"space": {"proposals": 2, "contexts": 2, "utility": [1, 0]}}, 2),
    ],
)
def test_probabilities_of_a_live_trial_are_derived_again(tables: dict[str, Any], delay: int) -> None:
    """By the recurrence and by the reference, to 1e-9: probabilities of a live trial are multiples of 2^-32."""
    design = design_of(**tables)
    log = lived(design, 40, 11, np.array([[0.3, 0.7], [0.6, 0.4]]), delay=delay, fallback=7)
    trial = Replayable.of(log, design, (1, 0), stronger=False)
    kernel, share = trial.followed()
    slow, again = trial.followed_by_reference()
    np.testing.assert_allclose(share, log.probability, atol=1e-9)
    np.testing.assert_allclose(again.probability, log.probability, atol=1e-9)
    np.testing.assert_allclose(slow, kernel, atol=1e-8)


@pytest.mark.parametrize(
    "tables",
    [
        {"policy": {"kind": "EpsilonGreedy", "epsilon": 0.2}, "space": {"proposals": 3}},
        {"policy": "TSObs"},
        {"space": {"proposals": 3, "outcomes": 3, "utility": [0, 1, 3]}, "limits": {"floor": 0.1}},
    ],
)
def test_other_policies_are_followed(tables: dict[str, Any]) -> None:
    """Those whose probabilities are counted in draws within six of their errors, others to the digit."""
    design = design_of(**{"space": {"proposals": 2}, **tables})
    log = lived(design, 25, 2, np.array([[0.3, 0.7, 0.5]]), delay=2)
    found = re_randomise(log, design, None, 0, replays=40, stronger=True, statistic="score", seed=1)
    assert not found.refused
    assert (1 + 40) * found.p == pytest.approx(round((1 + 40) * found.p))
    other = design_of(**{"space": {"proposals": 2}, **tables, "burn_in": 12})
    assert "it is not the design" in re_randomise(log, other, None, 0, replays=40, stronger=True).refused


@pytest.mark.parametrize(
    "tables", [{}, pytest.param({"limits": {"floor": 0.1}}, marks=pytest.mark.long), {"policy": "TSObs"}]
)
@pytest.mark.parametrize(
    ("statistic", "compiled"),
    [("difference", False), ("score", True), pytest.param("difference", True, marks=pytest.mark.long)],
)
def test_three_proposals_are_tested_together(
    monkeypatch: pytest.MonkeyPatch, tables: dict[str, Any], statistic: Statistic, compiled: bool
) -> None:
    """By the largest of two statistics, each in units of its root mean square over the trial and the same replays.

    The kernel of differences is run by Python here; tests/test_analysis_plans.py has it compiled.
    """
    if not compiled:
        monkeypatch.setattr(compile_cpu, "build", uncompiled)
    design = design_of(space={"proposals": 3, "contexts": 2}, **tables)
    log = lived(design, 12, 4, np.array([[0.2, 0.4, 0.9], [0.3, 0.3, 0.8]]), delay=2)
    options: dict[str, Any] = {"statistic": statistic, "replays": 39, "seed": 2, "stronger": True}
    found = re_randomise(log, design, None, 0, **options)
    both = []
    for one in (1, 2):
        trial = Replayable.of(log, design, (one, 0), stronger=True)
        own = trial.observed(check=False).statistics[["difference", "score"].index(statistic)]
        all_of_them = np.abs(np.append(trial.replays(statistic, 39, 2), own))
        both.append(all_of_them / np.sqrt(np.mean(all_of_them**2)))
    largest = np.max(both, axis=0)
    assert found.p == pytest.approx(np.mean(largest >= largest[-1] - 1e-4))
    assert found.contrast == "any difference between proposals"
    of_two = re_randomise(log, design, 1, 0, **options)
    assert "one=None tests all of them together" in of_two.refused
    assert np.isnan(of_two.p)


def test_another_design_is_refused_with_both_vectors() -> None:
    design = design_of()
    log = lived(design, 30, 1, RATES)
    found = re_randomise(log, design_of(limits={"floor": 0.3}), "new", "usual")
    assert np.isnan(found.p)
    assert found.plain()["p"] is None
    first = int((log.probability.min(axis=1) < 0.3 - 1e-6).argmax())
    assert f"decision {first + 1} was made with the probabilities ({log.probability[first, 0]:.9g}" in found.refused
    assert "by the design they are (0.3, 0.7)" in found.refused or "(0.7, 0.3)" in found.refused


def test_what_cannot_be_replayed_is_refused() -> None:
    for policy in ("TSCheck", "TSObs", "TSLat", "TSRobust"):
        design = design_of(policy=policy)
        log = lived(design, 6, 1, RATES)
        found = re_randomise(log, design, "new", "usual")
        assert "betting and the martingale score" in found.refused
        assert "stronger=True" in found.refused
    with pytest.raises(InputError, match="another proposal"):
        re_randomise(log, design, 1, 1)


def test_the_same_log_gives_the_same_p_in_any_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    design = design_of()
    log = lived(design, 30, 5, RATES)
    one = re_randomise(log, design, "new", "usual", replays=999)
    monkeypatch.setattr(replay_cpu, "BLOCK_DECISIONS", 300)
    assert re_randomise(log, design, "new", "usual", replays=999).p == one.p
    assert one.p == re_randomise(log, design, "usual", "new", replays=999).p
    assert one.p != re_randomise(log, design, "new", "usual", replays=999, seed=1).p


def test_trials_side_by_side_are_tested_one_by_one() -> None:
    design = design_of()
    both = [lived(design, 12, seed, RATES) for seed in (1, 2)]
    log = Log.of(
        design.space,
        np.stack([each.proposal for each in both]),
        np.stack([each.probability for each in both]),
        outcome=np.stack([each.outcome for each in both]),
    )
    right = [re_randomise(each, design, 1, 0, replays=99, seed=i).p for i, each in enumerate(both)]
    np.testing.assert_array_equal(replayed(log, design, 1, 0, replays=99), right)
    with pytest.raises(UnsuitableError, match="not the design"):
        check_log(log, design_of(limits={"floor": 0.4}))


def test_how_many_replays_there_are_depends_on_the_trial_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 decisions of two proposals are 40 probabilities a replay; looks alone are 2 or 3 states."""
    levels = {"proposals": 2, "outcomes": 3, "utility": [0, 1, 3]}
    floor, ends = {"limits": {"floor": 0.1}}, {"looks": {"at": [8, 16, 20]}, "stopping": {"superiority": 0.999}}
    monkeypatch.setattr(replay, "WORK", 4_000)
    for tables, statistic, many in (
        ({}, "difference", 10_000),
        (floor, "score", 10_000),
        ({"space": levels, **floor}, "difference", 100),
        ({"space": levels}, "difference", 10_000),
        ({"space": levels}, "score", 100),
        ({"policy": "TSObs"}, "difference", 1_000),
        ({**floor, **ends}, "difference", 4_000 // (2 * 4)),
    ):
        trial = Replayable.of(lived(design_of(**tables), 20, 1, RATES), design_of(**tables), (1, 0), stronger=True)
        assert replay.usual(trial, statistic, 0) == many  # type: ignore[arg-type]  # names of statistics
    with pytest.raises(UnsuitableError, match="replays=39 asks for them nevertheless"):
        replay.usual(trial, "score", 20_000)
    design = design_of(space=levels, **floor)
    found = re_randomise(lived(design, 20, 1, RATES), design, 1, 0)
    assert found.replays == 100
    assert found.error == pytest.approx(np.sqrt(found.p * (1 - found.p) / 100))


def test_an_outcome_that_was_corrected_after_it_was_used_is_the_reason(tmp_path: Path) -> None:
    """At once nobody had used it, and the trial is replayed as ever; after five decisions the reason is named."""
    spec = {"name": "Corrected", "space": {"proposals": 2}, "policy": {"kind": "TS"}, "rehearsal": True, "seed": 3}
    for late, refused in ((0, ""), (5, "what was reported of decision 3 was corrected after it had been used")):
        with Trial.create(tmp_path / f"{late}.db", spec) as trial:
            trial.start()
            for number in range(12):
                outcome = "1" if number % 3 else "0"
                trial.report(trial.decide(f"unit {number}"), outcome=outcome)
                if number == 2 + late:
                    trial.report(3, outcome="0", reason="typing error")
            found = re_randomise(trial.log(), trial.design, 1, 0, replays=20)
        assert refused in found.refused
        assert bool(found.refused) == bool(refused)
