"""The page that helps to choose: its tables are those that the script writes, of the worlds of the script."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from takeup import TS, TSLat, TSObs

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("choosing", ROOT / "benchmarks" / "choosing.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["choosing"] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_has_a_table_for_everything_measured(script: ModuleType) -> None:
    page = script.PAGE.read_text()
    measured = page[page.index(script.BEGIN) : page.index(script.END)]
    assert f"{script.RUNS:,} runs" in measured
    assert f"seed {script.SEED}." in measured
    sections = measured.split("### ")[1:]
    assert len(sections) == len(script.SEEN) * len(script.KINDS)
    for section, share in zip(sections, np.repeat(list(script.SEEN.values()), 2), strict=True):
        named = {line.split(" | ")[0].strip("| ") for line in section.splitlines() if " ± " in line}
        assert named == {policy.name for policy in script.POLICIES if script.suits(policy, share)}


def test_the_page_says_what_the_worlds_are(script: ModuleType) -> None:
    """The values in the page's table are those of the script's environments."""
    page = script.PAGE.read_text()
    for kind in script.KINDS:
        for name, world in kind.worlds.items():
            (line,) = (line for line in page.splitlines() if line.startswith(f"| {name} | "))
            values = [float(value) for value in line.split(" | ")[-1].strip(" |").split(", ")]
            np.testing.assert_allclose(world.value()[0], values, atol=0.00051)


def test_tables_are_written_between_the_marks(script: ModuleType) -> None:
    """By hand: 1 and 3 are 2 with an error of 1, within two errors of 1.5; 4 with 3 is too, but more than twice."""
    runs = {TS().name: [1.0, 3.0], TSObs().name: [1.5, 1.5], TSLat().name: [1.0, 7.0]}
    found = {
        (seen, world, name): np.repeat(np.array(each)[:, np.newaxis], 3, axis=1)
        for seen in script.SEEN
        for kind in script.KINDS
        for world in kind.worlds
        for name, each in runs.items()
    }
    text = "\n".join(script.tables(found))
    assert text.count("| TS | **2.0 ± 1.0** | ") == 6
    assert text.count("| TS-Obs | **1.5 ± 0.0** | ") == 6
    assert text.count("| TS-Lat-0 | 4.0 ± 3.0 | ") == 6
    page = f"before\n{script.BEGIN}\nold\n{script.END}\nafter\n"
    assert script.written(page, "new") == f"before\n{script.BEGIN}\nnew\n{script.END}\nafter\n"
    assert not script.suits(TSObs(), 0.0)
    assert script.suits(TSLat(), 0.0)
