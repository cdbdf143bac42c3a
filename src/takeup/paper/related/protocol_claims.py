"""What Della Penna, Reid & Balduzzi (2016) say in words, and whether our runs confirm it."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from takeup.checks import FloatArray
from takeup.paper.agreement import Mean
from takeup.paper.related.figures import Statement, ahead, at_most, larger

SOURCE = "Della Penna et al. (2016)"
Surplus: TypeAlias = Mapping[tuple[str, str, str], FloatArray]
"""The final surplus of each run on the stroke trial, by base bandit, drug and column."""


def both(surplus: Surplus, base: str, column: str) -> FloatArray:
    """The mean over both drugs, run by run."""
    drugs = sorted({drug for _, drug, _ in surplus})
    return np.asarray(np.mean([surplus[base, drug, column] for drug in drugs], axis=0))


class Trapped(NamedTuple):
    """What the trap world gave.

    Attributes:
        at_random: the final regret of proposing at random.
        regret: of each column, at evenly spaced steps; (runs, steps).
        bounded: the final regret of the bounded sampler as the paper's text has it; (runs,).
    """

    at_random: float
    regret: Mapping[str, FloatArray]
    bounded: FloatArray


def statements(surplus: Surplus, trapped: Trapped) -> Iterator[Statement]:
    """All of them."""
    yield from _of_the_trap(trapped)
    yield from _of_the_stroke_trial(surplus)


def _of_the_trap(trapped: Trapped) -> Iterator[Statement]:
    final = {column: Mean.of(runs[:, -1]) for column, runs in trapped.regret.items()}
    protocols, bounds = f"{SOURCE}, section on protocols", f"{SOURCE}, section on bounds"
    yield larger(
        protocols,
        'crediting "actual" can be worse than proposing at random: it is in the trap world',
        final["actual"],
        Mean(trapped.at_random, 0.0),
        ("regret of actual", "at random"),
    )
    for column in ("actual", "comply"):
        yield larger(
            protocols,
            f'"{column}" can have linear regret: in the trap world its second half costs more than half of its first',
            *_halves(trapped.regret[column]),
            ("second half", "half of the first"),
        )
    yield larger(
        protocols,
        '"chosen" keeps its guarantee: in the trap world its second half costs less than half of its first',
        *_halves(trapped.regret["chosen"])[::-1],
        ("half of the first", "second half"),
    )
    for bounded, which in ((Mean.of(trapped.bounded), "text"), (final["TB"], "thesis' code, which weighs by means")):
        yield at_most(
            bounds,
            f"ThompsonBounded has at most three times the regret of Thompson sampling: in the trap, by the {which}",
            bounded,
            3.0,
            final["chosen"],
            ("TB", "Thompson"),
        )
    yield larger(
        bounds,
        "ThompsonBounded keeps a bound where what it lends to has none: in the trap world it beats it",
        final["actual"],
        final["TB"],
        ("regret of actual", "TB"),
    )


def _of_the_stroke_trial(surplus: Surplus) -> Iterator[Statement]:
    for column in ("actual", "comply"):
        yield larger(
            f"{SOURCE}, results",
            f'EXP3 with "{column}" is worse than random on the stroke trial',
            Mean(0.0, 0.0),
            Mean.of(both(surplus, "EXP3", column)),
            ("at random", column),
        )
    thompson = {column: both(surplus, "Thompson", column) for column in ("chosen", "actual", "comply", "HB", "TB")}
    rest = np.mean([thompson[column] for column in ("chosen", "HB", "TB")], axis=0)
    for column in ("actual", "comply"):
        yield ahead(
            f"{SOURCE}, results",
            f'"{column}" did better than "chosen" and the hybrids on the stroke trial; Thompson sampling',
            thompson[column],
            rest,
            (column, "chosen, HB and TB"),
        )
    yield ahead(
        f"{SOURCE}, results",
        '"comply" did so to a lesser extent than "actual"; Thompson sampling',
        thompson["actual"],
        thompson["comply"],
        ("actual", "comply"),
    )
    bases = list(dict.fromkeys(base for base, _, _ in surplus))
    rival = max((base for base in bases if base != "Thompson"), key=lambda base: both(surplus, base, "chosen").mean())
    yield ahead(
        f"{SOURCE}, results",
        "of those that know nothing of compliance Thompson sampling is the best on the stroke trial",
        thompson["chosen"],
        both(surplus, rival, "chosen"),
        ("Thompson", rival),
    )
    for name, found in (("TB", thompson["TB"]), ("HB with eps-greedy", both(surplus, "eps-greedy", "HB"))):
        yield ahead(
            f"{SOURCE}, results",
            f"{name} is ahead of it",
            found,
            thompson["chosen"],
            (name, "Thompson chosen"),
        )


def _halves(regret: FloatArray) -> tuple[Mean, Mean]:
    """The regret of the second half of the runs, and half of that of the first, from its course."""
    middle = regret[:, regret.shape[1] // 2 - 1]
    return Mean.of(regret[:, -1] - middle), Mean.of(middle / 2)
