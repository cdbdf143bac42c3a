"""The experiments about TS-Robust and forgetting: their worlds, their arithmetic, and where figures come from."""

import hashlib
import json
from typing import Any

import numpy as np
import pytest

from takeup import TS, InputError, Policy, Reporting, TSObs, TSRobust, simulate, stream
from takeup.paper import drift, robust, robust_seen, robust_stroke
from takeup.paper.related.compliance_aware import trap
from takeup.paper.robust import Bar, bars, cell, confounded_worlds, ratio_of_means, sweep
from takeup.paper.runner import Runner

TINY = 25


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robust, "HORIZON", TINY)
    monkeypatch.setattr(robust, "WORLDS", 3)
    monkeypatch.setattr(robust, "TUNING_WORLDS", 2)
    monkeypatch.setattr(robust, "BOOTSTRAPS", 20)


class TestWorlds:
    def test_the_held_out_worlds_are_the_committed_ones(self) -> None:
        """200 worlds, two values at least 0.02 apart in each; a change of generator or seed changes the hash."""
        worlds = list(confounded_worlds(200).values())
        assert len(worlds) == 200
        assert min(world.regret().max() for world in worlds) >= 0.02
        rounded = np.array([world.response for world in worlds]).round(9)
        assert hashlib.sha256(rounded.tobytes()).hexdigest()[:16] == "49d072121d2d17b3"

    def test_they_are_drawn_as_stated(self) -> None:
        """The first draws of the stream by hand: shares, then rates of (type, action); too close ones are left out."""
        rng = stream(robust.HELD_OUT, "confounded worlds")
        found: list[np.ndarray] = []
        while len(found) < 3:
            share, rate = rng.dirichlet(np.ones(4)), rng.random((4, 2))
            value = [sum(share[u] * rate[u, does[z]] for u, does in enumerate(robust.RESPONSES)) for z in range(2)]
            if abs(value[0] - value[1]) >= 0.02:
                found.append(np.array(value))
        ours = [world.value()[0] for world in confounded_worlds(3).values()]
        np.testing.assert_allclose(ours, found, rtol=1e-12)

    def test_none_of_them_was_tuned_on(self) -> None:
        held_out = {world.fingerprint() for world in confounded_worlds(200).values()}
        tuned = {world.fingerprint() for world in confounded_worlds(200, robust.TUNING).values()}
        assert not held_out & tuned

    def test_more_actions_have_more_types(self) -> None:
        """A best action that is ahead of every other; the first world by hand."""
        worlds = confounded_worlds(20, actions=5)
        assert all(np.sort(world.regret().ravel())[1] >= robust.GAP for world in worlds.values())
        rng = stream(robust.HELD_OUT, "confounded worlds", 5)
        while True:
            anything, share, rate = rng.integers(5, size=(3, 5)), rng.dirichlet(np.ones(9)), rng.random((9, 5))
            does = np.vstack([np.repeat(np.arange(5)[:, None], 5, axis=1), np.arange(5), anything])
            value = np.array([sum(share[u] * rate[u, does[u, z]] for u in range(9)) for z in range(5)])
            if np.diff(np.sort(value))[-1] >= robust.GAP:
                break
        np.testing.assert_allclose(worlds["world 0 of 5 actions"].value()[0], value, rtol=1e-12)

    def test_sweep_and_trap(self) -> None:
        """Values (0.75 - p/2, 0.25 + p/2); in the trap (0.5 * 0.75 + 0.5 * 0.5, 0.5 * 0.75 + 0.5 * 0.25)."""
        for p, world in zip((0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45), sweep().values(), strict=True):
            np.testing.assert_allclose(world.value()[0], [0.75 - p / 2, 0.25 + p / 2])
        np.testing.assert_allclose(trap().value()[0], [0.625, 0.5])


class TestArithmetic:
    def test_ratio_of_means(self) -> None:
        """(2 + 4) / (1 + 5) = 1, and the differences 1 and -1 have a standard error of 1, over a mean of 3."""
        ratio, error = ratio_of_means(np.array([2.0, 4.0]), np.array([1.0, 5.0]))
        assert ratio == 1
        assert error == pytest.approx(1 / 3)

    def test_the_error_of_a_ratio_is_what_its_spread_is(self) -> None:
        """400 ratios of 200 pairs each: their spread and the mean of the stated errors agree within a fifth.

        The spread of 400 has a relative error of 0.035, so that this is more than five of them.
        """
        rng = stream(1)
        shared = rng.gamma(2, size=(400, 200))
        ours, theirs = shared + rng.gamma(1, size=(2, 400, 200))
        found = np.array([ratio_of_means(*pair) for pair in zip(ours, theirs, strict=True)])
        assert found[:, 0].std() == pytest.approx(found[:, 1].mean(), rel=0.2)

    def test_bars(self) -> None:
        """The geometric mean and the quantiles again, from the regrets alone."""
        policies: list[Policy[Any]] = [TS(), TSObs(), TSRobust()]
        swept, trapped = (simulate(where, policies, TINY, 40) for where in (sweep(), {"trap": trap()}))
        random = simulate(confounded_worlds(7), policies, TINY, 40)
        found = [bar.measured for bar in bars(swept, trapped, [random], "TS-Robust")]
        means = [trace.regret[..., -1].mean(axis=2) for trace in (swept, trapped, random)]
        ratios = [mean[:, 2] / mean[:, 0] for mean in means]
        expected = [np.prod(ratios[0]) ** (1 / 8), ratios[1][0], *np.quantile(ratios[2], [0.5, 0.9, 0.99])]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert cell(swept, "p = 0.10", "TS").ratio == 1

    def test_verdicts(self) -> None:
        assert [(bar.met, bar.clear) for bar in (Bar("", 1, 0.7, 0.1), Bar("", 1, 0.9, 0.1), Bar("", 1, 1.1, 0.1))] == [
            (True, True),
            (True, False),
            (False, False),
        ]


