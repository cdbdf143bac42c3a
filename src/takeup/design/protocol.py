"""What a protocol says of a plan, in words: why and what, looks and rules, what adapts, what is estimated."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from takeup.charts.document import ReportTable, Section
from takeup.checks import FloatArray
from takeup.design.pictures import some_looks
from takeup.design.plan import Plan
from takeup.design.scenarios import NEARLY
from takeup.outcomes import Levels
from takeup.policies.base import Carded
from takeup.policies.meeting import uses_covariates
from takeup.trial.rules import BoundedTable

RULES = {
    "superiority": "superior above",
    "inferiority": "dropped below",
    "equivalence": "equivalent above",
    "futility": "futile above",
}
READINGS = {
    "intention to treat": """The rules compare what it is worth to offer each proposal, whoever then took it: what
people do with the offer is part of what is compared (a treatment policy strategy). This assumes nothing about who
complies or why. It says little of what the treatment does to those who take it, and needs more units the fewer do.""",
    "adjusted": """The rules compare what it is worth to offer each proposal to all who came, whoever then took it, at
equal covariates: a line through the outcomes of each proposal is read at the average of all. Offers that depend on
covariates then mislead nobody, as far as outcomes follow a line in them. This assumes nothing about who complies.""",
    "policy": """The rules read the policy's own model of compliance and outcomes. Their error holds where that model
does.""",
    "compliers": """The rules read the effect among those who do as they are told, whatever that is (a principal
stratum). This assumes that an offer acts through what is taken alone, that nobody does the opposite of what is
offered, and that offers were made at random.""",
}
BOUNDED = """The rules read compliance and outcomes apart, and allow for a difference between those who take and those
who refuse: without the treatment they would differ by at most {bound:g}. The error is kept while that promise holds,
and no longer where it is broken. A large bound is intention to treat."""
INTEGRITY = """Nobody who recruits, treats or assesses sees results by arm, probabilities of proposals or advice
before the trial has ended. Their keys of the service are without the scope read-unblinded: they are told of the
decisions that they asked for, of counts and of nothing by arm.

Those who read results by arm, such as a data monitoring committee and the statistician who prepares its reports, have
keys with read-unblinded. Advice comes at the planned looks alone, by these rules, and is no more than advice: somebody
has to stop the trial, and the log says who did.

