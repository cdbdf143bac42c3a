"""Traces as polars frames and as Parquet files."""

import json
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from takeup.checks import IntArray
from takeup.errors import InputError, MissingExtraError
from takeup.outcomes import Levels
from takeup.policies.registry import kinds
from takeup.simulation.setup import Setup
from takeup.simulation.trace import QUANTILES, Trace
from takeup.simulation.units import features_met
from takeup.space import Axis, Space

try:
    import polars as pl
except ImportError as error:
    raise MissingExtraError("polars", "sim") from error

METADATA = "takeup"
"""Where in a Parquet file the spec is."""


def replications(trace: Trace) -> pl.DataFrame:
    """A row a replication: environment, policy, replication, regret, and how often each proposal was made."""
    space = trace.setup.space
    names = list(product(space.contexts, space.proposals))
    pulls = trace.pulls.reshape(-1, len(names))
    columns = {
        f"proposed {z}" + (f" in {x}" if len(space.contexts) > 1 else ""): pulls[:, i] for i, (x, z) in enumerate(names)
    }
    return _keys(trace).with_columns(regret=pl.Series(trace.regret[..., -1].ravel())).with_columns(**columns)


def curves(trace: Trace) -> pl.DataFrame:
    """A row a recorded step: mean, sd, standard error and quantiles of the regret over replications."""
    keys = list(product(trace.setup.environments, trace.setup.policies, trace.setup.steps.tolist()))
    sd = (
        trace.regret.std(axis=2, ddof=1) if trace.replications.size > 1 else np.full_like(trace.regret[:, :, 0], np.nan)
    )
    statistics = {"mean": trace.regret.mean(axis=2), "sd": sd, "standard_error": sd / np.sqrt(trace.replications.size)}
    for q in QUANTILES:
        statistics[f"q{round(100 * q):02d}"] = np.quantile(trace.regret, q, axis=2)
    frame = pl.DataFrame(keys, schema={"environment": pl.String, "policy": pl.String, "step": pl.Int64}, orient="row")
    return frame.with_columns(**{name: array.ravel() for name, array in statistics.items()})


def decisions(trace: Trace) -> pl.DataFrame:
    """A row a decision, in names; outcomes that are no levels as numbers, or in words where one is more than that."""
    named = {
        axis: _named(trace.setup.space, axis, index.ravel())
        for axis, index in zip(get_args(Axis), trace.unpacked(), strict=True)
    }
    keys = _keys(trace)
    rows = keys.select(pl.all().repeat_by(trace.setup.horizon).explode())
    steps = np.tile(np.arange(1, trace.setup.horizon + 1), len(keys))
    return rows.with_columns(step=steps).with_columns(**named).with_columns(**_covariates(trace))


def _covariates(trace: Trace) -> dict[str, pl.Series]:
    """A column for each covariate, called as exports call it."""
    setup, covariates = trace.setup, trace.setup.space.covariates
    if covariates is None:
        return {}
    places = product(range(len(setup.environments)), range(len(setup.policies)), trace.replications.tolist())
    features = np.concatenate([features_met(setup, *place) for place in places])
    different, which = np.unique(features, axis=0, return_inverse=True)
    values = [covariates.values(row) for row in different.tolist()]
    back = which.reshape(-1)
    return {f"covariates.{name}": pl.Series([each[name] for each in values])[back] for name in covariates.names}


def _named(space: Space, axis: Axis, index: IntArray) -> pl.Series:
    """What these indices stand for."""
    if axis != "outcome" or isinstance(space.outcome, Levels):
        return pl.Series(np.array(space.names(axis))[index], dtype=pl.String)
    codes, which = np.unique(index, return_inverse=True)
    plain = [space.outcome.plain(int(code)) for code in codes]
    if any(isinstance(each, dict) for each in plain):
        return pl.Series(np.array([space.outcome.text(int(code)) for code in codes])[which], dtype=pl.String)
    return pl.Series(np.array(plain)[which])


def write(trace: Trace, path: str | Path) -> None:
    """A row a replication with its arrays, and the spec in the file's metadata; replaces the file as a whole."""
    for policy in trace.setup.policies.values():
        if kinds().get(type(policy).__name__) is not type(policy):
            allowed = "policies that a file can be read back into"
            raise InputError("policies", type(policy).__name__, allowed, "takeup.policies.register makes one known")
    spec = json.dumps(trace.setup.spec(), default=_refuse)
    rows = len(trace.setup.environments) * len(trace.setup.policies) * trace.replications.size
    frame = _keys(trace)
    for name in ("regret", "pulls", "decisions"):
        flat = getattr(trace, name).reshape(rows, -1)
        if flat.shape[1]:
            frame = frame.with_columns(pl.Series(name, flat))
    target = Path(path)
    part = target.with_name(target.name + ".part")
    frame.write_parquet(part, metadata={METADATA: spec})
    part.replace(target)


def read(path: str | Path) -> Trace:
    """What `write` wrote; an InputError where the file is something else."""
    try:
        spec = json.loads(pl.read_parquet_metadata(path)[METADATA])
        frame = pl.read_parquet(path)
    except (KeyError, OSError, pl.exceptions.PolarsError, ValueError) as error:
        raise InputError("path", f"{path} ({error})", "a Parquet file that takeup has written") from error
    setup = Setup.of(spec)
    batch = (len(setup.environments), len(setup.policies), -1)

    def array(name: str, *tail: int) -> NDArray[Any]:
        return frame[name].to_numpy().reshape(batch + tail)

    regret = array("regret", setup.steps.size)
    none = np.zeros((*regret.shape[:3], 0), dtype=np.uint8)
    return Trace(
        setup,
        array("replication")[0, 0],
        regret,
        array("pulls", *setup.space.shape[:2]),
        array("decisions", setup.horizon) if setup.full else none,
    )


def _refuse(value: object) -> None:
    """What a file cannot say: nothing but a policy of one's own has such a part."""
    allowed = "policies that can be written down: dataclasses of numbers and texts"
    raise InputError("policies", type(value).__name__, allowed, "make it a frozen dataclass")


def _keys(trace: Trace) -> pl.DataFrame:
    """Environment, policy and replication of each row, in the order of the arrays."""
    pairs = list(product(trace.setup.environments, trace.setup.policies))
    count = trace.replications.size
    return pl.DataFrame(
        {
            "environment": np.repeat([environment for environment, _ in pairs], count),
            "policy": np.repeat([policy for _, policy in pairs], count),
            "replication": np.tile(trace.replications, len(pairs)),
        }
    )