@pytest.mark.long
@pytest.mark.usefixtures("short")
def test_the_whole_of_it() -> None:
    """Every cell comes from a run, all decisions are reported, and it is plain data in the end."""
    done: list[int] = []
    result = robust.robust(Runner(50, 3, progress=done.append))
    assert sum(done) == robust.decisions(50)
    assert len(result.cells) == 9 * 3
    assert [len(result.worlds), len(result.bars), len(result.curve)] == [9, 5, 11]
    plain = json.loads(json.dumps(result.as_json(), allow_nan=False))
    assert plain["holds"] == all(bar["met"] for bar in plain["bars"])
    assert {bar["limit"] for bar in plain["bars"]} == {0.62, 1.2, 1.0, 1.3, 1.9}
    alone = simulate(sweep()["p = 0.10"], TSRobust(), TINY, 50, 3)
    assert result.cells[2].regret == pytest.approx(alone.final("TS-Robust").mean())
    with pytest.raises(InputError, match="replications: got 10"):
        robust.robust(Runner(10))


def test_by_share_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bars over all numbers of actions, and those of each."""
    monkeypatch.setattr(robust_seen, "HORIZON", 3)
    monkeypatch.setattr(robust, "BOOTSTRAPS", 20)
    few, none = robust_seen.by_share_seen(
        Runner(4, 0, "reference"),
        seen=(0.25, 0.0),
        actions=(2, 3),
        worlds=2,
        world_replications=8,
        policy=TSRobust(sweeps=2),
    )
    assert [few.bars[0].limit, none.bars[0].limit] == [0.78, 1.0]
    means = []
    for many in (2, 3):
        for world in confounded_worlds(2, actions=many).values():
            policies, seen = [TS(), TSRobust(sweeps=2)], Reporting(compliance=0.25)
            trace = simulate(world, policies, 3, 8, engine="reference", reporting=seen)
            means.append(trace.final("TS-Robust (sweeps 2)").mean() / trace.final("TS").mean())
    assert few.bars[2].measured == pytest.approx(np.median(means))
    assert few.by_actions[3][2].measured == pytest.approx(np.quantile(means[2:], 0.99))
    assert few.worst["ratio"] == pytest.approx(max(means))
    assert json.loads(json.dumps(few.as_json(), allow_nan=False))["by_actions"]["3"][0]["limit"] == 1.0


def test_drift_phases_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TS-Obs, for which there is nothing else to compile here."""
    monkeypatch.setattr(drift, "HORIZON", 30)
    monkeypatch.setattr(drift, "CHANGE", 10)
    pairs = drift.policies()
    assert [[each.name for each in pair] for pair in pairs] == [
        ["TS", "TS half-life 400"],
        ["TS-Obs", "TS-Obs half-life 400"],
    ]
    monkeypatch.setattr(drift, "policies", lambda: pairs[:1])
    done: list[int] = []
    result = drift.drift(Runner(5, 1, progress=done.append))
    assert sum(done) == drift.decisions(5)
    assert len(json.loads(json.dumps(result.as_json()))["costs"]) == 2 * 3
    alone = simulate(drift.BEFORE.switch(10, drift.AFTER), TS(), 30, 5, 1)
    ours = sum(cost.regret for cost in result.costs if cost.policy == "TS" and cost.where != "no change")
    assert ours == pytest.approx(alone.final("TS").mean())
    assert [cost.ratio for cost in result.costs if cost.policy == "TS"] == [1, 1, 1]


def test_the_patients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Excess over Uniform, less that of TS, is the excess over TS."""
    monkeypatch.setattr(robust_stroke, "HORIZON", 5)
    done: list[int] = []
    result = robust_stroke.patients(Runner(3, 1, "reference", done.append))
    assert sum(done) == robust_stroke.decisions(3)
    gains = {(gain.outcome, gain.policy): gain for gain in result.gains}
    assert len(gains) == 12
    for (outcome, _), gain in gains.items():
        assert gain.over_ts == pytest.approx(gain.excess - gains[outcome, "TS"].excess, abs=1e-9)
