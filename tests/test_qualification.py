"""`takeup selftest`: what it checks and files, that its checks can fail, and that it says so."""

import base64
import hashlib
import json
import os
import py_compile
import re
import shutil
import signal
import stat
import subprocess
import sys
from fractions import Fraction
from functools import cache
from html.parser import HTMLParser
from importlib import metadata
from importlib.metadata import PackageNotFoundError, PathDistribution
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from browser import ServedHere
from takeup.cli import app
from takeup.cli.selftest import CODES
from takeup.errors import InputError, MissingExtraError
from takeup.qualification import (
    Check,
    Finding,
    Group,
    Qualification,
    installation,
    needs,
    oracles,
    qualify,
    requirements,
)
from takeup.qualification import run as running
from takeup.qualification.bytecode import alike, differing
from takeup.qualification.check import NotHereError, Verdict, done
from takeup.qualification.installation import dependencies, different, facts, hashes, package, together, unrecorded
from takeup.qualification.needs import Need, needed, present, unmet
from takeup.qualification.report import check, write
from takeup.qualification.run import digest, groups_in
from takeup.qualification.served import Service

runner = CliRunner()


class InThisProcess:
    """A service that ends as a process does."""

    def __init__(self, database: Path) -> None:
        self.served = ServedHere(database)

    def kill(self) -> None:
        assert self.served.stop() == 0

    def wait(self) -> None:
        """There is nothing left to wait for."""


@pytest.fixture(scope="module", params=["quickly", pytest.param("as it is", marks=pytest.mark.long)])
def found(request: pytest.FixtureRequest) -> Qualification:
    """All checks on this machine, but that compiled copies are those of a few modules.

    Quickly, the service is started as it is once, and killed; what goes on from its database is the same service in
    this process. What is hashed, or counted exactly, is so once.
    """
    with pytest.MonkeyPatch.context() as patch:
        few = [each for each in installation.sources() if {"typer", "qualification"} & {*each.parts}]
        patch.setattr(installation, "sources", lambda: few)
        if request.param == "quickly":
            start, hashed, begun = Service._start, dict[str, installation.Package](), list[Service]()

            def started(service: Service) -> tuple[Any, int, str]:
                begun.append(service)
                if len(begun) == 1:
                    return start(service)
                process = InThisProcess(service.folder / "served.db")
                return process, process.served.port, ""

            def once(found: metadata.Distribution) -> installation.Package:
                name, place = found.metadata["Name"], Path(str(found.locate_file("")))
                if place.name != "site-packages":
                    return package(found)
                return hashed.get(name) or hashed.setdefault(name, package(found))

            patch.setattr(Service, "_start", started)
            patch.setattr(installation, "package", once)
            patch.setattr(oracles, "beats", cache(oracles.beats))
        return qualify()


def checked(passed: bool = True) -> Check:
    return Check(title="One", requirements=("R-1.1",), look=lambda: Finding("a", "b", passed))


@pytest.mark.requirement("R-11.2")
def test_all_checks_pass_here(found: Qualification) -> None:
    """Only what needs a wheel's record may be left out: tests run from a source tree."""
    left = [(each.number, each.title, each.expected, each.found) for each in found.outcomes if each.verdict != "passed"]
    assert [each[0] for each in left if "source tree" not in each[3]] == [], left
    assert found.verdict == ("not run" if left else "passed")
    assert len(found.outcomes) > 35
    assert all(each.verdict == "passed" for each in found.outcomes if each.control)
    assert set(found.facts) >= {"takeup", "Python", "operating system", "processor", "numpy", "scipy", "SQLite"}
    packages = {each.name: each for each in found.packages}
    assert {"numpy", "scipy", "pydantic", "SQLAlchemy", "psycopg", "psycopg-binary"} <= packages.keys()
    assert all(each.files and len(each.sha256) == 64 for each in packages.values())
    assert found.files["qualification/requirements.toml"]


@pytest.mark.requirement("R-11.2")
def test_every_group_has_a_control_and_serves_what_is_required() -> None:
    groups, _ = groups_in(Path("nowhere"))
    for group in groups:
        assert any(each.control for each in group.checks), group.title
        for each in group.checks:
            assert each.requirements, each.title
            assert requirements().keys() >= set(each.requirements), each.title
            assert each.control == each.title.startswith("Control: "), each.title


