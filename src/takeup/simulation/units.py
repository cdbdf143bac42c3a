"""Who came in a simulation with covariates, met again: all policies meet the same units, as the seed alone decides."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from takeup.errors import UnsuitableError
from takeup.populations import CovariateEnvironment
from takeup.randomness import stream
from takeup.simulation.profiled import RESPONSE
from takeup.simulation.reference import BLOCK
from takeup.simulation.setup import Setup


def features_met(setup: Setup, environment: int, policy: int, replication: int) -> NDArray[np.int16] | None:
    """The features of every unit of a replication, (T, d); None where there are no covariates."""
    truth = list(setup.environments.values())[environment]
    if not isinstance(truth, CovariateEnvironment):
        return None
    if setup.engines[policy] != "reference":
        raise UnsuitableError(f"who came is not known where the engine {setup.engines[policy]} ran; choose reference")
    block, place = divmod(replication, BLOCK)
    return np.asarray(_block(truth, setup.seed, setup.horizon, block)[place])


@lru_cache(maxsize=4)
def _block(truth: CovariateEnvironment, seed: int, horizon: int, block: int) -> NDArray[np.int16]:
    """The features of all units of a block of replications, (BLOCK, T, d)."""
    rng = stream(seed, truth.fingerprint(), "patients", block)
    met, found = truth.uniforms, []
    for _ in range(horizon):
        uniform = np.moveaxis(rng.random((met + RESPONSE + 1, BLOCK)), 0, -1)
        found.append(np.asarray(truth.population.meet(uniform[..., :met]).features, dtype=np.int16))
    return np.stack(found, axis=1)
