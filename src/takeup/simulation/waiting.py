"""Reports on their way to a policy, as the reference engine has them."""

from dataclasses import replace
from typing import Any

from takeup.evidence import Event
from takeup.policies import Policy
from takeup.randomness import Streams
from takeup.simulation.reporting import Reporting
from takeup.space import UNSEEN


class Waiting:
    """What was sent and has not been learnt: outcomes come late, and everything in batches."""

    def __init__(self, reporting: Reporting) -> None:
        self._reporting = reporting
        self._arrived: list[tuple[Event] | tuple[Event, Event]] = []
        self._pending: list[tuple[Event, Event]] = []

    def deliver(self, policy: Policy[Any], state: Any, step: int, rng: Streams) -> Any:
        """The state after what has arrived by this step, if it is one at which the policy learns."""
        if step % self._reporting.batch == 0:
            for news in self._arrived:
                state = policy.learn(state, *news, rng) if len(news) == 1 else policy.report(state, *news, rng)
            self._arrived = []
        return state

    def send(self, event: Event) -> None:
        """One more decision, its outcome included, and its action where that is seen."""
        if self._reporting.delay == 0:
            self._arrived.append((event,))
            return
        decided = replace(event, outcome=UNSEEN)
        self._arrived.append((decided,))
        self._pending.append((decided, event))
        if len(self._pending) > self._reporting.delay:
            self._arrived.append(self._pending.pop(0))
