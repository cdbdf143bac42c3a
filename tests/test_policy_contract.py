"""What every policy must do because it is registered: each is tested in every space that it takes."""

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from takeup import (
    UNSEEN,
    Category,
    CausalTS,
    Count,
    Environment,
    Event,
    Evidence,
    Exponential,
    InputError,
    Measure,
    Normal,
    Number,
    Poisson,
    Prior,
    Profile,
    Space,
    Time,
    UnsuitableError,
    World,
    simulate,
    stream,
)
from takeup.epochs import Epochs
from takeup.live.estimates import values_by_model
from takeup.live.trial_run import evidence
from takeup.outcomes import Levels, Outcome
from takeup.policies import Policy, registered
from takeup.policies.arms import Tally
from takeup.policies.base import FromEvidence, LivePolicy, Registered, is_live
from takeup.policies.beliefs import Beliefs, Exact
from takeup.policies.card import ALikelihood, Bound, Counts, OneOf, Positive, Real, Several, Whole
from takeup.policies.description import describe
from takeup.policies.fitted import Fitted
from takeup.policies.meeting import uses_covariates
from takeup.policies.registry import policy_of
from takeup.populations import CovariateEnvironment, Independent, Table
from takeup.randomness import Random

SPACES = [
    Space(2),
    Space(["a", "b", "c"], ["b", "a"], contexts=2, outcomes=3, utility=[0, 0.3, 1], intended=["a", "b", "b"]),
    Space(2, 4, contexts=3, intended=[1, 3]),
    Space(["a", "b", "c"], contexts=["b", "c", "a"], outcomes=3, utility=[0, 0.6, 1]),
    Space(["a", "b"], ["b", "a", "neither"], contexts=["a", "b"], outcomes=3, utility=[-1, 0, 4], intended=["a", "b"]),
    Space(2, outcomes=Number(0, 20, 0.5, better="lower")),
    Space(["a", "b", "c"], ["b", "a"], contexts=2, outcomes=Count(6), intended=["a", "b", "b"]),
    Space(2, 4, contexts=3, outcomes=Time(10), intended=[1, 3]),
    Space(["a", "b"], contexts=["b", "a"], outcomes=Number(1, 9, scale="log", utility=((1, 0), (5, 4), (9, 5)))),
]
KNOWN = {"age": Measure(18, 100), "consciousness": Category(["alert", "drowsy", "asleep"], missing="kept")}
WITH_COVARIATES = [
    Space(2, covariates=KNOWN),
    Space(
        ["a", "b", "c"], ["b", "a"], contexts=2, outcomes=3, utility=[0, 0.3, 1], intended=[1, 0, 0], covariates=KNOWN
    ),
    Space(2, 4, contexts=3, outcomes=Number(0, 20, 0.5, better="lower"), intended=[1, 3], covariates=KNOWN),
    Space(3, outcomes=Count(6), covariates={"severity": Measure(0, 10)}),
]


def home(policy: Policy[Any]) -> Space:
    """The plainest space that a policy takes."""
    return WITH_COVARIATES[0] if uses_covariates(policy) else Space(2)


def unit_of(space: Space, context: Any, seed: int = 0) -> Any:
    """What a policy is given of a unit in a context, or of one in each replication."""
    if space.covariates is None:
        return context
    return Profile(context, some_features(space, stream(seed, "unit"), np.shape(context)))


def repeated(unit: Any, many: int) -> Any:
    """The same unit in each of many replications."""
    if not isinstance(unit, Profile):
        return np.full(many, unit)
    features = np.asarray(unit.features)
    return Profile(np.full(many, unit.context), np.broadcast_to(features, (many, features.size)))


