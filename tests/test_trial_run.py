"""Trial runs: a spec whose policy could not decide never becomes a trial, and trying it holds up nobody."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest

import asgi
from page_visitor import Visitor, harmless
from takeup.errors import InputError, UnsuitableError
from takeup.live import Trial, trial_run
from takeup.live.checking import CPU_SECONDS, MEMORY
from takeup.live.trial_run import tried
from takeup.policies import TS, Allocation, Card, Exact, registry
from takeup.service import spec_process
from takeup.service.drafts import Drafts
from takeup.service.problem import ProblemError
from takeup.service.spec_process import SpecProcesses
from takeup.specfile import SpecError
from takeup.store import Store
from takeup.trial import Design
from takeup.trial.computing import FailedPolicyError
from takeup.trial.proposal import informative, propose
from takeup.trial.secret import Secret

GIBBS = {"kind": "TSLat", "inference": "gibbs"}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "two numbers": (
        {"kind": "UCB1", "exploration": [1, 1]},
        "policy.exploration: got [1, 1], expected one number",
    ),
    "no number": ({"kind": "TwoStage", "rate": None}, "policy.rate: got None, expected one number"),
    "too strong": ({"kind": "TSRobust", "pooled": [2**62]}, "at most 10000"),
    "nine gigabytes": ({"kind": "TSRobust", "pooled": [60_000_000]}, "at most 10000"),
    "no list": ({"kind": "TSRobust", "pooled": 8}, "policy.pooled: got 8, expected a list"),
    "three numbers": ({"kind": "BayesUCB", "alpha": [1, 2, 3]}, "policy.alpha: got [1, 2, 3], expected one number"),
    "overflow": ({"kind": "BayesUCB", "alpha": 1e308}, "policy.alpha: got 1e+308"),
    "a text": ({"kind": "EpsilonGreedy", "epsilon": "1"}, "policy.epsilon: got '1', expected one number"),
    "a text as a prior": ({"kind": "TSObs", "alpha": "1"}, "policy.alpha: got '1', expected numbers"),
    "two leaders": ({"kind": "TopTwo", "leader": [0.5, 0.5]}, "policy.leader: got [0.5, 0.5], expected one number"),
    "underflow": ({"kind": "TSObs", "alpha": 1e-320}, "policy.alpha: got 1e-320, expected numbers of at least 1e-100"),
    "a slip": ({"kind": "TSObs", "alhpa": 1}, "did you mean alpha?"),
    "for ever": (
        {**GIBBS, "sweeps": 10**9},
        "policy.sweeps: got 1000000000, expected a whole number",
    ),
    "for long": (
        {**GIBBS, "sweeps": 10_000},
        "at most 0.5 s of computing for a decision with no evidence; lower sweeps or draws",
    ),
}


TRIED = """
from takeup.live import trial_run
from takeup.specfile import SpecError
trial_run.limit()
trial_run.SUMMARY_SECONDS, trial_run.TOGETHER_SECONDS = 0.1, 0
for spec, seconds in (({many!r}, 0.05), ({slow!r}, 60)):
    try:
        trial_run.tried(spec, "spec", seconds)
    except SpecError as error:
        print(error)
