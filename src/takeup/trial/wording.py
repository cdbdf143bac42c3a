"""Sentences in the words of a trial: people, offers and good outcomes are called what its `[words]` call them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import Any, TypeVar

from takeup.outcomes import Levels
from takeup.space import Space
from takeup.trial.spec import WordsTable

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Wording:
    """What becomes of sentences that speak of people, of what they were offered and of what they took.

    Labels of the trial stay as they are, and what has been retold is not retold again. Without words of its own a trial
    is told of as the sentences are.

    Attributes:
        words: of the trial.
        space: whose labels are left alone.
    """

    words: WordsTable
    space: Space
    _rules: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = field(init=False, repr=False)
    _pattern: re.Pattern[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        rules = tuple(_rules(self.words, self.space))
        object.__setattr__(self, "_rules", rules)
        parts = (f"(?P<r{place}>{pattern})" for place, (pattern, _) in enumerate(rules))
        object.__setattr__(self, "_pattern", re.compile("|".join(parts)))

    def told(self, sentence: str) -> str:
        """The sentence in the words of the trial."""
        if self.words == WordsTable():
            return sentence
        return self._pattern.sub(lambda found: self._rules[int(str(found.lastgroup)[1:])][1](found), sentence)

    def all(self, value: Value) -> Value:
        """The same with every text in it retold: in lists, tuples, tables, dataclasses and calls yet to be made."""
        if self.words == WordsTable():
            return value
        found: Any = self._all(value)
        return found  # type: ignore[no-any-return]  # it is what came in, with other texts

    def _all(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.told(value)
        if isinstance(value, list):
            return [self._all(each) for each in value]
        if isinstance(value, tuple):
            made = [self._all(each) for each in value]
            return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
        if isinstance(value, Mapping):
            return {name: self._all(each) for name, each in value.items()}
        if isinstance(value, partial):
            return partial(value.func, *self._all(value.args), **self._all(value.keywords))
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{each.name: self._all(getattr(value, each.name)) for each in fields(value)})
        return value


def _rules(words: WordsTable, space: Space) -> list[tuple[str, Callable[[re.Match[str]], str]]]:
    """What is replaced, and by what; where several could be, the first."""
    several, offered, took = words.several, words.offered, words.took
    outcome = space.outcome
    good = outcome.good if isinstance(outcome, Levels) else None
    own = {each for each in (words.unit, several, offered, took, words.well) if each}
    named = [*space.proposals, *space.implemented, *space.contexts, *(space.outcomes if good else ())]
    kept = [*own, *(each[:1].upper() + each[1:] for each in own), *named]
    labels = "|".join(re.escape(each) for each in sorted(set(kept), key=len, reverse=True))
    being = "offering" if offered == "offered" else f"being {offered}"
    to = offered if offered.endswith(" to") else f"{offered} to"

    def says(text: str) -> Callable[[re.Match[str]], str]:
        return lambda found: text[:1].upper() + text[1:] if found[0][:1].isupper() else text

    rules: list[tuple[str, Callable[[re.Match[str]], str]]] = []
    if good is not None:
        fared = f"are {words.well}" if words.well else ""
        share = f"share of {several} " + (f"who {fared}" if fared else f"whose outcome is {good}")
        rules.append((rf"share whose outcome is {re.escape(good)}(?!\w)", says(share)))
    rules += [
        (rf"about [\d,]+ (?:more|fewer) in [\d,]+\b(?! {re.escape(several)})", lambda found: f"{found[0]} {several}"),
        (r"\btake it because it is offered\b", says(f"{took} it because they were {offered} it")),
        (rf"(?<!\w)(?:{labels})(?!\w)", lambda found: found[0]),
        (r"\b[Ww]hat was offered\b", says(f"what they were {offered}")),
        (r"\b[Ww]hat is offered\b", says(f"what they are {offered}")),
        (r"\boffered to\b", says(to)),
        (r"\boffered\b", says(offered)),
        (r"\b[Oo]ffering\b", says(being)),
        (r"\btook\b", says(took)),
        (r"\b[Pp]eople\b", says(several)),
        (r"\bperson\b", says(words.unit)),
    ]
    return rules
