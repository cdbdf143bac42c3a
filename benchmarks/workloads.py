"""The workloads of the engine benchmark and what takeup is compared with; each returns how many decisions it made.

W1 is six near-tied arms, T = 20,000, 500 replications; W2 is two arms, T = 10,000, 2,100 replications. 85 % comply, the
others do one of the other things. Libraries that know no noncompliance get the values of the proposals as their arms,
which saves them a draw.
"""

from importlib import import_module
from typing import Any

import numpy as np

from takeup import Environment, Reporting, World, simulate
from takeup.policies import Policy

SUCCESS = {"w1": [0.615, 0.620, 0.625, 0.630, 0.635, 0.640], "w2": [0.62, 0.64]}
SIZE = {"w1": (20_000, 500), "w2": (10_000, 2_100)}


def environment(workload: str) -> Environment:
    """Near-tied arms, 85 % compliance."""
    success = np.array(SUCCESS[workload])
    arms = success.size
    compliance = np.full((arms, arms), 0.15 / (arms - 1))
    np.fill_diagonal(compliance, 0.85)
    return Environment.from_world(World.bernoulli(compliance, success))


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
        compliance = rng.standard_gamma(done)
        compliance /= compliance.sum(axis=2, keepdims=True)
        z = np.einsum("rza,ra->rz", compliance, rng.beta(wins, losses)).argmax(axis=1)
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
