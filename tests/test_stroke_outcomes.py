"""The stroke trial with the state at six months and with days to death: survival, gains, and how often it was right."""

import json
from pathlib import Path

import numpy as np
import pytest

from takeup import TS, Exponential, Uniform, simulate
from takeup.charts import svg
from takeup.conjugates import GammaRate
from takeup.datasets import DAYS, ist_counts, ist_evidence
from takeup.outcomes.distribution import kaplan_meier, restricted_mean
from takeup.paper import stroke_outcomes, stroke_survival
from takeup.paper.chapters.stroke_outcomes import figures, tables
from takeup.paper.runner import Runner
from takeup.paper.stroke_outcomes import READINGS, TIME, OutcomesResult, criteria, decisions, environments, outcomes

SHORT = 8
DATASETS = Path(__file__).parent.parent / "docs" / "datasets.md"


@pytest.fixture(scope="module")
def found() -> OutcomesResult:
    """Three trials of eight patients; all decisions are reported."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stroke_outcomes, "HORIZON", SHORT)
        done: list[int] = []
        result = outcomes(Runner(3, 5, "reference", done.append))
        assert sum(done) == decisions(3) == 3 * SHORT * (5 + 5 + 5 + 4)
        return result


def test_the_mean_time_is_the_area_below_the_curve() -> None:
    """Five people: events on days 2 and 4, censored on 3, 6 and 6, watched for 10: 2 + 2 * 4/5 + 6 * 8/15 = 6.8."""
    events, censored = np.zeros((2, 11), dtype=np.int64)
    events[[2, 4]], censored[[3, 6]] = 1, (1, 2)
    steps = kaplan_meier(np.arange(11.0), events, censored)
    assert restricted_mean(steps, 10) == pytest.approx(6.8)
    assert restricted_mean((), 10) == 10


def test_survival_of_the_patients() -> None:
    """Where nobody is censored before the end the curve is a share: up to day 14 all but a few were watched.

    Of 2,432 who were assigned aspirin and a low dose, 194 had died by day 14: ID14 says so of each.
    """
    proposed = stroke_survival.survival_of(stroke_survival.days_seen().sum(axis=1))
    alive = ist_counts("S14").sum(axis=1)
    for arm, (died, lived) in zip(proposed, alive, strict=True):
        assert arm.patients == died + lived
        assert arm.alive(14) == pytest.approx(lived / (died + lived), abs=3e-4)
    assert alive[5].tolist() == [194, 2_238]
    assert sum(arm.deaths for arm in proposed) == 4_241
    assert proposed[0].alive(-1) == 1.0


def test_the_exponential_model_is_that_of_the_policies() -> None:
    """The mean time by a rate of deaths over days watched, as the posterior has it with next to no prior."""
    likelihood = Exponential(mean=1.0, weight=0.1)
    block = likelihood.prior(DAYS, (1, 6)).plus(ist_evidence("DAYS").proposed_outcomes)
    assert isinstance(block, GammaRate)
    model = block.mean().mean_worth()[0]
    arms = stroke_survival.survival_of(stroke_survival.days_seen().sum(axis=1))
    assert [arm.exponential_days for arm in arms] == pytest.approx(model, abs=0.01)
    page = DATASETS.read_text(encoding="utf-8")
    for arm in arms:
        assert f"| {arm.mean_days:.1f} | {arm.exponential_days:.1f} |" in page
    assert f"gains {arms[5].mean_days - arms[3].mean_days:.2f} days on aspirin alone" in page
    assert f"by the model it gains {arms[5].exponential_days - arms[3].exponential_days:.2f}" in page


def test_the_risk_of_death_falls() -> None:
    """Deaths are counted once, and every period has a lower risk than the one before: that is what is wrong here."""
    risks = [period.risk for period in stroke_survival.periods()]
    assert sum(period.deaths for period in stroke_survival.periods()) == 4_241
    assert risks == sorted(risks, reverse=True)
    assert risks[0] > 10 * risks[-1]


def test_days_as_numbers_are_the_days_that_were_seen() -> None:
    truths = environments()
    seen = truths[TIME].value()
    np.testing.assert_allclose(truths[READINGS[2]].value(), seen)
    assert np.abs(seen - criteria()["days"]).max() < 3.1  # who was last seen before the end may have lived on
    assert all(value.argmax() == 5 for value in criteria().values())


def test_gains_by_hand(found: OutcomesResult) -> None:
    """Every trial again: the values of what was proposed, less those of uniform exploration in expectation."""
    values = criteria()
    for reading, truth in environments().items():
        trace = simulate(truth, [Uniform(), TS()], SHORT, 3, seed=5, engine="reference", record="full")
        z = trace.unpacked()[1][0]
        for i, policy in enumerate(("Uniform", "TS")):
            row = found.cell(reading, policy)
            for name, value in values.items():
                gain = value[z[i]].sum(axis=-1) - SHORT * value.mean()
                assert row.gains[name].value == pytest.approx(gain.mean())
            often = np.array([np.bincount(run, minlength=6).argmax() == 5 for run in z[i]])
            assert row.favourite == pytest.approx(often.mean())
            assert row.best.value == pytest.approx((z[i] == 5).mean())


def test_what_takes_minutes_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stroke_outcomes, "HORIZON", 2)
    result = outcomes(Runner(2, engine="reference"), slow=False)
    policies = {reading: [row.policy for row in result.learnt if row.reading == reading] for reading in READINGS}
    assert [len(policies[reading]) for reading in READINGS] == [5, 5, 4, 0]
    assert decisions(2, slow=False) == 2 * 2 * 14


def test_it_is_shown(found: OutcomesResult) -> None:
    for table in tables(found):
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert len(tables(found)[0].rows) == 19
    plain = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert plain["most"]["lives"] == pytest.approx(SHORT * 214.2186 / 20_000, rel=1e-4)
    proposed, done = figures(found)
    assert "aspirin, low heparin: 92.0% on day 14, 79.2% on day 183" in proposed.alternative
    assert "aspirin, low heparin: 92.3% on day 14, 79.7% on day 183" in done.alternative
    assert "<svg" in svg(proposed.draw())
