"""Spaces, worlds and environments: what they say, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from takeup import (
    Environment,
    Event,
    Evidence,
    InputError,
    LabelError,
    MismatchError,
    Posterior,
    Space,
    TSCheck,
    UnsuitableError,
    World,
    stream,
)


def test_numbers_and_names_make_a_space() -> None:
    plain = Space(2)
    assert plain.shape == (1, 2, 2, 2)
    assert plain.utility == (0.0, 1.0)
    named = Space(["pill", "rest"], contexts=["young", "old"], outcomes=["died", "ill", "well"], utility=[0, 0.4, 1])
    assert named.shape == (2, 2, 2, 3)
    assert named.index("context", "old") == 1
    assert named.index("context", 1) == 1


@pytest.mark.parametrize(
    ("proposals", "implemented", "given_", "intended"),
    [
        (2, None, None, (0, 1)),
        (["b", "a"], ["a", "b", "c"], None, (1, 0)),  # by name, wherever it is
        (["offer a", "offer b"], ["a", "b"], None, (0, 1)),  # no name in common, as many: by position
        (["a", "b"], ["a", "c"], None, None),  # one name in common: nobody can know
        (["a", "b"], ["c", "d", "e"], None, None),
        (["a", "b"], ["c", "d", "e"], ["d", "e"], (1, 2)),
        (["a", "b"], ["c", "d", "e"], {"b": "c", "a": "d"}, (1, 0)),
    ],
)
def test_what_complying_means(
    proposals: int | list[str],
    implemented: list[str] | None,
    given_: list[int | str] | dict[int | str, int | str] | None,
    intended: tuple[int, ...] | None,
) -> None:
    space = Space(proposals, implemented, intended=given_)
    assert space.intended == intended
    if intended is None:
        with pytest.raises(UnsuitableError, match="TS-Check needs to know what complying means"):
            TSCheck().start(space)
    else:
        TSCheck().start(space)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Space(1), "proposals: got 1, expected a whole number of at least 2"),
        (lambda: Space("ab"), "proposals: got 'ab', expected a number or a list of names"),
        (lambda: Space(["a", "a"]), "all different"),
        (lambda: Space(["a", " "]), "not blank"),
        (lambda: Space(True), "proposals: got True"),
        (lambda: Space(2, outcomes=3), "utility: got none, expected the reward of each of the 3 outcome levels"),
        (lambda: Space(2, utility=[1, 1]), "at least two different rewards"),
        (lambda: Space(2, utility=[0, np.inf]), "utility: got inf"),
        (lambda: Space(2, utility=[0, 1, 2]), r"utility: got shape \(3,\), expected shape \(2,\)"),
        (lambda: Space(2, intended=[0]), "intended: .* one action for each of 2 proposals"),
        (lambda: Space(2, intended=[0, 5]), "implemented: got 5, expected one of 0, 1"),
        (lambda: World.bernoulli([[0.5, 0.6], [0.0, 1.0]], [0, 1]), "compliance: got a row with sum 1.1"),
        (lambda: World.bernoulli([[1.5, -0.5], [0.0, 1.0]], [0, 1]), r"compliance: got -0.5 at \[0, 1\]"),
        (lambda: World.bernoulli(np.eye(2), [0, 1.2]), "success"),
        (lambda: World.bernoulli(np.eye(2), [0, np.nan]), "success: got nan"),
        (lambda: World.bernoulli(np.eye(3), [0, 1]), r"outcome: got shape \(1, 2, 2\)"),
        (lambda: World(np.eye(2), np.full((2, 3), 1 / 3)), "utility: got none"),
        (lambda: Posterior(np.zeros((1, 2, 2)), None, np.array([0, 1.0])), "outcome: got 0.0"),
    ],
)
def test_bad_input_names_the_argument_the_value_and_what_is_allowed(make: "type[Space]", message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[call-arg]  # a lambda, as mypy does not see


def test_value_is_compliance_times_reward() -> None:
    """0.7 x 0.65 + 0.3 x 0.35 = 0.56 and 0.4 x 0.65 + 0.6 x 0.35 = 0.47."""
    world = World.bernoulli([[0.7, 0.3], [0.4, 0.6]], [0.65, 0.35])
    np.testing.assert_allclose(world.value(), [[0.56, 0.47]], rtol=0, atol=1e-15)
    environment = Environment.from_world(world)
    np.testing.assert_allclose(environment.value(), world.value())
    np.testing.assert_allclose(environment.regret(), [[0, 0.09]], atol=1e-15)
    assert environment.optimum() == [0]


def test_utilities_of_ordinal_outcomes() -> None:
    """Three levels worth 0, 0.4 and 1: 0.3 x 0.4 + 0.5 x 1 = 0.62, and the reverse 0.3 x 0.4 + 0.2 x 1 = 0.32."""
    world = World(np.eye(2), np.array([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]]), np.array([0, 0.4, 1]))
    np.testing.assert_allclose(world.value(), [[0.62, 0.32]])


def trap() -> Environment:
    """Half always-takers who do well whatever is proposed, half compliers whom the treatment harms."""
    return Environment.from_types(
        Space(["none", "drug"]),
        share=[0.5, 0.5],
        response=[[1, 1], [0, 1]],
        outcome=[[[0.25, 0.75], [0.25, 0.75]], [[0.5, 0.5], [0.75, 0.25]]],
    )


def test_a_posterior_keeps_the_blocks_that_it_has() -> None:
    outcome, compliance = np.ones((1, 2, 2)), np.ones((1, 2, 2))
    both = Posterior(outcome, compliance, np.array([0.0, 1.0]))
    seen = both.plus(2 * outcome, 3 * compliance).plus(outcome)
    assert seen.compliance is not None
    np.testing.assert_array_equal(seen.outcome, 4 * outcome)
    np.testing.assert_array_equal(seen.compliance, 4 * compliance)
    with pytest.raises(MismatchError, match="no block for them"):
        Posterior(outcome, None, np.array([0.0, 1.0])).plus(outcome, compliance)


def test_types_confound_what_the_model_cannot_see() -> None:
    """Proposing nothing is worth 0.5 x 0.75 + 0.5 x 0.5 = 0.625, the drug 0.5, yet the treated do better.

    Given no drug was proposed: those on the drug are always-takers, who succeed with 0.75, those off it with 0.5.
    """
    environment = trap()
    np.testing.assert_allclose(environment.value(), [[0.625, 0.5]])
    told_none = environment.response[0, 0]
    np.testing.assert_allclose(told_none[:, 1] / told_none.sum(axis=1), [0.5, 0.75])
    assert environment.types is not None
    np.testing.assert_array_equal(environment.types.response, [[1, 1], [0, 1]])


def test_empirical_environment_is_the_table() -> None:
    space = Space(2, contexts=2)
    evidence = Evidence(space, np.pad(np.arange(1, 17).reshape(2, 2, 2, 2), ((0, 0), (0, 0), (0, 1), (0, 1))))
    environment = Environment.from_evidence(evidence)
    np.testing.assert_allclose(environment.context, [36 / 136, 100 / 136])
    np.testing.assert_allclose(environment.response[0, 0], np.array([[1, 2], [3, 4]]) / 10)


def test_empirical_environment_refuses_gaps() -> None:
    space = Space(["a", "b"], contexts=["young", "old"])
    full = [Event(x, z, 0, 1) for x in range(2) for z in range(2)]
    with pytest.raises(InputError, match="no decision with context old and proposal b"):
        Environment.from_evidence(Evidence.of(space, full[:3]))
    with pytest.raises(InputError, match="1 decisions with compliance or outcome unseen"):
        Environment.from_evidence(Evidence.of(space, [*full, Event(0, 0, 1)]))
    with pytest.raises(InputError, match="a single table"):
        Environment.from_evidence(Evidence.empty(space, (2,)))


def test_environment_refuses_what_does_not_fit() -> None:
    space = Space(2)
    with pytest.raises(InputError, match="response: got action 2"):
        Environment.from_types(space, [1], [[0, 2]], [[[1, 0], [1, 0]]])
    with pytest.raises(InputError, match="share"):
        Environment.from_types(space, [0.5, 0.6], [[0, 1], [1, 0]], np.full((2, 2, 2), 0.5))
    with pytest.raises(InputError, match="outcome"):
        Environment.from_types(space, [1], [[0, 1]], np.full((2, 2, 2), 0.5))
    with pytest.raises(MismatchError, match="utility"):
        Environment.from_world(World.bernoulli(np.eye(2), [0, 1]), space=Space(2, utility=[0, 2]))
    with pytest.raises(InputError, match="context"):
        Environment.from_world(World.bernoulli(np.eye(2), [0, 1]), context=[0.5, 0.5])
    with pytest.raises(LabelError):
        space.index("proposal", True)


def draws(probability: ArrayLike, seed: int) -> tuple[np.ndarray, np.ndarray]:
    world = World.bernoulli(probability, [0.2, 0.9])
    environment = Environment.from_world(world)
    uniform = stream(seed, "units").random(200_000)
    zero = np.zeros(uniform.size, dtype=np.int64)
    return environment.respond(zero, zero, uniform)


def test_responses_have_the_stated_frequencies() -> None:
    """Each of four cells is within 4.5 standard errors: a false alarm in about 3 of 100,000 seeds."""
    a, y = draws([[0.3, 0.7], [1.0, 0.0]], seed=3)
    expected = np.array([[0.3 * 0.8, 0.3 * 0.2], [0.7 * 0.1, 0.7 * 0.9]])
    seen = np.bincount(a * 2 + y, minlength=4).reshape(2, 2) / a.size
    assert (np.abs(seen - expected) < 4.5 * np.sqrt(expected * (1 - expected) / a.size)).all()


@given(st.floats(0, 1, exclude_max=True))
def test_what_is_impossible_never_happens(uniform: float) -> None:
    environment = Environment.from_world(World.bernoulli([[0, 1, 0], [1, 0, 0]], [0, 1, 0.1 + 0.2]))
    a, y = environment.respond(np.array([0]), np.array([0]), np.array([uniform]))
    assert (int(a[0]), int(y[0])) == (1, 1)


def test_an_environment_changes_into_one_of_the_same_space() -> None:
    plain = Environment.from_world(World.bernoulli(np.eye(2), [0.2, 0.8]))
    other = Environment(Space(2, intended=[1, 0]), plain.context, plain.response)
    with pytest.raises(MismatchError, match="cannot change its space"):
        plain.switch(5, other)


def test_equal_environments_have_equal_fingerprints() -> None:
    one, same, other = (
        Environment.from_world(World.bernoulli(np.eye(2), [0.1, p])).fingerprint() for p in (0.2, 0.2, 0.3)
    )
    assert one == same != other