def some_features(space: Space, rng: Any, batch: tuple[int, ...] = ()) -> Any:
    """Features of units of any kind; nothing where there are no covariates."""
    if space.covariates is None:
        return None
    known: Any = {"age": None, "severity": None}
    units = np.empty((*batch, space.covariates.size), dtype=np.int64)
    for place in np.ndindex(*batch):
        for name in space.covariates.names:
            levels = (None, "alert", "drowsy", "asleep")
            known[name] = levels[rng.integers(4)] if name == "consciousness" else int(rng.integers(18, 100)) % 100
            known[name] = known[name] % 11 if name == "severity" else known[name]
        units[place] = space.covariates.features({name: known[name] for name in space.covariates.names})
    return units


def suits(policy: Policy[Any], space: Space) -> bool:
    """Whether a policy takes a space; if not, it says so before anything runs."""
    try:
        policy.start(space)
    except UnsuitableError:
        return False
    return True


def takes_a_pilot(policy: Any) -> bool:
    """Whether it does; if not, it says so."""
    try:
        policy.informed(Prior.from_evidence(Evidence.empty(home(policy))))
    except UnsuitableError as refused:
        return policy.name not in str(refused)
    return True


def paired(policies: tuple[Registered, ...]) -> list[Any]:
    return [
        pytest.param(policy, space, id=f"{policy.name}-{'x'.join(map(str, space.shape))}")
        for policy in policies
        for space in (WITH_COVARIATES if uses_covariates(policy) else SPACES)
        if suits(policy, space)
    ]


MEMBERS = paired(registered())
PLAIN = paired(tuple(p for p in registered() if isinstance(p.start(home(p)), Evidence | Tally | Epochs)))
"""Those whose state is neither drawn at random nor fitted, and does not depend on the path."""
FROM_EVIDENCE = tuple(policy for policy in registered() if isinstance(policy, FromEvidence))
LIVE = paired(FROM_EVIDENCE)
PILOTED = paired(tuple(policy for policy in FROM_EVIDENCE if takes_a_pilot(policy)))
EXACT = [each for each in PILOTED if each.values[0].name not in ("TS-Lat-0", "TS-Lat-40")]
"""The others fit from their prior, and may end in another mode."""
every_policy = pytest.mark.parametrize("policy", registered(), ids=lambda policy: policy.name)


def some_events(space: Space, many: int, rng: Random, batch: tuple[int, ...] = ()) -> list[Event]:
    """Decisions of which anything may be unseen; in the first context more than in the others."""
    contexts, proposals, actions, levels = space.shape
    return [
        Event(
            np.minimum(rng.integers(contexts, size=batch), rng.integers(contexts, size=batch)),
            rng.integers(proposals, size=batch),
            rng.integers(actions + 1, size=batch) + UNSEEN,
            rng.integers(levels + 1, size=batch) + UNSEEN,
            features=some_features(space, rng, batch),
        )
        for _ in range(many)
    ]


def some_evidence(space: Space, seed: int = 5, many: int = 60) -> Evidence:
    return Evidence.of(space, some_events(space, many, stream(seed, "evidence")))


def believing(policy: Any, evidence: Evidence) -> Any:
    """The state of a live policy that has seen this evidence; all of it lately, where it matters when."""
    start = policy.start(evidence.space)
    if isinstance(start, Evidence):
        return evidence
    if isinstance(start, Fitted):
        return start.live(evidence.counts, None)
    counts = np.zeros((*evidence.counts.shape[:-4], *start.counts.shape), dtype=np.int64)
    counts[..., 0, :, :, :, :] = evidence.counts
    return replace(start, counts=counts)


@every_policy
def test_takes_a_plain_space(policy: Registered) -> None:
    """Without covariates, or with some where it learns from them; it then refuses one without."""
    assert suits(policy, home(policy))
    assert suits(policy, Space(2)) != uses_covariates(policy)


