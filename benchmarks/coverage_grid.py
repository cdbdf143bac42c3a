"""How often intervals hold the truth after adaptive allocation: the table of docs/intervals.md.

make coverage-grid                            all cells
python benchmarks/coverage_grid.py --trials 400    the same with fewer trials
"""

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

import adaptive_kinds
import adaptive_trials
import covariate_trials
from adaptive_trials import compliant
from takeup import Log
from takeup.analysis import scores, targets
from takeup.analysis.mean_intervals import intervals
from takeup.analysis.weights import Weights, decision_weights
from takeup.checks import FloatArray

TRIALS = 4_000
RATES = {
    ".05": ((0.05, 0.05),),
    ".3": ((0.3, 0.3),),
    ".85": ((0.85, 0.85),),
    ".3 and .5": ((0.3, 0.5),),
    ".2 and .5, turned": ((0.2, 0.5), (0.5, 0.2)),
}
"""Chances of the usual and of the new proposal, by context; those of two contexts in turns."""
CONTEXTS, SIZES, FLOORS = (2, 4, 8, 16), (150, 400, 1_500), (0.05, 0.1)
SPENDING: dict[str, tuple[float, float, Literal["some", "all"]]] = {
    "half and a tenth spend": (0.5, 0.1, "some"),
    "a tenth and half spend": (0.1, 0.5, "some"),
    "log-normal, 1 and .5": (1.0, 0.5, "all"),
    "log-normal, .8 and 1.2": (0.8, 1.2, "all"),
    "log-normal, 1.2 and .8": (1.2, 0.8, "all"),
    "log-normal, 1.5 and .5": (1.5, 0.5, "all"),
}
BLOCK = 500


@dataclass(frozen=True)
class Found:
    """Of trials side by side: whether the interval is shown, whether it holds the truth, and how wide it is."""

    shown: FloatArray
    holds: FloatArray
    width: FloatArray

    def told(self, fixed: float) -> str:
        """Coverage of what is shown, how often that is, and its width as a part of that with fixed allocation."""
        seen = self.shown > 0
        if not seen.any():
            return "none"
        shown = "" if seen.all() else f", shown {seen.mean():.2f}"
        return f"{self.holds[seen].mean():.3f}{shown} ({np.median(self.width[seen]) / fixed:.2f})"


def by_context(
    rates: tuple[tuple[float, float], ...], contexts: int, n: int, floor: float, seed: int, many: int
) -> Log:
    """Trials by TS in each context, or evenly randomised ones where the floor is a half."""
    people = [compliant(n, *rates[x % len(rates)]) for x in range(contexts)]
    return adaptive_trials.trials(people, many, seed, floor, even=floor == 0.5)


def found(log: Log, effect: FloatArray, how: Weights, *, adjusted: bool = False) -> Found:
    """The intervals of these trials, and the effect of each decision over those whom they are about."""
    weight = decision_weights(log.probability, how)
    truth = (effect * weight).sum(axis=-1) / weight.sum(axis=-1)
    of = scores(log, targets.outcome(log.space), adjusted=adjusted)
    told = intervals(of, (0, 1), "difference", weights=how)
    return Found(told.shown.astype(np.float64), told.covers(truth).astype(np.float64), told.high - told.low)


def joined(parts: list[Found]) -> Found:
    """Of all blocks."""
    return Found(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("shown", "holds", "width")))


