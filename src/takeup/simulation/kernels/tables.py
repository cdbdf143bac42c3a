"""What a kernel reads and writes, as arrays: environments as alias tables, reports, records."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray
from takeup.environment import Environment
from takeup.simulation.kernels.machine import Array, Number
from takeup.simulation.kernels.streams import key_of

WordArray = NDArray[np.uint32]

NEVER = 2**62
"""A decision that is not reached."""

ALWAYS = np.uint64(1 << 32)
"""The threshold of a report that no word reaches."""


class Scenarios(NamedTuple):
    """Environments of one shape, side by side along the first axis, and behind them what they change into.

    Attributes:
        key: the key of each one's streams, (E, 2).
        until: before which decision each one changes for the n-th time, (E, N); NEVER where it does not.
        becomes: which row of the other tables it is from then on, (E, N).
        context_threshold: the alias table of the contexts, (F, X): an entry keeps its own index while the fraction's
            32 bits are below the threshold, and else takes that of `context_alias`.
        context_alias: see above.
        response_threshold: one alias table over the joint (a, y) for each (x, z), (F, X Kz Ka Y).
        response_alias: see above.
        gap: what proposing z in x costs, (F, X Kz).
    """

    key: Array
    until: Array
    becomes: Array
    context_threshold: Array
    context_alias: Array
    response_threshold: Array
    response_alias: Array
    gap: Array


class Visibility(NamedTuple):
    """What reaches the policy.

    Attributes:
        threshold: a decision's compliance is seen where its word is below this; ALWAYS is above all.
        delay: after how many more decisions its outcome is seen.
        batch: after how many decisions what is seen reaches the policy.
    """

    threshold: Number
    delay: Number
    batch: Number


class KernelInput(NamedTuple):
    """What all replications of a policy have in common.

    Attributes:
        horizon: T.
        shape: (X, Kz, Ka, Y).
        scenarios: the environments: `Scenarios`, or the `Truths` of `units` where there are covariates.
        visibility: what reaches the policy.
        parameters: the policy's own numbers, as the `parameters` of its kernel gives them.
    """

    horizon: int
    shape: Number
    scenarios: Any
    visibility: Visibility
    parameters: Any


class KernelMemory(NamedTuple):
    """Where a kernel works; one column a replication at work.

    Attributes:
        counts: the policy's whole numbers, and then the pulls.
        real: the policy's real numbers.
        ring: decisions of which something has yet to reach the policy.
    """

    counts: Array
    real: Array
    ring: Array


class KernelOutput(NamedTuple):
    """What is kept, by scenario and replication.

    Attributes:
        steps: after how many decisions the regret is recorded, (S,).
        regret: cumulative regret at those, (E, R, S).
        pulls: how often z was proposed in x, (E, R, X Kz).
        decisions: ((x Kz + z) Ka + a) Y + y of every decision, (E, R, T); empty where not kept.
    """

    steps: Array
    regret: Array
    pulls: Array
    decisions: Array


class Replication(NamedTuple):
    """Which replication, of which scenario, and the row of the output that is its own."""

    scenario: Number
    row: Number
    number: Number


class State(NamedTuple):
    """What a policy remembers in one replication: a column of two arrays, of int32 and of real numbers."""

    counts: Array
    real: Array
    column: Number


class Observation(NamedTuple):
    """What a policy sees of a decision: context, proposal, action and outcome; the last two may be UNSEEN."""

    x: Number
    z: Number
    a: Number
    y: Number


def scenarios(environments: Sequence[Environment], seed: int) -> Scenarios:
    """The tables of these environments."""
    most = max(1, *(len(e.later) for e in environments))
    until = np.full((len(environments), most), NEVER, dtype=np.int64)
    becomes = np.zeros_like(until)
    phases = list(environments)
    for i, environment in enumerate(environments):
        for n, (step, other) in enumerate(environment.later):
            until[i, n], becomes[i, n] = step, len(phases)
            phases.append(other)
    contexts = [alias_table(e.context[np.newaxis]) for e in phases]
    responses = [alias_table(e.response.reshape(-1, e.response[0, 0].size)) for e in phases]
    return Scenarios(
        np.stack([key_of(seed, e.fingerprint()) for e in environments]),
        until,
        becomes,
        np.stack([threshold.ravel() for threshold, _ in contexts]),
        np.stack([alias.ravel() for _, alias in contexts]),
        np.stack([threshold.ravel() for threshold, _ in responses]),
        np.stack([alias.ravel() for _, alias in responses]),
        np.stack([e.regret().ravel() for e in phases]),
    )


def alias_table(probability: FloatArray) -> tuple[WordArray, NDArray[np.int32]]:
    """Thresholds and aliases of distributions along the last axis: Walker (1977), built as by Vose (1991).

    Entry j of M keeps min(M p_j, 1) of its share 1/M and lends the rest to its alias, one with more than its share.
    Entries of probability zero never come up: their threshold is 0, and their alias is not one of them.
    """
    rows, size = probability.shape
    threshold = np.zeros((rows, size), dtype=np.uint32)
    alias = np.zeros((rows, size), dtype=np.int32)
    for row in range(rows):
        share = (probability[row] / probability[row].sum() * size).tolist()  # lists: an entry of an array costs more
        keeps, lends = [0] * size, list(range(size))
        poor = [j for j in lends if share[j] < 1]
        rich = [j for j in lends if share[j] >= 1]
        while poor and rich:
            j, lender = poor.pop(), rich[-1]
            keeps[j] = min(round(share[j] * 2**32), 2**32 - 1)
            lends[j] = lender
            share[lender] -= 1 - share[j]
            if share[lender] < 1:
                poor.append(rich.pop())
        likeliest = int(probability[row].argmax())
        for j in poor:  # what rounding left over keeps its whole share, unless it is impossible
            lends[j] = j if probability[row, j] > 0 else likeliest
        threshold[row], alias[row] = keeps, lends
    return threshold, alias
