"""The stroke experiment: the paper's figures from the patients, what an excess success is, and when a claim holds."""

import json
from typing import Any, get_args

import numpy as np
import pytest

from takeup import InputError, LabelError, Trace, TSRobust, Uniform, simulate
from takeup.checks import FloatArray
from takeup.datasets import Outcome, ist_counts, ist_doubts
from takeup.paper import stroke as experiment
from takeup.paper.runner import Runner
from takeup.paper.stroke import Excess, StrokeResult, decisions, stroke
from takeup.paper.stroke_claims import REPLICATIONS, claims
from takeup.paper.stroke_parameters import (
    COMPLIANCE,
    OUTCOMES,
    SUCCESS,
    Parameters,
    SixArms,
    compliance_of,
    environments,
    success_of,
)
from takeup.simulation.run import EngineName

PARAMETERS: tuple[Parameters, ...] = get_args(Parameters)
MODELS: dict[Parameters, SixArms] = {"recomputed": "paper", "as-treated": "as-treated"}
SHORT = 60


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "HORIZON", SHORT)


class Brief(Runner):
    """Trials of TS-Robust alone have ten patients and no machine code, which `make long` has for its six arms."""

    def simulate(self, environments: Any, policies: Any, horizon: int, replications: Any = None, **named: Any) -> Trace:
        if policies is experiment.ROBUST:
            run, horizon = Runner(self.replications, self.seed, "reference"), 10
            return run.simulate(environments, policies, horizon, replications, **named)
        return super().simulate(environments, policies, horizon, replications, **named)


@pytest.fixture(scope="module")
def whole() -> StrokeResult:
    """Twenty trials of 20,000 patients, two of TS-Robust, which have ten."""
    return stroke(Brief(20, 3, "cpu"), robust_replications=2)


def test_every_printed_figure_comes_from_the_patients() -> None:
    """36 + 18 figures, each within half a unit of its last digit."""
    for outcome in OUTCOMES:
        counts = ist_counts(outcome)
        assert np.abs(compliance_of(counts) - COMPLIANCE).max() <= 0.0005
        assert np.abs(success_of(counts) - SUCCESS[outcome]).max() <= 0.0005


def test_a_small_y_counts_as_no() -> None:
    """Assigned aspirin alone, "y" given, alive: with them 3597 of 4579, .7855, which would not be printed as .785."""
    assert sum(doubt.patients for doubt in ist_doubts() if doubt.codes == ("y",)) == 1
    paper, treated = (ist_counts("LTS", coding)[3, [0, 3]] for coding in ("paper", "as-treated"))
    assert (treated - paper).tolist() == [[0, -1], [0, 1]]
    failures, successes = ist_counts("LTS").sum(axis=0)[3]
    assert (successes, failures + successes) == (3596, 4578)
    assert round(3596 / 4578, 3) == SUCCESS["LTS"][3]
    assert round(3597 / 4579, 3) != SUCCESS["LTS"][3]


def test_the_other_coding_is_another_matrix() -> None:
    """7 to 9 % of those assigned heparin are recorded as given none."""
    none = compliance_of(ist_counts("STS", "as-treated"))[:, [0, 3]].sum(axis=1)
    assert ((none[[1, 2, 4, 5]] > 0.065) & (none[[1, 2, 4, 5]] < 0.14)).all()


def test_sick_patients_cannot_swallow() -> None:
    """Alive at 14 days: 657 of 792 who did not take the aspirin they were assigned, 8529 of 9572 assigned none."""
    untaken = ist_counts("STS")[:, :3].sum(axis=1)
    assert untaken[3:].sum(axis=0).tolist() == [792 - 657, 657]
    assert untaken[:3].sum(axis=0).tolist() == [9572 - 8529, 8529]


def test_values_of_the_model_and_of_the_patients() -> None:
    """The model's values are Π μ; the patients' are the rates by assigned arm, whatever counts as implemented."""
    for outcome in OUTCOMES:
        printed = COMPLIANCE @ SUCCESS[outcome] / COMPLIANCE.sum(axis=1)
        np.testing.assert_allclose(environments("paper")[outcome].value()[0], printed)
        for parameters in MODELS:
            counts = ist_counts(outcome, MODELS[parameters])
            model = compliance_of(counts) @ success_of(counts)
            np.testing.assert_allclose(environments(parameters)[outcome].value()[0], model)
        assigned = ist_counts(outcome).sum(axis=1)
        rates = assigned[:, 1] / assigned.sum(axis=1)
        for coding in get_args(SixArms):
            np.testing.assert_allclose(environments("patients", coding)[outcome].value()[0], rates)