"""
"""Tries two specs, and says why it refuses them."""


def spec(policy: dict[str, Any], **other: Any) -> dict[str, Any]:
    return {"name": "t", "space": {"proposals": 2}, "policy": policy, **other}


@pytest.fixture(scope="module")
def api() -> Iterator[asgi.Api]:
    with asgi.api(processes=True) as running:
        yield running


@pytest.mark.requirement("R-1.9")
@pytest.mark.parametrize("compliance", ["always", pytest.param("never", marks=pytest.mark.long)])
@pytest.mark.parametrize(("policy", "words"), BAD.values(), ids=BAD.keys())
def test_what_could_not_decide_is_refused_at_creation(
    api: asgi.Api, policy: dict[str, Any], words: str, compliance: str
) -> None:
    key = api.key("design")
    made = api.request("POST", "/trials?trial=bad", spec(policy, compliance=compliance), key)
    assert made.status == 422
    assert words in made.json["detail"] or "compliance is never reported" in made.json["detail"]
    assert api.request("GET", "/trials/bad", key=key).status == 404


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"space": {"proposals": 2, "outcomes": 3, "utility": [-1e308, 0, 1e308]}}, "choose another unit"),
        ({"space": {"proposals": 2, "utility": [0, 5e-324]}}, "choose another unit"),
        ({"space": {"proposals": 2, "utility": [1e11, 1e11 + 1]}}, "subtract what they have in common"),
        ({"burn_in": 10**30}, "burn_in"),
        ({"stopping": {"maximum": 10**30}}, "stopping.maximum"),
        ({"limits": {"floor": {"1": 0.6}, "ceiling": {"1": 0.5}}}, "'1' has the floor 0.6 above its ceiling 0.5"),
    ],
)
def test_so_are_numbers_beside_the_policy(api: asgi.Api, other: dict[str, Any], words: str) -> None:
    made = api.request("POST", "/trials", {**spec({"kind": "TSObs"}), **other}, api.key("design"))
    assert made.status == 422
    assert words in made.json["detail"]


@pytest.mark.requirement("R-1.9")
def test_so_are_draws_that_take_long() -> None:
    """And summaries, in a process of its own, which counts its own time and no other's, however long that takes here.

    15 million random numbers take longer than a twentieth of a second everywhere, and so do 200 posteriors.
    """
    many = {"policy": {"kind": "TSObs"}, "draws": 1_000_000, "space": {"proposals": 3}}
    slow = {"policy": {**GIBBS, "sweeps": 200}, "draws": 100, "space": {"proposals": 2, "contexts": 200}}
    code = TRIED.format(many=spec({}) | many, slow=spec({}) | slow)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    draws, summary = found.stdout.splitlines()
    assert "at most 0.05 s of computing for a decision with no evidence; lower draws" in draws
    assert "at most 0.1 s of computing for a summary; lower sweeps or draws, or merge contexts" in summary


def test_a_draft_is_tried_when_it_changes_and_when_it_starts(api: asgi.Api) -> None:
    """One that an older version has written down, without a trial run, is tried before it starts."""
    key = api.key("design")
    slow = spec({**GIBBS, "sweeps": 10_000})
    api.request("POST", "/trials?trial=changing", spec({"kind": "TS"}), key)
    assert api.request("PUT", "/trials/changing/spec", slow, key).status == 422
    assert api.request("PUT", "/trials/changing/state", {"state": "running"}, key).status == 200
    api.store.create("old", Design.of(slow), Secret.new(), None).result()
    refused = api.request("PUT", "/trials/old/state", {"state": "running"}, key)
    assert refused.status == 422
    assert refused.json["detail"].startswith("the stored spec: policy: TS-Lat-0 Gibbs takes longer")


@pytest.mark.parametrize(("seconds", "tried_for"), [(0.1, "0.05"), (60.0, "0.5")])
def test_a_trial_run_leaves_room_below_what_a_running_trial_may_take(
    api: asgi.Api, seconds: float, tried_for: str
) -> None:
    """Or what passes would be paused at its first decision; and however much that is, whoever sends a spec waits."""
    drafts = Drafts(seconds)
    drafts.checking = api.app.state.service.drafts.checking  # its processes have started
    with pytest.raises(SpecError, match=f"at most {tried_for} s of computing for a decision"):
        api.run(drafts.tried(spec(BAD["for long"][0])))


@pytest.mark.parametrize("name", ["underflow", "for long"])
def test_specs_are_looked_at_elsewhere(api: asgi.Api, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sent or pasted into the form: the process that answers makes no design of it."""

    def here(*_: object, **__: object) -> Design:
        raise AssertionError("a design is made in the process that answers")

    policy, words = BAD[name]
    sent = spec(policy, compliance="never" if name == "for long" else "always")
    visitor, key = Visitor(api, "design"), api.key("design")
    monkeypatch.setattr(Design, "of", here)
    page = visitor.post("/app/new", {"by": "paste", "text": json.dumps(sent)})
    assert page.status == 422
    assert words in harmless(page).text
    assert api.request("POST", "/trials", sent, key).status == 422


