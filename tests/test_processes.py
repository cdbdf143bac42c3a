"""Other processes of a service: the loop that answers never waits for them, and none stays behind."""

import asyncio
import io
import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from takeup.errors import StoreError
from takeup.live import job_process
from takeup.live.long_jobs import LongJob
from takeup.pipes import attend
from takeup.service import background
from takeup.service.background import Background, BackgroundJob
from takeup.service.child_process import ChildError, ChildProcess

SILENT = (sys.executable, "-c", "input()")
"""Says nothing until its input ends."""


class Starts:
    """The processes that were started, each in which thread; while `hold` is not set a start takes long."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []
        self.processes: list[subprocess.Popen[bytes]] = []
        self.begun, self.hold = threading.Event(), threading.Event()
        self.hold.set()

    async def until(self, event: threading.Event) -> None:
        await asyncio.to_thread(event.wait)

    @property
    def ended(self) -> bool:
        return all(each.returncode is not None for each in self.processes)


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Starts]:
    found, real = Starts(), subprocess.Popen

    def start(*args: Any, **options: Any) -> "subprocess.Popen[bytes]":
        found.threads.append(threading.current_thread())
        found.begun.set()
        found.hold.wait(60)
        found.processes.append(real(*args, **options))
        return found.processes[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    yield found
    found.hold.set()


async def check_specs() -> None:
    child = ChildProcess("ends at once", (sys.executable, "-c", ""), 60)
    with pytest.raises(ChildError, match="has ended"):
        await child.ask(5)


async def simulate() -> None:
    job = Background().start("takeup.version", {})
    assert job.task is not None
    await job.task
    assert job.problem == "it broke off"


async def audit() -> None:
    with pytest.raises(StoreError, match="the audit failed"):
        await LongJob(kind="audit", database="sqlite:////nowhere/t.db", trial="t").send()


@pytest.mark.parametrize("job", [check_specs, simulate, audit])
def test_the_loop_does_not_wait_until_a_process_runs(job: Callable[[], Awaitable[None]], starts: Starts) -> None:
    async def main() -> None:
        starts.hold.clear()
        task = asyncio.ensure_future(job())
        await starts.until(starts.begun)  # the loop goes on meanwhile
        starts.hold.set()
        await task

    asyncio.run(main())
    assert threading.current_thread() not in starts.threads
    assert starts.ended


@pytest.mark.parametrize("early", [True, False], ids=["while it starts", "while it runs"])
@pytest.mark.parametrize("child", [True, False])
def test_a_process_that_nobody_waits_for_is_killed(early: bool, child: bool, starts: Starts) -> None:
    async def main() -> None:
        def talk(process: "subprocess.Popen[bytes]") -> bytes:
            assert process.stdout is not None
            return process.stdout.read()

        if early:
            starts.hold.clear()
        task = asyncio.ensure_future(ChildProcess("waits", SILENT, 600).ask(5) if child else attend(talk, SILENT))
        await starts.until(starts.begun)
        if not early:
            while not starts.processes:
                await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0.01)
        starts.hold.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert starts.ended


def test_a_child_works_again_after_its_asker_was_cancelled_twice(starts: Starts) -> None:
    """The second time while the first is still being seen to."""
    echo = (
        "import sys; head = sys.stdin.buffer.read(8); sys.stdout.buffer.write(head + sys.stdin.buffer.read(head[-1]))"
    )

    async def main() -> None:
        child = ChildProcess("repeats", (sys.executable, "-c", echo), 600)
        starts.hold.clear()
        task = asyncio.ensure_future(child.ask(5))
        await starts.until(starts.begun)
        task.cancel()
        while not child._unwanted:
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        starts.hold.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await child.ask(5) == 5
        await child.close()

    asyncio.run(main())
    assert starts.ended


@pytest.mark.skipif(sys.platform == "win32", reason="no limits there")
def test_who_computes_for_too_long_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen cores may compute for sixteen times as long; what the system ends then is told apart from a failure."""
    import resource

    limits: dict[int, tuple[int, int]] = {}
    monkeypatch.setattr(resource, "setrlimit", lambda which, given: limits.update({which: given}))
    monkeypatch.setattr(os, "nice", lambda _: None)
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    monkeypatch.setattr(sys, "stdin", io.StringIO("{}"))
    job_process.attend(lambda content, say: content)
    soft, hard = limits[resource.RLIMIT_CPU]
    assert (soft, hard > soft) == (16 * job_process.CPU_SECONDS, True)

    async def main() -> str | None:
        job = Background().start("anything", {})
        assert job.task is not None
        await job.task
        return job.problem

    end = "import os, signal; os.kill(os.getpid(), signal.SIGXCPU)"
    monkeypatch.setattr(background, "running", lambda _: (sys.executable, "-c", end))
    assert asyncio.run(main()) == "it took more than 120 seconds of every processor and was ended"


def test_what_was_found_before_a_job_broke_off_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(code: str) -> BackgroundJob:
        monkeypatch.setattr(background, "running", lambda _: (sys.executable, "-c", code))
        job = Background().start("anything", {})
        assert job.task is not None
        await job.task
        return job

    part = 'print(\'{"progress": 0.5, "result": {"n": 1}}\\n{"progress": 0.6}\', flush=True);'
    broken = asyncio.run(main(f"{part} raise SystemExit(3)"))
    assert (broken.state, broken.problem, broken.result) == ("failed", "it broke off", {"n": 1})
    whole = asyncio.run(main(part + 'print(\'{"result": {"n": 2}}\')'))
    assert (whole.state, whole.problem, whole.result) == ("done", None, {"n": 2})
