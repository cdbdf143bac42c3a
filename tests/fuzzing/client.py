"""One of those who send: keeps a connection, and holds every answer against what a service may answer."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fuzzing import wire
from fuzzing.furniture import Furniture

RAW_PATIENCE = 0.5
"""Seconds in which bytes that may be half a request are answered, or else are waited for to be completed."""
TRIES = 20
"""How often a service may say that it is busy, before that is a failure."""
PAUSE = 0.5


class FailedError(Exception):
    """A case failed; what went wrong is the argument, and the failure is on record."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What a service should not have done.

    Attributes:
        case: which case, as `--case` takes it.
        family: what kind of case.
        what: what went wrong, in a few words that are the same for the same cause.
        request: the bytes that led to it.
        answer: what came back.
        id: the request's id in the service's log.
    """

    case: str
    family: str
    what: str
    request: bytes
    answer: str
    id: str


@dataclass(slots=True)
class Tally:
    """What became of the cases of one family."""

    cases: int = 0
    requests: int = 0
    accepted: int = 0
    lived: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)


class Client:
    """Sends the requests of one case after the other.

    Args:
        port: where the service is, on this machine.
        furniture: what it was furnished with.
        failures: where they are put on record.
        patience: seconds after which an answer will not come.
    """

    def __init__(self, port: int, furniture: Furniture, failures: list[Failure], patience: float = 120.0) -> None:
        self.port, self.furniture, self.patience, self._failures = port, furniture, patience, failures
        self.case, self.family, self.tally, self.sent = "", "", Tally(), 0
        self._line: wire.Line | None = None

    def begin(self, case: str, family: str, tally: Tally) -> None:
        """Turn to the next case."""
        self.case, self.family, self.tally, self.sent = case, family, tally, 0
        tally.cases += 1

    @property
    def id(self) -> str:
        """What the next request is called in the service's log."""
        return f"fuzz.{self.case.replace(':', '.')}.{self.sent}"

    async def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> wire.Answer:
        """A request with the key of all scopes; bodies that are not bytes yet become JSON."""
        raw = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.furniture.key('all')}", "X-Request-ID": self.id}
        return await self.send(
            wire.request(method, path, headers | ({} if raw is None else {"Content-Type": kind}), raw)
        )

    async def send(self, request: bytes) -> wire.Answer:
        """The answer to a request, which is no error of the service's."""
        identity = self.id
        self.sent += 1
        self.tally.requests += 1
        for _ in range(TRIES):
            try:
                answer = await self._ask(request)
            except (wire.SilentError, wire.EndedError, OSError) as error:
                raise self.failed(f"{type(error).__name__}: {error}", request, "", identity) from None
            if answer.status not in (429, 503) or "retry-after" not in answer.headers:
                break
            self.tally.refused[f"{answer.status}, later"] += 1
            await asyncio.sleep(PAUSE)
        if answer.status >= 500:
            raise self.failed(f"status {answer.status}", request, answer.body.decode("utf-8", "replace"), identity)
        return answer

    async def drip(self, pieces: Sequence[bytes], pause: float, *, ends: bool) -> wire.Answer | None:
        """The answer to a request that comes piece by piece; None where the service ends what has no end."""
        identity, whole = self.id, b"".join(pieces)
        self.sent += 1
        self.tally.requests += 1
        try:
            line = await wire.Line.open(self.port)
        except OSError as error:
            raise self.failed(f"{type(error).__name__}: {error}", whole, "", identity) from None
        try:
            for piece in pieces:
                if line.closed:
                    break  # it was refused before all of it had come
                line.write(piece)
                await asyncio.sleep(pause)
            answer = await line.answer(self.patience)
        except wire.EndedError as error:
            if ends:
                raise self.failed(f"{type(error).__name__}: {error}", whole, "", identity) from None
            return None
        except wire.SilentError as error:
            raise self.failed(f"{type(error).__name__}: {error}", whole, "", identity) from None
        finally:
            line.close()
        if answer.status >= 500 and not (answer.status == 503 and "retry-after" in answer.headers):
            raise self.failed(f"status {answer.status}", whole, answer.body.decode("utf-8", "replace"), identity)
        return answer

    async def shout(self, request: bytes, *, stay: bool = True) -> list[wire.Answer]:
        """All answers to bytes on a connection of their own; none where they are no whole request, or nobody stays."""
        self.sent += 1
        self.tally.requests += 1
        found: list[wire.Answer] = []
        try:
            line = await wire.Line.open(self.port, heads=request[:5] == b"HEAD ")
        except OSError as error:
            raise self.failed(f"{type(error).__name__}: {error}", request, "", self.id) from None
        try:
            line.write(request)
            while stay:
                found.append(await line.answer(RAW_PATIENCE))
        except (wire.SilentError, wire.EndedError):
            pass
        finally:
            line.close()
        for answer in found:
            if answer.status >= 500:
                raise self.failed(f"status {answer.status}", request, answer.body.decode("utf-8", "replace"), self.id)
        return found

    def failed(self, what: str, request: bytes, answer: str, identity: str) -> FailedError:
        """Put a failure on record."""
        self.tally.failed[what] += 1
        self._failures.append(Failure(self.case, self.family, what, request, answer[:2_000], identity))
        return FailedError(what)

    async def _ask(self, request: bytes) -> wire.Answer:
        """Ask once; again on a new connection where an old one was closed meanwhile, as a server may do."""
        line, self._line = self._line, None
        old = line is not None and not line.closed
        if line is None or line.closed:
            line = await wire.Line.open(self.port)
        try:
            answer = await line.ask(request, self.patience)
        except wire.EndedError:
            if not old:
                raise
            line = await wire.Line.open(self.port)
            answer = await line.ask(request, self.patience)
        except BaseException:
            line.close()
            raise
        self._line = line
        return answer

    def close(self) -> None:
        """Close the connection."""
        if self._line is not None:
            self._line.close()


def kind_of(answer: wire.Answer) -> str:
    """The status, and the kind of problem where the answer says which."""
    said = re.search(rb'"type": ?"urn:takeup:([a-z-]+)"', answer.body[:200]) if answer.status >= 400 else None
    return str(answer.status) if said is None else f"{answer.status} {said[1].decode()}"
