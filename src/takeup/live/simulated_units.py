"""Simulated people who go through a real trial: they are proposed something, do what they like, and fare as they do."""

from collections.abc import Callable

from takeup.environment import Environment
from takeup.live.trial import Trial
from takeup.randomness import stream
from takeup.trial.reporting import Report

TOGETHER = 10
"""So many people come at a time, and are decided on what was known before."""


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
        waiting = []
        for i, decision in zip(group, trial.decide_many(units), strict=True):
            proposal = space.proposals.index(decision.proposal)
            action, outcome = environment.respond(int(contexts[i]), proposal, fate[i])
            report = Report(
                decision=decision.number,
                implemented=space.implemented[action] if told[i] < seen else None,
                outcome=space.outcomes[outcome],
            )
            waiting.append(trial.submit(report))
        for each in waiting:
            each.result()
        progress(len(group))