@pytest.mark.parametrize(("policy", "space"), MEMBERS)
class TestContract:
    """The protocol, on every space, with any mixture of what is seen."""

    def run(
        self, policy: Policy[Any], space: Space, seed: int, batch: tuple[int, ...] = (5,), many: int = 8
    ) -> np.ndarray:
        """Some decisions; of every third more becomes known, at once of one part and then of the rest."""
        rng = stream(seed, "policy")
        state = policy.start(space, batch)
        proposals = []
        for i, met in enumerate(some_events(space, many, stream(seed, "world"), batch)):
            unit = met.context if met.features is None else Profile(met.context, met.features)
            z = policy.propose(state, unit, rng)
            known = replace(met, proposal=z, number=i)
            decided = replace(known, implemented=UNSEEN, outcome=UNSEEN)
            stages = [decided, replace(known, outcome=UNSEEN), known] if i % 3 == 0 else [known]
            state = policy.learn(state, stages[0], rng)
            for before, after in pairwise(stages):
                state = policy.report(state, before, after, rng)
            proposals.append(z)
        return np.array(proposals)

    def test_follows_the_protocol_as_a_function_of_the_stream(self, policy: Registered, space: Space) -> None:
        assert isinstance(policy, Policy)
        proposals = self.run(policy, space, seed=1)
        assert proposals.shape == (8, 5)
        assert set(np.unique(proposals)) <= set(range(len(space.proposals)))
        np.testing.assert_array_equal(proposals[:4], self.run(policy, space, seed=1, many=4))

    def test_works_on_a_single_experiment(self, policy: Registered, space: Space) -> None:
        assert self.run(policy, space, seed=2, batch=(), many=4).shape == (4,)

    def test_explores_before_it_knows(self, policy: Registered, space: Space) -> None:
        """With no evidence every proposal comes up in 500 first decisions; a false alarm is rarer than 1e-60."""
        state = policy.start(space, (500,))
        first = policy.propose(state, unit_of(space, np.zeros(500, dtype=np.int64)), stream(3))
        assert set(first) == set(range(len(space.proposals)))


@pytest.mark.parametrize(("policy", "space"), PLAIN)
def test_what_is_reported_later_is_learnt_alike(policy: Registered, space: Space) -> None:
    """Learnt as pending and then reported, at once or in two parts, is the same state as learnt in one go."""
    at_once = later = policy.start(space)
    for i, met in enumerate(some_events(space, 24, stream(4, "world"))):
        x, z = int(met.context), int(met.proposal)
        known = Event(x, z, int(met.implemented), int(met.outcome), number=i, features=met.features)
        decided = replace(known, implemented=UNSEEN, outcome=UNSEEN)
        stages = [decided, decided if i % 2 else replace(known, outcome=UNSEEN), known]
        at_once, later = policy.learn(at_once, known, stream(0)), policy.learn(later, stages[0], stream(0))
        for before, after in pairwise(stages):
            later = policy.report(later, before, after, stream(0))
    table = "table" if isinstance(at_once, Tally) else "counts"
    np.testing.assert_array_equal(getattr(at_once, table), getattr(later, table))


