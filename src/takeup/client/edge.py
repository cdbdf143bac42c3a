"""Decisions in this process, from a lease of the service: nothing is asked for while somebody waits."""

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from takeup import checks
from takeup.client.client import Client, segment
from takeup.client.edge_refusals import agreeing, check_made, check_names, over, wrong
from takeup.client.edge_rows import EdgeDecision, EdgeReport, report_said
from takeup.client.edge_sender import Sender
from takeup.client.edge_writer import Writer
from takeup.client.held import Held, boot_clock
from takeup.client.remembered import Remembered
from takeup.client.renewer import Renewer
from takeup.client.segments import Segments
from takeup.errors import LeaseError
from takeup.outcomes import Plain
from takeup.trial.commands import MOST_NAME
from takeup.trial.design import Design, canonical
from takeup.trial.edge_rows import MOST_ROWS
from takeup.trial.ingested import SET_ASIDE, Ingested
from takeup.trial.leases import Lease

LOG = logging.getLogger("takeup.client")
REMEMBERED = 200_000
"""How many decisions an edge remembers where nobody says otherwise."""
SHARE = 0.5
"""After this part of a lease another is asked for."""
CLOSE_SECONDS = 10.0
"""How long sending may take when an edge is closed; what is left is on the disk."""
LOOKS = 1_023
"""`decide` looks whether too many rows wait when the number of its use of the lease has none of these bits."""
_new = tuple.__new__


