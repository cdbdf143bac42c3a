"""Counter-based streams: every random word is a function of key, replication, step, slot and attempt.

Philox4x32-10 of Salmon et al. (2011) turns a counter of four words into four random words under a key of two. The key
is a hash of the seed and the environment; the counter is (replication, step, slot, attempt). Nothing is carried from
one draw to the next, so threads, blocks, lanes and engines cannot change a result, and any replication can be run
again alone. Patients and policies have slots of their own: all policies meet the same patients.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from takeup import checks
from takeup.simulation.kernels.machine import Number, inlined, wide

PATIENT = np.uint32(0)
"""The slot of a decision's four words: context, response, whether compliance is reported, chance of the policy."""

POLICY = np.uint32(1 << 31)
"""The first of the slots that a policy draws from."""

ATTEMPT = np.uint32(0)
"""The attempt of everything that is not drawn again."""

_MULTIPLIER_0, _MULTIPLIER_2 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL_0, _WEYL_1 = 0x9E3779B9, 0xBB67AE85
FIRST, SECOND = np.int64(0), np.int64(1)
TURN_0, TURN_1, TURN_2, TURN_3, TURN_4, TURN_5, TURN_6, TURN_7, TURN_8, TURN_9 = np.arange(10)
"""The words of a key and the rounds, as numbers that are not literals: numba would compile a function for each."""

_LOW, _WORD = np.uint64(0xFFFFFFFF), np.uint64(32)


def key_of(seed: int, fingerprint: str) -> NDArray[np.uint32]:
    """The key of a simulation: two words of a hash of the seed and the environment's fingerprint."""
    seed = checks.whole("seed", seed, least=0)
    content = repr((seed, fingerprint)).encode()
    return np.frombuffer(hashlib.blake2b(content, digest_size=8, person=b"takeup-kernels").digest(), "<u4").copy()


@inlined
def round_key(key: Number, which: Number, turn: Number) -> Number:
    """A word of the key in a round, the key plus `turn` times a constant, modulo 2^32; uint64."""
    return (np.uint64(key) + np.uint64((turn * (_WEYL_1 if which else _WEYL_0)) & 0xFFFFFFFF)) & _LOW


@inlined
def _round(c0: Number, c1: Number, c2: Number, c3: Number, k0: Number, k1: Number, turn: Number) -> Number:
    """Two products of 64 bits, crossed and masked with the key, which moves on by a Weyl sequence."""
    product_0, product_2 = wide(c0, _MULTIPLIER_0), wide(c2, _MULTIPLIER_2)
    return (
        np.uint32(np.uint32(product_2 >> _WORD) ^ c1 ^ np.uint32(round_key(k0, FIRST, turn))),
        np.uint32(product_2 & _LOW),
        np.uint32(np.uint32(product_0 >> _WORD) ^ c3 ^ np.uint32(round_key(k1, SECOND, turn))),
        np.uint32(product_0 & _LOW),
    )


@inlined
def philox(c0: Number, c1: Number, c2: Number, c3: Number, k0: Number, k1: Number) -> Number:
    """Four random words from a counter and a key, both of uint32; ten rounds, written out for the vectoriser."""
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1, TURN_0)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1, TURN_1)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1, TURN_2)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1, TURN_3)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1, TURN_4)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1, TURN_5)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1, TURN_6)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1, TURN_7)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1, TURN_8)
    return _round(c0, c1, c2, c3, k0, k1, TURN_9)


@inlined
def words(moment: Number, slot: Number, attempt: Number) -> Number:
    """The four words of a slot at a moment, which is (key, key, replication, step)."""
    return philox(moment[2], moment[3], np.uint32(slot), np.uint32(attempt), moment[0], moment[1])


@inlined
def uniform(word: Number) -> Number:
    """A float64 strictly between 0 and 1 from one word."""
    return (np.float64(word) + 0.5) * 2.3283064365386963e-10


@inlined
def below(word: Number, count: Number) -> Number:
    """A whole number from 0 to count - 1, as (index, rest): floor(word count / 2^32) and the fraction's 32 bits."""
    product = np.uint64(word) * np.uint64(count)
    return np.int64(product >> _WORD), np.uint32(product & _LOW)