@pytest.mark.parametrize(("policy", "space"), LIVE)
class TestLive:
    """What a live trial rests on: everything is read from the same beliefs."""

    def test_evidence_is_all_it_needs(self, policy: LivePolicy, space: Space) -> None:
        assert is_live(policy, space)

    @pytest.mark.requirement("R-1.7")
    @pytest.mark.parametrize("many", [4_000, pytest.param(10_000, marks=pytest.mark.long)])
    def test_proposals_come_up_as_often_as_the_allocation_and_the_summary_say(
        self, policy: LivePolicy, space: Space, many: int
    ) -> None:
        """Of so many draws from one table; each share within 4.75 standard errors, a false alarm in 1 of 490,000.

        In the plainest space; in the others proposals are made a fourth as often, as each weighs the table anew, and
        all else half as often where it is 4,000.
        So it is where a share is not tiny: near one in as many, counts are Poisson, and a false alarm has 1 in 1,000.
        All together fewer than one seed in fifty sounds one; the seeds are fixed.
        """
        kinds, context = len(space.proposals), len(space.contexts) - 1
        plainest = space is SPACES[0] or space is WITH_COVARIATES[0]
        made = many if plainest else many // 4
        many = many if plainest or many > 4_000 else many // 2
        evidence = believing(policy, some_evidence(space))
        unit = unit_of(space, context)
        allocation = policy.allocation(evidence, unit, stream(6), draws=many)
        together = replace(evidence, counts=np.broadcast_to(evidence.counts, (made, *evidence.counts.shape)))
        found = [policy.propose(together, repeated(unit, made), stream(7))]
        beliefs = policy.beliefs(evidence, unit, stream(0))
        modelled = not isinstance(beliefs, Exact)
        if space.covariates is None:
            summary = values_by_model(policy, evidence, stream(8), many)
            assert (summary is not None) == modelled
            values = None if summary is None else summary[:, context]
        else:
            values = beliefs.values(stream(8), many) if modelled else None
        if values is not None:
            assert values.shape[-1] == kinds
            if isinstance(space.outcome, Levels):
                assert space.reward.min() <= values.min()
                assert values.max() <= space.reward.max()
            if type(beliefs).scores is Beliefs.scores:
                found.append(values.argmax(axis=-1))
        for each in found:
            p = np.maximum(allocation.probability, 1 / each.size)
            share = np.bincount(each, minlength=kinds) / each.size
            error = np.sqrt(p * (1 - p) * (1 / each.size + (0 if allocation.exact else 1 / allocation.draws)))
            assert (abs(share - allocation.probability) <= 4.75 * error).all()

    def test_a_decision_of_which_nothing_is_known_changes_nothing(self, policy: LivePolicy, space: Space) -> None:
        evidence = some_evidence(space)
        waiting = evidence
        for i in range(10):
            decided = Event(0, i % (len(space.proposals) - 1), features=some_features(space, stream(i)))
            waiting = waiting.record(decided)
        unit = unit_of(space, 0)
        states = (believing(policy, each) for each in (evidence, waiting))
        before, after = (policy.allocation(each, unit, stream(1), draws=200) for each in states)
        np.testing.assert_array_equal(before.probability, after.probability)

    def test_its_card_says_what_it_makes_of_compliance(self, policy: LivePolicy, space: Space) -> None:
        """Needed: it learns nothing from unseen compliance. Not used: it makes no difference what was seen of it.

        Of 80 decisions a proposal three in four complied, and the last proposal did a little better; or of 800, much.
        """
        assert space.intended is not None
        unit = unit_of(space, 0)
        features = None if space.covariates is None else unit.features
        bad, good = (space.amounts(pick(space.reward), features) for pick in (np.argmin, np.argmax))
        same = []
        for best, times in ((33, 1), (57, 10)):
            seen = np.zeros_like(Evidence.empty(space).counts)
            for z, action in enumerate(space.intended):
                other = (action + 1) % len(space.implemented)
                many = best if z + 1 == len(space.proposals) else 30
                seen[:, z, action], seen[:, z, other] = (60 - many) * bad + many * good, 10 * (bad + good)
            seen *= times
            unseen = np.zeros_like(seen)
            unseen[..., UNSEEN, :] = seen.sum(axis=-2)
            seeing, blinded, ignorant = (
                policy.allocation(believing(policy, Evidence(space, counts)), unit, stream(1), draws=300).probability
                for counts in (seen, unseen, np.zeros_like(seen))
            )
            same.append((np.array_equal(seeing, blinded), np.array_equal(blinded, ignorant)))
        alike, unmoved = np.all(same, axis=0)
        assert (policy.compliance == "not used") == alike
        assert policy.compliance == "not used" or (policy.compliance == "needed") == unmoved


def test_who_takes_a_pilot() -> None:
    """Every policy with a model of what proposals are worth; the others have no prior."""
    for policy in FROM_EVIDENCE:
        beliefs = policy.beliefs(policy.start(home(policy)), unit_of(home(policy), 0), stream(0))
        assert takes_a_pilot(policy) != isinstance(beliefs, Exact)


