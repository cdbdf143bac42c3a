"""What the data say about one assumption: a sentence for people, and its figures."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Check:
    """What the data say about one assumption.

    Attributes:
        check: its name.
        alarm: whether they contradict it; None where it cannot be checked.
        sentence: what was found, for people.
        concerns: what a contradiction puts in doubt.
        detail: figures in words, or why it was not checked.
        p: the p-value behind it, where there is one.
    """

    check: str
    alarm: bool | None
    sentence: str
    concerns: str
    detail: str = ""
    p: float | None = None

    @property
    def of_all(self) -> bool:
        """Whether a contradiction puts everything in doubt."""
        return self.concerns.startswith("everything")

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "check": self.check,
            "alarm": self.alarm,
            "sentence": self.sentence,
            "concerns": self.concerns,
            "detail": self.detail,
            "p": self.p,
        }


def capital(words: str) -> str:
    """With a capital at its beginning."""
    return words[:1].upper() + words[1:]
