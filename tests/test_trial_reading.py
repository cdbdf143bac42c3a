"""What readers see: estimates against closed forms, what is withheld, time series, exports, and what stays hidden."""

import csv
import dataclasses
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

from store_internals import engine
from takeup.errors import InputError
from takeup.live import Trial, Withheld
from takeup.live.summary import TrialSummary
from takeup.live.time_series import sample_ratio_of
from takeup.randomness import stream
from takeup.store import Store, reading

SEED = "5eed" * 16
SPEC: dict[str, Any] = {
    "name": "Reading",
    "space": {"proposals": ["rest", "drug"], "contexts": ["young", "old"], "outcomes": ["died", "lived"]},
    "policy": {"kind": "TSObs"},
    "draws": 100,
    "rehearsal": True,
    "seed": SEED,
}


def filled(trial: Trial, decisions: int = 200, compliance: float = 0.8) -> None:
    """Simulated people: 80 % comply, the drug works."""
    rng = stream(4)
    trial.start()
    for decision in trial.decide_many([{"unit": f"u{i}", "context": i % 2} for i in range(decisions)]):
        action = decision.proposal if rng.random() < compliance else ("rest", "drug")[rng.integers(2)]
        lives = rng.random() < (0.8 if action == "drug" else 0.3)
        seen: dict[str, Any] = {} if trial.design.spec.compliance == "never" else {"implemented": action}
        trial.report(decision, outcome=int(lives), **seen)


@pytest.fixture(scope="module")
def trial() -> Iterator[Trial]:
    with Trial.create("sqlite://", SPEC) as made:
        filled(made)
        yield made


@pytest.fixture(scope="module")
def summary(trial: Trial) -> TrialSummary:
    return trial.summary()


def test_estimates_are_those_of_beta_posteriors(trial: Trial, summary: TrialSummary) -> None:
    """One context: the mean and the 95 % interval of Beta(1 + lived, 1 + died), within Monte Carlo error.

    The mean of 4,000 draws is within four errors of the true one; the interval's ends are within 0.02. Fixed seed.
    """
    book = trial.store.read(lambda connection: reading.snapshot(connection, trial.id))
    for x, group in enumerate(summary.contexts):
        for z, proposal in enumerate(group.proposals):
            died, lived = book.counts[x, z, :, :-1].sum(axis=0)
            posterior = beta(1 + lived, 1 + died)
            assert proposal.decisions == died + lived
            assert abs(proposal.value.mean - posterior.mean()) < 4 * posterior.std() / math.sqrt(4_000)
            np.testing.assert_allclose((proposal.value.low, proposal.value.high), posterior.interval(0.95), atol=0.02)
        assert not isinstance(group.compliance, Withheld)
        for z, row in enumerate(group.compliance):
            seen = book.counts[x, z, :-1].sum(axis=1)
            for a, cell in enumerate(row):
                exact = beta(1 + seen[a], 1 + seen.sum() - seen[a])
                assert cell.mean == pytest.approx(exact.mean())
                assert (cell.low, cell.high) == pytest.approx(exact.interval(0.95))
                assert cell.n == seen.sum()


def test_probabilities_of_being_best_sum_to_one(summary: TrialSummary) -> None:
    for group in (summary.overall, *summary.contexts):
        assert sum(p.probability_best for p in group.proposals) == pytest.approx(1)
        assert sum(p.model_probability_best or 0 for p in group.proposals) == pytest.approx(1)
        assert not isinstance(group.implemented, Withheld)
        assert sum(a.probability_best for a in group.implemented) == pytest.approx(1)
    assert summary.overall.proposals[1].probability_best > 0.99
    assert summary.overall.regret.mean > 0
    assert not summary.sample_ratio.alarm


def test_the_same_state_gives_the_same_summary(trial: Trial, summary: TrialSummary) -> None:
    assert trial.summary() == summary


@pytest.mark.parametrize("kind", ["TS", "TSLat", "Uniform"])
def test_what_is_not_identified_is_withheld_with_the_reason(kind: str) -> None:
    spec = SPEC | {"compliance": "never", "policy": {"kind": kind}}
    with Trial.create("sqlite://", spec) as trial:
        filled(trial, 40)
        summary = trial.summary()
        with pytest.raises(InputError, match="never reported"):
            trial.report(1, implemented="drug")
    for group in (summary.overall, *summary.contexts):
        assert isinstance(group.implemented, Withheld)
        assert isinstance(group.compliance, Withheld)
        assert "never reported" in group.compliance.reason
        assert all(proposal.value.n == proposal.decisions for proposal in group.proposals)
    assert isinstance(summary.exclusion, Withheld)
    assert summary.progress.compliance_pending == 0


