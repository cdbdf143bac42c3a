"""The tipping point: intervals over what is promised, where a conclusion falls, and what the data say of it."""

import numpy as np
import pytest

from adaptive_trials import trials
from takeup import Log, Space, charts
from takeup.analysis import analyse, bounded_effect, effect, tipping
from takeup.analysis.bounded_family import Compared
from takeup.analysis.headline import beside
from takeup.analysis.pictures import tipping_pictures
from takeup.analysis.tipping import difference
from takeup.errors import InputError
from takeup.space import UNSEEN
from test_analysis_bounded import differing, single


def concluded(log: Log, promise: float) -> bool:
    """Whether the new one is better for sure."""
    return bounded_effect(log, "new", "usual", promise).low > 0


def test_the_conclusion_falls_where_it_is_said_to() -> None:
    """Just below it holds and at it does not; points are what `bounded_effect` says, the last intention to treat."""
    log = single(trials(differing(800, 0.6, 0.15, 0.08), 1, seed=2, even=True))
    found = tipping(log, "new", "usual")
    assert found.falls_at is not None
    assert found.falls_at > 0
    assert concluded(log, found.falls_at - 1e-5)
    assert not concluded(log, found.falls_at + 1e-5)
    for point in (found.points[0], found.points[9], found.points[-1]):
        told = bounded_effect(log, "new", "usual", point.promise)
        assert (point.value, point.low, point.high) == (told.value, told.low, told.high)
    assert found.points[0].promise == found.points[0].bias == found.points[-1].bias == 0
    said = found.sentences()[0]
    assert said.startswith("From what was offered alone nothing is concluded. With a promise about those who refuse")
    assert f"differ by less than {100 * found.falls_at:.1f} points without it" in said
    assert said.endswith("That is the tipping point.")
    assert not concluded(log, 10.0)
    assert [point["promise"] for point in found.plain()["points"]] == [point.promise for point in found.points]


def test_a_conclusion_may_hold_for_all_or_for_none() -> None:
    """A large effect holds by intention to treat; none is not found even where all are alike."""
    large, none = (single(trials(differing(800, 0.6, 0.0, effect), 1, seed=3, even=True)) for effect in (0.5, 0.0))
    found = tipping(large, "new", "usual")
    assert found.falls_at is None
    assert found.sentences()[0].endswith("without any promise about those who refuse, and with every promise.")
    assert (
        "offering new rather than usual raises the share whose outcome is well, which is better"
        in (found.sentences()[0])
    )
    nothing = tipping(none, "new", "usual", [0.0, 0.1])
    assert nothing.falls_at == 0
    assert nothing.sentences()[0].startswith("Nothing is concluded of offering it, with or without a promise")
    back = tipping(large, "usual", "new", [0.0, 0.05])
    assert [point.conclusion for point in back.points] == [-1, -1]
    assert [point.promise for point in back.points] == [0.0, 0.05]


def test_without_a_promise_it_says_what_intention_to_treat_does() -> None:
    """Two sites that differ much, and rare outcomes: where nothing is moved ends are those of the effect, to the digit.

    In the first intention to treat concludes as it tells the sites apart: usual 2 and 42 of 50, new 9 and 48 of 50.
    """
    sites = np.array([[[[48, 2], [0, 0]], [[8, 2], [33, 7]]], [[[8, 42], [0, 0]], [[0, 10], [2, 38]]]])
    rare = np.array([[[[50, 0], [0, 0]], [[100, 5], [42, 3]]]])
    for counts, share, concluded in ((sites, 0.5, 1), (rare, 0.75, 0)):
        space = Space(["usual", "new"], outcomes=["no", "yes"], contexts=len(counts))
        log = Log.from_counts(space, counts, probability=[1 - share, share])
        found, by_offer = tipping(log, "new", "usual"), effect(log, "new", "usual")
        assert found.unpromised == int(by_offer.low > 0) - int(by_offer.high < 0) == concluded
        nothing_moved = bounded_effect(log, "new", "usual", 1.0)
        assert (nothing_moved.low, nothing_moved.high) == (by_offer.low, by_offer.high)
        assert found.points[-1].conclusion == concluded
        assert found.sentences()[0].startswith("That offering" if concluded else ("From what", "Nothing"))


