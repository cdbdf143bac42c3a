"""Outcomes of every kind: what people give becomes a code and back, and a code becomes what a decision adds."""

import json
import re
import tracemalloc
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcome_cases import OUTCOMES, codes
from takeup import UNSEEN, Count, InputError, Number, Space, Time
from takeup.outcomes import Levels, Outcome, binned, described, outcome_of
from takeup.outcomes.number import LOG_STEPS, WORTH_STEPS

every_kind = pytest.mark.parametrize("outcome", OUTCOMES.values(), ids=list(OUTCOMES))
no_levels = pytest.mark.parametrize(
    "outcome", [each for each in OUTCOMES.values() if not isinstance(each, Levels)], ids=[*OUTCOMES][1:]
)


@every_kind
@given(st.data())
@settings(max_examples=30)
def test_every_outcome_is_written_and_read_again(outcome: Outcome, data: st.DataObject) -> None:
    """As JSON would carry it; and what people read of two outcomes differs."""
    code, other = data.draw(codes(outcome)), data.draw(codes(outcome))
    assert outcome.code(json.loads(json.dumps(outcome.plain(code)))) == code
    assert (outcome.text(code) == outcome.text(other)) == (code == other)


@no_levels
def test_every_kind_is_written_and_read_again(outcome: Outcome) -> None:
    again = outcome_of(json.loads(json.dumps(described(outcome))))
    assert again == outcome
    assert hash(again) == hash(outcome)
    space = Space(["a", "b"], 3, contexts=2, outcomes=outcome, intended=[0, 2])
    assert Space(**json.loads(json.dumps(space.described()))) == space
    assert space.differences(Space(["a", "b"], 3, contexts=2, outcomes=outcome, intended=[0, 2])) == []
    assert space.differences(Space(["a", "b"], 3, contexts=2, intended=[0, 2])) == ["outcomes"]


def test_what_is_reported_is_rounded_to_the_nearest_point_as_people_write_it() -> None:
    """On a grid of tenths 0.3 is three steps above 0, though 3 * 0.1 is not 0.3 in binary, and 0.25 is 0.2."""
    tenths = Number(0, 1, 0.1)
    for same in (0.3, "0.3", np.float32(0.3), np.float16(0.3), Decimal("0.3"), 0.1 + 0.2):
        assert tenths.plain(tenths.code(same)) == 0.3
    assert [tenths.plain(tenths.code(text)) for text in ("0.25", "0.35", " 0.349 ", "1e-1")] == [0.2, 0.4, 0.3, 0.1]
    assert Number(60, 220).plain(Number(60, 220).code(np.int64(120))) == 120


@given(st.integers(0, 10_000), st.decimals(-0.5, 0.5, places=6), st.sampled_from(["0.01", "0.25", "3", "0.7"]))
def test_rounding_is_to_the_nearest_in_exact_arithmetic(k: int, off: Decimal, step: str) -> None:
    outcome = Number(-7, float(-7 + 10_000 * Decimal(step)), float(step))
    number = -7 + (k + off) * Decimal(step)
    code = outcome.code(str(number))
    assert abs(Fraction(number) + 7 - code * Fraction(step)) <= Fraction(step) / 2
    assert 0 <= code < outcome.size


def test_rounding_is_the_same_whatever_precision_a_program_has_for_its_decimals() -> None:
    """With three digits the end at 1,251.5 would be 1,250, and a step of 0.1234 would be 0.123."""
    with localcontext() as context:
        context.prec = 3
        assert Number(0, 1_251, 1).code("1251.5") == 1_251
        assert Number(0, 1.234, 0.1234).shown.digits == 5


def test_half_a_step_beyond_either_end_is_rounded_and_more_is_refused_with_the_value() -> None:
    for steps in (3, 4):  # the last point's number is odd, and even
        outcome = Number(0, steps, 1, "mg")
        assert outcome.code("-0.5") == 0
        assert outcome.code(f"{steps}.5") == steps
        for beyond in ("-0.500001", f"{steps}.500001"):
            with pytest.raises(InputError, match=rf"outcome: got {beyond} mg, expected a number from 0 to {steps} mg"):
                outcome.code(beyond)


