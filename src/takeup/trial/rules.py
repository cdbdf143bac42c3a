"""When to advise what, as a trial's owner writes it down: the table `[stopping]`, and the rules that it makes."""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

import numpy as np
from pydantic import Field

from takeup import checks
from takeup.errors import NOTHING, InputError
from takeup.policies.bounded_reading import BoundedReading
from takeup.policies.judging import Rules
from takeup.policies.limits import ControlShare, Limits, fixed_share
from takeup.space import Space
from takeup.specfile import MOST_NAMES, GrownTable, Table
from takeup.trial.looks import Looks, Threshold, Thresholds

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Label = Annotated[str, Field(min_length=1, max_length=200)]
MOST_WEIGHTS = 1_000_000
"""How many weights a bounded reading may have, those of 0 among them: that of 30 proposals with as many actions."""
COUNTED = 10
"""How many draws must lie beyond a threshold, so that it is crossed by what is known and not by chance."""


class MarginTable(Table):
    """A probability above which something is concluded, and the margin that it is about, in units of the outcome."""

    probability: Thresholds
    margin: Annotated[float, Field(gt=0, allow_inf_nan=False)]


class MovedTable(Table):
    """Weight that a bounded reading moves where it compares two proposals; see `takeup.policies.bounded_reading`.

    Attributes:
        one: a proposal.
        other: what it is compared with; where it is the other way round, the weight is the negative of this.
        proposed: the weight goes to those who were offered this,
        implemented: and did this, from those who were offered the control and did it.
        weight: how much.
    """

    one: Label
    other: Label
    proposed: Label
    implemented: Label
    weight: Annotated[float, Field(allow_inf_nan=False)]

    def place(self, key: str, space: Space, control: int) -> tuple[int, int, int, int]:
        """The index of each of the four; errors begin with the key."""
        rest = [label for label in space.proposals if label != self.one]
        others = [label for label in space.proposals if label != space.proposals[control]]
        for name, labels in (
            ("one", space.proposals),
            ("other", rest),
            ("proposed", others),
            ("implemented", space.implemented),
        ):
            if getattr(self, name) not in labels:
                raise InputError(f"{key}.{name}", repr(getattr(self, name)), f"one of {', '.join(labels)}")
        one, other, proposed = map(space.proposals.index, (self.one, self.other, self.proposed))
        return one, other, proposed, space.implemented.index(self.implemented)


class BoundedTable(GrownTable):
    """A reading that holds while takers and refusers differ by at most so much without what they are offered.

    Attributes:
        bounded: by how much, in units of the outcome.
        moved: all weight that is moved; where left out `takeup design` chooses it, and a live trial is refused.
    """

    newer = ("moved",)

    bounded: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    moved: Annotated[list[MovedTable], Field(max_length=MOST_NAMES)] | None = None

    def read(self, space: Space, control: int) -> BoundedReading:
        """The reading with the weights that are written down, checked."""
        if self.moved is None:
            hint = "`takeup design plan.toml --out DIR` writes a plan with them"
            raise InputError("reading.moved", NOTHING, "the weights, which are fixed before a trial", hint)
        proposals, actions = len(space.proposals), len(space.implemented)
        if proposals**3 * actions > MOST_WEIGHTS:
            told = f"one for {proposals} proposals and {actions} actions"
            raise InputError("reading", told, f"fewer, of which no more than {MOST_WEIGHTS:,} weights come")
        moved, seen = np.zeros((proposals, proposals, proposals, actions)), set()
        for number, each in enumerate(self.moved):
            key = f"reading.moved.{number}"
            one, other, *cell = each.place(key, space, control)
            if (same := (frozenset((one, other)), *cell)) in seen:
                raise InputError(key, _shown(each), "the weight of two proposals and a cell once, either way round")
            seen.add(same)
            moved[one, other, *cell], moved[other, one, *cell] = each.weight, -each.weight
        return BoundedReading(np.full(actions, self.bounded), control, moved)


