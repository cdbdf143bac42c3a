"""Logs of simulated trials: proposals are drawn with the probabilities that are derived again."""

from typing import Any

import numpy as np
import pytest

from takeup import (
    EXP3,
    TS,
    UCB1,
    UNSEEN,
    Environment,
    EpsilonGreedy,
    Evidence,
    InputError,
    LabelError,
    Log,
    Policy,
    Reporting,
    Space,
    TopTwo,
    TSCheck,
    TSLat,
    TSObs,
    Uniform,
    UnsuitableError,
    World,
    simulate,
    stream,
)
from takeup.simulation import Trace

SPACE = Space(["usual", "new"], contexts=["young", "old"])
COMPLIANCE = [[[0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [0.1, 0.9]]]
OUTCOME = [[[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.5], [0.6, 0.4]]]
WORLD = Environment.from_world(World(COMPLIANCE, OUTCOME), context=[0.6, 0.4], space=SPACE)
REPORTINGS = (Reporting(), Reporting(delay=2, batch=3))
POLICIES = (TS(), TSCheck(), TSObs(), TopTwo(), EpsilonGreedy(epsilon=0.3), UCB1(), Uniform())


def traced(*policies: Policy[Any], reporting: Reporting, replications: int = 20) -> Trace:
    return simulate(WORLD, policies, 24, replications, seed=8, engine="reference", record="full", reporting=reporting)


@pytest.mark.parametrize("reporting", REPORTINGS, ids=str)
def test_proposals_are_drawn_with_the_probabilities_of_the_log(reporting: Reporting) -> None:
    """Each of 28 sums of z - p, plain and weighted with p, is within 4.5 errors: 1 run in 5,000 misses."""
    trace = traced(*POLICIES, reporting=reporting)
    for policy in POLICIES:
        logs = [trace.log(policy.name, replication=i) for i in trace.replications]
        p = np.concatenate([log.probability[:, 1] for log in logs])
        z = np.concatenate([log.proposal for log in logs])
        for weight in (np.ones(p.size), p - 0.5):
            error = np.sqrt((weight**2 * p * (1 - p)).sum())
            assert abs((weight * (z - p)).sum()) <= 4.5 * error + 1e-9, policy.name


@pytest.mark.parametrize("reporting", REPORTINGS, ids=str)
def test_probabilities_follow_from_what_the_log_says_was_known(reporting: Reporting) -> None:
    """The twin takes evidence of those decisions alone of which action and outcome were known by then, as they were."""
    for policy in (TS(), TSObs()):
        log = traced(policy, reporting=reporting, replications=1).log(policy.name)
        for t in range(len(log)):
            a = np.where(log.implemented_by <= t, log.implemented, UNSEEN)[:t]
            y = np.where(log.outcome_by <= t, log.outcome, UNSEEN)[:t]
            known = Log.of(
                SPACE, log.proposal[:t], log.probability[:t], context=log.context[:t], implemented=a, outcome=y
            )
            found = policy.allocation(Evidence.from_log(known), int(log.context[t]), stream(1))
            assert found.exact
            np.testing.assert_allclose(log.probability[t], found.probability, rtol=1e-12)


def test_the_log_holds_what_the_trace_does() -> None:
    trace = traced(TS(), reporting=Reporting(compliance=0), replications=3)
    log = trace.log("TS", replication=2)
    x, z, _, y = (each[0, 0, 2] for each in trace.unpacked())
    for found, had in ((log.context, x), (log.proposal, z), (log.outcome, y)):
        np.testing.assert_array_equal(found, had)
    assert (log.implemented == UNSEEN).all()
    with pytest.raises(LabelError, match="replication: got 3, expected one of 3 from 0 to 2"):
        trace.log("TS", replication=3)


def test_what_the_path_does_not_tell_is_refused() -> None:
    cases: list[tuple[Policy[Any], Reporting, str]] = [
        (TS(), Reporting(compliance=0.5), "which actions were reported was not recorded"),
        (TSLat(), Reporting(compliance=0), "the probabilities of TS-Lat-0 come from draws"),
        (EXP3(), Reporting(), "EXP3 does not say"),
    ]
    for policy, reporting, says in cases:
        trace = traced(policy, reporting=reporting, replications=1)
        with pytest.raises(UnsuitableError, match=says):
            trace.log(policy.name)
    with pytest.raises(InputError, match="record='full'"):
        simulate(WORLD, TS(), 5, 1, engine="reference").log("TS")
