"""The only place that builds a random generator.

A stream is a pure function of a seed and a path of words and numbers, so that the same decision, patient or
replication can be drawn again at any time, alone and in any order.
"""

import hashlib
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from takeup import checks
from takeup.checks import FloatArray, IntArray


def stream(seed: int, *path: int | str) -> np.random.Generator:
    """The random stream of (seed, path): a Philox generator whose key is a hash of both.

    Args:
        seed: any whole number of at least 0, of any size.
        path: what the stream is for, such as `("policy", 3)`; different paths give independent streams.
    """
    seed = checks.whole("seed", seed, least=0)
    digest = hashlib.blake2b(_text(seed, *path), digest_size=16, person=b"takeup-stream").digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))


def bits(count: int, seed: int, *path: int | str) -> int:
    """The first random bits of (seed, path), as a whole number from 0 to 2^count - 1: a hash of both.

    Where a single number is drawn it costs a tenth of what a stream does.

    Args:
        count: how many bits, at most 64.
        seed: any whole number of at least 0, of any size.
        path: what the bits are for; different paths give independent bits.
    """
    digest = hashlib.blake2b(_text(seed, *path), digest_size=8, person=b"takeup-bits").digest()
    return int.from_bytes(digest, "little") >> (64 - count)


def _text(*path: int | str) -> bytes:
    """What is hashed; a number or a word of numpy's is written as Python's own."""
    return repr(tuple(each.item() if isinstance(each, np.generic) else each for each in path)).encode()


class Streams:
    """Several streams side by side: whatever is drawn, row i along the first axis comes from stream i alone.

    It draws for many blocks of replications in one call, and each block gets what it would get by itself.
    """

    def __init__(self, streams: Sequence[np.random.Generator]) -> None:
        self._streams = tuple(streams)

    @property
    def streams(self) -> tuple[np.random.Generator, ...]:
        """Each of them, for what cannot be drawn side by side."""
        return self._streams

    def random(self, size: tuple[int, ...]) -> FloatArray:
        """Uniform numbers of [0, 1)."""
        return np.stack([rng.random(size[1:]) for rng in self._streams])

    def integers(self, high: int, size: tuple[int, ...]) -> IntArray:
        """Whole numbers from 0 to high - 1."""
        return np.stack([rng.integers(high, size=size[1:]) for rng in self._streams])

    def standard_exponential(self, size: tuple[int, ...]) -> FloatArray:
        """Exponential numbers of mean one."""
        return np.stack([rng.standard_exponential(size[1:]) for rng in self._streams])

    def standard_normal(self, size: tuple[int, ...]) -> FloatArray:
        """Normal numbers of mean zero and variance one."""
        return np.stack([rng.standard_normal(size[1:]) for rng in self._streams])

    def standard_gamma(self, shape: FloatArray, size: tuple[int, ...]) -> FloatArray:
        """Gamma numbers of scale one; `shape` has the first axis too."""
        return np.stack([rng.standard_gamma(s, size=size[1:]) for rng, s in zip(self._streams, shape, strict=True)])

    def binomial(self, n: IntArray, p: FloatArray) -> IntArray:
        """How many of n succeed with probability p; both have the first axis too."""
        return np.stack([rng.binomial(*each) for rng, *each in zip(self._streams, n, p, strict=True)])


Random: TypeAlias = np.random.Generator | Streams
"""What a policy draws from."""
