"""What a planned look concluded, for people."""

from dataclasses import dataclass, field

from takeup.trial.design import Design
from takeup.trial.events import Looked
from takeup.trial.rules import BoundedTable, Reading


@dataclass(frozen=True, slots=True)
class LookComparison:
    """What was compared with a threshold.

    Attributes:
        rule: superiority, inferiority, equivalence or futility.
        proposal: whose.
        probability: of what the rule asks for.
        threshold: below which the probability must be for inferiority, and above which for the others.
    """

    rule: str
    proposal: str
    probability: float
    threshold: float

    @property
    def crossed(self) -> bool:
        """Whether the rule concluded something."""
        below = self.probability < self.threshold
        return below if self.rule == "inferiority" else self.probability > self.threshold

    @property
    def sentence(self) -> str:
        """In words."""
        return f"{self.rule} of {self.proposal}: probability {self.probability:.4f}, threshold {self.threshold:.6g}"


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """How often these thresholds err, as `takeup design` found it.

    Attributes:
        target: the greatest rate that was asked for.
        found: the rate where it is greatest.
        error: the Monte Carlo error of that.
        trials: of how many trials.
        scenario: in which scenario.
    """

    target: float
    found: float
    error: float
    trials: int
    scenario: str

    @property
    def sentence(self) -> str:
        """In words."""
        rate = f"{100 * self.found:.2f} % ± {100 * self.error:.2f} %"
        return f"these thresholds err in {rate} of {self.trials:,} simulated trials of the scenario {self.scenario}"


@dataclass(frozen=True, slots=True)
class LookSummary:
    """A look that was held.

    Attributes:
        look: its number, counted from 1; of the one that advised the end, where one did.
        outcomes: how many were known.
        verdict: "going on", or the end that is advised: superior, equivalent, futile or maximum.
        proposal: the proposal that is superior.
        control: the control from then on.
        offered: what is still offered where it goes on.
        dropped: why each proposal was dropped that was dropped at this look.
        compared: what was compared with a threshold, in the order in which it was.
    """

    look: int
    outcomes: int
    verdict: str
    proposal: str | None
    control: str | None
    offered: tuple[str, ...]
    dropped: dict[str, str] = field(default_factory=dict)
    compared: tuple[LookComparison, ...] = ()

    @property
    def sentence(self) -> str:
        """In words."""
        said = {
            "going on": "the trial goes on",
            "superior": f"{self.proposal} is superior",
            "equivalent": f"{', '.join(self.offered)} and what was dropped as such are equivalent"
            if len(self.offered) == 1
            else f"{', '.join(self.offered)} are equivalent",
            "futile": "none is worth going on with",
            "maximum": "all outcomes that were planned are known, and no rule has concluded anything",
        }[self.verdict]
        dropped = "".join(f"; {label} was dropped as {reason}" for label, reason in self.dropped.items())
        crossed = "; ".join(each.sentence for each in self.compared if each.crossed)
        return f"{said}{dropped}{f' ({crossed})' if crossed else ''}"


@dataclass(frozen=True, slots=True)
class LookAdvice:
    """What planned looks say.

    Attributes:
        planned: how many outcomes are known at each look.
        next: how many have to be known for the next look; None after the last, and after one that advised an end.
        reading: what is read, in words.
        error: how often the thresholds err, as far as that was tried.
        last: the last look that was held; None before the first.
    """

    planned: tuple[int, ...]
    next: int | None
    reading: str
    error: ErrorRate | None = None
    last: LookSummary | None = None

    @property
    def ended(self) -> bool:
        """Whether an end is advised."""
        return self.last is not None and self.last.verdict != "going on"

    @property
    def sentence(self) -> str:
        """What the last look concluded, in words."""
        if self.last is None:
            return "no look has been held yet"
        return f"look {self.last.look} of {len(self.planned)}, {self.reading}: {self.last.sentence}"


def look_advice(design: Design, last: Looked | None) -> LookAdvice | None:
    """What looks say; None where none are planned."""
    if design.looks is None:
        return None
    planned, held = tuple(design.looks.at.tolist()), 0 if last is None else last.look
    over = held == len(planned) or (last is not None and last.ended is not None)
    error = design.spec.stopping.error
    return LookAdvice(
        planned,
        None if over else planned[held],
        reading_words(design.spec.stopping.reading),
        None if error is None else ErrorRate(error.target, error.found, error.error, error.trials, error.scenario),
        None if last is None else _summary(last),
    )


def reading_words(reading: Reading) -> str:
    """A reading, in a sentence."""
    if isinstance(reading, BoundedTable):
        return f"by the bounded reading with {reading.bounded:g}"
    return {
        "intention to treat": "by intention to treat",
        "adjusted": "at equal covariates",
        "policy": "by the policy's own model",
        "compliers": "by the effect among compliers",
    }[reading]


def _summary(last: Looked) -> LookSummary:
    return LookSummary(
        last.look if last.ended is None else last.ended,
        last.outcomes,
        last.status,
        last.chosen,
        last.control,
        last.offered,
        dict(last.dropped or {}),
        tuple(LookComparison(**each) for each in last.compared),
    )
