"""The study of Pawel & Held (brar: 10,000 trials a row) of designs whose probabilities change after every patient.

A row is the mean number of successes, the share of the units on the first treatment, how often the lower end of the
95 % Wald interval of its rate less that of the control is above 0, and how often the interval covers the difference.
"""

from typing import Any

import numpy as np
import pytest

from plans import two
from takeup.checks import FloatArray
from takeup.design.exact import Exact, exact
from takeup.design.operate import operate
from takeup.design.plan import Plan

TRIALS = 10_000
CAPPED = {"limits": {"floor": 0.1, "rule": "proportional"}}
EVEN = {"policy": {"kind": "Uniform"}}
ROUNDED = np.array([0.005, 0.00005, 0.00005, 0.00005])
"""Of what was printed."""

pytestmark = pytest.mark.long


def _spread(found: Exact) -> FloatArray:
    """The standard deviations of successes, share and both events over trials."""
    (end,) = found.ends
    axes = np.meshgrid(*(np.arange(end.units + 1),) * 3, indexing="ij", sparse=True)
    n_0, s_0, s_1 = axes
    successes, share = s_0 + s_1 + 0.0 * n_0, (end.units - n_0) / end.units + 0.0 * s_0 * s_1
    spread = [np.sqrt(end.expected(each**2) - end.expected(each) ** 2) for each in (successes, share)]
    return np.array([*spread, *(np.sqrt(p * (1 - p)) for p in found.wald())])


@pytest.mark.parametrize(
    ("tables", "rate", "theirs"),
    [
        ({}, 0.25, (50.00, 0.4947, 0.0861, 0.8300)),
        ({}, 0.35, (64.84, 0.7415, 0.3563, 0.8411)),
        ({}, 0.45, (84.67, 0.8663, 0.6953, 0.8453)),
        ({"limits": {"soften": 0.5}}, 0.45, (81.69, 0.7931, 0.7955, 0.9000)),
        (CAPPED, 0.45, (83.00, 0.8252, 0.6879, 0.9228)),
        ({**CAPPED, "burn_in": 50}, 0.45, (81.20, 0.7771, 0.7486, 0.9445)),
        (EVEN, 0.45, (69.90, 0.5003, 0.8568, 0.9482)),
    ],
)
def test_one_treatment_and_200_patients(tables: dict[str, Any], rate: float, theirs: tuple[float, ...]) -> None:
    """Without simulation here: within four errors of theirs, of which one in 16,000 is beyond by chance."""
    found = exact(two(looks={"at": [200], "update": "patient"}, **tables), (0.25, rate))
    ours = np.array([found.successes, found.share, *found.wald()])
    assert (np.abs(ours - theirs) < 4 * _spread(found) / np.sqrt(TRIALS) + ROUNDED).all(), ours


@pytest.mark.parametrize(
    ("rates", "size", "tables", "theirs"),
    [
        ((0.25, 0.25), 654, {}, (163.48, 0.4978, 0.0765, 0.8422)),
        ((0.25, 0.35), 654, {}, (219.51, 0.8583, 0.6190, 0.8696)),
        ((0.25, 0.45), 654, {}, (286.93, 0.9447, 0.9410, 0.8597)),
        ((0.25, 0.35, 0.30), 200, {}, (63.07, 0.4988, 0.2857, 0.8444)),
        ((0.25, 0.35, 0.30), 200, CAPPED, (62.74, 0.4803, 0.2321, 0.9174)),
        ((0.25, 0.35, 0.30), 200, EVEN, (59.97, 0.3333, 0.2567, 0.9465)),
    ],
)
def test_more_patients_and_more_treatments(
    rates: tuple[float, ...], size: int, tables: dict[str, Any], theirs: tuple[float, ...]
) -> None:
    """Of 40,000 trials here, within four errors of both together."""
    plan = Plan.of(
        {
            "name": "Published",
            "space": {"proposals": len(rates)},
            "policy": {"kind": "TS"},
            "looks": {"at": [size], "update": "patient"},
            "scenarios": {"any": {"success": list(rates)}},
            **tables,
        }
    )
    found = operate(plan, replications=4 * TRIALS, seed=1)["any"]
    units, successes = found.units.astype(float), found.rewards
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = successes / units
        half = 1.959964 * np.sqrt((rate * (1 - rate) / units)[:, :2].sum(axis=1))
        middle = rate[:, 1] - rate[:, 0]
    truth = rates[1] - rates[0]
    each = np.stack(
        [
            successes.sum(axis=1),
            units[:, 1] / size,
            middle - half > 0,
            (middle - half <= truth) & (truth <= middle + half),
        ]
    )
    error = each.std(axis=1) * np.sqrt(1 / TRIALS + 1 / (4 * TRIALS))
    assert (np.abs(each.mean(axis=1) - theirs) < 4 * error + ROUNDED).all(), each.mean(axis=1)