class Loading(HTMLParser):
    """What a page loads, and its headings."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.loaded += [f"{tag} {name}" for name, _ in attributes if name in ("src", "href", "srcset")]
        self.loaded += [tag] if tag in ("script", "link", "img", "iframe") else []


@pytest.mark.requirement("R-11.3")
def test_a_report_is_filed_with_its_hash_and_never_overwritten(found: Qualification, tmp_path: Path) -> None:
    check(tmp_path / "filed")
    page, sealed = write(found, tmp_path / "filed")
    assert page == tmp_path / "filed" / "report.html"
    data = json.loads((tmp_path / "filed" / "report.json").read_text())
    text = json.dumps(data["content"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert data["sha256"] == sealed == hashlib.sha256(text.encode()).hexdigest() == digest(data["content"])
    assert data["content"]["files"] == hashes()
    assert data["content"]["code"] == together(hashes())
    numpy = package(metadata.distribution("numpy"))
    assert data["content"]["packages"]["numpy"] == {
        "version": numpy.version,
        "files": numpy.files,
        "sha256": numpy.sha256,
    }
    html = page.read_text()
    shown = Loading()
    shown.feed(html)
    assert shown.loaded == []
    for words in (
        sealed,
        numpy.sha256,
        "Signature",
        "Protocol",
        "Site",
        "Role",
        "size: A4",
        f"SHA-256 {sealed[:16]}..",
        *(each.number for each in found.outcomes),
    ):
        assert words in html
    with pytest.raises(InputError, match=r"--report: got .*report.html, expected a folder without a report"):
        check(tmp_path / "filed")
    page.unlink()
    with pytest.raises(InputError, match=r"report.json"):
        check(tmp_path / "filed")
    for place in (page.parent / "report.json", page.parent / "report.json" / "below"):
        with pytest.raises(InputError, match=r"--report: got .*report.json.*, expected a folder"):
            check(place)


@pytest.mark.requirement("R-11.2")
def test_the_verdict_names_what_did_not_pass() -> None:
    def without() -> Finding:
        raise NotHereError("there is no such extra")

    good, left = checked(), Check(title="Two", requirements=("R-1.1",), look=without)

    def told(*checks: Check) -> tuple[Verdict, str]:
        outcomes = tuple(done(each, f"1.{i}", "Some") for i, each in enumerate(checks, start=1))
        made = Qualification(begun="", facts={}, packages=(), files={}, outcomes=outcomes)
        return made.verdict, made.said

    assert told(good) == ("passed", "1 of 1 checks passed, 0 failed")
    assert told(good, left) == ("not run", "1 of 2 checks passed, 0 failed, 1 not run (1.2)")
    words = "1 of 4 checks passed, 1 failed (1.1), 2 not run (1.3, 1.4)"
    assert told(checked(False), good, left, left) == ("failed", words)


@pytest.mark.requirement("R-11.2")
@pytest.mark.parametrize(("verdict", "code"), [("passed", 0), ("failed", 1), ("not run", 3)])
def test_the_command_says_what_it_found(
    verdict: Verdict, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look() -> Finding:
        if verdict == "not run":
            raise NotHereError("there is no such extra")
        return Finding("a", "b", verdict == "passed")

    group = Group("Some", (checked(), Check(title="Two", requirements=("R-1.1",), look=look)))
    monkeypatch.setattr(running, "groups_in", lambda _: ((group,), lambda: None))
    monkeypatch.setattr(installation, "dependencies", lambda: iter([metadata.distribution("typer")]))
    shown = runner.invoke(app, ["selftest", "--report", str(tmp_path / "filed")])
    assert shown.exit_code == CODES[verdict] == code
    assert f"{1 + (code == 0)} of 2 checks passed, {int(code == 1)} failed" in shown.output
    html = (tmp_path / "filed" / "report.html").read_text()
    (said,) = [line for line in html.splitlines() if 'class="verdict"' in line]
    assert ("✓" in said, "✗" in said) == (verdict == "passed", verdict == "failed")
    assert ("this is no pass" in html) is (verdict == "not run")
    machine = runner.invoke(app, ["selftest", "--json"])
    assert machine.exit_code == code
    data = json.loads(machine.stdout)
    assert data["content"]["verdict"] == verdict
    assert data["sha256"] == digest(data["content"])
    again = runner.invoke(app, ["selftest", "--report", str(tmp_path / "filed")])
    assert isinstance(again.exception, InputError)  # `main` makes exit code 2 of it
    assert "a record is kept as it is; choose another" in str(again.exception)


SLEEPING = """
import subprocess, sys, time
from takeup.cli import app
from takeup.qualification import Check, Group, run

