"""All that a page says about a trial: summary, time series, and whether the readings of the data agree."""

from dataclasses import dataclass

from takeup.evidence import Evidence
from takeup.live.learning import learnt_of
from takeup.live.learnt import Learnt
from takeup.live.model_checks import Withheld
from takeup.live.summary import GroupSummary, ProposalSummary, TrialSummary, summary_of
from takeup.live.tally import Tally
from takeup.live.time_series import TimeSeries, time_series_of
from takeup.outcomes import Levels
from takeup.policies.meeting import uses_covariates
from takeup.space import Space
from takeup.trial.book import Book

SURE = 0.8
"""Two readings disagree about the best arm where each gives its own at least this probability."""

POINTS = 32
"""How many points a chart or a table over time has at most."""

MODEL = "the policy's model"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """How the three readings of the data differ.

    Attributes:
        kind: "leader" where intention to treat and another reading name different arms and both are sure, "open" where
            they are not, "selection" where those who took an action as proposed fared otherwise than all who took it.
        reading: the other reading.
        proposal: the arm that intention to treat names, or the one whose two intervals do not overlap.
        other: the arm that the other reading names.
        probability: of intention to treat for its arm.
        other_probability: of the other reading for its arm.
    """

    kind: str
    reading: str
    proposal: str
    other: str = ""
    probability: float = 0.0
    other_probability: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """What is known about a trial; unblinds.

    Attributes:
        evidence: the table of counts.
        summary: values, compliance, checks, advice.
        time_series: allocation and probability best over time.
        disagreements: between the three readings, over all contexts.
        window: whether outcomes have a window, so that some become late without an event.
        maximum: the greatest number of decisions that the spec foresees.
        personal: whether the policy learns from covariates, and believes something of each unit and nothing of all.
        learnt: what it has learnt about whom, or why that is not told; None where nobody has counted who was met.
    """

    evidence: Evidence
    summary: TrialSummary
    time_series: TimeSeries
    disagreements: tuple[Disagreement, ...]
    window: bool
    maximum: int | None
    personal: bool = False
    learnt: Learnt | Withheld | None = None

    @property
    def space(self) -> Space:
        """What the trial is about."""
        return self.evidence.space

    @property
    def modelled(self) -> bool:
        """Whether the policy has a model of its own that says something else than intention to treat."""
        return any(each.model_value not in (None, each.value) for each in self.summary.overall.proposals)

    def fared(self, context: str | None = None) -> list[tuple[int, int]]:
        """Of each proposal how many had the good one of two outcomes, and of how many it is known.

        Args:
            context: of which context; of all where left out.
        """
        assert isinstance(self.space.outcome, Levels)  # others have no good one
        good = self.space.outcome.names.index(str(self.space.outcome.good))
        known = self.evidence.proposed_outcomes
        seen = known.sum(axis=0) if context is None else known[self.space.contexts.index(context)]
        return [(int(row[good]), int(row.sum())) for row in seen]

    @property
    def split(self) -> Disagreement | None:
        """Whether the policy's model and intention to treat name different proposals, and one of them is sure."""
        apart = (each for each in self.disagreements if each.reading == MODEL)
        return next((each for each in apart if max(each.probability, each.other_probability) >= SURE), None)

    def taken(self) -> list[list[int]]:
        """How often each action was implemented after each proposal, seen ones alone; n[z][a]."""
        found: list[list[int]] = self.evidence.compliance.sum(axis=0).tolist()
        return found


def findings_of(book: Book, late: int, tally: Tally | None = None) -> Findings:
    """The findings that a book with its whole time series shows: a function of it and of the tally alone."""
    design = book.design
    evidence = Evidence(design.space, book.counts)
    summary = summary_of(book, late)
    return Findings(
        evidence,
        summary,
        time_series_of(book, POINTS),
        tuple(disagreements(design.space, summary.overall)),
        design.window is not None,
        design.spec.stopping.maximum,
        uses_covariates(design.policy),
        None if tally is None else learnt_of(book, tally),
    )


def leader_of(group: GroupSummary) -> ProposalSummary:
    """The proposal that is most probably best there, by intention to treat."""
    return max(group.proposals, key=lambda each: each.probability_best)


def probability_of(proposal: ProposalSummary) -> float:
    """That it is best, by the policy's own model where it has one."""
    model = proposal.model_probability_best
    return proposal.probability_best if model is None else model


def disagreements(space: Space, group: GroupSummary) -> list[Disagreement]:
    """Where the readings differ by more than chance.

    Values by intention to treat are closer together than those of actions wherever some do not comply, so the values
    themselves may differ. What may not is the order; and, where compliance is ignorable, the value of an action among
    those who took it as proposed and among all who took it.
    """
    first = leader_of(group)
    if not first.value.n:
        return []
    model = max(group.proposals, key=probability_of)
    found = []
    if model.label != first.label:
        found.append(_leaders(first, MODEL, model.label, probability_of(model)))
    if isinstance(group.implemented, Withheld) or space.intended is None:
        return found
    mine = space.implemented[space.intended[space.proposals.index(first.label)]]
    treated = max(group.implemented, key=lambda each: each.probability_best)
    if treated.label != mine and treated.value.n and treated.label in {space.implemented[a] for a in space.intended}:
        found.append(_leaders(first, "as treated", treated.label, treated.probability_best))
    for proposal, a in zip(group.proposals, space.intended, strict=True):
        complied, action = proposal.complied_value, group.implemented[a]
        if (
            complied is not None
            and complied.n
            and (complied.low > action.value.high or complied.high < action.value.low)
        ):
            found.append(Disagreement("selection", "complied only", proposal.label, action.label))
    return found


def _leaders(first: ProposalSummary, reading: str, other: str, probability: float) -> Disagreement:
    sure = min(first.probability_best, probability) >= SURE
    return Disagreement("leader" if sure else "open", reading, first.label, other, first.probability_best, probability)
