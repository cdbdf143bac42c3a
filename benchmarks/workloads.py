"""The workloads of the engine benchmark and what takeup is compared with; each returns how many decisions it made.

W1 is six near-tied arms, T = 20,000, 500 replications; W2 is two arms, T = 10,000, 2,100 replications. 85 % comply, the
others do one of the other things. W1 with numbers has blood pressures instead, of which lower ones are better: means a
hundredth of their standard deviation apart, as successes are in W1. Libraries that know no noncompliance get the values
of the proposals as their arms, which saves them a draw.
"""

from importlib import import_module
from typing import Any

import numpy as np

from takeup import Environment, Normals, Number, Reporting, World, simulate
from takeup.checks import FloatArray
from takeup.policies import Policy

SUCCESS = {"w1": [0.615, 0.620, 0.625, 0.630, 0.635, 0.640], "w2": [0.62, 0.64]}
PRESSURES, SPREAD = [130.5, 130.4, 130.3, 130.2, 130.1, 130.0], 10.0
SIZE = {"w1": (20_000, 500), "w1_numbers": (20_000, 500), "w2": (10_000, 2_100)}


def environment(workload: str) -> Environment:
    """Near-tied arms, 85 % compliance."""
    if workload == "w1_numbers":
        pressure = Number(60, 220, unit="mmHg", better="lower")
        family = Normals(np.array(PRESSURES), np.array(SPREAD))
        return Environment.from_world(World(compliance(len(PRESSURES)), family, pressure))
    success = np.array(SUCCESS[workload])
    return Environment.from_world(World.bernoulli(compliance(success.size), success))


def compliance(arms: int) -> FloatArray:
    """85 % do what is proposed."""
    follows = np.full((arms, arms), 0.15 / (arms - 1))
    np.fill_diagonal(follows, 0.85)
    return follows


def takeup(workload: str, policy: Policy[Any], seed: int, engine: Any = "cpu") -> int:
    """The whole workload."""
    horizon, replications = SIZE[workload]
    simulate(environment(workload), policy, horizon, replications, seed, engine=engine)
    return horizon * replications


def takeup_latent(policy: Policy[Any], horizon: int, replications: int, seed: int) -> int:
    """TS-Lat on two arms, compliance never seen."""
    truth = environment("w2")
    simulate(truth, policy, horizon, replications, seed, engine="cpu", reporting=Reporting(compliance=0))
    return horizon * replications


def numpy_ts(workload: str, seed: int, steps: int) -> int:
    """Thompson sampling vectorised over replications: one call of Generator.beta a step."""
    truth, rng = environment(workload), np.random.default_rng(seed)
    replications, arms = SIZE[workload][1], len(SUCCESS[workload])
    wins, losses = np.ones((replications, arms)), np.ones((replications, arms))
    joint = truth.response[0].reshape(arms, -1).cumsum(axis=1)
    joint[:, -1] = 1.0
    everyone = np.arange(replications)
    for _ in range(steps):
        z = rng.beta(wins, losses).argmax(axis=1)
        cell = (rng.random(replications)[:, None] >= joint[z]).sum(axis=1)
        won = cell % 2 == 1
        wins[everyone, z] += won
        losses[everyone, z] += ~won
    return steps * replications


def numpy_ts_numbers(seed: int, steps: int) -> int:
    """Thompson sampling of normal numbers, vectorised over replications: one call of Generator.standard_t a step."""
    rng, replications, arms = np.random.default_rng(seed), SIZE["w1_numbers"][1], len(PRESSURES)
    truth, joint = np.array(PRESSURES), compliance(arms).cumsum(axis=1)
    joint[:, -1] = 1.0
    mean, square = np.full((replications, arms), 140.0), np.full((replications, arms), 3 * 40.0**2)
    weight, freedom = np.ones((replications, arms)), np.full((replications, arms), 3.0)
    everyone = np.arange(replications)
    for _ in range(steps):
        z = (mean + np.sqrt(square / (weight * freedom)) * rng.standard_t(freedom)).argmin(axis=1)
        a = (rng.random(replications)[:, None] >= joint[z]).sum(axis=1)
        off = np.rint(rng.normal(truth[a], SPREAD)) - mean[everyone, z]
        before = weight[everyone, z]
        weight[everyone, z] += 1
        freedom[everyone, z] += 1
        mean[everyone, z] += off / (before + 1)
        square[everyone, z] += off**2 * before / (before + 1)
    return steps * replications


def numpy_ts_obs(workload: str, seed: int, steps: int) -> int:
    """TS-Obs vectorised over replications: one call of Generator.beta and one of standard_gamma a step."""
    truth, rng = environment(workload), np.random.default_rng(seed)
    replications, arms = SIZE[workload][1], len(SUCCESS[workload])
    wins, losses = np.ones((replications, arms)), np.ones((replications, arms))
    done = np.ones((replications, arms, arms))
    joint = truth.response[0].reshape(arms, -1).cumsum(axis=1)
    joint[:, -1] = 1.0
    everyone = np.arange(replications)
    for _ in range(steps):
        drawn = rng.standard_gamma(done)
        drawn /= drawn.sum(axis=2, keepdims=True)
        z = np.einsum("rza,ra->rz", drawn, rng.beta(wins, losses)).argmax(axis=1)
        cell = (rng.random(replications)[:, None] >= joint[z]).sum(axis=1)
        a, won = cell // 2, cell % 2 == 1
        done[everyone, z, a] += 1
        wins[everyone, a] += won
        losses[everyone, a] += ~won
    return steps * replications


def mabwiser(workload: str, seed: int, steps: int) -> int:
    """MABWiser, one replication."""
    library: Any = import_module("mabwiser.mab")
    value, rng = environment(workload).value()[0], np.random.default_rng(seed)
    arms = list(range(value.size))
    bandit = library.MAB(arms, library.LearningPolicy.ThompsonSampling(), seed=seed)
    bandit.fit(arms, [1] * len(arms))
    for _ in range(steps):
        z = bandit.predict()
        bandit.partial_fit([z], [int(rng.random() < value[z])])
    return steps


def river(workload: str, seed: int, steps: int) -> int:
    """River, one replication."""
    bandit: Any = import_module("river.bandit")
    proba: Any = import_module("river.proba")
    value, rng = environment(workload).value()[0], np.random.default_rng(seed)
    policy = bandit.ThompsonSampling(reward_obj=proba.Beta(seed=seed), seed=seed)
    arms = list(range(value.size))
    for _ in range(steps):
        z = policy.pull(arms)
        policy.update(z, bool(rng.random() < value[z]))
    return steps


def pymab(workload: str, seed: int, steps: int) -> int:
    """PyMAB with its Rust loop, ten replications."""
    library: Any = import_module("pymab")
    policies: Any = import_module("pymab.policies")
    value = environment(workload).value()[0]
    library.Experiment(
        environment=library.BanditEnvironment(means=value, reward_model=library.BernoulliReward()),
        policies={"ts": policies.BernoulliThompsonSamplingPolicy(n_arms=value.size)},
        config=library.ExperimentConfig(horizon=steps, n_replicates=10, seed=seed, backend="rust"),
    ).run()
    return 10 * steps
