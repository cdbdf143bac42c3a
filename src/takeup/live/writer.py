"""The process that writes for a service, where the database allows another one."""

import gc
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from takeup import logs
from takeup.live.anchors import Anchors, read_key
from takeup.pipes import running, standard
from takeup.store import Store, Writer, shared
from takeup.store.apart import Apart, attend


@dataclass(frozen=True, slots=True)
class Opening:
    """What a writer is told.

    Attributes:
        database: a URL or a file's path.
        anchors: a file that signed anchors of the logs' heads are appended to.
        anchor_key: the file of the key that signs them.
    """

    database: str
    anchors: Path | None = None
    anchor_key: Path | None = None

    def open(self) -> Writer:
        """What writes, with whoever signs the heads."""
        witness = None
        if self.anchors is not None and self.anchor_key is not None:
            witness = Anchors(self.anchors, read_key(self.anchor_key))
        return Writer(self.database, witness=witness)

    def store(self) -> Store:
        """The database, with a writer in a process of its own; in this one, where nobody else may open it."""
        if shared(self.database):
            return Store(self.database, writer=Apart(running("takeup.live.writer"), self))
        return Store(self.database, writer=self.open())


def main() -> None:
    """Write until the input ends, which it does with whoever asks; signals are for them."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    logs.configure(sys.stderr)
    gc.collect()
    gc.freeze()  # what was imported stays for ever, and need not be looked at again
    attend(lambda setting: setting.open(), *standard())


if __name__ == "__main__":
    main()
