"""Simulations for the pages: in processes of their own, one at a time, for a bounded time."""

import asyncio
import json
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from takeup.errors import StoreError
from takeup.live.job_process import CPU_SECONDS
from takeup.pipes import attend, running
from takeup.service.problem import ProblemError

SECONDS = 90.0
"""A simulation that takes longer is ended."""
MOST_WAITING = 16
MOST_BYTES = 16_000_000
"""The longest line that a process may print."""

XCPU = getattr(signal, "SIGXCPU", 0)
"""The signal that ends a process which has computed for too long, where there is one."""
TOO_LONG = f"it took more than {CPU_SECONDS} seconds of every processor and was ended"

State = Literal["waiting", "running", "done", "failed"]


@dataclass(slots=True, eq=False)
class BackgroundJob:
    """A simulation that waits, runs or is over.

    Attributes:
        state: how far it is.
        progress: the share that is done.
        result: what it found; part of it, where there is some before it is over.
        problem: why it failed.
        task: what waits for it.
    """

    state: State = "waiting"
    progress: float = 0.0
    result: Mapping[str, Any] | None = None
    problem: str | None = None
    task: "asyncio.Task[None] | None" = None

    @property
    def over(self) -> bool:
        """Whether there is nothing to wait for."""
        return self.state in ("done", "failed")

    def cancel(self) -> None:
        """End it, if it is not over."""
        if self.task is not None:
            self.task.cancel()


class Background:
    """The simulations of one process of the service."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(1)
        self._jobs: set[BackgroundJob] = set()

    def start(self, module: str, content: Mapping[str, Any]) -> BackgroundJob:
        """Run a module in a process of its own, after the jobs that were started before.

        Raises:
            ProblemError: too many wait already.
        """
        if len(self._jobs) >= MOST_WAITING:
            raise ProblemError(
                "too-many", "too many simulations are waiting; try again later", headers={"Retry-After": "5"}
            )
        job = BackgroundJob()
        self._jobs.add(job)
        job.task = asyncio.create_task(self._attend(job, module, content))
        job.task.add_done_callback(lambda _: self._ended(job))
        return job

    def _ended(self, job: BackgroundJob) -> None:
        """Drop a job that is over; one that was cancelled before its turn has failed."""
        self._jobs.discard(job)
        if not job.over:
            job.state, job.problem = "failed", "it was ended"

    async def close(self) -> None:
        """End them all."""
        tasks = [job.task for job in self._jobs if job.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _attend(self, job: BackgroundJob, module: str, content: Mapping[str, Any]) -> None:
        try:
            async with self._turn, asyncio.timeout(SECONDS):
                job.state = "running"
                ended = await attend(partial(_listen, job, content), running(module), stderr=subprocess.DEVNULL)
            if job.problem is None and (ended or job.result is None):
                job.problem = TOO_LONG if XCPU and ended == -XCPU else "it broke off"
        except TimeoutError:
            job.problem = f"it took more than {SECONDS:.0f} seconds and was ended"
        except asyncio.CancelledError:
            job.problem = "it was ended"
            raise
        except (StoreError, OSError, ValueError) as error:
            job.problem = str(error)
        finally:
            job.state = "done" if job.problem is None else "failed"


def _listen(job: BackgroundJob, content: Mapping[str, Any], process: "subprocess.Popen[bytes]") -> int:
    """Tell a process what to simulate, and note what it says; how it ended."""
    assert process.stdin is not None  # both are pipes
    assert process.stdout is not None
    with suppress(BrokenPipeError):  # it has ended already, and said why
        process.stdin.write(json.dumps(content).encode())
        process.stdin.close()
    while line := process.stdout.readline(MOST_BYTES):
        said = json.loads(line)
        job.progress = min(1.0, said.get("progress", job.progress))
        job.result, job.problem = said.get("result", job.result), said.get("problem")
    return process.wait()