NONSENSE: list[object] = [
    float("nan"),
    float("inf"),
    "nan",
    "sNaN",
    "-Infinity",
    "",
    "about 3",
    True,
    np.bool_(True),
    None,
    [3],
    (3,),
    np.array(3.0),
    {"time": 3, "when": 4},
    {"events": 3},
    {},
    b"3",
    3j,
    10**400,
    10**5000,
    -(10**5000),
    "9" * 5000,
    "1e999999999",
    "-1e999999999",
    1e300,
    -1,
    "x" * 10_000,
    object(),
]


@every_kind
@pytest.mark.parametrize("given", NONSENSE, ids=[str(i) for i in range(len(NONSENSE))])
def test_what_is_no_outcome_is_refused_in_a_few_words(outcome: Outcome, given: object) -> None:
    if given == -1 and isinstance(outcome, Number) and outcome.low < 0:
        given = -1e9
    with pytest.raises(InputError) as refused:
        outcome.code(given)
    if not isinstance(outcome, Levels):
        assert len(str(refused.value)) < 400


REMEDIES = {
    "12,5": "write a decimal point",
    "1,180": "write a decimal point",
    "120 mmHg": "give the number alone",
    "16kPa": "give the number alone",
    "45+ days": "give the number alone",
    "NA": "declare it missing",
    "": "declare it missing",
    float("nan"): "declare it missing",
    None: "declare it missing",
}


@pytest.mark.parametrize("given", REMEDIES)
def test_what_people_often_give_instead_of_a_number_is_answered_with_what_to_do(given: object) -> None:
    for outcome in (Number(60, 220, 1, "mmHg"), Count(300), Time(90, "days")):
        with pytest.raises(
            InputError, match=f"^outcome: got {re.escape(repr(given))}, expected .*; .*{REMEDIES[given]}"
        ):
            outcome.code(given)


def test_counts_are_whole_and_are_not_rounded() -> None:
    count = Count(30, unit="falls")
    for same in (3, 3.0, "3", " 3 ", "3.0", np.int32(3), np.float32(3), Decimal(3)):
        assert count.code(same) == 3
    for other in (2.5, "2.5", 31, -1):
        with pytest.raises(InputError, match=f"got .*{other}.*, expected a whole number from 0 to 30 falls"):
            count.code(other)
    visits = Count(12, exposure="days", longest=30)
    assert visits.plain(visits.code({"events": 2, "exposure": 14.4})) == {"events": 2, "exposure": 14}
    assert visits.text(visits.code({"events": 2, "exposure": 14})) == "2 in 14 days"
    for bad, words in (
        ({"events": 2, "exposure": 0.5}, "exposure: got 0.5, expected more than 0.5 days, at most 30; who was not"),
        ({"events": -2, "exposure": 5}, "events: got -2, expected a whole number from 0 to 12"),
        ("2/", "exposure: got '', .*; leave it out while it is unknown"),
        ({"events": 2, "exposure": 31}, "exposure: got 31 days, expected a number from 0 to 30 days"),
        (2, "outcome: got 2, expected events and exposure, as in"),
    ):
        with pytest.raises(InputError, match=words):
            visits.code(bad)


def test_times_may_be_censored() -> None:
    time = Time(90, "days")
    for same in ("30+", "30 + ", {"time": 30, "censored": True}, {"time": "30.2", "censored": np.True_}):
        assert time.plain(time.code(same)) == {"time": 30, "censored": True}
    assert time.text(time.code("30+")) == "30+ days"
    assert time.plain(time.code({"time": 0})) == {"time": 0, "censored": False}
    with pytest.raises(InputError, match=r'outcome: got 95 days, .* whoever is watched for longer is "90\+"'):
        time.code(95)
    with pytest.raises(InputError, match=r"outcome: got -1 days, .*; check its digits and its unit"):
        time.code(-1)
    with pytest.raises(InputError, match=r"outcome: got \(45, True\), expected a time, .90\+. or {'time': 90,"):
        time.code((45, True))
    with pytest.raises(InputError, match="censored: got 'yes', expected true or false"):
        time.code({"time": 30, "censored": "yes"})
    watched = Time(90, "days", censored=False)
    assert watched.code("90+") == watched.size - 1
    with pytest.raises(InputError, match=r"outcome: got 30\+, expected a time with its event, or one censored at 90"):
        watched.code("30+")


