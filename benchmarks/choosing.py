"""Which policy should I use? The tables of docs/choosing.md, written into the page between its two marks.

Usage: python benchmarks/choosing.py [--quick] [--print]
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from takeup import Environment, Reporting, Space, World, policies, simulate
from takeup.checks import FloatArray
from takeup.policies.base import Registered

PAGE = Path(__file__).parent.parent / "docs" / "choosing.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
SEED = 5
HORIZONS = (200, 2_000, 20_000)
SEEN = {"all of it": 1.0, "a quarter": 0.25, "nothing": 0.0}
"""The probability that the compliance of a decision is seen, whatever was done and came out of it."""

RUNS, SLOW_RUNS = 1_000, 100


def _types(share: list[float], response: list[list[int]], success: list[list[float]]) -> Environment:
    rate = np.array(success)
    return Environment.from_types(Space(2), share, response, np.stack([1 - rate, rate], axis=-1))


IGNORABLE = {
    "blurred": Environment.from_world(World.bernoulli([[0.7, 0.3], [0.3, 0.7]], [0.25, 0.75])),
    "most comply": Environment.from_world(World.bernoulli([[0.95, 0.05], [0.15, 0.85]], [0.5, 0.6])),
}
"""The outcome depends on what is done alone. Three in ten do the opposite; one in ten does, and the gap is small."""

CONFOUNDED = {
    "trap": _types([0.5, 0.5], [[1, 1], [0, 1]], [[0.75, 0.75], [0.5, 0.25]]),
    "sick refuse": _types([0.15, 0.8, 0.05], [[0, 0], [0, 1], [1, 1]], [[0.4, 0.4], [0.6, 0.7], [0.65, 0.75]]),
}
"""Half always take the drug and do well anyway, half comply and are harmed; or those who never take it are sicker than
the rest, so that the drug looks better than it is, and is the better one."""

POLICIES: tuple[Registered, ...] = (
    policies.TS(),
    policies.TSCheck(),
    policies.TSObs(),
    policies.TSRobust(),
    policies.TSLat(),
    policies.TSLat(inference="gibbs"),
    policies.TwoStage(),
    policies.Protocol(credit="actual"),
    policies.KLUCB(),
    policies.BayesUCB(),
    policies.UCB1(),
    policies.EpsilonGreedy(),
    policies.TopTwo(),
    policies.Uniform(),
)
SLOW = ("TS-Lat-0", "TS-Lat-0 Gibbs")

Found: TypeAlias = Mapping[tuple[str, str, str], FloatArray]
"""Regret at the horizons, by what is seen, world and policy; (runs, horizons)."""


class Kind(NamedTuple):
    """Worlds of one kind, and what they are called."""

    name: str
    worlds: Mapping[str, Environment]


KINDS = (Kind("Compliance is ignorable", IGNORABLE), Kind("Compliance is confounded with the outcome", CONFOUNDED))


def suits(policy: Registered, seen: float) -> bool:
    """Whether a policy can learn at all where so much compliance is seen."""
    return seen > 0 or policy.compliance != "needed"


def measure(runs: int, slow: int, horizons: tuple[int, ...] = HORIZONS) -> dict[tuple[str, str, str], FloatArray]:
    """Run everything; a policy that has no use for compliance runs once, and its figures are the same in all tables."""
    found: dict[tuple[str, str, str], FloatArray] = {}
    worlds = {name: world for kind in KINDS for name, world in kind.worlds.items()}
    for policy in POLICIES:
        once: dict[str, FloatArray] = {}
        for seen, share in SEEN.items():
            if not suits(policy, share):
                continue
            fills = policy.name == "TS-Robust" and share < 1  # by Gibbs sampling
            many = slow if policy.name in SLOW or fills else runs
            if not once or policy.compliance != "not used":
                trace = simulate(
                    worlds,
                    policy,
                    horizons[-1],
                    many,
                    SEED,
                    reporting=Reporting(compliance=share),
                    record="curve",
                    steps=list(horizons),
                )
                once = {name: trace.regret[i, 0] for i, name in enumerate(worlds)}
            found |= {(seen, world, policy.name): regret for world, regret in once.items()}
        print(policy.name, flush=True)
    return found


def tables(found: Found) -> Iterator[str]:
    """A table for what is seen and each kind of worlds; bold is what is near the best, by errors and by size."""
    for seen in SEEN:
        for kind in KINDS:
            yield f"### {kind.name}, compliance seen: {seen}\n"
            places = [(world, i) for world in kind.worlds for i in range(len(HORIZONS))]
            yield f"| policy | {' | '.join(f'{world}, T = {HORIZONS[i]:,}' for world, i in places)} |"
            yield "|---" * (len(places) + 1) + "|"
            names = [p.name for p in POLICIES if (seen, places[0][0], p.name) in found]
            cells = {(n, w, i): _mean(found[seen, w, n][:, i]) for n in names for w, i in places}
            best = {(w, i): min(cells[n, w, i] for n in names) for w, i in places}
            for name in names:
                row = (_cell(*cells[name, w, i], best[w, i]) for w, i in places)
                yield f"| {name} | {' | '.join(row)} |"
            yield ""


def _mean(runs: FloatArray) -> tuple[float, float]:
    return float(runs.mean()), float(runs.std(ddof=1) / np.sqrt(runs.size))


def _cell(mean: float, error: float, best: tuple[float, float]) -> str:
    digits = 0 if mean >= 100 else 1
    shown = f"{mean:,.{digits}f} ± {error:.{digits}f}"
    near = mean - best[0] <= 2 * float(np.hypot(error, best[1])) and mean <= 2 * best[0]
    return f"**{shown}**" if near else shown


def written(page: str, text: str) -> str:
    """The page with the text between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def main() -> None:
    """Measure, and write or print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs")
    parser.add_argument("--print", action="store_true", help="leave the page alone")
    given = parser.parse_args()
    part = 10 if given.quick else 1
    runs, slow = RUNS // part, SLOW_RUNS // part
    fewer = f"{slow:,} of TS-Lat and of TS-Robust with unseen compliance"
    intro = f"Mean regret ± Monte Carlo error, {runs:,} runs, {fewer}, seed {SEED}.\n"
    text = "\n".join([intro, *tables(measure(runs, slow))]).rstrip() + "\n"
    if given.print:
        print(text)
    else:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")


if __name__ == "__main__":
    main()
