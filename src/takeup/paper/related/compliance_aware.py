"""Della Penna, Reid & Balduzzi (2016), "Compliance-aware bandits" (arXiv 1602.02852).

Read in the first author's thesis and its code, which carry the paper's text and figures. What is measured is the
surplus: the reward above that of proposing at random. Ours is its expectation given the proposals, which leaves out the
noise of outcomes; the published ones have it.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from takeup.checks import FloatArray
from takeup.datasets import Coding, ist_evidence
from takeup.environment import Environment
from takeup.paper.agreement import Mean
from takeup.paper.related.figures import Basis, FigureComparison, Published, Statement
from takeup.paper.related.protocol_claims import Trapped, both, statements
from takeup.paper.runner import Runner
from takeup.policies import EXP3, TS, UCB1, EpsilonGreedy, Hierarchical, Protocol, ThompsonBounded
from takeup.policies.arms import CREDITS, Bandit
from takeup.policies.base import Policy
from takeup.randomness import stream
from takeup.space import Space
from takeup.world import World

HORIZON = 10_000
SHORT = 12
SHORT_RUNS = 50
"""Runs in each random world of twelve patients."""

SOURCE = "Della Penna et al. (2016)"
STEPS = tuple(range(1000, HORIZON + 1, 1000))
RUNS_OF_TABLE = 100
COLUMNS = ("chosen", "actual", "comply", "HB", "TB")

BASES: dict[str, Bandit] = {
    "Thompson": TS(),
    "eps-greedy": EpsilonGreedy(epsilon=1.0, decay="logarithmic", optimism=1.0),
    "UCB1": UCB1(optimism=1.0),
    "EXP3": EXP3(mixing=0.0, rate=0.0085),
}
"""The base bandits as in the authors' code: ε = 1 / log t, counts and values that begin at one, EXP3 unmixed."""

DRUGS: dict[str, Coding] = {"heparin": "recorded-heparin", "aspirin": "recorded-aspirin"}

_FIGURE_1 = {
    ("Thompson", "heparin"): (10.5, 13.7, 11.2, 10.2, 11.9),
    ("Thompson", "aspirin"): (4.5, 13.0, 8.6, 7.5, 7.7),
    ("eps-greedy", "heparin"): (9.3, 11.3, 11.7, 12.5, 10.8),
    ("eps-greedy", "aspirin"): (4.7, 9.9, 7.5, 7.7, 5.7),
    ("UCB1", "heparin"): (3.3, 5.4, 2.6, 3.3, 6.1),
    ("UCB1", "aspirin"): (1.0, 5.8, 2.8, 3.3, 5.8),
    ("EXP3", "heparin"): (3.2, -9.6, -9.6, 2.7, -3.6),
    ("EXP3", "aspirin"): (0.5, -9.8, -11.1, -2.0, -2.4),
}
_READING = 1.0
_TEXT_ERROR = 0.41
"""The text's intervals are ± 0.8 at 95 %, over both drugs; a drug alone has sqrt(2) times that error."""

_TEXT = (("Thompson", "chosen", 7.9), ("Thompson", "TB", 8.9), ("eps-greedy", "HB", 9.2))
_SHIFTED = "the table's row labels are shifted by one; read as the authors' code confirms"
_AMBIGUOUS = "the text has 2,000 runs, the captions 10,000"
_TABLE = {"chosen": 328.9, "actual": -229.0, "comply": -6.7, "HB": 185.5, "TB": 306.2}
_CODE: Basis = "authors' code"


class Again(NamedTuple):
    """A world of the authors' code, and what that code gave when it was run again."""

    name: str
    final: dict[str, Published]


_TRAP = Again(
    "trap world",
    {
        "chosen": Published(608, 0.5, 2, _CODE),
        "actual": Published(-450, 0.5, 6, _CODE),
        "comply": Published(-44, 24, 25, _CODE),
        "HB": Published(356.5, 26.5, 17, _CODE),
        "TB": Published(537.5, 12.5, 17.5, _CODE),
    },
)
_INDEPENDENT = Again(
    "compliance independent of outcomes",
    {name: Published(value, 0.5, 5, _CODE) for name, value in zip(COLUMNS, (145, 146, 145, 141, 141), strict=True)},
)
_TWELVE = Again(
    "twelve patients",
    {
        name: Published(value, 0.005, 0.01, _CODE)
        for name, value in zip(COLUMNS, (0.28, 0.45, 0.40, 0.36, 0.35), strict=True)
    },
)


def policies(base: Bandit) -> dict[str, Policy[Any]]:
    """The five columns of the paper's figures.

    TB lends its rounds to the protocol "actual", as in the thesis, whose figures these are; the paper's text has the
    hierarchical one in its place.
    """
    bounded = ThompsonBounded(uncertified=Protocol(base=base, credit="actual"), weight="means")
    rows: list[Policy[Any]] = [*(Protocol(base=base, credit=c) for c in CREDITS), Hierarchical(base=base), bounded]
    return dict(zip(COLUMNS, rows, strict=True))


def trap() -> Environment:
    """Half are always-takers who do well anyway, half compliers whom the drug harms: "actual" learns the wrong one."""
    outcome = [[[0.25, 0.75], [0.25, 0.75]], [[0.5, 0.5], [0.75, 0.25]]]
    return Environment.from_types(Space(["none", "drug"]), [0.5, 0.5], [[1, 1], [0, 1]], outcome)


def stroke(drug: str) -> Environment:
    """The stroke trial's patients, alive after 14 days: what happened to those assigned an arm is what happens."""
    return Environment.from_evidence(ist_evidence("S14", DRUGS[drug]))


