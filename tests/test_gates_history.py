"""The checker of histories against histories made by hand: one that can be, and one for each thing that cannot."""

from dataclasses import replace

import pytest

from gates.history import Entry, Operation, wrong

LOG = [
    Entry("decide", 3, "da", "a", 1, "tea", 10),
    Entry("decide", 4, "db", "b", 2, "coffee", 10),
    Entry("report", 5, "ra", "1", 1, "", 12),
    Entry("decide", 7, "dc", "c", 3, "tea", 15),
]
HISTORY = [
    Operation("decide", "da", "a", 1.0, 2.0, 1, "tea"),
    Operation("decide", "db", "b", 1.5),  # no answer
    Operation("decide", "db", "b", 3.0, 4.0, 2, "coffee"),  # asked again
    Operation("decide", "other", "a", 4.0, 4.5, 1, "tea"),  # by somebody else
    Operation("read", "", "", 2.5, 3.5, 1, "", 3),
    Operation("read", "", "", 4.2, 6.5, 2, "", 5),
    Operation("report", "ra", "1", 5.0, 6.0, 5),
    Operation("decide", "dc", "c", 6.2),  # never answered, and done all the same
    Operation("decide", "dd", "d", 6.3),  # never answered, and not done
    Operation("read", "", "", 7.0, 8.0, 3, "", 7),
]


def test_what_can_be_is_not_wrong() -> None:
    assert wrong(HISTORY, LOG) == []


def test_nothing_happened() -> None:
    assert wrong([], []) == []


def _changed(which: int, **changes: object) -> list[Operation]:
    return [replace(each, **changes) if i == which else each for i, each in enumerate(HISTORY)]  # type: ignore[arg-type]  # by name


def _log(which: int, **changes: object) -> list[Entry]:
    return [replace(each, **changes) if i == which else each for i, each in enumerate(LOG)]  # type: ignore[arg-type]  # by name


BAD: dict[str, tuple[list[Operation], list[Entry], str]] = {
    "a decision is lost": (HISTORY, LOG[1:], "kept"),
    "the end of the log is lost": ([*HISTORY, Operation("decide", "de", "e", 9, 9.5, 4, "tea")], LOG, "kept"),
    "a report is lost": (HISTORY, [LOG[0], LOG[1], LOG[3]], "kept"),
    "another proposal is in the log": (HISTORY, _log(0, word="coffee"), "kept"),
    "a report is elsewhere": (HISTORY, _log(2, sequence=6), "kept"),
    "nobody asked": (HISTORY, [*LOG, Entry("decide", 8, "dx", "x", 4, "tea", 15)], "asked_for"),
    "nobody asked for that under this key": (HISTORY, _log(3, key="dd"), "asked_for"),
    "a report that nobody made": (HISTORY, [*LOG, Entry("report", 8, "rb", "2", 2, "", 15)], "asked_for"),
    "a unit is decided twice": (HISTORY, [*LOG, Entry("decide", 8, "other", "a", 4, "tea", 15)], "once"),
    "a report has two effects": (HISTORY, [*LOG, Entry("report", 8, "ra", "1", 1, "", 15)], "once"),
    "a number is left out": (HISTORY, _log(3, number=4), "once"),
    "a number is used twice": (HISTORY, _log(3, number=2), "once"),
    "places fall": (HISTORY, _log(3, sequence=2), "once"),
    "two answers about a unit": (_changed(3, number=2, word="coffee"), LOG, "agreed"),
    "two proposals for a unit": (_changed(3, word="coffee"), LOG, "agreed"),
    "against the order of time": (_changed(7, asked=0.1, answered=0.2, number=3, word="tea"), LOG, "in_order"),
    "a read goes back": (_changed(9, number=1, place=5), LOG, "forward"),
    "the log is shorter than it was": (_changed(9, place=4), LOG, "forward"),
    "a read lacks an acknowledged decision": (_changed(4, number=0), LOG, "up_to_date"),
    "a read lacks an acknowledged report": (_changed(9, place=4), LOG, "up_to_date"),
    "a read foresees": (_changed(4, number=3), LOG, "up_to_date"),
    "the log's time goes back": (HISTORY, _log(3, at=11), "dated"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_is_wrong(what: str) -> None:
    history, log, rule = BAD[what]
    assert rule in {each.partition(":")[0] for each in wrong(history, log)}
