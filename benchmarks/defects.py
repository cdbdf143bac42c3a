"""How many of the seeded defects of defects.toml the suite catches.

make defects                       all of them, in this commit; what the suite misses, `make long` is asked about
make defects ONLY=NAME NEAR=1      one of them, by the nearest tests alone
make defects COMMIT=v0.2           in another commit

A defect is put into a copy of the commit, and the tests that its file touches are run there, the nearest first, until
one fails or the time is up. What is left is put into one copy, all of it, and the whole suite is run once; each test
that fails is then run with each defect by itself, and with none. So no defect counts as missed before the whole suite
was run with it, and none as caught by a test that fails without it.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import areas

SECONDS = 240.0
"""How long the nearest tests of one defect may take."""

DAY = 86_400.0
GRACE = 30.0
"""How long tests that are broken off may take to end what they started."""
ALONE = "--numprocesses=0"
TEXT: dict[str, Any] = {"capture_output": True, "text": True, "check": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """A slip in one place.

    Attributes:
        name: a few words.
        kind: what sort of slip.
        file: where.
        old: what stands there, once.
        new: what stands there with the defect.
    """

    name: str
    kind: str
    file: str
    old: str
    new: str


def defects() -> list[Defect]:
    """All of them."""
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["defect"]
    return [Defect(**row) for row in listed]


class Ending:
    """Which tests run, so that Ctrl-C and SIGTERM end them, with the services and databases that they started."""

    def __init__(self) -> None:
        self.running: set[subprocess.Popen[str]] = set()
        self.asked = False

    def __call__(self, number: int, _: object) -> None:
        """Break off."""
        self.asked = True
        for process in tuple(self.running):
            process.send_signal(signal.SIGINT)
        raise KeyboardInterrupt(signal.Signals(number).name)


ENDING = Ending()


class Copy:
    """A clone at a commit, in which tests are run."""

    def __init__(self, commit: str, folder: Path) -> None:
        self.folder = folder
        self._moment = time.time()
        subprocess.run(["git", "clone", "--quiet", areas.ROOT, folder], check=True)
        at = subprocess.run(
            ["git", "-C", areas.ROOT, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"], **TEXT
        )
        if at.returncode:
            raise SystemExit(f"--commit {commit}: this repository has no such commit")
        subprocess.run(["git", "-C", folder, "checkout", "--quiet", "--detach", at.stdout.strip()], check=True)

    @contextmanager
    def having(self, *defects: Defect) -> Iterator[None]:
        """With these defects in it."""
        before: dict[Path, str] = {}
        try:
            for defect in defects:
                path = self.folder / defect.file
                text = path.read_text(encoding="utf-8")
                before.setdefault(path, text)
                if text.count(defect.old) != 1:
                    raise SystemExit(
                        f"{defect.name}: {text.count(defect.old)} of its text in {defect.file}, expected 1"
                    )
                self._write(path, text.replace(defect.old, defect.new))
            yield
        finally:
            for path, text in before.items():
                self._write(path, text)

    def _write(self, path: Path, text: str) -> None:
        """As of a later second than whatever was there: Python keeps what it compiled by the file's second and size."""
        self._moment += 10
        path.write_text(text, encoding="utf-8")
        os.utime(path, (self._moment, self._moment))

    def failing(self, tests: Sequence[str], seconds: float, *options: str) -> list[str] | None:
        """The tests that fail, of these or of all; None where they take longer than that."""
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rfE", *options, *tests]
        environment = {**os.environ, "PYTHONPATH": str(self.folder / "src"), "PYTHONDONTWRITEBYTECODE": ""}
        with tempfile.TemporaryFile("w+") as output:
            if ENDING.asked:
                return None
            streams: dict[str, Any] = {"stdout": output, "stderr": output, "text": True}
            process = subprocess.Popen(command, cwd=self.folder, env=environment, start_new_session=True, **streams)
            ENDING.running.add(process)
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(GRACE)
                return None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                ENDING.running.discard(process)
            if ENDING.asked:
                return None
            output.seek(0)
            told = output.read()
        failed = re.findall(r"^(?:FAILED|ERROR) (tests/\S+?\.py(?:::.+?)?)(?: - .*)?$", told, flags=re.M)
        if code not in (0, 1, 5) and not failed:
            failed = [f"nothing could be run: {told.strip().splitlines()[-1][:200]}"]
        return list(dict.fromkeys(failed))


@dataclass(slots=True)
class Verdict:
    """What became of a defect."""

    defect: Defect
    caught_by: str = ""
    where: str = ""
    seconds: float = 0.0
    out_of_time: bool = False


