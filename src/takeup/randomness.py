"""The only place that builds a random generator.

A stream is a pure function of a seed and a path of words and numbers, so that the same decision, patient or
replication can be drawn again at any time, alone and in any order.
"""

import hashlib

import numpy as np

from takeup import checks


def stream(seed: int, *path: int | str) -> np.random.Generator:
    """The random stream of (seed, path): a Philox generator whose key is a hash of both.

    Args:
        seed: any whole number of at least 0, of any size.
        path: what the stream is for, such as `("policy", 3)`; different paths give independent streams.
    """
    seed = checks.whole("seed", seed, least=0)
    digest = hashlib.blake2b(repr((seed, *path)).encode(), digest_size=16, person=b"takeup-stream").digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))
