"""The numbered requirements of takeup: `requirements.toml` beside this file is the one place that has them."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class Requirement:
    """A sentence that can be tested.

    Attributes:
        number: such as R-2.3: the third of the second area.
        text: what has to be so.
    """

    number: str
    text: str


@dataclass(frozen=True, slots=True)
class Area:
    """A part of the product.

    Attributes:
        number: its place.
        title: what it is about.
        requirements: what is required of it.
    """

    number: int
    title: str
    requirements: tuple[Requirement, ...]


@cache
def areas() -> tuple[Area, ...]:
    """All areas, in order. A requirement's number follows from its place."""
    text = resources.files("takeup.qualification").joinpath("requirements.toml").read_text(encoding="utf-8")
    made = []
    for number, area in enumerate(tomllib.loads(text)["areas"], start=1):
        texts = enumerate(area["requirements"], start=1)
        held = tuple(Requirement(f"R-{number}.{i}", " ".join(text.split())) for i, text in texts)
        made.append(Area(number, area["title"], held))
    return tuple(made)


@cache
def requirements() -> dict[str, Requirement]:
    """All requirements by their numbers."""
    return {each.number: each for area in areas() for each in area.requirements}
