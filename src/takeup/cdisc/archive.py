"""All datasets of a live trial in one file, for the button of its page."""

import json
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from sqlalchemy import Connection

from takeup.cdisc.datasets import datasets_of
from takeup.cdisc.files import write
from takeup.cdisc.study import Study
from takeup.cdisc.trials import study_in
from takeup.cdisc.xpt import check
from takeup.errors import InputError
from takeup.live.long_jobs import sent
from takeup.store import looking


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveJob:
    """A trial whose archive is written by a process of its own.

    Attributes:
        database: where the trial is.
        trial: which trial.
        file: where to write to.
    """

    database: str = field(repr=False)
    trial: str
    file: str

    def run(self) -> dict[str, Any]:
        """Write it; why not, where the trial is none that CDISC has a place for."""
        try:
            with looking(self.database) as connection:
                archive(connection, self.trial, Path(self.file))
        except InputError as error:
            return {"problem": str(error)}
        return {}

    async def send(self) -> dict[str, Any]:
        """Have it done elsewhere.

        Raises:
            StoreError: the process failed.
        """
        return await sent(__name__, asdict(self), "archive")


def archive(connection: Connection, trial: str, file: Path) -> None:
    """Write all datasets of a trial into a ZIP file; unblinds.

    Dataset-JSON always, and SAS transport files beside it where they can be written and hold every text.
    """
    study = study_in(connection, trial)
    with tempfile.TemporaryDirectory(prefix="takeup-cdisc-") as kept:
        folder = Path(kept) / trial
        names = write(study, folder, transport=_transport(study))
        with ZipFile(file, "w", ZIP_DEFLATED) as packed:
            for name in names:
                packed.write(folder / name, f"{trial}/{name}")


def _transport(study: Study) -> bool:
    """Whether transport files can be written here, and can hold this study."""
    if find_spec("pyreadstat") is None or find_spec("polars") is None:
        return False
    try:
        for each in datasets_of(study):
            check(each)
    except InputError:
        return False
    return True


def main() -> None:
    """Do what standard input says, and print what became of it."""
    json.dump(ArchiveJob(**json.load(sys.stdin)).run(), sys.stdout)


if __name__ == "__main__":
    main()