@pytest.mark.parametrize(("policy", "space"), PILOTED)
def test_a_pilot_of_nobody_changes_nothing(policy: Any, space: Space) -> None:
    evidence, nobody = believing(policy, some_evidence(space)), Prior.from_evidence(Evidence.empty(space))
    told, unit = policy.informed(nobody), unit_of(space, 0)
    before, after = (each.allocation(evidence, unit, stream(1), draws=200) for each in (policy, told))
    rounding = (
        0 if isinstance(space.outcome, Levels) else 1e-12
    )  # a spread is a root of what is kept, and squared again
    np.testing.assert_allclose(before.probability, after.probability, rtol=0, atol=rounding)


@pytest.mark.parametrize(("policy", "space"), EXACT)
def test_a_pilot_counts_as_its_decisions_would(policy: Any, space: Space) -> None:
    """Told of a pilot whose compliance was seen, it proposes as if it had met the pilot's people itself."""
    pilot, evidence = some_evidence(space, seed=6).counts.copy(), some_evidence(space)
    pilot[..., UNSEEN, :] = 0
    told = policy.informed(Prior.from_evidence(Evidence(space, pilot)))
    unit = unit_of(space, 0)
    ours = told.allocation(believing(told, evidence), unit, stream(1), draws=200).probability
    both = believing(policy, evidence + Evidence(space, pilot))
    met = policy.allocation(both, unit, stream(1), draws=200).probability
    np.testing.assert_allclose(ours, met, atol=1e-9)


def test_observations_count_once_however_often_a_policy_is_informed() -> None:
    space = Space(["a", "b"], contexts=["a", "b"])
    policy = CausalTS(observed=[[30, 10], [5, 25]])
    nobody = Prior.from_evidence(Evidence.empty(space))
    again = policy.informed(nobody).informed(nobody)
    np.testing.assert_array_equal(again.prior(space).outcome, policy.prior(space).outcome)


@every_policy
def test_bad_parameters_are_refused_before_anything_runs(policy: Registered) -> None:
    """Whatever a policy takes: nonsense, not a number, minus one, a list and what is far too large in its place."""
    for field in fields(policy):  # type: ignore[arg-type]  # every registered policy is a dataclass
        value, bound = getattr(policy, field.name), policy.card.parameters.get(field.name)
        assert bound is not None or hasattr(value, "card"), "its bounds are on its card"
        bad: list[object] = ["nonsense", [float("nan")], {"kind": "nonsense"}, [[1, 2], [3]], -1, 1e300, 10**30]
        if isinstance(bound, Counts):
            bad += [np.full((1, 2, 2, 3), 1e308), np.full((1, 2), 1e308), np.full((1, 2, 2, 3), -1.0)]
        if isinstance(value, int | float | str) and not isinstance(bound, Positive):
            bad += [[value], [], np.array([value, value])]
        for each in bad:
            with pytest.raises(InputError, match=field.name):
                type(policy)(**{field.name: each}).start(home(policy))


def edges(bound: Bound) -> tuple[list[Any], list[Any]]:
    """The outermost values that a bound allows, and those next to them that it does not."""
    match bound:
        case Real():
            above, below = np.nextafter(bound.above, np.inf), np.nextafter(bound.below, -np.inf)
            low = (above, bound.above) if bound.above >= bound.least else (bound.least, np.nextafter(bound.least, -9))
            high = (below, bound.below) if bound.below <= bound.most else (bound.most, np.nextafter(bound.most, np.inf))
            tiny = [5e-324] if low[0] == 0 else []
            return [float(low[0]), float(high[0]), *tiny], [float(low[1]), float(high[1]), "1", True]
        case Whole():
            return [bound.least, bound.most], [bound.least - 1, bound.most + 1, 1.5]
        case OneOf():
            return list(bound.values), ["nonsense", None, 2]
        case Positive():
            least, most = bound.least, bound.most
            good = [least, most, [least, 1.0, 1.0], [1.0, 1.0, most], [most, least, most]]
            return good, [float(np.nextafter(least, 0)), float(np.nextafter(most, np.inf)), 5e-324, "1", True]
        case Counts():
            tables = [np.full(shape, n) for shape in ((2, 2, 2, 4), (2, 3)) for n in (5e-324, bound.most)]
            return [None, *tables], [float(np.nextafter(bound.most, np.inf)), -5e-324]
        case ALikelihood():
            return [None, Normal(freedom=1, weight=1e-12), Poisson(weight=0.2)], [
                "normal",
                Normal,
                {"kind": "normal"},
                1,
            ]
        case Several():
            (least, most), worse = edges(bound.each)
            longest = list(range(most - bound.most + 1, most + 1))
            return [[least], [most], longest], [[*longest, least], [least, least], *([each] for each in worse)]
    raise AssertionError(f"say here what the outermost values of {bound} are")


