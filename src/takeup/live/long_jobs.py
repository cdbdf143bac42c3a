"""Long jobs: an audit or an export of a large trial, in a process of its own.

Both read a whole log. In a thread they would compete with decisions for the interpreter; in a process they take the
other core. The job comes as JSON on standard input, not as an argument: the URL of a database may hold a password,
and arguments show in the list of processes.
"""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from takeup.errors import StoreError
from takeup.key_files import read_key
from takeup.live.anchors import Anchor, read_anchors
from takeup.live.auditing import audit
from takeup.live.export import Format, export
from takeup.pipes import attend, running
from takeup.store import looking

Kind = Literal["audit", "export"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LongJob:
    """What to do.

    Attributes:
        kind: audit, or export.
        database: where the trial is.
        trial: which trial.
        anchors: the file of anchors to compare with.
        anchor_key: the file of their key.
        file: where to export to.
        format: which of takeup.trial.formats.
        blinded: whether to leave out what unblinds.
        at: what time it is.
    """

    kind: Kind
    database: str = field(repr=False)
    trial: str
    anchors: str | None = None
    anchor_key: str | None = None
    file: str = ""
    format: Format = "csv"
    blinded: bool = True
    at: int = 0

    def run(self) -> dict[str, Any]:
        """Do it; an audit's findings, or nothing."""
        signed = self.signed()  # before the log is: what is anchored later would be missed in it
        with looking(self.database) as connection:
            if self.kind == "audit":
                return asdict(audit(connection, self.trial, signed))
            export(connection, self.trial, self.file, self.format, at=self.at, blinded=self.blinded)
        return {}

    def signed(self) -> list[Anchor] | None:
        """The anchors to compare with."""
        if self.anchors is None or self.anchor_key is None:
            return None
        return read_anchors(self.anchors, read_key(self.anchor_key))

    async def send(self) -> dict[str, Any]:
        """Have it done by a process of its own, which ends with whoever waits for it.

        Raises:
            StoreError: the process failed.
        """
        return await sent(__name__, asdict(self), self.kind)


async def sent(module: str, content: dict[str, Any], what: str) -> dict[str, Any]:
    """Have a module of ours do a job in a process of its own.

    Args:
        module: which one; it reads the job from standard input, and prints what it found.
        content: the job.
        what: what errors call it.

    Raises:
        StoreError: the process failed.
    """
    job = json.dumps(content).encode()
    (out, err), failed = await attend(
        lambda process: (process.communicate(job), process.returncode), running(module), stderr=subprocess.PIPE
    )
    if failed:
        said = err.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        raise StoreError(f"the {what} failed: {said[-1]}")
    found: dict[str, Any] = json.loads(out)
    return found


def main() -> None:
    """Do what standard input says, and print what was found."""
    json.dump(LongJob(**json.load(sys.stdin)).run(), sys.stdout)


if __name__ == "__main__":
    main()