@pytest.mark.long
@pytest.mark.usefixtures("short")
def test_excess_is_the_difference_in_regret() -> None:
    """Every replication by hand: the values of what was proposed, less the values of what Uniform proposed."""
    result = stroke(Runner(3, 5, "cpu"))
    for parameters in PARAMETERS:
        for outcome, truth in environments(parameters).items():
            policies = [Uniform(), *experiment.POLICIES]
            trace = simulate(truth, policies, SHORT, 3, seed=5, engine="cpu", record="full")
            _, z, _, _ = np.unravel_index(trace.decisions[0], truth.space.shape)
            earned = truth.value()[0][z].sum(axis=-1)
            for i, policy in enumerate(policies[1:], start=1):
                cell = result.setting(parameters).cell(outcome, policy.name)
                np.testing.assert_allclose(cell.sample, earned[i] - earned[0], atol=1e-9)
                assert cell.mean == pytest.approx(cell.sample.mean())
                assert cell.mcse == pytest.approx(np.std(cell.sample, ddof=1) / np.sqrt(3))


def test_best_is_what_uniform_misses() -> None:
    """Uniform loses T times the mean gap: 100 runs, four standard errors, 1 false alarm in 1,300 over 12 truths."""
    for parameters in PARAMETERS:
        truths = environments(parameters)
        trace = simulate({str(name): truth for name, truth in truths.items()}, Uniform(), 20_000, 100, engine="cpu")
        for outcome, truth in truths.items():
            regret = trace.final("Uniform", outcome)
            row = experiment._best(outcome, truth)
            assert abs(regret.mean() - row.excess) <= 4 * regret.std(ddof=1) / 10
            assert truth.value()[0, truth.space.proposals.index(row.proposal)] == truth.value().max()


@pytest.mark.long
@pytest.mark.usefixtures("short")
def test_progress_and_latent() -> None:
    """All decisions are reported; TS-Lat meets the same patients as the others, in fewer replications."""
    done: list[int] = []
    result = stroke(Runner(4, 1, "cpu", done.append), True, latent_replications=2, robust_replications=3)
    assert sum(done) == decisions(4, True, 2, 3) == 12 * SHORT * (4 * 4 + 2) + 3 * SHORT * 3
    cells = {(row.policy, row.replications) for setting in result.settings for row in setting.excess}
    assert cells == {("TS", 4), ("TS-Check", 4), ("TS-Obs", 4), ("TS-Lat", 2), ("TS-Robust", 3)}
    less = stroke(Runner(2, 1, "cpu"))
    for one, other in zip(result.settings, less.settings, strict=True):
        assert len(one.claims) == len(other.claims)
        for row in other.excess:
            np.testing.assert_array_equal(one.cell(row.outcome, row.policy).sample[:2], row.sample)


def test_other_engines_run_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "HORIZON", 10)
    result = stroke(Runner(2, engine="reference"), coding="as-treated")
    assert result.coding == "as-treated"
    assert len(result.predictions) == 27


def test_json(whole: StrokeResult) -> None:
    plain = json.loads(json.dumps(whole.as_json(), allow_nan=False))
    assert [entry["parameters"] for entry in plain] == list(PARAMETERS)
    assert plain[3]["coding"] == "paper"
    for entry, setting in zip(plain, whole.settings, strict=True):
        assert len(entry["excess"]) == (12 if entry["parameters"] == "patients" else 9)
        for cell in entry["excess"]:
            row = setting.cell(cell["outcome"], cell["policy"])
            runs = 2 if cell["policy"] == "TS-Robust" else 20
            assert (cell["mean"], cell["mcse"], cell["sd"], cell["replications"]) == (row.mean, row.mcse, row.sd, runs)
        assert all({"claim", "holds", "rule", "figures"} == set(claim) for claim in entry["claims"])


