"""The thread that sends an edge's batches to the service, and deletes what the service has."""

import json
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

from takeup.client.client import Client
from takeup.client.segments import Segments
from takeup.errors import AccessError, StateError, TakeupError, UnreachableError
from takeup.trial.ingesting import Ingested

LOG = logging.getLogger("takeup.client")
MEDIA = "application/x-ndjson"
LOOK_SECONDS = 1.0
"""How often to look for batches that nobody told of."""
AGAIN_SECONDS = 1.0
LATER_SECONDS = 30.0
"""How long to wait after a refusal that has to do with the key or the trial, and not with the batch."""


class Sender(threading.Thread):
    """Sends what is closed, oldest first, until the service has it.

    Args:
        client: the service.
        path: the trial's path there.
        segments: where the batches are.
        rolled: set when there is another.
        told: called with what became of each batch.

    Attributes:
        problem: why the oldest batch has not been taken so far.
    """

    def __init__(
        self,
        client: Client,
        path: str,
        segments: Segments,
        rolled: threading.Event,
        told: Callable[[Ingested], None],
    ) -> None:
        super().__init__(name="takeup-edge-sender", daemon=True)
        self.problem: str | None = None
        self._client, self._path, self._segments, self._rolled, self._told = client, path, segments, rolled, told
        self._ending = threading.Event()
        self._turn = threading.Lock()

    def end(self, seconds: float) -> None:
        """Send what is there, for so many seconds at the most, and nothing after that."""
        self._ending.set()
        self._rolled.set()
        if seconds > 0:
            self.send_all(seconds)

    def run(self) -> None:
        """Send, until it is to end."""
        while not self._ending.is_set():
            self._rolled.wait(LOOK_SECONDS)
            self._rolled.clear()
            pause = self.send_all(self._client.timeout, self._ending.is_set)
            if pause:
                self._ending.wait(pause)

    def send_all(self, seconds: float, stop: Callable[[], bool] = lambda: False) -> float:
        """Send all that is closed, as far as it is taken; how long to wait before the next try, 0 where none is needed.

        Args:
            seconds: how long it may take.
            stop: asked before every try: whether to send nothing more.
        """
        until = time.monotonic() + seconds
        if not self._turn.acquire(timeout=seconds):
            return AGAIN_SECONDS
        try:
            for path in self._segments.closed():
                pause = self._send(path, max(0.0, until - time.monotonic()), stop)
                if pause:
                    return pause
        finally:
            self._turn.release()
        return 0.0

    def _send(self, path: Path, seconds: float, stop: Callable[[], bool]) -> float:
        """Send one batch; how long to wait where it is not taken now."""
        try:
            where = f"{self._path}/ingest?{urlencode({'batch': path.stem})}"
            answer = self._client.raw("POST", where, self._segments.body(path), media=MEDIA, timeout=seconds, stop=stop)
            said = json.loads(answer.body)
            refused = tuple((int(each["row"]), str(each["why"])) for each in said["refused"])
            found = Ingested(**{**said, "refused": refused})
        except (UnreachableError, AccessError, StateError, OSError) as error:
            if stop():  # it was broken off; whoever ends it sends the rest, and tells
                return AGAIN_SECONDS
            return self._put_off(path, error, LATER_SECONDS if isinstance(error, AccessError | StateError) else 0.0)
        except TakeupError as error:
            kept = self._segments.refuse(path)
            self.problem = f"batch {path.stem} is refused and kept as {kept}: {error}"
            LOG.error("%s", self.problem)
            return 0.0
        except (ValueError, KeyError, TypeError) as error:  # an answer that is none of the service's
            return self._put_off(path, error, LATER_SECONDS)
        self._segments.sent(path)
        self.problem = None
        self._told(found)
        return 0.0

    def _put_off(self, path: Path, error: Exception, seconds: float) -> float:
        """Keep a batch for another try; how long to wait for it."""
        if self.problem is None:
            LOG.warning("batch %s waits: %s", path.stem, error)
        self.problem = str(error)
        return max(seconds, AGAIN_SECONDS)
