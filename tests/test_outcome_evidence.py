"""Evidence of every kind of outcome: whole numbers that add and move, to the bit."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcome_cases import OUTCOMES, codes, events
from takeup import TS, UNSEEN, Event, Evidence, InputError, MismatchError, Number, Space, TSObs, event, stream
from takeup.outcomes import Outcome
from takeup.outcomes.grid import MOST_STEPS

every_kind = pytest.mark.parametrize("outcome", OUTCOMES.values(), ids=list(OUTCOMES))


def of(outcome: Outcome) -> Space:
    return Space(3, 2, contexts=2, outcomes=outcome, intended=[0, 1, 1]) if outcome.kind != "level" else LEVELS


LEVELS = Space(3, 2, contexts=2, outcomes=3, utility=[0, 0.4, 1], intended=[0, 1, 1])


@every_kind
@given(st.data(), st.randoms(use_true_random=False), st.integers(1, 4))
@settings(max_examples=20)
def test_merging_in_any_order_and_split_gives_the_same_bits(
    outcome: Outcome, data: st.DataObject, shuffle: Random, parts: int
) -> None:
    """The table, and what is believed and drawn from it."""
    space = of(outcome)
    log = data.draw(st.lists(events(space), max_size=20))
    whole = Evidence.of(space, log)
    shuffled = list(log)
    shuffle.shuffle(shuffled)
    split = [Evidence.of(space, shuffled[i::parts]) for i in range(parts)]
    merged = sum(split[1:], start=split[0])
    one_by_one = Evidence.empty(space)
    for each in shuffled:
        one_by_one = one_by_one.record(each)
    assert merged == one_by_one == whole
    assert merged.counts.tobytes() == whole.counts.tobytes()
    assert merged.total == len(log)
    for policy in (TS(), TSObs()):
        one, other = (policy.posterior(each, stream(5)).sample_values(stream(6)) for each in (whole, merged))
        assert one.tobytes() == other.tobytes()


@every_kind
@given(st.data(), st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_reports_move_decisions_and_move_them_back(outcome: Outcome, data: st.DataObject, shuffle: Random) -> None:
    """Pending, then an outcome, then a correction, the reports of all decisions in any order; and all of it undone."""
    space = of(outcome)
    log = data.draw(st.lists(st.tuples(events(space), codes(outcome)), min_size=1, max_size=6))
    moves: list[tuple[int, Event, Event]] = []
    for i, (first, corrected) in enumerate(log):
        stages = [
            Event(first.context, first.proposal),
            first,
            Event(first.context, first.proposal, first.implemented, corrected),
        ]
        moves += [(i, *pair) for pair in pairwise(stages)]
    order = [i for i, _, _ in moves]
    shuffle.shuffle(order)
    waiting = {i: [pair for j, *pair in moves if j == i] for i in order}
    start = now = Evidence.of(space, [Event(first.context, first.proposal) for first, _ in log])
    done = []
    for i in order:
        before, after = waiting[i].pop(0)
        now = now.move(before, after)
        assert now.total == len(log)
        done.append((before, after))
    end = [Event(first.context, first.proposal, first.implemented, last) for first, last in log]
    assert now.counts.tobytes() == Evidence.of(space, end).counts.tobytes()
    for before, after in reversed(done):
        now = now.move(after, before)
    assert now.counts.tobytes() == start.counts.tobytes()


@every_kind
def test_replications_side_by_side_are_those_one_by_one(outcome: Outcome) -> None:
    space, rng = of(outcome), stream(3)
    contexts, proposals, actions, size = space.shape
    many = 6
    side = Evidence.empty(space, (many,))
    alone = [Evidence.empty(space) for _ in range(many)]
    for _ in range(5):
        x, z = rng.integers(contexts, size=many), rng.integers(proposals, size=many)
        a, y = rng.integers(-1, actions, size=many), rng.integers(-1, size, size=many)
        side = side.record(Event(x, z, a, y))
        alone = [
            each.record(Event(*map(int, cell))) for each, cell in zip(alone, zip(x, z, a, y, strict=True), strict=True)
        ]
    np.testing.assert_array_equal(side.counts, np.stack([each.counts for each in alone]))


@every_kind
def test_a_move_from_where_no_decision_is_is_refused(outcome: Outcome) -> None:
    space = of(outcome)
    before, after = Event(0, 0, 0, 0), Event(0, 0, 0, outcome.size - 1)
    with pytest.raises(MismatchError, match="no decision is known as"):
        Evidence.of(space, [after]).move(before, after)


def test_evidence_of_two_kinds_does_not_add() -> None:
    with pytest.raises(MismatchError, match="evidence from two different spaces does not add"):
        Evidence.empty(Space(2, outcomes=Number(0, 9))) + Evidence.empty(Space(2, outcomes=Number(0, 8)))


def test_ten_million_decisions_on_the_finest_grid_fit_unless_all_are_at_its_very_end() -> None:
    """The greatest sum is of k^2, and k <= 1,000,000: 2^63 - 1 holds 9,223,372 decisions at the very end.

    Spread evenly k^2 is a third of that on average: 27.6 million fit in every cell (x, z, a). One more decision than
    fits is refused, in words; nothing wraps around unseen, as the first sum that is too large is below zero.
    """
    number = Number(0, 1_000_000, 1)
    assert number.size - 1 == MOST_STEPS == 1_000_000
    space = Space(2, outcomes=number)
    cells, sums = number.parts_of(np.arange(number.size))
    counts = np.zeros_like(Evidence.empty(space).counts)
    counts[0, 0, 0, :-1] = 10 * np.append(np.bincount(cells), sums.sum(axis=0))
    ten_million = Evidence(space, counts)
    assert ten_million.total == 10_000_010
    assert ten_million.counts.max() == 10 * sum(k * k for k in range(1_000_001))
    twice = ten_million + ten_million
    assert (twice.counts[0, 0, 0] == 2 * ten_million.counts[0, 0, 0]).all()
    most = (2**63 - 1) // 10**12
    assert most == 9_223_372
    at_the_end = event(space, 0, 0, 1_000_000)
    counts = np.zeros_like(counts)
    counts[0, 0, 0] = most * number.amounts(at_the_end.outcome)
    full = Evidence(space, counts)
    pending = full.record(event(space, 0, 0))
    words = r"counts: got sums that are larger, expected sums of at most 2\^63 - 1; a larger step"
    with pytest.raises(InputError, match=words):
        full.record(at_the_end)
    with pytest.raises(InputError, match=words):
        full + full
    with pytest.raises(InputError, match=words):
        pending.move(event(space, 0, 0), at_the_end)


@every_kind
def test_nothing_else_comes_near_the_limit(outcome: Outcome) -> None:
    """A hundred million decisions fit: no amount is above 9.2e18 / 1e8. Of logarithms that is so on any grid."""
    if outcome.kind != "level" and outcome is not OUTCOMES["many steps"]:
        _, sums = outcome.parts_of(np.arange(outcome.size))
        assert int(sums.max()) <= (2**63 - 1) // 10**8
    if outcome is OUTCOMES["money"]:
        widest = Number(1e-3, 1e3, 1e-3, scale="log", utility=((1, 0), (2, 1)))
        logs = widest.amounts(widest.size - 1)[widest.cells + 2 : -1]
        assert int(logs.max()) < (2**63 - 1) // 10**8


def test_unseen_slots_count_decisions_of_every_kind() -> None:
    """A pending outcome still informs compliance."""
    for outcome in list(OUTCOMES.values())[1:]:
        space = Space(2, outcomes=outcome)
        evidence = Evidence.of(space, [Event(0, 0), Event(0, 1, 1), Event(0, 1, UNSEEN, 0), Event(0, 1, 1, 0)])
        assert evidence.total == 4
        assert evidence.compliance.tolist() == [[[0, 0], [0, 2]]]
        assert evidence.seen_outcomes.tolist() == [2]
        assert outcome.seen(evidence.latent_outcomes).tolist() == [[0, 1]]
        assert outcome.seen(evidence.complied_outcomes).tolist() == [[0, 1]]
