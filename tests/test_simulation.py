"""The reference simulation: the same patients for all, and results that depend on nothing but their inputs."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from takeup import (
    TS,
    Environment,
    Evidence,
    InputError,
    LabelError,
    MismatchError,
    Reporting,
    Space,
    TSLat,
    TSObs,
    Uniform,
    World,
    simulate,
)
from takeup.checks import IntArray
from takeup.evidence import Index
from takeup.paper import contextual
from takeup.randomness import Random
from takeup.simulation.run import EngineName

HALF = Environment.from_world(World.bernoulli([[0.8, 0.2], [0.3, 0.7]], [0.3, 0.6]))
TRACE = simulate(HALF, [TS(), TSObs(), Uniform()], 40, 250, seed=9, engine="reference", record="curve")


def test_results_do_not_depend_on_what_runs_beside_them() -> None:
    """A part of the replications, one policy alone, another environment beside it, a shorter horizon: all the same."""
    part = simulate(HALF, TSObs(), 40, range(130, 180), seed=9, engine="reference", record="curve")
    np.testing.assert_array_equal(part.regret[0, 0], TRACE.regret[0, 1, 130:180])
    np.testing.assert_array_equal(part.pulls[0, 0], TRACE.pulls[0, 1, 130:180])
    other = Environment.from_world(World.bernoulli(np.eye(2), [0.1, 0.2]))
    beside = simulate({"other": other, "half": HALF}, TS(), 25, 100, seed=9, engine="reference", record="curve")
    np.testing.assert_array_equal(beside.regret[1, 0], TRACE.regret[0, 0, :100, :25])


def test_another_seed_gives_other_results() -> None:
    assert not np.array_equal(simulate(HALF, TS(), 40, 250, seed=10, engine="reference").pulls, TRACE.pulls[:, :1])


def test_regret_is_the_sum_of_gaps_over_pulls() -> None:
    np.testing.assert_allclose(TRACE.regret[..., -1], (TRACE.pulls * HALF.regret()).sum(axis=(-2, -1)))
    assert (TRACE.pulls.sum(axis=(-2, -1)) == 40).all()


def test_uniform_regret_is_known() -> None:
    """40 decisions of mean gap (0 + 0.15) / 2: 3; its error over 250 runs is 0.075 sqrt(40 / 250) = 0.03."""
    assert HALF.regret().mean() * 40 == pytest.approx(3.0)
    assert abs(TRACE.final("Uniform").mean() - 3) < 4.5 * 0.03


def test_contexts_come_with_their_probability() -> None:
    world = World.bernoulli([np.eye(2)] * 2, [[0.1, 0.2]] * 2)
    trace = simulate(Environment.from_world(world, context=[0.9, 0.1]), Uniform(), 100, 100)
    share = trace.pulls[0, 0].sum(axis=(0, 2)) / 10_000
    assert abs(share[0] - 0.9) < 4.5 * 0.003


def test_unseen_compliance_is_kept_from_the_policy() -> None:
    """Without compliance TS-Obs learns nothing and explores for ever; TS does not notice."""
    blind = simulate(
        HALF, [TS(), TSObs()], 40, 250, seed=9, engine="reference", record="curve", reporting=Reporting(compliance=0)
    )
    np.testing.assert_array_equal(blind.regret[:, 0], TRACE.regret[:, 0])
    assert abs(blind.final("TS-Obs").mean() - 3) < 4.5 * 0.03


@dataclass(frozen=True)
class Counting(Uniform):
    """Proposes the parity of how many it knows: of outcomes, or of implemented actions."""

    of: str

    def propose(self, state: Evidence, context: Index, rng: Random) -> IntArray:
        known = state.seen_outcomes if self.of == "outcomes" else state.compliance.sum(axis=(-2, -1))
        return np.asarray(known[..., 0] % 2)


@pytest.mark.parametrize(("delay", "batch"), [(0, 1), (3, 1), (0, 4), (5, 4), (50, 7)])
def test_delays_and_batches_keep_back_what_they_should(delay: int, batch: int) -> None:
    """Before decision t the policy knows of the b [t / b] decisions of whole batches; of outcomes, `delay` fewer."""
    reporting = Reporting(delay=delay, batch=batch)
    for of, late in (("outcomes", delay), ("actions", 0)):
        trace = simulate(HALF, Counting(of), 30, 3, reporting=reporting, engine="reference", record="full")
        known = [max(0, t // batch * batch - late) for t in range(30)]
        np.testing.assert_array_equal(trace.unpacked()[1][0, 0], [[k % 2 for k in known]] * 3)


def test_with_all_compliance_seen_ts_lat_is_ts_obs() -> None:
    """The same beliefs; the streams differ by the draws of cold starts, so the means agree within 4.5 errors."""
    trace = simulate(HALF, TSLat(), 40, 250, seed=9)
    lat, obs = trace.final("TS-Lat-0"), TRACE.final("TS-Obs")
    assert abs(lat.mean() - obs.mean()) < 4.5 * np.hypot(lat.std(), obs.std()) / np.sqrt(250)


def test_summary_is_the_obvious_statistics() -> None:
    regret = TRACE.regret[0, 0, :, -1]
    summary = TRACE.summary()["TS"]
    assert summary.median == pytest.approx(sorted(regret)[124] / 2 + sorted(regret)[125] / 2)
    assert summary.mean == pytest.approx(sum(regret) / 250)
    assert summary.sd == pytest.approx((sum((r - summary.mean) ** 2 for r in regret) / 249) ** 0.5)
    assert summary.standard_error == pytest.approx(summary.sd / 250**0.5)
    assert summary.quantiles[0.5] == summary.median
    assert list(summary.quantiles) == sorted(summary.quantiles)
    np.testing.assert_allclose(TRACE.curve("TS"), TRACE.regret[0, 0].mean(axis=0))
    assert (np.diff(TRACE.curve("TS")) >= 0).all()


def test_recorded_steps_are_those_asked_for() -> None:
    trace = simulate(HALF, TS(), 40, 250, seed=9, engine="reference", record="curve", steps=[1, 7, 40])
    np.testing.assert_array_equal(trace.regret[0, 0], TRACE.regret[0, 0][:, [0, 6, 39]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"horizon": 0}, "horizon: got 0, expected a whole number of at least 1"),
        ({"horizon": 2.5}, "horizon: got 2.5"),
        ({"replications": 0}, "replications: got 0"),
        ({"replications": range(5, 5)}, "replications"),
        ({"replications": range(-5, 5)}, "replications"),
        ({"seed": -1}, "seed: got -1"),
        ({"steps": [0, 5]}, "steps"),
        ({"steps": [5, 3]}, r"steps: got .* expected rising numbers between 1 and the horizon of 10"),
        ({"steps": []}, "steps"),
        ({"steps": [5], "record": "summary"}, "choose record='curve'"),
        ({"record": "all"}, "record: got 'all', expected one of summary, curve, full"),
        ({"engine": "abacus"}, "engine: got 'abacus'"),
        ({"policies": []}, "policies"),
        (
            {"policies": [TS(), TS(alpha=2)]},
            r"policies: got \['TS', 'TS'\], expected at least one, .* name them: \{'one': \.\.\} or \[policies\.one\]",
        ),
        ({"policies": {}}, "policies: got none, expected at least one"),
        ({"policies": TS}, r"policies: got the class TS, expected a policy; write TS\(\)"),
        ({"policies": [TS(), "TS"]}, "policies: got str without name, start, propose, learn, report"),
        ({"horizon": 2**31}, "horizon: got 2147483648, expected a whole number of at least 1 and at most 2147483647"),
        ({"replications": 2**31}, "replications: got 2147483648"),
        ({"replications": range(2**31 - 1, 2**31)}, "replications"),
        ({"environment": []}, "environment: got none"),
        ({"policies": TS(alpha=[1, 2, 3])}, "alpha"),
    ],
)
def test_bad_input_is_refused(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {
        "environment": HALF,
        "policies": TS(),
        "horizon": 10,
        "replications": 3,
        "record": "curve",
    }
    with pytest.raises(InputError, match=message):
        simulate(**(arguments | change))  # type: ignore[arg-type]  # as a user may


@dataclass(frozen=True)
class Unfinished:
    """A policy of one's own that cannot be told of a report."""

    name = "Own"

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> None:
        raise AssertionError("it was begun")

    def propose(self, state: None, context: Index, rng: Random) -> IntArray:
        raise AssertionError("it was asked")


