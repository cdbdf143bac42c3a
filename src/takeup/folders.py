"""Folders that a command fills: all of their files or none; and files that are for their owner alone."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree

from takeup.errors import InputError


def check(directory: Path, option: str = "--out") -> None:
    """Raise an error if nothing could be written there: before hours of work, not after. `option` is who said it."""
    if directory.exists() and not directory.is_dir():
        raise InputError(option, directory, "a folder, or a name that is free", "choose another")
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory if directory.exists() else directory.parent):
            pass
    except OSError as error:
        raise InputError(option, directory, "a folder that can be written to", str(error)) from None


def private(path: str, flags: int) -> int:
    """An opener for `open`: a new file is for its owner alone, whatever the umask; one that is there stays as it is."""
    return os.open(path, flags, 0o600)


@contextmanager
def filled(directory: Path, last: str, ours: re.Pattern[str] | None = None, *, alone: bool = False) -> Iterator[Path]:
    """A temporary folder on the same disk, whose files are moved at the end, where nothing went wrong.

    The folder is made where it does not exist; files of the same names in it are replaced, that called `last` as the
    last. Where it is there already, other files whose names are `ours` are of an earlier run, and removed. With `alone`
    the files, and the folder where it is made, are for their owner alone, whatever the umask: they are of people.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".takeup-", dir=directory.parent))
    try:
        yield folder
        directory.mkdir(mode=0o700 if alone else 0o777, parents=True, exist_ok=True)
        made = {file.name for file in folder.iterdir()}
        if ours is not None and (directory / last).is_file():
            for file in directory.iterdir():
                if ours.fullmatch(file.name) and file.name not in made and file.is_file():
                    file.unlink()
        for file in sorted(folder.iterdir(), key=lambda file: file.name == last):
            if alone:
                file.chmod(0o600)
            os.replace(file, directory / file.name)
    finally:
        rmtree(folder)