@pytest.mark.parametrize(("engine", "horizon"), [("reference", 6), pytest.param("cpu", SHORT, marks=pytest.mark.long)])
def test_ts_robust_is_a_row_with_the_patients(
    engine: EngineName, horizon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its excess is on the same patients as that of Uniform; no claim of the paper is about it."""
    monkeypatch.setattr(experiment, "HORIZON", horizon)
    result = stroke(Runner(3, 5, engine), robust_replications=2)
    for parameters in PARAMETERS:
        rows = {row.policy for row in result.setting(parameters).excess}
        assert ("TS-Robust" in rows) == (parameters == "patients")
    for outcome, truth in environments("patients").items():
        trace = simulate(truth, [Uniform(), TSRobust()], horizon, 2, seed=5, engine=engine)
        row = result.setting("patients").cell(outcome, "TS-Robust")
        np.testing.assert_allclose(row.sample, trace.final("Uniform") - trace.final("TS-Robust"), atol=1e-9)
    assert not any("TS-Robust" in f.name for c in result.setting("patients").claims for f in c.figures)


def test_no_policy_beats_the_best(whole: StrokeResult) -> None:
    """Everybody gains something, and nobody more than the best: five standard errors, 36 cells, 1 false alarm in 2,000.

    The last is by Student's t with 19 degrees of freedom, twenty times as heavy out there as the normal distribution.
    """
    for setting in whole.settings:
        for best in setting.best:
            for policy in ("TS", "TS-Check", "TS-Obs"):
                row = setting.cell(best.outcome, policy)
                assert row.mean - 5 * row.mcse > 0
                assert row.mean - 5 * row.mcse < best.excess


def test_the_model_promises_more_than_the_patients_give(whole: StrokeResult) -> None:
    """Six-month outcomes: the model's gain is too high by more than four standard errors, for every policy."""
    for prediction in whole.predictions:
        setting = whole.setting(prediction.parameters)
        row, patients = (
            each.cell(prediction.outcome, prediction.policy) for each in (setting, whole.setting("patients"))
        )
        assert prediction.error == pytest.approx(np.hypot(row.mcse, patients.mcse))
        assert prediction.agrees == (abs(row.mean - patients.mean) <= 4 * prediction.error)
        if prediction.parameters == "recomputed" and prediction.outcome != "STS":
            assert prediction.predicted - prediction.patients > 4 * prediction.error


def gains(**means: float) -> dict[Outcome, dict[str, FloatArray]]:
    """Excess of 100 replications with sd 50 about these means, all policies with the same noise."""
    noise = np.resize([-1.0, 1.0], 100) * 50 * np.sqrt(99 / 100)
    return {outcome: {policy: mean + noise for policy, mean in means.items()} for outcome in OUTCOMES}


def turned(ahead: float) -> dict[Outcome, dict[str, FloatArray]]:
    """TS-Obs is ahead by so much, with the noise of the others turned round."""
    same = gains(**{"TS": 100.0, "TS-Check": 100.0, "TS-Obs": 100.0})
    return {outcome: row | {"TS-Obs": 200 + ahead - row["TS-Obs"]} for outcome, row in same.items()}


def test_when_the_claims_hold() -> None:
    """With sd 50 the error of 500 replications is 2.236, and four of them are 8.94, whatever we run."""
    limit = 4 * 50 / np.sqrt(REPLICATIONS)
    for mean, holds in ((limit + 0.1, True), (limit - 0.1, False)):
        life_saving, _, _ = claims("paper", gains(**{"TS": mean, "TS-Check": 50.0, "TS-Obs": 60.0}))
        assert life_saving.holds is holds
        assert life_saving.figures[0].value == pytest.approx(mean)
        assert life_saving.figures[0].error == pytest.approx(5)
    _, _, best = claims("paper", gains(**{"TS": 100.0, "TS-Check": 90.0, "TS-Obs": 99.0}))
    assert best.figures[0].name == "TS-Obs over TS, STS"
    assert not best.holds  # one behind, without any noise


def test_when_somebody_else_is_ahead() -> None:
    """The noise of TS-Obs turned against that of the others: sd 100, 100 replications, so that the limit is 40."""
    for behind, holds in ((39.9, True), (40.1, False)):
        _, _, best = claims("paper", turned(-behind))
        assert best.holds is holds
        assert best.figures[0].value == pytest.approx(-behind)
        assert best.figures[0].error == pytest.approx(10)


def test_when_a_difference_stands_out() -> None:
    """The noise of TS-Obs turned against that of TS: sd 100, so that the limit is 17.9."""
    for ahead, holds in ((17.8, True), (18.0, False)):
        assert claims("paper", turned(ahead))[1].holds is holds


def test_claims_about_the_data() -> None:
    sample = gains(**{"TS": 1.0, "TS-Check": 1.0, "TS-Obs": 1.0})
    parameters, complete = claims("recomputed", sample)[3:]
    assert (parameters.holds, complete.holds) == (True, False)
    assert [figure.value for figure in (*parameters.figures, *complete.figures)] == [54, 54, 36, 40]
    (ignorable,) = claims("patients", sample)[3:]
    assert not ignorable.holds
    a, b = 657 / 792, 8529 / 9572
    assert ignorable.figures[0].value == pytest.approx(a - b)
    assert ignorable.figures[0].error == pytest.approx(np.sqrt(a * (1 - a) / 792 + b * (1 - b) / 9572))


def test_bad_input(whole: StrokeResult) -> None:
    calls: list[tuple[dict[str, Any], str]] = [
        ({"latent_replications": 0}, "latent_replications: got 0"),
        ({"coding": "recorded-aspirin"}, "coding: got 'recorded-aspirin', expected one of paper, as-treated"),
    ]
    for arguments, complaint in calls:
        with pytest.raises(InputError, match=complaint):
            stroke(Runner(2), **arguments)
    with pytest.raises(InputError, match="replications: got 1, expected a whole number of at least 2"):
        Runner(1)
    with pytest.raises(LabelError, match="one of STS TS, STS TS-Check"):
        whole.setting("paper").cell("STS", "UCB")
    assert isinstance(whole.setting("paper").cell("STS", "TS"), Excess)
