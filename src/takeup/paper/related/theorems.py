"""What Kallus (2018) prints that needs no run: the means of his examples, and his theorems about the four regrets."""

from collections.abc import Iterator

import numpy as np

from takeup.checks import FloatArray
from takeup.environment import Environment
from takeup.paper.related.figures import COMPUTED, FigureComparison, Published, Statement
from takeup.regret import KINDS
from takeup.space import Space

SOURCE = "Kallus (2018)"
_EXACT = 1e-8
_ARMS_1, _PROPOSALS_1 = (25 / 8, 27 / 8, 13 / 4), (25 / 8, 15 / 8, 4.0)
_PROPOSALS_2 = (1.4, 1.5, 1.5, 1.5, 1.2)
_FOUR_UP = "belongs to compliers with means (5, 3, 4), not (1, -1, 0) as printed"
_EIGHTH = "belongs to a class of one eighth that complies, where kappa(5) is printed"


def printed_means(one: Environment, two: Environment) -> Iterator[FigureComparison]:
    """The means that both examples print, beside those of our environments."""
    rows = (
        ("example 1", "mean of the arm", _ARMS_1, means(one), _EXACT, _FOUR_UP),
        ("example 1", "mean of the proposal", _PROPOSALS_1, one.value()[0], _EXACT, _FOUR_UP),
        ("example 2", "mean of the proposal", _PROPOSALS_2, two.value()[0], 0.05 + _EXACT, _EIGHTH),
    )
    for experiment, quantity, printed, found, tolerance, note in rows:
        for i, (value, ours) in enumerate(zip(printed, found, strict=True), start=1):
            published = Published(value, tolerance, 0.0, "printed", note)
            yield FigureComparison(
                f"{SOURCE}, section 5", experiment, f"arm {i}", quantity, published, float(ours), 0.0
            )


def means(environment: Environment) -> FloatArray:
    """The mean reward of each action if everyone took it; shape (Ka,)."""
    types = environment.types
    assert types is not None
    return np.asarray(types.share[0] @ (types.outcome[0] @ environment.space.reward))


def theorems(one: Environment, two: Environment) -> Iterator[Statement]:
    """Theorems 1, 2, 3, 5 and 6, each on one of the examples or on a world that its premise asks for."""
    least = float(KINDS["latent class"](one)[0].min())
    yield _computed(
        "theorem 1",
        "latent class regret is linear whatever one proposes: example 1",
        least > 0,
        f"at least {least:.3f} a decision",
    )
    gap = _apart(compliers := _everyone_complies(), "latent class", "proposals")
    gap = max(gap, _apart(compliers, "static", "proposals"), _apart(compliers, "compliers", "proposals"))
    yield _computed("theorem 2", "all four regrets are one where everyone complies", gap < _EXACT, _shown(gap))
    both = float((KINDS["proposals"](two) + KINDS["compliers"](two))[0].min())
    yield _computed(
        "theorem 3",
        "where no proposal is best for both, regrets of proposals and of compliers cannot both be sublinear: example 2",
        both > 0,
        f"together at least {both:.3f} a decision",
    )
    gap = _apart(_no_defiers(), "compliers", "proposals")
    yield _computed(
        "theorem 5",
        "with two arms and no defiers, regrets of compliers and of proposals are one",
        gap < _EXACT,
        _shown(gap),
    )
    compliance = two.response[0].sum(axis=-1)
    gap = float(np.abs(np.linalg.solve(compliance, two.value()[0]) - means(two)).max())
    yield _computed("theorem 6", "the inverse of P gives the means of the arms: example 2", gap < _EXACT, _shown(gap))


def _everyone_complies() -> Environment:
    """Two classes of compliers, with the same best arm."""
    rate = np.array([[0.2, 0.5, 0.9], [0.3, 0.6, 0.7]])
    return Environment.from_types(Space(3), [0.4, 0.6], [[0, 1, 2], [0, 1, 2]], np.stack([1 - rate, rate], axis=-1))


def _no_defiers() -> Environment:
    """Never-takers, always-takers and compliers, who differ."""
    rate = np.array([[0.2, 0.9], [0.8, 0.1], [0.6, 0.3]])
    responses = [[0, 0], [1, 1], [0, 1]]
    return Environment.from_types(Space(2), [0.3, 0.3, 0.4], responses, np.stack([1 - rate, rate], axis=-1))


def _apart(environment: Environment, *kinds: str) -> float:
    """The largest difference between two regrets of a decision."""
    one, other = (KINDS[kind](environment) for kind in KINDS if kind in kinds)
    return float(np.abs(one - other).max())


def _computed(place: str, claim: str, holds: bool, found: str) -> Statement:
    return Statement(f"{SOURCE}, {place}", claim, holds, found, COMPUTED)


def _shown(gap: float) -> str:
    return f"largest difference {gap:.1g}"
