"""`takeup selftest`: what it checks and files, that its checks can fail, and that it says so."""

import base64
import hashlib
import json
from fractions import Fraction
from html.parser import HTMLParser
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from takeup.cli import app
from takeup.errors import InputError, MissingExtraError
from takeup.qualification import Check, Finding, Group, Qualification, oracles, qualify, requirements
from takeup.qualification import run as running
from takeup.qualification.check import NotHereError, done
from takeup.qualification.installation import dependencies, different, facts, hashes, package, together, unrecorded
from takeup.qualification.report import check, write
from takeup.qualification.run import digest, groups_in

runner = CliRunner()


@pytest.fixture(scope="module")
def found() -> Qualification:
    """All checks on this machine."""
    return qualify()


def checked(passed: bool = True) -> Check:
    return Check(title="One", requirements=("R-1.1",), look=lambda: Finding("a", "b", passed))


def test_all_checks_pass_here(found: Qualification) -> None:
    """Only what needs a wheel's record may be left out: tests run from a source tree."""
    left = [(each.number, each.title, each.expected, each.found) for each in found.outcomes if each.verdict != "passed"]
    assert [each[0] for each in left if "source tree" not in each[3]] == [], left
    assert found.passed
    assert len(found.outcomes) > 35
    assert set(found.facts) >= {"takeup", "Python", "operating system", "processor", "numpy", "scipy", "SQLite"}
    assert {"numpy", "scipy", "pydantic"} <= found.packages.keys()
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
    html = page.read_text()
    shown = Loading()
    shown.feed(html)
    assert shown.loaded == []
    for words in (
        sealed,
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

    def verdict(*checks: Check) -> str:
        outcomes = tuple(done(each, f"1.{i}", "Some") for i, each in enumerate(checks, start=1))
        return Qualification(begun="", facts={}, packages={}, files={}, outcomes=outcomes).verdict

    assert verdict(good) == "1 of 1 checks passed, 0 failed"
    assert verdict(good, left) == "1 of 2 checks passed, 0 failed, 1 not run (1.2)"
    assert verdict(checked(False), good, left, left) == "1 of 4 checks passed, 1 failed (1.1), 2 not run (1.3, 1.4)"


@pytest.mark.requirement("R-11.2")
@pytest.mark.parametrize(("passed", "code"), [(True, 0), (False, 1)])
def test_the_command_says_what_it_found(
    passed: bool, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "groups_in", lambda _: ((Group("Some", (checked(passed),)),), lambda: None))
    shown = runner.invoke(app, ["selftest", "--report", str(tmp_path / "filed")])
    assert shown.exit_code == code
    assert f"{int(passed)} of 1 checks passed, {int(not passed)} failed" in shown.output
    assert (tmp_path / "filed" / "report.html").exists()
    machine = runner.invoke(app, ["selftest", "--json"])
    assert machine.exit_code == code
    said = json.loads(machine.stdout)
    assert said["content"]["passed"] is passed
    assert said["sha256"] == digest(said["content"])
    again = runner.invoke(app, ["selftest", "--report", str(tmp_path / "filed")])
    assert isinstance(again.exception, InputError)  # `main` makes exit code 2 of it
    assert "a record is kept as it is; choose another" in str(again.exception)


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


@pytest.mark.requirement("R-11.1")
def test_a_file_that_is_not_what_its_record_says_is_found(tmp_path: Path) -> None:
    (tmp_path / "thing").mkdir()
    (tmp_path / "thing-1.0.dist-info").mkdir()
    record = []
    for name, content in (("thing/a.py", b"a = 1\n"), ("thing/b.py", b"b = 1\n"), ("thing/c.py", b"")):
        (tmp_path / name).write_bytes(content)
        hashed = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={hashed},{len(content)}")
    record += ["thing/__pycache__/a.cpython-311.pyc,,", "thing-1.0.dist-info/RECORD,,"]
    (tmp_path / "thing-1.0.dist-info" / "RECORD").write_text("\n".join(record) + "\n")
    (tmp_path / "thing-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
    there = PathDistribution(tmp_path / "thing-1.0.dist-info")
    assert (package(there).files, package(there).different) == (3, ())
    (tmp_path / "thing" / "b.py").write_bytes(b"b = 2\n")
    (tmp_path / "thing" / "c.py").unlink()
    found = package(there)
    assert (found.name, found.version, found.files) == ("thing", "1.0", 3)
    assert found.different == ("thing/b.py", "thing/c.py (No such file or directory)")
    assert different(tmp_path, []) == (0, ())
    assert unrecorded(there, ["thing/a.py", "thing/more.py"]) == ("thing/more.py (not in the record)",)


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
