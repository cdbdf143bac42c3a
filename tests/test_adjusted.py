"""The adjusted reading: outcomes by what was proposed, at equal covariates."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import t as student

from takeup import Category, Event, Evidence, Measure, Number, Space, Uniform, stream
from takeup.policies.adjusted import RIDGE
from takeup.policies.linear import FREEDOM, SPREAD
from takeup.policies.readings import comparison

COVARIATES = {"age": Measure(20, 100), "state": Category(["alert", "drowsy"])}
LEVELS = Space(["A", "B"], outcomes=["died", "lived"], covariates=COVARIATES)
NUMBERS = Space(["A", "B"], outcomes=Number(0, 50, better="lower"), covariates=COVARIATES)


def gathered(space: Space, many: int, trials: int = 1, seed: int = 1) -> tuple[Evidence, Any, Any, Any]:
    """Decisions in which the old are offered B and fare badly, and what a twin needs of them: v, z and the gain.

    Trials side by side: evidence has an axis for them, and so have the others, after that for the units.
    """
    rng, evidence, rows = stream(seed, "adjusted"), Evidence.empty(space, (trials,)), []
    assert space.covariates is not None
    old, state = (kind.table() for kind in space.covariates.kinds)
    for _ in range(many):
        age = rng.integers(0, 81, trials)
        v = space.covariates.combined([old[age], state[rng.integers(0, 2, trials)]])
        z = (rng.random(trials) < age / 80).astype(np.int64)
        y = (rng.random(trials) < 0.9 - age / 100).astype(np.int64) if space is LEVELS else rng.integers(0, 51, trials)
        evidence = evidence.record(Event(np.zeros(trials, dtype=np.int64), z, z, y, features=v))
        rows.append((v / 1000, z, y if space is LEVELS else 1 - y / 50))
    v, z, gain = (np.array(each) for each in zip(*rows, strict=True))
    return evidence, v, z, gain


def line(v: Any, gain: Any, at: Any) -> tuple[Any, float, float]:
    """Centre, scale and freedom at these features: by inverses, from the rows."""
    precision = RIDGE * np.eye(v.shape[1]) + v.T @ v
    mean = np.linalg.solve(precision, v.T @ (gain - 0.5))
    freedom = FREEDOM + len(gain)
    left = FREEDOM * SPREAD**2 + ((gain - 0.5) ** 2).sum() - mean @ precision @ mean
    return 0.5 + at @ mean, float(np.sqrt(left / freedom * (at @ np.linalg.solve(precision, at)))), freedom


@pytest.mark.parametrize("space", [LEVELS, NUMBERS])
@pytest.mark.parametrize("many", [5, 60])
def test_is_a_line_for_each_proposal_at_the_average_of_all(space: Space, many: int) -> None:
    evidence, *rows = gathered(space, many)
    v, z, gain = (each[:, 0] for each in rows)
    found = comparison("adjusted", Evidence(space, evidence.counts[0]), Uniform(), stream(0))
    (a, s, n), (b, r, m) = (line(v[z == k], gain[z == k], v.mean(axis=0)) for k in range(2))

    def ahead(margin: float) -> float:
        """P(B exceeds A by more than this), in gains."""
        there = student(m, b, r)
        inside, _ = quad(lambda x: student.pdf(x, n, a, s) * there.sf(x + margin), -30, 30, limit=500, points=[a, b])
        return float(inside)

    better = ahead(0.0)
    assert found.exceeds(1, 0) == pytest.approx(better, abs=1e-6)
    width = 1.0 if space is LEVELS else 50.0
    assert found.exceeds(1, 0, 0.1 * width) == pytest.approx(ahead(0.1), abs=1e-6)
    np.testing.assert_allclose(found.largest([0, 1]), [1 - better, better], atol=1e-6)


def test_offers_by_age_mislead_the_plain_reading_and_not_this_one() -> None:
    """B does nothing, and the old, who fare badly, are offered it: a hundred trials of 400, with a fixed seed.

    By chance the adjusted reading is beyond 0.95 in ten of a hundred, or in more than twenty once in a thousand.
    """
    plain, fair = 0, 0
    together, *_ = gathered(LEVELS, 400, 100)
    for counts in together.counts:
        evidence = Evidence(LEVELS, counts)
        plain += comparison("intention to treat", evidence, Uniform(), stream(0)).exceeds(0, 1) > 0.99
        p = comparison("adjusted", evidence, Uniform(), stream(0)).exceeds(0, 1)
        fair += not 0.05 <= p <= 0.95
    assert plain == 100
    assert fair <= 20


def test_before_any_outcome_nothing_is_better() -> None:
    found = comparison("adjusted", Evidence.empty(LEVELS), Uniform(), stream(0))
    np.testing.assert_allclose(found.largest([0, 1]), [0.5, 0.5], atol=1e-9)
