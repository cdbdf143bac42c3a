"""The experiments of the cited papers: the rule, and small runs that must agree by it."""

from typing import get_args

import numpy as np
import pytest

from papers import shorten_related
from takeup.paper import related
from takeup.paper.agreement import Mean
from takeup.paper.related import compliance_aware, figures, instruments, intents, protocol_claims, theorems
from takeup.paper.related.figures import FigureComparison, Published, ahead, at_most, larger
from takeup.paper.related.instrument_examples import Noise, first_example, normal_bins, second_example, uniform_bins
from takeup.paper.runner import Runner
from takeup.policies import TS


def figure(measured: float, mcse: float, published: Published) -> FigureComparison:
    return FigureComparison("source", "experiment", "policy", "quantity", published, measured, mcse)


def test_the_rule_by_hand() -> None:
    """Errors of 0.3 and 0.4 are 0.5 together: 4 * 0.5 + 1 may lie between, so 13 agrees with 10 and 13.1 does not."""
    published = Published(10.0, 1.0, 0.4, "read off")
    assert figure(13.0, 0.3, published).agrees
    assert not figure(13.1, 0.3, published).agrees
    assert not figure(6.9, 0.3, published).agrees


def test_statements_need_four_errors() -> None:
    assert larger("s", "c", Mean(3.0, 0.3), Mean(0.9, 0.4), ("a", "b")).holds
    assert not larger("s", "c", Mean(3.0, 0.3), Mean(1.1, 0.4), ("a", "b")).holds


def test_runs_on_the_same_patients_are_compared_in_pairs() -> None:
    """Runs that differ by 1 or 3 each time: 2 with an error of 0.1 in 100 runs, however the runs vary."""
    one = np.linspace(0, 1000, 100)
    lead = np.resize([1.0, 3.0], 100)
    assert ahead("s", "c", one + lead, one, ("a", "b")).holds
    assert not ahead("s", "c", one, one + lead, ("a", "b")).holds
    assert not larger("s", "c", Mean.of(one + lead), Mean.of(one), ("a", "b")).holds


def test_a_limit_is_exceeded_by_four_errors() -> None:
    """An error of 0.3 and twice one of 0.2 are 0.5 together: twice 4 may be exceeded by 2."""
    assert at_most("s", "c", Mean(9.9, 0.3), 2.0, Mean(4.0, 0.2), ("a", "b")).holds
    assert not at_most("s", "c", Mean(10.1, 0.3), 2.0, Mean(4.0, 0.2), ("a", "b")).holds


@pytest.mark.parametrize("bins", [False, True], ids=["continuous", "bins"])
def test_what_needs_no_run(bins: bool) -> None:
    """Means as printed, with the errata; theorems on the examples. As printed, example 2 has no compliers."""
    one, two = first_example(uniform_bins() if bins else None), second_example(normal_bins() if bins else None)
    found = list(theorems.printed_means(one, two))
    assert len(found) == 3 + 3 + 5
    assert all(each.agrees and each.mcse == 0 for each in found)
    stated = list(theorems.theorems(one, two))
    assert len(stated) == 5
    assert all(each.holds for each in stated)
    swapped = [each.holds for each in theorems.theorems(theorems._everyone_complies(), one)]
    assert swapped == [False, True, True, True, False]  # one class has no latent classes; example 1 is not homogeneous


def test_linear_regret_is_told_from_logarithmic() -> None:
    """Runs whose regret is t, and runs whose regret is log t, at ten steps."""
    time = np.arange(1, 11) * 1000.0
    lost = {"actual": time, "comply": time / 2, "chosen": np.log(time), "TB": 2 * np.log(time)}
    runs = {name: each + np.linspace(-0.1, 0.1, 20)[:, np.newaxis] for name, each in lost.items()}
    trapped = protocol_claims.Trapped(1000.0, runs, 4 * runs["chosen"][:, -1])
    found = [each.holds for each in protocol_claims._of_the_trap(trapped)]
    assert found == [True, True, True, True, False, True, True]  # four times Thompson's is above the bound


def test_the_casinos_agree_with_the_authors_code() -> None:
    """36 figures of 400 runs: under normal errors one of 16,000 such comparisons is a false alarm."""
    found, statements = intents.measure(Runner(400, 3, "cpu"))
    assert len(found) == 36 + 4
    for each in found:
        assert each.agrees, each
    assert all(statement.holds for statement in statements)


def test_the_trap_world_agrees_with_the_printed_table() -> None:
    """TS by its five policies, 60 runs, printed and by the authors' code; false alarms as above."""
    trapped = compliance_aware._surplus(Runner(60, 5, "cpu"), {"trap": compliance_aware.trap()}, TS())
    found = list(compliance_aware._of_trap(trapped))
    assert len(found) == 10
    for each in found:
        assert each.agrees, each


@pytest.mark.long
@pytest.mark.parametrize("noise", [None, normal_bins()], ids=["continuous", "bins"])
def test_the_second_example_of_kallus_agrees_at_the_short_horizon(noise: Noise | None) -> None:
    """Ten figures of 30 runs; false alarms as above."""
    two = second_example(noise)
    policies = [*instruments.upper_bounds(two, 2.0), *instruments.two_stage(two)]
    short = instruments._costs(Runner(30, 5, "cpu"), two, policies, instruments.SECOND)
    for each in instruments._again(short, instruments.SECOND):
        assert each.agrees, each
    assert all(statement.holds for statement in instruments._statements(short, "it"))


def test_the_spread_of_what_units_lose() -> None:
    """A tenth comply with example 2, and lose 1.1, 1, 1, 1 or 0: a variance of 0.1 * 0.9 times the square.

    By proposals, the first costs 0.1 to the four tenths who follow it, 0.4 * 0.6 * 0.01, and the next three are alike.
    """
    two = second_example()
    lost = np.array([1.1, 1, 1, 1, 0])
    np.testing.assert_allclose(instruments.variances(two, "compliers"), 0.09 * lost**2, atol=1e-9)
    np.testing.assert_allclose(instruments.variances(two, "proposals")[:4], [0.0024, 0, 0, 0], atol=1e-9)


@pytest.mark.long
def test_everything_runs_and_is_told_to_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """With short horizons; progress counts every decision."""
    shorten_related(monkeypatch)
    made: list[int] = []
    result = related.related(Runner(3, 1, progress=made.append))
    assert sum(made) == related.decisions(3)
    made.clear()
    brief = related.related(Runner(3, 1, progress=made.append), long=False)
    assert sum(made) == related.decisions(3, long=False)
    assert brief.figures == tuple(f for f in result.figures if "T = 30" not in f.experiment)
    assert brief.binned == tuple(f for f in result.binned if "T = 30" not in f.experiment)
    told = result.as_json()
    assert len(told["figures"]) == len(result.figures) > 100
    assert set(told["figures"][0]) == {
        "source",
        "experiment",
        "policy",
        "quantity",
        "published",
        "measured",
        "mcse",
        "allowed",
        "agrees",
    }
    assert told["agreeing"] == sum(f["agrees"] for f in told["figures"])
    assert len(told["binned"]) == 8 + 20 + 10
    named = {(f["source"], f["experiment"], f["policy"], f["quantity"]): f["published"] for f in told["figures"]}
    for f in told["binned"]:
        assert named[f["source"], f["experiment"], f["policy"], f["quantity"]]["value"] == f["published"]["value"]
    bases = {f["published"]["basis"] for f in told["figures"]}
    assert bases == set(get_args(figures.Basis))
    assert np.isfinite([f["measured"] for f in told["figures"]]).all()
