"""A scenario of people with covariates: what they take and how they fare, on average as it is written."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from takeup import checks
from takeup.checks import FloatArray
from takeup.covariates import ONE, Profile
from takeup.design.lines import intercept, line_of, number, offset, sizes
from takeup.design.truths import OFF
from takeup.environment import Environment
from takeup.errors import NOTHING, InputError
from takeup.outcomes import Levels, Number
from takeup.populations import CovariateEnvironment, Linear, Logit, Population, Table
from takeup.populations.models import Compliance, Outcomes
from takeup.populations.settling import settled
from takeup.space import Space

EFFECTS = ("prognostic", "modifiers", "taking")
"""What covariates may change: outcomes with any action, outcomes with any but the control's, and who takes what."""
NEVER = -60.0
"""The log odds of what nobody does: less than 1e-26."""
LARGE = 20_000_000
"""So many probabilities are worked out at a time."""


def unaffected(plain: Environment, space: Space, population: Population) -> CovariateEnvironment:
    """People to whom their covariates make no difference."""
    joint = plain.response[0]
    taken = joint.sum(axis=-1)
    even = np.full(joint.shape, 1 / joint.shape[-1])
    fared = np.divide(joint, taken[..., np.newaxis], out=even, where=taken[..., np.newaxis] > 0)
    return CovariateEnvironment(space, population, Table(taken), Table(fared[np.newaxis, np.newaxis]))


def affected(given: Mapping[str, Any], space: Space, population: Population, control: int) -> CovariateEnvironment:
    """People to whom they do, by effects that leave the averages of all who come as they are written.

    Args:
        given: a scenario's keys: success, or mean and sd; take_up, two_sided, and some of EFFECTS.
        space: with covariates.
        population: who comes.
        control: the control, or the first proposal.
    """
    probability, unit = population.atoms()
    compliance = _compliance(given, space, (probability, unit), control)
    outcome = _outcome(given, space, (probability, unit), control)
    found = CovariateEnvironment(space, population, compliance, outcome)
    if isinstance(outcome, Linear):
        _check_recorded(found, probability, unit, checks.real("mean", given["mean"]))
    return found


def modelled(given: Mapping[str, Any], space: Space, population: Population) -> CovariateEnvironment:
    """People whose models are written down: a logit or a table of compliance; of outcomes a line, too."""
    models: dict[str, Any] = {}
    for name in ("compliance", "outcome"):
        with checks.inside(name):
            models[name] = _model(given.get(name), space)
    share = given.get("share")
    return CovariateEnvironment(space, population, **models, **({} if share is None else {"share": share}))


