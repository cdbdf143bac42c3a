"""The instructions that kernels need of a machine, beside what they say they are."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from takeup.simulation.kernels import compile_cpu
from takeup.simulation.kernels.compile import numba_module
from takeup.simulation.kernels.machine import Array, Number, times_line, times_line_in_vectors

PLACES = 110


def plain(values: Array, first: Number, end: Number, before: Number, way: Number) -> tuple[Number, Number]:
    return times_line(values, first, end, before, way)


def in_vectors(values: Array, first: Number, end: Number, before: Number, way: Number) -> tuple[Number, Number]:
    return times_line_in_vectors(values, first, end, before, way)


@pytest.mark.parametrize("way", [1.0, -1.0, 0.3])
def test_values_times_a_line_are_the_same_in_vectors_to_the_bit_and_the_sums_are_right(way: float) -> None:
    """From any place on, of any number of fours; what lies beside is left alone."""
    one, other = (compile_cpu.build(each, {}, {}) for each in (plain, in_vectors))
    rng = np.random.default_rng(1)
    for first in range(9):
        for end in range(0, PLACES - first, 4):
            values = rng.exponential(size=PLACES) * 10.0 ** rng.integers(-30, 30, size=PLACES)
            before = rng.uniform(100, 200)
            mine, theirs = values.copy(), values.copy()
            sums = one(mine, first, end, before, way)
            assert other(theirs, first, end, before, way) == sums
            np.testing.assert_array_equal(theirs, mine)
            np.testing.assert_array_equal(
                np.delete(mine, slice(first, first + end)), np.delete(values, slice(first, first + end))
            )
            np.testing.assert_array_equal(
                mine[first : first + end], values[first : first + end] * (before + way * np.arange(end))
            )
            exact = [Fraction(weight) for weight in mine[first : first + end]]
            assert sums == pytest.approx(
                (float(sum(exact)), float(sum(s * each for s, each in enumerate(exact)))), rel=1e-14
            )


TIMES = (2,)


def _part(x: float) -> float:
    return x / TIMES[0]


def _other_part(x: float) -> float:
    return x / 3


def _one(x: float) -> float:
    return _part(x) + 1


def _two(x: float) -> float:
    return _part(x) + 2


def _three(x: float) -> float:
    return _other_part(x) + 3


def test_what_two_kernels_share_is_compiled_once_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Not where another function or another switch stands in its place, however deep."""
    monkeypatch.setenv("TAKEUP_CACHE_DIR", str(tmp_path))
    event = numba_module("numba.core.event")

    def made(entry: Any, bind: dict[Any, Any], switches: dict[str, Any], value: float) -> list[str]:
        with event.install_recorder("numba:compile") as recorder:
            assert compile_cpu.build(entry, bind, switches)(6.0) == value
        begun = [each.data["dispatcher"] for _, each in recorder.buffer if each.is_start]
        return sorted(each.py_func.__name__ for each in begun)

    assert made(_one, {}, {}, 4.0) == ["_one", "_part"]
    assert made(_two, {}, {}, 5.0) == ["_two"]
    assert made(_two, {_part: _other_part}, {}, 4.0) == ["_other_part", "_two"]
    assert made(_one, {_part: _other_part}, {}, 3.0) == ["_one"]
    assert made(_one, {}, {"TIMES": (6,)}, 2.0) == ["_one", "_part"]


def test_of_those_who_need_the_same_code_one_makes_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whoever waited takes what was made meanwhile: here another build of the same, as a process of its own has."""
    monkeypatch.setenv("TAKEUP_CACHE_DIR", str(tmp_path))
    turn, event = compile_cpu._turn, numba_module("numba.core.event")

    def wait(path: Path) -> Any:
        monkeypatch.setattr(compile_cpu, "_turn", turn)
        compile_cpu._build.cache_clear()
        assert compile_cpu.build(_three, {}, {})(6.0) == 5.0
        return turn(path)

    monkeypatch.setattr(compile_cpu, "_turn", wait)
    with event.install_recorder("numba:compile") as recorder:
        assert compile_cpu.build(_three, {}, {})(6.0) == 5.0
    made = [each.data["dispatcher"].py_func.__name__ for _, each in recorder.buffer if each.is_end]
    assert made.count("_three") == 1
    assert len(list(tmp_path.rglob("*_three*.nbc"))) == 1
    assert not list(tmp_path.rglob("*.turn"))


def test_a_turn_is_had_by_one(tmp_path: Path) -> None:
    fcntl, path = pytest.importorskip("fcntl"), tmp_path / "a" / "b"
    with compile_cpu._turn(path), path.open() as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
