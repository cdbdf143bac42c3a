"""What the rules of a spec do, for who is about to start it: as many trials as fit in a few seconds.

It runs in a process of its own, for a bounded time, and says on standard output how far it is.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from takeup.design.forms import has_kernel
from takeup.design.operate import calibrate, operate
from takeup.design.plan import Plan
from takeup.design.results import Figure, Outcomes
from takeup.design.thresholds import unchanged
from takeup.environment import Environment
from takeup.errors import InputError
from takeup.live.job_process import Say, attend
from takeup.live.scenarios import scenarios
from takeup.space import Space
from takeup.trial.looks import MOST_UNITS
from takeup.trial.stopping import FEW

LOOKS, SLOW_LOOKS = 100, 20
"""Advice that is given at any time is looked for so often, and so often where that is slow; in truth more often."""
SLOW_DRAWS, DRAWS = 200, 1_000
"""From how many draws a slow policy's probabilities come at most, where rules read something else; and usually."""
FEWEST, TOLD, ENOUGH, MOST = 2, 50, 200, 20_000
"""Trials of each scenario: at first, the fewest that are told of, from how many on time is short, and at most."""
LARGE = 0.10
"""A type I error above which one is warned."""
TARGET = 0.05
SEARCHED = (500, 20_000)
"""With how many trials of each null scenario a threshold is searched for, at least and at most."""
ONE_RUN, MANY_RUNS = 4, 14
"""For how many runs of its trials a search takes time, about: where one run answers every threshold, and elsewhere."""
PATIENCE = 5
"""How many times as long as trials are made for a search may take."""
DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What to try.

    Attributes:
        spec: the trial's, with or without looks.
        rates: what is assumed of each action, as a rehearsal has it.
        people: the size of the trial, where the spec names none.
        per_day: how many come a day, which matters where outcomes have a window.
        seconds: how long trials are made for; a search for a threshold may take so long several times.
        fewest: trials of each scenario, however long they take.
        target: the type I error to search a threshold for; None for no search.
        searched: with how many trials; as many as there is time for where left out.
        seed: of the trials.
    """

    spec: dict[str, Any]
    rates: list[list[float]]
    people: int = 300
    per_day: float = 10.0
    seconds: float = 3.0
    fewest: int = FEWEST
    target: float | None = None
    searched: int | None = None
    seed: int = 0

    def run(self, say: Say) -> dict[str, Any]:
        """Everything that the page shows."""
        plan, words = self._plan()
        if self.spec.get("looks") is None and plan.rules.superiority is None:
            return {"threshold": None, "scenarios": [], "calibration": None}  # nothing is ever called better
        found, each_second = self._made(plan, say, self.seconds) if has_kernel(plan) else ({}, 0.0)
        if not found:  # it is slow: it is looked at less often, and gets more time
            plan, words = self._plan(slow=True)
            found, each_second = self._made(plan, say, PATIENCE * self.seconds)
        if not found:
            few = f"one of which fewer than {TOLD} trials fit in {PATIENCE * self.seconds:g} s"
            raise InputError("policy", few, "a faster one, to tell anything", "takeup design takes its time")
        looks = plan.looks
        return {
            "trials": int(next(iter(found.values())).replications.size),
            "looks": {"first": int(looks.at[0]), "last": int(looks.at[-1]), "many": int(looks.at.size)},
            "any_time": self.spec.get("looks") is None,
            "lag": looks.lag,
            "changes": plan.changes,
            "draws": plan.design.spec.draws if plan.design.spec.draws < self.spec.get("draws", DRAWS) else None,
            "threshold": plan.content["stopping"].get("superiority"),
            "error": _error(found),
            "large": (_error(found) or {"mean": 0.0})["mean"] > LARGE,
            "scenarios": [_shown(name, each, words.get(name, "")) for name, each in found.items()],
            "calibration": None if self.target is None else self._calibrated(plan, self.target, each_second),
            "plan": dict(plan.content),
        }

    def _plan(self, *, slow: bool = False) -> tuple[Plan, dict[str, str]]:
        return plan_of(self.spec, self.rates, self.people, self.per_day, slow=slow)

    def _made(self, plan: Plan, say: Say, longest: float) -> tuple[dict[str, Outcomes], float]:
        """As many trials as fit, and how many a second; none where they are too few to tell anything.

        Each part is as large as all before. Once there are enough, they are made for `seconds` at most.
        """
        parts = [operate(plan, None, self.fewest, self.seed)]  # compiles, or reads what was compiled
        begun, done, passed = time.monotonic(), self.fewest, 0.0
        while done < MOST and 2 * passed < (longest if done < ENOUGH else self.seconds):
            more = min(done, MOST - done)
            parts.append(operate(plan, None, range(done, done + more), self.seed))
            done, passed = done + more, time.monotonic() - begun
            say(min(1.0, passed / max(longest, 1e-9)))
        if done < TOLD:
            return {}, 0.0
        return {name: reduce(add, [part[name] for part in parts]) for name in plan.scenarios}, done / max(passed, 1e-9)

    def _calibrated(self, plan: Plan, target: float, each_second: float) -> dict[str, Any]:
        """The threshold with this error, with as many trials as there is time for; or why there is none."""
        runs = ONE_RUN if unchanged(plan) else MANY_RUNS
        fit = int(each_second * PATIENCE * self.seconds / runs)
        if self.searched is None and fit < SEARCHED[0]:
            why = "a search would take too long here; takeup design --calibrate takes its time"
            return {"target": target, "problem": why}
        trials = self.searched or min(fit, SEARCHED[1])
        try:
            found = calibrate(plan, target, trials, self.seed)
        except InputError as error:
            return {"target": target, "problem": str(error)}
        above = rounded_up(found.threshold)
        below = found.plan.content["stopping"].get("inferiority")
        told = {"threshold": above, "inferiority": below, "error": found.worst.plain()}
        return {"target": target, "trials": trials, **told}


def rounded_up(threshold: float) -> float:
    """A threshold that errs no more, with five digits, or with as many as leave it below 1."""
    every = (math.ceil(threshold * 10**digits) / 10**digits for digits in range(5, 16))
    return next((above for above in every if above < 1), threshold)


def plan_of(
    spec: Mapping[str, Any],
    rates: Sequence[Sequence[float]],
    people: int,
    per_day: float,
    *,
    slow: bool = False,
) -> tuple[Plan, dict[str, str]]:
    """The plan that a spec amounts to, and what its scenarios mean in words.

    Without looks, advice is given at any time; it is looked for at many. Without scenarios there are three ways to
    comply with the rates that are assumed; and two in which all actions are like the first, where no null is given. A
    slow plan is looked at less often, with fewer draws where no rule reads them.
    """
    content = {key: value for key, value in spec.items() if value is not None}
    written = content.get("stopping", {})
    stopping = {key: value for key, value in written.items() if value is not None and key != "error"}
    if "looks" not in content:
        content["looks"] = _any_time(
            content, stopping.pop("maximum", None) or people, per_day, SLOW_LOOKS if slow else LOOKS
        )
        best = stopping.pop("probability_best", None)
        stopping |= {} if best is None else {"superiority": best}
    content["stopping"] = stopping
    if slow and stopping.get("reading") != "policy":
        content["draws"] = min(SLOW_DRAWS, content.get("draws", DRAWS))
    words: dict[str, str] = {}
    given = content.get("scenarios", {})
    if not any(table.get("role") == "null" for table in given.values()):
        tables, words = _scenarios(Space(**content["space"]), rates)
        content["scenarios"] = {n: t for n, t in tables.items() if not given or t.get("role") == "null"} | given
    return Plan.of(content, "spec"), words


def _any_time(content: Mapping[str, Any], size: int, per_day: float, looks: int) -> dict[str, int]:
    """Looks as often as can be afforded, from the first at which there would be advice."""
    last = min(size, MOST_UNITS)
    every = math.ceil(last / looks)
    first = min(max(FEW, every, content.get("burn_in", 0)), last)
    window = content.get("window")
    lag = 0 if window is None else min(math.ceil(window / DAY * per_day), last - 1)
    return {"first": first, "every": every, "last": last, "lag": lag}


def _scenarios(space: Space, rates: Sequence[Sequence[float]]) -> tuple[dict[str, Any], dict[str, str]]:
    tables, words = {}, {}
    same = "All actions are like the first: whatever is called better is called so by mistake. "
    for each in scenarios(space, [rates[0]] * len(rates))[::2]:
        name = f"equal arms, {each.name}"
        tables[name] = {"role": "null", **_table(each.environment)}
        words[name] = same + each.words
    for each in scenarios(space, rates):
        tables[each.name], words[each.name] = _table(each.environment), each.words
    return tables, words


def _table(environment: Environment) -> dict[str, Any]:
    """An environment with one context as a spec has it."""
    types = environment.types
    if types is not None:
        return {name: np.asarray(getattr(types, name)).tolist() for name in ("share", "response", "outcome")}
    compliance = environment.response[0].sum(axis=-1)
    outcome = environment.response[0].sum(axis=0) / compliance.sum(axis=0)[:, np.newaxis]
    return {"compliance": compliance.tolist(), "outcome": outcome.tolist()}


def _error(found: Mapping[str, Outcomes]) -> dict[str, float] | None:
    """The largest error over the null scenarios, where anything can be called better at all."""
    errors = [Figure.of(each.claimed) for each in found.values() if each.truth.role == "null"]
    if not errors or next(iter(found.values())).plan.rules.superiority is None:
        return None
    return max(errors, key=lambda figure: figure.mean).plain()


def _shown(name: str, found: Outcomes, words: str) -> dict[str, Any]:
    each = found.each()
    null = found.truth.role == "null"
    return {
        "name": name,
        "null": null,
        "words": words,
        "claimed": Figure.of(each["claimed"]).plain(),
        "right": None if null else Figure.of(each["right"]).plain(),
        "size": Figure.of(each["size"]).plain(),
        "on_worse": None if null else Figure.of(each["on_worse"]).plain(),
    }


def main() -> None:
    """Do what standard input says."""
    attend(lambda content, say: Preview(**content).run(say))


if __name__ == "__main__":
    main()