class Edge(AbstractContextManager["Edge"]):
    """A trial of a service, decided in this process.

    `decide` draws from a lease, which another thread renews; it waits for nothing. What was decided and reported goes
    to a folder on this machine's disk, and from there to the service, in batches; an edge on the same folder sends what
    an earlier process left. Any number of threads may use it. Make it after a fork, not before: threads survive none.

    Args:
        client: the service; its key needs the scopes lease and read-unblinded.
        trial: the trial's identifier. Its spec must say `[edge] allowed = true`.
        spool: a folder for what the service has not got yet; one process at a time may have it.
        sync: whether `decide` and `report` return after the disk has what they did. Without it a killed process loses
            what it did in the last hundredths of a second, and a power failure that of the last seconds.
        remember: how many decisions are remembered, so that their units get the same proposal under a later lease. At
            least the latest half of them always are.
        batch: how many rows a batch has at the most.
        seconds: how long rows wait for others before they are sent.
        told: called with what became of each batch, in a thread of the edge.
        share: the part of a lease's time, or of its decisions, after which another is asked for.
        clock: nanoseconds that nobody sets.

    Raises:
        UnreachableError: the service did not answer.
        TakeupError: the service gives no lease, and says why.
    """

    def __init__(
        self,
        client: Client,
        trial: str,
        *,
        spool: str | Path,
        sync: bool = False,
        remember: int = REMEMBERED,
        batch: int = 20_000,
        seconds: float = 1.0,
        told: Callable[[Ingested], None] | None = None,
        share: float = SHARE,
        clock: Callable[[], int] = boot_clock,
    ) -> None:
        checks.whole("batch", batch, least=1, most=MOST_ROWS)
        checks.whole("remember", remember, least=2)
        checks.share("share", share)
        checks.seconds("seconds", seconds)
        self.id, self._client, self._path = trial, client, f"/trials/{segment(trial)}"
        self._now, self._sync, self._telling = clock, sync, told
        self._known, self._tally = Remembered(remember), Ingested(batch="", rows=0)
        self._turn, self._state, self._ended = threading.Lock(), threading.Lock(), False
        self._stopped: str | None = None
        self._child = False
        self._segments = Segments(spool, trial, sync=sync)
        try:
            self._known.read(map(self._segments.body, reversed(self._segments.closed())))
            spec = client.call("GET", self._path)["spec"]
            self._design = Design.of_text(canonical({**spec, "policy": {"kind": "Uniform"}}))  # reports do not need it
            self._renewer = Renewer(client, self._path, share=share, clock=clock, renewed=self._serve)
        except BaseException:
            self._segments.close()
            raise
        self._writer = Writer(self._segments, sync=sync, most=batch, seconds=seconds, full=self._full)
        self._append: Callable[[Any], object] = self._writer.give if sync else self._writer.rows.append
        self._sender = Sender(client, self._path, self._segments, self._writer.rolled, self._ingested)
        self._serving, self._want = self._renewer.held, self._renewer.wanted.set
        self._writer.rolled.set()
        self._threads = self._writer, self._sender, self._renewer
        for thread in self._threads:
            thread.start()
        _EDGES.add(self)

    def decide(self, unit: str, context: str | int | None = None, occasion: str | None = None) -> EdgeDecision:
        """What to propose to a unit. One (and occasion) that this edge has decided and remembers gets the same answer.

        Args:
            unit: who it is for.
            context: x; may be left out where there is one.
            occasion: which of the unit's decisions, where a unit has many.

        Raises:
            LeaseError: the lease has expired, or is used up, and no other could be had.
            ConflictError: the unit was decided in another context.
            StoreError: the disk does not take it; with `sync` alone.
        """
        if not self._sync:
            return self._draw(unit, context, occasion)
        with self._turn:
            made = self._draw(unit, context, occasion)
            ticket = self._writer.last
        self._writer.wait(ticket)
        return made

    def report(
        self,
        unit: str | EdgeDecision,
        implemented: str | int | None = None,
        outcome: Plain | None = None,
        missing: Sequence[str] = (),
        *,
        occasion: str | None = None,
        reason: str | None = None,
    ) -> None:
        """What became of a decision, of this edge or another: the action, the outcome or both, at any time.

        A decision that is given, or that this edge remembers, is sent with its report, so that it does not matter which
        of them the service gets first; a draw that does not stand is set aside with what was reported of it. Of a unit
        that this edge does not remember, what is reported is about the decision that stands when the report arrives; it
        is not recorded where there is none yet. Give the decision where another edge made it. What corrects another
        report is always about the decision that stands.

        Args:
            unit: whose decision it is, or the decision itself.
            implemented: a, the action.
            outcome: y: the outcome level, a number, or a table such as {"time": 90, "censored": True}.
            missing: what will never be known: "implemented", "outcome" or both.
            occasion: which of the unit's decisions, where it has many.
            reason: why, where something that was reported before is corrected.

        Raises:
            InputError: it says nothing that could be recorded, or the decision is none of this trial.
        """
        made = unit if isinstance(unit, EdgeDecision) else None
        if isinstance(unit, EdgeDecision):
            unit, occasion = unit[:2]
        check_names(unit, occasion, many=self._renewer.held.many)
        if made is not None:
            check_made(self._renewer.held, made)
        said = report_said(self._design, implemented, outcome, missing, reason)
        if self._writer.crowded:
            self._full(True)
        made = made or self._known.of(unit, occasion)
        with self._turn:
            stopped = self._stopped
            if stopped is None:
                if made is not None and reason is not None:  # a row that decides corrects nothing
                    self._append(made)
                self._append(EdgeReport(unit, occasion, said, made if reason is None else None))
            ticket = self._writer.last
        if stopped is not None or self._writer.over:
            raise LeaseError(f"nothing can be reported: {stopped or self._stopped}")
        if self._sync:
            self._writer.wait(ticket)

    def renew(self) -> Lease:
        """Ask for another lease now, and decide from it; the edge does so by itself before one ends.

        Raises:
            UnreachableError: the service did not answer; the lease that there is goes on.
            TakeupError: the service gives none, and says why; likewise.
        """
        self._refuse_child()
        return self._renewer.renew().lease

    def flush(self, timeout: float | None = None) -> bool:
        """Send all that was decided and reported so far; whether the service has all of it.

        It has not where a batch was refused, or damaged, and is kept; `problem` says so.

        Args:
            timeout: how many seconds it may take; the client's where left out.
        """
        self._refuse_child()
        seconds = self._client.timeout if timeout is None else checks.seconds("timeout", timeout)
        written = self._writer.roll()
        return not self._sender.send_all(seconds) and written and self._sender.kept is None

    def close(self, timeout: float = CLOSE_SECONDS) -> None:
        """Write all that was decided and reported to the disk, and send it; what is not taken stays there.

        Args:
            timeout: how many seconds sending may take.
        """
        checks.seconds("timeout", timeout)
        with self._state:
            if self._ended:
                return
            self._stop("this edge is closed")
            self._ended = True
        self._renewer.end()
        self._writer.end()
        until = time.monotonic() + timeout
        self._sender.end(timeout)
        for thread in (self._renewer, self._sender):
            thread.join(max(0.0, until - time.monotonic()))
        self._segments.close()
        _EDGES.discard(self)
        if self.waiting:
            LOG.warning("batches left in %s, for the next edge to send: %d", self._segments.folder, self.waiting)
        if self._sender.kept is not None:
            LOG.warning("%s", self._sender.kept)

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def lease(self) -> Lease:
        """The lease that is decided from."""
        return self._renewer.held.lease

    @property
    def waiting(self) -> int:
        """How many batches on the disk the service has not got yet."""
        return len(self._segments.closed())

    @property
    def remembered(self) -> int:
        """How many decisions are remembered."""
        return len(self._known)

    @property
    def ingested(self) -> Ingested:
        """What became of all that was sent so far; `refused` has a hundred rows, by their place in a batch."""
        return self._tally

    @property
    def problem(self) -> str | None:
        """Why something does not go on at the moment: the lease, the disk or a batch; or what is not sent any more."""
        dead = [thread.name for thread in self._threads if not (self._ended or thread.is_alive())]
        ended = f"threads of this edge have ended: {', '.join(dead)}; make another" if dead else None
        refusal = self._renewer.refusal
        return self._stopped or ended or refusal or self._writer.trouble or self._sender.problem or self._sender.kept

    def _draw(self, unit: str, context: str | int | None, occasion: str | None) -> EdgeDecision:
        """What a unit has been proposed, or is now; the way that every decision takes."""
        known = self._known
        try:
            place = unit if occasion is None else (unit, occasion)
            found = known.latest.get(place) or known.earlier.get(place)
            if found is not None:
                if context is None or context == found.context:
                    return found
                return agreeing(self._renewer.held, found, context)
            held = self._serving
            x = held.index[context]
            if (
                not 0 < len(unit) <= MOST_NAME
                or not unit.isprintable()
                or unit.isspace()
                or occasion is not None
                or held.many
            ):
                check_names(unit, occasion, many=held.many)
            at, use = self._now() // 1_000 + held.offset, next(held.uses)
            if at >= held.expires or use >= held.most:
                if self._stopped is None:
                    self._want()
                raise over(held, at, self._stopped, self._renewer.refusal)
            if use == held.renewal:
                self._want()
            if not use & LOOKS and self._writer.crowded:
                self._full(True)
                raise over(held, at, self._stopped or "too many rows wait", None)
            z = held.draw(unit, occasion, x)
        except (TypeError, KeyError, AttributeError):
            raise wrong(self._renewer.held, unit, context, occasion) from None
        made = _new(
            EdgeDecision, (unit, occasion, held.contexts[x], held.proposals[z], held.number, at, held.fingerprint)
        )
        found = known.latest.setdefault(place, made)
        if found is made:
            self._append(made)
            if self._writer.over:
                known.latest.pop(place, None)  # nobody was told it
                raise over(held, at, self._stopped, None)
            if len(known.latest) >= known.half:
                known.turn()
        return found

    def _ingested(self, found: Ingested) -> None:
        """Tell what became of a batch."""
        rows, taken = self._tally.rows + found.rows, self._tally.taken + found.taken
        self._tally = replace(self._tally.plus(found), batch="", rows=rows, taken=taken)
        for lapse in found.lapsed:  # a unit that has another decision keeps what it was told
            self._known.forget(lapse)
            if (lapse.lease, lapse.lease_hash) == (self.lease.number, self._renewer.held.fingerprint):
                self._want()
        if found.refused:
            why = found.refused[0][1]  # of what is not set aside it may name a unit, which no log should
            LOG.warning(
                "%d of the %d rows of batch %s do not stand; the first: %s",
                found.set_aside + found.unrecorded,
                found.rows,
                found.batch,
                why if why.startswith(SET_ASIDE) else "it says nothing that can be recorded",
            )
        if self._telling is not None:
            try:
                self._telling(found)
            except Exception:
                LOG.exception("what is told of batches has failed")

    def _serve(self, held: Held) -> None:
        with self._state:
            if self._stopped is None:
                self._serving = held

    def _stop(self, why: str) -> None:
        self._stopped, self._serving = why, self._renewer.held.ended()

    def _full(self, full: bool) -> None:
        """Stop while the disk takes nothing and the memory is full; go on afterwards."""
        with self._state:
            if full and self._stopped is None:
                self._stop(f"too many rows wait: {self._writer.trouble or 'the disk is too slow'}")
            elif not full and self._stopped is not None and not self._ended:
                self._stopped, self._serving = None, self._renewer.held

    def _forked(self) -> None:
        """Be of no use in a child, whose locks nobody lets go of, and leave the folder to the parent alone."""
        self._turn, self._state, self._known = threading.Lock(), threading.Lock(), Remembered(2)
        self._stop("it was made before a fork, which its threads do not survive; make one in the child")
        self._ended = self._child = True
        self._segments.leave()

    def _refuse_child(self) -> None:
        if self._child:
            raise LeaseError(f"nothing can be asked for or sent: {self._stopped}")


_EDGES: "weakref.WeakSet[Edge]" = weakref.WeakSet()


def _after_fork() -> None:
    for edge in list(_EDGES):
        edge._forked()


def _at_exit() -> None:
    """What waits in memory is written to the disk, whatever ends the process in an orderly way."""
    for edge in list(_EDGES):
        edge.close(0.0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
