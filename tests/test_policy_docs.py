"""Every registered policy is told about: in the catalogue, on the command line and in the docs."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from takeup.cli import app
from takeup.policies import registered
from takeup.policies.base import Registered

PAGE = (Path(__file__).parent.parent / "docs" / "policies.md").read_text()
SECTIONS = dict(re.findall(r"^## `(\w+)`\n(.*?)(?=^## )", PAGE, flags=re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize("policy", registered(), ids=lambda policy: policy.name)
def test_every_policy_has_its_section(policy: Registered) -> None:
    """What it does, when to use it, when not, whether it is live, what it must see, and its source."""
    section = SECTIONS[type(policy).__name__]
    assert "- Use " in section
    assert "- Not " in section or "do not use it" in section
    always = [each.live for each in registered() if type(each) is type(policy)]
    if all(always) or not any(always):
        assert ("- Live." in section) == policy.live
    assert f"Compliance: {policy.compliance}" in section
    for year in re.findall(r"\((\d{4})\)", policy.card.source):
        assert f"({year})" in section


def test_no_section_is_about_nobody() -> None:
    assert set(SECTIONS) == {type(policy).__name__ for policy in registered()}


def test_the_command_lists_every_policy() -> None:
    shown = CliRunner().invoke(app, ["policies"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    rows = json.loads(CliRunner().invoke(app, ["policies", "--json"]).stdout)["policies"]
    assert [row["name"] for row in rows] == [policy.name for policy in registered()]
    for row, policy in zip(rows, registered(), strict=True):
        assert row["live"] == policy.live
        assert row["kernel"] == bool(policy.card.kernels)
        assert row["outcomes"] == policy.card.outcomes
        assert row["name"] in shown.output
    recommended = {row["kind"]: row["covariates"] for row in rows if row["recommended"]}
    assert recommended == {"TSRobust": False, "LinTSRobust": True}
    assert "Begin with TSRobust, or with LinTSRobust where covariates are known" in shown.output
