"""Environments with covariates as the tables that kernels read."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray
from takeup.covariates import Covariates
from takeup.outcomes import Number
from takeup.populations import CovariateEnvironment, Independent, Linear, Logit, Resampled, Table
from takeup.populations import Population as AnyPopulation
from takeup.populations.models import What
from takeup.simulation.kernels.streams import key_of
from takeup.simulation.kernels.tables import alias_table
from takeup.simulation.kernels.units import LOGIT, NORMAL, RATE, TABLE, Model, Population, Truths
from takeup.simulation.kernels.vectors import padded
from takeup.space import Space


def has_tables(environment: CovariateEnvironment) -> bool:
    """Whether there are tables of who comes; a population of one's own has none."""
    return type(environment.population) in (Independent, Resampled)


def truths(environments: Sequence[CovariateEnvironment], seed: int) -> Truths:
    """The tables of these environments, all of one space."""
    space = environments[0].space
    outcome = space.outcome
    grid = (outcome.low, outcome.step) if isinstance(outcome, Number) else (0.0, 1.0)
    sds = [each.outcome.sd or 0.0 if isinstance(each.outcome, Linear) else 0.0 for each in environments]
    most = max(np.shape(each.share)[-1] for each in environments)
    return Truths(
        np.stack([key_of(seed, each.fingerprint()) for each in environments]),
        _population(environments, space),
        np.stack([_padded(np.asarray(each.share), most) for each in environments]),
        _stacked([_model(each.compliance, space, "compliance") for each in environments]),
        _stacked([_model(each.outcome, space, "outcome") for each in environments]),
        np.ascontiguousarray(space.reward, dtype=np.float64),
        np.array([(sd, *grid) for sd in sds]),
    )


def _population(environments: Sequence[CovariateEnvironment], space: Space) -> Population:
    covariates = space.covariates
    assert covariates is not None
    contexts, proposals = space.shape[:2]
    tables = [kind.table() for kind in covariates.kinds]
    start = np.cumsum([0, *(len(each) for each in tables)])
    block = np.zeros((start[-1], max(each.shape[1] for each in tables)), dtype=np.int32)
    for at, each in zip(start, tables, strict=False):
        block[at : at + len(each), : each.shape[1]] = each
    people = [(each, each.population) for each in environments if isinstance(each.population, Resampled)]
    many = np.array([len(e.population.context) if isinstance(e.population, Resampled) else 0 for e in environments])
    arrivals = [_arrivals(each.population, start, contexts) for each in environments]
    context_threshold, context_alias, value_threshold, value_alias = map(np.stack, zip(*arrivals, strict=True))
    one = np.zeros(1, dtype=np.int64)  # no array is empty, which no engine likes
    return Population(
        many,
        np.cumsum(many) - many,
        np.concatenate([*(listed.context for _, listed in people), one]).astype(np.int32),
        np.concatenate([*(listed.features for _, listed in people), np.zeros((1, covariates.size))]).astype(np.int32),
        np.concatenate([*(each.value(listed.atoms()[1]) for each, listed in people), np.zeros((1, proposals))]),
        context_threshold,
        context_alias,
        value_threshold,
        value_alias,
        block,
        start,
        np.array([each.shape[1] for each in tables]),
        _pairs(covariates),
    )


def _arrivals(population: AnyPopulation, start: IntArray, contexts: int) -> tuple[NDArray[Any], ...]:
    """Alias tables of contexts and of the values of covariates; of a list, some that are not used."""
    shares = [np.full(n, 1 / n) for n in (contexts, *np.diff(start))]
    if isinstance(population, Independent):
        shares = [np.asarray(each) for each in (population.context, *population.shares.values())]
    found = [alias_table(each[np.newaxis]) for each in shares]
    threshold, alias = (np.concatenate([pair[i][0] for pair in found[1:]]) for i in range(2))
    return found[0][0][0], found[0][1][0], threshold, alias


def _pairs(covariates: Covariates) -> IntArray:
    """The places of features that interact, in the order of their products."""
    places, at = {}, 1
    for name, kind in zip(covariates.names, covariates.kinds, strict=True):
        places[name] = range(at, at + len(kind.parts))
        at += len(kind.parts)
    found = [both for one, other in covariates.interactions for both in product(places[one], places[other])]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _model(model: Table | Logit | Linear, space: Space, what: What) -> Model:
    """One scenario's model, its arrays without the first axis."""
    assert space.covariates is not None
    array = np.asarray(model.probability if isinstance(model, Table) else model.coefficients)
    if isinstance(model, Table):
        kind, array = TABLE, array[..., np.newaxis]
    elif isinstance(model, Logit):
        kind = LOGIT
    elif isinstance(space.outcome, Number):
        kind, array = NORMAL, array[..., np.newaxis, :]
    else:
        kind, array = RATE, np.stack([np.zeros_like(array), array], axis=-2)
    axes = 5 if what == "compliance" else 6  # (u, x, z, [a], class, v), of which leading ones may be left out
    array = array.reshape((1,) * (axes - array.ndim) + array.shape)
    if what == "compliance":
        array = array[:, :, :, np.newaxis]
    by_context = np.moveaxis(array, (1, 5), (0, 1))
    types, proposals, actions, classes = by_context.shape[2:]
    cells = by_context.reshape(*by_context.shape[:2], -1)
    width = padded(cells.shape[-1])
    number = np.zeros((space.shape[0], space.covariates.size, width))
    number[:, : cells.shape[1], : cells.shape[2]] = cells
    stride = [proposals * actions * (types > 1), actions * (proposals > 1), int(actions > 1)]
    return Model(kind, classes, types * proposals * actions, stride, width, number)


def _stacked(models: Sequence[Model]) -> Model:
    """Models side by side."""
    most = max(each.width for each in models)
    numbers = np.concatenate([_padded(each.number, most).ravel() for each in models])
    return Model(
        np.array([each.kind for each in models]),
        np.array([each.classes for each in models]),
        np.array([each.groups for each in models]),
        np.array([each.stride for each in models], dtype=np.int64),
        most,
        numbers,
    )


def _padded(array: FloatArray, width: int) -> FloatArray:
    """The array with zeros at the end of its last axis."""
    return np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, width - array.shape[-1])])
