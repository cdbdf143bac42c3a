"""The bounded reading after a trial: its ends, its errors, its coverage at the worst difference that was promised."""

from typing import Any

import numpy as np
import pytest

import adaptive_trials
from adaptive_trials import refusing, trials
from takeup import UNSEEN, Log, Space, stream
from takeup.analysis import bounded_effect, bounded_interval, effect, scores, targets
from takeup.analysis.cell_scores import CellScores, cell_scores
from takeup.analysis.cell_sums import summed
from takeup.analysis.planned import planned_of
from takeup.analysis.readings import Readings
from takeup.analysis.shortest import Moves
from takeup.checks import FloatArray
from takeup.design import Cells, bounded
from takeup.errors import InputError
from takeup.outcomes import Number
from takeup.policies.bounded_reading import BoundedReading
from takeup.trial.design import Design
from takeup.trial.rules import BoundedTable


def single(log: Log, trial: int = 0) -> Log:
    """One of the trials of a log."""
    return Log.of(
        log.space,
        log.proposal[trial],
        log.probability[trial],
        implemented=log.implemented[trial],
        outcome=log.outcome[trial],
    )


def differing(n: int, take_up: float, difference: float, effect: float = 0.0, drift: float = 0.0) -> Any:
    """A quarter are well without the treatment, and takers better than refusers by the difference."""
    takers = 0.25 + (1 - take_up) * difference
    return refusing(n, (takers, takers + effect), 0.25 - take_up * difference, take_up, drift)


def test_nothing_moved_is_intention_to_treat() -> None:
    """A promise that is worth nothing leaves the mean difference of the scores of the outcome, to the digit."""
    log = trials(differing(300, 0.6, 0.1, 0.2), 20, seed=1, floor=0.1)
    plain = trials(differing(300, 0.6, 0.1, 0.2), 20, seed=1, even=True)
    by_offer = [plain.outcome.mean(axis=-1, where=plain.proposal == z) for z in (0, 1)]
    np.testing.assert_allclose(bounded_interval(plain, 1, 0, 5.0).value, by_offer[1] - by_offer[0], atol=1e-12)
    found = bounded_interval(log, "new", "usual", 5.0)
    score = scores(log, targets.outcome(log.space)).score
    np.testing.assert_array_equal(found.moved, 0)
    np.testing.assert_allclose(found.value, (score[..., 1] - score[..., 0]).mean(axis=-1), atol=1e-12)
    np.testing.assert_array_equal(found.bias, 0)
    told, same = bounded_effect(single(log), 1, 0, 5.0), effect(single(log), 1, 0)
    assert told.assumes[0].startswith("Nothing about refusers")
    assert (told.low, told.high) == (same.low, same.high)


def test_takers_who_are_like_refusers_are_read_as_ts_obs_reads_them() -> None:
    """Δ = 0, fixed allocation: λ is as where all who do the same are one group, and so is the estimate, to the digit.

    That is 1 - c / (2 - c) where as many are offered each, and Σ_a (c1[a] - c0[a]) μ[a], μ of all who do a.
    """
    log = trials(differing(300, 0.6, 0.0, 0.2), 50, seed=2, even=True)
    found = bounded_interval(log, "new", "usual", 0.0)
    new, took = log.proposal == 1, log.implemented == 1
    c, n = (took & new).sum(axis=-1) / new.sum(axis=-1), new.mean(axis=-1)
    np.testing.assert_allclose(-found.moved[:, 1, 0], (1 - c) / (1 - n * c), atol=1e-6)
    np.testing.assert_allclose((1 - c) / (1 - c / 2), 1 - c / (2 - c), atol=1e-12)
    apart = c * (log.outcome.mean(axis=-1, where=took) - log.outcome.mean(axis=-1, where=~took))
    np.testing.assert_allclose(found.value, apart, atol=1e-6)
    adaptive = trials(differing(1_000, 0.6, 0.0, 0.2), 50, seed=2, floor=0.1)
    read = bounded_interval(adaptive, "new", "usual", 0.0)
    took = adaptive.implemented == 1
    rates = [adaptive.outcome.mean(axis=-1, where=each) for each in (took, ~took)]
    share = (took & (adaptive.proposal == 1)).sum(axis=-1) / (adaptive.proposal == 1).sum(axis=-1)
    assert np.abs(read.value - share * (rates[0] - rates[1])).mean() < 0.6 * read.error.mean()