def test_the_data_say_by_how_much_takers_and_refusers_differ() -> None:
    """(Z - R) / c is near the truth of .1 and its interval holds it in 93 % less two errors of 300 trials."""
    log = trials(differing(500, 0.6, 0.1), 300, seed=4, floor=0.1)
    shown = difference(Compared.of(log, "new", "usual", None, None), 1, 0, 0.95)
    held = (shown.low <= 0.1) & (shown.high >= 0.1)
    assert held.mean() >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / 300)
    assert shown.value.mean() == pytest.approx(0.1, abs=4 * shown.value.std() / np.sqrt(300))
    (told,) = tipping(single(log), "new", "usual", [0.0]).differences
    assert (told.action, told.only, told.whatever) == ("usual", "usual", "new")
    assert told.value == pytest.approx(float(shown.value[0]), abs=1e-9)


def test_a_promise_that_the_data_contradict_is_said_to_be_so() -> None:
    """Takers are better by .4 without the treatment: 2,000 people show that."""
    log = single(trials(differing(2_000, 0.5, 0.4, 0.1), 1, seed=5, even=True))
    found = tipping(log, "new", "usual")
    assert 0.2 < found.least_promise < 0.4
    assert [point.contradicted for point in found.points] == [
        point.promise < found.least_promise for point in found.points
    ]
    assert found.points[-1].promise > found.least_promise
    assert any("contradict a promise below" in each for each in found.leading())
    alike = tipping(single(trials(differing(2_000, 0.5, 0.0, 0.1), 1, seed=5, even=True)), "new", "usual")
    assert alike.least_promise == 0
    assert not any("contradict" in each for each in alike.sentences())


def test_nothing_is_said_where_intervals_are_withheld_and_wrong_arguments_are_named() -> None:
    log = single(trials(differing(100, 0.6, 0.0), 1, seed=6))
    found = tipping(Log.of(log.space, log.proposal, log.probability, outcome=log.outcome), 1, 0)
    assert found.points == ()
    assert found.differences == ()
    assert "cannot be told, as of 0 decisions" in found.sentences()[0]
    assert found.plain()["withheld"]
    full = single(trials(differing(100, 1.0, 0.0), 1, seed=6, even=True))
    assert [point.promise for point in tipping(full, 1, 0).points] == [0.0]
    with pytest.raises(InputError, match="promise"):
        tipping(full, 1, 0, [-0.1])


def test_charts_of_tipping_points_are_drawn() -> None:
    """With the marks that there are: where it falls, what is contradicted, or neither."""
    log = single(trials(differing(800, 0.6, 0.15, 0.08), 1, seed=2, even=True))
    found = tipping(log, "new", "usual", [0.0, 0.04, 0.08, 0.12])
    drawn = charts.svg(charts.over_difference(found.records(), falls_at=found.falls_at, least_promise=0.02))
    plain = charts.svg(charts.over_difference(found.records()))
    assert "falls at" in drawn
    assert "contradicted by the data" in drawn
    assert "falls at" not in plain
    assert "contradicted" not in plain


def counted(known: tuple[int, int], others: tuple[int, int]) -> Log:
    """How many of 100 are well with each offer who took it, and of 40 of whom it is not known what they took."""
    z, a, y = (
        np.concatenate(parts)
        for parts in zip(
            *(
                (np.full(size, arm), np.full(size, arm if size == 100 else UNSEEN), np.arange(size) < well)
                for size, wells in ((100, known), (40, others))
                for arm, well in enumerate(wells)
            ),
            strict=True,
        )
    )
    space = Space(["usual", "new"], outcomes=["ill", "well"])
    return Log.of(space, z, [0.5, 0.5], implemented=a, outcome=y.astype(int))


def test_the_first_lines_agree_where_it_is_not_known_of_all_what_they_took() -> None:
    """70 to 50 of 100 concludes and 80 to 70 of 140 does not; 58 to 50 of 100 does not and 93 to 65 of 140 does."""
    few = analyse(counted((50, 70), (20, 10)))
    assert few.primary[0].estimate.low < 0 < few.tippings[1].unpromised
    (said,) = beside(few)
    assert said.startswith(
        "new - usual: By intention to treat, of all 280 whose outcome is known, nothing is concluded. Among the 200 of"
        " whom it is also known what they took it would follow that offering new rather than usual raises"
    )
    assert "follows from what was offered" not in said
    assert tipping_pictures(few)[0].figure.caption.endswith(
        "Right: intention to treat, of the 200 of whom it is known what they took."
    )
    many = analyse(counted((50, 58), (15, 35)))
    assert many.primary[0].estimate.low > many.tippings[1].unpromised == 0
    (said,) = beside(many)
    assert "follows by intention to treat, of all 280 whose outcome is known, without any promise" in said
    assert "Among the 200 of whom it is also known what they took it does not follow without one." in said
    assert "nothing is concluded" not in said
    alone = tipping(counted((50, 70), (20, 10)), "new", "usual")
    assert "follows from what was offered, without any promise" in alone.sentences()[0]