def averaged(people: CovariateEnvironment) -> Environment:
    """p(a, y given z) of all who come: what there is of them to whoever leaves covariates out."""
    space = people.space
    probability, unit = people.population.atoms()
    share, total = np.asarray(people.share), np.zeros(space.shape[1:])
    part = max(1, LARGE // (total.size * share.shape[-1]))
    for first in range(0, len(probability), part):
        some = _some(unit, slice(first, first + part))
        taken = people.compliance.probabilities(some, space, "compliance")
        fared = people.outcome.probabilities(some, space, "outcome")
        weight = probability[first : first + part, np.newaxis] * share[some.context]
        joint = weight[..., np.newaxis, np.newaxis, np.newaxis] * taken[..., np.newaxis] * fared
        full = np.broadcast_to(joint, (*joint.shape[:1], share.shape[-1], *total.shape))
        total += full.sum(axis=(0, 1))
    total /= total.sum(axis=(-2, -1), keepdims=True)
    return Environment(space.without_covariates(), np.ones(1), total[np.newaxis])


def by_unit(people: CovariateEnvironment, nearly: float) -> tuple[FloatArray, FloatArray]:
    """What is proposed to everybody: the share to whom it is the best, and what it costs on average; (Kz,) each."""
    probability, unit = people.population.atoms()
    value = people.value(unit)
    highest = value.max(axis=-1, keepdims=True)
    return np.asarray(probability @ (value >= highest - nearly)), np.asarray(probability @ (highest - value))


def _some(unit: Profile, which: slice) -> Profile:
    return Profile(np.asarray(unit.context)[which], np.asarray(unit.features)[which])


def _line(given: Mapping[str, Any], name: str, space: Space) -> FloatArray:
    assert space.covariates is not None
    with checks.inside(name):
        return line_of(space.covariates, given.get(name))


def _modifiers(given: Mapping[str, Any], space: Space, control: int) -> FloatArray:
    """The line of each action beside that of all, (Ka, D): of covariates, for all but the control; or by action."""
    assert space.covariates is not None
    table, names = given.get("modifiers") or {}, space.covariates.names
    known = (*names, *(label for label in space.implemented if label not in names))
    found = np.zeros((len(space.implemented), space.covariates.size))
    with checks.inside("modifiers"):
        checks.keys(table, known)
        found += line_of(space.covariates, {name: each for name, each in table.items() if name in names})
        found[control] = 0.0
        for label, each in table.items():
            if label not in names:
                with checks.inside(label):
                    found[space.implemented.index(label)] += line_of(space.covariates, each)
    return found


def _outcome(given: Mapping[str, Any], space: Space, atoms: tuple[FloatArray, Profile], control: int) -> Outcomes:
    """A logit of success, or a line of means."""
    lines = _line(given, "prognostic", space) + _modifiers(given, space, control)
    probability, unit = atoms
    features = np.asarray(unit.features) / ONE
    scores, size = features @ lines.T, sizes(features, lines)
    if isinstance(space.outcome, Number):
        means = checks.real("mean", given["mean"])
        lines[:, 0] = [offset(mean, scores[:, a], probability, size[a]) for a, mean in enumerate(means)]
        return Linear(lines, number("sd", given["sd"]))
    rates = checks.real("success", given["success"])
    if rates.min() <= 0 or rates.max() >= 1:
        raise InputError("success", rates.tolist(), "rates above 0 and below 1, where covariates change them")
    lines[:, 0] = [intercept(rate, scores[:, a], probability, size[a]) for a, rate in enumerate(rates)]
    assert isinstance(space.outcome, Levels)
    return Logit.of_success(lines if np.argmax(space.outcome.utility) else -lines)


def _compliance(given: Mapping[str, Any], space: Space, atoms: tuple[FloatArray, Profile], control: int) -> Compliance:
    """Whoever is offered a proposal takes it, or does as with the control; a table where nobody differs."""
    take_up, always, proposals = given["take_up"], given["two_sided"], len(space.proposals)
    second = (control + 1) % proposals
    line = _line(given, "taking", space)
    if not line.any() or take_up >= 1:
        share = np.diag(np.full(proposals, take_up))
        share[:, control] += 1 - take_up
        share[control] = 0.0
        share[control, [control, second]] = 1 - always, always
        return Table(share)
    probability, unit = atoms
    features = np.asarray(unit.features) / ONE
    line[0] = intercept(take_up, features @ line, probability, float(sizes(features, line)))
    found = np.zeros((proposals, proposals, line.size))
    found[..., 0] = NEVER
    found[:, control] = 0.0
    found[np.arange(proposals), np.arange(proposals)] = line
    found[control, control] = 0.0
    if always:
        found[control, second, 0] = settled(math.log(always / (1 - always)), 1.0)
    return Logit(found)


def _model(given: Any, space: Space) -> Table | Logit | Linear:
    """A model of its coefficients, which have the axes that `takeup.populations` says."""
    if not isinstance(given, Mapping):
        if given is None:
            raise InputError("model", NOTHING, "{ logit = [..] }, { linear = [..] } or a table of probabilities")
        return Table(checks.real("probability", given))
    checks.keys(given, ("logit", "linear", "sd"))
    if ("logit" in given) == ("linear" in given):
        raise InputError("model", ", ".join(given) or NOTHING, "either logit or linear, with their coefficients")
    if "linear" in given:
        return Linear(given["linear"], None if "sd" not in given else number("sd", given["sd"]))
    return Logit(given["logit"])


def _check_recorded(people: CovariateEnvironment, probability: FloatArray, unit: Profile, written: FloatArray) -> None:
    """An error where rounding and the ends of the range move a mean by more than they may."""
    assert isinstance(people.outcome, Linear)
    assert people.outcome.sd is not None
    space, recorded = people.space, np.zeros(written.size)
    part = max(1, LARGE // (written.size * space.outcome.size))
    for first in range(0, len(probability), part):
        some = _some(unit, slice(first, first + part))
        fared = people.outcome.probabilities(some, space, "outcome")[:, 0, 0]
        recorded += probability[first : first + part] @ (fared @ space.outcome.worths)
    recorded *= space.outcome.shown.sign
    if (np.abs(recorded - written) > OFF * people.outcome.sd).any():
        raise InputError(
            "mean",
            f"what is recorded as {', '.join(f'{each:.6g}' for each in recorded)} on average",
            "outcomes that keep their mean where they are rounded and cut off as the space says",
            "widen the range, take smaller steps, or smaller effects of covariates",
        )