def slow(policy: Registered, name: str) -> list[pytest.MarkDecorator]:
    """As many sweeps as there may be take a second; test_gibbs refuses what is no number of them."""
    return [pytest.mark.long] if (policy.name, name) == ("TS-Lat-0 Gibbs", "sweeps") else []


BOUNDED = [
    pytest.param(policy, name, id=f"{policy.name}-{name}", marks=slow(policy, name))
    for policy in registered()
    for name in policy.card.parameters
]


def tried(space: Space) -> Iterator[tuple[str, Any, Evidence]]:
    """Evidence of any kind, and a unit in the context that it is of."""
    if space.covariates is None:
        for words, context, known in evidence(space):
            table = Evidence.empty(space).counts.copy()
            table[context] = known
            yield words, context, Evidence(space, table)
        return
    for seed, times in ((1, 0), (2, 1), (3, 1_000), (4, 1_000_000)):
        for many in (1, 60):
            table = some_evidence(space, seed, many).counts * times
            yield f"{many} decisions, {times:,} times", unit_of(space, 0, seed), Evidence(space, table)
    for x, z, a, y in ((0, 0, 0, 0), (1, 1, 1, 2), (1, 0, UNSEEN, 1)):
        table = Evidence.empty(space).counts.copy()
        unit = unit_of(space, x)
        table[x, z, a] = 100_000 * space.amounts(y, unit.features)
        yield "one cell alone", unit, Evidence(space, table)


@pytest.mark.parametrize(("policy", "name"), BOUNDED)
def test_every_parameter_works_up_to_its_bounds(policy: Any, name: str) -> None:
    """The outermost values give probabilities from any evidence, and no warning; those next to them are refused.

    Some are refused together with the other parameters as they are, or do not fit this space.
    """
    known = KNOWN if uses_covariates(policy) else None
    space = Space(["a", "b"], contexts=["b", "a"], outcomes=3, utility=[-1, 0, 4], covariates=known)
    bound = policy.card.parameters[name]
    good, bad = edges(bound)
    for value in bad:
        with pytest.raises(InputError, match=name):
            replace(policy, **{name: value})
    for value in good:
        bound.check(name, value)
        try:
            other = replace(policy, **{name: value})
            other.start(space)
        except InputError:
            continue
        for words, unit, given in tried(space) if other.live or isinstance(other, FromEvidence) else ():
            p = other.allocation(believing(other, given), unit, stream(1), draws=10).probability
            assert (p >= 0).all(), words
            assert abs(p.sum() - 1) < 1e-9, words
            if isinstance(bound, Whole) or np.size(value) > 8:
                break  # it says how much to compute, whatever the evidence


KINDS: tuple[Outcome, ...] = (Number(0, 9), Count(9), Count(9, exposure="days", longest=9), Time(9))


