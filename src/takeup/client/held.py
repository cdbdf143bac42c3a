"""A lease in use: what a decision looks up, ready at hand."""

import time
from functools import partial
from itertools import count

from takeup.trial.leases import Lease

boot_clock = (
    partial(time.clock_gettime_ns, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic_ns
)
"""Nanoseconds that nobody sets, and that go on while the machine sleeps, where the system has such a clock."""


class Held:
    """A lease that decisions are drawn from, by the service's clock.

    The service issued it at some moment between asking and the answer. `drawn` is told as if that was when the answer
    came, and the lease ends as if it was when it was asked for: nothing is drawn after it ended, or told to be from the
    future, whatever this machine's own clock says.

    Args:
        lease: the lease.
        asked: nanoseconds of this machine's clock before it was asked for.
        received: likewise, when the answer was there.
        share: the part of its time, or of its decisions, after which another is asked for.

    Attributes:
        offset: what to add to this machine's microseconds for those of the service.
        expires: until when it holds; 0 where nothing may be decided from it any more.
        fingerprint: which lease it is, whatever its number.
        uses: counts the decisions.
        renewal: after how many decisions another lease is asked for.
        renew_at: when another is asked for, in nanoseconds of this machine's clock.
        index: contexts by label, by index, and by None where there is one.
    """

    __slots__ = (
        "contexts",
        "draw",
        "expires",
        "fingerprint",
        "index",
        "lease",
        "many",
        "most",
        "number",
        "offset",
        "proposals",
        "renew_at",
        "renewal",
        "uses",
    )

    def __init__(self, lease: Lease, asked: int, received: int, share: float) -> None:
        self.lease, self.number, self.draw, self.many = lease, lease.number, lease.draw, lease.many
        self.contexts, self.proposals, self.most = lease.contexts, lease.proposals, lease.most
        self.fingerprint = lease.fingerprint
        self.offset = lease.issued - received // 1_000
        self.expires = lease.expires - (received - asked) // 1_000
        self.uses, self.renewal = count(), max(0, int(share * lease.most) - 1)
        self.renew_at = asked + int(share * (lease.expires - lease.issued)) * 1_000
        self.index: dict[str | int | None, int] = {x: x for x in range(len(lease.contexts))}
        self.index |= {label: x for x, label in enumerate(lease.contexts)}
        if len(lease.contexts) == 1:
            self.index[None] = 0

    def ended(self) -> "Held":
        """The same, with nothing to decide from it."""
        found = Held(self.lease, 0, 0, 0.0)
        found.expires = 0
        return found
