"""What comes before a trial: specs that are checked, sketches of specs that are rehearsed, and sandboxes."""

import hashlib
import json
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from takeup.live.sandbox import MOST_PEOPLE, Truth
from takeup.live.trial_run import DECISION_SECONDS, TriedSpec, tried
from takeup.service.background import Background, BackgroundJob
from takeup.service.lru import LruCache
from takeup.service.problem import ProblemError
from takeup.service.spec_process import SpecProcesses
from takeup.trial import Design

HOUR = 3_600.0
MOST_SKETCHES, MOST_SANDBOXES, MOST_PASSED, MOST_ANALYSES = 200, 32, 200, 50


@dataclass(slots=True, eq=False)
class Sketch:
    """A spec that was looked at and is being rehearsed.

    Attributes:
        owner: the id of the key that it belongs to.
        fields: what was filled in.
        design: what it means.
        rates: the outcome rates that the rehearsal assumes.
        job: the rehearsal.
        rules: what its rules do, and how often they err.
        trial: the draft that it would amend.
        saved: the trial that it became.
    """

    owner: str
    fields: Mapping[str, str]
    design: Design
    rates: list[list[float]]
    job: BackgroundJob
    rules: BackgroundJob
    trial: str | None = None
    saved: str | None = None

    @property
    def over(self) -> bool:
        """Whether there is nothing to wait for."""
        return self.job.over and self.rules.over

    def discard(self) -> None:
        """End what still runs."""
        self.job.cancel()
        self.rules.cancel()


@dataclass(slots=True, eq=False)
class Sandbox:
    """A trial with simulated people, in a folder of its own.

    Attributes:
        truth: what its people are like.
        policy: the policy's name.
        compliance: whether what they do is reported.
        seed: who they are.
        folder: where its database is.
        people: how many have been asked for.
        job: the last run.
        result: what the last run that is over has found.
    """

    truth: Truth
    policy: str
    compliance: str
    seed: int = field(default_factory=lambda: secrets.randbits(32))
    folder: "tempfile.TemporaryDirectory[str]" = field(
        default_factory=lambda: tempfile.TemporaryDirectory(prefix="takeup-sandbox-", ignore_cleanup_errors=True)
    )
    people: int = 0
    job: BackgroundJob | None = None
    result: Mapping[str, Any] | None = None

    @property
    def full(self) -> bool:
        """Whether it has as many people as it may have."""
        return self.people >= MOST_PEOPLE

    @property
    def database(self) -> str:
        """The file of its database."""
        return f"{self.folder.name}/sandbox.db"

    def look(self) -> BackgroundJob | None:
        """The last run; what it found is kept when it is over."""
        if self.job is not None and self.job.result is not None:
            self.result = self.job.result
        return self.job

    def discard(self) -> None:
        """Cancel the run, and delete the folder."""
        if self.job is not None:
            self.job.cancel()
        self.folder.cleanup()


@dataclass(frozen=True, slots=True, eq=False)
class LiveAnalysis:
    """The analysis of a trial.

    Attributes:
        job: the last that was asked for.
        before: what the one before found.
    """

    job: BackgroundJob
    before: Mapping[str, Any] | None = None

    @property
    def found(self) -> Mapping[str, Any] | None:
        """The latest that there is to show: what was found before stays until there is something new."""
        return self.before if self.job.result is None else self.job.result

    def discard(self) -> None:
        """End it."""
        self.job.cancel()


class Drafts:
    """The sketches, sandboxes and analyses of one process of the service, and the processes that compute for them.

    Args:
        decision_seconds: how much computing a decision of a running trial may take. In a trial run it is half of that,
            so that what passes is not paused on a slower day, and `DECISION_SECONDS` at most.
    """

    def __init__(self, decision_seconds: float = 2 * DECISION_SECONDS) -> None:
        self._decision_seconds = min(DECISION_SECONDS, decision_seconds / 2)
        self.checking = SpecProcesses()
        self._passed: LruCache[bool] = LruCache(MOST_PASSED, 12 * HOUR)
        self.background = Background()
        self.sketches: LruCache[Sketch] = LruCache(MOST_SKETCHES, 12 * HOUR, Sketch.discard)
        self.analyses: LruCache[LiveAnalysis] = LruCache(MOST_ANALYSES, 12 * HOUR, LiveAnalysis.discard)
        self.sandboxes: LruCache[Sandbox] = LruCache(MOST_SANDBOXES, 2 * HOUR, Sandbox.discard)

    async def tried(self, spec: Mapping[str, Any], source: str = "spec") -> TriedSpec:
        """A spec that was checked and has passed its trial run, in a process of its own."""
        found = await self.checking.run(partial(tried, spec, source, self._decision_seconds))
        self._passed.put(_digest(found.design.text), True)
        return found

    async def try_stored(self, text: str) -> None:
        """The same of a stored spec, which another version may have written; unless it passed here not long ago."""
        if self._passed.get(_digest(text)) is None:
            await self.tried(json.loads(text), "the stored spec")

    def rehearse(
        self, content: Mapping[str, Any], owner: str, target: float | None = None
    ) -> tuple[BackgroundJob, BackgroundJob]:
        """Start a rehearsal, and before it a look at the rules; earlier ones of the same owner end."""
        for sketch in self.sketches:
            if sketch.owner == owner:
                sketch.discard()
        rules = self.preview(content, target)
        try:
            return self.background.start("takeup.live.rehearsal", content), rules
        except ProblemError:
            rules.cancel()
            raise

    def preview(self, content: Mapping[str, Any], target: float | None = None) -> BackgroundJob:
        """Start to look at what the rules of a spec do; with a target, look for the threshold that keeps it."""
        return self.background.start("takeup.design.preview", {**content, "target": target})

    def analyse(self, database: str, trial: str) -> None:
        """Start to analyse a trial, unless that is under way."""
        last = self.analyses.get(trial)
        if last is None or last.job.over:
            job = self.background.start("takeup.analysis.job", {"database": database, "trial": trial})
            self.analyses.put(trial, LiveAnalysis(job, None if last is None else last.found))

    async def close(self) -> None:
        """End everything, and leave nothing behind."""
        await self.checking.close()
        await self.background.close()
        self.analyses.clear()
        self.sandboxes.clear()
        self.sketches.clear()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
