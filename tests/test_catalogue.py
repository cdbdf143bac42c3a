"""Every registered policy is told about: in the catalogue, on the command line and in the docs."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from takeup import Policy
from takeup.cli import app
from takeup.policies import REGISTRY
from takeup.policies.catalogue import about

PAGE = (Path(__file__).parent.parent / "docs" / "policies.md").read_text()
SECTIONS = dict(re.findall(r"^## `(\w+)`\n(.*?)(?=^## )", PAGE, flags=re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize("policy", REGISTRY, ids=lambda policy: policy.name)
def test_every_policy_has_its_section(policy: Policy[Any]) -> None:
    """What it does, when to use it, when not, whether it is live, what it must see, and its source."""
    section = SECTIONS[type(policy).__name__]
    assert "- Use " in section
    assert "- Not " in section or "do not use it" in section
    always = [each.live for each in REGISTRY if type(each) is type(policy)]
    if all(always) or not any(always):
        assert ("- Live." in section) == policy.live
    assert f"Compliance: {about(policy).compliance}" in section
    for year in re.findall(r"\((\d{4})\)", about(policy).source):
        assert f"({year})" in section


def test_no_section_is_about_nobody() -> None:
    assert set(SECTIONS) == {type(policy).__name__ for policy in REGISTRY}


def test_the_command_lists_every_policy() -> None:
    shown = CliRunner().invoke(app, ["policies"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    rows = json.loads(CliRunner().invoke(app, ["policies", "--json"]).stdout)["policies"]
    assert [row["name"] for row in rows] == [policy.name for policy in REGISTRY]
    for row, policy in zip(rows, REGISTRY, strict=True):
        assert row["live"] == policy.live
        assert row["kernel"]
        assert row["name"] in shown.output
