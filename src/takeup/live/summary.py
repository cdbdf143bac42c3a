"""What a trial has found so far: for readers who may see the arms."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.evidence import Evidence
from takeup.live.estimates import (
    Estimate,
    believes,
    estimate,
    plain_block,
    shares,
    summary_draws,
    values_by_model,
    weighted,
)
from takeup.live.model_checks import (
    ModelCheck,
    SeenCheck,
    Withheld,
    exclusion_of,
    ignorable_of,
    not_identified,
    seen_of,
)
from takeup.live.progress import Progress, progress_of
from takeup.live.time_series import SampleRatio, fallback_ratio_of, sample_ratio_of
from takeup.outcomes import Shown
from takeup.policies.base import LivePolicy
from takeup.randomness import stream
from takeup.trial.book import Book
from takeup.trial.design import Design
from takeup.trial.look_advice import look_advice
from takeup.trial.models import state_with
from takeup.trial.spec import WordsTable
from takeup.trial.stopping import FEW, Reading, StoppingAdvice, advise, most_probable


@dataclass(frozen=True, slots=True)
class ProposalSummary:
    """One proposal.

    Attributes:
        label: its name.
        decisions: how often it was made.
        value: the expected reward of proposing it, by intention to treat: it assumes nothing about compliance.
        probability_best: that it is the best by that reading.
        model_value: the same by the policy's own model, which assumes what the policy assumes; where that is intention
            to treat, the very same numbers.
        model_probability_best: likewise.
        complied_value: the reward of those who did what was proposed, who may not be like the others.
    """

    label: str
    decisions: int
    value: Estimate
    probability_best: float
    model_value: Estimate | None
    model_probability_best: float | None
    complied_value: Estimate | None


@dataclass(frozen=True, slots=True)
class ActionSummary:
    """One implemented action, as treated.

    Attributes:
        label: its name.
        decisions: how often it was seen.
        value: the mean reward where it was implemented: causal where compliance is ignorable.
        probability_best: that it is the best by that reading.
        outcomes: the probability of each outcome level, or of each bin of an outcome that has none.
    """

    label: str
    decisions: int
    value: Estimate
    probability_best: float
    outcomes: tuple[Estimate, ...]


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """One context, or all together.

    Attributes:
        context: its label; None for all together, each context weighted by its share of the decisions.
        decisions: how many there are.
        proposals: one entry each.
        implemented: one entry an action.
        compliance: π[z][a], a row a proposal.
        regret: what better proposals would have brought more in the decisions made so far, by intention to treat.
    """

    context: str | None
    decisions: int
    proposals: tuple[ProposalSummary, ...]
    implemented: tuple[ActionSummary, ...] | Withheld
    compliance: tuple[tuple[Estimate, ...], ...] | Withheld
    regret: Estimate


@dataclass(frozen=True, slots=True)
class TrialSummary:
    """Everything but the log.

    Attributes:
        progress: what blinded readers see too.
        policy: the policy's name.
        shown: how people are shown values, which are worth: the mean in its unit is `shown.sign` times the value.
        overall: all contexts together.
        contexts: each by itself.
        ignorable: whether those who comply are like those who do not: no trace of the proposal in the outcomes of an
            action. `takeup.check_ignorable`.
        exclusion: whether proposals act through actions alone. `takeup.check_exclusion`.
        seen_by_outcome: whether those whose action is known fare as the others; None where the policy makes nothing of
            compliance, or where there are not both. `takeup.check_seen`.
        model_doubt: why the policy's own model is not to be relied on; None where nothing speaks against it.
        sample_ratio: whether proposals came as their logged probabilities say.
        fallback_ratio: the same of what clients drew by themselves; None where they drew nothing.
        advice: what the stopping rule says.
    """

    progress: Progress
    policy: str
    shown: Shown
    overall: GroupSummary
    contexts: tuple[GroupSummary, ...]
    ignorable: ModelCheck | Withheld
    exclusion: ModelCheck | Withheld
    seen_by_outcome: SeenCheck | Withheld | None
    model_doubt: str | None
    sample_ratio: SampleRatio
    fallback_ratio: SampleRatio | None
    advice: StoppingAdvice


def summary_of(book: Book, late: int) -> TrialSummary:
    """The summary that a book with its whole time series shows: a function of the book alone."""
    design = book.design
    evidence = Evidence(design.space, book.counts)
    readings = _Readings.of(design, evidence, book)
    contexts = tuple(readings.at(x) for x in range(len(design.space.contexts)))
    ignorable, sample_ratio = ignorable_of(design, evidence), sample_ratio_of(book)
    doubt = _model_doubt(design.policy, ignorable)
    return TrialSummary(
        progress=progress_of(book, late),
        policy=design.policy.name,
        shown=design.space.outcome.shown,
        overall=contexts[0] if len(contexts) == 1 else readings.overall(),
        contexts=contexts,
        ignorable=ignorable,
        exclusion=exclusion_of(design, evidence),
        seen_by_outcome=seen_of(design, evidence),
        model_doubt=doubt,
        sample_ratio=sample_ratio,
        fallback_ratio=fallback_ratio_of(book),
        advice=_advice(book, contexts, doubt, sample_ratio),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Readings:
    """Posterior draws under each reading; the arrays are (draw, context, proposal or action)."""

    design: Design
    evidence: Evidence
    proposed: FloatArray
    model: FloatArray | None
    complied: FloatArray | None
    treated: FloatArray

    @classmethod
    def of(cls, design: Design, evidence: Evidence, book: Book) -> "_Readings":
        draws = summary_draws(design)
        rng = stream(0, "summary", book.trial, book.version, book.decisions)
        space = design.space

        def rewards(statistic: IntArray) -> FloatArray:
            return plain_block(design, statistic.shape[-2]).plus(statistic).sample_rewards(rng, (draws,))

        plain = plain_block(design, len(space.proposals)).plus(evidence.proposed_outcomes)
        proposed = plain.sample_rewards(rng, (draws,))
        state = state_with(design, book.seen_by(book.decisions + 1), book.models)
        same = believes(design.policy, state, plain, rng)
        return cls(
            design,
            evidence,
            proposed,
            proposed if same else values_by_model(design.policy, state, rng, draws),
            None if space.intended is None else rewards(evidence.complied_outcomes),
            rewards(evidence.implemented_outcomes),
        )

    def at(self, context: int) -> GroupSummary:
        """One context."""
        return self._group(self.design.space.contexts[context], slice(context, context + 1), np.ones(1))

    def overall(self) -> GroupSummary:
        """All contexts, each with its share of the decisions."""
        decisions = self.evidence.decisions.sum(axis=(1, 2))
        total = decisions.sum()
        weights = decisions / total if total else np.full(decisions.size, 1 / decisions.size)
        return self._group(None, slice(None), weights)

    def _group(self, context: str | None, inside: slice, weights: FloatArray) -> GroupSummary:
        """The contexts inside, with their weights."""
        made = self.evidence.decisions[inside].sum(axis=2)
        reason = not_identified(self.design, self.evidence)
        proposed = self.proposed[:, inside]
        regret = np.einsum("dxz,xz->d", proposed.max(axis=-1, keepdims=True) - proposed, made)
        return GroupSummary(
            context,
            int(made.sum()),
            self._proposals(inside, weights),
            self._actions(inside, weights) if reason is None else Withheld(reason),
            self._compliance(inside) if reason is None else Withheld(reason),
            estimate(regret, int(made.sum())),
        )

    def _proposals(self, inside: slice, weights: FloatArray) -> tuple[ProposalSummary, ...]:
        space, counts = self.design.space, self.evidence.counts[inside]
        known = space.outcome.seen(counts)
        values, best = weighted(self.proposed[:, inside], weights)
        model = None if self.model is None else weighted(self.model[:, inside], weights)
        complied = None if self.complied is None else weighted(self.complied[:, inside], weights)[0]
        seen = known.sum(axis=(0, 2))
        who = np.arange(len(space.proposals)), np.array(space.intended or [0] * len(space.proposals))
        followed = known[:, who[0], who[1]].sum(axis=0)
        made = self.evidence.decisions[inside].sum(axis=(0, 2))
        return tuple(
            ProposalSummary(
                label,
                int(made[z]),
                estimate(values[:, z], int(seen[z])),
                float(best[z]),
                None if model is None else estimate(model[0][:, z], int(seen[z])),
                None if model is None else float(model[1][z]),
                None if complied is None else estimate(complied[:, z], int(followed[z])),
            )
            for z, label in enumerate(space.proposals)
        )

    def _actions(self, inside: slice, weights: FloatArray) -> tuple[ActionSummary, ...]:
        counts = self.evidence.counts[inside]
        values, best = weighted(self.treated[:, inside], weights)
        outcomes = counts[..., :-1, : self.design.space.outcome.cells].sum(axis=(0, 1))
        seen = self.evidence.compliance[inside].sum(axis=(0, 1))
        return tuple(
            ActionSummary(
                label,
                int(seen[a]),
                estimate(values[:, a], int(outcomes[a].sum())),
                float(best[a]),
                shares(outcomes[a]),
            )
            for a, label in enumerate(self.design.space.implemented)
        )

    def _compliance(self, inside: slice) -> tuple[tuple[Estimate, ...], ...]:
        return tuple(shares(row) for row in self.evidence.compliance[inside].sum(axis=0))


def _advice(
    book: Book, contexts: Sequence[GroupSummary], doubt: str | None, sample_ratio: SampleRatio
) -> StoppingAdvice:
    """What the spec's stopping rule says; nothing once the trial has stopped."""
    rule = book.design.spec.stopping
    looks = look_advice(book.design, book.look)
    if book.state == "stopped":
        return StoppingAdvice(looks=looks)
    if looks is not None:
        return StoppingAdvice(looks.ended, (looks.sentence,) if looks.ended else (), looks=looks)
    spec = book.design.spec
    words = spec.words if spec.decisions == "one" and spec.words != WordsTable() else None
    by_model, withheld = rule.reading == "policy", None
    if rule.probability_best is None or (by_model and book.design.refused is not None):
        return advise(book.decisions, rule.maximum, (), words)
    if sample_ratio.alarm:
        withheld = "proposals did not come as often as the probabilities in the log say"
    elif by_model:
        withheld = doubt
    field, said = "model_probability_best" if by_model else "probability_best", []
    reading: Reading = "policy" if by_model else "intention to treat"
    for group in contexts:
        best = {each.label: getattr(each, field) for each in group.proposals}
        context = group.context if len(contexts) > 1 else None
        known = sum(each.value.n for each in group.proposals)
        where = "" if context is None else f" in the group {context}"
        few = f"{known} known outcomes{where} are too few to say which is best" if known < FEW else None
        reason = withheld or few
        said.append(most_probable(best, rule.probability_best, reading, context=context, withheld=reason))
    return advise(book.decisions, rule.maximum, said, words)


def _model_doubt(policy: LivePolicy, ignorable: ModelCheck | Withheld) -> str | None:
    """Why a policy's own model cannot be relied on, where it takes compliance for ignorable and it is not."""
    if not policy.ignorable:
        return None
    assumes = f"{policy.name} takes those who comply to be like those who do not"
    if isinstance(ignorable, Withheld):
        return f"{assumes}, which cannot be checked: {ignorable.reason}"
    return f"{assumes}, and they differ" if ignorable.alarm else None
