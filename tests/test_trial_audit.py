"""The audit finds what was tampered with, and derives what was not."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tampering
from takeup.cli import app
from takeup.errors import InputError
from takeup.live import DatabaseAudit, Trial, audit, audit_database, read_anchors, read_key
from takeup.randomness import stream
from takeup.store import looking
from takeup.trial import Report, commands, perform
from takeup.trial.proposal import propose

runner = CliRunner()


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tampering.victim(tmp_path_factory.mktemp("victim"), stream(3))


def findings(path: Path, folder: Path) -> DatabaseAudit:
    anchors = read_anchors(folder / "anchors", read_key(folder / "key"))
    with looking(path) as connection:
        return audit_database(connection, anchors, at_rest=True)


@pytest.mark.requirement("R-2.2")
def test_an_honest_log_passes(victim: Path) -> None:
    whole = findings(victim, victim.parent)
    assert whole.passed, whole
    (found,) = whole.audits
    assert found.decisions == 16
    assert (found.rederived, found.fallbacks, found.other_software) == (15, 1, {})
    assert (found.anchors or 0) >= 40


@pytest.mark.requirement("R-2.3")
@pytest.mark.parametrize(("seed", "many"), [(6, 52), pytest.param(5, 100, marks=pytest.mark.long)])
def test_every_tampering_is_found(victim: Path, tmp_path: Path, seed: int, many: int) -> None:
    """As many as it takes for some of every kind; 10,000 in `make gates`."""
    ways = set()
    for i in range(many):
        path = tampering.copied(victim, tmp_path / "forged.db")
        forger = tampering.Forger(path, stream(seed, i))
        done = forger.tamper()
        forger.close()
        ways.add(done.partition(":")[0])
        assert not findings(path, victim.parent).passed, done
        for leftover in tmp_path.glob("forged.db*"):
            leftover.unlink()
    assert len(ways) == len([name for name in dir(tampering.Forger) if name.startswith("do_")])


@pytest.mark.requirement("R-2.4")
@pytest.mark.parametrize("way", ["do_cut_the_tail", "do_replace_the_tail", "do_rewrite_history"])
def test_what_only_anchors_show(victim: Path, tmp_path: Path, way: str) -> None:
    """A forged database that fits together passes without anchors: they are what finds it."""
    path = tampering.copied(victim, tmp_path / "forged.db")
    forger = tampering.Forger(path, stream(8))
    with forger.unlocked(True):
        getattr(forger, way)()
    forger.close()
    with looking(path) as connection:
        assert audit(connection, "victim").passed
    found = findings(path, victim.parent)
    assert not found.passed
    assert "anchored" in str(found.audits[0].difference)


def test_the_first_difference_is_the_one_that_is_told(victim: Path, tmp_path: Path) -> None:
    path = tampering.copied(victim, tmp_path / "forged.db")
    forger = tampering.Forger(path, stream(1))
    with forger.unlocked(True):
        bodies = forger.bodies()
        event = json.loads(bodies[2])
        event["proposal"] = {"rest": "drug", "drug": "rest"}[event["proposal"]]
        bodies[2] = json.dumps(event, sort_keys=True, separators=(",", ":"))
        forger.write_log(bodies)
    forger.close()
    with looking(path) as connection:
        difference = audit(connection, "victim").difference
    assert difference is not None
    assert difference.where == "event 3"
    assert f'"proposal":"{event["proposal"]}"' in difference.found
    assert f'"proposal":"{event["proposal"]}"' not in difference.expected


def test_decisions_of_another_version_are_told_and_are_no_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = {"name": "Old and new", "space": {"proposals": 2}, "policy": {"kind": "TS"}}
    with Trial.create(tmp_path / "t.db", spec) as trial:
        trial.start()
        with monkeypatch.context() as patched:
            patched.setattr(commands, "software", lambda _: "takeup 0.0.1")
            patched.setattr(
                commands,
                "propose",
                lambda *arguments: replace(propose(*arguments), index=1, probability=(0.25, 0.75)),
            )
            trial.decide("a")
            patched.setattr(commands, "propose", propose)
            trial.decide("b")
        trial.decide("c")
        found = trial.audit()
    assert found.passed, found
    assert found.other_software == {"takeup 0.0.1": 1}  # the other one of that version comes out the same
    assert found.rederived == 2


@pytest.mark.requirement("R-2.3")
def test_the_command_line_says_what_it_found(victim: Path, tmp_path: Path) -> None:
    folder = victim.parent
    signed = ["--anchors", str(folder / "anchors"), "--key", str(folder / "key")]
    passed = runner.invoke(app, ["audit", str(victim), *signed])
    assert passed.exit_code == 0
    assert "victim: passed" in passed.output
    assert "15 derived again" in passed.output
    path = tampering.copied(victim, tmp_path / "forged.db")
    forger = tampering.Forger(path, stream(2))
    with forger.unlocked(True):
        forger.do_cut_the_tail()
    forger.close()
    unsigned = runner.invoke(app, ["audit", str(path)])
    assert unsigned.exit_code == 0
    assert "would not be noticed" in unsigned.output
    failed = runner.invoke(app, ["audit", str(path), *signed, "--json"])
    assert failed.exit_code == 1
    assert "an end after" in json.loads(failed.output)["audits"][0]["difference"]["found"]
    assert runner.invoke(app, ["audit", str(victim), *signed, "--at-rest"]).exit_code == 0
    with pytest.raises(InputError, match="both or neither"):
        runner.invoke(app, ["audit", str(victim), *signed[:2]], catch_exceptions=False)


def test_doctor_says_what_there_is(victim: Path, tmp_path: Path) -> None:
    shown = runner.invoke(app, ["doctor", str(victim)])
    assert shown.exit_code == 0, shown.output
    assert "WAL-reset bug" in shown.output
    assert "1 trials: victim" in shown.output
    path = tampering.copied(victim, tmp_path / "forged.db")
    forger = tampering.Forger(path, stream(2))
    forger.do_drop_trigger()
    forger.close()
    shown = runner.invoke(app, ["doctor", str(path)])
    assert shown.exit_code == 1
    assert "PROBLEM: trigger events_no_" in shown.output
    assert "has mode 0644" in shown.output


@pytest.mark.requirement("R-2.5")
def test_an_event_that_was_added_without_the_key_follows_the_last_anchor(victim: Path, tmp_path: Path) -> None:
    path = tampering.copied(victim, tmp_path / "forged.db")
    forger = tampering.Forger(path, stream(2))
    with forger.unlocked(True):
        book = forger.book(forger.bodies())
        perform(Report(decision=1, missing=("implemented",), reason="forged"), book, book.at)
        forger.store(book)
    forger.close()
    anchors = read_anchors(victim.parent / "anchors", read_key(victim.parent / "key"))
    with looking(path) as connection:
        found = audit(connection, "victim", anchors)
        assert (found.passed, found.unanchored) == (True, 1)
        assert not audit(connection, "victim", anchors, at_rest=True).passed
