"""Every threshold at once: where superiority alone ends a trial, one run answers what any threshold would have done.

Until superiority is claimed a trial does not depend on its threshold, unless proposals are dropped by one that moves
with it. So trials run without it, and keep which proposal led at each look, and with which probability.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from takeup.checks import FloatArray, IntArray
from takeup.design.bounded import with_reading
from takeup.design.engines import Runner, engine_of
from takeup.design.plan import Plan
from takeup.design.results import Outcomes
from takeup.errors import UnsuitableError
from takeup.simulation.engine import Progress, silent
from takeup.simulation.kernels.look_tables import LookOutput

RECORDED = 12_000_000
"""At most so many looks are kept at a time: 120 MB."""


def unchanged(plan: Plan) -> bool:
    """Whether the threshold of superiority changes nothing before it is crossed.

    Inferiority would, as it moves with it; but for two proposals without a control it says the same.
    """
    two = len(plan.space.proposals) == 2 and plan.rules.control is None
    return plan.rules.inferiority is None or two


@dataclass(frozen=True, slots=True, eq=False)
class Leading:
    """Trials of a plan in one scenario, which no superiority ended.

    Attributes:
        outcomes: what they came to; its plan has no threshold for superiority.
    """

    outcomes: Outcomes

    @property
    def top(self) -> FloatArray:
        """The probability that superiority is asked of at each look, 0 where the trial had ended; shape (R, L)."""
        return np.asarray(self.outcomes.kept.top)

    def look(self, threshold: ArrayLike) -> IntArray:
        """The look at which each trial claims, counted from 0; the number of looks where it never does.

        `threshold` is one number, or one for each look.
        """
        above = self.top > np.asarray(threshold, dtype=np.float64)
        return np.asarray(np.where(above.any(axis=1), above.argmax(axis=1), above.shape[1]))

    def claimed(self, threshold: ArrayLike) -> NDArray[np.bool_]:
        """Whether each trial calls a proposal better than all others, or than the control."""
        return np.asarray(self.look(threshold) < self.top.shape[1])

    def right(self, threshold: ArrayLike) -> NDArray[np.bool_]:
        """Whether each trial claims what is so."""
        look, looks = self.look(threshold), self.top.shape[1]
        leader = self.outcomes.kept.leader[np.arange(look.size), np.minimum(look, looks - 1)]
        better = self.outcomes.truth.better(self.outcomes.plan.rules.control)
        return np.asarray((look < looks) & better[leader])

    def size(self, threshold: ArrayLike) -> FloatArray:
        """How many each trial randomises, where a claim ends it."""
        rules, looks = self.outcomes.plan.rules, self.outcomes.plan.looks
        if rules.control is not None and rules.replace:
            raise UnsuitableError("a claim does not end a trial whose control is replaced; say replace = false")
        ends = np.append(looks.randomised, 0)[self.look(threshold)]
        return np.where(self.claimed(threshold), ends, self.outcomes.size)


def leading(
    plan: Plan,
    scenarios: Sequence[str],
    replications: range,
    seed: int,
    progress: Progress = silent,
    *,
    run: Runner | None = None,
) -> dict[str, Leading]:
    """Run trials of a plan that answer every threshold of superiority."""
    if not unchanged(plan):
        raise UnsuitableError("one run answers every threshold where nothing is dropped as inferior")
    plan = with_reading(plan)  # its weights, whatever the threshold
    said = ("superiority", "inferiority")
    stopping = {name: value for name, value in plan.content.get("stopping", {}).items() if name not in said}
    free = plan.changed(stopping=stopping)
    chosen = run or engine_of(free)[1]
    found = chosen(
        free, {name: free.scenarios[name] for name in scenarios}, replications, seed, progress, recording=True
    )
    return {
        name: Leading(Outcomes(free, name, seed, np.array(replications), LookOutput(*(part[i] for part in found))))
        for i, name in enumerate(scenarios)
    }


def highest(
    plan: Plan,
    scenarios: Sequence[str],
    replications: int,
    seed: int,
    progress: Progress = silent,
    *,
    run: Runner | None = None,
) -> FloatArray:
    """The highest probability that each trial saw at any look; a threshold below it would have been crossed.

    Shape (scenarios, replications). It runs in pieces, so that not all looks are kept.
    """
    piece = max(RECORDED // (plan.looks.at.size * len(scenarios)), 1)
    parts = []
    for start in range(0, replications, piece):
        numbers = range(start, min(start + piece, replications))
        found = leading(plan, scenarios, numbers, seed, progress, run=run)
        parts.append(np.stack([each.top.max(axis=1) for each in found.values()]))
    return np.concatenate(parts, axis=1)
