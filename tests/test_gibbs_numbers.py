"""Gibbs sampling of unseen actions where outcomes are numbers, counts and times: enumeration and calibration.

Statistical comparisons are at five standard errors, or at the level `LEVEL`: fewer than 100 of them, so that together
they raise a false alarm in fewer than 1 of 5,000 choices of the seeds.
"""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import chisquare

import naive
from takeup import UNSEEN, Event, Evidence, Space, TSLat, TSObs, UnsuitableError, WarmTSLat, stream
from takeup.conjugates import Bootstrap, Exponential, GammaRate, Likelihood, Normal, NormalGamma, Poisson
from takeup.outcomes import Count, Number, Outcome, Time
from takeup.policies import Forgetting
from takeup.simulation.kernels.choice import choose

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
LEVEL = 1e-6
ERRORS = 5.0
CHAINS = 3_000

NUMBER, COUNT, TIME = Number(0, 30, bins=31), Count(9), Time(20)
PRIORS: dict[str, tuple[Any, Likelihood, tuple[float, ...]]] = {
    "number": (NUMBER, Normal(mean=14.0, sd=4.0, weight=0.5, freedom=3.0), (14.0, 0.5, 3.0, 16.0)),
    "count": (COUNT, Poisson(rate=3.0, weight=0.5), (1.5, 0.5)),
    "time": (TIME, Exponential(mean=8.0, weight=1.2), (1.2, 9.6)),
}
LATENT: dict[str, list[tuple[int, Any]]] = {
    "number": [(0, 8), (0, 8), (0, 21), (1, 22), (1, 9), (1, 19)],
    "count": [(0, 1), (0, 1), (0, 7), (1, 6), (1, 0), (1, 5)],
    "time": [(0, 2), (0, 2), (0, "20+"), (1, 15), (1, "3+"), (1, 1)],
}
SEEN: dict[str, list[tuple[int, int, Any]]] = {
    "number": [(0, 0, 7), (1, 1, 20), (1, 0, 11)],
    "count": [(0, 0, 1), (1, 1, 6), (1, 0, 2)],
    "time": [(0, 0, 3), (1, 1, "16+"), (1, 0, 5)],
}
BETA = np.array([[[2.0, 1.0], [0.7, 1.5]]])


def events_of(kind: str, *, seen: bool) -> list[Event]:
    outcome = PRIORS[kind][0]
    known = [Event(0, z, a, outcome.code(y)) for z, a, y in SEEN[kind]] + [Event(0, 1, 1)] if seen else []
    return known + [Event(0, z, UNSEEN, outcome.code(y)) for z, y in LATENT[kind]]


def enumerated(kind: str, events: list[Event]) -> FloatArray:
    """E[π], E[θ] and E[π θ] over all assignments of the latent actions; θ is the mean, or the rate."""
    outcome, _, block = PRIORS[kind]
    logs, found = [], []
    for filled in naive.completions(2, events):
        log, _, beta = naive.urn(np.ones((1, 2, 2)), BETA, [replace(each, outcome=UNSEEN) for each in filled])
        centres = []
        for a in range(2):
            codes = [int(e.outcome) for e in filled if e.implemented == a and e.outcome != UNSEEN]
            if kind == "number":
                more, after = naive.students([float(outcome.plain(code)) for code in codes], block)
                centres.append(after[0])
            else:
                _, sums = outcome.parts_of(np.array(codes, dtype=np.int64))
                more, after = naive.lomaxes([(int(e), float(t) * outcome.step) for e, t in sums], block)
                centres.append(after[0] / after[1])
            log += more
        logs.append(log)
        found.append(described(beta[0] / beta[0].sum(axis=-1, keepdims=True), np.array(centres)))
    return np.asarray(np.exp(np.array(logs) - logsumexp(logs)) @ np.array(found))


def described(pi: FloatArray, theta: FloatArray) -> FloatArray:
    return np.concatenate([pi[..., 0], theta, np.einsum("...za,...a->...z", pi, theta)], axis=-1)


