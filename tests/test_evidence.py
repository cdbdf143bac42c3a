"""Evidence: counts that add, move and keep their total."""

import itertools
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeup import (
    TS,
    UNSEEN,
    Event,
    Evidence,
    InputError,
    LabelError,
    MismatchError,
    Space,
    TSLat,
    TSObs,
    event,
    stream,
)

SPACE = Space(3, 2, contexts=2, outcomes=3, utility=[0, 0.5, 1])

events = st.builds(
    Event,
    context=st.integers(0, 1),
    proposal=st.integers(0, 2),
    implemented=st.integers(UNSEEN, 1),
    outcome=st.integers(UNSEEN, 2),
)


@given(st.lists(events, max_size=30), st.randoms(use_true_random=False), st.integers(1, 4))
def test_merging_in_any_order_and_split_gives_the_same_table_and_posterior(
    log: list[Event], shuffle: Random, parts: int
) -> None:
    whole = Evidence.of(SPACE, log)
    shuffled = list(log)
    shuffle.shuffle(shuffled)
    split = [Evidence.of(SPACE, shuffled[i::parts]) for i in range(parts)]
    merged = sum(split[1:], start=split[0])
    assert merged == whole
    assert merged.total == len(log)
    for policy in (TS(), TSObs(), TSLat()):
        one, other = (policy.posterior(e, stream(5)).sample(stream(6)).value() for e in (whole, merged))
        np.testing.assert_array_equal(one, other)


@given(st.lists(st.tuples(events, events), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_reports_move_decisions_in_any_order_and_the_total_stays(
    log: list[tuple[Event, Event]], shuffle: Random
) -> None:
    """Every decision starts with nothing seen, and ends where its last report puts it."""
    pairs = [
        (Event(first.context, first.proposal), Event(first.context, first.proposal, last.implemented, last.outcome))
        for first, last in log
    ]
    evidence = Evidence.of(SPACE, [before for before, _ in pairs])
    shuffle.shuffle(pairs)
    for before, after in pairs:
        evidence = evidence.move(before, after)
        assert evidence.total == len(pairs)
    assert evidence == Evidence.of(SPACE, [after for _, after in pairs])


def test_every_marginal_is_the_obvious_loop() -> None:
    rng = stream(1)
    counts = rng.integers(0, 5, (2, 3, 3, 4))
    evidence = Evidence(Space(3, 2, contexts=2, outcomes=3, utility=[0, 1, 2], intended=[0, 1, 1]), counts)
    for x, z, a, y in itertools.product(range(2), range(3), range(2), range(3)):
        assert evidence.proposed_outcomes[x, z, y] == sum(counts[x, z, i, y] for i in range(3))
        assert evidence.implemented_outcomes[x, a, y] == sum(counts[x, i, a, y] for i in range(3))
        assert evidence.compliance[x, z, a] == sum(counts[x, z, a, i] for i in range(4))
        assert evidence.latent_outcomes[x, z, y] == counts[x, z, 2, y]
        assert evidence.complied_outcomes[x, z, y] == counts[x, z, [0, 1, 1][z], y]
        assert evidence.seen_outcomes[x] == counts[x, :, :, :3].sum()


def test_replications_side_by_side_are_as_each_alone() -> None:
    rng = stream(2)
    x, z, a, y = (rng.integers(low, high, (7, 4)) for low, high in ((0, 2), (0, 3), (-1, 2), (-1, 3)))
    together = Evidence.empty(SPACE, (4,))
    for t in range(7):
        together = together.record(Event(x[t], z[t], a[t], y[t]))
    for row in range(4):
        alone = Evidence.of(SPACE, [Event(*(int(i[t, row]) for i in (x, z, a, y))) for t in range(7)])
        np.testing.assert_array_equal(together.counts[row], alone.counts)
        np.testing.assert_array_equal(together.at(x[0]).counts[row, 0], alone.counts[x[0, row]])


def test_names_become_indices_and_what_is_left_out_is_unseen() -> None:
    space = Space(["pill", "rest"], ["pill", "rest", "surgery"], contexts=["young", "old"], outcomes=["died", "lived"])
    assert event(space, "rest", context="old") == Event(1, 1, UNSEEN, UNSEEN)
    assert event(space, "pill", "surgery", "lived") == Event(0, 0, 2, 1)
    with pytest.raises(LabelError, match="implemented: got 'leeches', expected one of pill, rest, surgery"):
        event(space, "pill", "leeches")


def test_a_report_cannot_change_the_proposal_or_move_what_is_not_there() -> None:
    evidence = Evidence.of(SPACE, [Event(0, 1)])
    with pytest.raises(MismatchError, match="context or the proposal"):
        evidence.move(Event(0, 1), Event(0, 2, 1, 1))
    with pytest.raises(MismatchError, match="no decision is known as"):
        evidence.move(Event(0, 1, 1, 1), Event(0, 1, 0, 1))
    assert evidence == Evidence.of(SPACE, [Event(0, 1)])


def test_evidence_of_different_spaces_does_not_add() -> None:
    with pytest.raises(MismatchError, match="two different spaces"):
        Evidence.empty(SPACE) + Evidence.empty(Space(2))


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (np.full((1, 2, 3, 3), -1), r"counts: got -1 at \[0, 0, 0, 0\], expected counts of at least 0"),
        (np.full((1, 2, 3, 3), np.nan), "counts: got nan"),
        (np.full((1, 2, 3, 3), 0.5), "counts: got 0.5 .* expected whole numbers"),
        (np.zeros((1, 2, 2, 3)), r"counts: got shape \(1, 2, 2, 3\), expected shape \(1, 2, 3, 3\)"),
        ([[1, 2], [3]], "counts: .* rectangular"),
    ],
)
def test_bad_counts_are_refused(counts: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Evidence(Space(2), counts)  # type: ignore[arg-type]  # as a user may


def test_indices_out_of_range_are_refused_and_nothing_changes() -> None:
    evidence = Evidence.empty(SPACE)
    for bad in (Event(2, 0), Event(0, 3), Event(0, 0, 2), Event(0, 0, 0, 3), Event(-1, 0), Event(0, 0, -2)):
        with pytest.raises(LabelError, match="expected an index from 0 to"):
            evidence.record(bad)
    assert evidence.total == 0


def test_the_table_cannot_be_changed_behind_its_back() -> None:
    mine = np.zeros((2, 3, 3, 4), dtype=np.int64)
    evidence = Evidence(SPACE, mine)
    mine += 1
    assert evidence.total == 0
    with pytest.raises(ValueError, match="read-only"):
        evidence.counts[0] = 1
