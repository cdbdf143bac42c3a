"""Logs of simulated trials: the probabilities that every proposal had, derived again from what the policy knew then."""

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray
from takeup.covariates import Features, Profile
from takeup.errors import LabelError, UnsuitableError
from takeup.evidence import Event
from takeup.log import Log
from takeup.policies import Policy
from takeup.policies.meeting import space_for, uses_covariates
from takeup.simulation.reporting import Reporting
from takeup.simulation.trace import Trace
from takeup.simulation.units import features_met
from takeup.space import UNSEEN, Space


class _NoChance:
    """Where a policy would find random numbers; whoever asks for some has probabilities that the path does not tell."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, asked: str) -> NoReturn:
        raise UnsuitableError(
            f"the probabilities of {self.name} come from draws here, which were not recorded, and a log needs them"
            " exactly: TS, TS-Check, EpsilonGreedy and Uniform have them, with two arms and actions TS-Obs too"
        )


def log_of(trace: Trace, policy: str, environment: str | None = None, replication: int = 0) -> Log:
    """The log of one simulated trial; see `Trace.log`."""
    setup, (e, k) = trace.setup, trace.place(policy, environment)
    known = np.flatnonzero(trace.replications == replication)
    if not known.size:
        first, last = trace.replications[[0, -1]]
        raise LabelError("replication", replication, f"one of {trace.replications.size} from {first} to {last}")
    x, z, a, y = (each[e, k, known[0]] for each in trace.unpacked())
    reporting, rule = setup.reporting, list(setup.policies.values())[k]
    if 0 < reporting.compliance < 1:
        raise UnsuitableError(
            f"which actions were reported was not recorded, and {reporting.compliance:g} of them were; a log needs"
            " compliance that is seen always (1) or never (0)"
        )
    if not reporting.compliance:
        a = np.full_like(a, UNSEEN)
    space = list(setup.environments.values())[e].space
    n, each = z.size, np.arange(1, z.size + 1)
    v = features_met(setup, e, k, replication)
    return Log.of(
        space,
        z,
        _probabilities(rule, space, reporting, x, z, a, y, v),
        context=x,
        implemented=a,
        outcome=y,
        implemented_by=np.where(a == UNSEEN, n, _learnt(each, reporting.batch, n)),
        outcome_by=_learnt(each + reporting.delay, reporting.batch, n),
        features=v,
    )


def _learnt(decision: IntArray, batch: int, n: int) -> IntArray:
    """The decision by which the policy learnt what was there before this one: the first of a batch."""
    return np.asarray(np.minimum(-(-decision // batch) * batch, n))


def _probabilities(
    policy: Policy[Any],
    space: Space,
    reporting: Reporting,
    x: IntArray,
    z: IntArray,
    a: IntArray,
    y: IntArray,
    v: NDArray[np.int16] | None,
) -> FloatArray:
    """What each proposal was drawn from: what the policy allocates in the state that it was in, see `reference`."""
    allocation = getattr(policy, "allocation", None)
    if allocation is None:
        raise UnsuitableError(
            f"{policy.name} does not say with which probabilities it proposes, so that no log can be had of it"
        )
    chance: Any = _NoChance(policy.name)

    units: list[Features | None] = [None] * z.size
    if v is not None and uses_covariates(policy):
        units = [tuple(row) for row in v.tolist()]

    def event(t: int, *, outcome: bool) -> Event:
        known = int(x[t]), int(z[t]), int(a[t]), int(y[t]) if outcome else UNSEEN, t
        return Event(*known, features=units[t])

    state, found = policy.start(space_for(policy, space)), np.empty((z.size, len(space.proposals)))
    arrived: list[tuple[Event] | tuple[Event, Event]] = []
    same: dict[int | Profile, FloatArray] = {}
    for t, context in enumerate(x.tolist()):
        if t % reporting.batch == 0 and arrived:
            for news in arrived:
                state = policy.learn(state, *news, chance) if len(news) == 1 else policy.report(state, *news, chance)
            arrived, same = [], {}
        unit = units[t]
        met = context if unit is None else Profile(context, unit)
        if met not in same:
            same[met] = allocation(state, met, chance, 1).probability
        found[t] = same[met]
        arrived.append((event(t, outcome=reporting.delay == 0),))
        late = t - reporting.delay
        if reporting.delay and late >= 0:
            arrived.append((event(late, outcome=False), event(late, outcome=True)))
    return found