@pytest.mark.parametrize("seen", [False, True], ids=["nothing seen", "some seen"])
@pytest.mark.parametrize("kind", PRIORS)
def test_chains_have_the_means_of_the_enumerated_posterior(kind: str, seen: bool) -> None:
    """The sum over 64 assignments of six latent actions, against the ends of chains of 40 sweeps."""
    outcome, likelihood, _ = PRIORS[kind]
    events = events_of(kind, seen=seen)
    counts = Evidence.of(Space(2, outcomes=outcome), events).counts
    many = Evidence(Space(2, outcomes=outcome), np.broadcast_to(counts, (CHAINS, *counts.shape)))
    policy = TSLat(inference="gibbs", sweeps=40, beta=BETA, likelihood=likelihood)
    blocks = policy.posterior(many, stream(1, kind))
    block, compliance = blocks.block, blocks.compliance
    assert compliance is not None
    assert isinstance(block, NormalGamma | GammaRate)
    theta = block.centre if isinstance(block, NormalGamma) else block.events / block.exposure
    found = described(compliance[:, 0] / compliance[:, 0].sum(axis=-1, keepdims=True), theta[:, 0])
    error = found.std(axis=0, ddof=1) / CHAINS**0.5
    assert (np.abs(found.mean(axis=0) - enumerated(kind, events)) < ERRORS * error).all()


class TestCalibration:
    """Truth drawn from the prior is a draw like any other from the posterior: Talts et al. (2018)."""

    trials, people, bins = 400, 50, 10
    cases: ClassVar[dict[str, tuple[Outcome, Likelihood]]] = {
        "number": (Number(-100, 100, 4, bins=51), Normal(mean=0, sd=10, freedom=12)),
        "count": (Count(19, better="higher"), Poisson(rate=4, weight=0.8)),
        "time": (Time(19), Exponential(mean=6, weight=1.5)),
    }

    def tabled(self, family: Any, trial: IntArray, a: IntArray, rng: np.random.Generator) -> IntArray:
        law = np.cumsum(family.table()[:, 0], axis=-1)[trial, a]
        return np.asarray((rng.random(a.shape)[..., np.newaxis] >= law[..., :-1]).sum(axis=-1))

    def times(self, family: Any, trial: IntArray, a: IntArray, rng: np.random.Generator) -> IntArray:
        """A third is lost from sight at some time, whatever would have come; the others are watched to the end."""
        time = family.mean[:, 0][trial, a] * rng.standard_exponential(a.shape)
        watch = np.where(rng.random(a.shape) < 1 / 3, rng.uniform(0, 19, a.shape), 19.0)
        return np.asarray(2 * np.rint(np.minimum(time, watch)).astype(np.int64) + (time > watch))

    @pytest.mark.parametrize(
        ("kind", "seen"),
        [
            pytest.param(kind, seen, id=f"{kind}-{words}", marks=marks)
            for seen, words, chosen in ((0.0, "nothing seen", ["number"]), (0.3, "some seen", ["count", "time"]))
            for kind in ("number", "count", "time")
            for marks in ([] if kind in chosen else [pytest.mark.long],)
        ],
    )
    def test_it_knows_how_much_it_knows(self, kind: str, seen: float) -> None:
        """Ranks of two values and two means among as many chains of the default length: four tests at 1e-6."""
        rng = stream(2, kind, int(10 * seen))
        outcome, likelihood = self.cases[kind]
        space, policy = Space(2, outcomes=outcome), TSLat(inference="gibbs", likelihood=likelihood)
        truth = policy.prior(space).sample(rng, self.trials)
        trial, z = np.arange(self.trials)[:, np.newaxis], rng.integers(2, size=(self.trials, self.people))
        a = (rng.random(z.shape) < truth.compliance[:, 0][trial, z, 1]).astype(np.int64)
        y = self.times(truth.family, trial, a, rng) if kind == "time" else self.tabled(truth.family, trial, a, rng)
        hidden = np.where(rng.random(z.shape) < seen, a, UNSEEN)
        counts = np.zeros((self.trials, *space.table), dtype=np.int64)
        np.add.at(counts, (trial, np.zeros_like(z), z, hidden), outcome.amounts(y))
        evidence = Evidence(space, counts)
        true = np.concatenate([truth.value()[:, 0], truth.family.mean_worth()[:, 0]], axis=1)
        ranks = np.zeros(true.shape, dtype=np.int64)
        for _ in range(self.bins - 1):
            drawn = policy.posterior(evidence, rng).sample(rng)
            ranks += np.concatenate([drawn.value()[:, 0], drawn.family.mean_worth()[:, 0]], axis=1) < true
        found = [float(chisquare(np.bincount(column, minlength=self.bins)).pvalue) for column in ranks.T]
        assert min(found) > LEVEL, found


