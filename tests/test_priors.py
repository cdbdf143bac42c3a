"""Priors from a pilot, and what audits and pilots are worth."""

import numpy as np
import pytest

from takeup import (
    TS,
    UNSEEN,
    Event,
    Evidence,
    InputError,
    Posterior,
    Prior,
    Space,
    Thompson,
    TSCheck,
    TSLat,
    TSObs,
    UnsuitableError,
    stream,
)
from takeup.paper import audited, contextual, piloted
from takeup.paper.regret_curve import ENVIRONMENTS, RegretCurve
from takeup.paper.runner import Runner
from takeup.policies.description import describe
from takeup.policies.registry import policy_of

SPACE = Space(2, contexts=2)
PILOT = Evidence.of(
    SPACE,
    [Event(0, 0, 0, 1)] * 3 + [Event(0, 1, 0, 0)] * 2 + [Event(1, 1, 1, 1), Event(1, 1, 1), Event(1, 0, UNSEEN, 1)],
)
THOMPSON: list[Thompson] = [TS(), TSCheck(), TSObs(), TSLat(), TSLat(inference="gibbs")]


def same(one: Posterior, other: Posterior) -> None:
    np.testing.assert_array_equal(one.outcome, other.outcome)
    if one.compliance is not None and other.compliance is not None:
        np.testing.assert_array_equal(one.compliance, other.compliance)


@pytest.mark.parametrize("policy", THOMPSON, ids=lambda policy: policy.name)
def test_an_undiscounted_pilot_is_as_good_as_own_patients(policy: Thompson) -> None:
    """The prior after the pilot is the posterior after its complete decisions; TS needs no compliance."""
    informed = policy.informed(Prior.from_evidence(PILOT))
    complete = Evidence(SPACE, PILOT.counts * (np.arange(3) != 2)[:, np.newaxis])
    used = PILOT if policy.name == "TS" else complete
    same(informed.prior(SPACE), policy.posterior(used, stream(0)))
    assert type(informed) is type(policy)


def test_a_discount_by_hand() -> None:
    """Three successes of action 0 at a half each, on top of α = 2: 2 + 1.5; two failures: 2 + 1."""
    informed = TSObs(alpha=2.0).informed(Prior.from_evidence(PILOT, discount=0.5))
    np.testing.assert_array_equal(informed.prior(SPACE).outcome[0, 0], [3.0, 3.5])
    compliance = informed.prior(SPACE).compliance
    assert compliance is not None
    np.testing.assert_array_equal(compliance[1, 1], [1.0, 2.0])
    np.testing.assert_array_equal(TS().informed(Prior.from_evidence(PILOT, 0)).prior(SPACE).outcome, 1)


def test_an_informed_policy_can_be_written_down() -> None:
    informed = TSLat(soft_start=3).informed(Prior.from_evidence(PILOT, 0.3))
    back = policy_of(describe(informed))
    assert isinstance(back, TSLat)
    assert back.soft_start == 3
    same(back.prior(SPACE), informed.prior(SPACE))


@pytest.mark.parametrize("bad", [-0.1, 1.5, "half", [0.5]])
def test_bad_discounts_are_refused(bad: float) -> None:
    with pytest.raises(InputError, match="discount: got"):
        Prior.from_evidence(PILOT, bad)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="a single table"):
        Prior.from_evidence(Evidence.empty(SPACE, (3,)))
    with pytest.raises(InputError, match="alpha"):
        TS().informed(Prior.from_evidence(PILOT)).start(Space(3))

    class Own(TS):
        def informed(self, prior: Prior) -> "Own":
            return Thompson.informed(self, prior)

    with pytest.raises(UnsuitableError, match="does not take a prior"):
        Own().informed(Prior.from_evidence(PILOT))


def fall_in_errors(curve: RegretCurve, number: int, policy: str, ends: tuple[float, float]) -> float:
    """How far the regret of a policy falls from one end to the other, in standard errors."""
    before, after = (curve.point(number, at, policy) for at in ends)
    return (before.mean - after.mean) / float(np.hypot(before.mcse, after.mcse))


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contextual, "HORIZON", 300)


@pytest.mark.long
@pytest.mark.usefixtures("short")
def test_seeing_more_helps() -> None:
    """Environments 3 and 4 after 300 decisions, 100 runs: with all seen the regret is lower by 5 standard errors."""
    curve = audited.curve(Runner(100, 1, "cpu"), fractions=(0.0, 1.0))
    for number in ENVIRONMENTS:
        assert fall_in_errors(curve, number, "TS-Lat-0 Gibbs", (0.0, 1.0)) > 5
        all_seen = [curve.point(number, 1.0, policy) for policy in ("TS-Obs", "TS-Lat-0", "TS-Lat-0 Gibbs")]
        for row in all_seen[1:]:  # with all compliance seen all three are one policy
            assert abs(row.mean - all_seen[0].mean) < 4.5 * np.hypot(row.mcse, all_seen[0].mcse)
    assert len(curve.points) == len(audited.policies()) * 2 * 2
    assert audited.decisions(100, (0.0, 1.0)) == len(curve.points) * 300 * 100


@pytest.mark.usefixtures("short")
def test_pilots_help_and_are_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """40 runs of 300 decisions: 500 patients of a pilot lower the regret of TS-Lat by more than 3 standard errors."""
    monkeypatch.setattr(piloted, "policies", lambda: [TSLat()])
    found = piloted.worth(Runner(40, 2, "cpu"), patients=(0, 500))
    assert all(fall_in_errors(found, number, "TS-Lat-0", (0, 500)) > 3 for number in ENVIRONMENTS)
    truth = contextual.environment(3)
    one, other = piloted.pilots_of(truth, 50, 2, seed=1)
    assert one.total == other.total == 50
    assert not np.array_equal(one.counts, other.counts)
