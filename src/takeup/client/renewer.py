"""The thread that asks for another lease before one ends."""

import logging
import threading
from collections.abc import Callable

from takeup.client.client import Client, new_key
from takeup.client.held import Held
from takeup.errors import TakeupError
from takeup.trial.leases import Lease

LOG = logging.getLogger("takeup.client")
LEASE_SECONDS = 10.0
"""How long asking for a lease may take."""
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 5.0
"""How long to wait after a lease could not be had: the first time, and as long after each lease, and at the most."""


class Renewer(threading.Thread):
    """Asks for leases.

    Args:
        client: the service.
        path: the trial's path there.
        share: the part of a lease's time, or of its decisions, after which another is asked for.
        clock: nanoseconds that nobody sets.
        renewed: told of every lease but the first.

    Attributes:
        held: the latest lease.
        refusal: why another could not be had.
        wanted: set by whoever needs another now.
    """

    def __init__(
        self, client: Client, path: str, *, share: float, clock: Callable[[], int], renewed: Callable[[Held], None]
    ) -> None:
        super().__init__(name="takeup-edge-renewer", daemon=True)
        self.refusal: str | None = None
        self.wanted = threading.Event()
        self.asking = threading.Lock()
        self._client, self._path, self._share, self._now, self._renewed = client, path, share, clock, renewed
        self._ending = threading.Event()
        self.held = self._leased(client.timeout)

    def renew(self) -> Held:
        """Ask for another lease now."""
        with self.asking:
            held = self._leased(LEASE_SECONDS)
            self.wanted.clear()  # by those who had the lease before; those who have this one may want another
            self.held = held
            self._renewed(held)
            return held

    def end(self) -> None:
        """Ask for no more."""
        self._ending.set()
        self.wanted.set()

    def run(self) -> None:
        """Ask before each lease ends, until it is to end."""
        pause = FIRST_PAUSE
        while not self._ending.is_set():
            self.wanted.wait(max(0.0, (self.held.renew_at - self._now()) / 1e9))
            self.wanted.clear()
            if self._ending.is_set():
                return
            try:
                self.renew()
                self.refusal, pause = None, FIRST_PAUSE
                self._ending.wait(pause)
            except Exception as error:  # of whatever ends a thread nobody would hear
                if self.refusal is None:
                    known = isinstance(error, TakeupError | ValueError)  # no JSON is no answer of the service's
                    LOG.warning("lease %d is not renewed: %s", self.held.number, error, exc_info=not known)
                self.refusal = str(error) or repr(error)
                self._ending.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                self.wanted.set()  # whoever wanted it has not got it

    def _leased(self, seconds: float) -> Held:
        asked = self._now()
        said = self._client.call("POST", f"{self._path}/leases", key=new_key(), timeout=seconds)
        return Held(Lease.of_plain(said), asked, self._now(), self._share)
