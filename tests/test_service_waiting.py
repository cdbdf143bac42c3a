"""More decisions and reports than can be written: some are turned away at once, and told when to come again."""

from pathlib import Path

import pytest

import asgi
from asgi import SPEC
from takeup.service import Settings
from takeup.service.waiting import Waiting


def test_there_is_room_until_there_is_none() -> None:
    waiting = Waiting(3)
    for _ in range(3):
        assert not waiting.full("a")
        waiting.come("a")
    assert waiting.full("a")
    waiting.gone("a")
    assert not waiting.full("a")


def test_a_rush_to_one_trial_does_not_turn_others_away() -> None:
    """Of 6 places one trial has 6; another may have 3, its share of two, and then so on."""
    waiting = Waiting(6)
    for _ in range(6):
        waiting.come("a")
    for _ in range(3):
        assert not waiting.full("b")
        waiting.come("b")
    assert waiting.full("b")
    assert waiting.full("a")
    assert not waiting.full("c")


def test_those_who_leave_are_forgotten() -> None:
    waiting = Waiting(2)
    for trial in ("a", "b", "b"):
        with waiting.place(trial):
            assert not waiting.full("c")
    with pytest.raises(ValueError, match="broken"), waiting.place("a"):
        raise ValueError("broken")
    assert not any(waiting.full(trial) for trial in "abc")


def test_whoever_is_turned_away_is_told_when_to_come_and_leaves_no_trace(tmp_path: Path) -> None:
    """Others may read, and a batch, of which a few are written at a time, is taken."""
    with asgi.api(str(tmp_path / "t.db"), settings=Settings(waiting_limit=0)) as api:
        key = api.key("design", "decide", "report", "read-blinded")
        api.request("POST", "/trials?trial=t", SPEC, key)
        api.request("PUT", "/trials/t/state", {"state": "running"}, key)
        for path, body in (("decisions", {"unit": "a", "context": "morning"}), ("reports", {"decision": 1})):
            reply = api.request("POST", f"/trials/t/{path}", body, key)
            assert (reply.status, reply.json["type"]) == (503, "urn:takeup:unavailable")
            assert reply.headers["retry-after"] == "1"
            assert "x-request-id" in reply.headers
        batch = {"units": [{"unit": "b", "context": "morning"}]}
        assert api.request("POST", "/trials/t/decisions/batch", batch, key).status == 200
        assert api.request("GET", "/trials/t/progress", key=key).json["decisions"] == 1
