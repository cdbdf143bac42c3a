"""The trial's seed: 256 bits that nobody sees before the trial stops."""

import hashlib
import secrets
from dataclasses import dataclass, field

SALT_BYTES = 16


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """The seed that all of a trial's randomness comes from, and the salt of its commitment.

    The log begins with the commitment, a hash of both, and ends with both: so the seed cannot be swapped meanwhile,
    and the log alone proves every decision afterwards. The salt keeps a small seed from being guessed from the hash.

    Attributes:
        seed: 64 hexadecimal digits.
        salt: 32 hexadecimal digits.
        given: whether somebody chose the seed; what is read from a store does not say so, its log does.
    """

    seed: str
    salt: str
    given: bool = field(default=False, compare=False)

    @classmethod
    def new(cls, seed: str | None = None) -> "Secret":
        """A secret with this seed, or with 256 random bits."""
        return cls(seed or secrets.token_hex(32), secrets.token_hex(SALT_BYTES), given=seed is not None)

    @classmethod
    def of_text(cls, text: str) -> "Secret":
        """The secret that was stored as `text`."""
        seed, _, salt = text.partition(":")
        return cls(seed, salt)

    @property
    def text(self) -> str:
        """For the store and for the log of a stopped trial."""
        return f"{self.seed}:{self.salt}"

    @property
    def number(self) -> int:
        """The seed as a number, for `takeup.randomness.stream`."""
        return int(self.seed, 16)

    @property
    def commitment(self) -> str:
        """What the log shows from the start."""
        return hashlib.sha256(f"takeup seed {self.text}".encode()).hexdigest()

    def __repr__(self) -> str:
        return f"Secret(commitment={self.commitment[:12]}..)"
