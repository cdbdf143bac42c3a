"""The thread that sends an edge's batches to the service, and deletes what the service has."""

import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic as clock
from urllib.parse import urlencode

from takeup.client.client import Client
from takeup.client.segments import Segments
from takeup.errors import TakeupError, UnreachableError
from takeup.trial.ingested import Ingested, Lapse

LOG = logging.getLogger("takeup.client")
MEDIA = "application/x-ndjson"
LOOK_SECONDS = 1.0
"""How often to look for batches that nobody told of."""
AGAIN_SECONDS = 1.0
LATER_SECONDS = 30.0
"""How long to wait after a refusal that has to do with the key or the trial, and not with the batch."""
OF_THE_BATCH = frozenset({"conflict", "reused-key", "malformed", "input", "too-large"})
"""The problems that say that a batch is wrong itself: sent again, it would be refused again."""
_COUNTS = ("rows", "taken", "recorded", "standing", "set_aside", "reported")


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
        self._refused: dict[str, str] = {}
        self._ending = threading.Event()
        self._turn = threading.Lock()

    @property
    def kept(self) -> str | None:
        """What is not sent any more, and why."""
        files = self._segments.kept()
        if not files:
            return None
        why = self._refused.get(files[0].name, "an earlier edge, or the log of this one, has said why")
        return f"kept in {self._segments.folder}, and not sent any more: {len(files)}, the first {files[0].name}: {why}"

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
            pause = self.send_all(None, self._ending.is_set)
            if pause:
                self._ending.wait(pause)

    def send_all(self, seconds: float | None, stop: Callable[[], bool] = lambda: False) -> float:
        """Send all that is closed, as far as it is taken; how long to wait before the next try, 0 where none is needed.

        Args:
            seconds: how long it may take; None where each batch may take as long as the client lets a request.
            stop: asked before every try: whether to send nothing more.
        """
        until = None if seconds is None else clock() + seconds
        try:
            for path in (*self._segments.closed(), None):  # at the end, until what another thread has sent is told
                pause = self._in_turn(path, until, stop)
                if pause:
                    return pause
        except Exception as error:  # of whatever ends a thread nobody would hear
            LOG.exception("sending has failed")
            return self._put_off("a batch", f"sending has failed: {error!r}", LATER_SECONDS)
        return 0.0

    def _in_turn(self, path: Path | None, until: float | None, stop: Callable[[], bool]) -> float:
        """Send one batch while no other thread does; how long to wait where it is not taken now."""
        until = clock() + self._client.timeout if until is None else until
        if not self._turn.acquire(timeout=max(0.0, until - clock())):
            return AGAIN_SECONDS
        try:
            if path is None:
                return 0.0
            left = until - clock()
            return self._send(path, left, stop) if left > 0 else AGAIN_SECONDS
        finally:
            self._turn.release()

    def _send(self, path: Path, seconds: float, stop: Callable[[], bool]) -> float:
        """Send one batch; how long to wait where it is not taken now."""
        try:
            body = self._segments.body(path)
            where = f"{self._path}/ingest?{urlencode({'batch': path.stem})}"
            answer = self._client.raw("POST", where, body, media=MEDIA, timeout=seconds, stop=stop)
            found = _read(answer.body)
            if (found.batch, found.rows, found.taken) != (path.stem, body.count(b"\n"), found.rows):
                raise ValueError(f"the answer is about {found.taken} rows of batch {found.batch}")
            self._segments.sent(path)
        except FileNotFoundError:  # another thread has sent it meanwhile
            return 0.0
        except (UnreachableError, OSError) as error:
            if stop():  # it was broken off; whoever ends it sends the rest, and tells
                return AGAIN_SECONDS
            return self._put_off(path.stem, str(error), AGAIN_SECONDS)
        except TakeupError as error:
            if error.kind not in OF_THE_BATCH:
                return self._put_off(path.stem, str(error), LATER_SECONDS)
            kept = self._segments.refuse(path)
            self._refused[kept.name] = str(error)
            LOG.error("batch %s is refused and kept as %s: %s", path.stem, kept, error)
            self.problem = None
            return 0.0
        except (ValueError, KeyError, TypeError) as error:
            return self._put_off(path.stem, f"an answer that is none of the service's: {error!r}", LATER_SECONDS)
        self.problem = None
        self._told(found)
        return 0.0

    def _put_off(self, batch: str, why: str, seconds: float) -> float:
        """Keep a batch for another try; how long to wait for it."""
        if self.problem is None:
            LOG.warning("batch %s waits: %s", batch, why)
        self.problem = why
        return seconds


def _read(body: bytes) -> Ingested:
    """An answer of the service; what a later one may have besides is passed over, and `lapsed` an earlier one may lack.

    Raises:
        ValueError, KeyError, TypeError: it is none.
    """
    said = json.loads(body)
    refused = tuple((int(each["row"]), str(each["why"])) for each in said["refused"])
    lapsed = tuple(Lapse(int(each["lease"]), each["lease_hash"], int(each["drawn"])) for each in said.get("lapsed", ()))
    counts = {name: int(said[name]) for name in _COUNTS}
    return Ingested(batch=said["batch"], refused=refused, lapsed=lapsed, **counts)