def look():
    print("begun", flush=True)
    time.sleep(600)

check = Check(title="One", requirements=("R-1.1",), look=look)
started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])

def stop():
    started.kill()
    print("stopped", started.wait(), flush=True)

run.groups_in = lambda folder: (print(folder, flush=True), (((Group("Some", (check,)),), stop)))[1]
app(["selftest"])
"""


def test_what_was_started_is_ended_when_it_is_told_to_end() -> None:
    """By SIGTERM, as by Ctrl-C: what the checks started is ended, and their folder is removed."""
    command = [sys.executable, "-c", SLEEPING]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert folder.exists()
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == f"stopped {-signal.SIGKILL}\n"
    assert process.returncode == 128 + signal.SIGTERM
    assert not folder.exists()


def test_whatever_a_check_meets_is_told() -> None:
    def look(error: Exception) -> Any:
        def fail() -> Finding:
            raise error

        return done(Check(title="One", requirements=("R-1.1",), look=fail), "1.1", "Some")

    broken = look(ZeroDivisionError("by nothing"))
    assert (broken.verdict, broken.found) == ("failed", "ZeroDivisionError: by nothing")
    assert look(NotHereError("no wheel")).verdict == "not run"
    assert "takeup[server]" in look(MissingExtraError("sqlalchemy", "server")).found
    assert done(checked(), "1.1", "Some").verdict == "passed"


def thing(folder: Path, **about: str) -> PathDistribution:
    """A package of three files with a RECORD; `about` is what else stands beside that."""
    (folder / "thing").mkdir()
    (folder / "thing-1.0.dist-info").mkdir()
    record = []
    for name, content in (("thing/a.py", b"a = 1\n"), ("thing/b.py", b"b = 1\n"), ("thing/c.py", b"")):
        (folder / name).write_bytes(content)
        hashed = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={hashed},{len(content)}")
    record += ["thing/__pycache__/a.cpython-311.pyc,,", "thing-1.0.dist-info/RECORD,,"]
    (folder / "thing-1.0.dist-info" / "RECORD").write_text("\n".join(record) + "\n")
    (folder / "thing-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
    for name, text in about.items():
        (folder / "thing-1.0.dist-info" / name.replace("_json", ".json")).write_text(text)
    return PathDistribution(folder / "thing-1.0.dist-info")


@pytest.mark.requirement("R-11.1")
def test_a_file_that_is_not_what_its_record_says_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = thing(tmp_path)
    monkeypatch.setattr(installation, "dependencies", lambda: iter([there]))
    assert installation._dependencies().passed
    before = package(there)
    assert (before.files, before.different) == (3, ())
    (tmp_path / "thing" / "b.py").write_bytes(b"b = 2\n")
    (tmp_path / "thing" / "c.py").unlink()
    found = package(there)
    assert (found.name, found.version, found.files) == ("thing", "1.0", 3)
    assert found.different == ("thing/b.py", "thing/c.py (No such file or directory)")
    assert found.sha256 != before.sha256
    assert different(tmp_path, []) == ({}, ())
    assert unrecorded(there, ["thing/a.py", "thing/more.py"]) == ("thing/more.py (not in the record)",)
    planted = installation._dependencies()
    assert not planted.passed
    assert planted.found.endswith("with differences: 1; thing: thing/b.py, thing/c.py (No such file or directory)")


@pytest.mark.requirement("R-11.1")
def test_a_package_without_a_record_does_not_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = thing(tmp_path, INSTALLER="pip\n")
    monkeypatch.setattr(installation, "dependencies", lambda: iter([there, metadata.distribution("typer")]))
    record = tmp_path / "thing-1.0.dist-info" / "RECORD"
    lines = record.read_text().splitlines()
    record.write_text("\n".join([*lines[1:], "thing/a.py,,"]))
    assert package(there).different == ("thing/a.py (no hash)",)
    record.unlink()
    assert not installation._dependencies().passed
    assert installation._dependencies().found.endswith("with differences: 0; without a record: thing")


@pytest.mark.requirement("R-11.1")
def test_the_control_changes_copies_where_takeup_may_only_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its copies are written anew, whatever modes the files have that are installed."""
    root = tmp_path / "takeup"
    shutil.copytree(Path(installation.__file__).parent.parent / "trial", root / "trial")
    for each in [*root.rglob("*"), root]:
        each.chmod(0o555 if each.is_dir() else 0o444)
    monkeypatch.setattr("takeup.__file__", str(root / "__init__.py"))
    assert installation._planted(tmp_path / "copies").passed
    copies = [tmp_path / "copies", *(tmp_path / "copies").iterdir()]
    assert len(copies) > 10
    assert [each for each in copies if not each.stat().st_mode & stat.S_IWUSR] == []


