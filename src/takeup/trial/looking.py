"""A planned look at a trial: what its rules conclude, and how proposals are made from there on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError
from takeup.evidence import Evidence
from takeup.policies.judging import (
    EQUIVALENT,
    FUTILE,
    GOING_ON,
    INFERIOR,
    MAXIMUM,
    Comparison,
    Standing,
    Verdict,
    judge,
)
from takeup.policies.readings import Reading, comparison
from takeup.randomness import stream
from takeup.trial.allotment import Allotment, allotment, allotment_after, standing_of
from takeup.trial.book import Book
from takeup.trial.computing import METER, FailedPolicyError
from takeup.trial.design import Design
from takeup.trial.events import Looked
from takeup.trial.proposal import informative
from takeup.trial.rules import BoundedTable
from takeup.trial.secret import Secret
from takeup.trial.software import software

STATUSES = ("going on", "superior", "equivalent", "futile", "maximum")
"""What the log calls GOING_ON and the ends."""
REASONS = {INFERIOR: "inferior", EQUIVALENT: "equivalent", FUTILE: "futile"}
"""What the log calls the reasons for which a proposal is dropped."""
DIGITS = 9
"""To how many digits probabilities are judged and written down: the last that machines compute may differ."""


def due_look(book: Book) -> int | None:
    """The number of the look, counted from 0, that is to be held now; None where none is.

    One is due as soon as so many outcomes are known for the first time, unless the trial is a draft or has stopped, or
    takeup paused it because something could not be computed.
    """
    looks = book.design.looks
    if looks is None or book.unlooked or book.state not in ("running", "paused"):
        return None
    held = 0 if book.look is None else book.look.look
    return held if held < looks.at.size and book.known >= looks.at[held] else None


def room_before_look(book: Book) -> int | None:
    """How many outcomes may become known before the next look is due; None where there is no limit."""
    looks = book.design.looks
    held = 0 if book.look is None else book.look.look
    if looks is None or held >= looks.at.size or book.known >= looks.at[held]:
        return None
    return int(looks.at[held]) - book.known


def looked_event(book: Book, look: int, at: int) -> Looked:
    """What a look concludes from what is known now.

    Raises:
        FailedPolicyError: that could not be computed.
        BusyError: not in this transaction.
    """
    design, last = book.design, book.look
    if last is not None and last.status != STATUSES[GOING_ON]:
        return replace(last, at=at, look=look + 1, software=software(design))
    state, before = book.seen_by(book.decisions + 1), None
    if design.shown.covariates is None:
        before = allotment(design, book.secret, state, book.decisions + 1, last)
    verdict, after = METER.run(lambda: conclude(design, book.secret, book.shown, look, last, before, state))
    found = told(design, look, verdict, after, at=at, outcomes=book.known, version=book.version)
    return found if before is not None or found.ended is None else replace(found, still=_still(design, last))


def _still(design: Design, last: Looked | None) -> dict[str, Any]:
    """What is offered after an end that was advised, and the control: as it was before, until somebody stops it."""
    labels, standing = design.space.proposals, standing_of(design, last)
    control = None if standing.control is None else labels[standing.control]
    return {"offered": [labels[k] for k in standing.offered], **({} if control is None else {"control": control})}


def told(
    design: Design, look: int, verdict: Verdict, after: Allotment | None, *, at: int, outcomes: int, version: int
) -> Looked:
    """What the log says of a verdict, and of how proposals are made then."""
    labels, ended = design.space.proposals, verdict.status != GOING_ON
    return Looked(
        at=at,
        look=look + 1,
        outcomes=outcomes,
        version=version,
        status=STATUSES[verdict.status],
        ended=look + 1 if ended else None,
        chosen=None if verdict.chosen is None else labels[verdict.chosen],
        offered=tuple(labels[k] for k in verdict.standing.offered),
        control=None if verdict.standing.control is None else labels[verdict.standing.control],
        dropped={labels[k]: REASONS[reason] for k, reason in verdict.dropped.items()} or None,
        compared=tuple(
            {"rule": rule, "proposal": labels[k], "probability": probability, "threshold": threshold}
            for rule, k, probability, threshold in verdict.probabilities
        ),
        probability=None if after is None else after.probability,
        best=None if after is None or after.best == after.probability else after.best,
        software=software(design),
    )


def conclude(
    design: Design,
    secret: Secret,
    counts: IntArray,
    look: int,
    last: Looked | None,
    before: Allotment | None,
    state: IntArray | None = None,
) -> tuple[Verdict, Allotment | None]:
    """What the rules conclude, and how proposals are made then; None where that follows every outcome.

    The rules read all outcomes alike, also where the policy forgets.

    Args:
        design: the trial's.
        secret: the trial's.
        counts: the evidence, n[x, z, a, y].
        look: its number, counted from 0.
        last: the look before.
        before: how proposals were made so far; None where that depends on the unit.
        state: the evidence as the policy has it, where that is another.
    """
    looks = design.looks
    assert looks is not None  # a look is due
    rng = stream(secret.number, "look", look)
    verdict = judged(design, counts, look, standing_of(design, last), rng)
    if verdict.status == GOING_ON and look == looks.at.size - 1:
        verdict = replace(verdict, status=MAXIMUM)
    if verdict.status != GOING_ON:
        return verdict, before
    if looks.update == "patient":
        return verdict, None
    return verdict, allotment_after(design, secret, counts if state is None else state, verdict.standing, look)


def judged(design: Design, counts: IntArray, look: int, standing: Standing, rng: np.random.Generator) -> Verdict:
    """What the rules say of the counts n[x, z, a, y] at a look, counted from 0, in the digits that are written down."""
    evidence = Evidence(design.shown, informative(counts[0], design.shown)[np.newaxis])
    compared = _Told(comparison(_reading(design), evidence, design.policy, rng, design.spec.draws))
    return judge(compared, design.rules, look, standing)


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    """A comparison in the digits that are written down."""

    compared: Comparison

    def largest(self, which: Sequence[int]) -> FloatArray:
        return np.array([_written(each) for each in self.compared.largest(which)])

    def exceeds(self, one: int, other: int, margin: float = 0.0) -> float:
        return _written(self.compared.exceeds(one, other, margin))

    def within(self, which: Sequence[int], margin: float) -> float:
        return _written(self.compared.within(which, margin))


def _written(probability: float) -> float:
    """In so many digits; what is no number can be neither judged nor written down."""
    if not np.isfinite(probability):
        raise FailedPolicyError("what a rule is to compare could not be computed: it is no number")
    return round(float(probability), DIGITS)


def _reading(design: Design) -> Reading:
    """What the rules read; a bounded reading with the weights of the spec."""
    written = design.spec.stopping.reading
    if not isinstance(written, BoundedTable):
        return written
    assert design.rules.control is not None  # `StoppingTable.build` refuses it
    return written.read(design.space, design.rules.control)


def check_live(design: Design) -> None:
    """An error where looks at a live trial cannot read what they are to read."""
    reading, compliance = design.spec.stopping.reading, design.spec.compliance
    if reading == "compliers" and compliance == "never":
        raise InputError("reading", repr(reading), "'intention to treat', as compliance is never reported")
    if isinstance(reading, BoundedTable) and compliance != "always":
        told = f"bounded = {reading.bounded:g}"
        allowed = f"'intention to treat', or compliance = \"always\"; it is {compliance} reported"
        raise InputError("reading", told, allowed)
    if reading == "compliers" or isinstance(reading, BoundedTable):
        comparison(_reading(design), Evidence.empty(design.space.without_covariates()), design.policy, stream(0))
