"""Secrets that are where none belongs, and files that others may read."""

from pathlib import Path

import secret_day
from gates.blinding import replaced
from gates.gate import Found, Gate, Run
from takeup.store import sqlite


def days(run: Run, *, seal: bool = True) -> Found:
    """So many days, until a secret or an open file is found."""
    looked = places = 0
    for number in range(run.times):
        folder = run.folder / str(number)
        folder.mkdir(mode=0o700)
        day = secret_day.lived(folder, seal=seal)
        found = [*day.found(), *day.open_to_others()]
        if found:
            return Found(False, f"day {number + 1}: {len(found)} findings, the first: {found[0]}")
        looked, places = looked + len(day.secret), places + len(day.left)
        run.step(number + 1)
    return Found(True, f"{looked} secrets, each as text, hexadecimal, base64, number: in none of {places} places")


def unsealed(run: Run) -> Found:
    """The seeds are in the database as they are."""
    return days(run, seal=False)


def modes(run: Run) -> Found:
    """A database, its log, anchors, keys and exports, made where everybody may read what is made."""
    with secret_day.surroundings():
        files = secret_day.written(run.folder)
    wide = {name: mode for name, mode in files.items() if mode & 0o077}
    if wide:
        name, mode = next(iter(wide.items()))
        return Found(False, f"{len(wide)} of {len(files)} files, among them {name} with mode {mode:04o}")
    return Found(True, f"{len(files)} files, all for their owner alone")


def without_modes(run: Run) -> Found:
    """SQLite makes its files by itself."""
    with replaced(sqlite, "_create", lambda path: Path(path).touch() if path else None):
        return modes(run)


GATES = (
    Gate(
        name="secrets",
        part="secrets and rights",
        shows="a day with people, keys, trials, every kind of error, commands and a backup, under TAKEUP_SEAL_KEY: no"
        " key, seed, password, session, invitation or key of codes in a log, error, process list, export or backup",
        unit="days",
        times=10,
        suite=0,
        run=days,
        without="the sealing of seeds",
        control=unsealed,
    ),
    Gate(
        name="modes",
        part="secrets and rights",
        shows="umask 000: database, -wal, -shm, anchors, keys, spool and exports are for their owner alone",
        unit="umasks",
        times=1,
        suite=1,
        run=modes,
        without="files that are made before SQLite opens them",
        control=without_modes,
    ),
)