def test_the_sample_ratio_check_is_a_martingale_score(trial: Trial) -> None:
    """Z from the log itself, and an alarm when one proposal was made more often than its probabilities say."""
    logged = [json.loads(each.body) for each in trial.events(kind="decided", limit=1_000)]
    p = np.array([body["probability"][1] for body in logged])
    made = np.array([body["proposal"] == "drug" for body in logged])
    z = (made - p).sum() / math.sqrt((p * (1 - p)).sum())
    ratio = trial.summary().sample_ratio
    assert ratio.z["drug"] == pytest.approx(z)
    assert ratio.p_value == pytest.approx(math.erfc(abs(z) / math.sqrt(2)))
    book = trial.store.read(lambda connection: reading.snapshot(connection, trial.id))
    for row in book.rollup.rows.values():
        row.proposed = [0, sum(row.proposed)]
    assert sample_ratio_of(book).alarm


def test_the_course_is_a_summary_of_the_log(trial: Trial) -> None:
    course = trial.course()
    assert sum(sum(point.proposed) for point in course.overall) == 200
    young = [json.loads(each.body) for each in trial.events(kind="decided", limit=1_000)][::2]
    assert sum(sum(point.proposed) for point in course.contexts["young"]) == len(young)
    total = sum(point.probability[1] * sum(point.proposed) for point in course.contexts["young"])
    assert total == pytest.approx(sum(body["probability"][1] for body in young))


@pytest.mark.requirement("R-8.2")
def test_formulas_are_neutralised_in_csv() -> None:
    spec = SPEC | {"space": {"proposals": ["=1+1", "@drug"]}}
    with Trial.create("sqlite://", spec) as trial:
        trial.start()
        for unit in ("=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "plain"):
            trial.decide(unit)
        out = io.BytesIO()
        trial.export(out)
    rows = list(csv.DictReader(io.StringIO(out.getvalue().decode())))
    assert [row["unit"] for row in rows] == ["'=cmd|' /C calc'!A0", "'+1", "'-1", "'@SUM(A1)", "plain"]
    assert all(not cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())
    assert {row["ARM"] for row in rows} <= {"'=1+1", "'@drug"}


def test_a_blinded_reader_sees_the_same_whatever_was_proposed_and_came_of_it() -> None:
    """Two trials with other seeds, actions and outcomes: one blinded export and one progress, but for the hash."""

    def seen(seed: int, action: str, outcome: str, *, blinded: bool) -> tuple[bytes, dict[str, Any]]:
        store, out = Store("sqlite://", clock=lambda: 1_000_000), io.BytesIO()
        with Trial.create(store, SPEC | {"seed": seed}, trial="same") as trial:
            trial.start()
            for decision in trial.decide_many([{"unit": f"u{i}", "context": i % 2} for i in range(20)]):
                trial.report(decision, implemented=action, outcome=outcome)
            trial.export(out, "jsonl", blinded=blinded)
            return out.getvalue(), dataclasses.asdict(trial.progress()) | {"hash": ""}

    assert seen(1, "rest", "died", blinded=True) == seen(2, "drug", "lived", blinded=True)
    assert seen(1, "rest", "died", blinded=False) != seen(2, "drug", "lived", blinded=False)


def test_a_blinded_export_names_no_arm(trial: Trial) -> None:
    out = io.BytesIO()
    trial.export(out, "jsonl", blinded=True)
    row = json.loads(out.getvalue().splitlines()[0])
    assert set(row) == {  # neither p_rest, nor when and how often something was reported
        "trial",
        "decision",
        "unit",
        "occasion",
        "context",
        "implemented_status",
        "outcome_status",
        "decided_at",
        "window_closes_at",
        "source",
        "software",
        "purpose",
    }
    shown = json.dumps(dataclasses.asdict(trial.progress()))
    for label in ("rest", "drug", "died", "lived"):
        assert f'"{label}"' not in shown
        assert f'"{label}"' not in out.getvalue().decode()


@pytest.mark.requirement("R-2.8")
def test_the_seed_is_nowhere_before_the_end_and_in_the_log_after_it(tmp_path: Path) -> None:
    def shown(trial: Trial) -> str:
        out = io.BytesIO()
        trial.export(out, "jsonl")
        parts = (
            trial.progress(),
            trial.summary(),
            trial.course(),
            trial.design,
            trial.events(limit=1_000),
            trial.audit(),
        )
        return out.getvalue().decode() + repr(parts) + repr(trial.decide("u0", 0)) + trial.design.text

    with Trial.create(tmp_path / "t.db", SPEC) as trial:
        filled(trial, 10)
        assert SEED not in shown(trial)
        assert str(int(SEED, 16)) not in shown(trial)
        trial.stop()
        assert SEED in shown(trial)


def test_pages_do_not_read_the_log(trial: Trial) -> None:
    """The statements of a summary, a course and a progress never name the table of events."""
    from sqlalchemy import event

    statements: list[str] = []

    def executing(_c: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(engine(trial.store), "before_cursor_execute", executing)
    trial.summary()
    trial.course()
    trial.progress()
    event.remove(engine(trial.store), "before_cursor_execute", executing)
    assert statements
    assert all("events" not in statement for statement in statements)