@every_kind
@given(st.data())
@settings(max_examples=30)
def test_one_decision_adds_the_same_in_a_table_and_alone(outcome: Outcome, data: st.DataObject) -> None:
    several = [UNSEEN, *data.draw(st.lists(codes(outcome), min_size=1, max_size=5))]
    table = outcome.amounts(several)
    assert table.shape == (len(several), outcome.width + 1)
    assert (table[:, : outcome.cells].sum(axis=1) + table[:, UNSEEN] == 1).all()
    for code, row in zip(several, table, strict=True):
        alone = np.zeros(outcome.width + 1, dtype=np.int64)
        for slot, amount in outcome.parts(code):
            assert amount != 0
            alone[slot] += amount
        np.testing.assert_array_equal(alone, row)
        np.testing.assert_array_equal(outcome.amounts(code), row)
    assert outcome.seen(table[:, :-1]).tolist() == [code != UNSEEN for code in several]


@given(st.data())
def test_what_is_added_is_what_the_class_says(data: st.DataObject) -> None:
    """By arithmetic on the number itself, instead of on codes."""
    number = OUTCOMES["money, log and utility"]
    code = data.draw(codes(number))
    y = float(number.plain(code))  # type: ignore[arg-type]  # a number
    k, square, log, log_square, worth = number.amounts(code)[number.cells : -1].tolist()
    assert (k, square, log_square) == (y - 1, (y - 1) ** 2, log**2)
    assert abs(log - LOG_STEPS * np.log(y)) <= 0.5 + 1e-5
    assert abs(worth - WORTH_STEPS * np.interp(y, [1, 100, 1000], [0, 3, 4]) / 4) <= 0.5 + 1e-5
    visits, time = OUTCOMES["count by exposure"], OUTCOMES["time"]
    plain: Any = visits.plain(code % visits.size)
    assert visits.amounts(code % visits.size)[-3:-1].tolist() == [plain["events"], plain["exposure"] / 0.5]
    plain = time.plain(code % time.size)
    assert time.amounts(code % time.size)[-3:-1].tolist() == [not plain["censored"], plain["time"]]