@pytest.mark.parametrize(
    ("about", "why"),
    [
        ({"INSTALLER": "debian"}, "installed by debian"),
        ({"direct_url_json": '{"dir_info": {"editable": true}, "url": "file:///t"}'}, "runs from a folder"),
        ({"PKG-INFO": "Name: thing"}, "an egg"),
    ],
)
def test_a_package_that_needs_no_record_is_counted_as_not_checked(
    about: dict[str, str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = thing(tmp_path, **about)
    (tmp_path / "thing-1.0.dist-info" / "RECORD").unlink()
    monkeypatch.setattr(installation, "dependencies", lambda: iter([there, metadata.distribution("typer")]))
    with pytest.raises(NotHereError, match=rf"packages: 2, with differences: 0; not checked: 1: thing \({why}\)"):
        installation._dependencies()


@pytest.mark.requirement("R-11.1")
def test_files_of_takeup_are_held_to_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of another name in its place: unchanged, with one file more, without its RECORD."""
    there, root = thing(tmp_path), tmp_path / "thing"
    monkeypatch.setattr(installation, "installed", lambda _: there)
    with pytest.raises(NotHereError, match="runs from a source tree"):
        installation._files()
    root.rename(tmp_path / "takeup")
    record = tmp_path / "thing-1.0.dist-info" / "RECORD"
    record.write_text(record.read_text().replace("thing/", "takeup/"))
    monkeypatch.setattr("takeup.__file__", str(tmp_path / "takeup" / "__init__.py"))
    assert installation._files().passed
    (tmp_path / "takeup" / "more.pyc").write_bytes(b"")  # which Python runs where there is no source
    assert installation._files().found.endswith("thing: takeup/more.pyc (not in the record)")
    assert not installation._files().passed
    record.unlink()
    assert not installation._files().passed


@pytest.mark.requirement("R-11.6")
@pytest.mark.parametrize("mode", py_compile.PycInvalidationMode)
def test_a_compiled_copy_of_something_else_is_found(tmp_path: Path, mode: py_compile.PycInvalidationMode) -> None:
    source, other = tmp_path / "side.py", tmp_path / "other.py"
    source.write_text("def side(x):\n    return x[1:2], x in {'a', 'b', 1.5}\n")
    other.write_text("def side(x):\n    return x[1:2], x in {'a', 'b', 2.5}\n")
    os.utime(other, (source.stat().st_atime, source.stat().st_mtime))
    copy = Path(py_compile.compile(str(source), invalidation_mode=mode) or "")
    assert differing([source]) == (1, ())
    head = copy.read_bytes()[:16]
    py_compile.compile(str(other), str(copy), dfile=str(source), invalidation_mode=mode)
    copy.write_bytes(head + copy.read_bytes()[16:])
    assert differing([source]) == (1, (copy,))
    copy.write_bytes(head + b"nonsense")
    assert differing([source]) == (1, (copy,))
    copy.write_bytes(b"\0" * 4 + head[4:] + b"nonsense")  # of another Python: it is made anew
    assert differing([source]) == (0, ())
    source.write_text("def side(x):\n    return None\n")
    copy.write_bytes(head + b"nonsense")  # older than its source: so is this one, but where nobody looks
    assert differing([source])[0] == (mode is py_compile.PycInvalidationMode.UNCHECKED_HASH)


@pytest.mark.requirement("R-11.6")
def test_code_is_the_same_where_all_of_it_is() -> None:
    """Slices are constants since Python 3.14, and marshal's older forms have none; == of code leaves parts out."""
    made = compile("def side():\n    return None\n", "side.py", "exec")

    def of(*constants: object, **parts: Any) -> CodeType:
        """With other constants and parts of the function."""
        found = (
            each.replace(co_consts=constants, **parts) if isinstance(each, CodeType) else each
            for each in made.co_consts
        )
        return made.replace(co_consts=tuple(found))

    assert alike(made, compile("def side():\n    return None\n", "side.py", "exec"))
    assert alike(of(slice(1, None, (2, -1.5))), of(slice(1, None, (2, -1.5))))
    assert alike(of(frozenset(["a", b"a", 1])), of(frozenset([1, b"a", "a"])))
    assert alike(of(10**5000, float("nan")), of(10**5000, float("nan")))
    different: list[object] = [slice(1, 2), slice(1, 3), (1, 2, None), 1, 1.0, True, 1j, 0.0, -0.0, "1", b"1", None]
    for i, one in enumerate(different):
        assert [j for j, other in enumerate(different) if alike(of(one), of(other))] == [i]
    for part in ({"co_stacksize": 99}, {"co_qualname": "another"}, {"co_flags": 0}, {"co_linetable": b""}):
        assert not alike(of(), of(**part)), part


def test_a_copy_that_was_made_with_other_settings_differs_and_the_finding_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As does one that another patch release of Python made."""
    source = tmp_path / "side.py"
    source.write_text("def side(x):\n    return x + 1\n")
    monkeypatch.setattr(installation, "sources", lambda: iter([source]))

    def copied(*options: str, **settings: str) -> Finding:
        command = [sys.executable, "-m", "compileall", "-q", *options, str(tmp_path)]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONNODEBUGRANGES"}
        subprocess.run(command, env=environment | settings, check=True)
        return installation._copies()

    found = copied(PYTHONNODEBUGRANGES="1")
    assert not found.passed
    for words in ("different: 1", str(tmp_path), "another patch release of Python", "python -m compileall -f FOLDER"):
        assert words in found.found
    assert copied("-f") == Finding("none differs", "1 compiled again, different: 0", True)


@pytest.mark.long
@pytest.mark.requirement("R-11.6")
def test_compiled_copies_here_are_what_their_sources_give() -> None:
    found = installation._copies()
    assert found.passed, found.found


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """As if packages were not installed."""
    there = metadata.distribution
    others = [each for each in metadata.distributions() if each.metadata["Name"].lower() not in names]

    def distribution(name: str) -> metadata.Distribution:
        if name in names:
            raise PackageNotFoundError(name)
        return there(name)

    monkeypatch.setattr(metadata, "distribution", distribution)
    monkeypatch.setattr(metadata, "distributions", lambda: iter(others))


@pytest.mark.requirement("R-11.7")
def test_what_is_needed_and_not_there_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert present().keys() == {*needs.EXTRAS}
    assert installation._needs().passed
    without(monkeypatch, "sqlalchemy", "uvicorn", "psycopg-binary")
    assert present().keys() == {*needs.EXTRAS}
    found = installation._needs()
    assert not found.passed
    for words in (
        "takeup[server] needs sqlalchemy>=2.1, which is not installed",
        "takeup[server] needs uvicorn>=0.34, which is not installed",
        "alembic needs SQLAlchemy>=",
        "psycopg[binary] needs psycopg-binary==",
    ):
        assert words in found.found


@pytest.mark.requirement("R-11.7")
def test_an_extra_that_is_not_there_needs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without dask and distributed nobody asked for that extra; numba and polars are of another one."""
    without(monkeypatch, "dask", "distributed")
    assert present().keys() == {*needs.EXTRAS} - {"dask"}
    assert installation._needs().passed


@pytest.mark.requirement("R-11.7")
def test_what_makes_an_extra_count_as_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody's own sqlalchemy is not an installation of the extra that lost the rest."""
    server = {each.name for each in needs.needs_of(metadata.distribution("takeup"), "server")}
    report = {each.name for each in needs.needs_of(metadata.distribution("takeup"), "report")}
    without(monkeypatch, "psycopg", *(server - report - {"sqlalchemy"}))
    assert present().keys() == {*needs.EXTRAS} - {"postgres"}
    assert present()["server"] == ("sqlalchemy",)
    assert "takeup[server] needs uvicorn>=0.34, which is not installed (sqlalchemy is there)" in unmet(needed())[1]


@pytest.mark.requirement("R-11.7")
def test_an_installation_that_lost_one_package_is_another_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "uvicorn")
    there = len(present()["server"])
    assert there > 4
    words = f"takeup[server] needs uvicorn>=0.34, which is not installed (alembic and {there - 1} more are there)"
    assert words in unmet(needed())[1]


@pytest.mark.requirement("R-11.7")
def test_the_requirement_names_the_extras_that_are_looked_at() -> None:
    assert re.findall(r"`(\w+)`", requirements()["R-11.7"].text) == [*needs.EXTRAS]


@pytest.mark.requirement("R-11.7")
def test_a_version_that_is_not_allowed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(text: str) -> tuple[int, tuple[str, ...]]:
        return unmet([Need("thing", "", text)])

    version = metadata.version("numpy")
    assert of("numpy") == of(f"NumPy[any]<={version}") == (1, ())
    assert of("nothing-at-all; sys_platform == 'another'") == (0, ())
    assert of("nothing-at-all") == (1, ("thing needs nothing-at-all, which is not installed",))
    assert of("numpy<2") == (1, (f"thing needs numpy<2, and {version} is installed",))
    monkeypatch.setitem(sys.modules, "packaging", None)
    with pytest.raises(MissingExtraError, match=r"takeup\[report\]"):
        unmet(needed())


def test_dependencies_are_those_that_trials_run_with() -> None:
    names = {each.metadata["Name"].lower() for each in dependencies()}
    assert {"numpy", "scipy", "pydantic", "pydantic_core", "typer", "rich", "numba", "llvmlite", "sqlalchemy"} <= names
    assert not names & {"takeup", "pytest", "ruff", "numba-cuda"}
    assert facts()["extra server"] == "installed"


def test_oracles_are_what_can_be_done_by_hand() -> None:
    """P(Beta(2, 1) > Beta(1, 1)) = 2/3; three equal arms have a third; 2 of each of two levels: 2! 2! / 5! = 1/30."""
    assert oracles.beats(2, 1, 1, 1) == Fraction(2, 3)
    assert oracles.beats(5, 3, 5, 3) == Fraction(1, 2)
    np.testing.assert_allclose(oracles.largest([(4, 2)] * 3), 1 / 3, atol=1e-15)
    assert np.exp(oracles.log_evidence([2, 2])) == pytest.approx(1 / 30)
    assert oracles.superior((0.4, 0.4), (1,), 0.6) == pytest.approx(1.0)  # one outcome: 2/3 for one of them, always
    assert oracles.superior((0.4, 0.4), (1,), 0.7) == 0


def test_adaptive_trials_offer_what_they_say() -> None:
    proposal, probability, outcome = oracles.adaptive_trials(50, 40, (0.2, 0.8), 0.1, seed=1)
    assert set(np.unique(probability).round(6)) <= {0.1, 0.5, 0.9}
    np.testing.assert_allclose(probability.sum(axis=-1), 1)
    assert (probability[:, 0] == 0.5).all()
    assert {*np.unique(proposal), *np.unique(outcome)} == {0, 1}