@pytest.mark.parametrize("given", [Unfinished(), [TS(), Unfinished()], {"mine": Unfinished()}])
def test_a_policy_that_lacks_a_function_is_told_which(given: Any) -> None:
    with pytest.raises(InputError, match=r"policies: got Unfinished without learn, report, .*A policy of your own"):
        simulate(HALF, given, 10, 3)


def test_policies_have_the_names_that_they_are_given() -> None:
    trace = simulate(
        HALF, {"doubtful": TS(), "sure": TS(alpha=50)}, 40, 250, seed=9, engine="reference", record="curve"
    )
    assert list(trace.summary()) == ["doubtful", "sure"]
    np.testing.assert_array_equal(trace.final("doubtful"), TRACE.final("TS"))
    assert trace.final("sure").mean() > trace.final("doubtful").mean()
    assert trace.frame()["policy"].unique(maintain_order=True).to_list() == ["doubtful", "sure"]
    assert set(trace.curves()["policy"]) == {"doubtful", "sure"}


OPPOSITE = Environment.from_world(
    World(HALF.response.sum(axis=3), np.array([[[0.7, 0.3], [0.4, 0.6]]]), np.array([1, 0]))
)
MISTAKEN = replace(HALF, space=Space(2, intended=[1, 0]))
RENAMED = replace(HALF, space=Space(["drug", "usual care"], intended=[0, 1], implemented=2))


