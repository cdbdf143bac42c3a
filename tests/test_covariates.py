"""Covariates: features against hand sums, and evidence that adds to the bit whatever its order."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeup import (
    TS,
    UNSEEN,
    Borrowing,
    Category,
    Count,
    Covariates,
    Environment,
    Event,
    Evidence,
    InputError,
    LabelError,
    Log,
    Measure,
    MismatchError,
    Number,
    Profile,
    Rows,
    Space,
    Time,
    TSLat,
    TSObs,
    TSRobust,
    UnsuitableError,
    event,
    stream,
)
from takeup.covariates import MOST_FEATURES, ONE
from takeup.outcomes import Outcome
from takeup.space import Names

AGE = Measure(18, 100, unit="years")
KINDS = {"age": AGE, "state": Category(["alert", "drowsy", "out"]), "pressure": Measure(0, 300, 0.1, missing="kept")}
OUTCOMES: dict[str, dict[str, Any]] = {
    "two levels": {"outcomes": ["died", "lived"]},
    "levels": {"outcomes": 3, "utility": [-1.0, 0.3, 2.0]},
    "number": {"outcomes": Number(-5, 20, 0.5, better="lower")},
    "utility": {"outcomes": Number(0, 10, utility=[(0, 3), (4, 1), (10, 2)])},
    "count": {"outcomes": Count(7)},
}


def spaced(outcome: str = "two levels", **more: Any) -> Space:
    return Space(2, contexts=2, covariates=KINDS, interactions=[("age", "pressure")], **OUTCOMES[outcome], **more)


# Features.


def test_the_features_are_those_of_a_hand_sum() -> None:
    """(59 - 18) / 82 = 0.5; drowsy is the second of three; 120.1 / 300 = 0.40033; products of thousandths."""
    covariates = Covariates(KINDS, [("age", "pressure"), ("age", "state")])
    assert covariates.labels == (
        "intercept",
        "age",
        "state: drowsy",
        "state: out",
        "pressure",
        "pressure: missing",
        "age x pressure",
        "age x pressure: missing",
        "age x state: drowsy",
        "age x state: out",
    )
    known = {"age": 59, "state": "drowsy", "pressure": 120.1}
    assert covariates.features(known) == (1000, 500, 1000, 0, 400, 0, 200, 0, 500, 0)
    assert covariates.features(known | {"pressure": None}) == (1000, 500, 1000, 0, 500, 1000, 250, 500, 500, 0)
    assert covariates.size == 10


@pytest.mark.parametrize(("value", "feature"), [(18, 0), (100, 1000), ("59", 500), (58.6, 500), (19, 12), (99, 988)])
def test_a_measure_is_scaled_to_thousandths(value: object, feature: int) -> None:
    """1 / 82 = 0.01220 and 81 / 82 = 0.98780."""
    assert AGE.features("age", value) == (feature,)


def test_halves_are_rounded_up() -> None:
    """1 / 2,000 is half a thousandth, and 0.5 x 0.001 another half."""
    assert Measure(0, 2000).features("size", 1) == (1,)
    half = Covariates({"a": Measure(0, 1000), "b": Measure(0, 2)}, [("a", "b")])
    assert half.features({"a": 1, "b": 1}) == (1000, 1, 500, 1)


@given(st.integers(0, 82), st.sampled_from(["alert", "drowsy", "out"]), st.none() | st.integers(0, 1000))
def test_features_lead_back_to_values(steps: int, state: str, pressure: int | None) -> None:
    """Exactly, of scales with up to a thousand steps."""
    covariates = Covariates(
        {"age": AGE, "state": KINDS["state"], "pressure": Measure(0, 1, 0.001, missing="kept")}, [("age", "state")]
    )
    values = {"age": 18 + steps, "state": state, "pressure": None if pressure is None else pressure / 1000}
    assert covariates.values(covariates.features(values)) == values


def test_more_than_a_thousand_steps_lead_back_to_the_nearest() -> None:
    covariates = Covariates(KINDS)
    back = covariates.values(covariates.features({"age": 20, "state": "out", "pressure": 120.1}))
    assert back == {"age": 20, "state": "out", "pressure": 120}


@given(st.integers(1, 1_000_000), st.data())
def test_scaling_is_the_nearest_thousandth(steps: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, steps))
    feature = Measure(0, steps).scaled(k)
    assert 0 <= feature <= ONE
    assert abs(feature * steps - ONE * k) * 2 <= steps


BAD_VALUES: list[tuple[dict[str, object], str]] = [
    ({"age": 17}, "covariates.age: got 17 years, expected a number from 18 to 100 years"),
    ({"age": float("nan")}, "covariates.age: got nan, .* give None"),
    ({"age": float("inf")}, "covariates.age: got inf, expected a number"),
    ({"age": "old"}, "covariates.age: got 'old', expected a number"),
    ({"age": True}, "covariates.age: got True, expected a number"),
    ({"age": [60]}, r"covariates.age: got \[60\], expected a number"),
    ({"age": "60 years"}, "without a unit"),
    ({"age": None}, 'covariates.age: got None, .* missing="kept"'),
    ({"age": ""}, "covariates.age: got '', .* give None"),
    ({"state": "asleep"}, "covariates.state: got 'asleep', expected one of alert, drowsy, out"),
    ({"state": 1}, "covariates.state: got 1, expected one of"),
    ({"state": None}, "covariates.state: got None"),
    ({"state": float("nan")}, "covariates.state: got nan, .* give None"),
    ({"state": ["alert"]}, "covariates.state: got"),
    ({"pressure": 301}, "covariates.pressure: got 301"),
    ({"pressure": float("nan")}, "covariates.pressure: got nan, .* give None"),
    ({"ages": 60}, "covariates.ages: got 60, .* did you mean age"),
]


@pytest.mark.parametrize(("wrong", "words"), BAD_VALUES)
def test_bad_values_are_refused_by_name(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Covariates(KINDS).features({"age": 60, "state": "alert", "pressure": 120} | wrong)


def test_values_that_were_left_out_are_refused_by_name() -> None:
    with pytest.raises(InputError, match="state is missing; expected one of alert, drowsy, out"):
        Covariates(KINDS).features({"age": 60, "pressure": 120})
    with pytest.raises(InputError, match="covariates: got 60, expected a table with age, state, pressure"):
        Covariates(KINDS).features(60)  # type: ignore[arg-type]
    with pytest.raises(LabelError, match="state"):
        Covariates(KINDS).features({"age": 60, "state": "?", "pressure": 120})


BAD_KINDS: list[tuple[Any, Any, str]] = [
    ({}, (), "covariates: got {}"),
    (["age"], (), "covariates: got"),
    ({"age": 3}, (), "covariates.age: got 3"),
    ({"": AGE}, (), "not blank"),
    ({3: AGE}, (), "covariates: got 3"),
    ({"outcome": AGE}, (), "covariates: got 'outcome', expected another name"),
    ({"age": {"kind": "number"}}, (), "covariates.age.kind: got 'number', expected one of measure, category"),
    ({"age": {"low": 3}}, (), "covariates.age.kind is missing"),
    ({"age": {"kind": "measure", "low": 3}}, (), "covariates.age.high is missing"),
    ({"age": {"kind": "measure", "low": 3, "high": 2}}, (), "covariates.age.high: got 2"),
    ({"age": {"kind": "measure", "low": 3, "high": 5, "bins": 2}}, (), "covariates.age.bins"),
    ({"sex": {"kind": "category", "levels": ["f"]}}, (), "covariates.sex.levels"),
    (KINDS, [("age", "sex")], "interactions: got .'age', 'sex'., expected pairs"),
    (KINDS, [("age", "age")], "interactions"),
    (KINDS, [("age", "state"), ("state", "age")], "twice"),
    (KINDS, ["age"], "interactions"),
    (KINDS, "age", "interactions"),
    (KINDS, [("age", "state", "pressure")], "interactions"),
    ({"site": Category([str(i) for i in range(51)])}, (), f"51 features, expected at most {MOST_FEATURES}"),
]


@pytest.mark.parametrize(("kinds", "interactions", "words"), BAD_KINDS)
def test_bad_covariates_are_refused(kinds: Any, interactions: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Covariates(kinds, interactions)


def any_kind(kind: Any) -> Any:
    """A kind that takes whatever it is given, for a type checker."""
    return kind


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Measure(1, 1), "high"),
        (lambda: Measure(0, 1, 0.3), "step"),
        (lambda: Measure(0, float("nan")), "high"),
        (lambda: any_kind(Measure)(0, 1, missing="dropped"), "missing: got 'dropped', expected one of refused, kept"),
        (lambda: any_kind(Measure)(0, 1, unit=3), "unit"),
        (lambda: Category("alert"), "levels: got 'alert'"),
        (lambda: Category(["a", "a"]), "all different"),
        (lambda: any_kind(Category)(["a", 3]), "levels: got 3"),
        (lambda: Category(["known", "missing"], missing="kept"), "levels: got 'missing'"),
        (lambda: Space(2, interactions=[("a", "b")]), "interactions"),
        (lambda: Space(2, covariates=Covariates(KINDS), interactions=[("age", "state")]), "interactions"),
    ],
)
def test_bad_arguments_are_refused(make: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()


def test_features_that_nobody_made_of_values_are_checked() -> None:
    covariates = Covariates({"age": AGE})
    for wrong in ([1000], [1000, 1001], [1000, -1], [1.0, 0.5], [[1000]]):
        with pytest.raises(InputError, match="features"):
            covariates.check(wrong)


# Spaces.


def test_a_space_says_its_covariates_and_is_made_again_from_it() -> None:
    space = spaced("number")
    described = space.described()
    assert Space(**described) == space
    assert described["covariates"]["state"] == {
        "kind": "category",
        "levels": ["alert", "drowsy", "out"],
        "missing": "refused",
    }
    assert described["interactions"] == [["age", "pressure"]]
    assert not {"covariates", "interactions"} & set(space.without_covariates().described())


def test_spaces_differ_in_covariates() -> None:
    space = spaced()
    plain = space.without_covariates()
    assert plain.covariates is None
    assert plain == Space(2, contexts=2, **OUTCOMES["two levels"])
    assert space != plain
    assert space.differences(plain) == ["covariates"]
    assert space.differences(spaced()) == []
    assert plain.without_covariates() is plain
    assert hash(space) == hash(spaced())
    assert space.of_one_context().covariates is None
    assert space.by_cell().covariates is None
    assert Space(2, covariates={}) == Space(2)


@pytest.mark.parametrize("outcome", [Time(30), Count(5, exposure="days", longest=10)])
def test_outcomes_without_whole_worths_do_not_go_with_covariates(outcome: Names | Outcome) -> None:
    with pytest.raises(UnsuitableError, match="covariates go with outcomes that are levels, numbers or counts"):
        Space(2, outcomes=outcome, covariates=KINDS)


def test_what_keeps_no_covariates_refuses_them() -> None:
    space = spaced()
    with pytest.raises(UnsuitableError, match="CovariateEnvironment"):
        Environment(space, np.full(2, 0.5), np.full((2, 2, 2, 2), 0.25))
    with pytest.raises(UnsuitableError, match="no covariates"):
        Space(2).profile({"age": 3})
    with pytest.raises(UnsuitableError, match="no covariates"):
        Evidence.empty(Space(2)).least_squares  # noqa: B018
    with pytest.raises(UnsuitableError, match="covariates"):
        Rows.empty(Space(2))
    log = Log.of(space.without_covariates(), [0, 1], [[0.5, 0.5]] * 2)
    with pytest.raises(InputError, match="features is missing; expected those of"):
        replace(log, space=space)
    with pytest.raises(InputError, match="the space has no covariates"):
        replace(log, features=np.zeros((2, 3), dtype=np.int16))


# Evidence.


def test_evidence_is_a_hand_sum() -> None:
    """V = (1000, 500) and (1000, 250) with levels 1 and 0: their products and sums, 1,000 squared being 10^6."""
    space = Space(2, covariates={"size": Measure(0, 4)})
    seen = [event(space, 1, 0, y, covariates={"size": size}) for size, y in ((2, 1), (1, 0))]
    pending = event(space, 1, 0, covariates={"size": 4})
    counts = Evidence.of(space, [*seen, pending]).counts
    together = [2_000_000, 750_000, 250_000 + 62_500]
    assert counts[0, 1, 0].tolist() == [1, 1, *together, 1_000_000, 1_000_000, 1_000_000, 1000, 250, 1000, 500, 1]
    assert counts.sum() == counts[0, 1, 0].sum()


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_least_squares_are_sums_over_rows(outcome: str) -> None:
    """Σ v v', Σ v g, Σ g² and n of those that are seen, Σ v v' of the others, cell by cell and in real numbers."""
    space = spaced(outcome)
    events = drawn(space, 60, stream(1))
    found = Evidence.of(space, events).least_squares
    gain = space.outcome.gains()
    for x, z, a in product(range(2), range(2), range(3)):
        here = [each for each in events if (each.context, each.proposal, each.implemented % 3) == (x, z, a)]
        seen = [each for each in here if each.outcome != UNSEEN]
        v = np.array([each.features for each in seen]).reshape(-1, found.gram.shape[-1]) / 1000
        g = gain[np.array([each.outcome for each in seen], dtype=np.int64)]
        late = np.array([e.features for e in here if e.outcome == UNSEEN]).reshape(-1, v.shape[1]) / 1000
        cell = found[x, z, a]
        assert cell.count == len(v)
        # A worth of utility is kept in steps of a hundred thousandth.
        near = 1e-5 * max(len(v), 1) if outcome == "utility" else 1e-9
        for sums, expected in (
            (cell.gram, v.T @ v),
            (cell.pending, late.T @ late),
            (cell.everybody, v.T @ v + late.T @ late),
            (cell.product, v.T @ g),
            (cell.square, g @ g),
        ):
            np.testing.assert_allclose(sums, expected, atol=near, rtol=1e-12)
    whole = found.summed((-3, -2, -1))
    np.testing.assert_allclose(whole.product, found.product.sum(axis=(0, 1, 2)))
    np.testing.assert_allclose((whole + whole).gram, 2 * found.gram.sum(axis=(0, 1, 2)))


def drawn(space: Space, many: int, rng: np.random.Generator) -> list[Event]:
    """Decisions of all kinds, as codes."""
    assert space.covariates is not None
    states = ["alert", "drowsy", "out"]
    return [
        Event(
            int(rng.integers(2)),
            int(rng.integers(2)),
            int(rng.integers(-1, 2)),
            int(rng.integers(-1, space.shape[3])),
            number=i,
            features=space.covariates.features(
                {
                    "age": int(rng.integers(18, 101)),
                    "state": states[rng.integers(3)],
                    "pressure": None if rng.random() < 0.2 else int(rng.integers(301)),
                }
            ),
        )
        for i in range(many)
    ]


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(OUTCOMES)), st.integers(0, 2**32), st.integers(0, 12), st.randoms(use_true_random=False))
def test_every_order_split_and_way_gives_the_same_bits(outcome: str, seed: int, cut: int, shuffled: Any) -> None:
    space = spaced(outcome)
    events = drawn(space, 12, stream(seed))
    whole = Evidence.of(space, events)
    rows = Rows.empty(space)
    for each in events:
        rows = rows.record(each)
    assert rows.evidence() == whole
    mixed = list(events)
    shuffled.shuffle(mixed)
    assert Evidence.of(space, mixed) == whole
    assert Evidence.of(space, mixed[:cut]) + Evidence.of(space, mixed[cut:]) == whole
    moved, kept = Evidence.empty(space), Rows.empty(space)
    first = [replace(each, implemented=UNSEEN, outcome=UNSEEN) for each in mixed]
    for each in first:
        moved, kept = moved.record(each), kept.record(each)
    for before, after in zip(first[::-1], mixed[::-1], strict=True):
        moved, kept = moved.move(before, after), kept.move(before, after)
    assert moved == whole
    assert kept == rows
    assert np.array_equal(moved.counts, whole.counts)


def test_replications_side_by_side_are_those_one_by_one() -> None:
    space = spaced("number")
    alone = [drawn(space, 5, stream(seed)) for seed in range(3)]
    evidence, rows = Evidence.empty(space, (3,)), Rows.empty(space, (3,))
    for together in zip(*alone, strict=True):
        names = ("context", "proposal", "implemented", "outcome", "features")
        parts: dict[str, Any] = {name: np.array([getattr(each, name) for each in together]) for name in names}
        event_ = Event(**parts)
        evidence, rows = evidence.record(event_), rows.record(event_)
    for i, events in enumerate(alone):
        assert np.array_equal(evidence.counts[i], Evidence.of(space, events).counts)
    assert rows.evidence() == evidence


def test_reports_cannot_change_covariates_or_be_of_nobody() -> None:
    space = spaced()
    one, other = drawn(space, 2, stream(3))
    changed = replace(one, features=other.features)
    for state in (Evidence.of(space, [one]), Rows.empty(space).record(one)):
        with pytest.raises(MismatchError, match="cannot change the covariates"):
            state.move(one, changed)
        with pytest.raises(MismatchError, match="no decision is known as"):
            state.move(changed, changed)
        with pytest.raises(InputError, match="features is missing; expected those of age, state, pressure"):
            state.record(replace(one, features=None))
        with pytest.raises(InputError, match="features"):
            state.record(replace(one, features=(1000, 500)))
    with pytest.raises(InputError, match="the space has no covariates"):
        Evidence.empty(space.without_covariates()).record(one)


def test_sums_beyond_64_bits_are_refused() -> None:
    space = Space(2, covariates={"size": Measure(0, 4)})
    one = event(space, 0, 0, 1, covariates={"size": 4})
    counts = np.zeros(space.table, dtype=np.int64)
    counts[0, 0, 0, 2] = 2**63 - 1
    with pytest.raises(InputError, match=r"sums of at most 2\^63 - 1"):
        Evidence(space, counts).record(one)
    with pytest.raises(InputError, match=r"sums of at most 2\^63 - 1"):
        Evidence(space, counts) + Evidence.of(space, [one])


# Policies that know nothing of covariates.


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize(
    "policy", [TS(), TSObs(), TSLat(), TSLat(inference="gibbs", sweeps=3), TSRobust(), Borrowing()]
)
def test_policies_that_know_nothing_of_covariates_do_as_without(outcome: str, policy: TS) -> None:
    space = spaced(outcome)
    if outcome != "two levels" and isinstance(policy, TSLat):
        return
    events = drawn(space, 40, stream(2))
    evidence = Evidence.of(space, events)
    plain = Evidence.of(space.without_covariates(), [replace(each, features=None) for each in events])
    assert evidence.without_covariates() == plain
    assert evidence.at(1) == plain.at(1)
    assert np.array_equal(evidence.decisions, plain.decisions)
    for name in ("proposed_outcomes", "implemented_outcomes", "compliance", "complied_outcomes", "latent_outcomes"):
        assert np.array_equal(getattr(evidence, name), getattr(plain, name))
    assert evidence.by_cell() == plain.by_cell()
    policy.start(space)
    for x in range(2):
        one, other = (policy.allocation(each, x, stream(5), 200) for each in (evidence, plain))
        assert np.array_equal(one.probability, other.probability)


def test_a_profile_is_equal_by_value() -> None:
    space = Space(2, contexts=["here", "there"], covariates={"age": AGE})
    assert space.profile({"age": 59}, context="there") == Profile(1, (1000, 500))


# Rows.


def test_rows_before_stay_as_they_were() -> None:
    """Room is shared, and every version still reads what it read."""
    space = Space(2, covariates={"age": AGE})
    events = [event(space, i % 2, covariates={"age": 18 + i}) for i in range(80)]
    versions = [Rows.empty(space)]
    for each in events:
        versions.append(versions[-1].record(each))
    later = event(space, 1, 1, 1, covariates={"age": 19})
    moved = versions[80].move(events[1], later)
    stale = versions[10].move(events[1], later)
    branch = versions[10].record(events[50])
    further = moved.record(later)
    again = versions[80].record(events[0])
    for n, version in enumerate(versions):
        assert version.size == n
        assert version.outcome.tolist() == [UNSEEN] * n
        assert version.features[:, 1].tolist() == [each.features[1] for each in events[:n]]  # type: ignore[index]
    assert moved.outcome.tolist() == [UNSEEN, 1, *[UNSEEN] * 78]
    assert stale.outcome.tolist() == [UNSEEN, 1, *[UNSEEN] * 8]
    assert branch.features[-1].tolist() == list(events[50].features)  # type: ignore[arg-type]
    assert further.size == again.size == 81
    assert further.outcome[-1] == 1
    assert again.outcome[-1] == UNSEEN
    assert further.evidence() == versions[80].evidence().move(events[1], later).record(later)
    with pytest.raises(ValueError, match="read-only"):
        moved.outcome[0] = 1


def test_rows_are_a_multiset() -> None:
    space = Space(2, covariates={"age": AGE})
    one, other = (event(space, 0, covariates={"age": age}) for age in (20, 30))
    empty = Rows.empty(space)
    assert empty.record(one).record(other) == empty.record(other).record(one)
    assert empty.record(one).record(other) != empty.record(one).record(one)
    assert empty.record(one) != empty
    assert empty.record(one) != 3


def test_the_least_step_that_people_are_told_of_is_allowed() -> None:
    """A little more than 1e-12 of the farthest number, which no rounding may bring below it."""
    with pytest.raises(InputError, match=r"step: got 0.001, expected at least 0.0011;"):
        Measure(1e9, 1e9 + 1, 0.001)
    assert len(Measure(1e9, 1e9 + 1.1, 0.0011).points()) == 1_001
