"""What covariates add to the evidence, packed: what is written, what is read, and a database of before."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from store_internals import engine
from takeup.errors import StoreError
from takeup.live import Trial
from takeup.randomness import stream
from takeup.space import UNSEEN
from takeup.store import Store, reading

SPEC: dict[str, Any] = {
    "name": "Clinic",
    "rehearsal": True,
    "seed": 7,
    "space": {
        "proposals": 2,
        "contexts": ["young", "old"],
        "covariates": {"age": {"kind": "measure", "low": 0, "high": 100}},
    },
    "policy": {"kind": "Forgetting", "base": {"kind": "LinTS"}, "half_life": 10, "epoch": 4},
    "draws": 100,
}


def lived(store: Store, first: int = 0, many: int = 15, policy: Any = None) -> Trial:
    if first:
        trial = Trial(store, "clinic")
    else:
        trial = Trial.create(store, {**SPEC, "policy": policy or SPEC["policy"]}, trial="clinic")
        trial.start()
    rng = stream(1, first)
    for i in range(first, first + many):
        decision = trial.decide(f"{i}", int(rng.integers(2)), covariates={"age": int(rng.integers(100))})
        if i % 4:
            trial.report(decision, implemented=int(rng.integers(2)), outcome=int(rng.integers(2)))
    return trial


@pytest.mark.parametrize("kind", ["Forgetting", "LinTS"])
def test_a_decision_writes_one_row_of_sums_and_a_report_two(tmp_path: Path, kind: str) -> None:
    """Twice as many where the policy forgets, as its epoch has sums too."""
    with Store(tmp_path / "clinic.db") as store:
        trial = lived(store, policy=None if kind == "Forgetting" else {"kind": kind})
        before = dict(reading_sums(store))
        decision = trial.decide("next", 0, covariates={"age": 50})
        made = dict(reading_sums(store))
        trial.report(decision, implemented=1, outcome=1)
        moved = dict(reading_sums(store))
    times = 2 if kind == "Forgetting" else 1
    assert sum(made[place] != before.get(place) for place in made) == times
    assert sum(moved[place] != made.get(place) for place in moved) == 2 * times


def test_a_row_has_the_sums_of_its_place(tmp_path: Path) -> None:
    with Store(tmp_path / "clinic.db") as store:
        trial = lived(store, policy={"kind": "LinTS"})
        rows, counts = dict(reading_sums(store)), trial.evidence().counts
        width = trial.design.space.outcome.width
    for x, z, a in np.ndindex(counts.shape[:-1]):
        place = (-1, x, z, UNSEEN if a == 2 else a)
        found = np.frombuffer(rows[place], dtype="<i8") if place in rows else 0
        np.testing.assert_array_equal(counts[x, z, a, width:-1], found)


def test_a_database_of_schema_12_goes_on(database: str) -> None:
    """There every sum had a row of its own."""
    with Store(database) as store:
        trial = lived(store)
        evidence, rows = trial.evidence(), reading_sums(store)
        with engine(store).begin() as connection:
            for (epoch, x, z, a), packed in rows:
                table, named = ("evidence", "") if epoch < 0 else ("evidence_epochs", f"{epoch}, ")
                for slot, amount in enumerate(np.frombuffer(packed, dtype="<i8").tolist()):
                    values = f"'clinic', {named}{x}, {z}, {a}, {slot + 2}, {amount}"
                    if amount or slot == 0:
                        connection.execute(text(f"INSERT INTO {table} VALUES ({values})"))
            connection.execute(text("DROP TABLE leases"))
            connection.execute(text("ALTER TABLE trials DROP COLUMN leased"))
            connection.execute(text("DROP TABLE evidence_sums"))
            connection.execute(text("ALTER TABLE trials DROP COLUMN fitted"))
            connection.execute(text("UPDATE alembic_version SET version_num = '0012'"))
    with Store(database) as store:
        assert Trial(store, "clinic").evidence() == evidence
        assert reading_sums(store) == rows
        trial = lived(store, first=15, many=5)
        assert trial.audit().difference is None


SET = "UPDATE evidence_sums SET sums = :sums"
ADD = "INSERT INTO evidence_sums VALUES ('clinic', -1, 9, 0, 0, :sums)"
FORGED: dict[str, tuple[str, Callable[[bytes], object]]] = {
    "a sum": (SET, lambda sums: b"\x01" + sums[1:]),
    "another sum": (SET, lambda sums: sums[:8] + b"\x09" + sums[9:]),
    "a row that is gone": ("DELETE FROM evidence_sums WHERE epoch = -1", bytes),
    "an epoch that is gone": ("DELETE FROM evidence_sums WHERE epoch = 3", bytes),
    "too few": (SET, lambda sums: sums[8:]),
    "below zero": (SET, lambda sums: sums[:-1] + b"\xff"),
    "a place that there is none of": (ADD, bytes),
    "a text": (SET, lambda _: "x"),
    "a sum among the counts": ("INSERT INTO evidence VALUES ('clinic', 0, 0, 0, 2, 5)", bytes),
}


@pytest.mark.parametrize("forged", FORGED)
def test_what_was_tampered_with_is_found(tmp_path: Path, forged: str) -> None:
    statement, change = FORGED[forged]
    with Store(tmp_path / "clinic.db") as store:
        trial = lived(store)
        (place, sums), *_ = reading_sums(store)
        where = " WHERE (epoch, context, proposal, implemented) = (:e, :x, :z, :a)" if statement == SET else ""
        values = dict(zip("exza", place, strict=True)) if where else {}
        given = {"sums": change(sums)} if ":sums" in statement else {}
        with engine(store).begin() as connection:
            connection.execute(text(statement + where), given | values)
        difference = trial.audit().difference
    assert difference is not None
    assert difference.where.startswith("evidence")
    with Store(tmp_path / "clinic.db") as store:
        if forged != "another sum":  # which the audit alone can tell from a true one
            with pytest.raises(StoreError, match=r"evidence.* holds a row of trial clinic that no log can lead to"):
                Trial(store, "clinic").decide("next", 0, covariates={"age": 50})


def reading_sums(store: Store) -> list[tuple[Any, bytes]]:
    stored = store.read(lambda connection: list(reading.stored(connection, "clinic", "evidence_sums")))
    return [(place, row["sums"]) for place, row in stored]