def random_worlds(many: int, compliers: float, least: float, seed: int) -> dict[str, Environment]:
    """Two arms with success least + (1 - least) U; who does not comply takes arm 0 as often as it succeeds."""
    success = least + (1 - least) * stream(seed, "compliance-aware", str(least)).random((many, 2))
    return {str(i): Environment.from_world(World.bernoulli(_mixed(p[0], compliers), p)) for i, p in enumerate(success)}


def _mixed(first: float, compliers: float) -> FloatArray:
    return compliers * np.eye(2) + (1 - compliers) * np.array([first, 1 - first])


def measure(run: Runner) -> tuple[list[FigureComparison], list[Statement]]:
    """The trap world, the stroke trial, and two more worlds of the authors' code."""
    surplus: dict[tuple[str, str, str], FloatArray] = {}
    for drug in DRUGS:
        for name, base in BASES.items():
            for column, runs in _surplus(run, {drug: stroke(drug)}, base).items():
                surplus[name, drug, column] = runs[:, -1]
    trapped = _surplus(run, {"trap": trap()}, TS())
    figures = [*_of_trap(trapped), *_of_stroke(surplus)]
    for again, compliers, least, horizon, each in (
        (_INDEPENDENT, 0.9, 0.9, HORIZON, 1),
        (_TWELVE, 0.5, 0.0, SHORT, SHORT_RUNS),
    ):
        worlds = random_worlds(run.replications, compliers, least, run.seed)
        for column, runs in _surplus(run, worlds, TS(), horizon, each).items():
            of_worlds = runs[:, -1].reshape(len(worlds), each).mean(axis=1)  # runs of one world are not independent
            figures.append(_final(again, column, of_worlds))
    random = float(trap().regret()[0].mean()) * np.array(STEPS)
    lost = {column: random - runs for column, runs in trapped.items()}
    bounded = run.simulate(trap(), ThompsonBounded(), HORIZON).final(ThompsonBounded().name)
    return figures, list(statements(surplus, Trapped(float(random[-1]), lost, bounded)))


def decisions(replications: int) -> int:
    """How many decisions `measure` makes, for a progress bar."""
    cells = len(COLUMNS) * replications
    return cells * (HORIZON * (len(BASES) * len(DRUGS) + 2) + SHORT_RUNS * SHORT) + replications * HORIZON


def _surplus(
    run: Runner, worlds: dict[str, Environment], base: Bandit, horizon: int | None = None, each: int | None = None
) -> dict[str, FloatArray]:
    """The surplus of each column at the steps; (environments times replications, steps).

    Args:
        run: how.
        worlds: where.
        base: the base bandit.
        horizon: HORIZON where left out.
        each: the replications in each world; those of `run` where left out.
    """
    horizon = HORIZON if horizon is None else horizon
    steps = [step for step in STEPS if step <= horizon] or [horizon]
    value = np.stack([world.value()[0] for world in worlds.values()])
    at_random = (value.max(axis=1) - value.mean(axis=1))[:, np.newaxis, np.newaxis] * np.array(steps)
    found = {}
    for column, policy in policies(base).items():
        trace = run.simulate(worlds, policy, horizon, each, steps=steps)
        found[column] = (at_random - trace.regret[:, 0]).reshape(-1, len(steps))
    return found


def _noise(environment: Environment, weights: FloatArray) -> float:
    """The sd that outcomes add to a run's weighted sum of surpluses at STEPS.

    A step adds r_z less the mean over arms, each arm with a patient of its own: at most (1 - 1/K) times the largest
    variance of a reward.
    """
    rate = environment.value()[0]
    step = float((rate * (1 - rate)).max()) * (1 - 1 / rate.size)
    shared = np.minimum.outer(STEPS, STEPS)
    return float(np.sqrt(step * weights @ shared @ weights))


def _of_trap(trapped: dict[str, FloatArray]) -> Iterator[FigureComparison]:
    weights = np.full(len(STEPS), 1 / len(STEPS))
    noise = _noise(trap(), weights)
    for column, runs in trapped.items():
        mean = runs.mean(axis=1)
        error = float(np.hypot(mean.std(ddof=1), noise)) / RUNS_OF_TABLE**0.5
        published = Published(_TABLE[column], 0.05, error, "printed", _SHIFTED)
        quantity = "surplus, mean over t = 1,000 .. 10,000"
        place = f"{SOURCE}, table of example 2"
        yield FigureComparison(place, "trap world", column, quantity, published, *Mean.of(mean))
        yield _final(_TRAP, column, runs[:, -1])


def _final(again: Again, column: str, runs: FloatArray) -> FigureComparison:
    published = again.final[column]
    return FigureComparison(f"{SOURCE}, code", again.name, column, "final surplus", published, *Mean.of(runs))


def _of_stroke(surplus: dict[tuple[str, str, str], FloatArray]) -> Iterator[FigureComparison]:
    for (name, drug), row in _FIGURE_1.items():
        for column, value in zip(COLUMNS, row, strict=True):
            published = Published(value, _READING, _TEXT_ERROR * 2**0.5, "read off", _AMBIGUOUS)
            yield _lives_saved("figure 1", drug, f"{name} {column}", published, surplus[name, drug, column])
    for name, column, value in _TEXT:
        published = Published(value, 0.05, _TEXT_ERROR, "printed", _AMBIGUOUS)
        yield _lives_saved("text", "both drugs", f"{name} {column}", published, both(surplus, name, column))


def _lives_saved(place: str, drug: str, policy: str, published: Published, runs: FloatArray) -> FigureComparison:
    where = (f"{SOURCE}, {place}", f"stroke trial, {drug}", policy, "lives saved")
    return FigureComparison(*where, published, *Mean.of(runs))
