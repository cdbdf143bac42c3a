"""How much may be computed: in a process that writes for all trials, none holds up the trials of others.

The limits of policies are of processor time, so that a busy machine pauses no trial. They are kept by a signal, which
Python delivers to the main thread alone: a writer in a thread (`Trial.open`) has none.
"""

import logging
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from takeup.errors import BusyError, TakeupError

LOG = logging.getLogger("takeup.trial")

BY = "takeup"
"""Who pauses a trial whose policy fails. What a log calls the holder of a key ends with the key's id in brackets."""

AGAIN_SECONDS = 0.1
"""After how much more computing a policy is struck again, if it went on."""

SLOW_SECONDS = 0.1
"""From here on a trial's requests come after those of all others that share the transaction."""

SLOW_SHARE = 0.25
"""What share of what a transaction may compute slow trials may have had before the next of them has to come again."""

UNLIMITED = 1 << 60
"""More outcome windows than any database has."""

Result = TypeVar("Result")


class FailedPolicyError(TakeupError):
    """A policy came to no proposal: it computed for too long, or failed as nobody foresaw. Says which."""


class TimeIsUp(BaseException):
    """Something computed for too long. Not an `Exception`: a policy that catches all of those must not catch this."""


class ProcessorTimer:
    """Ends what computes for too long; for the main thread of a process, which has one such timer."""

    def __init__(self) -> None:
        self._armed = False
        signal.signal(signal.SIGPROF, self._strike)

    def run(self, seconds: float, compute: Callable[[], Result]) -> Result:
        """What `compute` returns.

        Raises:
            TimeIsUp: it took more seconds of the processor.
        """
        try:
            try:
                self._armed = True
                signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN_SECONDS)
                return compute()
            finally:
                self._disarm()
        finally:
            self._disarm()  # it may have been struck on its way through the first

    def _disarm(self) -> None:
        self._armed = False
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _strike(self, *_: object) -> None:
        if self._armed:
            raise TimeIsUp


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputingLimits:
    """How much is computed before others have their turn.

    Attributes:
        decision: seconds of the processor for one decision; a trial whose policy takes more is paused.
        together: the same for all decisions of one transaction; what is left over has to come again.
        windows: how many outcome windows close in one transaction, likewise.
    """

    decision: float = 1.0
    together: float = 1.0
    windows: int = 3_000


class Meter:
    """What the policies of this process compute, and how much more of it they may.

    Attributes:
        clock: how many seconds of the processor this process has used.
        slow: the trials whose last decision was slow.
    """

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self.clock = clock
        self.slow: set[str] = set()
        self._limits = ComputingLimits()
        self._announce: Callable[[str], None] = lambda _: None
        self._timer: ProcessorTimer | None = None
        self._trial, self._spent, self._slowly = "", 0.0, 0.0

    @property
    def windows(self) -> int:
        """How many outcome windows may close in one transaction."""
        return UNLIMITED if self._timer is None else self._limits.windows

    def limit(self, limits: ComputingLimits, announce: Callable[[str], None]) -> None:
        """Keep to these limits, in the main thread.

        Args:
            limits: how much there may be.
            announce: is told which trial a policy begins to compute for, and an empty text when it ends.
        """
        self._limits, self._timer, self._announce = limits, ProcessorTimer(), announce

    def begin(self) -> None:
        """A transaction begins, and nothing has been computed in it."""
        self._spent = self._slowly = 0.0

    def turn(self, trial: str) -> None:
        """From now on policies compute for this trial."""
        self._trial = trial

    def run(self, compute: Callable[[], Result]) -> Result:
        """What a policy computes.

        Raises:
            FailedPolicyError: it took too long, or failed.
            BusyError: this transaction has computed enough; as that is kept, whoever comes again needs less.
        """
        late = self._trial in self.slow and self._slowly >= SLOW_SHARE * self._limits.together
        if late or self._spent >= self._limits.together:
            words = "much has to be computed at the moment"
            raise BusyError(f"{words}; ask again under the same idempotency key, or send fewer units at a time")
        try:
            return compute() if self._timer is None else self._timed(self._timer, compute)
        except FailedPolicyError:
            raise
        except Exception as error:  # its words may tell what is blinded: they go to the service's log alone
            LOG.exception("the policy of trial %s failed", self._trial)
            raise FailedPolicyError(f"its policy failed ({type(error).__name__})") from error

    def _timed(self, timer: ProcessorTimer, compute: Callable[[], Result]) -> Result:
        began, seconds = self.clock(), self._limits.decision
        self._announce(self._trial)
        try:
            return timer.run(seconds, compute)
        except TimeIsUp:
            raise FailedPolicyError(f"a decision took more than {seconds:g} s of computing") from None
        finally:
            self._announce("")
            took = self.clock() - began
            self._spent += took
            if took >= SLOW_SECONDS:
                self._slowly += took
            (self.slow.add if took >= SLOW_SECONDS else self.slow.discard)(self._trial)


METER = Meter()
"""Of this process: a signal is one for all that it does."""