@pytest.mark.parametrize("engine", ["auto", "reference", "cpu", "gpu", "dask"])
@pytest.mark.parametrize(
    "other", [contextual.environment(1), OPPOSITE, MISTAKEN, RENAMED], ids=["shape", "utility", "intended", "names"]
)
def test_environments_of_several_spaces_do_not_run_together(engine: EngineName, other: Environment) -> None:
    """The policy would be told the utility of the first alone: it sought the worst where success is worth nothing."""
    with pytest.raises(MismatchError, match=r"'half' and 'other' differ in \w+.*; simulate them one after the other"):
        simulate({"half": HALF, "other": other}, TS(), 10, 3, engine=engine)


def test_what_does_not_belong_together_is_refused() -> None:
    with pytest.raises(LabelError, match="policy: got 'UCB', expected one of TS, TS-Obs, Uniform"):
        TRACE.final("UCB")
    two = simulate([HALF, HALF], TS(), 3, 3)
    with pytest.raises(LabelError, match="environment: got None, expected one of 0, 1"):
        two.summary()
    with pytest.raises(InputError, match=r"compliance: got 1\.5"):
        Reporting(compliance=1.5)
    with pytest.raises(InputError, match="delay: got -1"):
        Reporting(delay=-1)
    with pytest.raises(InputError, match="batch: got 0"):
        Reporting(batch=0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda x: 5, r"own.propose: got int64 of shape \(\), expected whole numbers in the shape of the context"),
        (lambda x: x + 0.5, "own.propose: got float64"),
        (lambda x: x - 1, "own.propose: got -1 to -1, expected indices from 0 to 1"),
        (lambda x: x + 2, "own.propose: got 2 to 2, expected indices from 0 to 1"),
    ],
)
def test_what_a_policy_of_ones_own_proposes_is_checked(given: Any, message: str) -> None:
    class Own(TS):
        name = "own"

        def propose(self, state: Any, context: Any, rng: Any) -> Any:
            return given(context)

    with pytest.raises(InputError, match=message):
        simulate(HALF, Own(), 5, 3)


def test_a_policy_that_forgets_its_state_is_told() -> None:
    class Own(TS):
        name = "own"

        def learn(self, state: Any, event: Any, rng: Any) -> Any:
            return None

    with pytest.raises(InputError, match="own: got no state, expected that start, learn and report return the state"):
        simulate(HALF, Own(), 5, 3)