def contexts_table(trials: int) -> Iterator[str]:
    """Several contexts."""
    yield "| contexts, n | chances | floor .05: uniform | stabilised | floor .1: uniform | stabilised |"
    yield "|---|---|---|---|---|---|"
    for (contexts, n), (name, rates) in itertools.product(itertools.product(CONTEXTS, SIZES), RATES.items()):
        effects = np.array([rates[x % len(rates)][1] - rates[x % len(rates)][0] for x in range(contexts)])
        even = by_context(rates, contexts, n, 0.5, 1, BLOCK)
        fixed = float(np.median(found(even, effects[even.context], "uniform").width))
        cells = []
        for floor in FLOORS:
            parts: dict[Weights, list[Found]] = {"uniform": [], "stabilised": []}
            for block in range(0, trials, BLOCK):
                log = by_context(rates, contexts, n, floor, 2 + block, min(BLOCK, trials - block))
                for how, kept in parts.items():
                    kept.append(found(log, effects[log.context], how))
            cells += [joined(kept).told(fixed) for kept in parts.values()]
        yield f"| {contexts}, {n:,} | {name} | {' | '.join(cells)} |"


def covariates_table(trials: int) -> Iterator[str]:
    """A policy that follows covariates, and an effect that turns with one of them."""
    yield "| n, outcome | floor .05: plain | adjusted | floor .1: plain | adjusted |"
    yield "|---|---|---|---|---|"
    people = covariate_trials.People(age=-0.4, by_age=0.8, usual=0.5)
    for n, numbers in itertools.product(SIZES, (False, True)):
        cells = []
        even = covariate_trials.trials(people, BLOCK, n, 1, "even", numbers=numbers)
        fixed = float(np.median(found(even.log, even.value[..., 1] - even.value[..., 0], "uniform").width))
        for floor in FLOORS:
            parts: dict[bool, list[Found]] = {False: [], True: []}
            for block in range(0, trials, BLOCK):
                made = covariate_trials.trials(
                    people, min(BLOCK, trials - block), n, 2 + block, "LinTS", floor, numbers=numbers
                )
                for adjusted, kept in parts.items():
                    effect = made.value[..., 1] - made.value[..., 0]
                    kept.append(found(made.log, effect, "uniform", adjusted=adjusted))
            cells += [joined(kept).told(fixed) for kept in parts.values()]
        yield f"| {n:,}, {'numbers' if numbers else 'levels'} | {' | '.join(cells)} |"


def spending_table(trials: int) -> Iterator[str]:
    """Spending that is five on average under either proposal, and skewed in different ways."""
    yield "| n, spending | evenly randomised | floor .05: holds; what is new is said to be worse, better | floor .1 |"
    yield "|---|---|---|---|"
    for n, (name, given) in itertools.product(SIZES, SPENDING.items()):
        cells = [_said(adaptive_kinds.spending(*given), n, trials, floor) for floor in (0.5, *FLOORS)]
        even = cells[0].partition(";")[0]
        yield f"| {n:,}, {name} | {even} | {' | '.join(cells[1:])} |"


def _said(people: adaptive_kinds.People, n: int, trials: int, floor: float) -> str:
    """How often intervals hold no difference, and how often one lies to either side of it."""
    low, high = [], []
    for block in range(0, trials, BLOCK):
        how: Literal["adaptive", "even"] = "even" if floor == 0.5 else "adaptive"
        log = adaptive_kinds.trials(people, n, min(BLOCK, trials - block), 2 + block, floor, how)
        told = intervals(scores(log, targets.outcome(log.space)), (0, 1), "difference")
        low.append(np.where(told.shown, told.low, -np.inf))
        high.append(np.where(told.shown, told.high, np.inf))
    below, above = np.concatenate(low), np.concatenate(high)
    holds = ((below <= 0) & (above >= 0)).mean()
    return f"{holds:.3f}; {(above < 0).mean():.3f}, {(below > 0).mean():.3f}"


def main() -> None:
    """Print the tables, a cell after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=TRIALS, help="of each cell")
    parser.add_argument("--only", choices=("contexts", "covariates", "spending"), help="one of the tables")
    asked = parser.parse_args()
    tables = {"contexts": contexts_table, "covariates": covariates_table, "spending": spending_table}
    for name, table in tables.items():
        for line in table(asked.trials) if asked.only in (None, name) else ():
            print(line, flush=True)
        print(flush=True)


if __name__ == "__main__":
    main()
