"""Bareinboim, Forney & Pearl (2015), "Bandits with unobserved confounders: a causal approach" (NIPS): six casinos.

From the authors' code: D and B are coins that nobody sees, a gambler's intent is D xor B, and the machines pay by D, B
and what is played. Regret is against the best machine for each intent. TS does not see the intent.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from takeup.checks import FloatArray
from takeup.environment import Environment
from takeup.paper.agreement import Mean
from takeup.paper.related.figures import FigureComparison, Published, Statement, larger
from takeup.paper.runner import Runner
from takeup.policies import TS, CausalTS, IntentTS
from takeup.space import Space

HORIZON = 1000
RUNS = 1000
"""Runs behind the authors' figures."""

OBSERVED = 100
"""Gamblers of each intent who were watched before."""

SOURCE = "Bareinboim et al. (2015), code"
_INTENT = np.array([0, 1, 1, 0])
"""D xor B for (D, B) = 00, 01, 10, 11."""

_NEGLIGIBLE = 1e-9


class Casino(NamedTuple):
    """What each machine pays for (D, B) = 00, 01, 10, 11, and what the authors' code gives, run again.

    Attributes:
        pays: of machine 1 and 2.
        regret: of TS, TS^Z and TS^C.
        optimal: how often they play the best machine.
    """

    pays: tuple[tuple[float, ...], tuple[float, ...]]
    regret: tuple[float, float, float]
    optimal: tuple[float, float, float]


CASINOS = {
    "greedy casino": Casino(((0.1, 0.5, 0.4, 0.2), (0.5, 0.1, 0.2, 0.4)), (149.9, 10.3, 0.6), (0.501, 0.964, 0.997)),
    "generous casino": Casino(((0.5, 0.1, 0.2, 0.4), (0.1, 0.5, 0.4, 0.2)), (150.0, 10.1, 5.8), (0.500, 0.964, 0.980)),
    "paradoxical switching": Casino(
        ((0.4, 0.3, 0.3, 0.4), (0.6, 0.1, 0.2, 0.6)), (84.0, 13.6, 4.5), (0.499, 0.919, 0.974)
    ),
    "sometimes switch": Casino(((0.5, 0.5, 0.4, 0.2), (0.1, 0.1, 0.2, 0.15)), (5.8, 11.3, 3.7), (0.976, 0.955, 0.982)),
    "no confounding": Casino(((0.55,) * 4, (0.45,) * 4), (10.2, 18.0, 10.8), (0.889, 0.822, 0.888)),
    "inevitable regret": Casino(((0.0, 1.0, 1.0, 0.0), (1.0, 0.0, 0.0, 1.0)), (500.6, 3.3, 0.0), (0.499, 0.997, 1.0)),
}

_POLICIES = ("TS", "TS-Intent", "TS-Causal")


def by_intent(casino: Casino) -> FloatArray:
    """What each machine pays those of each intent; shape (intent, machine)."""
    pays = np.array(casino.pays)
    return np.stack([pays[:, intent == _INTENT].mean(axis=1) for intent in (0, 1)])


def environment(casino: Casino) -> Environment:
    """The casino with the intent as context; what is proposed is played."""
    mean = by_intent(casino)
    joint = np.einsum("za,xzy->xzay", np.eye(2), np.stack([1 - mean, mean], axis=-1))
    space = Space(["machine 1", "machine 2"], contexts=["machine 1", "machine 2"])
    return Environment(space, np.array([0.5, 0.5]), joint)


def unseen(casino: Casino) -> Environment:
    """The same casino for a policy that does not see the intent."""
    seeing = environment(casino)
    return Environment(Space(list(seeing.space.proposals)), np.ones(1), seeing.response.mean(axis=0, keepdims=True))


