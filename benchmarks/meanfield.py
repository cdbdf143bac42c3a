"""Cold-started mean-field fits over whole runs of the paper's environments: Newton beside plain coordinate ascent.

TS-Lat-0 runs environments 1 to 4 with T = 2000, every fit from a cold start. The evaluations of every fit are counted.
Every 25th table met is fitted again by plain coordinate ascent from the same start, until a step gains less than 1e-10.
"""

import argparse
import json
import time

import numpy as np
from scipy.special import psi

from takeup import UNSEEN, Event, TSLat, stream
from takeup.checks import FloatArray, IntArray
from takeup.inference.ascent import ascend
from takeup.inference.meanfield import log_beta
from takeup.paper import contextual

GAIN = 1e-10
MOST = 100_000


def run(number: int, replications: int, seed: int) -> tuple[list[IntArray], list[IntArray], list[IntArray]]:
    """Evaluations and products of every fit of one environment's run, and every 25th table of latent outcomes."""
    environment, policy = contextual.environment(number), TSLat()
    patients, rng = stream(seed, "patients", number), stream(seed, "policy", number)
    prior = policy.prior(environment.space)
    state = policy.start(environment.space, (replications,))
    evaluations, products, tables = [], [], []
    for t in range(contextual.HORIZON):
        arrival, response = patients.random((2, replications))
        x = environment.meet(arrival)
        posterior, fit = policy.fit(prior.at(x), state.at(x), rng)
        evaluations.append(fit.iterations.ravel())
        products.append(fit.products.ravel())
        if t % 25 == 24:
            tables.append(state.at(x).latent_outcomes[:, 0])
        z = posterior.sample(rng).value()[:, 0].argmax(axis=-1)
        _, y = environment.respond(x, z, response)
        state = policy.learn(state, Event(x, z, np.full_like(x, UNSEEN), y), rng)
    return evaluations, products, tables


def plain(latent: IntArray, log_phi: FloatArray) -> tuple[FloatArray, IntArray]:
    """The paper's coordinate ascent under uniform priors: the ELBO it ends at, and the evaluations it took."""
    ones = np.ones((latent.shape[0], 2, 2))
    elbo, count = np.full(len(latent), -np.inf), np.zeros(len(latent), dtype=np.int64)
    going = np.arange(len(latent))
    while going.size and count.max() < MOST:
        n = latent[going][..., np.newaxis] * np.exp(log_phi[going])
        alpha, beta = ones[going] + np.einsum("bzya->bay", n), ones[going] + np.einsum("bzya->bza", n)
        new = log_beta(alpha).sum(axis=-1) + log_beta(beta).sum(axis=-1) - (n * log_phi[going]).sum(axis=(-3, -2, -1))
        expected = _expected_log(alpha).swapaxes(-1, -2)[:, np.newaxis] + _expected_log(beta)[:, :, np.newaxis]
        log_phi[going] = expected - np.log(np.exp(expected).sum(axis=-1, keepdims=True))
        gain, elbo[going] = new - elbo[going], new
        count[going] += 1
        going = going[gain >= GAIN]
    return elbo, count


def _expected_log(parameters: FloatArray) -> FloatArray:
    """E[log p] of a Dirichlet distribution."""
    return np.asarray(psi(parameters) - psi(parameters.sum(axis=-1, keepdims=True)))


def main() -> None:
    """Print the table, or the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for number in (1, 2, 3, 4):
        evaluations, products, tables = run(number, options.replications, options.seed)
        latent = np.concatenate(tables)
        rng = stream(options.seed, "starts", number)
        start = np.log(rng.dirichlet([1, 1], latent.shape))
        ones = np.ones((len(latent), 2, 2))
        began = time.perf_counter()
        newton = ascend(latent, ones, ones, start.copy())
        newton_seconds = time.perf_counter() - began
        began = time.perf_counter()
        elbo, count = plain(latent, start.copy())
        plain_seconds = time.perf_counter() - began
        every, difference = np.concatenate(evaluations), newton.elbo - elbo
        rows.append(
            {
                "environment": number,
                "fits": int(every.size),
                "evaluations": float(every.mean()),
                "most": int(every.max()),
                "products": float(np.concatenate(products).mean()),
                "compared": int(latent.shape[0]),
                "plain_evaluations": float(count.mean()),
                "lower_than_plain": float((difference < -1e-6).mean()),
                "higher_than_plain": float((difference > 1e-6).mean()),
                "speed_ratio": plain_seconds / newton_seconds,
            }
        )
    if options.json:
        print(json.dumps({"meanfield": rows}))
        return
    for row in rows:
        print("  ".join(f"{name} {value:.4g}" for name, value in row.items()))
    print(f"mean evaluations over all: {np.mean([row['evaluations'] for row in rows]):.2f}")


if __name__ == "__main__":
    main()
