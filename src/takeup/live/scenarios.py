"""Three ways in which people may comply, for rehearsals of a spec."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from takeup import checks
from takeup.checks import FloatArray
from takeup.environment import Environment
from takeup.errors import InputError, UnsuitableError
from takeup.families import Exponentials, Normals, Poissons
from takeup.outcomes import Count, Levels, Number, Outcome, Time
from takeup.space import Space

WORSE = 1 / 3
"""How many of those who do not comply fare as badly as one can, where they are other people."""

MOST_OUTCOMES = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """One way in which people may comply.

    Attributes:
        name: in a few words.
        words: in a sentence.
        environment: the truth.
    """

    name: str
    words: str
    environment: Environment


def scenarios(space: Space, rates: Sequence[Sequence[float]]) -> tuple[Scenario, ...]:
    """Three ways in which people may comply.

    Args:
        space: the trial's.
        rates: a row for each implemented action, the same in every context: the probability of each outcome level, or
            the numbers that `assumed_of` names.
    """
    outcome = _outcomes(space, rates)
    return (
        _followed(space, outcome, 0.95, "nearly all comply"),
        _followed(space, outcome, 0.70, "seven in ten comply"),
        _confounded(space, outcome),
    )


def assumed_of(outcome: Outcome) -> tuple[str, ...]:
    """What is assumed of the outcomes of an action, in words: the shares of levels but the first, or other numbers."""
    match outcome:
        case Levels():
            return outcome.names[1:]
        case Number():
            unit = f", {outcome.unit}" if outcome.unit else ""
            return (f"mean{unit}", f"standard deviation{unit}")
        case Count():
            return (f"mean count by {outcome.exposure}" if outcome.exposure else "mean count",)
        case Time():
            return (f"mean time, {outcome.unit}" if outcome.unit else "mean time",)
    raise UnsuitableError(f"nothing can be assumed of a {outcome.kind}")


def assumed(space: Space) -> list[list[float]]:
    """What to begin with: each action a little better than the one before."""
    actions, outcome = len(space.implemented), space.outcome
    good = np.linspace(-1, 1, actions) * (1.0 if getattr(outcome, "better", "higher") == "higher" else -1.0)
    match outcome:
        case Number():
            middle, width = (outcome.low + outcome.high) / 2, outcome.high - outcome.low
            return [[float(f"{middle + 0.05 * width * each:.4g}"), float(f"{width / 8:.4g}")] for each in good]
        case Count():
            return [[float(f"{outcome.most / outcome.longest / 5 * (1 + 0.2 * each):.4g}")] for each in good]
        case Time():
            return [[float(f"{outcome.longest / 2 * (1 + 0.2 * each):.4g}")] for each in good]
    levels = outcome.size
    order = np.argsort(np.argsort(space.reward, kind="stable"), kind="stable") / (levels - 1)
    tilt = np.linspace(-0.2, 0.2, actions)[:, np.newaxis] * (2 * order - 1)
    rates = (1 + tilt) / (1 + tilt).sum(axis=1, keepdims=True)
    rounded = [[round(float(p), 3) for p in row[1:]] for row in rates]
    return [[round(1 - sum(row), 6), *row] for row in rounded]


def _outcomes(space: Space, rates: Sequence[Sequence[float]]) -> FloatArray:
    """The distribution of the outcome under each action; shape (Ka, Y)."""
    outcome, actions = space.outcome, len(space.implemented)
    if isinstance(outcome, Levels):
        shares = checks.probabilities("rates", rates)
        checks.shaped("rates", shares, space.shape[2:], "implemented, outcome")
        return shares
    if outcome.size > MOST_OUTCOMES:
        allowed = f"at most {MOST_OUTCOMES:,} in a rehearsal"
        raise InputError("step", f"{outcome.size:,} different outcomes", allowed, "choose a larger step to rehearse it")
    given = checks.real("rates", rates)
    checks.shaped("rates", given, (actions, len(assumed_of(outcome))), "implemented, what is assumed")
    family: Normals | Poissons | Exponentials
    if isinstance(outcome, Number):
        family = Normals(given[:, 0], given[:, 1], outcome)
    elif isinstance(outcome, Count):
        family = Poissons(given[:, 0], outcome)
    else:
        family = Exponentials(given[:, 0]).worth(outcome)
    return np.asarray(family.table()[0])


def _followed(space: Space, outcome: FloatArray, share: float, name: str) -> Scenario:
    """Everybody complies with the same probability."""
    contexts, proposals, actions, _ = space.shape
    compliance = np.full((proposals, actions), (1 - share) / (actions - 1))
    compliance[np.arange(proposals), _meant(space)] = share
    joint = np.einsum("za,ay->zay", compliance, outcome)
    response = np.broadcast_to(joint, (contexts, *joint.shape))
    words = (
        f"{share:.0%} do what was proposed. Who does not is chance, and does any other thing with the same"
        " probability; outcomes depend on what was done alone."
    )
    return Scenario(name, words, Environment(space, np.full(contexts, 1 / contexts), response))


def _confounded(space: Space, outcome: FloatArray) -> Scenario:
    """Half comply; the others choose for themselves, and are not like those who comply."""
    _, proposals, actions, levels = space.shape
    share = [0.5, *[0.5 / actions] * actions]
    response = [list(_meant(space)), *[[a] * proposals for a in range(actions)]]
    worst = np.zeros(levels)
    worst[_worst(space.outcome)] = 1.0
    others = (1 - WORSE) * outcome + WORSE * worst
    environment = Environment.from_types(space, share, response, np.stack([outcome, *[others] * actions]))
    words = (
        "Half do what was proposed. The other half do what they would do anyway, each action with the same"
        " probability, and they are other people: whatever they do, a third of them fare as badly as one can."
    )
    return Scenario("half comply, confounded", words, environment)


def _worst(outcome: Outcome) -> int:
    """The code of the worst outcome; of counts over an exposure, of those that were watched for longest."""
    if isinstance(outcome, Count) and outcome.exposure:
        return outcome.code({"events": outcome.most if outcome.better == "lower" else 0, "exposure": outcome.longest})
    return int(np.argmin(outcome.worths))


def _meant(space: Space) -> tuple[int, ...]:
    """What complying means; by position where the space does not say."""
    actions = len(space.implemented)
    return space.intended or tuple(z % actions for z in range(len(space.proposals)))
