"""Seeds and keys of one-time codes that a copy of the database does not give away."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import text

import asgi
from page_visitor import person
from store_internals import engine
from takeup.errors import InputError, StoreError
from takeup.live import Trial, audit_database, new_key
from takeup.service import codes
from takeup.store import Store, looking, sealing
from takeup.store.checkup import checkup

SPEC = {"name": "t", "space": {"proposals": 2}, "policy": {"kind": "TSObs"}}
SECRET = "5eed" * 16 + ":" + "0" * 32


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A key that seals, from now on."""
    file = tmp_path / "seal.key"
    new_key(file)
    monkeypatch.setenv(sealing.VARIABLE, str(file))
    return file


def another(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_key(folder / "another.key")
    monkeypatch.setenv(sealing.VARIABLE, str(folder / "another.key"))


def test_what_is_sealed_comes_back_and_says_nothing(key: Path) -> None:
    for secret in (SECRET, "é" * 100, "x" * 31, "x" * 32, "x" * 33):
        one, other = (sealing.sealed(secret, "trial t") for _ in range(2))
        assert one != other
        assert sealing.opened(one, "trial t") == sealing.opened(other, "trial t") == secret
        assert not secret or secret.encode().hex() not in one
    assert sealing.opened(SECRET, "trial t") == SECRET  # from before there was a key


def test_what_is_sealed_can_be_neither_changed_nor_moved(
    key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = sealing.sealed(SECRET, "trial t")
    changed = [stored[:i] + ("0" if stored[i] != "0" else "1") + stored[i + 1 :] for i in range(9, len(stored), 7)]
    for forged in (*changed, stored[:-1], stored + "0", "sealed 1", "sealed 1 x y z", "sealed 1 é", stored.upper()):
        if forged.startswith("sealed 1"):
            with pytest.raises(StoreError, match="another key"):
                sealing.opened(forged, "trial t")
    with pytest.raises(StoreError, match="another key"):
        sealing.opened(stored, "trial u")
    another(tmp_path, monkeypatch)
    with pytest.raises(StoreError, match="another key"):
        sealing.opened(stored, "trial t")
    monkeypatch.delenv(sealing.VARIABLE)
    with pytest.raises(StoreError, match="name the file with its key in TAKEUP_SEAL_KEY"):
        sealing.opened(stored, "trial t")
    monkeypatch.setenv(sealing.VARIABLE, str(tmp_path / "nowhere.key"))
    with pytest.raises(InputError, match="TAKEUP_SEAL_KEY"):
        sealing.opened(stored, "trial t")


def copied(database: Path, copy: Path) -> bytes:
    """A backup, as sqlite3 makes it."""
    with sqlite3.connect(database) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    source.close()
    target.close()
    return copy.read_bytes()


def test_a_copy_of_the_database_has_no_seed_and_goes_on_with_the_key_alone(
    key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "trials.db"
    with Trial.create(database, {**SPEC, "rehearsal": True, "seed": "5eed" * 16}) as trial:
        trial.start()
        first = [trial.decide(f"u{i}").proposal for i in range(20)]
        copy = copied(database, tmp_path / "copy.db")
        assert b"5eed5eed" not in copy + database.read_bytes()
        assert trial.audit().passed
    with Trial.open(tmp_path / "copy.db") as again:
        assert [again.decide(f"u{i}").proposal for i in range(20)] == first
        assert again.audit().passed
    with looking(str(tmp_path / "copy.db")) as connection:
        assert "seeds of trials that have not stopped: 1 of 1 sealed" in checkup(connection).facts
    monkeypatch.delenv(sealing.VARIABLE)
    with looking(str(tmp_path / "copy.db")) as connection:
        assert "TAKEUP_SEAL_KEY" in str(checkup(connection).problems)
    with pytest.raises(StoreError, match="TAKEUP_SEAL_KEY"), Trial.open(tmp_path / "copy.db") as shut:
        shut.decide("u99")
    with Store(tmp_path / "copy.db") as store, pytest.raises(StoreError, match="TAKEUP_SEAL_KEY"):
        store.read(audit_database)
    another(tmp_path, monkeypatch)
    with Store(tmp_path / "copy.db") as store:
        found = store.read(audit_database)
    assert not found.passed


def test_a_trial_from_before_the_key_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = tmp_path / "trials.db"
    with Trial.create(database, SPEC) as trial:
        trial.start()
        trial.decide("a")
    new_key(tmp_path / "seal.key")
    monkeypatch.setenv(sealing.VARIABLE, str(tmp_path / "seal.key"))
    with Trial.open(database) as trial:
        trial.decide("b")
        assert trial.audit().passed


def test_keys_of_one_time_codes_are_sealed(key: Path, tmp_path: Path) -> None:
    secret = codes.new_secret()
    with asgi.api(f"sqlite:///{tmp_path}/t.db") as api:
        ada, people = person(api, "observer"), api.app.state.service.people
        changed = api.run(people.change(ada, {"code_secret": secret, "code_step": 0}, "uses codes", "test"))
        assert changed.code_secret == secret
        with engine(api.store).connect() as connection:
            stored = connection.execute(text("SELECT code_secret FROM people")).scalar_one()
        assert stored.startswith("sealed 1 ")
        ended = api.run(people.change(ada, {"code_secret": None}, "ends codes", "test"))
        assert ended.code_secret is None
