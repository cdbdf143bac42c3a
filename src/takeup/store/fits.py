"""Fits to many decisions, in processes of their own, so that no request waits for one."""

import logging
import os
import subprocess
import tempfile
from dataclasses import dataclass
from typing import IO, Any

from takeup.pipes import ONE_THREAD, packed, running, unpacked
from takeup.policies.fitted import next_moment
from takeup.store.opening import shared
from takeup.trial.book import Book
from takeup.trial.fitting import Refit, due

LOG = logging.getLogger("takeup.store")

AT_ONCE = 1_000
"""Up to so many decisions models are fitted in the transaction that makes it due, in some hundredths of a second."""

MODULE = "takeup.store.fit_process"


@dataclass(slots=True)
class _Running:
    process: "subprocess.Popen[bytes]"
    found: IO[bytes]
    decisions: int


class Fits:
    """The processes of a writer that fit models, one for each trial at most.

    Args:
        url: of the database.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._running: dict[str, _Running] = {}
        self._failed: dict[str, int] = {}
        self._shared = shared(url)

    def at_once(self, book: Book) -> bool:
        """Whether models are due, and are to be fitted within the transaction."""
        return due(book) and (book.decisions <= AT_ONCE or not self._shared)

    def begin(self, book: Book) -> None:
        """Have the models of a trial fitted, if they are due; after a failure not before it has grown again."""
        wanted = due(book) and not self.at_once(book) and book.trial not in self._running
        if not wanted or book.decisions < self._failed.get(book.trial, 0):
            return
        found = tempfile.TemporaryFile()  # noqa: SIM115  # it is closed when the process has ended
        process = subprocess.Popen(running(MODULE), stdin=subprocess.PIPE, stdout=found, env=os.environ | ONE_THREAD)
        assert process.stdin is not None
        with process.stdin as question:
            question.write(packed((self._url, book.trial)))
        self._running[book.trial] = _Running(process, found, book.decisions)

    def finished(self) -> list[tuple[str, Any]]:
        """What was found since the last time, as tasks: a fit, and its trial."""
        ended = [(trial, each) for trial, each in self._running.items() if each.process.poll() is not None]
        return [(trial, fit) for trial, each in ended if (fit := self._taken(trial, each)) is not None]

    def wait(self) -> None:
        """Until all have ended."""
        for each in self._running.values():
            each.process.wait()

    def close(self) -> None:
        """End those that are running."""
        for each in self._running.values():
            each.process.kill()
            each.process.wait()
            each.found.close()
        self._running.clear()

    def _taken(self, trial: str, each: _Running) -> Refit | None:
        del self._running[trial]
        with each.found as found:
            found.seek(0)
            try:
                fit: Refit | None = unpacked(found)
            except EOFError:
                self._failed[trial] = int(next_moment(each.decisions))
                words = "the models of trial %s were not fitted, as the process ended with %s; those before go on"
                LOG.error(words, trial, each.process.returncode)
                return None
        self._failed.pop(trial, None)
        return fit
