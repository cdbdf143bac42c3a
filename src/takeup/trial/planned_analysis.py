"""Which analyses a plan may name: each of them gives an answer from an ordinary log; the others are refused here."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from takeup.conjugates.quadrature import LEAST_SHAPE
from takeup.errors import InputError
from takeup.outcomes import Count, Levels, Outcome, Time
from takeup.policies import TS, Uniform
from takeup.space import Space
from takeup.specfile import Table
from takeup.trial.rules import BoundedTable
from takeup.trial.spec import AnalysisTable, Contrast

if TYPE_CHECKING:
    from takeup.trial.design import Design

ITT = "intention to treat"
Problem: TypeAlias = tuple[str, object, str]
"""A key, its value, and what is allowed instead, with the reason."""


def measures(outcome: Outcome) -> tuple[Contrast, ...]:
    """How proposals can be compared by intention to treat, whatever is chosen first."""
    if isinstance(outcome, Time):
        return ("difference", "hazard ratio")
    if isinstance(outcome, Count):
        return ("difference", "rate ratio")
    if isinstance(outcome, Levels) and outcome.size == 2:
        low, high = sorted(outcome.utility)
        if (low, high) == (0.0, 1.0):
            return ("difference", "ratio", "odds ratio")
        return ("difference", "ratio") if low >= 0 else ("difference",)
    return ("difference",)


def larger_is_better(space: Space, measure: str) -> bool:
    """Whether what is measured is larger where outcomes are better: hazards are where the event comes sooner."""
    return bool((space.outcome.shown.sign > 0) != (measure == "hazard ratio"))


def check_analysis(design: "Design") -> None:
    """An InputError for an analysis that would give no answer; it says what to choose."""
    if design.spec.analysis is None:
        return
    for key, value, allowed in problems(design, design.spec.analysis):
        raise InputError(key, _shown(value), allowed)


def problems(design: "Design", table: AnalysisTable) -> Iterator[Problem]:
    """All that keeps a planned analysis from giving an answer."""
    yield from _of_reading(design, table)
    yield from of_intervals(design.space, table)
    if (why := _no_test(design, table)) is not None:
        yield "test", table.test, why


def not_replayable(design: "Design", *, stronger: bool = False) -> str:
    """Why trials of this design cannot be replayed whatever came of them; empty where they can."""
    if design.refused:
        return design.refused
    policy, reading = design.policy, design.spec.stopping.reading
    if design.shown.covariates is not None:
        return f"{policy.name} learns from covariates, and replays propose by context alone"
    if design.epochs is not None:
        return f"{policy.name} counts decisions by when they were made, which replays do not"
    if design.spec.edge.allowed:
        return (
            "leases decide from what was known when they were given, and replays from what was known at each decision"
        )
    if policy.compliance != "not used" and not stronger:
        return f"{policy.name} reads what was implemented, and what would have been after another proposal is not known"
    if may_end(design) and reading not in (ITT, "policy") and not stronger:
        return (
            "the rules at looks read what was implemented, and what would have been after another proposal is not known"
        )
    return ""


def may_end(design: "Design") -> bool:
    """Whether looks may end a trial or drop proposals."""
    rules = design.rules
    return any(each is not None for each in (rules.superiority, rules.inferiority, rules.equivalence, rules.futility))


def not_exact(design: "Design") -> str:
    """Why the conditional exact test is not for trials of this design; empty where it is."""
    from takeup.trial.success_tables import prior_of

    space, looks = design.space, design.looks
    levels = space.outcome.kind == "level" and space.outcome.size == 2
    if len(space.proposals) != 2 or not levels or len(space.contexts) > 1:
        return "it is for two proposals, two outcomes and one context"
    if design.refused:
        return design.refused
    if design.spec.edge.allowed:
        return "it is for decisions that know all before them, and leases do not; betting takes any"
    if may_end(design):
        return "it is for trials that no look can end; re-randomisation takes looks as they are"
    if type(design.policy) not in (TS, Uniform) or design.control_share is not None:
        return f"it is for TS and Uniform without a share of the control, not for {design.policy.name}"
    if prior_of(design).min() < LEAST_SHAPE:
        return f"it needs a prior of at least {LEAST_SHAPE:g}, not {prior_of(design).min():g}"
    if looks is not None and looks.update == "look" and design.spec.burn_in > looks.at[0]:
        return f"the burn-in of {design.spec.burn_in} goes beyond the first look, at {looks.at[0]}"
    return ""


def _of_reading(design: "Design", table: AnalysisTable) -> Iterator[Problem]:
    reading, space = table.reading, design.space
    if reading == "policy":
        allowed = (
            f"'{ITT}', 'compliers', 'per protocol' or {{ bounded = .. }}: a policy's own model has no interval that"
            " survives adaptation, and `Trial.summary` shows what it believes"
        )
        yield "reading", reading, allowed
    elif reading != ITT:
        if not space.outcome.valued:
            yield "reading", reading, f"'{ITT}', as outcomes are a {space.outcome.kind} that may be cut short"
        if design.spec.compliance == "never":
            yield "reading", reading, f"'{ITT}', as compliance is never reported"
        if space.intended is None and not isinstance(reading, BoundedTable):
            allowed = f"'{ITT}', or intended actions in [space]: nobody says what complying with a proposal means"
            yield "reading", reading, allowed


def of_intervals(space: Space, table: AnalysisTable) -> Iterator[Problem]:
    """What keeps a table from an interval, whatever the design is."""
    outcome, several = space.outcome, len(space.contexts) > 1
    known = measures(outcome)
    if table.contrast not in known:
        yield "contrast", table.contrast, f"{' or '.join(map(repr, known))}, as an outcome is a {outcome.kind}"
    by_scores = table.reading == ITT and outcome.valued and table.contrast in ("difference", "ratio", "odds ratio")
    if table.any_time and not (by_scores and table.contrast == "difference"):
        allowed = f"false, or reading = '{ITT}' and contrast = 'difference' of outcomes that are never cut short"
        yield "any_time", True, f"{allowed}; test = 'betting' holds at any time with every reading"
    if table.weights != "uniform" and (not by_scores or table.any_time):
        allowed = f"'uniform'; others are of reading = '{ITT}' of outcomes with a mean, at one look"
        yield "weights", table.weights, allowed
    if table.weights == "batch" and several:
        yield "weights", table.weights, "'uniform' or 'stabilised', as batches of several contexts mix"
    if table.missing != "complete" and (not by_scores or table.any_time):
        allowed = (
            f"'complete'; weights for what is missing are of reading = '{ITT}' of outcomes with a mean, at one look"
        )
        yield "missing", table.missing, allowed
    if table.missing != "complete" and table.weights == "batch":
        yield "missing", table.missing, "'complete' with weights = 'batch', or weights = 'stabilised'"
    if table.until is not None and not isinstance(outcome, Time):
        yield "until", table.until, f"nothing, as an outcome is a {outcome.kind}, not a time"
    elif table.until is not None and isinstance(outcome, Time) and not 0 < table.until <= outcome.longest:
        yield "until", table.until, f"a time above 0, at most the longest watch, {outcome.longest:g}"


def _no_test(design: "Design", table: AnalysisTable) -> str | None:
    """Why a test cannot be had, with what can; None where it can."""
    valued, kind = design.space.outcome.valued, design.space.outcome.kind
    if table.test == "betting" and table.sided == 1:
        return "another test, or sided = 2: betting looks on both sides"
    if table.test in ("martingale score", "re-randomisation") and not valued:
        return f"'betting', or none: the outcome is a {kind} that may be cut short, and has no mean to compare"
    if table.test == "re-randomisation" and (why := not_replayable(design)):
        return f"'betting', 'martingale score' or none: {why}"
    if table.test == "re-randomisation" and len(design.space.proposals) > 2:
        return "'betting', 'martingale score' or none: replays speak of all proposals together, not of two of more"
    if table.test == "conditional exact" and (why := not_exact(design)):
        return f"another test or none: {why}"
    return None


def _shown(value: object) -> str:
    return repr(value.model_dump(mode="json") if isinstance(value, Table) else value)
