"""What Stirn & Jebara (2019) say about regret bounds, statement by statement, each checked by computation.

True statements are checked on random μ and Π; false ones are refuted by a counter-example, computed here.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from takeup import theory
from takeup.checks import FloatArray
from takeup.randomness import stream

DRAWS = 500
"""Random μ and Π that a statement is checked on."""

_MU = np.array([0.75, 0.25])
_SIZES = (3, 4, 6, 10)
_HORIZON = 10_000
_THREE = np.array([0.8, 0.5, 0.2])


@dataclass(frozen=True, slots=True)
class TheoremCheck:
    """A statement, whether it holds, and what it was checked on or the counter-example.

    `source` is the place in the paper, or "here" for a statement that completes one of the paper's.
    """

    source: str
    claim: str
    holds: bool
    evidence: str


def checks(seed: int = 0) -> list[TheoremCheck]:
    """Lemma 1, theorems 1 and 2 and what the paper says around them: as printed, and as they hold."""
    rng = stream(seed, "theorem checks")
    return [*_lemma(rng), *_two_arms(rng), *_more_arms(rng), *_limits()]


def _lemma(rng: np.random.Generator) -> Iterator[TheoremCheck]:
    pairs = np.sort(rng.random((DRAWS, 2)), axis=1)
    slopes = theory.arm_cost_gradient(pairs[:, 1], pairs[:, 0])
    yield TheoremCheck(
        "lemma 1",
        "f falls in μ_1 and rises in μ_i where μ_1 > μ_i",
        bool((slopes.best < 0).all() and (slopes.other > 0).all()),
        f"both slopes at {DRAWS} random points",
    )
    near, on = float(theory.arm_cost(0.75, 0.7499)), float(theory.arm_cost(0.75, 0.75))
    yield TheoremCheck(
        "lemma 1",
        "f rises in μ_i on its whole domain, which includes μ_1 = μ_i",
        on >= near,
        f"f(0.75, 0.7499) = {near:.0f} but f(0.75, 0.75) = {on:.0f}",
    )


def _two_arms(rng: np.random.Generator) -> Iterator[TheoremCheck]:
    equal = np.full((2, 2), 0.5)
    found = "μ = (0.75, 0.25), both rows (0.5, 0.5): {:.3f} ln T becomes {:.0f}, nothing being inferior"
    holds = theory.effect(_MU, equal) != "helpful"
    yield TheoremCheck("theorem 1", "with two arms no Π lowers the bound", holds, _constants(found, _MU, equal))
    swap = np.eye(2)[::-1]
    found = "μ = (0.75, 0.25), the two actions swapped: {:.3f} ln T stays {:.3f} ln T"
    claim, holds = "with two arms any noncompliance raises the bound", theory.effect(_MU, swap) == "harmful"
    yield TheoremCheck("abstract", claim, holds, _constants(found, _MU, swap))
    mu, pi = _rates(rng, DRAWS, 2), rng.dirichlet(np.ones(2), (DRAWS, 2))
    yield TheoremCheck(
        "here",
        "with two arms and μ_1 ≠ μ_2, Π raises the bound unless its rows are equal (helpful) or it permutes (neutral)",
        all(theory.two_arm_effect(*world) == "harmful" for world in zip(mu, pi, strict=True))
        and bool((theory.bound_change(_HORIZON, mu, pi) > 0).all())
        and theory.two_arm_effect(_MU, equal) == theory.effect(_MU, equal) == "helpful"
        and theory.two_arm_effect(_MU, swap) == theory.effect(_MU, swap) == "neutral",
        f"{DRAWS} random μ and Π, and the two exceptions",
    )


def _more_arms(rng: np.random.Generator) -> Iterator[TheoremCheck]:
    drawn = [_rates(rng, DRAWS // len(_SIZES), arms) for arms in _SIZES]
    found = [[theory.both_effects(mu) for mu in mus] for mus in drawn]
    yield TheoremCheck(
        "theorem 2",
        "for any non-constant μ with K > 2 there is a helpful Π and a harmful one",
        all(
            (theory.bound_change(_HORIZON, mus, np.stack([both.helpful for both in pairs])) < 0).all()
            and (theory.bound_change(_HORIZON, mus, np.stack([both.harmful for both in pairs])) > 0).all()
            for mus, pairs in zip(drawn, found, strict=True)
        ),
        f"both constructed for {DRAWS} random μ with K = 3, 4, 6, 10",
    )
    constant = np.full(3, 0.5)
    some = rng.dirichlet(np.ones(3), (DRAWS, 3))
    yield TheoremCheck(
        "theorem 2",
        "for any μ with K > 2 there is a helpful Π and a harmful one",
        bool((theory.bound_change(_HORIZON, constant, some) != 0).any()),
        f"μ = (0.5, 0.5, 0.5): Π μ = μ for every Π; {DRAWS} random ones are neutral",
    )
    example = theory.best_against_worst(_THREE)
    counter = "μ = (0.8, 0.5, 0.2), μ' = (0.8, 0.2, 0.2): {:.3f} ln T becomes {:.3f} ln T"
    claim, holds = "a Π with μ' = (max μ, min μ, .., min μ) is harmful", theory.effect(_THREE, example) == "harmful"
    yield TheoremCheck("proof of theorem 2", claim, holds, _constants(counter, _THREE, example))
    yield TheoremCheck(
        "here",
        "proposals that a share of all decisions ignores are harmful, whatever the share and what is done instead",
        all(
            (theory.bound_change(_HORIZON, mus, np.stack([_ignored(rng, mus.shape[1]) for _ in mus])) > 0).all()
            for mus in drawn
        ),
        f"(1 - ε) I + ε 1 w' for {DRAWS} random μ, ε and w with K = 3, 4, 6, 10",
    )


def _limits() -> Iterator[TheoremCheck]:
    p = 0.49999
    values = np.array([0.75 - p / 2, 0.25 + p / 2])
    bound, most = float(theory.thompson_bound(values, _HORIZON)), float(np.ptp(values)) * _HORIZON
    yield TheoremCheck(
        "section 4.1",
        "TS's regret at a fixed T grows without limit as p tends to 0.5",
        most >= bound,
        f"p = {p}, T = {_HORIZON:,}: the bound is {bound:,.0f}, but regret cannot exceed T (v* - v) = {most:.2f}",
    )
    constants = [theory.lower_bound([[1 - p, p], [p, 1 - p]], _MU).constant for p in (0.0, 0.05, 0.45)]
    yield TheoremCheck(
        "section 4.1",
        "TS-Obs's bound, if one exists, is not monotone in p on [0, 0.5)",
        constants[0] > constants[1] < constants[2],
        "the lower bound is {:.3f} ln T at p = 0, {:.3f} at 0.05 and {:.3f} at 0.45".format(*constants),
    )


def _constants(text: str, mu: FloatArray, pi: FloatArray) -> str:
    """The text with the constants of the bounds of μ and of Π μ in it."""
    return text.format(float(theory.thompson_constant(mu)), float(theory.thompson_constant(pi @ mu)))


def _rates(rng: np.random.Generator, draws: int, arms: int) -> FloatArray:
    """Random μ, none closer to 0 or 1 than a hundredth."""
    return rng.uniform(0.01, 0.99, (draws, arms))


def _ignored(rng: np.random.Generator, arms: int) -> FloatArray:
    return theory.ignored(arms, rng.uniform(0.001, 0.999), rng.dirichlet(np.ones(arms)))
