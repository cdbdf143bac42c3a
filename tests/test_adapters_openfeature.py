"""OpenFeature's own client over live trials: variants are proposals, and what is tracked is in the trial's log."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode, OpenFeatureError
from openfeature.flag_evaluation import FlagEvaluationOptions, Reason
from openfeature.track import TrackingEventDetails

from takeup import UNSEEN, InputError
from takeup.adapters.openfeature import Exposure, TakeupProvider
from takeup.errors import UnreachableError
from takeup.live import Trial

SPEC = {
    "name": "Checkout",
    "space": {"proposals": ["old", "new"], "contexts": ["phone", "desk"], "outcomes": ["left", "bought"]},
    "policy": {"kind": "TSObs"},
}
VALUES = {"checkout": {"old": False, "new": True}}


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    with Trial.create(tmp_path / "trials.db", SPEC) as made:
        made.start()
        yield made


def client_of(trials: Any, **options: Any) -> OpenFeatureClient:
    api.set_provider(TakeupProvider(trials, **options))
    return api.get_client()


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    yield
    api.clear_providers()


def who(unit: str | None, context: str | None = "phone", **attributes: str) -> EvaluationContext:
    return EvaluationContext(unit, attributes | ({} if context is None else {"context": context}))


def test_a_variant_is_a_proposal(trial: Trial) -> None:
    client = client_of(trial)
    details = client.get_string_details("checkout", "old", who("ann"))
    decision = trial.decide("ann", "phone")
    assert (details.value, details.variant, details.reason) == (decision.proposal, decision.proposal, Reason.SPLIT)
    assert details.flag_metadata == {"trial": "checkout", "context": "phone", "decision": 1}
    assert client.get_string_value("checkout", "old", who("ann")) == decision.proposal
    assert trial.progress().decisions == 1


def test_units_get_what_the_trial_proposes(trial: Trial) -> None:
    client = client_of(trial)
    shown = [client.get_string_value("checkout", "neither", who(f"unit {i}")) for i in range(20)]
    assert shown == [trial.decide(f"unit {i}", "phone").proposal for i in range(20)]
    assert set(shown) == {"old", "new"}


def test_exposure_and_outcome_are_reported(trial: Trial) -> None:
    client = client_of(trial, events={"purchase": {"flag": "checkout", "outcome": "bought"}})
    for unit in ("ann", "bob", "eve"):
        client.get_string_value("checkout", "old", who(unit))
    client.track("checkout", who("ann"), TrackingEventDetails(attributes={"implemented": "new"}))
    client.track("purchase", who("ann"))
    client.track("checkout", who("bob"), TrackingEventDetails(0))
    client.track("purchase", who("nobody"))  # not in the trial
    client.track("login", who("ann"))  # none of its events
    log = trial.log()
    assert log.implemented.tolist() == [1, UNSEEN, UNSEEN]
    assert log.outcome.tolist() == [1, 0, UNSEEN]


@pytest.mark.parametrize("by_hook", [True, False])
def test_who_evaluates_may_be_exposed_by_that(trial: Trial, by_hook: bool) -> None:
    client = client_of(trial, exposed=not by_hook)
    options = FlagEvaluationOptions(hooks=[Exposure(TakeupProvider(trial))] if by_hook else [])
    for _ in range(2):
        shown = client.get_string_value("checkout", "old", who("ann"), options)
    client.get_string_value("checkout", "old", who(None), options)  # an error, to which nobody is exposed
    assert trial.log().implemented.tolist() == [trial.design.space.index("implemented", shown)]


def test_an_exposure_that_fails_changes_nothing(trial: Trial, caplog: pytest.LogCaptureFixture) -> None:
    client = client_of(trial, exposed=True)
    proposal = trial.decide("ann", "phone").proposal
    trial.report(unit="ann", implemented="old" if proposal == "new" else "new")
    assert client.get_string_value("checkout", "neither", who("ann")) == proposal
    assert "exposure to checkout was not recorded" in caplog.text


def test_other_types_have_values(trial: Trial) -> None:
    client = client_of(trial, values=VALUES)
    shown = client.get_boolean_value("checkout", False, who("ann"))
    assert shown is (trial.decide("ann", "phone").proposal == "new")
    assert client.get_integer_details("checkout", 7, who("bob")).error_code == ErrorCode.TYPE_MISMATCH
    assert client.get_float_details("checkout", 7.5, who("bob")).error_code == ErrorCode.TYPE_MISMATCH
    assert client.get_object_details("checkout", {}, who("bob")).error_code == ErrorCode.TYPE_MISMATCH
    assert trial.progress().decisions == 1  # bob did not enter
    numbers = client_of(trial, values={"checkout": {"old": 10, "new": 20}})
    assert numbers.get_integer_value("checkout", 0, who("ann")) == (20 if shown else 10)
    half = client_of(trial, values={"checkout": {"older": "a text"}})
    assert half.get_string_details("checkout", "", who("ann")).error_code == ErrorCode.PARSE_ERROR


@pytest.mark.parametrize(
    ("flag", "context", "code"),
    [
        ("other", who("ann"), ErrorCode.FLAG_NOT_FOUND),
        ("checkout", who(None), ErrorCode.TARGETING_KEY_MISSING),
        ("checkout", who("ann", "watch"), ErrorCode.INVALID_CONTEXT),
        ("checkout", who("ann", None), ErrorCode.INVALID_CONTEXT),
        ("checkout", who("eve", "desk"), ErrorCode.INVALID_CONTEXT),
    ],
)
def test_errors_have_codes(trial: Trial, flag: str, context: EvaluationContext, code: ErrorCode) -> None:
    trial.decide("eve", "phone")
    details = client_of(trial).get_string_details(flag, "default", context)
    assert (details.value, details.reason, details.error_code) == ("default", Reason.ERROR, code)
    assert trial.progress().decisions == 1


def test_a_trial_that_does_not_run_is_a_flag_that_is_off(trial: Trial) -> None:
    trial.pause()
    details = client_of(trial).get_string_details("checkout", "old", who("ann"))
    assert (details.value, details.reason, details.error_code) == ("old", Reason.DISABLED, None)


def test_a_unit_may_have_many_decisions(tmp_path: Path) -> None:
    with Trial.create(tmp_path / "many.db", {**SPEC, "decisions": "many"}) as trial:
        trial.start()
        client = client_of({"page": trial})
        for visit in ("1", "2"):
            client.get_string_value("page", "old", who("ann", occasion=visit))
        client.track("page", who("ann", occasion="2"), TrackingEventDetails(1))
        assert trial.log().outcome.tolist() == [UNSEEN, 1]


def test_mistakes_are_told(trial: Trial) -> None:
    with pytest.raises(InputError, match="a flag of checkout"):
        TakeupProvider(trial, events={"purchase": {"flag": "cart"}})
    client = client_of(trial)
    client.get_string_value("checkout", "old", who("ann"))
    with pytest.raises(OpenFeatureError) as told:
        client.track("checkout", who("ann"), TrackingEventDetails(attributes={"outcome": "sold"}))
    assert "one of left, bought" in str(told.value.error_message)


def test_a_service_that_does_not_answer(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: Any, **__: Any) -> Any:
        raise UnreachableError("no answer")

    monkeypatch.setattr(trial, "decide", gone)
    details = client_of(trial).get_string_details("checkout", "old", who("ann"))
    assert (details.value, details.error_code) == ("old", ErrorCode.GENERAL)
