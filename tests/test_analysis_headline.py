"""The head of a trial's page: the planned reading, or what may be read in its place, and how far it can be trusted."""

from typing import Any

import numpy as np
import pytest

from takeup import Log, stream
from takeup.analysis.headline import headline
from takeup.space import UNSEEN
from takeup.trial.design import Design

ARMS = ("usual", "new", "newer", "newest", "other")


def trial(arms: int = 2, **analysis: Any) -> tuple[Log, Design]:
    """200 people, evenly randomised, a fifth of whom do not do as they are told."""
    more = {"analysis": analysis} if analysis else {}
    spec = {"name": "t", "space": {"proposals": list(ARMS[:arms])}, "policy": {"kind": "Uniform"}, **more}
    design, rng = Design.of(spec, new=False), stream(5, "headline", arms)
    z = rng.integers(arms, size=200)
    a = np.where(rng.random(200) < 0.8, z, 0)
    y = rng.random(200) < 0.3 + 0.4 * (a > 0)
    return Log.of(design.space, z, np.full((200, arms), 1 / arms), implemented=a, outcome=y.astype(int)), design


@pytest.mark.parametrize(
    ("analysis", "finished", "starts", "ends"),
    [
        ({}, True, "By intention to treat, which leads by convention: Offering new", "drift, at one look."),
        ({}, False, "By intention to treat, which leads by convention: Offering new", "at any number of looks."),
        ({"any_time": True}, True, "By intention to treat, as planned: Offering new", "at any number of looks."),
        ({"contrast": "ratio"}, True, "By intention to treat, the ratio, as planned: Offering", "at one look."),
        (
            {"contrast": "ratio"},
            False,
            "Planned is the ratio by intention to treat, which has no interval that holds while the trial runs. By",
            "at any number of looks.",
        ),
        ({"reading": "compliers"}, True, "The complier effect, as planned: For those who take it", "at one look."),
        (
            {"reading": "policy"},
            True,
            "Planned is the policy's own model, which has no interval that survives adaptation. By intention to treat:",
            "at one look.",
        ),
    ],
)
def test_what_leads(analysis: dict[str, Any], finished: bool, starts: str, ends: str) -> None:
    log, design = trial(**analysis)
    (said,) = headline(log, design, finished=finished)
    assert said.startswith(starts)
    assert said.endswith(ends)


def test_naive_readings_are_called_so() -> None:
    log, design = trial(reading="per protocol")
    (said,) = headline(log, design, finished=True)
    assert said.startswith("Per protocol, as planned: Among people who chose")
    assert said.endswith("This interval is naive: it holds with fixed allocation alone.")


def test_it_is_too_early_while_the_first_outcome_is_pending() -> None:
    log, design = trial()
    first = np.where(np.arange(200) == 0, UNSEEN, log.outcome)
    pending = Log.of(log.space, log.proposal, log.probability, implemented=log.implemented, outcome=first)
    (said,) = headline(pending, design, finished=False)
    assert said.endswith("usual: too early to say, as no outcome is known of the first of 200 decisions.")


def test_the_first_of_many_comparisons_are_told() -> None:
    log, design = trial(arms=5)
    assert len(headline(log, design, finished=False)) == 4
    said = headline(log, design, finished=False, most=3)
    assert [each.split(" rather")[0].split()[-1] for each in said[:3]] == ["new", "newer", "newest"]
    assert said[3] == "1 more comparison is under Analysis."