def test_weights_do_not_depend_on_who_fared_how_by_proposal() -> None:
    """Outcomes of those who did the same are exchanged between proposals: the weights stay, the estimate does not."""
    log = single(trials(differing(400, 0.6, 0.05, 0.2), 1, seed=3, floor=0.1))
    rng, y = stream(3, "exchanged"), log.outcome.copy()
    for a in (0, 1):
        y[log.implemented == a] = rng.permutation(y[log.implemented == a])
    other = Log.of(log.space, log.proposal, log.probability, implemented=log.implemented, outcome=y)
    one, two = (bounded_interval(each, 1, 0, 0.02) for each in (log, other))
    assert abs(float(one.value - two.value)) > 0.005
    np.testing.assert_allclose(one.moved, two.moved, atol=0.02)


def test_nothing_is_moved_from_where_the_program_says_on() -> None:
    """Above `enough` the shortest interval is that of nothing moved, and just below it is not."""
    rng = stream(4, "enough")
    for _ in range(10):
        share = rng.dirichlet(np.ones(3), 3)
        base, free = np.array([-1.0, 1, 0])[:, np.newaxis] * share, np.ones((3, 3), dtype=bool)
        error, cost = rng.uniform(0.1, 1, (3, 3)), rng.uniform(0.1, 1, (3, 3))
        enough = Moves.of(base, error, cost, free, rest=0.3).enough()
        above, below = (Moves.of(base, error, times * enough * cost, free, 0.3).shortest() for times in (1.01, 0.99))
        np.testing.assert_allclose(above, 0, atol=1e-12)
        assert np.abs(below).max() > 1e-4
        moves = Moves.of(base, error, 0.5 * enough * cost, free, 0.3)
        least = moves.length(moves.shortest())
        for scale in (1e-4, 1e-2, 0.3):
            step = np.zeros((40, 3, 3))
            step[:, 1:] = scale * rng.normal(size=(40, 2, 3))
            assert min(moves.length(moves.shortest() + each) for each in step) >= least * (1 - 1e-12)


def _enumerated(cells: CellScores, p: FloatArray, u: FloatArray, of_value: Any, of_mean: Any) -> tuple[float, float]:
    """The variance and the third cumulant of the score of one decision of binary outcomes, over all (z, a, y)."""
    c, m = cells.share, cells.rate
    chances, sums = [], []
    for z in range(len(c)):
        for a in range(c.shape[1]):
            for y in (0, 1):
                total = 0.0
                for w in range(len(c)):
                    for place, weight, value in (
                        (u[w, 1], of_value[w], y),
                        *(
                            (u[w, 4 + b] - m[w, b] * u[w, 2 + b], of_mean[w, b] / c[w, b], (b == a) * (y - m[w, b]))
                            for b in range(2)
                        ),
                    ):
                        total += weight * (place + (w == z) * (value - place) / p[w])
                chances.append(p[z] * c[z, a] * (m[z, a] if y else 1 - m[z, a]))
                sums.append(total)
    chance, total_ = np.array(chances), np.array(sums)
    centred = total_ - chance @ total_
    return float(chance @ centred**2), float(chance @ centred**3)


def test_variance_and_skewness_are_those_of_all_that_could_have_happened() -> None:
    """One decision, two proposals, guesses at random; the third cumulant where guesses are right."""
    rng, space = stream(5, "cumulants"), adaptive_trials.SPACE
    unused = scores(Log.of(space, [0, 1], [0.5, 0.5], outcome=[0, 1]), targets.outcome(space))
    for right in (False, True):
        p, c, m = rng.dirichlet([2, 2]), rng.dirichlet([3, 3], 2), rng.uniform(0.2, 0.8, (2, 2))
        u = np.concatenate([np.ones((2, 1)), rng.uniform(0, 1, (2, 5))], axis=1)
        if right:
            u = np.concatenate([np.ones((2, 1)), (c * m).sum(axis=1, keepdims=True), c, c * m], axis=1)
        zero, one = np.zeros(()), np.ones((), dtype=np.int64)
        cross = np.einsum("zi,wj->ziwj", u, u)
        own = np.einsum("zi,zj,z->zij", u, u, 1 / p)
        inverse = np.stack([1 / p, 1 / p**2], axis=-1)
        counts = np.ones((2, 2), dtype=np.int64)
        v = (c * m).sum(axis=1)
        sums = inverse, zero, own, cross
        cells = CellScores((0, 1), one, one, one, 0, 1, v, m, c, counts, m, zero + 1, *sums, unused)
        of_value, of_mean = rng.normal(size=2), rng.normal(size=(2, 2))
        second, third = cells.cumulants(of_value, of_mean, m)
        exact = _enumerated(cells, p, u, of_value, of_mean)
        assert float(second) == pytest.approx(exact[0], rel=1e-12)
        if right:  # without the cube of the mean itself, which is no part of sums over many
            assert float(third) == pytest.approx(_large(cells, p, of_value, of_mean), rel=1e-12)


