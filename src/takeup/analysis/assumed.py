"""What estimates and tests assume: each sentence once, with a letter by which tables refer to it."""

from collections.abc import Iterable
from dataclasses import dataclass
from string import ascii_uppercase

from takeup.analysis.results import Analysis


@dataclass(frozen=True, slots=True)
class Assumed:
    """Assumptions in the order in which they are first made.

    Attributes:
        sentences: each once, with a capital and a full stop.
    """

    sentences: tuple[str, ...]

    @classmethod
    def by(cls, analysis: Analysis) -> "Assumed":
        """All that anything in an analysis rests on."""
        made = [each.estimate.assumes for each in analysis.entries] + [each.tested.assumes for each in analysis.tests]
        groups = [group for each in analysis.subgroups for group in each.groups]
        made += [each.assumes for group in groups for each in (group.own, group.drawn) if each is not None]
        return cls(tuple(dict.fromkeys(_sentence(words) for assumes in made for words in assumes)))

    @property
    def lettered(self) -> tuple[tuple[str, str], ...]:
        """A letter and a sentence each."""
        return tuple((_letter(place), sentence) for place, sentence in enumerate(self.sentences))

    def letters(self, assumes: Iterable[str]) -> str:
        """By which letters these are referred to."""
        return " ".join(_letter(place) for place in sorted(self.sentences.index(_sentence(each)) for each in assumes))


def _letter(place: int) -> str:
    """A to Z, then AA, as lists in HTML have it."""
    more, letter = divmod(place, len(ascii_uppercase))
    return (_letter(more - 1) if more else "") + ascii_uppercase[letter]


def _sentence(words: str) -> str:
    """With a capital and a full stop."""
    return words[:1].upper() + words[1:] + ("" if words.endswith(".") else ".")
