"""The page of outcomes tells of every kind, every likelihood and every policy, as they are."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import takeup
from takeup.conjugates import LIKELIHOODS
from takeup.outcomes.described import KINDS
from takeup.policies import registered

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "outcomes.md").read_text()
FAMILIES = ("Normals", "LogNormals", "Poissons", "Exponentials", "Samples")


@pytest.mark.parametrize("kind", [*KINDS.values(), *LIKELIHOODS.values()], ids=lambda kind: kind.__name__)
def test_every_kind_and_likelihood_is_told_of(kind: Any) -> None:
    """On the page, in the table of types, and among the public names; a spec's word for it as well."""
    assert f"`{kind.__name__}`" in PAGE
    assert re.search(rf"\b{kind.kind}\b", PAGE)
    assert f"`{kind.__name__}`" in (DOCS / "model.md").read_text()
    assert kind.__name__ in takeup.__all__


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.__name__)
def test_every_argument_of_an_outcome_is_told_of(kind: Any) -> None:
    docs = PAGE + (kind.__doc__ or "")
    for field in fields(kind):
        assert re.search(rf"\b{field.name}\b", docs), field.name


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_is_told_of(name: str) -> None:
    assert f"`{name}`" in PAGE
    assert f"`{name}`" in (DOCS / "model.md").read_text()
    assert name in takeup.__all__


@pytest.mark.parametrize("takes", ["all", "valued", "counted"])
def test_who_takes_what_is_what_the_cards_say(takes: str) -> None:
    row = re.search(rf"^\| {takes} \|.*\|(.*)\|$", PAGE, flags=re.MULTILINE)
    assert row is not None
    told = set(re.findall(r"`(\w+)`", row[1]))
    assert told == {type(policy).__name__ for policy in registered() if policy.card.outcomes == takes}