def test_a_worth_half_way_between_two_steps_goes_to_the_lower_one_whatever_rounding_did() -> None:
    """64 is 2^6 and 100,000 / 64 ends on .5: every other point of this utility is half-way."""
    number = Number(0, 64, 1, utility=((0, 0), (64, 64)))
    shifted = Number(0, 64, 1, utility=((0, 0.1), (64, 64.1)))
    exact = [-(-(200_000 * k - 64) // 128) for k in range(65)]
    for each in (number, shifted):
        assert each.amounts(np.arange(65))[:, -2].tolist() == exact


@every_kind
def test_bins_cover_all_outcomes_in_order(outcome: Outcome) -> None:
    cells, _ = outcome.parts_of(np.arange(outcome.size))
    assert set(cells.tolist()) == set(range(outcome.cells))
    if isinstance(outcome, Number | Count | Time):
        bins = outcome.binned
        assert bins.starts[0] == 0
        assert (np.diff(bins.starts) > 0).all()
        np.testing.assert_array_equal(bins.first[1:], outcome_points(outcome)[bins.starts[1:]])
        np.testing.assert_array_equal(bins.last[:-1], outcome_points(outcome)[bins.starts[1:] - 1])
        assert bins.last[-1] == outcome_points(outcome)[-1]


def outcome_points(outcome: Number | Count | Time) -> Any:
    return np.arange(outcome.most + 1.0) if isinstance(outcome, Count) else outcome.grid.points


def test_bins_are_of_equal_width_or_of_equal_ratio() -> None:
    assert np.unique(np.diff(Number(0, 999, 1, bins=10).binned.starts)).tolist() == [100]
    first = Number(1, 10_000, 1, scale="log", bins=4).binned.first
    assert first.tolist() == [1, 10, 100, 1000]


@every_kind
def test_worth_agrees_between_codes_sums_and_ends(outcome: Outcome) -> None:
    """What all outcomes together are worth, from their sums, is the sum of what each is worth; on [0, 1] likewise."""
    worths, gains = outcome.worths, outcome.gains()
    assert (outcome.lowest, outcome.highest) == pytest.approx((worths.min(), worths.max()))
    assert (gains.min(), gains.max()) == (0, 1)
    if outcome.valued:
        some = np.unique(np.linspace(0, outcome.size - 1, 40).astype(int))
        statistic = outcome.amounts(some)[:, :-1]
        step = (outcome.highest - outcome.lowest) / WORTH_STEPS
        np.testing.assert_allclose(outcome.earned(statistic), worths[some], atol=step)
        np.testing.assert_allclose(outcome.gained(statistic.sum(axis=0)), gains[some].sum(), rtol=1e-4)
        assert outcome.gained(statistic).min() == 0
        assert outcome.gained(statistic).max() == 1
    else:
        with pytest.raises(Exception, match=f"the worth of a {outcome.kind} is known through a model alone"):
            outcome.earned(np.zeros((2, outcome.width)))


def test_gains_stay_within_bounds_however_far_from_zero() -> None:
    """A million times the highest of a grid that is far away: exactly a million, and the lowest exactly nothing."""
    for better, high in (("higher", 1e6), ("lower", 0.0)):
        number = Number(1e9 + 0.1, 1e9 + 0.4, 0.1, better=better)  # type: ignore[arg-type]
        statistic = 1_000_000 * number.amounts([0, 3])[:, :-1]
        assert number.gained(statistic).tolist() == [1e6 - high, high]


def test_utilities_are_straight_between_their_knots_and_flat_beyond() -> None:
    number = Number(60, 220, 2, utility=((90, 0.0), (120, 1.0), (160, 0.25)))
    given = np.array([60, 90, 105, 120, 140, 160, 220.0])
    np.testing.assert_allclose(number.worth(given), [0, 0, 0.5, 1, 0.625, 0.25, 0.25])
    assert (number.lowest, number.highest) == (0, 1)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"kind": "number"}, "low is missing"),
    ({"kind": "numbre", "low": 0}, "kind: got 'numbre', expected one of number, count, time"),
    ({"low": 0, "high": 1}, "kind is missing"),
    ({"kind": "number", "low": 0, "high": 1, "stepp": 1}, "did you mean step?"),
    (
        {"kind": "number", "low": 0, "high": 1, "step": 0.3},
        "step: got 0.3, .* 0.0 to 1.0 evenly; it goes 3.33333",
    ),
    ({"kind": "number", "low": 0, "high": 0.1 + 0.2, "step": 0.1}, "to 0.30000000000000004 evenly"),
    ({"kind": "number", "low": 0, "high": 1, "step": 0}, "step: got 0.0, expected a number above 0"),
    ({"kind": "number", "low": 0, "high": 1, "step": 1e-9}, "at most 1,000,000 steps"),
    ({"kind": "number", "low": 0, "high": 1e-300, "step": 1e-306}, "step: got 1e-306, expected at least 1e-09"),
    ({"kind": "number", "low": 1e300, "high": 2e300, "step": 1e300}, "high: got 2e.300, expected a number from -1e.12"),
    ({"kind": "number", "low": 1e12 - 1, "high": 1e12, "step": 0.5}, "expected at least 1"),
    ({"kind": "number", "low": 1, "high": 1}, "high: got 1.0, expected a number above low, which is 1.0"),
    ({"kind": "number", "low": True, "high": 2}, "low: got True, expected one number"),
    ({"kind": "number", "low": [0], "high": 2}, "low: got .0., expected one number"),
    ({"kind": "number", "low": "0", "high": 2}, "low: got '0', expected numbers"),
    ({"kind": "number", "low": None, "high": 2}, "low: got nan, expected finite numbers"),
    ({"kind": "number", "low": 0, "high": 2, "scale": "log"}, "low: got 0, expected a number above 0"),
    ({"kind": "number", "low": 0, "high": 2, "better": "more"}, "better: got 'more', expected one of higher, lower"),
    ({"kind": "number", "low": 0, "high": 2, "bins": 1001}, "bins: got 1001"),
    ({"kind": "number", "low": 0, "high": 2, "unit": "m\n"}, "unit: got"),
    ({"kind": "number", "low": 0, "high": 2, "utility": 5}, "utility: got 5, expected a list of pairs"),
    ({"kind": "number", "low": 0, "high": 2, "utility": "ab"}, "utility: got 'ab', expected a list of pairs"),
    ({"kind": "number", "low": 0, "high": 2, "utility": [[0, 1]]}, "at least two pairs"),
    ({"kind": "number", "low": 0, "high": 2, "utility": [0, 1]}, "at least two pairs"),
    ({"kind": "number", "low": 0, "high": 2, "utility": [[0, 1], [1]]}, "utility"),
    ({"kind": "number", "low": 0, "high": 2, "utility": [[0, 1], [3, 2]]}, "pairs whose numbers rise"),
    ({"kind": "number", "low": 0, "high": 2, "utility": [[0, 1], [1e-300, 2]]}, "rise by a step of 1 or more"),
    ({"kind": "number", "low": 0, "high": 2, "utility": [[0, 1], [2, 1]]}, "different worths"),
    ({"kind": "number", "low": 0, "high": 2, "utility": [[0, 1], [2, 1e308]]}, "different worths, at most 1e.12"),
    (
        {"kind": "number", "low": 0, "high": 500, "utility": [[i, i] for i in range(101)]},
        "101 pairs, expected at most 100",
    ),
    ({"kind": "count", "most": 0}, "most: got 0"),
    (
        {"kind": "count", "most": 10, "longest": 90},
        "exposure: got none, expected a unit where longest or step is given",
    ),
    ({"kind": "count", "most": 10**6, "exposure": "days", "longest": 9}, "at most 2,000,001 combinations"),
    (
        {"kind": "count", "most": 10, "exposure": "days"},
        "longest: got 1, .* one step of 1; say how long",
    ),
    ({"kind": "count", "most": 10, "exposure": "days", "longest": -1}, "longest: got -1, expected one number above 0"),
    ({"kind": "time", "longest": 0}, "longest: got 0, expected one number above 0"),
    ({"kind": "time", "longest": "90"}, "longest: got '90', expected numbers; texts, true and false are none"),
    ({"kind": "levels"}, "kind: got 'levels', .*; levels are a list of their names"),
    ({"kind": "time", "longest": 9, "censored": 1}, "censored: got 1, expected true or false"),
]


