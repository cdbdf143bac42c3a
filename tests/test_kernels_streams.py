"""Philox against its published answers and a twin in Python's integers, and the draws against their distributions.

The Kolmogorov-Smirnov tests run at the level `LEVEL` each with fixed seeds; there are fewer than 100 of them, so that
together they would raise fewer than one false alarm in 10,000 choices of the seed.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.special import betainc, expit

from takeup.simulation.kernels import lane_streams, rows, small, streams
from takeup.simulation.kernels.compile import Compiled
from takeup.simulation.kernels.compile_cpu import build
from takeup.simulation.kernels.gammas import exponential, normal_pair
from takeup.simulation.kernels.machine import LANES
from takeup.simulation.kernels.rows import DirichletRows
from takeup.simulation.kernels.streams import PATIENT, philox, uniform, words
from takeup.simulation.kernels.tables import State

LEVEL = 1e-6
DRAWS = 100_000

# Salmon et al. (2011), the known-answer tests of Random123: counter, key, words.
ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def hexadecimal(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def naive_philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox4x32-10 in Python's own integers."""
    c, k = list(counter), list(key)
    for _ in range(10):
        p, q = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(q >> 32) ^ c[1] ^ k[0], q & 0xFFFFFFFF, (p >> 32) ^ c[3] ^ k[1], p & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


def compiled(function: Any, bind: dict[Any, Any] | None = None) -> Compiled:
    return build(function, bind or {}, {})


@pytest.mark.parametrize(("counter", "key", "expected"), ANSWERS)
def test_known_answers(counter: str, key: str, expected: str) -> None:
    arguments = [np.uint32(word) for word in hexadecimal(counter) + hexadecimal(key)]
    assert naive_philox(hexadecimal(counter), hexadecimal(key)) == hexadecimal(expected)
    assert [int(word) for word in philox(*arguments)] == hexadecimal(expected)
    assert [int(word) for word in compiled(philox)(*arguments)] == hexadecimal(expected)


def test_lanes_draw_the_words_of_their_replications() -> None:
    """Lane l of a group that begins at replication n has the words of replication n + l, across 2^32 - 1 too."""
    key = (np.uint32(0xFFFFFFF0), np.uint32(7))
    for number, step, slot in ((0, 0, 0), (1000, 77, int(streams.POLICY) + 5)):
        keys = compiled(lane_streams.round_keys)(key)
        keys = tuple(np.uint64(k) for k in keys)
        into = compiled(lane_streams.opened)(keys, np.uint32(number))
        compiled(lane_streams.draw_words)(into, keys, step, np.uint32(slot))
        for lane in range(LANES):
            expected = naive_philox([number + lane, step, slot, 0], [int(k) for k in key])
            assert into[: 4 * LANES].reshape(4, LANES)[:, lane].tolist() == expected


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_lanes_draw_blocks_as_pairs_of_words(blocks: int) -> None:
    """Of the words of a block, 0 and 1 are its first pair, 2 and 3 its second one."""
    key, number, step, slot, room = (np.uint32(3), np.uint32(7)), 1000, 77, int(streams.POLICY) + 5, 12
    keys = tuple(np.uint64(k) for k in compiled(lane_streams.round_keys)(key))
    into = np.zeros((7 + 2 * room) * LANES, dtype=np.uint32)
    compiled(lane_streams.open_at)(into, keys, np.uint32(number))
    compiled(lane_streams.draw_blocks)(into, keys, step, np.uint32(slot), blocks)
    first, second = into[7 * LANES :].reshape(2, room, LANES)
    for block, lane in np.ndindex(blocks, LANES):
        expected = naive_philox([number + lane, step, slot + block, 0], [int(k) for k in key])
        pairs = slice(2 * block, 2 * block + 2)
        assert np.stack([first[pairs, lane], second[pairs, lane]], axis=1).ravel().tolist() == expected


def test_keys_differ_by_seed_and_environment() -> None:
    keys = {tuple(streams.key_of(seed, print_)) for seed in range(50) for print_ in ("a", "b")}
    assert len(keys) == 100
    assert streams.key_of(3, "a").tolist() == streams.key_of(3, "a").tolist()


def _normals(out: NDArray[np.float32]) -> None:
    for i in range(out.shape[0]):
        w = words((np.uint32(1), np.uint32(2), np.uint32(i), np.uint32(3)), PATIENT, 0)
        out[i, 0], out[i, 1] = normal_pair(w[0], w[1])


