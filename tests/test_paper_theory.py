"""The theory section of the paper, run: what it claims, the conjecture and the slopes."""

import json
import math

import pytest

from takeup import TS, Environment, TSObs, World, simulate, theory
from takeup.paper import claims
from takeup.paper import theory as section
from takeup.paper.runner import Runner
from takeup.paper.theory import BoundRow, TheoryResult

HORIZONS = (20, 50, 200)


def environment(p: float) -> Environment:
    return Environment.from_world(World.bernoulli([[1 - p, p], [p, 1 - p]], [0.75, 0.25]))


@pytest.fixture(scope="module")
def small() -> tuple[TheoryResult, int]:
    made: list[int] = []
    result = section.theory(Runner(40, 3, "reference", made.append), HORIZONS, draws=400)
    return result, sum(made)


def test_says_what_holds_and_what_does_not() -> None:
    found = {(check.source, check.holds) for check in claims.checks(seed=5)}
    assert found == {
        ("lemma 1", True),
        ("lemma 1", False),
        ("theorem 1", False),
        ("abstract", False),
        ("here", True),
        ("theorem 2", True),
        ("theorem 2", False),
        ("proof of theorem 2", False),
        ("section 4.1", False),
        ("section 4.1", True),
    }


def test_counter_examples_are_computed() -> None:
    """f(0.75, 0.25) = 1 / ln 3 = 0.910; f(0.8, 0.5) + f(0.8, 0.2) = 1.344 + 0.721."""
    texts = " ".join(check.evidence for check in claims.checks())
    assert "0.910 ln T becomes 0" in texts
    assert "2.066 ln T becomes 1.443 ln T" in texts


def test_progress_and_size(small: tuple[TheoryResult, int]) -> None:
    result, made = small
    assert made == section.decisions(40, HORIZONS) == 20 * 5 * 200
    assert [row.p for row in result.bounds] == [round(0.05 * i, 2) for i in range(21)]
    assert [row.arms for row in result.conjecture] == list(range(2, 21))
    assert result.horizons == HORIZONS
    assert result.checks[-1].source == "section 6"
    assert result.checks[-1].holds


def test_constants_of_the_sweep(small: tuple[TheoryResult, int]) -> None:
    """TS: f(v*, v); TS-Obs: 0.5 / |ln((1 - p) / p)| inside, f(0.75, 0.25) = 1 / ln 3 at both ends, 0 at 0.5."""
    for row in small[0].bounds:
        if row.p in (0, 1):
            assert row.ts_obs == pytest.approx(1 / math.log(3), rel=1e-6)
        elif row.p != 0.5:
            assert row.ts_obs == pytest.approx(0.5 / abs(math.log((1 - row.p) / row.p)))
            assert row.known is not None
            assert 0 < row.known < 1.05 * row.ts_obs
        values = sorted((0.75 - row.p / 2, 0.25 + row.p / 2))
        assert row.ts == pytest.approx(0 if row.p == 0.5 else float(theory.arm_cost(values[1], values[0])))
        assert row.ts_obs <= row.ts * (1 + 1e-9)


def test_mirror_images(small: tuple[TheoryResult, int]) -> None:
    """Rows p and 1 - p rest on one simulation, and say so."""
    rows = small[0].bounds
    for row, mirror in zip(rows, rows[::-1], strict=True):
        assert row.slopes == mirror.slopes
        assert row.simulated_at == min(row.p, mirror.p)
        assert row.ts_obs == pytest.approx(mirror.ts_obs)
    assert rows[10].slopes == ()


def test_a_slope_by_hand(small: tuple[TheoryResult, int]) -> None:
    """The same five replications again: each one's rise over ln(200 / 50), their mean and its standard error."""
    result, _ = small
    row = result.bounds[6]
    (slope,) = (s for s in row.slopes if (s.policy, s.start) == ("TS-Obs", 50))
    truth = environment(0.3)
    trace = simulate(truth, TSObs(), 200, 5, 3, engine="reference", record="curve", steps=HORIZONS)
    own = (trace.regret[0, 0, :, 2] - trace.regret[0, 0, :, 1]) / math.log(4)
    assert (slope.stop, slope.replications) == (200, 5)
    assert slope.slope == pytest.approx(own.mean())
    assert slope.error == pytest.approx(own.std(ddof=1) / math.sqrt(5))


def test_plain_numbers(small: tuple[TheoryResult, int]) -> None:
    result, _ = small
    back = json.loads(json.dumps(result.as_json()))
    assert back["bounds"][4]["slopes"][0]["policy"] == "TS"
    assert back["conjecture"][0]["probability"] == 1.0
    assert back["checks"][1]["holds"] is False
    assert BoundRow.__dataclass_fields__.keys() == back["bounds"][0].keys()


def test_seeing_compliance_pays() -> None:
    """TS-Obs at p = 0.3 from 1,000 to 30,000: well below TS's slope and constant, and near its own.

    TS-Obs's constant is 0.59, TS's 2.47. Four standard errors on each comparison: a false alarm once in 16,000 of them.
    """
    horizons = (1_000, 30_000)
    truth = {"p = 0.3": environment(0.3)}
    trace = simulate(truth, [TS(), TSObs()], horizons[-1], 200, 11, engine="cpu", record="curve", steps=horizons)
    (unseen,), (seen,) = (section.slopes(trace, policy, "p = 0.3") for policy in ("TS", "TS-Obs"))
    least, most = 0.5 / math.log(7 / 3), float(theory.arm_cost(0.6, 0.4))
    assert seen.slope + 4 * seen.error < min(most, unseen.slope - 4 * unseen.error)
    assert seen.slope - 4 * seen.error < least
    assert seen.slope + 4 * seen.error > 0.8 * least
    assert unseen.slope + 4 * unseen.error > 0.8 * most
