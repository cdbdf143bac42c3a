"""What is shipped and what is installed: builds that are the same twice, and pins with hashes."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import PathDistribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import audited
from audited import PIN
from requirements import absent
from takeup.qualification.installation import package

ROOT = Path(__file__).parent.parent
LOCKS = sorted((ROOT / "locks").glob("*.lock"))
NOT_SHIPPED = shutil.ignore_patterns(
    ".git", ".venv", "build", "__pycache__", ".*_cache", ".hypothesis", "*.egg-info", "images"
)


COMMIT = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "--quiet", "--message", "All")


def built(folder: Path, umask: int, line_ends: str) -> dict[str, bytes]:
    """What `make build` makes of a commit of a copy of the tree, for somebody with this umask and core.autocrlf."""
    tree, day = folder / "tree", "2026-11-18T12:00:00+00:00"
    shutil.copytree(ROOT, tree, ignore=NOT_SHIPPED, copy_function=shutil.copyfile)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    environment |= {"GIT_AUTHOR_DATE": day, "GIT_COMMITTER_DATE": day}

    def run(*command: str) -> None:
        subprocess.run(command, cwd=tree, env=environment, umask=umask, check=True, capture_output=True)

    for git in (("init", "--quiet"), ("add", "--all"), COMMIT, ("config", "core.autocrlf", line_ends)):
        run("git", *git)
    (tree / "scratch").mkdir()
    (tree / "scratch" / "untracked.pem").write_text(f"a key of {folder}")
    (tree / "src" / "takeup" / "untracked.py").write_text(f"FOLDER = {str(folder)!r}")
    (tree / "README.md").write_text(f"{folder}")
    run("make", "build", "--old-file=.venv/.core", f"BIN={Path(sys.executable).parent}")
    return {file.name: file.read_bytes() for file in (tree / "build" / "dist").iterdir()}


@pytest.mark.requirement("R-11.1", "R-11.4")
def test_two_builds_are_the_same_and_their_record_is_true(tmp_path: Path) -> None:
    """Of one commit in two places, whatever else lies there that is in no commit."""
    if find_spec("hatchling") is None:
        absent("no hatchling: pip install hatchling")
    for needed in ("git", "make"):
        if shutil.which(needed) is None:
            absent(f"no {needed}")
    one, other = built(tmp_path / "here", 0o077, "false"), built(tmp_path / "or" / "there", 0o022, "true")
    assert sorted(name.rpartition(".")[2] for name in one) == ["gz", "whl"]
    assert {name: hashlib.sha256(content).hexdigest() for name, content in one.items()} == {
        name: hashlib.sha256(content).hexdigest() for name, content in other.items()
    }
    (source,) = (content for name, content in one.items() if name.endswith(".gz"))
    with tarfile.open(fileobj=io.BytesIO(source)) as packed:
        inside = [name.partition("/")[2] for name in packed.getnames()]
    assert {"Makefile", "src/takeup/version.py", "tests/test_build.py"} <= {*inside}
    assert [name for name in inside if "untracked" in name] == []
    (wheel,) = (content for name, content in one.items() if name.endswith(".whl"))
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        assert [name for name in archive.namelist() if "untracked" in name] == []
        archive.extractall(tmp_path / "installed")
    (about,) = (tmp_path / "installed").glob("*.dist-info")
    found = package(PathDistribution(about))
    assert (found.name, found.different) == ("takeup", ())
    assert found.files > 700
    (tmp_path / "installed" / "takeup" / "qualification" / "requirements.toml").write_text("")
    assert package(PathDistribution(about)).different == ("takeup/qualification/requirements.toml",)


PINNED = """a==1 \\
    --hash=sha256:1
b==1 ; sys_platform == 'another' \\
    --hash=sha256:2
b==2 ; sys_platform != 'another' \\
    --hash=sha256:3
