"""Disks that are full, and disks that take no more writes, below a service."""

import asyncio
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

import faults
from gates.clients import LIMIT, GoneError
from gates.gate import AbsentError, Found, Gate, Run
from gates.scene import Fault, Scene, defective, lived_through

MEGABYTES = 512
CHUNK = 1 << 16


@contextmanager
def small(folder: Path) -> Iterator[Path]:
    """A disk of its own, in memory."""
    place = folder / "disk"
    place.mkdir()
    if not faults.small_disk(place, MEGABYTES):
        raise AbsentError("no small disk can be mounted here; it takes root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


async def fill(made: Scene, _: np.random.Generator, __: int) -> None:
    """Something else fills the disk for a second; reading goes on meanwhile."""
    filler = Path(made.database).with_name("filler")
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(CHUNK))
    try:
        await asyncio.sleep(1.0)
        await _readable(made)
    finally:
        filler.unlink()


async def _readable(made: Scene) -> None:
    path = f"/trials/{made.trial}/progress"
    status, _ = await asyncio.to_thread(made.running[0].request, "GET", path, None, made.key)
    if status != 200:
        raise GoneError(f"reading was answered {status} while nothing could be written")


class Device:
    """A file system in a file, which becomes read-only under those who have files open, as when a disk fails."""

    def __init__(self, folder: Path) -> None:
        self.image, self.place = folder / "image", folder / "disk"

    def make(self) -> None:
        """Make and mount it."""
        self.place.mkdir()
        with self.image.open("wb") as file:
            file.truncate(MEGABYTES << 20)
        try:
            _do("mkfs.ext4", "-q", "-F", str(self.image))
            self.mount()
        except (OSError, subprocess.CalledProcessError) as error:
            raise AbsentError(
                "no file system can be mounted from a file here; it takes root and loop devices"
            ) from error

    def mount(self) -> None:
        """Mount it."""
        _do("mount", "-o", "loop", str(self.image), str(self.place))

    def read_only(self) -> None:
        """What ext4 does when its disk fails: nothing more is written, whoever has what open."""
        _do("mount", "-o", "remount,abort", str(self.place))

    def mend(self) -> None:
        """Unmount, check and mount it again, once nobody has a file open: a writer outlives its service a little."""
        until = time.monotonic() + LIMIT
        while subprocess.run(["umount", str(self.place)], capture_output=True, check=False).returncode:
            if time.monotonic() > until:
                raise GoneError(f"somebody had files open for {LIMIT:g} seconds after the service was killed")
            time.sleep(0.05)
        checked = subprocess.run(["fsck.ext4", "-p", "-f", str(self.image)], capture_output=True, check=False)
        if checked.returncode > 1:  # 1: it was mended
            raise GoneError(f"the file system is broken: {checked.stdout.decode()[-200:]}")
        self.mount()


def _do(*command: str) -> None:
    subprocess.run(command, capture_output=True, check=True)


async def fail(made: Scene, _: np.random.Generator, __: int) -> None:
    """The disk becomes read-only; reading goes on; the disk is mended and the service started again."""
    device = Device(Path(made.database).parent.parent)
    await asyncio.to_thread(device.read_only)
    await asyncio.sleep(1.0)
    await _readable(made)
    made.running[0].kill()
    await asyncio.to_thread(device.mend)
    await asyncio.to_thread(made.again, 0)


def _on(place: Path, run: Run, fault: Fault, *defects: str) -> Found:
    environment = defective(*defects) if defects else None
    return lived_through(run, fault, environment=environment, database=place / "trials.db", pause=1.0)


def full(run: Run, *defects: str) -> Found:
    """The disk is full, and has room again."""
    with small(run.folder) as place:
        return _on(place, run, fill, *defects)


def read_only(run: Run, *defects: str) -> Found:
    """The disk takes no more writes."""
    device = Device(run.folder)
    device.make()
    try:
        return _on(device.place, run, fail, *defects)
    finally:
        subprocess.run(["umount", "-l", str(device.place)], check=False)


def careless_full(run: Run) -> Found:
    """The disk is full, and who fails to commit says nothing."""
    return full(run, "careless")


def careless_read_only(run: Run) -> Found:
    """The disk takes no more writes, and who fails to commit says nothing."""
    return read_only(run, "careless")


HELD = "requests are told to come again, reading goes on, and nothing that was acknowledged is lost or there twice"
FULL = Gate(
    name="full-disk",
    part="faults",
    shows=f"a disk that is full for a second, and has room again: {HELD}",
    unit="times",
    times=60,
    suite=1,
    run=full,
    without="the error of a commit that fails",
    control=careless_full,
)
GATES = (
    FULL,
    replace(
        FULL,
        name="read-only-disk",
        shows=f"a disk that fails and takes no more writes until it is mended (ext4, aborted): {HELD}",
        suite=0,
        run=read_only,
        control=careless_read_only,
    ),
)
