"""Simulated people who go through a real trial: each is proposed something, does it or not, and has an outcome."""

from collections.abc import Callable

import numpy as np

from takeup.checks import FloatArray
from takeup.covariates.kinds import Value
from takeup.environment import Environment
from takeup.live.trial import Trial
from takeup.randomness import stream
from takeup.space import Space
from takeup.trial.commands import Decision
from takeup.trial.reporting import Report

SEEN = {"always": 1.0, "sometimes": 0.5, "never": 0.0}
"""How likely an implemented action is reported, by what the spec says of it."""

TOGETHER = 10
"""How many people come at a time, and are decided on what was known before."""


def response(environment: Environment, decision: Decision, context: int, fate: FloatArray, *, seen: bool) -> Report:
    """What becomes of a decision.

    Args:
        environment: the truth.
        decision: the decision.
        context: the index of the person's context.
        fate: a uniform number that settles what the person does and how it ends.
        seen: whether what the person did is reported.
    """
    space = environment.space
    action, outcome = environment.respond(context, space.proposals.index(decision.proposal), fate)
    done = space.implemented[action] if seen else None
    return Report(decision=decision.number, implemented=done, outcome=space.outcome.plain(int(outcome)))


def evenly(space: Space, many: int, rng: np.random.Generator) -> list[dict[str, Value] | None]:
    """The covariates of so many people, every value as likely as any other; None of each where there are none."""
    if space.covariates is None:
        return [None] * many
    columns = []
    for kind in space.covariates.kinds:
        table = kind.table()
        columns.append([kind.plain(row) for row in table[rng.integers(len(table), size=many)].tolist()])
    return [dict(zip(space.covariates.names, row, strict=True)) for row in zip(*columns, strict=True)]


def meet(
    trial: Trial,
    environment: Environment,
    people: range,
    seed: int = 0,
    *,
    seen: float = 1.0,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Have these people go through a running trial.

    Person i is the same whatever the trial proposes: two trials that meet the same people with one seed differ by what
    they propose alone.

    Args:
        trial: the trial, whose labels are those of the environment's space.
        environment: the truth.
        people: their numbers, counted from 0.
        seed: who they are.
        seen: how likely it is that what a person did is reported.
        progress: called with the number of people who have just been through.
    """
    space = environment.space
    who, fate, told = stream(seed, "people").random((people.stop, 3))[people.start :].T
    contexts = environment.meet(who)
    for first in range(0, len(people), TOGETHER):
        group = range(first, min(first + TOGETHER, len(people)))
        units = [{"unit": f"person {people[i] + 1}", "context": space.contexts[contexts[i]]} for i in group]
        waiting = [
            trial.submit(response(environment, decision, int(contexts[i]), fate[i], seen=told[i] < seen))
            for i, decision in zip(group, trial.decide_many(units), strict=True)
        ]
        for each in waiting:
            each.result()
        progress(len(group))
