"""A database whose file is replaced or deleted under a store: nothing is acknowledged that is not in the file."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from asgi import Api
from takeup.errors import StoreError
from takeup.live import Trial
from takeup.service import Settings, create_app
from takeup.store import Store, library
from takeup.store.writer_process import WriterProcess

pytestmark = pytest.mark.skipif(not library().shared, reason="this SQLite lets nobody else open the file")

SPEC: dict[str, Any] = {
    "name": "File",
    "space": {"proposals": 2},
    "policy": {"kind": "Uniform"},
    "rehearsal": True,
    "seed": 11,
}


def _replace(file: Path) -> None:
    copy = file.with_suffix(".copy")
    shutil.copy(file, copy)
    copy.replace(file)


def _link(file: Path) -> None:
    """The path leads to another file through a link."""
    copy = file.with_suffix(".copy")
    shutil.copy(file, copy)
    file.unlink()
    file.symlink_to(copy)


def _replace_log(file: Path) -> None:
    _replace(file.with_name(f"{file.name}-wal"))


def _delete_log(file: Path) -> None:
    file.with_name(f"{file.name}-wal").unlink()


ATTACKS = [_replace, Path.unlink, _link, _replace_log, _delete_log]
BEFORE_A_PROCESS = [
    pytest.param("process", attack, marks=[] if attack is _delete_log else pytest.mark.long) for attack in ATTACKS
]
"""It looks as a thread does, and takes a second to start."""


@pytest.fixture(params=["thread", "process"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    url = str(tmp_path / "t.db")
    with Store(url) if request.param == "thread" else Settings(database=url).store() as opened:
        yield opened


@pytest.mark.requirement("R-3.8")
@pytest.mark.parametrize(
    ("store", "attack"), [*(("thread", attack) for attack in ATTACKS), *BEFORE_A_PROCESS], indirect=["store"]
)
def test_nothing_is_acknowledged_that_is_not_in_the_file(store: Store, attack: Callable[[Path], None]) -> None:
    trial = Trial.create(store, SPEC)
    trial.start()
    trial.decide("before")
    attack(Path(store.url))
    for call in (lambda: trial.decide("after"), store.probe().result, lambda: Trial.create(store, SPEC, trial="new")):
        with pytest.raises(StoreError, match="replaced or deleted under the service"):
            call()


def test_another_file_is_not_opened_by_another_writer(tmp_path: Path) -> None:
    """The process dies, and its successor would find an empty place, and make a database there."""
    file = tmp_path / "t.db"
    with Settings(database=str(file)).store() as store:
        assert isinstance(store.writer, WriterProcess)
        trial = Trial.create(store, SPEC)
        file.rename(tmp_path / "elsewhere")
        assert store.writer.pid is not None
        os.kill(store.writer.pid, signal.SIGKILL)
        for _ in range(2):
            with pytest.raises(StoreError):
                trial.start()
        assert not file.exists()
        (tmp_path / "elsewhere").rename(file)
        trial.start()


@pytest.mark.parametrize("store", ["thread", pytest.param("process", marks=pytest.mark.long)], indirect=True)
def test_readers_do_not_see_another_file(store: Store) -> None:
    trial = Trial.create(store, SPEC)
    assert trial.progress().sequence == 1
    _replace(Path(store.url))
    with pytest.raises(StoreError, match="replaced or deleted"):
        trial.progress()


def test_a_deleted_log_loses_nothing_when_the_store_is_closed(tmp_path: Path) -> None:
    """What had been acknowledged is in the log that the store still has open, and goes to the file."""
    with Trial.create(tmp_path / "t.db", SPEC) as trial:
        trial.start()
        numbers = [trial.decide(f"u{i}").number for i in range(5)]
        _delete_log(tmp_path / "t.db")
        with pytest.raises(StoreError, match="replaced or deleted"):
            trial.decide("after")
    with Trial.open(tmp_path / "t.db") as trial:
        assert trial.progress().decisions == len(numbers)
        assert trial.audit().passed


def test_the_service_is_not_ready_any_more(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    running = Api(create_app(Settings(), Store(tmp_path / "t.db")))
    try:
        assert running.request("GET", "/ready").status == 200
        (tmp_path / "t.db").unlink()
        running.app.state.service.readiness._began = float("-inf")  # a second later
        reply = running.request("GET", "/ready")
        assert (reply.status, reply.json["type"]) == (503, "urn:takeup:unavailable")
        assert "replaced or deleted under the service" in caplog.text
        assert str(tmp_path) not in reply.json["detail"]
    finally:
        running.close()