def test_normals() -> None:
    """Both of a pair are normal, independent, and of length and angle as they should be."""
    x = np.zeros((DRAWS, 2), dtype=np.float32)
    compiled(_normals)(x)
    one, two = x.astype(float).T
    assert stats.kstest(one, "norm").pvalue > LEVEL
    assert stats.kstest(two, "norm").pvalue > LEVEL
    assert stats.kstest(one**2 + two**2, stats.chi2(2).cdf).pvalue > LEVEL
    assert stats.kstest(np.arctan2(one, two), stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > LEVEL


@pytest.mark.parametrize(
    ("binade", "every"),
    [(31, 32), (24, 32), (8, 1), *(pytest.param(binade, 1, marks=pytest.mark.long) for binade in (31, 30, 24))],
)
def test_exponentials_are_never_negative(binade: int, every: int) -> None:
    """Of numbers of a binade that float32 can tell apart, all of the last 100,000; the highest ends at u = 1."""
    drawn_from = np.arange(2**binade, 2 ** (binade + 1), max(1, 2 ** (binade - 24)), dtype=np.uint32)
    drawn_from = np.concatenate(
        [drawn_from[:-100_000:every], drawn_from[-100_000:], [np.uint32(2 ** (binade + 1) - 1)]], dtype=np.uint32
    )
    drawn = exponential(drawn_from)
    assert drawn.dtype == np.float32
    assert drawn.min() >= 0
    expected = -np.log(np.float32(drawn_from >> np.uint32(1) | np.uint32(1)).astype(np.float64) / 2**31)
    assert (np.abs(drawn - expected) <= 1e-6 + 1e-6 * expected).all()


def _odds(out: NDArray[np.float64], shapes: NDArray[np.float64]) -> None:
    """Draws of the log odds of Σ g_j w_j : Σ g_j (1 - w_j) with w = (0, 1, 0, ..), from one row of shapes."""
    width = shapes.size
    real = np.zeros((5 * width + 4, 1))
    state = State(out, real, 0)
    for slot in range(width):
        rows_put(state, slot, width, shapes[slot])
    weights = rows_end(width)
    real[weights + width : weights + 2 * width, 0] = 1
    real[weights + 1, 0] = 1
    real[weights + width + 1, 0] = 0
    row, means = DirichletRows(0, width, 0, 1, width, weights, False), weights + 2 * width
    for i in range(out.size):
        moment = (np.uint32(5), np.uint32(6), np.uint32(i), np.uint32(0))
        weigh_rows(state, row, means, moment)
        out[i] = np.log(real[means, 0]) - np.log(real[means + 2, 0])


rows_put, rows_end, weigh_rows = rows.put, rows.end, rows.weigh_rows


def fits(log_odds: NDArray[np.float64], one: float, other: float) -> bool:
    """Whether these are the log odds of Beta(one, other), near 0 and near 1 alike."""
    low, high = betainc(one, other, expit(log_odds)), 1 - betainc(other, one, expit(-log_odds))
    return bool(stats.kstest(np.where(log_odds < 0, low, high), "uniform").pvalue > LEVEL)


@pytest.mark.parametrize(
    "shapes",
    [(1.0, 1.0), (1.0, 7.5), (2.5, 1.2), (40.0, 60.0), (20_000.0, 10.0), (1.0, 1.0, 3.0, 2.0), (1.5, 2.0, 0.0, 4.0)],
)
def test_rows_weigh_as_dirichlet_draws(shapes: tuple[float, ...]) -> None:
    """The second entry of Dir(s) is Beta(s_1, S - s_1); padding, a shape of 0, does not count."""
    draws = np.zeros(DRAWS)
    compiled(_odds)(draws, np.array(shapes))
    assert fits(draws, shapes[1], sum(shapes) - shapes[1])


@pytest.mark.parametrize("shapes", [(0.5, 0.5), (0.05, 0.2), (0.3, 1.0), (5.0, 0.7, 0.1, 0.0), (1.0, 7.5)])
def test_rows_with_shapes_below_one(shapes: tuple[float, ...]) -> None:
    """The boost gives the same Beta, without underflow."""
    draws = np.zeros(DRAWS)
    compiled(_odds, {rows.put: small.put, rows.end: small.end, rows.weigh_rows: small.weigh_rows})(
        draws, np.array(shapes)
    )
    assert np.isfinite(draws).all()
    assert fits(draws, shapes[1], sum(shapes) - shapes[1])


def _uniforms(out: NDArray[np.float64]) -> None:
    for i in range(out.size):
        out[i] = uniform(words((np.uint32(1), np.uint32(2), np.uint32(i), np.uint32(3)), PATIENT, 0)[3])


def test_uniforms() -> None:
    draws = np.zeros(DRAWS)
    compiled(_uniforms)(draws)
    assert stats.kstest(draws, "uniform").pvalue > LEVEL
