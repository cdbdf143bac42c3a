"""Leases: what a client decides from by itself, without asking, for a short time.

A lease has the probabilities of every context at one version of the evidence, and a key from which every proposal is
drawn: the bits are a hash of the unit under that key. So a unit has one proposal under one lease, in whichever process,
and an audit, which derives the key from the trial's seed and the lease's number, derives every draw again.

Nothing in here needs numpy: clients decide with it.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from hashlib import blake2b, sha256
from typing import Any

from takeup.errors import InputError

GRAIN_BITS = 32
GRAIN = 2**GRAIN_BITS
"""Probabilities are whole multiples of 1 / GRAIN: they add up exactly, and so does what is drawn from them."""
KEY_BYTES = 32
DRAW_BYTES = GRAIN_BITS // 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """What a client may decide from, until when, and how often.

    Attributes:
        trial: the trial's identifier.
        number: 1, 2, .. within the trial.
        spec: SHA-256 of the trial's spec as canonical JSON.
        version: the evidence that was seen: the sequence number of the last event that moved a cell of it.
        issued: when, in microseconds since 1970, UTC.
        expires: until when decisions may be drawn under it, likewise.
        most: how many decisions may be.
        key: 64 hexadecimal digits; whoever has them can foresee every proposal under this lease, and no other.
        contexts: the labels x.
        proposals: the labels z.
        ends: for each context where the grains of each proposal end, in 2^-32; the last is 2^32.
        many: whether a unit has many decisions, which are told apart by their occasion.
    """

    trial: str
    number: int
    spec: str
    version: int
    issued: int
    expires: int
    most: int
    key: str = field(repr=False)
    contexts: tuple[str, ...]
    proposals: tuple[str, ...]
    ends: tuple[tuple[int, ...], ...]
    many: bool
    _key: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_key", bytes.fromhex(self.key))

    def draw(self, unit: str, occasion: str | None, context: int) -> int:
        """The index of the proposal that this lease gives to a unit, met in the context with this index."""
        return bisect_right(self.ends[context], drawn_bits(self._key, unit, occasion))

    def probability(self, context: int) -> tuple[float, ...]:
        """What is drawn from in a context: each a multiple of 2^-32, the sum exactly one."""
        ends = self.ends[context]
        return tuple((end - start) / GRAIN for start, end in zip((0, *ends), ends, strict=False))

    @property
    def fingerprint(self) -> str:
        """Which lease it is, whatever its number, and without telling its key: 16 hexadecimal digits."""
        return sha256(f"{self.key} {self.issued}".encode()).hexdigest()[:16]

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {name: getattr(self, name) for name in _NAMES}

    @classmethod
    def of_plain(cls, given: Mapping[str, Any]) -> "Lease":
        """The lease that JSON has so.

        Raises:
            InputError: it is none.
        """
        try:
            values = {name: given[name] for name in _NAMES}
            values["contexts"], values["proposals"] = tuple(values["contexts"]), tuple(values["proposals"])
            values["ends"] = tuple(tuple(each) for each in values["ends"])
            lease = cls(**values)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError("lease", repr(error), "a lease as the service gives it") from None
        lease._check()
        return lease

    def _check(self) -> None:
        """That proposals can be drawn from it."""
        numbers = (self.number, self.version, self.issued, self.expires, self.most)
        if not all(type(each) is int for each in numbers) or len(self._key) != KEY_BYTES:
            raise InputError("lease", "numbers or a key of another kind", "a lease as the service gives it")
        rising = all(
            all(type(end) is int for end in ends) and list(ends) == sorted(ends) and ends[:1] >= (0,)
            for ends in self.ends
        )
        sizes = {len(ends) for ends in self.ends} == {len(self.proposals)} and len(self.ends) == len(self.contexts)
        if not (rising and sizes and all(ends[-1] == GRAIN for ends in self.ends)):
            raise InputError("lease", "ends that are none", "rising whole numbers for each context, the last 2^32")


_NAMES = tuple(each.name for each in fields(Lease) if each.init)


def drawn_bits(key: bytes, unit: str, occasion: str | None) -> int:
    """The bits of a unit and its occasion under a lease's key: no two pairs are hashed as the same text."""
    name = unit.encode()
    said = b"%d:%b" % (len(name), name) if not occasion else b"%d:%b%b" % (len(name), name, occasion.encode())
    return int.from_bytes(blake2b(said, digest_size=DRAW_BYTES, key=key).digest(), "little")


def key_of(seed: int, number: int) -> bytes:
    """The key of a trial's lease: a one-way hash of the trial's seed and the lease's number."""
    path = repr((seed, "lease", number)).encode()
    return blake2b(path, digest_size=KEY_BYTES, person=b"takeup-lease").digest()


def digest_of(spec: str) -> str:
    """Which spec a lease is of: SHA-256 of its canonical JSON."""
    return sha256(spec.encode()).hexdigest()
