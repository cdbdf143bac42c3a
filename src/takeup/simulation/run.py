"""`simulate`: environments, policies, a horizon and replications in, a Trace out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from takeup import checks
from takeup.checks import IntArray
from takeup.errors import EngineError, InputError, MismatchError
from takeup.policies import Policy
from takeup.policies.base import FUNCTIONS
from takeup.policies.meeting import space_for
from takeup.simulation import reference
from takeup.simulation.engine import Choice, Engine, Progress, silent
from takeup.simulation.reporting import Reporting
from takeup.simulation.setup import AnyEnvironment, Setup
from takeup.simulation.trace import Trace

EngineName: TypeAlias = Literal["auto", "reference", "cpu", "gpu", "dask"]
Record: TypeAlias = Literal["summary", "curve", "full"]
Environments: TypeAlias = AnyEnvironment | Sequence[AnyEnvironment] | Mapping[str, AnyEnvironment]
Policies: TypeAlias = Policy[Any] | Sequence[Policy[Any]] | Mapping[str, Policy[Any]]

CURVE = 100
"""How many steps a curve has where they are not chosen."""

MOST = 2**31 - 1
"""The largest horizon, and the largest number of a replication: kernels count in 32 bits."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A simulation that has been checked and can be run, in as many parts as one likes.

    Attributes:
        setup: what is simulated.
        engines: what runs each policy.
        asked: the engine that was asked for.
        choices: what was picked for each policy, once it has been.
    """

    setup: Setup
    engines: tuple[Engine, ...]
    asked: EngineName = "auto"
    choices: tuple[Choice, ...] = ()

    def picked(self, replications: int, *, device: bool = False) -> "Plan":
        """The same with the faster forms of the CPU's kernels for so many replications, to the bit the same numbers.

        The engine `auto` measures what a step costs and picks by that; of `cpu` the time is measured alone.

        Args:
            replications: how many.
            device: whether `auto` may take a GPU where it is faster, whose numbers may differ in a last bit.
        """
        from takeup.simulation import compiled

        free = self.asked == "auto"
        choices = []
        for engine, policy, name in zip(self.engines, self.setup.policies.values(), self.setup.engines, strict=True):
            if engine is compiled.run_cpu:
                choices.append(compiled.picked(self.setup, policy, replications, free=free, device=device and free))
            else:
                choices.append(Choice("dask" if self.asked == "dask" else name))
        planned = self.like([choice.engine for choice in choices])
        engines = (
            partial(engine, form=choice.form) if engine is compiled.run_cpu else engine
            for engine, choice in zip(planned.engines, choices, strict=True)
        )
        return replace(planned, engines=tuple(engines), choices=tuple(choices))

    def like(self, engines: Sequence[str]) -> "Plan":
        """The same, but that `auto` takes a GPU in place of the CPU for those policies whose engine is one here."""
        from takeup.simulation import compiled

        if self.asked != "auto" or "gpu" not in engines or len(engines) != len(self.engines):
            return self
        names, runs = list(self.setup.engines), list(self.engines)
        for i, name in enumerate(engines):
            if name == "gpu" and runs[i] is compiled.run_cpu:
                names[i], runs[i] = "gpu", compiled.run_gpu
        return replace(self, setup=replace(self.setup, engines=tuple(names)), engines=tuple(runs))

    def run(self, replications: range, progress: Progress = silent) -> Trace:
        """These replications."""
        setup = self.setup
        runs = zip(self.engines, setup.policies.values(), strict=True)
        parts = [engine(setup, policy, replications, progress) for engine, policy in runs]
        regret, pulls, decisions = (_beside(arrays) for arrays in zip(*parts, strict=True))
        return Trace(setup, np.arange(replications.start, replications.stop), regret, pulls, decisions)


def _beside(arrays: tuple[NDArray[Any], ...]) -> NDArray[Any]:
    """Arrays of policies along a new axis 1; of one policy its own, not a copy, which may be as large as memory."""
    return arrays[0][:, np.newaxis] if len(arrays) == 1 else np.stack(arrays, axis=1)


def simulate(
    environment: Environments,
    policies: Policies,
    horizon: int,
    replications: int | range,
    seed: int = 0,
    *,
    engine: EngineName = "auto",
    record: Record = "summary",
    steps: Sequence[int] | None = None,
    reporting: Reporting = Reporting(),
    scheduler: object = None,
    progress: Progress = silent,
) -> Trace:
    """Run each policy against each environment, many times.

    All policies meet the same patients: replication i at step t has one context and one response to each proposal,
    whatever the policy. The result of a replication depends on environment, reporting, policy, seed and its number
    alone, not on what else runs beside it.

    Args:
        environment: the truth, or several that a policy cannot tell apart by their space, by name or numbered from 0.
            One with covariates has no kernels for a GPU, nor for a population of one's own.
        policies: one or several, by name (`{"pilot": TS().informed(prior), "plain": TS()}`) or under their own names.
        horizon: T, how many units are met.
        replications: how many runs, or a range of their numbers, to run a part again or to add to one.
        seed: any whole number of at least 0.
        engine: "reference" is numpy and takes any policy; "cpu" and "gpu" are compiled kernels; "dask" spreads the
            CPU's over a cluster; "auto" takes the CPU's where numba is installed and knows the policy, in the form
            that is faster here, else the reference. It takes no GPU, whose numbers may differ in a last bit; the
            command `takeup simulate` does, where it is faster.
        record: "summary" keeps the final regret and the pulls of each replication, "curve" the regret at some steps as
            well, "full" every decision too.
        steps: when to record the regret of a curve, as numbers of units met so far; 100 even ones where left out.
        reporting: how much of what happens the policies see, and when; everything at once where left out.
        scheduler: for "dask", the address of a scheduler or a Client; a local cluster where left out.
        progress: called with the number of decisions made, as the work goes on.
    """
    numbers = _numbers(replications)
    planned = plan(
        environment,
        policies,
        horizon,
        seed,
        engine=engine,
        record=record,
        steps=steps,
        reporting=reporting,
        scheduler=scheduler,
    )
    return (planned.picked(len(numbers)) if engine == "auto" else planned).run(numbers, progress)


def plan(
    environment: Environments,
    policies: Policies,
    horizon: int,
    seed: int = 0,
    *,
    engine: EngineName = "auto",
    record: Record = "summary",
    steps: Sequence[int] | None = None,
    reporting: Reporting = Reporting(),
    scheduler: object = None,
) -> Plan:
    """Check what `simulate` is asked for; takes what it takes."""
    horizon = checks.whole("horizon", horizon, least=1, most=MOST)
    checks.whole("seed", seed, least=0)
    kept = _steps(record, steps, horizon)
    environments = _environments(environment)
    chosen = _policies(policies)
    space = next(iter(environments.values())).space
    for policy in chosen.values():
        policy.start(space_for(policy, space))  # fails before the first minute, not after it
    met = tuple(environments.values())
    auto: EngineName = "auto"
    if space.covariates is not None and record == "full":  # who came is found again in the reference's streams
        auto = "reference"
        if engine == "cpu":
            raise EngineError(
                "the engine cpu keeps no covariates; with record='full' choose the engine reference, or auto"
            )
    chosen_engine = auto if engine == "auto" else engine
    found = [_engine(chosen_engine, policy, met, reporting, scheduler, auto) for policy in chosen.values()]
    setup = Setup(
        environments=environments,
        policies=chosen,
        engines=tuple(name for name, _ in found),
        horizon=horizon,
        reporting=reporting,
        steps=kept,
        full=record == "full",
        seed=seed,
    )
    return Plan(setup, tuple(run for _, run in found), engine)


def _engine(
    name: EngineName,
    policy: Policy[Any],
    met: Sequence[AnyEnvironment],
    reporting: Reporting,
    scheduler: object,
    auto: EngineName = "auto",
) -> tuple[str, Engine]:
    """What runs a policy, and whose streams it uses: what the CPU and a cluster, which runs `auto`, run is the same."""
    check_engine(name, scheduler)
    space = met[0].space
    if space.covariates is not None and name == "gpu":
        raise EngineError("the engine gpu has no kernel for covariates; choose the engine cpu, reference or auto")
    if name == "dask":
        from takeup.simulation import compiled
        from takeup.simulation.cluster import Cluster

        local, engine = _engine(auto, policy, met, reporting, None)
        return local, Cluster(engine, scheduler, grain=reference.BLOCK if local == "reference" else compiled.GRAIN)
    if name == "reference":
        return "reference", reference.run
    from takeup.simulation import compiled

    drawn = compiled.has_tables(met)
    if name == "auto" and not (drawn and compiled.available() and compiled.has_kernel(policy, space, reporting)):
        return "reference", reference.run
    if not drawn:
        raise EngineError(f"the engine {name} knows Independent and Resampled populations, and no other; choose auto")
    return ("gpu", compiled.run_gpu) if name == "gpu" else ("cpu", compiled.run_cpu)


def check_engine(name: EngineName, scheduler: object) -> None:
    """An error where there is no such engine, or where it has no use for a scheduler."""
    if name not in get_args(EngineName):
        raise InputError("engine", repr(name), f"one of {', '.join(get_args(EngineName))}")
    if scheduler is not None and name != "dask":
        raise InputError("scheduler", scheduler, f"none with the engine {name}", "choose the engine dask")


def _environments(given: Environments) -> dict[str, AnyEnvironment]:
    """The environments by name; engines and policies take the first one's space for that of all."""
    if isinstance(given, Mapping):
        named = dict(given)
    else:
        each_one: list[AnyEnvironment] = list(given) if isinstance(given, Sequence) else [given]
        named = {str(i): each for i, each in enumerate(each_one)}
    if not named:
        raise InputError("environment", "none", "at least one environment")
    first, space = next((name, each.space) for name, each in named.items())
    for name, each in named.items():
        differ = space.differences(each.space)
        if differ:
            raise MismatchError(
                f"environments that run together must be alike to a policy: {first!r} and {name!r} differ in"
                f" {', '.join(differ)}; simulate them one after the other"
            )
    return named