"""
A, B, B2 = ({"name": name, "version": version, "vulns": []} for name, version in (("a", "1"), ("b", "1"), ("b", "2")))


@pytest.mark.parametrize(
    ("written", "codes", "found", "words"),
    [
        ([[A, B], [B2]], (0, 0), 0, "3 pins, 0 known vulnerabilities, 0 not audited"),
        ([[A, B], [{**B2, "vulns": [{"id": "X-1 Connection"}]}]], (0, 1), 1, "b 2: X-1"),
        ([[A, {"name": "b", "skip_reason": "not on the index"}], [B2]], (0, 0), 3, "not audited: b 1: not on"),
        ([[A], [B2]], (0, 0), 3, "not audited: b 1: not in"),
        ([[A, B2], [B2]], (0, 0), 3, "not audited: b 1: not in"),
        ([[A, B], [B2]], (0, 1), 3, "exit codes 0, 1."),
        ([[A, B], []], (0, 0), 3, "not audited: b 2: not in"),
        ([[A, B], "Connection refused"], (0, 1), 3, "ended with 1 and wrote no findings"),
        ([[A, B], None], (0, 1), 3, "ended with 1 and wrote no findings"),
    ],
)
def test_an_audit_that_could_not_tell_is_no_pass(
    written: list[Any], codes: tuple[int, ...], found: int, words: str, tmp_path: Path
) -> None:
    """Of every pin; words in what was found, such as Connection, do not make it a failure of the network."""
    asked = [(tmp_path / f"{i}.json", code) for i, code in enumerate(codes)]
    for (file, _), each in zip(asked, written, strict=True):
        if each is not None:
            file.write_text(each if isinstance(each, str) else json.dumps({"dependencies": each}))
    said = audited.told(PINNED, asked)
    assert said[0] == found
    assert words in said[1]


@pytest.mark.parametrize(
    "lock", [PINNED, *(each.read_text() for each in LOCKS)], ids=["two", *(each.name for each in LOCKS)]
)
def test_an_audit_asks_for_every_pin(lock: str) -> None:
    """For those of another system too, each with its hashes; a name has one version, and none a marker."""
    asked = [PIN.findall(part) for part in audited.parts(lock)]
    for part in asked:
        assert len({name for name, _, _ in part}) == len(part)
    together = [each for part in asked for each in part]
    assert sorted(together) == sorted((name, version, "") for name, version, _ in PIN.findall(lock))
    text = "".join(audited.parts(lock))
    assert sorted(re.findall("--hash=.*", text)) == sorted(re.findall("--hash=.*", lock))
    assert text.count("==") == len(together)


def pins(file: Path) -> dict[tuple[str, str | None], str]:
    """The version of each name, by its marker."""
    return {(name, marker): version for name, version, marker in PIN.findall(file.read_text())}


def versions(file: Path) -> set[tuple[str, str]]:
    return {(name, version) for (name, _), version in pins(file).items()}


@pytest.mark.requirement("R-11.5")
@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_pin_has_hashes_and_says_no_more(lock: Path) -> None:
    """A line a pin, followed by its hashes; no address of an index, no path, no option."""
    entries = re.split(r"(?<!\\)\n", lock.read_text().strip())
    for entry in entries:
        first, *rest = [line.strip().rstrip("\\").strip() for line in entry.splitlines()]
        assert PIN.match(first), first
        assert rest, first
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", each) for each in rest), first
    if lock.name != "tools.lock":
        assert versions(lock) <= versions(ROOT / "requirements.lock")


@pytest.mark.requirement("R-11.5")
def test_make_installs_nothing_without_hashes() -> None:
    commands = re.findall(r"^.*pip install.*$|^.*\$\(PIP\).*$", (ROOT / "Makefile").read_text(), flags=re.M)
    assert len(commands) == 4
    for each in commands:
        defined = each.startswith("PIP := ")
        itself = "--no-deps --no-build-isolation --editable ." in each
        assert defined or itself or "--require-hashes" in each, each


@pytest.mark.requirement("R-11.5")
def test_locks_have_all_that_is_named() -> None:
    """What pyproject.toml names for a set is in its lock, but for what other systems need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras, groups = project["project"]["optional-dependencies"], project["dependency-groups"]

    def named(requirements: list[str]) -> set[str]:
        found = set[str]()
        for each in requirements:
            name = re.sub(r"[-_.]+", "-", re.split(r"[\s\[<>=~;!]", each)[0]).lower()
            inside = re.match(r"takeup\[([a-z,]+)\]", each)
            found |= {name} if inside is None else set().union(*(named(extras[e]) for e in inside[1].split(",")))
        return found

    always = named(project["project"]["dependencies"]) | named(groups["build"])
    for lock, wanted in {
        "core": ["takeup[sim,server,postgres]"],
        "dev": ["takeup[dev]"],
        "docs": ["takeup[dev,docs]"],
        "bench": ["takeup[dev,bench]"],
    }.items():
        assert always | named(wanted) <= {name for name, _ in versions(ROOT / "locks" / f"{lock}.lock")}, lock
    assert named(groups["tools"]) <= {name for name, _ in versions(ROOT / "locks" / "tools.lock")}
    everything = named([f"takeup[{','.join(extras)}]"]) | always
    assert everything <= {name for name, _ in versions(ROOT / "requirements.lock")}