class ErrorTable(Table):
    """`[stopping.error]`: what `takeup design --calibrate` found, with the thresholds beside it.

    Attributes:
        target: the greatest rate of error that was asked for.
        found: the rate in the null scenario in which it is greatest.
        error: the Monte Carlo error of that.
        trials: of how many trials.
        seed: of these trials.
        scenario: the name of that scenario.
        version: the version of takeup that found it.
        digest: of what it was found for, see `takeup.trial.told_error`.
    """

    target: Threshold
    found: Share
    error: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    trials: Annotated[int, Field(ge=1)]
    seed: Annotated[int, Field(ge=0)]
    scenario: Label
    version: Label
    digest: Label


Reading: TypeAlias = Literal["intention to treat", "adjusted", "policy", "compliers"] | BoundedTable
"""What rules read: what proposing is worth, the same at equal covariates, the policy's own model, the effect of the
action among compliers, or a bounded reading."""


class StoppingTable(GrownTable):
    """`[stopping]`: when to advise an end, and by which reading of the data; nothing ends by itself.

    A trial without looks has a threshold for the probability best and a maximum, a trial with looks has the others.

    Attributes:
        probability_best: from which probability of being the best on an end is advised.
        maximum: after how many decisions.
        reading: what the rules read.
        superiority: above which probability a proposal is called superior.
        inferiority: below which probability it is dropped.
        equivalence: above which probability proposals are called equivalent, and within which margin.
        futility: above which probability a proposal is dropped that exceeds the control by less than the margin.
        control: the proposal that all others are compared with; the best of all where left out.
        replace: whether a superior proposal becomes the control; else the trial ends.
        control_share: the probability of the control.
        error: how often these thresholds err, as far as that was tried.
    """

    newer = (
        "reading",
        "superiority",
        "inferiority",
        "equivalence",
        "futility",
        "control",
        "replace",
        "control_share",
        "error",
    )

    probability_best: Annotated[float, Field(gt=0.5, lt=1)] | None = None
    maximum: Annotated[int, Field(ge=1)] | None = None
    reading: Reading = "intention to treat"
    superiority: Thresholds | None = None
    inferiority: Thresholds | None = None
    equivalence: MarginTable | None = None
    futility: MarginTable | None = None
    control: Label | None = None
    replace: Annotated[bool, Field(strict=True)] = True
    control_share: Literal["match", "sqrt"] | Threshold | None = None
    error: ErrorTable | None = None

    def build(self, space: Space, looks: Looks | None) -> Rules:
        """The rules at each look, checked; none without looks."""
        if looks is None:
            self._check_without_looks()
            return Rules()
        control = self._control(space)
        self._check_margins(space.outcome.highest - space.outcome.lowest)
        above, below = looks.each("superiority", self.superiority), looks.each("inferiority", self.inferiority)
        if above is not None and below is not None and (above <= below).any():
            first = int((above <= below).argmax())
            allowed = f"more than the {below[first]:g} of inferiority at look {first + 1}"
            raise InputError("superiority", float(above[first]), allowed)
        proposals = len(space.proposals)
        if below is not None and control is None and below.max() >= 1 / proposals:
            allowed = f"below 1 / {proposals}, which every proposal has where all are alike"
            raise InputError("inferiority", float(below.max()), allowed)
        if isinstance(self.reading, BoundedTable) and self.reading.moved is not None and control is not None:
            self.reading.read(space, control)
        equal, futile = self.equivalence, self.futility
        return Rules(
            above,
            below,
            None if equal is None else looks.each("equivalence.probability", equal.probability),
            0.0 if equal is None else equal.margin,
            None if futile is None else looks.each("futility.probability", futile.probability),
            0.0 if futile is None else futile.margin,
            control,
            self.replace,
        )

    def _check_without_looks(self) -> None:
        if self.reading not in ("intention to treat", "policy"):
            raise InputError("reading", _shown(self.reading), "'intention to treat' or 'policy', without looks")
        for name in self.newer[1:]:
            if getattr(self, name) != type(self).model_fields[name].default:
                allowed = "nothing without looks: probability_best and maximum, or looks"
                raise InputError(name, _shown(getattr(self, name)), allowed, "say in [looks] when it is looked at")

    def _control(self, space: Space) -> int | None:
        """The index of the control; None without one."""
        for name in ("probability_best", "maximum"):
            if getattr(self, name) is not None:
                raise InputError(
                    name, getattr(self, name), "nothing: a trial with looks has superiority, and looks.last"
                )
        if self.control is not None:
            if self.control not in space.proposals:
                raise InputError("control", repr(self.control), f"one of {', '.join(space.proposals)}")
            return space.proposals.index(self.control)
        hint = 'say control = ".."'
        if self.futility is not None:
            raise InputError("futility", self.futility.probability, "a control, which futility is about", hint)
        if self.reading not in ("intention to treat", "adjusted", "policy"):
            raise InputError("reading", _shown(self.reading), "a control, which others are compared with", hint)
        if self.control_share is not None:
            raise InputError("control_share", self.control_share, "a control", hint)
        return None

    def _check_margins(self, most: float) -> None:
        for name, given in (("equivalence", self.equivalence), ("futility", self.futility)):
            if given is not None and given.margin >= most:
                raise InputError(f"{name}.margin", given.margin, f"less than outcomes can differ, {most:g}")


