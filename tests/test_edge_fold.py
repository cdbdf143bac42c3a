"""Decisions under leases, many at a time, against the obvious way: one event after the other."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from takeup import stream
from takeup.live import Trial
from takeup.store.schema import FOLDS, events, trials
from takeup.trial.edge_fold import EdgeFold

SPEC: dict[str, Any] = {
    "name": "Fold",
    "space": {
        "proposals": ["rest", '"new" drug', "日本"],
        "contexts": ["young", "old"],
        "outcomes": ["ill", "well"],
    },
    "policy": {"kind": "TSObs"},
    "draws": 100,
    "burn_in": 5,
    "edge": {"allowed": True, "most": 300},
    "rehearsal": True,
    "seed": 5,
}
LEVELS: list[Any] = ["ill", "well", 1]
VARIANTS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "levels": ({}, LEVELS),
    "a window": ({"window": 60}, LEVELS),
    "occasions": ({"decisions": "many"}, LEVELS),
    "forgetting": (
        {"policy": {"kind": "Forgetting", "base": {"kind": "TSObs"}, "half_life": 60, "epoch": 20}},
        LEVELS,
    ),
    "never reported": ({"compliance": "never", "policy": {"kind": "TS"}}, LEVELS),
    "one context": ({"space": {"proposals": ["rest", "drug"], "outcomes": ["ill", "well"]}}, LEVELS),
    "a number": (
        {
            "space": {"proposals": ["rest", "drug"], "outcomes": {"kind": "number", "low": 60, "high": 220}},
            "policy": {"kind": "TS"},
        },
        [118, 118.4, "131", 9999, True],
    ),
    "a time": (
        {
            "space": {"proposals": ["rest", "drug"], "outcomes": {"kind": "time", "longest": 90}},
            "policy": {"kind": "TS"},
        },
        [12, {"time": 30, "censored": True}, {"time": 5}],
    ),
}


def rows_of(trial: Trial, lease: Any, rng: np.random.Generator, many: int, outcomes: list[Any]) -> list[dict[str, Any]]:
    """Draws of every kind, most of them plain."""
    space, rows = trial.design.space, list[dict[str, Any]]()
    occasions = trial.design.spec.decisions == "many"
    for _ in range(many):
        unit, x = f'unit "{rng.integers(10_000)}" é', int(rng.integers(len(space.contexts)))
        occasion = f"week {rng.integers(3)}" if occasions else None
        z = lease.draw(unit, occasion, x)
        row: dict[str, Any] = {"unit": unit, "proposal": space.proposals[z], "lease": lease.number}
        row["drawn"] = lease.issued + int(rng.integers(0, 33_000_000))
        if len(space.contexts) > 1:
            row["context"] = space.contexts[x]
        if occasion:
            row["occasion"] = occasion
        if rng.random() < 0.6 and trial.design.spec.compliance != "never":
            row["implemented"] = space.implemented[rng.integers(len(space.implemented))]
        if rng.random() < 0.6:
            row["outcome"] = outcomes[rng.integers(len(outcomes))]
        if len(rows) % 3:
            row["lease_hash"] = lease.fingerprint if len(rows) % 67 else "00" * 8
        if rng.random() < 0.03:
            row["missing"] = ["outcome"]
        if rng.random() < 0.03:
            row["proposal"] = space.proposals[(z + 1) % len(space.proposals)]
        if rng.random() < 0.03:
            row = {"unit": rows[rng.integers(len(rows))]["unit"] if rows else unit, "outcome": outcomes[0]}
        if rng.random() < 0.03 and rows:
            row = rows[rng.integers(len(rows))]
        rows.append(row)
    return rows


def lived(path: Path, variant: str) -> tuple[dict[str, list[tuple[Any, ...]]], int]:
    """A trial with three leases and as many batches; all that its database has, and how many decisions it made."""
    changes, outcomes = VARIANTS[variant]
    rng, now = stream(9, variant), [1_000_000]
    with Trial.create(path, {**SPEC, **changes}, clock=lambda: now[0]) as trial:
        trial.start()
        for batch in range(3):
            lease = trial.lease(by="edge")
            now[0] += 20_000_000
            rows = rows_of(trial, lease, rng, 200, outcomes)
            trial.ingest(f"batch {batch}", rows, by='the "edge"' if batch else None)
            now[0] += 50_000_000
        trial.tick()
        found = trial.audit()
        assert found.passed, found.difference

        def dump(connection: Any) -> dict[str, list[tuple[Any, ...]]]:
            tables = (trials, events, *FOLDS.values())
            return {
                table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]
                for table in tables
            }

        return trial.store.read(dump), found.leased


@pytest.mark.parametrize("variant", VARIANTS)
def test_both_ways_give_identical_databases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: str) -> None:
    monkeypatch.setattr("takeup.trial.secret.secrets.token_hex", lambda many: "5a" * many)
    plain: Callable[..., Any] = EdgeFold.derive
    seen = []

    def counted(*given: Any, **named: Any) -> Any:
        found = plain(*given, **named)
        seen.append(found is not None)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(EdgeFold, "derive", counted)
        quick, decisions = lived(tmp_path / "quick.db", variant)
    assert decisions > 300
    assert sum(seen) > decisions  # nearly all, once when they came in and once in the audit
    monkeypatch.setattr(EdgeFold, "derive", lambda *_, **__: None)
    slow, again = lived(tmp_path / "slow.db", variant)
    assert again == decisions
    assert quick == slow
