"""The framework of the gates: what is found is kept, and the page says no more than was run."""

import json
import re
from pathlib import Path

import pytest

from gates.gate import AbsentError, Found, Gate, Run
from gates.kept import FOLDER, kept, lasting
from gates.known import PARTS, known
from gates.page import page

FINE = Gate(
    name="fine",
    part="load",
    shows="a thing | another",
    unit="tries",
    times=1_000,
    suite=0,
    run=lambda run: Found(True, f"{run.times} tried"),
    without="care",
    control=lambda _: Found(False, "broken"),
)


@pytest.mark.parametrize("gate", known().values(), ids=lambda gate: gate.name)
def test_every_gate_says_what_it_is(gate: Gate) -> None:
    assert re.fullmatch(r"[a-z0-9-]+", gate.name)
    assert gate.part in PARTS
    assert gate.times >= gate.suite >= 0
    assert gate.control_times > 0
    assert all((gate.shows, gate.unit, gate.without))
    assert "|" not in gate.shows


def test_scales() -> None:
    assert [FINE.at(scale) for scale in (1, 0.01, 1e-9)] == [1_000, 10, 1]


def _run(gate: Gate, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *options: str) -> tuple[int, str]:
    from gates import __main__ as command

    monkeypatch.setattr(command, "known", lambda: {gate.name: gate})
    monkeypatch.setattr("signal.signal", lambda *_: None)
    given = ["--scale", "0.01", "--results", str(tmp_path), "--write", str(tmp_path / "page.md")]
    monkeypatch.setattr("sys.argv", ["gates", *given, *options])
    with pytest.raises(SystemExit) as ended:
        command.main()
    return int(ended.value.code or 0), (tmp_path / "page.md").read_text()


def test_what_was_run_is_kept_and_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, told = _run(FINE, monkeypatch, tmp_path, "--seed", "7")
    assert code == 0
    assert json.loads((tmp_path / "fine.json").read_text())["times"] == 10
    row = next(line for line in told.splitlines() if line.startswith("| fine"))
    assert "a thing \\| another" in row
    assert "10 of 1,000 tries" in row
    assert "held: 10 tried" in row
    assert "| 7 |" in row
    assert "| 0 s |" in row
    assert "fails, as it must: broken" in row
    assert kept(tmp_path)["fine"].commit in row


def test_times_as_people_say_them() -> None:
    assert [lasting(seconds) for seconds in (3.4, 60, 4_871.8)] == ["3 s", "1 min", "1 h 21 min"]


def test_how_long_a_gate_takes_is_said_before_it_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(FINE, monkeypatch, tmp_path)
    assert capsys.readouterr().out.startswith("1 of 1 gates, which took 0 s when they were run last\nfine: 10 tries\n")
    _run(FINE, monkeypatch, tmp_path)
    assert "fine: 10 tries; took 0 s for 10 last time\n" in capsys.readouterr().out


def _changed(**changes: object) -> Gate:
    return Gate(**{**{name: getattr(FINE, name) for name in Gate.__slots__}, **changes})


def test_a_gate_fails_where_it_does_not_hold_or_breaks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, told = _run(_changed(run=lambda _: Found(False, "3 lost")), monkeypatch, tmp_path)
    assert code == 1
    assert "**failed**: 3 lost" in told

    def breaks(_: Run) -> Found:
        raise ValueError("no such thing")

    code, told = _run(_changed(run=breaks), monkeypatch, tmp_path)
    assert code == 1
    assert "**failed**: broke: ValueError: no such thing" in told

    code, told = _run(_changed(control=breaks), monkeypatch, tmp_path)
    assert code == 1
    assert "**sees nothing**: broke: ValueError: no such thing" in told


def test_a_gate_fails_whose_control_sees_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, told = _run(_changed(control=lambda _: Found(True, "0 lost")), monkeypatch, tmp_path)
    assert code == 1
    assert "**sees nothing**: 0 lost" in told


def test_what_cannot_be_run_here_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def away(_: Run) -> Found:
        raise AbsentError("no PostgreSQL")

    code, told = _run(_changed(run=away), monkeypatch, tmp_path)
    assert code == 0
    assert "left out: no PostgreSQL" in told


def test_what_was_not_run_is_not_claimed() -> None:
    assert "not run yet" in page({"fine": FINE}, {})


def test_the_page_says_what_the_results_say() -> None:
    root = Path(__file__).parents[1]
    assert (root / "docs" / "gates.md").read_text() == page(known(), kept(root / FOLDER))