def _policies(given: Policies) -> dict[str, Policy[Any]]:
    """The policies by name, all of them complete."""
    listed = list(given.values()) if isinstance(given, Mapping) else _listed(given)
    for policy in listed:
        if isinstance(policy, type):
            raise InputError("policies", f"the class {policy.__name__}", "a policy", f"write {policy.__name__}()")
        missing = [name for name in FUNCTIONS if not hasattr(policy, name)]
        if missing:
            raise InputError(
                "policies",
                f"{type(policy).__name__} without {', '.join(missing)}",
                f"policies with {', '.join(FUNCTIONS)}",
                'docs/howto.md shows one under "A policy of your own"',
            )
    names = list(given) if isinstance(given, Mapping) else [policy.name for policy in listed]
    if not listed or len(set(names)) < len(names):
        hint = "name them: {'one': ..} or [policies.one]"
        raise InputError("policies", names or "none", "at least one, all with different names", hint)
    return dict(zip(names, listed, strict=True))


def _listed(given: Value | Sequence[Value]) -> list[Value]:
    return list(given) if isinstance(given, Sequence) else [given]


def _numbers(replications: int | range) -> range:
    if not isinstance(replications, range):
        return range(checks.whole("replications", replications, least=1, most=MOST))
    if replications.step != 1 or not 0 <= replications.start < replications.stop <= MOST:
        allowed = f"a range in steps of one, from a number of at least 0 to one of at most {MOST}"
        raise InputError("replications", replications, allowed)
    return replications


def _steps(record: Record, steps: Sequence[int] | None, horizon: int) -> IntArray:
    if record not in ("summary", "curve", "full"):
        raise InputError("record", repr(record), "one of summary, curve, full")
    if steps is None:
        many = min(horizon, CURVE) if record != "summary" else 1
        return np.unique(np.linspace(horizon / many, horizon, many).round().astype(np.int64))
    if record == "summary":
        raise InputError("steps", list(steps), "no steps with record='summary'", "choose record='curve'")
    kept = checks.counts("steps", steps)
    if kept.ndim != 1 or not kept.size or kept.min() < 1 or kept.max() > horizon or (np.diff(kept) <= 0).any():
        raise InputError("steps", list(steps), f"rising numbers between 1 and the horizon of {horizon}")
    return kept