def test_with_all_compliance_seen_it_is_ts_obs() -> None:
    for kind, (outcome, likelihood, _) in PRIORS.items():
        evidence = Evidence.of(Space(2, outcomes=outcome), events_of(kind, seen=True)[:4])
        ours, theirs = (
            policy.posterior(evidence, stream(1))
            for policy in (TSLat(inference="gibbs", likelihood=likelihood), TSObs(likelihood=likelihood))
        )
        np.testing.assert_array_equal(ours.mean().value(), theirs.mean().value())
        assert (
            ours.block.sample(stream(2)).mean_worth().tolist() == theirs.block.sample(stream(2)).mean_worth().tolist()
        )


def test_everybody_gets_one_action() -> None:
    """The blocks hold prior, seen and unseen, once each: two weights of 1, nine numbers and their sum."""
    evidence = Evidence.of(Space(2, outcomes=NUMBER), events_of("number", seen=True))
    blocks = TSLat(inference="gibbs", likelihood=Normal(mean=0, sd=4)).posterior(evidence, stream(3))
    assert isinstance(blocks.block, NormalGamma)
    assert blocks.compliance is not None
    assert blocks.block.weight.sum() == 2 + 9
    assert blocks.compliance.sum() == 4 + 10
    total = sum(y for _, y in LATENT["number"]) + sum(y for _, _, y in SEEN["number"])
    assert (blocks.block.weight * blocks.block.centre).sum() == pytest.approx(total)
    assert blocks.block.outcome == NUMBER


@pytest.mark.parametrize("inference", ["gibbs", "meanfield"])
def test_the_bootstrap_is_that_of_levels(inference: Any) -> None:
    """Numbers in four bins of ten, draw by draw what four levels give that are worth the middles of the bins."""
    space = Space(2, outcomes=Number(0, 39, bins=4))
    four = Space(2, outcomes=4, utility=[4.5, 14.5, 24.5, 34.5])
    told = [(0, UNSEEN, 3), (0, 0, 38), (1, UNSEEN, 25), (1, UNSEEN, 12), (1, 1, UNSEEN), (0, UNSEEN, 7)]
    ours = TSLat(inference=inference, likelihood=Bootstrap(alpha=1.0))
    values = [
        policy.beliefs(
            Evidence.of(s, [Event(0, z, a, y if s is space or y < 0 else y // 10) for z, a, y in told]), 0, rng
        )
        .values(rng, 50)
        .tolist()
        for s, policy, rng in ((space, ours, stream(4)), (four, TSLat(inference=inference), stream(4)))
    ]
    assert values[0] == values[1]


def test_old_numbers_count_less_by_their_bins() -> None:
    policy = Forgetting(base=TSLat(likelihood=Bootstrap()), half_life=10, epoch=5)
    state = policy.start(Space(2, outcomes=Number(0, 100)))
    for i in range(20):
        state = policy.learn(state, Event(0, i % 2, UNSEEN, 5 * i, number=i), stream(0))
    assert policy.allocation(state, 0, stream(1), 50).probability.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("policy", "outcome", "said"),
    [
        (TSLat(inference="gibbs"), Number(0, 100), r"20 bins of this number hold 101 .* Number\(.., bins=101\)"),
        (TSLat(inference="gibbs"), Number(0, 5_000), "at most 1,000, and bins=1000"),
        (TSLat(inference="gibbs"), Count(100), "20 bins of this count hold 101 different ones; counts up to 19"),
        (TSLat(inference="gibbs"), Time(90), "80 bins of this time hold 182 .* the longest is at most 39 steps"),
        (TSLat(inference="gibbs"), Count(9, exposure="days", longest=9), "10 bins of this count hold 90 .* TSObs take"),
        (TSLat(), Time(9), "a time, and mean-field inference takes levels alone; use inference='gibbs'$"),
        (TSLat(), Number(0, 9), r"a number, and mean-field .* inference='gibbs', or likelihood=Bootstrap\(\)"),
        (WarmTSLat(), Number(0, 9), "takes outcomes with levels alone"),
    ],
)
def test_what_it_cannot_do_is_refused(policy: Any, outcome: Outcome, said: str) -> None:
    with pytest.raises(UnsuitableError, match=said):
        policy.start(Space(2, outcomes=outcome))


def test_kernels_are_for_levels() -> None:
    for policy in (TSLat(inference="gibbs"), TSLat(likelihood=Bootstrap())):
        with pytest.raises(UnsuitableError, match="use engine='reference'"):
            choose(policy, Space(2, outcomes=NUMBER))
