"""What a trial takes on trust, and what not: who asked, what clients drew, who chose the seed."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from store_internals import SPEC, as_version_0_1, engine, made_by_0_1
from takeup.cli import app
from takeup.errors import AccessError, InputError, StateError
from takeup.live import Trial
from takeup.specfile import SpecError
from takeup.store import Store
from takeup.trial import Ask, Decide, Decision


def test_a_database_of_version_0_1_is_migrated_and_those_who_asked_are_still_told(database: str) -> None:
    """The head's new columns follow from the log, and so does who asked for each decision."""
    trial = Trial.create(database, SPEC)
    trial.start()
    nurse, other = "nurse (0123456789ab)", "doctor (ba9876543210)"
    made = trial.decide("a", 0, key="k", by=nurse)
    for i in range(3):
        trial.fallback(f"f{i}", "drug", 0, by=nurse if i else None)
    trial.report(made, outcome=1)
    trial.pause()
    before = trial.events(limit=100)
    url = trial.store.url
    with engine(trial.store).begin() as connection:
        as_version_0_1(connection)
    trial.store.close()
    with Store(url) as store:
        again = Trial.open(store, trial.id)
        assert again.events(limit=100) == before
        assert again.audit().passed
        assert again.progress().fallbacks_by == {nurse: 2, "": 1}
        ask = Ask(unit="a", context=0)
        assert again.submit(Decide(ask=ask, by=nurse, blinded=True)).result() == made
        with pytest.raises(AccessError, match="somebody else asked for"):
            again.submit(Decide(ask=ask, by=other, site="north", blinded=True)).result()
        assert [each.kind for each in again.events(after=len(before))] == ["answered", "refused"]
        assert again.audit().passed
        with engine(store).connect() as connection:
            head = connection.execute(text("SELECT moved FROM trials")).scalar_one()
        assert head == next(each.at for each in reversed(before) if each.kind == "moved")


def test_fallbacks_are_taken_for_some_time_and_so_many_a_day(tmp_path: Path) -> None:
    """Each line says what is refused, and why; what was recorded once is answered for ever."""
    day, now = 86_400_000_000, 10**15
    limits = {"fallback_limits": {"a_day": 3, "within": "2 days"}}
    with Trial.create(tmp_path / "t.db", SPEC | limits, clock=lambda: now) as trial:

        def draw(unit: str, *, drawn: int | None = None, by: str = "north") -> Decision:
            return trial.fallback(unit, "drug", 0, drawn=drawn, by=by, key=f"{unit} was drawn")

        trial.start()
        first = draw("a", drawn=now - day)
        with pytest.raises(InputError, match="a time that has passed"):
            draw("z", drawn=now + day)
        with pytest.raises(StateError, match="takes fallbacks for 2 days after they were drawn"):
            draw("z", drawn=now - 3 * day)
        draw("b")
        draw("c")
        with pytest.raises(StateError, match="takes 3 fallbacks a day from one key"):
            draw("d")
        draw("d", by="south")
        assert draw("a", drawn=now - day) == first
        assert trial.fallback("a", "rest", 0, by="north") == first  # it stands, and counts for nothing
        now += day
        draw("e")
        trial.stop()
        stopped = now
        now += day
        draw("f", drawn=stopped - 1)
        with pytest.raises(StateError, match="is stopped; it takes what was drawn before, so say when"):
            draw("g")
        with pytest.raises(StateError, match="drawn after trial store was stopped"):
            draw("g", drawn=now)
        now += 2 * day
        with pytest.raises(StateError, match="takes fallbacks for 2 days after they were drawn"):
            draw("g", drawn=stopped - 1)
        found = trial.audit()
        assert (found.passed, found.fallbacks, found.fallbacks_by) == (True, 6, {"north": 5, "south": 1})
        assert trial.progress().fallbacks_by == found.fallbacks_by


def test_fallbacks_that_somebody_chose_are_noticed(emptied: str) -> None:
    """Twelve times the same of two that are equally likely: 1 in 2,048, and a score of 3.5."""
    with Trial.create(emptied, SPEC) as trial:
        trial.start()
        for i in range(12):
            trial.fallback(f"u{i}", "drug", 0)
        found = trial.summary().fallback_ratio
    assert found is not None
    assert found.z["drug"] == pytest.approx(12 / 2 / np.sqrt(12 / 4))
    assert found.alarm


@pytest.mark.requirement("R-2.8")
def test_a_seed_is_for_rehearsals_alone_and_is_told_of(tmp_path: Path) -> None:
    real = {name: value for name, value in SPEC.items() if name != "rehearsal"}
    with pytest.raises(SpecError, match=r"seed: got 11, expected no seed, .* rehearsal = true"):
        Trial.create(tmp_path / "t.db", real)
    unseeded = {name: value for name, value in real.items() if name != "seed"}
    for name, spec, purpose in (
        ("seeded", SPEC, "rehearsal with a given seed"),
        ("drawn", SPEC | {"seed": None}, "rehearsal"),
        ("real", unseeded, "trial"),
    ):
        with Trial.create(tmp_path / "t.db", spec, trial=name) as trial:
            if name == "seeded":
                with pytest.raises(StateError, match="is a rehearsal and stays one"):
                    trial.amend(unseeded)
            trial.start()
            trial.decide("a", 0)
            out = io.BytesIO()
            trial.export(out, "jsonl", blinded=True)
            assert json.loads(out.getvalue())["purpose"] == purpose
            assert trial.progress().rehearsal == (name != "real")
            assert trial.audit().seeded == (name == "seeded")
            assert f'"seeded":{str(name == "seeded").lower()}' in trial.events(limit=1)[0].body
            assert trial.audit().passed


@pytest.mark.parametrize(("rehearsal", "purpose"), [(True, "rehearsal"), (False, "trial")])
def test_nobody_knows_whether_version_0_1_was_given_a_seed(
    tmp_path: Path, rehearsal: bool, purpose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_by_0_1(monkeypatch)
    with Trial.create(tmp_path / "t.db", SPEC | {"seed": None, "rehearsal": rehearsal}, trial="old") as trial:
        trial.start()
        trial.decide("a", 0)
        out = io.BytesIO()
        trial.export(out, "jsonl", blinded=True)
        assert json.loads(out.getvalue())["purpose"] == f"{purpose}, not known whether with a given seed"
        assert "seeded" not in trial.events(limit=1)[0].body
        found = trial.audit()
        assert (found.passed, found.seeded) == (True, None)
    said = CliRunner().invoke(app, ["audit", str(tmp_path / "t.db")]).output
    assert "a seed of which the log does not say whether it was given" in said