def causal(casino: Casino) -> CausalTS:
    """TS^C with the authors' prior: what 100 gamblers of each intent were paid, on average, and nothing else."""
    own = np.diag(by_intent(casino))
    alpha = np.ones((2, 2, 2))
    alpha[[0, 1], [0, 1]] = _NEGLIGIBLE
    return CausalTS(alpha=alpha, observed=OBSERVED * np.stack([1 - own, own], axis=-1))


def measure(run: Runner) -> tuple[list[FigureComparison], list[Statement]]:
    """Regret and the share of best machines in all six."""
    figures = list(_computed(CASINOS["greedy casino"]))
    regrets: dict[tuple[str, str], FloatArray] = {}
    for name, casino in CASINOS.items():
        shares = {}
        seeing, blind = environment(casino), unseen(casino)
        best = by_intent(casino).argmax(axis=1)
        trace = run.simulate(seeing, [IntentTS(), causal(casino)], HORIZON)
        for i, policy in enumerate(_POLICIES[1:]):
            regrets[name, policy] = trace.final(policy)
            shares[policy] = trace.pulls[0, i][:, [0, 1], best].sum(axis=1) / HORIZON
        pulls = run.simulate(blind, TS(), HORIZON).pulls[0, 0, :, 0]
        regrets[name, "TS"] = HORIZON * by_intent(casino).max(axis=1).mean() - pulls @ blind.value()[0]
        shares["TS"] = pulls @ np.bincount(best, minlength=2) / 2 / HORIZON
        figures += _figures(name, casino, {p: regrets[name, p] for p in _POLICIES}, shares)
    return figures, list(_statements(regrets))


def decisions(replications: int) -> int:
    """How many decisions `measure` makes, for a progress bar."""
    return len(CASINOS) * len(_POLICIES) * HORIZON * replications


def _figures(
    name: str, casino: Casino, regret: dict[str, FloatArray], share: dict[str, FloatArray]
) -> Iterator[FigureComparison]:
    """Theirs are from rewards as drawn, so that a regret has the noise of the rewards and a share that of who came."""
    for i, policy in enumerate(_POLICIES):
        rate = unseen(casino).value() if policy == "TS" else by_intent(casino)
        noise = HORIZON * float((rate * (1 - rate)).max())
        error = float(np.sqrt((regret[policy].var(ddof=1) + noise) / RUNS))
        published = Published(casino.regret[i], 0.05, error, "authors' code")
        yield FigureComparison(SOURCE, name, policy, "regret", published, *Mean.of(regret[policy]))
        error = float(np.sqrt((share[policy].var(ddof=1) + 0.25 / HORIZON) / RUNS))
        published = Published(casino.optimal[i], 0.0005, error, "authors' code")
        yield FigureComparison(SOURCE, name, policy, "share of best machines", published, *Mean.of(share[policy]))


def _computed(casino: Casino) -> Iterator[FigureComparison]:
    """What the greedy casino pays those who follow their intent, and those who are told what to play."""
    by = by_intent(casino)
    for arm in (0, 1):
        for quantity, value, found in (
            ("P(y given x)", 0.15, by[arm, arm]),
            ("P(y given do x)", 0.30, by[:, arm].mean()),
        ):
            published = Published(value, 0.005, 0.0, "authors' code")
            yield FigureComparison(
                SOURCE, "greedy casino", f"machine {arm + 1}", quantity, published, float(found), 0.0
            )


def _statements(regrets: dict[tuple[str, str], FloatArray]) -> Iterator[Statement]:
    source = "Bareinboim et al. (2015)"
    found = {(name, policy): Mean.of(regrets[name, policy]) for name in CASINOS for policy in _POLICIES}
    yield larger(
        source,
        "a bandit that does not see intent cannot learn the greedy casino",
        found["greedy casino", "TS"],
        found["greedy casino", "TS-Intent"],
        ("TS", "TS-Intent"),
    )
    for name in CASINOS:
        yield larger(
            source,
            f"what was observed before speeds up learning: {name}",
            found[name, "TS-Intent"],
            found[name, "TS-Causal"],
            ("TS-Intent", "TS-Causal"),
        )
