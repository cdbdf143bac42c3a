"""The four truths of the stroke experiment: the paper's, two computed from the patients, and the patients."""

from typing import Literal, TypeAlias, get_args

import numpy as np

from takeup.checks import FloatArray, IntArray, one_of
from takeup.datasets import Outcome, ist_counts, ist_evidence
from takeup.environment import Environment
from takeup.world import World

Parameters: TypeAlias = Literal["paper", "recomputed", "as-treated", "patients"]
SixArms: TypeAlias = Literal["paper", "as-treated"]
"""The codings of both drugs together."""

OUTCOMES: tuple[Outcome, ...] = ("STS", "LTS", "LTR")
"""Short-term survival, long-term survival and long-term recovery."""

COMPLIANCE: FloatArray = np.array(
    [
        [0.980, 0.002, 0.002, 0.014, 0.001, 0.001],
        [0.000, 0.975, 0.009, 0.000, 0.014, 0.002],
        [0.000, 0.005, 0.983, 0.000, 0.000, 0.012],
        [0.068, 0.001, 0.001, 0.928, 0.000, 0.001],
        [0.000, 0.102, 0.001, 0.000, 0.882, 0.015],
        [0.000, 0.001, 0.082, 0.000, 0.004, 0.914],
    ]
)
"""Π as printed, rows z and columns a: (no aspirin, aspirin) x (no heparin, medium, low)."""

SUCCESS: dict[Outcome, FloatArray] = {
    "STS": np.array([0.886, 0.886, 0.888, 0.903, 0.896, 0.910]),
    "LTS": np.array([0.760, 0.749, 0.747, 0.785, 0.775, 0.782]),
    "LTR": np.array([0.181, 0.178, 0.181, 0.201, 0.208, 0.206]),
}
"""The three μ as printed."""

for _array in (COMPLIANCE, *SUCCESS.values()):
    _array.setflags(write=False)


def compliance_of(counts: IntArray) -> FloatArray:
    """π[z, a] = n[z, a] / n[z]."""
    pairs = counts.sum(axis=2)
    share: FloatArray = pairs / pairs.sum(axis=1, keepdims=True)
    return share


def success_of(counts: IntArray) -> FloatArray:
    """μ[a] = n[a, success] / n[a]."""
    levels = counts.sum(axis=0)
    rate: FloatArray = levels[:, 1] / levels.sum(axis=1)
    return rate


def environments(parameters: Parameters, coding: SixArms = "paper") -> dict[Outcome, Environment]:
    """The truths of the three outcomes.

    Args:
        parameters: "paper" for the printed figures, rows divided by their sums, of which two are off by 0.001;
            "recomputed" for the paper's model with Π and μ from the patients in the paper's coding; "as-treated"
            likewise in the coding of what was given; "patients" for the patients as they are, whose outcome depends on
            the proposal as well as on the action.
        coding: of "patients": what counts as implemented. It does not change what a proposal is worth.
    """
    one_of("coding", coding, get_args(SixArms))
    if parameters == "patients":
        return {outcome: Environment.from_evidence(ist_evidence(outcome, coding)) for outcome in OUTCOMES}
    if parameters == "paper":
        compliance = COMPLIANCE / COMPLIANCE.sum(axis=1, keepdims=True)
        worlds = {outcome: World.bernoulli(compliance, SUCCESS[outcome]) for outcome in OUTCOMES}
    else:
        as_coded: SixArms = "paper" if parameters == "recomputed" else "as-treated"
        tables = {outcome: ist_counts(outcome, as_coded) for outcome in OUTCOMES}
        worlds = {
            outcome: World.bernoulli(compliance_of(counts), success_of(counts)) for outcome, counts in tables.items()
        }
    return {
        outcome: Environment.from_world(world, space=ist_evidence(outcome).space) for outcome, world in worlds.items()
    }
