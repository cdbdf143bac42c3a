"""Kernels of other packages, and what the machine code on disk is filed under."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import takeup
from takeup import Environment, Uniform, World, simulate
from takeup.simulation.kernels import choice
from takeup.simulation.kernels.compile import sources

TRUTH = Environment.from_world(World.bernoulli([[1, 0], [0, 1]], [0.25, 0.75]))

KERNEL = '''
from elsewhere.arithmetic import turned
from takeup.simulation.kernels.uniform import REAL, Parameters, learn, parameters, reveal

def size(policy, space):
    return 1, 0

def begin(state, shape, parameters):
    state.counts[0, state.column] = 0

def propose(state, x, shape, parameters, moment, chance):
    """Proposals in turn."""
    state.counts[0, state.column] += 1
    return turned(state.counts[0, state.column], shape[1])
'''

ARITHMETIC = """
FIRST = 1

def turned(times, arms):
    return (times + FIRST) % arms
"""


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with a kernel of its own, which Uniform is made to name."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "kernel.py").write_text(KERNEL)
    (folder / "arithmetic.py").write_text(ARITHMETIC)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("TAKEUP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(choice, "kernels_of", lambda policy: ("elsewhere.kernel",))
    sources.cache_clear()
    yield folder
    sources.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "elsewhere"]:
        del sys.modules[name]


@pytest.mark.usefixtures("elsewhere")
def test_a_kernel_of_another_package_compiles_with_what_it_calls_there() -> None:
    trace = simulate(TRUTH, Uniform(), 9, 4, engine="cpu", record="full")
    _, z, _, _ = np.unravel_index(trace.decisions[0, 0], TRUTH.space.shape)
    assert z.tolist() == [[0, 1] * 4 + [0]] * 4


def test_another_package_is_part_of_the_key(elsewhere: Path) -> None:
    simulate(TRUTH, Uniform(), 1, 1, engine="cpu")
    before = sources(frozenset({"elsewhere"}))
    (elsewhere / "arithmetic.py").write_text(ARITHMETIC.replace("FIRST = 1", "FIRST = 0"))
    sources.cache_clear()
    assert sources(frozenset({"elsewhere"})) != before
    assert sources(frozenset({"takeup"})) != before


@pytest.mark.parametrize("file", ["policies/exp3.py", "inference/pooling.py", "space.py", "simulation/kernels/rows.py"])
def test_what_kernels_take_from_the_rest_of_takeup_is_part_of_the_key(tmp_path: Path, file: str) -> None:
    """Constants such as `policies.exp3.LEAST` are frozen into the machine code."""
    copy = tmp_path / "takeup"
    shutil.copytree(Path(takeup.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    before = sources(frozenset(), copy)
    sources.cache_clear()
    assert sources(frozenset(), copy) == before
    (copy / file).write_text((copy / file).read_text() + "\nLEAST = 0.5\n")
    sources.cache_clear()
    assert sources(frozenset(), copy) != before
