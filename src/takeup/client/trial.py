"""A trial of a remote service, with the methods of `takeup.live.Trial`."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

from takeup import checks, specfile
from takeup.client.client import Client, new_key, segment
from takeup.client.spool import Drawn, Spool
from takeup.errors import InputError, TakeupError, UnreachableError
from takeup.folders import private
from takeup.outcomes import Plain
from takeup.trial.commands import Ask, Decision, asks
from takeup.trial.design import Design, canonical
from takeup.trial.formats import Format, format_of
from takeup.trial.met import values_of
from takeup.trial.reporting import Receipt

DEADLINE = 2.0
_GRAIN = 2**53


class RemoteTrial(AbstractContextManager["RemoteTrial"]):
    """A trial of a service.

    With a spool, `decide` always answers within its deadline: when the service cannot be reached, the proposal is drawn
    here from the probabilities that the spec has agreed on, kept on this machine's disk, and recorded with the service
    later, exactly once. Where the service had decided after all, its decision stands.

    Args:
        client: the service.
        trial: the trial's identifier.
        spool: a file for fallbacks; without one, `decide` raises an error when the service cannot be reached.
        deadline: how many seconds a decision may take.
        draw: a random whole number below its argument.
    """

    def __init__(
        self,
        client: Client,
        trial: str,
        *,
        spool: str | Path | None = None,
        deadline: float = DEADLINE,
        draw: Callable[[int], int] = secrets.randbelow,
    ) -> None:
        self.id = trial
        self._client = client
        self._path = f"/trials/{segment(trial)}"
        self._deadline = checks.seconds("deadline", deadline)
        self._draw = draw
        self._spool = None if spool is None else Spool(spool, trial)
        if self._spool is not None and self._spool.agreed is None:
            self._agree(client.timeout)

    def close(self) -> None:
        """Close the spool."""
        if self._spool is not None:
            self._spool.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def decide(
        self,
        unit: str,
        context: str | int | None = None,
        *,
        occasion: str | None = None,
        covariates: Mapping[str, Any] | None = None,
        key: str | None = None,
        deadline: float | None = None,
    ) -> Decision | Drawn:
        """What to propose to a unit; a `Drawn` proposal where the service did not answer before the deadline.

        Takes what `takeup.live.Trial.decide` takes, and the deadline in seconds. Without a key it makes a new one.
        """
        seconds = self._deadline if deadline is None else checks.seconds("deadline", deadline)
        ask = Ask(unit=unit, context=context, occasion=occasion, covariates=covariates)
        drawn = None if self._spool is None else self._spool.drawn_for(ask.place)
        try:
            if drawn is not None:
                return self._record(drawn, seconds)
            said = self._client.call(
                "POST", f"{self._path}/decisions", _asked(ask), key=key or new_key(), timeout=seconds
            )
        except UnreachableError:
            if self._spool is None:
                raise
            return drawn or self._fall_back(ask)
        if self._spool is not None and self._spool.agreed is None:
            with suppress(UnreachableError):
                self._agree(seconds)
        return Decision(**said)

    def decide_many(
        self, units: Sequence[str | Mapping[str, Any] | Ask], *, key: str | None = None
    ) -> tuple[Decision, ...]:
        """What to propose to many units, who all see the same evidence: all are decided, or none."""
        body = {"units": [_asked(ask) for ask in asks(units)]}
        said = self._client.call("POST", f"{self._path}/decisions/batch", body, key=key or new_key())
        return tuple(Decision(**each) for each in said["decisions"])

    def report(
        self,
        decision: Decision | Drawn | int | None = None,
        *,
        unit: str | None = None,
        occasion: str | None = None,
        implemented: str | int | None = None,
        outcome: Plain | None = None,
        missing: Sequence[str] = (),
        covariates: Mapping[str, Any] | None = None,
        reason: str | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Report the action, the outcome or both for a decision, in any order, at any time.

        Takes what `takeup.live.Trial.report` takes, or a `Drawn` decision. Without a key it makes a new one.

        Raises:
            UnreachableError: the service did not answer; report again under the same key.
        """
        if isinstance(decision, Drawn):
            unit, occasion, decision = decision.unit, decision.occasion, None
        number = decision.number if isinstance(decision, Decision) else decision
        drawn = None if self._spool is None or unit is None else self._spool.drawn_for((unit, occasion or ""))
        if drawn is not None:
            self._record(drawn, self._client.timeout)
        given = {
            "decision": number,
            "unit": unit,
            "occasion": occasion,
            "implemented": implemented,
            "outcome": outcome,
            "missing": list(missing),
            "covariates": None if covariates is None else dict(covariates),
            "reason": reason,
        }
        body = {name: value for name, value in given.items() if value is not None}
        said = self._client.call("POST", f"{self._path}/reports", body, key=key or new_key())
        return Receipt(said["sequence"], said["decision"], tuple(said["corrected"]))

    def report_many(self, reports: Sequence[Mapping[str, Any]], *, key: str | None = None) -> list[dict[str, Any]]:
        """Report on many decisions; a receipt or a problem for each, in their order."""
        body = {"reports": [dict(each) for each in reports]}
        said = self._client.call("POST", f"{self._path}/reports/batch", body, key=key or new_key())
        found: list[dict[str, Any]] = said["results"]
        return found

    def take_over(self, past: Sequence[Mapping[str, Any]], *, key: str | None = None) -> int:
        """Take over those who were assigned before into a draft, all or none; how many there are.

        Args:
            past: in their order, each with unit and proposal and, as far as they are known, context, occasion,
                implemented, outcome, probability, decided and covariates.
            key: an idempotency key.
        """
        body = {"past": [dict(each) for each in past]}
        return int(self._client.call("POST", f"{self._path}/past", body, key=key or new_key())["past"])

    def waiting(self) -> list[Drawn]:
        """What was drawn here and is not recorded yet."""
        return [] if self._spool is None else self._spool.waiting()

    def flush(self) -> list[tuple[Drawn, Decision]]:
        """Record what was drawn here; each with the decision that stands, which is the service's where it had made one.

        Raises:
            UnreachableError: the service did not answer; what was recorded until then stays recorded.
            TakeupError: the service refused one of them, which stays in the spool; the others are recorded.
        """
        done, refused = [], None
        for drawn in self.waiting():
            try:
                done.append((drawn, self._record(drawn, self._client.timeout)))
            except UnreachableError:
                raise
            except TakeupError as error:  # it stays in the spool, and must not keep the others there
                refused = refused or error
        if refused is not None:
            raise refused
        return done

    def start(self, *, reason: str | None = None) -> str:
        """Begin to decide, or go on after a pause."""
        return self._move("running", reason)

    def pause(self, *, reason: str | None = None) -> str:
        """Make no decisions for a while; reports are still taken."""
        return self._move("paused", reason)

    def stop(self, *, reason: str | None = None) -> str:
        """Make no more decisions; reports are still taken, and the log shows the seed."""
        return self._move("stopped", reason)

    def amend(self, spec: Mapping[str, Any] | str | Path) -> None:
        """Replace the spec of a draft."""
        content = spec if isinstance(spec, Mapping) else specfile.read(spec)
        self._client.call("PUT", f"{self._path}/spec", dict(content))

    def show(self) -> dict[str, Any]:
        """The trial as it was designed."""
        return self._get("")

    def progress(self) -> dict[str, Any]:
        """How the trial is getting on, without anything about an arm."""
        return self._get("/progress")

    def summary(self) -> dict[str, Any]:
        """What the trial has found so far; unblinds."""
        return self._get("/summary")

    def course(self) -> dict[str, Any]:
        """Allocation and probability best over time; unblinds."""
        return self._get("/course")

    def learnt(self) -> dict[str, Any]:
        """What the policy has learnt about whom, as it believes; or the reason why there is nothing; unblinds."""
        return self._get("/learnt")

    def audit(self) -> dict[str, Any]:
        """Have the service derive everything again from the log, and compare."""
        return self._get("/audit")

    def events(self, *, after: int = 0, limit: int = 100) -> dict[str, Any]:
        """A page of the log."""
        return self._get(f"/events?after={after:d}&limit={limit:d}")

    def export(self, file: str | Path, format: Format | None = None) -> None:  # noqa: A002  # the word that people use
        """All decisions as a file: csv, parquet or jsonl, as its name ends where none is chosen."""
        answer = self._client.raw("GET", f"{self._path}/export?format={format_of(file, format)}")
        with open(file, "wb", opener=private) as opened:
            opened.write(answer.body)

    def _get(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = self._client.call("GET", self._path + path)
        return found

    def _move(self, state: str, reason: str | None) -> str:
        body = {"state": state} | ({} if reason is None else {"reason": reason})
        return str(self._client.call("PUT", f"{self._path}/state", body)["state"])

    def _agree(self, seconds: float) -> None:
        """Keep the spec to draw from, once the trial has begun and the spec cannot change any more."""
        said = self._client.call("GET", self._path, timeout=seconds)
        if said["state"] != "draft" and self._spool is not None:
            self._spool.agree(said["spec"])

    def _fall_back(self, ask: Ask) -> Drawn:
        assert self._spool is not None  # without one, nobody comes here
        if self._spool.agreed is None:
            raise UnreachableError(
                f"trial {self.id} was a draft when the service was last reached, so that nothing is agreed to draw from"
            )
        uniform = {**self._spool.agreed, "policy": {"kind": "Uniform"}}  # what is drawn from is agreed, whoever decides
        design = Design.of_text(canonical(uniform))
        met = ask.check(design)
        place = self._draw(_GRAIN) / _GRAIN * sum(design.fallback)
        proposal = next(z for z, edge in enumerate(accumulate(design.fallback)) if place < edge)
        drawn = Drawn(
            trial=self.id,
            unit=ask.unit,
            occasion=ask.occasion,
            context=design.space.contexts[met.context],
            proposal=design.space.proposals[proposal],
            at=time.time_ns() // 1_000,
            key=new_key(),
            covariates=values_of(met.covariates) or None,
        )
        return self._spool.add(drawn)

    def _record(self, drawn: Drawn, seconds: float) -> Decision:
        """Tell the service what was drawn; the decision that stands."""
        ask = Ask(unit=drawn.unit, context=drawn.context, occasion=drawn.occasion, covariates=drawn.covariates)
        body = {**_asked(ask), "proposal": drawn.proposal, "drawn": drawn.at}
        said = self._client.call("POST", f"{self._path}/fallbacks", body, key=drawn.key, timeout=seconds)
        decision = Decision(**said)
        if self._spool is not None:
            self._spool.recorded(drawn, decision.number, decision.proposal)
        return decision


def _asked(ask: Ask) -> dict[str, Any]:
    """A unit as JSON."""
    given = {"unit": ask.unit, "context": ask.context, "occasion": ask.occasion, "covariates": ask.covariates}
    if not isinstance(ask.context, str | int | None):
        raise InputError("context", repr(ask.context), "a label")
    return {name: value for name, value in given.items() if value is not None}
