"""A child process that does one task at a time: how it is asked, and what happens when it dies or hangs."""

import asyncio
import os
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from takeup.errors import TakeupError
from takeup.pipes import packed, unpacked


class ChildError(TakeupError):
    """A child process came to no answer."""


class ChildProcess:
    """One child process: it starts with the first task, is replaced when it dies, and ends when its input closes.

    It is started and talked to in a thread: on a busy machine it takes long until a new process runs.

    Args:
        does: what it does, in words.
        command: how to start it.
        patience: how many seconds a task may take.
        environment: variables that it has besides ours.
    """

    def __init__(
        self, does: str, command: tuple[str, ...], patience: float, environment: Mapping[str, str] | None = None
    ) -> None:
        self._does, self._command, self._patience = does, command, patience
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._unwanted = False
        self._turn = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="takeup-child")

    @property
    def pid(self) -> int | None:
        """Its number, while it runs."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    async def ask(self, task: Any) -> Any:
        """Have a task done; one at a time.

        Raises:
            ChildError: it was not done.
        """
        async with self._turn:
            try:
                exchange = asyncio.get_running_loop().run_in_executor(self._thread, self._exchange, task)
                return await asyncio.wait_for(exchange, self._patience)
            except TimeoutError:
                await self._end()
                raise ChildError(f"the process that {self._does} took longer than {self._patience:g} seconds") from None
            except (OSError, EOFError) as error:
                await self._end()
                why = error or type(error).__name__
                raise ChildError(f"the process that {self._does} has ended ({why})") from error
            except BaseException:
                await self._end()  # or it would answer the next task with this one's result
                raise

    async def close(self) -> None:
        """End the process."""
        await self._end()

    async def _end(self) -> None:
        """Kill the process, even one that is just being started, and wait for its end."""
        self._unwanted = True
        if self._process is not None:
            self._process.kill()
        ended = asyncio.get_running_loop().run_in_executor(self._thread, self._ended)
        await asyncio.shield(ended)  # who is cancelled once more does not wait; it ends all the same

    def _exchange(self, task: Any) -> Any:
        """In the thread: have a task done."""
        if self.pid is None:
            self._bury()
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, env=self._environment)
        process = self._process
        assert process is not None
        assert process.stdin is not None  # both are pipes
        assert process.stdout is not None
        if self._unwanted:
            process.kill()
        process.stdin.write(packed(task))
        process.stdin.flush()
        return unpacked(process.stdout)

    def _ended(self) -> None:
        """In the thread, after what it was doing: the next process is wanted again."""
        self._bury()
        self._unwanted = False

    def _bury(self) -> None:
        """In the thread: clean up after a process that has ended."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(OSError), process:
                pass
