"""A trial whose policy an older version allowed and this one refuses: all can be read, and nothing more is decided."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import asgi
from page_visitor import Visitor
from store_internals import SPEC
from takeup.errors import StateError
from takeup.live import Trial
from takeup.policies.card import Whole
from takeup.specfile import SpecError
from takeup.trial import Design, commands, design, steering

OLD = "takeup 0.1.0"
REFUSED = {"kind": "TSLat", "inference": "meanfield", "sweeps": 20_000}
"""Mean field inference makes no sweeps, so that it costs nothing to have had them."""
FORGETTING = {"kind": "Forgetting", "base": REFUSED, "half_life": 3, "epoch": 2}
"""Its evidence is kept by epoch all the same, as one that comes back later may have to go on from there."""
STOPPING = {"probability_best": 0.9, "reading": "policy"}
WHY = "policy.sweeps: got 20000, expected a whole number"


@pytest.fixture(params=[REFUSED, FORGETTING], ids=["TSLat", "forgetting"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """One with such a trial, which has made decisions."""
    path, policy = str(tmp_path / "t.db"), request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Whole, "check", lambda *_: None)
        for module in (commands, steering):
            patch.setattr(module, "software", lambda _: OLD)
        with Trial.create(path, SPEC | {"policy": policy, "stopping": STOPPING, "draws": 100}, trial="old") as trial:
            trial.start()
            for decision in trial.decide_many([{"unit": f"u{i}", "context": 0} for i in range(4)]):
                trial.report(decision, implemented=0, outcome=decision.number % 2)
            trial.decide("after", 0)
    design._of_text.cache_clear()
    yield path
    design._of_text.cache_clear()


def test_it_can_be_read_reported_to_exported_audited_and_stopped(database: str) -> None:
    with Trial.open(database, "old") as trial:
        assert trial.design.text == json.dumps(
            json.loads(trial.events(limit=1)[0].body)["spec"], sort_keys=True, separators=(",", ":")
        )
        with pytest.raises(StateError, match=WHY):
            trial.decide("new", 0)
        assert trial.progress().state == "running"
        trial.report(5, outcome=1)
        trial.fallback("drawn", 0, 0)
        summary = trial.summary()
        name = {"TSLat": "TS-Lat", "Forgetting": "Forgetting"}[trial.design.spec.policy["kind"]]
        assert (summary.policy, summary.progress.decisions) == (name, 6)
        assert summary.overall.proposals[0].model_probability_best is None
        out = io.BytesIO()
        trial.export(out, "jsonl")
        assert len(out.getvalue().splitlines()) == 6
        trial.stop(reason="nothing more can be decided")
        found = trial.audit()
        assert (found.passed, found.rederived, found.other_software, found.fallbacks) == (True, 0, {OLD: 5}, 1)


def test_what_cannot_be_derived_again_has_to_be_possible(database: str) -> None:
    """What another version decided may be true; what this one did cannot be, as it makes no such decisions."""
    with Trial.open(database, "old") as trial:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Design, "refused", None)
            patch.setattr(commands, "software", lambda _: OLD)
            trial.decide("forged", 0)  # evenly, as what stands for the policy has it
        assert trial.audit().passed
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Design, "refused", None)
            trial.decide("by this version", 0)
        assert not trial.audit().passed


@pytest.mark.parametrize("database", [pytest.param(REFUSED, id="TSLat")], indirect=True)
def test_the_service_says_why_it_decides_nothing(database: str) -> None:
    with asgi.api(database) as api:
        refused = api.request("POST", "/trials/old/decisions", {"unit": "new", "context": 0}, api.key("decide"))
        assert refused.status == 409
        assert WHY in refused.json["detail"]
        visitor = Visitor(api, "read-unblinded")
        assert f"refuses its policy: {WHY}".encode() in visitor.get("/app/trials/old").body
        assert visitor.get("/app/trials/old/log").status == 200


def test_counts_that_are_out_of_bounds_are_those_of_new_specs_alone() -> None:
    for other, name in (({"burn_in": 10**13}, "burn_in"), ({"stopping": {"maximum": 10**13}}, "stopping.maximum")):
        spec = {"name": "t", "space": {"proposals": 2}, "policy": {"kind": "Uniform"}, **other}
        with pytest.raises(SpecError, match=f"spec: {name}: got 10000000000000, expected at most 1000000000000"):
            Design.of(spec)
        text = Design.of(spec, new=False).text
        assert Design.of_text(text).text == text
