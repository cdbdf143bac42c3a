"""What a policy believes, read by ArviZ itself. `make peers` has it."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from takeup import TS, UCB1, Count, Evidence, Forgetting, Space, TSCheck, TSLat, TSObs, TSRobust, UnsuitableError, event

az: Any = pytest.importorskip("arviz", reason="no arviz: pip install 'takeup[arviz]'")

from takeup.adapters.arviz import inference_data  # noqa: E402  # what is skipped is not imported

SPACE = Space(["rest", "drug"], contexts=["young", "old"], outcomes=["ill", "well"])
EVENTS = [
    *[event(SPACE, "drug", "drug", "well", context="old")] * 30,
    *[event(SPACE, "drug", "rest", "ill", context="old")] * 10,
    *[event(SPACE, "rest", "rest", "ill", context="young")] * 5,
    event(SPACE, "rest", None, "well", context="young"),
]
EVIDENCE = Evidence.of(SPACE, EVENTS)


def test_groups_and_labels() -> None:
    data = inference_data(TSObs(), EVIDENCE, draws=50, chains=2, seed=1)
    assert set(data.groups()) == {"posterior", "prior", "sample_stats", "observed_data"}
    for group in (data.posterior, data.prior):
        assert dict(group.sizes) == {
            "chain": 2, "draw": 50, "context": 2, "proposal": 2, "implemented": 2, "outcome": 2
        }  # fmt: skip
    assert data.posterior["value"].dims == ("chain", "draw", "context", "proposal")
    assert list(data.posterior.coords["proposal"].values) == ["rest", "drug"]
    assert int(data.observed_data["counts"].sum()) == 46
    seen = {"context": "old", "proposal": "drug", "implemented_or_unseen": "drug", "outcome_or_unseen": "well"}
    assert int(data.observed_data["counts"].sel(seen)) == 30
    unseen = {"context": "young", "proposal": "rest", "implemented_or_unseen": "unseen", "outcome_or_unseen": "well"}
    assert int(data.observed_data["counts"].sel(unseen)) == 1
    assert data.posterior.attrs["policy"] == "TS-Obs"


def test_means_are_the_posteriors() -> None:
    """Beta means by hand, and value = Π μ in every draw: each mean within six standard errors of 8,000 draws."""
    data = inference_data(TSObs(), EVIDENCE, draws=2000, seed=2)
    well = data.posterior["outcome_probability"].sel(context="old", outcome="well")
    for action, mean in (("drug", 31 / 32), ("rest", 1 / 12)):
        draws = well.sel(implemented=action)
        assert float(draws.mean()) == pytest.approx(mean, abs=6 * float(draws.std()) / np.sqrt(8000))
    took = data.posterior["compliance"].sel(context="old", proposal="drug", implemented="drug")
    assert float(took.mean()) == pytest.approx(31 / 42, abs=6 * float(took.std()) / np.sqrt(8000))
    worth = (data.posterior["compliance"] * data.posterior["outcome_probability"].sel(outcome="well")).sum(
        "implemented"
    )
    assert np.allclose(worth.transpose(*data.posterior["value"].dims), data.posterior["value"])
    assert float(data.prior["value"].mean()) == pytest.approx(0.5, abs=0.02)


def test_arviz_finds_nothing_wrong() -> None:
    """Independent draws: ArviZ's own diagnostics of eight quantities."""
    summary = az.summary(inference_data(TS(), EVIDENCE, seed=3), var_names=["value"])
    assert (summary["r_hat"] <= 1.01).all()
    assert (summary["ess_bulk"] > 3000).all()


@pytest.mark.parametrize("policy", [TS(), TSCheck()])
def test_without_a_model_of_compliance_outcomes_are_of_proposals(policy: Any) -> None:
    data = inference_data(policy, EVIDENCE, draws=10)
    assert data.posterior["outcome_probability"].dims == ("chain", "draw", "context", "proposal", "outcome")
    assert "compliance" not in data.posterior


@pytest.mark.parametrize("policy", [TSRobust(), TSLat()])
def test_every_policy_with_a_model_has_values(policy: Any) -> None:
    data = inference_data(policy, EVIDENCE, draws=20, chains=1)
    values = data.posterior["value"]
    assert np.isfinite(values.values).all()
    assert (data.sample_stats["best_proposal"].values == values.values.argmax(axis=-1)).all()


def test_counts_have_values_too() -> None:
    space = Space(2, outcomes=Count(20, better="lower"))
    evidence = Evidence.of(space, [event(space, 0, 0, 3), event(space, 1, 1, 5)])
    data = inference_data(TSObs(), evidence, draws=20)
    assert set(data.posterior.data_vars) == {"value", "compliance"}


def test_the_same_seed_gives_the_same_draws() -> None:
    one, again, other = (inference_data(TS(), EVIDENCE, draws=5, seed=seed).posterior["value"] for seed in (1, 1, 2))
    assert one.equals(again)
    assert not one.equals(other)


def test_rules_without_a_model_are_refused() -> None:
    with pytest.raises(UnsuitableError, match="no model"):
        inference_data(UCB1(), EVIDENCE)


def test_what_needs_to_know_when_is_refused() -> None:
    with pytest.raises(UnsuitableError, match="TS half-life 1000 needs to know when decisions were made"):
        inference_data(Forgetting(), EVIDENCE)


def test_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Its other blocks are run with the package's tests."""
    page = Path(__file__).parent.parent / "docs" / "adapters.md"
    (code,) = re.findall(r"```py\n(.*?)```", page.read_text(), flags=re.DOTALL)
    exec(code, {})
    assert "value[0, drug]" in capsys.readouterr().out
