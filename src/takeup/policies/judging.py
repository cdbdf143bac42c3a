"""What a look at a trial says: pure functions of how probable it is that one proposal is worth more than another.

Live trials, audits and the reference simulation judge here; the kernels of `takeup.simulation` say the same in a form
that compiles, and are tested against this. All inequalities are strict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from takeup.checks import FloatArray

GOING_ON, SUPERIOR, EQUIVALENT, FUTILE, MAXIMUM = range(5)
"""How a trial ends."""
INFERIOR = 1
"""Why a proposal is dropped: this, EQUIVALENT or FUTILE."""


class Comparison(Protocol):
    """What a reading of the data believes about the values of proposals, as far as rules ask.

    Values are in the units of the outcome, and more is better.
    """

    def largest(self, which: Sequence[int]) -> FloatArray:
        """The probability that each of these is the largest of them."""

    def exceeds(self, one: int, other: int, margin: float = 0.0) -> float:
        """P(V_one - V_other > margin), or the least that it may be where a reading leaves it open.

        The most that it may be is one less `exceeds(other, one, -margin)`.
        """

    def within(self, which: Sequence[int], margin: float) -> float:
        """The probability that the largest and the smallest of these differ by less than the margin."""


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """When to conclude what.

    Attributes:
        superiority: above which probability, at each look; None for never, as of the others.
        inferiority: below which.
        equivalence: above which probability of being within `equivalence_margin`.
        equivalence_margin: in units of the outcome.
        futility: above which probability of exceeding the control by less than `futility_margin`.
        futility_margin: likewise.
        control: the index of the control; None where the best of all is looked for.
        replace: whether a superior proposal becomes the control.
    """

    superiority: FloatArray | None = None
    inferiority: FloatArray | None = None
    equivalence: FloatArray | None = None
    equivalence_margin: float = 0.0
    futility: FloatArray | None = None
    futility_margin: float = 0.0
    control: int | None = None
    replace: bool = True


@dataclass(frozen=True, slots=True)
class Standing:
    """What is left of a trial after a look.

    Attributes:
        offered: the proposals that are still offered.
        control: the control from now on, which may be another than at first; None without one.
    """

    offered: tuple[int, ...]
    control: int | None = None

    @classmethod
    def of(cls, proposals: int, rules: Rules) -> "Standing":
        """Before the first look."""
        return cls(tuple(range(proposals)), rules.control)

    def without(self, *dropped: int) -> "Standing":
        """The same without some proposals."""
        return Standing(tuple(k for k in self.offered if k not in dropped), self.control)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a look says.

    Attributes:
        status: GOING_ON, SUPERIOR, EQUIVALENT or FUTILE.
        standing: what is left.
        chosen: the proposal that is superior; None where none is.
        dropped: why each proposal was dropped that was dropped at this look.
        probabilities: what was compared with thresholds, by what was asked, in the order in which it was.
    """

    status: int
    standing: Standing
    chosen: int | None = None
    dropped: Mapping[int, int] = field(default_factory=dict)
    probabilities: tuple[tuple[str, int, float, float], ...] = ()


def judge(compared: Comparison, rules: Rules, look: int, standing: Standing) -> Verdict:
    """What the look with this number, counted from 0, says of the proposals that are still offered."""
    asked = _Asked(compared, rules, look)
    if standing.control is None:
        return _among_all(asked, standing)
    return _against_control(asked, standing, standing.control)


@dataclass(slots=True)
class _Asked:
    """The rules at one look, and what they were told."""

    compared: Comparison
    rules: Rules
    look: int
    told: list[tuple[str, int, float, float]] = field(default_factory=list)

    def threshold(self, name: str) -> float | None:
        each: FloatArray | None = getattr(self.rules, name)
        return None if each is None else float(each[self.look])

    def above(self, name: str, proposal: int, probability: float) -> bool:
        threshold = self.threshold(name)
        if threshold is None:
            return False
        self.told.append((name, proposal, probability, threshold))
        return probability > threshold

    def below(self, name: str, proposal: int, probability: float) -> bool:
        threshold = self.threshold(name)
        if threshold is None:
            return False
        self.told.append((name, proposal, probability, threshold))
        return probability < threshold

    def inferior(self, proposal: int, control: int) -> bool:
        """Whether the most that its probability of being better may be is below the threshold."""
        if self.rules.inferiority is None:
            return False
        return self.below("inferiority", proposal, 1 - self.compared.exceeds(control, proposal))

    def verdict(
        self, status: int, standing: Standing, chosen: int | None = None, dropped: Mapping[int, int] | None = None
    ) -> Verdict:
        return Verdict(status, standing, chosen, dropped or {}, tuple(self.told))


def _among_all(asked: _Asked, standing: Standing) -> Verdict:
    """Drop the inferior, again and again; then the best may be superior, or all that are left equivalent."""
    dropped: dict[int, int] = {}
    while True:
        best = dict(zip(standing.offered, map(float, asked.compared.largest(standing.offered)), strict=True))
        first = max(best, key=lambda k: best[k])
        weak = [k for k in best if k != first and asked.below("inferiority", k, best[k])]
        if not weak:
            break
        dropped |= dict.fromkeys(weak, INFERIOR)
        standing = standing.without(*weak)
    if len(standing.offered) == 1 or asked.above("superiority", first, best[first]):
        return asked.verdict(SUPERIOR, standing, first, dropped)
    if asked.rules.equivalence is not None:
        close = asked.compared.within(standing.offered, asked.rules.equivalence_margin)
        if asked.above("equivalence", first, close):
            return asked.verdict(EQUIVALENT, standing, None, dropped)
    return asked.verdict(GOING_ON, standing, None, dropped)


def _against_control(asked: _Asked, standing: Standing, control: int) -> Verdict:
    """Drop what is worse than the control; a better one takes its place, and the rules run again."""
    rules, dropped = asked.rules, dict[int, int]()
    while True:
        better = {k: asked.compared.exceeds(k, control) for k in standing.offered if k != control}
        weak = [k for k in better if asked.inferior(k, control)]
        dropped |= dict.fromkeys(weak, INFERIOR)
        standing = standing.without(*weak)
        first = max(better, key=lambda k: better[k]) if better else None
        if first is None or not asked.above("superiority", first, better[first]):
            break
        if not rules.replace:
            return asked.verdict(SUPERIOR, standing, first, dropped)
        dropped[control] = INFERIOR
        control, standing = first, Standing(standing.without(control).offered, first)
    status = SUPERIOR
    for k in [each for each in standing.offered if each != control]:
        reason = _no_better(asked, k, control)
        if reason is not None:
            dropped[k], standing = reason, standing.without(k)
            status = FUTILE if reason == FUTILE or status == FUTILE else EQUIVALENT
    if len(standing.offered) > 1:
        return asked.verdict(GOING_ON, standing, None, dropped)
    return asked.verdict(status, standing, control if status == SUPERIOR else None, dropped)


def _no_better(asked: _Asked, proposal: int, control: int) -> int | None:
    """Why a proposal is not worth going on with: EQUIVALENT or FUTILE to the control, or None."""
    rules, compared = asked.rules, asked.compared
    if rules.equivalence is not None:
        close = compared.within((proposal, control), rules.equivalence_margin)
        if asked.above("equivalence", proposal, close):
            return EQUIVALENT
    if rules.futility is not None:
        less = compared.exceeds(control, proposal, -rules.futility_margin)
        if asked.above("futility", proposal, less):
            return FUTILE
    return None