Every proposal is drawn from logged probabilities by a secret seed. The log is chained by hashes, and takeup audit
derives each decision again from it. What was planned is stored with the trial and cannot be changed once it has
started."""


def description(plan: Plan) -> Section:
    """Why, and what."""
    space, spec = plan.space, plan.design.spec
    why = spec.description or "The plan says nothing of why it adapts: give it a `description`, which is shown here."
    if isinstance(space.outcome, Levels):
        worth = [f"{label} (worth {u:g})" for label, u in zip(space.outcomes, space.utility, strict=True)]
        outcome = f"The outcome is {' or '.join(worth)}; more is better."
    else:
        outcome = f"The outcome is {space.outcome.sentence}."
    arms = [f"Units are offered {_either(space.proposals)}."]
    if space.implemented != space.proposals:
        arms.append(f"What is done in the end is {_either(space.implemented)}.")
    covariates = plan.design.space.covariates
    if covariates is not None:
        used = "proposals depend on it" if uses_covariates(plan.design.policy) else "no proposal depends on it"
        arms.append(f"Known of each before is {', '.join(covariates.names)}; {used}.")
    size = f"At most {int(plan.looks.at[-1]):,} units are randomised."
    return Section(
        name="description",
        title="Rationale and description of the design",
        text=(why, " ".join([*arms, outcome, size])),
    )


def looks(plan: Plan) -> Section:
    """When it is looked at, and by which rules it ends."""
    rules, labels, at = plan.rules, plan.space.proposals, plan.looks
    given: dict[str, FloatArray] = {name: each for name in RULES if (each := getattr(rules, name)) is not None}
    text = []
    if rules.control is None:
        text.append(
            "Each proposal is compared with all others. Whatever is the best with less than the threshold is dropped, "
            "again and again; then the best is superior above its threshold, or where it is alone."
        )
    else:
        then = "takes its place" if rules.replace else "ends the trial"
        text.append(
            f"Each proposal is compared with the control, at first {labels[rules.control]}. One that is better with "
            f"more than the threshold {then}."
        )
    if rules.equivalence is not None:
        text.append(f"Equivalent means to differ by less than {rules.equivalence_margin:g}, in units of the outcome.")
    if rules.futility is not None:
        text.append(f"Futile means to exceed the control by less than {rules.futility_margin:g}, likewise.")
    if not given:
        text.append("No rule ends the trial before its last look.")
    text.append("All inequalities are strict, and all thresholds are probabilities under the policy's priors.")
    shown = some_looks(at.at.size)
    rows = tuple(
        (str(i + 1), f"{at.at[i]:,}", f"{at.randomised[i]:,}", *(f"{each[i]:.6g}" for each in given.values()))
        for i in shown
    )
    columns = ("look", "outcomes known", "randomised", *(RULES[name] for name in given))
    left_out = "" if len(shown) == at.at.size else f"; {len(shown)} of {at.at.size} looks"
    table = ReportTable(f"The looks, and the thresholds at each{left_out}", columns, rows)
    return Section(name="looks", title="Interim looks and rules", text=(" ".join(text),), tables=(table,))


def adaptation(plan: Plan) -> Section:
    """What changes while the trial goes on, and how."""
    policy, limits = plan.design.policy, plan.limits
    when = "at each look and stay in between" if plan.looks.update == "look" else "after every outcome"
    text = [
        f"What adapts is with which probability each proposal is made, and which are still made. They change {when}."
    ]
    if isinstance(policy, Carded):
        card = policy.card
        text.append(f"The policy is {policy.name} ({card.source}). {card.variants[0].sentence}")
        text.append(f"What it makes of compliance: {card.compliance}.")
    else:
        text.append(f"The policy is {policy.name}.")
    floor, ceiling = np.broadcast_arrays(limits.floor, limits.ceiling)
    if floor.max() > 0 or ceiling.min() < 1:
        how = "by one factor" if limits.rule == "proportional" else "by one amount"
        text.append(
            f"No proposal that is still made is less probable than {_range(floor)} or more than {_range(ceiling)}; the "
            f"others are changed {how} to make room."
        )
    if (np.asarray(plan.soften) != 1).any():
        text.append(f"Probabilities are softened: each is taken to the power {_range(np.asarray(plan.soften))} first.")
    if plan.control_share is not None:
        text.append(f"The control has a share of its own: {plan.control_share}.")
    if plan.design.spec.burn_in:
        text.append(f"The first {plan.design.spec.burn_in:,} units are spread evenly.")
    return Section(name="adaptation", title="What is adapted, and by which algorithm", text=(" ".join(text),))


def estimand(plan: Plan) -> Section:
    """What is compared, and what is made of those who do not do as they are told."""
    reading = plan.reading
    words = [READINGS[reading] if isinstance(reading, str) else BOUNDED.format(bound=reading.bounded)]
    policy = plan.design.policy
    if reading == "policy" and isinstance(policy, Carded) and policy.card.ignorable:
        words.append(f"{policy.name} takes those who comply to be like those who do not: nobody can promise that.")
    analysis = plan.design.spec.analysis
    if analysis is not None:
        words.append(
            f"What will be reported: the {analysis.contrast} by the reading {_named(analysis.reading)}, with intervals "
            f"of {analysis.confidence:.4g}, {'one' if analysis.sided == 1 else 'two'}-sided."
        )
    return Section(
        name="estimand",
        title="Estimand, and how noncompliance is treated",
        text=(f"Reading: {_named(reading)}.", *words),
    )


def scenarios(plan: Plan, names: Mapping[str, Any]) -> Section:
    """The truths in which the plan was tried, and why."""
    labels = plan.space.proposals
    rows, nulls = [], 0
    for name in names:
        truth, written = plan.scenarios[name], dict(plan.content["scenarios"][name])
        written.pop("role", None)
        values = truth.values
        nulls += truth.role == "null"
        best = [label for label, value in zip(labels, values, strict=True) if value > values.max() - NEARLY]
        why = "to find nothing: any finding is an error" if truth.role == "null" else f"to find {_either(best)}"
        rows.append((name, truth.role, why, _written(written), *(f"{value:.4g}" for value in values)))
    columns = ("scenario", "role", "why", "as written", *(f"offering {label}" for label in labels))
    table = ReportTable("The scenarios, and what offering each proposal is worth in them", columns, tuple(rows), 4)
    text = (
        f"The plan was tried in {len(rows)} truths, {nulls} of them null scenarios. Errors are known for these alone: "
        "other rates, or people who comply in other ways, may have larger ones. All units of a scenario are alike over "
        "time unless it says otherwise, and no outcome is missing."
    )
    return Section(name="scenarios", title="Scenarios", text=(text,), tables=(table,))


def integrity() -> Section:
    """Who may see what."""
    return Section(name="integrity", title="Trial integrity: who may see what", text=tuple(INTEGRITY.split("\n\n")))


def _named(reading: str | BoundedTable) -> str:
    return reading if isinstance(reading, str) else f"bounded by {reading.bounded:g}"


def _written(table: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {json.dumps(value)}" for key, value in table.items())


def _range(values: FloatArray) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:g}" if low == high else f"{low:g} to {high:g} (by proposal or look)"


def _either(names: Any) -> str:
    each = list(names)
    return each[0] if len(each) == 1 else f"{', '.join(each[:-1])} or {each[-1]}"