def _large(cells: CellScores, p: FloatArray, of_value: Any, of_mean: Any) -> float:
    """Σ_z E[(what a unit of z adds - its mean)^3] / p^2, cell by cell and outcome by outcome."""
    total = 0.0
    for z in range(2):
        centre = of_value[z] * sum(cells.share[z, a] * cells.rate[z, a] for a in range(2))
        for a in range(2):
            m, c = cells.rate[z, a], cells.share[z, a]
            for y, chance in ((0, 1 - m), (1, m)):
                adds = of_value[z] * y + of_mean[z, a] * (y - m) / c
                total += c * chance * (adds - centre) ** 3 / p[z] ** 2
    return total


def test_numbers_are_read_by_their_means() -> None:
    """0 and 1 as numbers say what two levels say; pressures from 80 to 180 are held as often as they should."""
    log = trials(differing(300, 0.6, 0.1, 0.2), 3, seed=10, floor=0.1)
    space = Space(["usual", "new"], outcomes=Number(0, 1))
    same = Log.of(space, log.proposal, log.probability, implemented=log.implemented, outcome=log.outcome)
    one, two = (bounded_interval(each, 1, 0, 0.05) for each in (log, same))
    np.testing.assert_allclose([one.low, one.high], [two.low, two.high], atol=1e-12)
    rng, many, n = stream(10, "numbers"), 400, 400
    takes, z = rng.random((many, n)) < 0.6, rng.integers(0, 2, (many, n))
    y = rng.normal(np.where(takes, 132, 128) - 6.0 * (takes & (z == 1)), 12).round().clip(80, 180).astype(np.int64) - 80
    pressure = Space(["usual", "new"], outcomes=Number(80, 180, better="lower", unit="mmHg"))
    found = bounded_interval(
        Log.of(pressure, z, [0.5, 0.5], implemented=np.where(takes, z, 0), outcome=y), "new", "usual", 4.0
    )
    held = (found.low <= -3.6) & (found.high >= -3.6)
    assert held.mean() >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / many)
    assert (found.high < 0).mean() > 0.5


def test_what_is_not_known_is_left_out_and_counted() -> None:
    """Unknown actions and outcomes, decisions in which a proposal could not be made; nothing to go by at all."""
    log = single(trials(differing(400, 0.6, 0.0, 0.2), 1, seed=11, floor=0.1))
    a, y, p = log.implemented.copy(), log.outcome.copy(), log.probability.copy()
    a[:10], y[5:20] = UNSEEN, UNSEEN
    p[-30:] = np.eye(2)[log.proposal[-30:]]
    some = bounded_effect(Log.of(log.space, log.proposal, p, implemented=a, outcome=y), "new", "usual", 0.02)
    assert (some.n, some.missing) == (350, 20)
    assert sum("never reported" in each or "30 others" in each for each in some.assumes) == 2
    kept = slice(20, 370)
    rest = Log.of(log.space, log.proposal[kept], p[kept], implemented=a[kept], outcome=y[kept])
    assert bounded_effect(rest, "new", "usual", 0.02).value == pytest.approx(some.value, abs=1e-12)
    none = bounded_effect(Log.of(log.space, log.proposal, p, outcome=y), "new", "usual", 0.02)
    three = Log.of(Space(["usual", "new", "never"]), log.proposal, [0.4, 0.4, 0.2], implemented=a, outcome=y)
    assert "with never" in bounded_effect(three, "new", "never", 0.02, control="usual").withheld
    assert "of 0 decisions" in none.withheld
    assert np.isnan([none.value, none.low, none.high]).all()


def test_rare_proposals_have_no_interval() -> None:
    """1 / p may be 6 % of the decisions: 20 of 340 and not of 330."""
    for n, shown in ((340, True), (330, False)):
        rng = stream(12, "rare")
        z = (rng.random(n) < 0.05).astype(np.int64)
        y, a = rng.integers(0, 2, n), np.where(rng.random(n) < 0.7, z, 0)
        log = Log.of(adaptive_trials.SPACE, z, [0.95, 0.05], implemented=a, outcome=y)
        found = bounded_effect(log, 1, 0, 0.1)
        assert found.shown == found.survives_adaptation == shown
        assert np.isnan(found.low) != shown