@every_policy
@pytest.mark.parametrize("outcome", KINDS, ids=lambda outcome: f"{outcome.kind}{outcome.size}")
def test_a_policy_takes_the_outcomes_that_its_card_says_and_refuses_others_by_their_kind(
    policy: Registered, outcome: Outcome
) -> None:
    known = KNOWN if uses_covariates(policy) and outcome.valued else None
    space = Space(["a", "b"], contexts=["a", "b"], outcomes=outcome, covariates=known)
    takes = policy.card.outcomes
    if takes == "all" or (takes == "valued" and outcome.valued):
        policy.start(space)
        return
    if takes == "counted" and outcome.cells == outcome.size and getattr(policy, "inference", None) == "gibbs":
        policy.start(space)
        return
    with pytest.raises(UnsuitableError, match=f"{policy.name}.* (a|this) {outcome.kind}"):
        policy.start(space)


@pytest.mark.parametrize("likelihood", [Normal(), Poisson(), Exponential()], ids=lambda each: each.kind)
@pytest.mark.parametrize(
    "policy",
    [each for each in registered() if each.card.outcomes == "all" and "likelihood" in each.card.parameters],
    ids=lambda policy: policy.name,
)
def test_a_policy_that_takes_a_likelihood_takes_that_of_its_outcome_alone(policy: Any, likelihood: Any) -> None:
    given = replace(policy, likelihood=likelihood)
    for outcome in KINDS:
        space = Space(["a", "b"], contexts=["a", "b"], outcomes=outcome)
        if isinstance(outcome, likelihood.outcomes):
            given.start(space)
        else:
            with pytest.raises(UnsuitableError, match=f"likelihood {likelihood.kind} .* not a {outcome.kind}"):
                given.start(space)


@every_policy
def test_every_policy_can_be_written_down(policy: Registered) -> None:
    """As plain data, and back: policies within policies included."""
    written = json.loads(json.dumps(describe(policy)))
    assert describe(policy_of(written)) == describe(policy)


def with_covariates(rates: list[float]) -> CovariateEnvironment:
    """Everybody complies, and covariates make no difference to these success rates."""
    space = WITH_COVARIATES[0]
    assert space.covariates is not None
    outcome = Table([[1 - rate, rate] for rate in rates])
    return CovariateEnvironment(space, Independent(space.covariates, {}), Table(np.eye(2)), outcome)


@pytest.mark.parametrize(
    "policy", [p for p in registered() if p.name not in ("Uniform", "TS-TopTwo")], ids=lambda p: p.name
)
def test_learns_an_easy_problem(policy: Registered) -> None:
    """Success rates of 0.95 and 0.05: in the last 70 of 140 decisions at least two thirds propose the better one."""
    easy = Environment.from_world(World.bernoulli(np.eye(2), [0.05, 0.95]))
    environment = easy if not uses_covariates(policy) else with_covariates([0.05, 0.95])
    trace = simulate(environment, policy, 140, 20, engine="reference", record="curve", steps=[70, 140])
    late = trace.regret[0, 0, :, 1] - trace.regret[0, 0, :, 0]
    assert late.mean() < 0.9 * 70 / 3


STORED = json.loads((Path(__file__).parent / "stored_0_1.json").read_text())
"""What 0.1 wrote down of each live policy, and the probabilities that it gave: trials that it began go on."""


@pytest.mark.parametrize("stored", STORED, ids=[json.dumps(each["policy"])[10:60] for each in STORED])
def test_what_was_stored_means_what_it_meant(stored: dict[str, Any]) -> None:
    """An audit writes a stored policy down again and derives its probabilities, which must be the same."""
    policy: Any = policy_of(stored["policy"])
    assert describe(policy) == stored["policy"]
    for name, space in (("two", SPACES[0]), ("three", SPACES[1])):
        if name in stored["allocation"]:
            counts = np.arange(Evidence.empty(space).counts.size).reshape(Evidence.empty(space).counts.shape) * 7 % 5
            counts[..., UNSEEN, UNSEEN] = 0
            given = policy.allocation(Evidence(space, counts), 0, stream(5), draws=200).probability
            np.testing.assert_allclose(given, stored["allocation"][name], atol=2e-9)