@pytest.mark.parametrize(("description", "words"), BAD, ids=[str(i) for i in range(len(BAD))])
def test_a_description_of_no_outcome_is_refused(description: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        outcome_of(description)


def test_levels_and_others_say_what_they_are_worth_in_their_own_way() -> None:
    with pytest.raises(InputError, match=r"utility: got .*; a number says by itself what it is worth: better="):
        Space(2, outcomes=Number(0, 1), utility=[0, 1])
    with pytest.raises(Exception, match="the outcome is a time, and this needs one with levels"):
        Space(2, outcomes=Time(90)).outcomes  # noqa: B018


def test_specs_from_afar_do_not_fill_the_memory() -> None:
    """Of the largest arrays three are kept, whoever asks for how many."""
    for most in range(200_000, 200_004):
        assert Count(most).worths.size == most + 1
        assert Time(most).worths.size == 2 * most + 2
        assert Number(0, most).worths.size == most + 1
    assert binned._valued.cache_info().currsize == 3


def test_many_levels_take_no_more_memory_than_one_decision() -> None:
    """A table of what each of 5,000 levels adds would take 200 MB."""
    many, few = (Levels(tuple(map(str, range(n))), tuple(map(float, range(n)))) for n in (5_000, 4))
    tracemalloc.start()
    added = many.amounts([3, UNSEEN, 4_999])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
    assert np.argwhere(added).tolist() == [[0, 3], [1, 5_000], [2, 4_999]]
    np.testing.assert_array_equal(few.amounts([3, UNSEEN]), Outcome.amounts(few, [3, UNSEEN]))
