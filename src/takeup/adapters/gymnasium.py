"""A trial as a gymnasium environment: the action is the proposal, and what was done with it comes in `info`."""

from typing import Any

import numpy as np

from takeup import checks
from takeup.environment import Environment
from takeup.errors import InputError, MissingExtraError, StateError
from takeup.evidence import Event, Evidence
from takeup.simulation import Reporting
from takeup.space import UNSEEN

try:
    import gymnasium
    from gymnasium import spaces
except ImportError:
    raise MissingExtraError("gymnasium", "adapters") from None

Observation = Any
"""The context, or a mapping of `context` and `counts`."""


class TrialEnv(gymnasium.Env[Observation, np.int64]):
    """One trial an episode, one unit a step: its context is observed, a proposal is the action.

    The reward is what the outcomes are worth that were *reported* after the step: at once, or as late as `reporting`
    says; the last step reports all that were pending, so that an episode's rewards add up to what was earned. `info`
    has of the step's decision

    - `decision`: its number, from 0;
    - `proposal`: z;
    - `implemented`: a, or -1 where compliance was not reported;
    - `reported`: (number, outcome) of every decision whose outcome was reported now;
    - `regret`: how much less the proposal is worth than the best one, in expectation; for judging, not for learning.

    Args:
        environment: the truth; it may change in the course of an episode.
        horizon: how many units an episode has.
        reporting: what is reported, and when.
        counts: whether the observation has the evidence so far, so that a policy needs no memory: then it is a
            mapping of `context` and `counts`, the table n[x, z, a, y] of `takeup.Evidence`.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # as the base class has it

    def __init__(
        self,
        environment: Environment,
        horizon: int = 1000,
        reporting: Reporting | None = None,
        *,
        counts: bool = False,
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None:
            raise InputError("render_mode", repr(render_mode), "none: a trial has no picture")
        self.environment = environment
        self.horizon = checks.whole("horizon", horizon, least=1)
        self.reporting = reporting or Reporting()
        self.render_mode = render_mode
        space = environment.space
        self.action_space = spaces.Discrete(len(space.proposals))
        met: spaces.Space[Any] = spaces.Discrete(len(space.contexts))
        most = np.iinfo(np.int64).max - 1
        table = spaces.Box(0, most, shape=space.table, dtype=np.int64) if counts else None
        self.observation_space = met if table is None else spaces.Dict({"context": met, "counts": table})
        self._counts = counts
        self._step = self.horizon
        self._context = 0
        self._evidence = Evidence.empty(space)
        self._pending: list[tuple[Event, Event]] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a trial; the same seed gives the same people, whatever is proposed to them."""
        super().reset(seed=seed)
        self._step, self._pending = 0, []
        self._evidence = Evidence.empty(self.environment.space)
        self._meet()
        return self._observed(), {}

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Propose to the unit that was observed; the next one's context, and what is told of this one."""
        if self._step >= self.horizon:
            raise StateError("the trial is over, or has not begun; reset() begins one")
        if not self.action_space.contains(action):
            raise InputError("action", action, f"a proposal from 0 to {len(self.environment.space.proposals) - 1}")
        truth, x, z, number = self._truth, self._context, int(action), self._step
        respond, report = self._person
        a, y = truth.respond(x, z, np.array(respond))
        seen = int(a) if report < self.reporting.compliance else UNSEEN
        decided = Event(x, z, seen, number=number)
        if self._counts:
            self._evidence = self._evidence.record(decided)
        self._pending.append((decided, Event(x, z, seen, int(y), number)))
        self._step += 1
        over = self._step == self.horizon
        reported = self._reported(everything=over)
        reward = float(sum(truth.space.reward[outcome] for _, outcome in reported))
        info = {
            "decision": number,
            "proposal": z,
            "implemented": seen,
            "reported": reported,
            "regret": float(truth.regret()[x, z]),
        }
        self._meet()
        return self._observed(), reward, over, False, info

    @property
    def _truth(self) -> Environment:
        """What the environment is by now."""
        return [each for start, each in self.environment.phases if start <= self._step][-1]

    def _meet(self) -> None:
        arrival, *person = self.np_random.random(3)
        self._context, self._person = int(self._truth.meet(np.array(arrival))), person

    def _reported(self, *, everything: bool) -> list[tuple[int, int]]:
        """Move into the evidence what is known now; the number and the outcome of each."""
        if not everything and self._step % self.reporting.batch:
            return []
        kept = 0 if everything else self.reporting.delay
        known = self._pending[: max(len(self._pending) - kept, 0)]
        self._pending = self._pending[len(known) :]
        for before, after in known if self._counts else ():
            self._evidence = self._evidence.move(before, after)
        return [(int(after.number or 0), int(np.asarray(after.outcome))) for _, after in known]

    def _observed(self) -> Observation:
        if self._counts:
            return {"context": np.int64(self._context), "counts": self._evidence.counts.copy()}
        return np.int64(self._context)