def test_planned_weights_are_kept_but_not_beyond_what_cells_bear() -> None:
    """The weight of a plan for 60 % stays; where nearly all take the new one there are few to move weight from."""
    reading = bounded(Cells.rates(0.25, 0.35, 0.6), 0.02).reading()
    for take_up, kept in ((0.6, True), (0.95, False)):
        log = trials(differing(600, take_up, 0.0), 5, seed=13, even=True)
        found = bounded_interval(log, "new", "usual", reading)
        planned = reading.moved[1, 0, 1, 0]
        assert np.allclose(found.moved[:, 1, 0], planned, atol=1e-12) == kept
        assert (np.abs(found.moved[:, 1, 0]) <= abs(planned) + 1e-12).all()
        back = bounded_interval(log, "usual", "new", reading)
        np.testing.assert_allclose(back.value, -found.value, atol=1e-12)
        np.testing.assert_allclose(back.low, -found.high, atol=1e-6)


def test_an_analysis_reads_by_the_weights_of_its_plan() -> None:
    """Those of `[analysis]`, or of stopping rules with the same promise; with another promise they are chosen anew."""
    log = single(trials(differing(400, 0.6, 0.0, 0.2), 1, seed=13, even=True))
    moved = [{"one": "new", "other": "usual", "proposed": "new", "implemented": "usual", "weight": -0.2}]
    fixed = {"bounded": 0.02, "moved": moved}
    rules = {"control": "usual", "reading": fixed, "superiority": 0.98}
    space = {"proposals": ["usual", "new"], "outcomes": ["ill", "well"]}
    spec = {"name": "t", "space": space, "policy": {"kind": "TS"}, "looks": {"at": [400]}}
    expected = bounded_effect(log, 1, 0, BoundedTable.model_validate(fixed).read(log.space, 0))
    chosen = bounded_effect(log, 1, 0, 0.02)
    assert abs(expected.low - chosen.low) > 1e-3
    for tables, found in (
        ({"analysis": {"reading": fixed}}, expected),
        ({"analysis": {"reading": {"bounded": 0.02}}, "stopping": rules}, expected),
        ({"analysis": {"reading": {"bounded": 0.02}}}, chosen),
    ):
        entry = Readings(log, planned_of(log, Design.of({**spec, **tables}))).primary(1)
        assert entry is not None
        assert (entry.estimate.value, entry.estimate.low) == (found.value, found.low)
    assert planned_of(log, Design.of({**spec, "analysis": {"reading": fixed}}), promise=0.05).moved is None


def test_wrong_arguments_are_named() -> None:
    log = trials(differing(50, 0.6, 0.0), 2, seed=14, floor=0.1)
    one = single(log)
    for promise in (-0.1, (0.1, 0.1, 0.1), float("nan")):
        with pytest.raises(InputError, match="promise"):
            bounded_effect(one, 1, 0, promise)
    with pytest.raises(InputError, match="another proposal"):
        bounded_effect(one, 1, "new", 0.1)
    with pytest.raises(InputError, match="level"):
        bounded_effect(one, 1, 0, 0.1, level=95)
    with pytest.raises(InputError, match="leading axes"):
        bounded_effect(log, 1, 0, 0.1)


def test_many_trials_at_once_are_one_after_the_other() -> None:
    log = trials(differing(200, 0.6, 0.0, 0.2), 4, seed=15, floor=0.1)
    reading = BoundedReading(np.array([0.05, 0.05]), 0, bounded(Cells.rates(0.25, 0.35, 0.6), 0.05).reading().moved)
    for promise in (0.05, reading):
        many = bounded_interval(log, 1, 0, promise)
        for trial in range(4):
            alone = bounded_effect(single(log, trial), 1, 0, promise)
            np.testing.assert_allclose(
                [alone.value, alone.low, alone.high],
                [many.value[trial], many.low[trial], many.high[trial]],
                rtol=1e-9,
            )


def test_sums_are_shorter_with_more_and_longer_with_a_higher_level() -> None:
    """A sanity of `summed` itself: four times the decisions halve the interval, and 99 % is longer than 90 %."""
    few, more = (trials(differing(n, 0.6, 0.0), 50, seed=16, even=True) for n in (500, 2_000))
    widths = []
    for log, level in ((few, 0.95), (more, 0.95), (few, 0.9), (few, 0.99)):
        cells = cell_scores(log, targets.outcome(log.space), (0, 1))
        found = summed(cells, np.array([-1.0, 1.0]), np.zeros((50, 2, 2)), level)
        widths.append(float((found.high - found.low).mean()))
    assert widths[0] / widths[1] == pytest.approx(2, rel=0.05)
    assert widths[3] / widths[2] == pytest.approx(2.576 / 1.645, rel=0.05)
