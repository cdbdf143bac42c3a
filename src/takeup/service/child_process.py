"""A child process that does one task at a time: how it is asked, and what happens when it dies or hangs."""

import asyncio
import os
import pickle
from collections.abc import Mapping
from typing import Any

from takeup.errors import TakeupError
from takeup.pipes import HEAD, packed


class ChildError(TakeupError):
    """A child process came to no answer."""


class ChildProcess:
    """One child process: it starts with the first task, is replaced when it dies, and ends when its input closes.

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
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """Its number, while it runs."""
        return None if self._process is None or self._process.returncode is not None else self._process.pid

    async def ask(self, task: Any) -> Any:
        """Have a task done; one at a time.

        Raises:
            ChildError: it was not done.
        """
        async with self._turn:
            try:
                process = await self._started()
                return await asyncio.wait_for(_exchange(process, task), self._patience)
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

    async def _started(self) -> asyncio.subprocess.Process:
        if self.pid is None:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=self._environment,
            )
        assert self._process is not None
        return self._process

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()


async def _exchange(process: asyncio.subprocess.Process, task: Any) -> Any:
    assert process.stdin is not None  # both are pipes
    assert process.stdout is not None
    process.stdin.write(packed(task))
    await process.stdin.drain()
    (size,) = HEAD.unpack(await process.stdout.readexactly(HEAD.size))
    return pickle.loads(await process.stdout.readexactly(size))  # our own process wrote it
