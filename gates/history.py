"""What clients saw, beside the log that was left in the end: a checker that knows nothing of what it checks.

An operation has the time when it was asked for and the time when its answer came, on one clock. Without an answer it
may have taken effect or not, at any time since. Asked again under the same key it is one operation with one effect.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

NEVER = float("inf")
Kind = Literal["decide", "report", "read"]


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that a client asked for.

    Attributes:
        kind: a decision for a unit, a report on a decision, or how far the log is.
        key: under which it is asked again; empty for what is read.
        about: the unit that needs a decision, or the number of the decision that is reported on.
        asked: when.
        answered: when the answer came; infinite where none did.
        number: the decision's number, the report's place in the log, or how many decisions were read.
        word: the proposal; empty for the others.
        place: how far the log was, where that was read.
    """

    kind: Kind
    key: str
    about: str
    asked: float
    answered: float = NEVER
    number: int = 0
    word: str = ""
    place: int = 0

    @property
    def done(self) -> bool:
        """Whether its answer came."""
        return self.answered < NEVER


@dataclass(frozen=True, slots=True)
class Entry:
    """A decision or a report in the log.

    Attributes:
        kind: which.
        sequence: its place in the log.
        key: under which it was asked for.
        about: the unit, or the number of the decision.
        number: the decision's number.
        word: the proposal.
        at: the time that the log gives it.
    """

    kind: Kind
    sequence: int
    key: str
    about: str
    number: int
    word: str = ""
    at: int = 0


def wrong(history: Sequence[Operation], log: Sequence[Entry]) -> list[str]:
    """All that cannot be, in words; nothing where all is well."""
    rules = (kept, once, asked_for, agreed, in_order, forward, up_to_date, dated)
    return [f"{rule.__name__}: {each}" for rule in rules for each in rule(history, log)]


def kept(history: Sequence[Operation], log: Sequence[Entry]) -> list[str]:
    """What was acknowledged is in the log, as it was acknowledged."""
    decided = {(each.number, each.about, each.word) for each in log if each.kind == "decide"}
    reported = {(each.sequence, each.about) for each in log if each.kind == "report"}
    lost = [each for each in _done(history, "decide") if (each.number, each.about, each.word) not in decided]
    lost += [each for each in _done(history, "report") if (each.number, each.about) not in reported]
    return [f"{each.kind} {each.number} of {each.about} was acknowledged and is not in the log" for each in lost]


def asked_for(history: Sequence[Operation], log: Sequence[Entry]) -> list[str]:
    """Nothing is in the log that nobody asked for."""
    known = {(each.kind, each.key, each.about) for each in history}
    made = [each for each in log if (each.kind, each.key, each.about) not in known]
    return [f"{each.kind} of {each.about} under {each.key!r}, which nobody asked for" for each in made]


def once(_: Sequence[Operation], log: Sequence[Entry]) -> list[str]:
    """A unit has one decision, a number one unit, a key one effect; numbers and places rise."""
    found = [f"{what} {n} times" for what, n in Counter((e.kind, e.about) for e in log).items() if n > 1]
    found += [f"key {key!r} {n} times" for key, n in Counter(each.key for each in log).items() if n > 1]
    numbers = [each.number for each in log if each.kind == "decide"]
    if numbers != list(range(1, len(numbers) + 1)):
        found.append(f"the numbers of {len(numbers)} decisions are not 1, 2, .., {len(numbers)}")
    places = [each.sequence for each in log]
    if any(later <= earlier for earlier, later in pairwise(places)):
        found.append("places in the log do not rise")
    return found


def agreed(history: Sequence[Operation], _: Sequence[Entry]) -> list[str]:
    """Whoever asks about a unit, or again under a key, gets one answer."""
    answers: defaultdict[tuple[str, str], set[tuple[int, str]]] = defaultdict(set)
    for each in history:
        if each.done and each.kind != "read":
            answers[each.kind, each.about].add((each.number, each.word))
    return [f"{what} got {sorted(said)}" for what, said in answers.items() if len(said) > 1]


def in_order(history: Sequence[Operation], log: Sequence[Entry]) -> list[str]:
    """What was answered before something else was asked for comes before it in the log."""
    spans = _spans(history)
    found, latest = [], (-NEVER, "")
    for each in log:
        asked, answered = spans.get((each.kind, each.key), (-NEVER, NEVER))
        if latest[0] > answered:
            found.append(f"{each.key!r} was answered before {latest[1]!r} was asked for, and comes after it")
        latest = max(latest, (asked, each.key))
    return found


def forward(history: Sequence[Operation], log: Sequence[Entry]) -> list[str]:
    """A read never shows less than one that was answered before it was asked for, nor more than was asked for."""
    del log
    found, most = [], [0, 0]
    needed: dict[int, tuple[int, int]] = {}
    reads = [each for each in history if each.kind == "read" and each.done]
    for _, comes, i in _moments(reads):
        each = reads[i]
        if comes:
            if each.number < needed[i][0] or each.place < needed[i][1]:
                found.append(f"a read showed {each.number} decisions after one that had shown {needed[i][0]}")
            most = [max(most[0], each.number), max(most[1], each.place)]
        else:
            needed[i] = (most[0], most[1])
    return found


def up_to_date(history: Sequence[Operation], log: Sequence[Entry]) -> list[str]:
    """A read shows all that was acknowledged before it was asked for, and nothing that nobody had asked for yet."""
    spans = _spans(history)
    units = {each.key: each.about for each in history if each.kind == "decide"}
    first: dict[str, float] = {}
    for (kind, key), (asked, _) in spans.items():
        if kind == "decide":
            first[units[key]] = min(asked, first.get(units[key], NEVER))
    done = [each for each in history if each.done]
    number = place = 0
    found: list[str] = []
    needed: dict[int, tuple[int, int]] = {}
    begun, wanted = sorted(first.values()), 0
    for at, comes, i in _moments(done):
        each = done[i]
        while wanted < len(begun) and begun[wanted] <= at:
            wanted += 1
        if not comes:
            needed[i] = (number, place)
        elif each.kind == "decide":
            number = max(number, each.number)
        elif each.kind == "report":
            place = max(place, each.number)
        elif each.number < needed[i][0] or each.place < needed[i][1]:
            found.append(
                f"a read showed {each.number} decisions and {each.place} events after {needed[i]} had been told"
            )
        elif each.number > wanted:
            found.append(f"a read showed {each.number} decisions when {wanted} had been asked for")
    del log
    return found


def dated(_: Sequence[Operation], log: Sequence[Entry]) -> list[str]:
    """The log's time never goes back."""
    return [f"event {b.sequence} is {a.at - b.at} before event {a.sequence}" for a, b in pairwise(log) if b.at < a.at]


def _done(history: Iterable[Operation], kind: Kind) -> list[Operation]:
    return [each for each in history if each.kind == kind and each.done]


def _spans(history: Iterable[Operation]) -> dict[tuple[str, str], tuple[float, float]]:
    """When each key was first asked for, and when it was first answered."""
    spans: dict[tuple[str, str], tuple[float, float]] = {}
    for each in history:
        asked, answered = spans.get((each.kind, each.key), (NEVER, NEVER))
        spans[each.kind, each.key] = min(asked, each.asked), min(answered, each.answered)
    return spans


def _moments(operations: Sequence[Operation]) -> list[tuple[float, bool, int]]:
    """When each was asked for (False) and answered (True), in order; what is asked at a moment comes before answers."""
    moments = [(each.asked, False, i) for i, each in enumerate(operations)]
    moments += [(each.answered, True, i) for i, each in enumerate(operations)]
    return sorted(moments)