def check_dropping(limits: Limits, labels: Sequence[str], rules: Rules) -> None:
    """Whatever is dropped, the others must be able to share all of the probability."""
    if len(labels) < 3 or (rules.inferiority is None and rules.futility is None and rules.control is None):
        return
    low = np.sort(np.broadcast_to(checks.real("ceiling", limits.ceiling), len(labels)))[:2]
    if low.sum() < 1:
        left = f"{low.sum():g} where two proposals are left"
        raise InputError("ceiling", left, "ceilings that sum to 1 or more whatever is dropped", "raise them")


def check_counted(rules: Rules, draws: int) -> None:
    """Where probabilities are counted in draws, what is compared with a threshold must be more than a few of them."""
    least = COUNTED / draws
    if rules.inferiority is not None and rules.inferiority.min() < least - checks.TOLERANCE:
        low = float(rules.inferiority.min())
        raise _uncounted("inferiority", low, f"at least {least:g}", draws, low)
    for name, above in (
        ("superiority", rules.superiority),
        ("equivalence.probability", rules.equivalence),
        ("futility.probability", rules.futility),
    ):
        if above is not None and 1 - above.max() < least - checks.TOLERANCE:
            high = float(above.max())
            raise _uncounted(name, high, f"at most {1 - least:g}", draws, 1 - high)


def _uncounted(name: str, threshold: float, allowed: str, draws: int, beyond: float) -> InputError:
    enough = int(np.ceil(COUNTED / beyond * (1 - checks.TOLERANCE)))
    why = f"{allowed}, as these probabilities are counted in draws = {draws}"
    return InputError(name, threshold, why, f"raise draws to {enough}, or choose another threshold")


def check_control_share(limits: Limits, proposals: int, rules: Rules, share: ControlShare | None) -> None:
    """However many others are left, all must be able to keep to their limits beside a share that is fixed.

    A control has no other limits than its share, and is dropped where another takes its place: the first one is never
    among the others.
    """
    if share is None or share == "match" or rules.control is None:
        return
    both = (np.broadcast_to(checks.real("limits", each), proposals) for each in (limits.floor, limits.ceiling))
    floor, ceiling = (np.sort(np.delete(each, rules.control)) for each in both)
    for left in range(1, proposals):
        rest = 1 - fixed_share(share, left)
        low, high = float(floor[-left:].sum()), float(ceiling[:left].sum())
        if not low - checks.TOLERANCE <= rest <= high + checks.TOLERANCE:
            told = f"{share!r}, which leaves {rest:.6g} to {left} {'other' if left == 1 else 'others'}"
            raise InputError("control_share", told, f"a share that leaves them {low:g} to {high:g}, their limits")


def _shown(value: object) -> str:
    return repr(value.model_dump(mode="json") if isinstance(value, Table) else value)