class Search:
    """The copies of one commit, and what is asked of them."""

    def __init__(self, commit: str, folder: Path, jobs: int) -> None:
        self.folder = folder
        self.copies = [Copy(commit, folder / f"copy{i}") for i in range(jobs)]
        self.sources = areas.Sources(self.copies[0].folder)
        self.free = list(self.copies)
        self.broken: set[str] = set()  # tests that fail in a copy without any defect

    def near(self, verdict: Verdict, seconds: float, before: str = "") -> None:
        """What caught a defect before, and then the nearest tests, until one fails that does not without it."""
        if ENDING.asked:
            return
        begun, copy = time.monotonic(), self.free.pop()
        print(f"{verdict.defect.name} ..", flush=True)
        files = areas.nearest(self.sources, [Path(verdict.defect.file)])
        tests = [str(file.relative_to(self.sources.root)) for file in files]
        first = before.partition("::")[0]
        tests.sort(key=lambda test: test != first)
        while tests and (left := begun + seconds - time.monotonic()) > 0:
            with copy.having(verdict.defect):
                failed = copy.failing(tests, left, "-x", ALONE, *self._without())
            verdict.out_of_time = failed is None
            if not failed:
                break
            if not copy.failing(failed, seconds, ALONE):
                verdict.caught_by, verdict.where = failed[0], "make test"
                break
            self.broken |= set(failed)
        self.free.append(copy)
        verdict.seconds = time.monotonic() - begun

    def together(self, missed: Sequence[Verdict], where: str, *options: str) -> None:
        """All of these at once, the whole suite, and then each by itself with the tests that failed."""
        copy = self.copies[0]
        with copy.having(*(verdict.defect for verdict in missed)):
            failed = copy.failing([], DAY, *options, *self._without()) or []
        tests = sorted(set(failed) - set(copy.failing(failed, DAY, ALONE, *options) or [])) if failed else []
        print(f"{len(tests)} tests of {where} fail with all {len(missed)} that are left", flush=True)

        def alone(verdict: Verdict) -> None:
            begun, copy = time.monotonic(), self.free.pop()
            with copy.having(verdict.defect):
                caught = copy.failing(self._nearest_first(tests, verdict.defect), DAY, "-x", ALONE, *options)
            self.free.append(copy)
            if ENDING.asked:
                return
            if caught:
                verdict.caught_by, verdict.where = caught[0], where
            print(
                f"{time.monotonic() - begun:5.0f} s  {verdict.defect.name}: {verdict.caught_by or 'missed'}", flush=True
            )

        with ThreadPoolExecutor(len(self.copies)) as pool:
            list(pool.map(alone, missed if tests else ()))

    def _nearest_first(self, tests: Iterable[str], defect: Defect) -> list[str]:
        files = areas.nearest(self.sources, [Path(defect.file)])
        order = {str(file.relative_to(self.sources.root)): i for i, file in enumerate(files)}
        return sorted(tests, key=lambda test: order.get(test.partition("::")[0], len(order)))

    def _without(self) -> list[str]:
        return [f"--deselect={test}" for test in sorted(self.broken)]


def chosen(names: Sequence[str]) -> list[Defect]:
    """Those of these names, or all."""
    listed = defects()
    unknown = set(names) - {defect.name for defect in listed}
    if unknown:
        raise SystemExit(f"--only {', '.join(sorted(unknown))}: expected some of {', '.join(d.name for d in listed)}")
    return [defect for defect in listed if not names or defect.name in names]


def table(verdicts: Iterable[Verdict]) -> str:
    """A line a defect, and the count."""
    rows = list(verdicts)
    lines = [f"{row.defect.name:45} {row.defect.kind:15} {row.where or 'missed':10} {row.caught_by}" for row in rows]
    caught = [row.where for row in rows if row.where]
    lines += [f"{caught.count('make test')} of {len(rows)} are caught by `make test`, "]
    lines[-1] += f"{caught.count('make long')} by `make long` alone, {len(rows) - len(caught)} by neither"
    return "\n".join(lines)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a defect; repeatable")
    parser.add_argument("--long", action="store_true", help="ask `make long` about what the suite misses")
    parser.add_argument("--near", action="store_true", help="the nearest tests alone, not the whole suite")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for the nearest tests of a defect")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--like", type=Path, metavar="FILE", help="begin with the tests that caught them there")
    parser.add_argument("--out", type=Path, metavar="FILE", help="keep the verdicts as JSON, and go on from there")
    asked = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, ENDING)
    verdicts = [Verdict(defect) for defect in chosen(asked.only)]
    before = {row["name"]: row["caught_by"] for row in json.loads(asked.like.read_text())} if asked.like else {}
    if asked.out and asked.out.exists():
        known = {row["name"]: row for row in json.loads(asked.out.read_text())}
        for verdict in verdicts:
            row = known.get(verdict.defect.name, {"caught_by": "", "where": ""})
            verdict.caught_by, verdict.where = row["caught_by"], row["where"]

    def keep() -> None:
        if asked.out:
            rows = [{"name": v.defect.name, "caught_by": v.caught_by, "where": v.where} for v in verdicts]
            asked.out.write_text(json.dumps(rows, indent=1) + "\n")

    with tempfile.TemporaryDirectory(prefix="takeup-defects-") as folder:
        search = Search(asked.commit, Path(folder), asked.jobs)
        search.sources.users  # noqa: B018  # read once, before threads ask

        def near(verdict: Verdict) -> None:
            search.near(verdict, asked.seconds, before.get(verdict.defect.name, ""))
            if ENDING.asked:
                return
            nothing = "nothing yet, the time is up" if verdict.out_of_time else "not by the nearest tests"
            told = verdict.caught_by or nothing
            print(f"{verdict.seconds:5.0f} s  {verdict.defect.name}: {told}", flush=True)
            keep()

        with ThreadPoolExecutor(asked.jobs) as pool:
            list(pool.map(near, [verdict for verdict in verdicts if not verdict.where]))
        missed = [verdict for verdict in verdicts if not verdict.where]
        if missed and not asked.near:
            search.together(missed, "make test")
        missed = [verdict for verdict in verdicts if not verdict.where]
        if missed and asked.long:
            search.together(missed, "make long", "-m", "long")
    print(table(verdicts))
    keep()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt as ended:
        sys.exit(f"ended by {ended}; what was found is in the file of --out, where one was named")
