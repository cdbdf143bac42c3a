"""Gates of killed stores and failing power, a few times; each with its control."""

from pathlib import Path

import pytest

import gated


@pytest.mark.requirement("R-3.1")
def test_a_killed_process_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    gated.hold(gated.gate("store-killed"), tmp_path)


@pytest.mark.requirement("R-3.2")
def test_a_power_failure_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """The control is the same without syncs; it ends with the first loss, after one or two failures."""
    gated.hold(gated.gate("power"), tmp_path)
