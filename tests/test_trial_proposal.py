"""Decisions are a pure function of design, secret, evidence, context and number, drawn from the vector they log."""

import json

import numpy as np
import pytest
from scipy.stats import chi2

from takeup.checks import IntArray
from takeup.evidence import Evidence
from takeup.live import Trial
from takeup.randomness import bits, stream
from takeup.trial.book import blank
from takeup.trial.design import Design
from takeup.trial.leases import GRAIN
from takeup.trial.proposal import propose
from takeup.trial.secret import Secret

SECRET = Secret("5eed" * 16, "00" * 16)


def design_of(**changes: object) -> Design:
    spec = {"name": "t", "space": {"proposals": 3, "contexts": 2}, "policy": {"kind": "TSObs"}, "draws": 200}
    return Design.of(spec | changes)


def evidence_of(design: Design, seed: int = 1) -> IntArray:
    return np.asarray(stream(seed).integers(0, 8, size=blank(design).shape))


@pytest.mark.requirement("R-1.4")
@pytest.mark.parametrize("kind", ["Uniform", "TS", "TSCheck", "TSObs", "TSLat"])
def test_it_is_a_function_of_its_arguments(kind: str) -> None:
    counts = evidence_of(design_of())
    first, again = (propose(design_of(policy={"kind": kind}), SECRET, counts, 1, 17) for _ in range(2))
    assert first == again


def test_another_seed_number_or_evidence_gives_another_stream() -> None:
    design = design_of()
    counts = evidence_of(design)
    numbers = [propose(design, SECRET, counts, 0, i) for i in range(1, 60)]
    assert len({proposal.index for proposal in numbers}) == 3
    assert len({proposal.probability for proposal in numbers}) == 1
    other = Secret("0" * 64, "00" * 16)
    assert propose(design, other, counts, 0, 1).probability != numbers[0].probability
    more = counts.copy()
    more[0, 0, 0, 0] += 1
    assert propose(design, SECRET, more, 0, 1).probability != numbers[0].probability


def test_decisions_of_which_nothing_is_known_yet_change_nothing() -> None:
    design = design_of()
    counts = evidence_of(design)
    pending = counts.copy()
    pending[..., -1, -1] += 100
    other = counts.copy()
    other[0] += 3
    assert propose(design, SECRET, counts, 1, 5) == propose(design, SECRET, pending, 1, 5)
    assert propose(design, SECRET, counts, 1, 5) == propose(design, SECRET, other, 1, 5)


@pytest.mark.parametrize("kind", ["TS", "TSCheck", "TSObs", "TSLat"])
def test_the_probabilities_are_those_of_the_policy(kind: str) -> None:
    """Within four Monte Carlo errors of an independent run of many draws; 12 comparisons, false alarms below 1e-3."""
    design = design_of(policy={"kind": kind}, draws=4_000)
    counts = evidence_of(design)
    known = counts.copy()
    known[..., -1, -1] = 0
    independent = design.policy.allocation(Evidence(design.space, known), 1, stream(99), 4_000)
    proposal = propose(design, SECRET, counts, 1, 1)
    error = np.sqrt(2 * 0.25 / 4_000)
    assert np.abs(np.array(proposal.best) - independent.probability).max() < 4 * error
    assert proposal.probability == proposal.best


@pytest.mark.requirement("R-1.2")
def test_proposals_come_as_their_probabilities_say() -> None:
    """Pearson's chi-square of 20,000 draws from one vector; fixed seed, false-alarm rate 1e-4."""
    design = design_of(limits={"floor": 0.05})
    counts = evidence_of(design)
    proposals = [propose(design, SECRET, counts, 0, i) for i in range(1, 20_001)]
    expected = 20_000 * np.array(proposals[0].probability)
    observed = np.bincount([proposal.index for proposal in proposals], minlength=3)
    assert ((observed - expected) ** 2 / expected).sum() < chi2.isf(1e-4, df=2)


@pytest.mark.requirement("R-1.2")
def test_proposals_are_drawn_from_the_vector_that_the_log_has() -> None:
    """From the log alone: 32 bits of the seed and the number fall into the part of the vector that was proposed."""
    design = design_of(limits={"floor": 0.05})
    spec = {**design.spec.model_dump(exclude_unset=True), "rehearsal": True, "seed": int(SECRET.seed, 16)}
    with Trial.create("sqlite://", spec) as trial:
        trial.start()
        for i in range(60):
            decision = trial.decide(f"u{i}", i % 2)
            trial.report(decision, implemented=i % 3, outcome=i % 2)
        logged = [json.loads(each.body) for each in trial.events(kind="decided", limit=1_000)]
    assert len({tuple(each["probability"]) for each in logged}) > 20
    for each in logged:
        ends = np.cumsum(each["probability"]) * GRAIN
        drawn = int(np.searchsorted(ends, bits(32, SECRET.number, "decision", each["number"]), side="right"))
        assert each["proposal"] == design.space.proposals[drawn]


@pytest.mark.requirement("R-1.3")
def test_probabilities_are_whole_grains_that_sum_to_one() -> None:
    for seed in range(30):
        design = design_of(limits={"floor": 0.03, "ceiling": {"1": 0.6}})
        proposal = propose(design, SECRET, evidence_of(design, seed), 0, 1)
        grains = np.array(proposal.probability) * GRAIN
        assert (grains == grains.astype(np.int64)).all()
        assert grains.sum() == GRAIN
        assert min(proposal.probability) >= 0.03 - 3 / GRAIN
        assert proposal.probability[1] <= 0.6 + 3 / GRAIN


def test_a_burn_in_is_even_within_the_limits() -> None:
    design = design_of(burn_in=2, limits={"ceiling": {"0": 0.2}})
    counts = evidence_of(design)
    assert propose(design, SECRET, counts, 0, 2).probability == pytest.approx([0.2, 0.4, 0.4])
    assert propose(design, SECRET, counts, 0, 3).probability != pytest.approx([0.2, 0.4, 0.4])
    assert propose(design, SECRET, counts, 0, 2).best == propose(design, SECRET, counts, 0, 3).best


def test_bits_are_uniform_and_depend_on_seed_and_path() -> None:
    """Chi-square of 20,000 numbers in 16 classes, by their first and by their last bits; false-alarm rate 1e-4."""
    drawn = np.array([bits(32, 2**255, "decision", i) for i in range(20_000)])
    for classes in (drawn >> 28, drawn & 15):
        observed = np.bincount(classes, minlength=16)
        assert ((observed - 1_250) ** 2 / 1_250).sum() < chi2.isf(5e-5, df=15)
    assert bits(32, 1, "a", 1) == bits(32, 1, "a", 1)
    assert len({bits(64, 1, "a", 1), bits(64, 2, "a", 1), bits(64, 1, "b", 1), bits(64, 1, "a", 2)}) == 4
    assert bits(64, 1, "a") >> 32 == bits(32, 1, "a")
