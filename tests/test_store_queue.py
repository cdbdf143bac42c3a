"""What waits to be written: nobody waits for all that another trial was sent at once."""

import threading
from concurrent.futures import Future
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeup.store.fair_queue import MOST_TASKS, MOST_UNITS, Between, FairQueue, Submitted
from takeup.trial import Ask, Batch, Command, Decide, DecideMany
from takeup.trial.ingesting import CHUNK


def command(units: int) -> Command[Any]:
    if units == 1:
        return Decide(ask=Ask(unit="u"))
    return DecideMany(units=tuple(Ask(unit=f"u{i}") for i in range(units)))


SMALL, SOME, LARGE = command(1), command(900), command(MOST_UNITS + 1)


def submitted(trial: str, at: float, what: Command[Any] = SMALL) -> Submitted:
    return Submitted((trial, what), Future(), at)


def test_a_rush_in_one_trial_keeps_others_waiting_for_one_transaction() -> None:
    queue = FairQueue()
    for i in range(10_000):
        queue.put(submitted("rush", i))
    queue.put(submitted("other", 10_000))
    taken, _ = queue.take()
    assert len(taken) == MOST_TASKS
    assert [each.at for each in taken if each.task[0] == "other"] == [10_000]
    assert [each.at for each in taken if each.task[0] == "rush"] == list(range(MOST_TASKS - 1))
    assert len(queue) == 10_001 - MOST_TASKS
    assert queue.oldest == MOST_TASKS - 1


def test_a_large_batch_has_a_transaction_for_itself() -> None:
    queue = FairQueue()
    for i in range(3):
        queue.put(submitted("large", i, LARGE))
    for i in range(3, 6):
        queue.put(submitted("other", i))
    assert [[each.at for each in queue.take()[0]] for _ in range(6)] == [[0], [3], [1], [4], [2], [5]]


def test_chunks_of_batches_have_a_transaction_each_and_let_others_share_it() -> None:
    queue = FairQueue()
    rows = [{"unit": f"u{i}", "outcome": 1} for i in range(2 * CHUNK)]
    batch = Batch.of("b", rows)
    for i in range(2):
        queue.put(submitted("edge", i, batch.chunk(i * CHUNK)))
    for i in range(2, 5):
        queue.put(submitted("other", i))
    assert [[each.at for each in queue.take()[0]] for _ in range(2)] == [[0, 2], [1, 3, 4]]


def test_what_comes_between_transactions_comes_with_the_next() -> None:
    queue, future = FairQueue(), Future[str]()
    queue.put(Between(lambda: "done", future, 0.5))
    queue.put(submitted("a", 1))
    taken, (between,) = queue.take()
    assert (len(taken), len(queue), queue.oldest) == (1, 0, None)
    between.run()
    assert future.result() == "done"


def test_one_that_is_closed_takes_nothing_and_gives_what_it_has() -> None:
    queue = FairQueue()
    assert queue.put(submitted("a", 1))
    assert queue.close()
    assert not queue.close()
    assert not queue.put(submitted("a", 2))
    assert [each.at for each in queue.take()[0]] == [1]
    assert queue.take() == ([], [])


def test_whoever_takes_waits_until_there_is_something() -> None:
    queue, found = FairQueue(), list[float]()
    waiting = threading.Thread(target=lambda: found.extend(each.at for each in queue.take()[0]))
    waiting.start()
    queue.put(submitted("a", 7))
    waiting.join(60)
    assert found == [7]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([SMALL, SOME, LARGE])), max_size=40))
def test_all_are_taken_once_in_the_order_of_their_trial(items: list[tuple[str, Command[Any]]]) -> None:
    queue, found = FairQueue(), dict[str, list[float]]()
    for at, (trial, what) in enumerate(items):
        queue.put(submitted(trial, at, what))
    while len(queue):
        taken, _ = queue.take()
        assert len(taken) == 1 or sum(each.units for each in taken) <= MOST_UNITS
        for each in taken:
            found.setdefault(each.task[0], []).append(each.at)
    wanted = dict[str, list[float]]()
    for at, (trial, _) in enumerate(items):
        wanted.setdefault(trial, []).append(at)
    assert found == wanted


@pytest.mark.parametrize(("what", "units"), [(SMALL, 1), (SOME, 900)])
def test_a_command_counts_for_its_units(what: Command[Any], units: int) -> None:
    assert submitted("a", 0, what).units == units
