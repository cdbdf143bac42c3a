"""The dictionary read by the Open Bandit Pipeline itself, which brings torch along: where it is installed."""

from typing import Any

import numpy as np
import pytest

from takeup.adapters.obp import feedback_of, log_of_feedback
from test_adapters_obp import SPACE, some_log

ope: Any = pytest.importorskip("obp.ope", reason="no obp: pip install obp", exc_type=ImportError)


@pytest.mark.filterwarnings("ignore")
def test_its_estimator_gives_the_same() -> None:
    log = some_log()
    evaluation = ope.OffPolicyEvaluation(feedback_of(log), ope_estimators=[ope.InverseProbabilityWeighting()])
    for z in range(3):
        always = np.zeros((len(log), 3, 1))
        always[:, z] = 1
        ours = np.mean(SPACE.reward[log.outcome] * (log.proposal == z) / log.probability[:, z])
        assert evaluation.estimate_policy_values(always)["ipw"] == pytest.approx(ours, rel=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_its_datasets_become_logs() -> None:
    datasets: Any = pytest.importorskip("obp.dataset")
    data = datasets.SyntheticBanditDataset(n_actions=3, dim_context=2, random_state=1).obtain_batch_bandit_feedback(500)
    log = log_of_feedback(data, context=(data["context"][:, 0] > 0).astype(int))
    assert np.allclose(log.probability_of_proposal, data["pscore"])
    assert (log.outcome == data["reward"]).all()
