"""Fallback proposals on this machine's disk, kept until the service has recorded them."""

import json
import os
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from takeup import whole_lines
from takeup.covariates.kinds import Value
from takeup.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A proposal that a client drew by itself, as the service could not be reached.

    Attributes:
        trial: the trial's identifier.
        unit: who it is for.
        occasion: which of the unit's decisions; None where a unit has one.
        context: x.
        proposal: z.
        at: when it was drawn, in microseconds since 1970, UTC.
        key: the idempotency key under which it will be recorded.
        covariates: by name, where the trial has some.
    """

    trial: str
    unit: str
    occasion: str | None
    context: str
    proposal: str
    at: int
    key: str
    covariates: dict[str, Value] | None = None

    @property
    def place(self) -> tuple[str, str]:
        """Unit and occasion, which identify the decision."""
        return self.unit, self.occasion or ""


class Spool:
    """A file of JSON lines: what was agreed, what was drawn, what was recorded.

    A line is on the disk before anybody acts on it. A line that a crash cut off was never acted on, and is dropped.

    Args:
        path: the file; one process at a time may have it.
        trial: the trial that it is for.
    """

    def __init__(self, path: str | Path, trial: str) -> None:
        self.path, self.trial = Path(path), trial
        self.agreed: dict[str, Any] | None = None
        self._waiting: dict[tuple[str, str], Drawn] = {}
        self._lock = threading.Lock()
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise InputError("spool", str(path), f"a file that can be written to ({error.strerror})") from None
        try:
            self._claim()
            self._read()
            whole_lines.sync_folder(self.path.parent)
        except BaseException:
            os.close(self._file)
            raise

    def waiting(self) -> list[Drawn]:
        """What is not recorded yet, oldest first."""
        with self._lock:
            return list(self._waiting.values())

    def drawn_for(self, place: tuple[str, str]) -> Drawn | None:
        """What was drawn for a unit and is not recorded yet."""
        with self._lock:
            return self._waiting.get(place)

    def agree(self, spec: dict[str, Any]) -> None:
        """Keep the spec of a trial that has begun: it will not change, and says what to draw from."""
        if self.agreed != spec:
            self._write("agreed", {"trial": self.trial, "spec": spec})
            self.agreed = spec

    def add(self, drawn: Drawn) -> Drawn:
        """Keep what was drawn, unless another thread was first: then its draw is the answer."""
        with self._lock:
            if drawn.place not in self._waiting:
                self._write("drawn", asdict(drawn))
                self._waiting[drawn.place] = drawn
            return self._waiting[drawn.place]

    def recorded(self, drawn: Drawn, number: int, proposal: str) -> None:
        """The service has it; `proposal` is what stands."""
        with self._lock:
            if self._waiting.get(drawn.place) == drawn:
                self._write("recorded", {"key": drawn.key, "number": number, "proposal": proposal})
                del self._waiting[drawn.place]

    def close(self) -> None:
        """Close the file."""
        with self._lock, suppress(OSError):
            os.close(self._file)

    def _claim(self) -> None:
        if not whole_lines.claimed(self._file):
            raise InputError("spool", str(self.path), "a file that no other client is using")

    def _read(self) -> None:
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.ftruncate(self._file, whole)
        by_key: dict[str, Drawn] = {}
        for number, text in enumerate(content[:whole].splitlines(), start=1):
            try:
                self._take(json.loads(text), by_key)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InputError("spool", f"{self.path}, line {number}", f"a line of this trial ({error})") from None

    def _take(self, line: dict[str, Any], by_key: dict[str, Drawn]) -> None:
        kind = line.pop("kind")
        if kind == "agreed":
            if line["trial"] != self.trial:
                raise ValueError(f"the spool is that of trial {line['trial']}")
            self.agreed = line["spec"]
        elif kind == "drawn":
            drawn = Drawn(**line)
            by_key[drawn.key] = self._waiting[drawn.place] = drawn
        else:
            del self._waiting[by_key[line["key"]].place]

    def _write(self, kind: str, line: dict[str, Any]) -> None:
        whole_lines.append(self._file, json.dumps({"kind": kind, **line}).encode() + b"\n")