def test_checking_has_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of computing, of memory and of how many wait; the next one is checked as if nothing had been.

    A second of computing is allowed, which is what the system counts in.
    """
    code = "from takeup.live import checking; checking.CPU_SECONDS = 1; checking.main()"
    monkeypatch.setattr(spec_process, "PROCESSES", 1)

    async def check() -> None:
        processes = SpecProcesses((sys.executable, "-c", code), turn_seconds=600)
        try:
            with pytest.raises(InputError, match=f"at most {CPU_SECONDS} s of computing"):
                await processes.run(partial(sum, range(10**12)))
            with pytest.raises(InputError, match="one that takes more memory"):
                await processes.run(partial(bytearray, 2 * MEMORY))
            with pytest.raises(InputError, match="one that ends in ValueError"):
                await processes.run(partial(int, "five"))
            waiting = [asyncio.create_task(processes.run(partial(int, "5"))) for _ in range(spec_process.MOST_WAITING)]
            await asyncio.sleep(0)
            with pytest.raises(ProblemError, match="too many specs"):
                await processes.run(partial(int, "5"))
            assert await asyncio.gather(*waiting) == [5] * len(waiting)
        finally:
            await processes.close()

    asyncio.run(check())


def test_nobody_waits_for_long_for_a_turn(api: asgi.Api, monkeypatch: pytest.MonkeyPatch) -> None:
    processes = api.app.state.service.drafts.checking
    monkeypatch.setattr(processes, "_turn_seconds", 0)

    async def check() -> None:
        first = [asyncio.create_task(processes.run(partial(int, "5"))) for _ in range(spec_process.PROCESSES)]
        await asyncio.sleep(0)
        with pytest.raises(ProblemError, match="not checked: others were checked for 0 seconds") as refused:
            await processes.run(partial(int, "5"))
        assert (refused.value.status_code, refused.value.headers) == (503, {"Retry-After": "1"})
        assert [*await asyncio.gather(*first), await processes.run(partial(int, "6"))] == [5, 5, 6]

    api.run(check())


def test_a_process_that_cannot_be_had_is_no_fault_of_the_spec() -> None:
    async def check() -> None:
        with pytest.raises(ProblemError, match="the spec was not checked") as refused:
            await SpecProcesses(("false",)).run(partial(int, "5"))
        assert refused.value.status_code == 503

    asyncio.run(check())


@dataclass(frozen=True, kw_only=True, eq=False)
class Wrong(TS):
    """Whatever its numbers are."""

    card: ClassVar[Card] = replace(TS.card, name="Wrong", kernels=())
    numbers: tuple[float, ...] = (0.5, 0.5)
    words: str = ""

    def allocation(self, *_: Any, **__: Any) -> Allocation:
        if self.words:
            raise ZeroDivisionError(self.words)
        return Allocation(np.array(self.numbers), np.zeros(2), draws=0)


@pytest.mark.requirement("R-1.8")
@pytest.mark.parametrize("numbers", [(np.nan, np.nan), (np.inf, 0.0), (-0.5, 1.5), (0.0, 0.0), (1.0, 1.0), (1.0,)])
def test_numbers_that_are_no_probabilities_never_become_a_proposal(
    numbers: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry._registered, "Wrong", Wrong)
    design = replace(Design.of(spec({"kind": "Wrong"})), policy=Wrong(numbers=numbers))
    counts = np.zeros((1, 2, 3, 3), dtype=np.int64)
    with pytest.raises(FailedPolicyError, match="its policy gave"):
        propose(design, Secret.new(), counts, 0, 1)


def test_draws_that_are_not_numbers_are_no_reason_to_propose_the_first_arm() -> None:
    """An argmax of not-a-numbers is the first of them."""
    policy = TS()
    object.__setattr__(policy, "alpha", 1e-320)  # as if its card allowed it
    space = Design.of(spec({"kind": "TS"}, space={"proposals": 3})).space
    with np.errstate(all="ignore"):
        with pytest.raises(UnsuitableError, match="not numbers"):
            policy.allocation(policy.start(space), 0, np.random.default_rng(1), 100)
        with pytest.raises(UnsuitableError, match="not numbers"):
            policy.propose(policy.start(space), 0, np.random.default_rng(1))


def test_a_policy_of_ones_own_is_tried_where_it_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the library: in the same process, where scripts may register what they like."""
    monkeypatch.setitem(registry._registered, "Wrong", Wrong)
    with Store("sqlite://") as store:
        Trial.create(store, spec({"kind": "Wrong"}), trial="fine")
        with pytest.raises(SpecError, match="Wrong fails at a decision with no evidence: ZeroDivisionError: oh"):
            Trial.create(store, spec({"kind": "Wrong", "words": "oh"}), trial="failing")
        with pytest.raises(SpecError, match="no probabilities"):
            Trial(store, "fine").amend(spec({"kind": "Wrong", "numbers": [1.0, 1.0]}))


def test_a_policy_is_tried_on_evidence_of_every_kind_in_every_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found out wherever it fails."""
    space = {"proposals": 3, "contexts": 2, "outcomes": 3, "utility": [0, 1, 2]}
    tables = list(trial_run.evidence(Design.of(spec({"kind": "TS"}, space=space)).space))
    assert {context for _, context, _ in tables} == {0, 1}
    assert {0, *trial_run.MANY} < {int(known.max()) for _, _, known in tables}
    whole = TS.beliefs
    for words, context, known in tables:

        def fails(self: TS, evidence: Any, where: Any, rng: Any, table: Any = known, at: int = context) -> Any:
            wrong = where == at and np.array_equal(evidence.counts[at], informative(table))
            return Exact(np.array([np.nan, 0, 0])) if wrong else whole(self, evidence, where, rng)

        monkeypatch.setattr(TS, "beliefs", fails)
        with pytest.raises(SpecError, match=f"TS fails at a decision with {words}"):
            tried(spec({"kind": "TS"}, space=space))
