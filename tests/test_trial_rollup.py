"""Time series that hardly grow, against a list of all decisions."""

from typing import Any

import numpy as np
import pytest
from sqlalchemy import inspect, text

from store_internals import as_version_0_1, engine
from takeup.live import Trial
from takeup.live.time_series import time_series_of
from takeup.store import Store, reading
from takeup.trial import Book, Design
from takeup.trial.rollup import BUCKETS, Rollup, first_of, step_of
from takeup.trial.secret import Secret

SPEC: dict[str, Any] = {"name": "Course", "space": {"proposals": 3, "contexts": 2}, "policy": {"kind": "Uniform"}}


@pytest.mark.parametrize("decisions", [1, 127, 128, 129, 256, 257, 1_000, 5_000])
def test_points_are_sums_over_stretches_of_one_length(decisions: int) -> None:
    """The fewest decisions a point, a power of two, that give at most 128 points."""
    rng = np.random.default_rng(decisions)
    context, proposal = rng.integers(2, size=decisions), rng.integers(3, size=decisions)
    probability, best = rng.dirichlet(np.ones(3), decisions), rng.dirichlet(np.ones(3), decisions)
    rollup = Rollup()
    for i in range(decisions):
        rollup.add(i + 1, int(context[i]), int(proposal[i]), probability[i].tolist(), best[i].tolist(), i)
    design = Design.of(SPEC)
    counts = np.zeros((2, 3, 4, 3), dtype=np.int64)
    book = Book("t", design, Secret("", ""), counts, decisions=decisions, rollup=rollup)
    course, step = time_series_of(book), 2 ** max(0, int(np.ceil(np.log2(decisions / BUCKETS))))
    assert len(course.overall) == -(-decisions // step) <= BUCKETS
    for points, here in ((course.overall, np.ones(decisions, bool)), (course.contexts["1"], context == 1)):
        firsts = iter(points)
        for first in range(1, decisions + 1, step):
            inside = here & (np.arange(decisions) // step == (first - 1) // step)
            if inside.any():
                point = next(firsts)
                assert (point.first, point.last) == (first, min(first + step - 1, decisions))
                assert point.proposed == tuple(np.bincount(proposal[inside], minlength=3))
                np.testing.assert_allclose(point.probability, probability[inside].mean(axis=0))
                np.testing.assert_allclose(point.best, best[inside].mean(axis=0))
                assert point.until == np.flatnonzero(inside).max()
        assert next(firsts, None) is None
    fewer = time_series_of(book, 32).overall
    assert len(fewer) <= 32
    sizes = [sum(point.proposed) for point in fewer]
    assert np.sum([point.proposed for point in fewer], axis=0).tolist() == np.bincount(proposal, minlength=3).tolist()
    np.testing.assert_allclose(sizes @ np.array([point.best for point in fewer]), best.sum(axis=0))


def test_buckets_follow_one_another_without_a_gap() -> None:
    number, rows = 1, 0
    while number <= 10**6:
        assert first_of(number) == number
        assert {first_of(number + k) for k in (0, step_of(number) - 1)} == {number}
        number, rows = number + step_of(number), rows + 1
    assert rows == BUCKETS + 64 * 12 + 59  # 12 doublings to 524,288, and what is begun


def test_a_database_of_before_is_brought_up_to_date(database: str) -> None:
    """Its buckets were merged where they were kept; they are made again from the log, which the audit checks."""
    with Trial.create(database, SPEC) as trial:
        trial.start()
        trial.decide_many([{"unit": f"u{i}", "context": i % 2} for i in range(300)])
        course = trial.course()
        with engine(trial.store).begin() as connection:
            as_version_0_1(connection)
            for statement in (
                "DROP TABLE rollup",
                "CREATE TABLE rollup (trial TEXT, bucket INTEGER, context INTEGER)",
                "INSERT INTO rollup VALUES ('course', 0, 0)",
                "ALTER TABLE trials ADD COLUMN step BIGINT NOT NULL DEFAULT 4",
                "UPDATE alembic_version SET version_num = '0003'",
            ):
                connection.execute(text(statement))
    with Store(database) as store:
        again = Trial.open(store, trial.id)
        assert again.course() == course
        assert again.audit().passed
        columns = store.read(lambda connection: inspect(connection).get_columns("trials"))
        assert "step" not in {column["name"] for column in columns}
        assert store.read(lambda connection: reading.snapshot(connection, trial.id)).decisions == 300
