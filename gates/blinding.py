"""What blinded readers see: fields of a list, and the same in two worlds that differ in arms and outcomes alone."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from blind_worlds import OWN, Seen, world
from gates.gate import Found, Gate, Run
from shown_fields import fields
from takeup.live.progress import Progress
from takeup.service.routes import log

ALLOWED: dict[str, Any] = json.loads((Path(__file__).parent / "blinded_fields.json").read_text())
"""What may be shown of a trial, by method and path; a text instead of a list says why none is needed."""


def unlisted(seen: Seen) -> list[str]:
    """Fields of an answer that nobody has allowed."""
    place = " ".join(seen.place)
    if place not in ALLOWED:
        return [f"{place} is in no list"]
    if seen.reply.status >= 300 or isinstance(ALLOWED[place], str):
        return []
    more = sorted(fields(seen.reply) - set(ALLOWED[place]))
    return [f"{seen.who} is shown {name!r} at {seen.asked}" for name in more]


def pair(seed: int) -> Iterator[str]:
    """What is wrong in two worlds; the number of answers comes last."""
    both = []
    for truth in (1, 2):
        with world(seed, truth) as made:
            both.append(list(made.views()))
    for one, other in zip(*both, strict=True):
        yield from unlisted(one)
        if one.told != other.told and one.place not in OWN:
            yield f"{one.who} sees at {one.asked} what depends on arms or outcomes"
    yield str(len(both[0]))


def compared(run: Run) -> Found:
    """So many pairs, until something is wrong."""
    answers = 0
    for number in range(run.times):
        *wrong, count = pair(1_000 * run.seed + number)
        answers += int(count)
        if wrong:
            return Found(False, f"pair {number + 1}: {len(wrong)} findings, the first: {wrong[0]}")
        run.step(number + 1)
    return Found(True, f"{answers:,} answers to 14 kinds of keys and people, alike in pairs, none with a field more")


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Something else in its place."""
    before = owner.__dict__[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def without_blinding(run: Run) -> Found:
    """Blinded keys are taken for others when they read the log."""
    with replaced(log, "unblinded", lambda _: True):
        return compared(run)


def without_withholding(run: Run) -> Found:
    """Progress is shown whole: no arm, but how many reports contradicted earlier ones."""
    with replaced(Progress, "blinded", property(lambda self: self)):
        return compared(run)


GATES = (
    Gate(
        name="blinded",
        part="secrets and rights",
        shows="every operation, page, stream and export to every blinded role: fields of gates/blinded_fields.json"
        " alone, and the same bytes whatever arms, actions and outcomes are",
        unit="pairs of worlds",
        times=300,
        suite=1,
        run=compared,
        without="the look at who reads the log",
        control=without_blinding,
    ),
    Gate(
        name="blinded-counts",
        part="secrets and rights",
        shows="the same, for what is no arm and could tell one: hashes, versions, corrections",
        unit="pairs of worlds",
        times=20,
        suite=1,
        run=compared,
        without="what blinded progress leaves out",
        control=without_withholding,
    ),
)
