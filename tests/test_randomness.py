"""Streams: functions of a seed and a path alone, whoever writes the path down."""

import numpy as np
import pytest

from takeup import InputError, stream
from takeup.randomness import bits

SEVEN, WITH_PATH, BITS = 0.29341293773091437, 0.15742537819106162, 2646985007


@pytest.mark.requirement("R-1.5")
def test_a_stream_stays_what_it_was() -> None:
    """Logs of live trials and stored results are derived again from these."""
    assert stream(7).random() == SEVEN
    assert stream(1, "x", 3).random() == WITH_PATH
    assert bits(32, 1, "x", 3) == BITS


@pytest.mark.parametrize("path", [("x", np.int64(3)), (np.str_("x"), 3), (np.str_("x"), np.uint8(3))])
def test_the_numbers_of_numpy_are_numbers(path: tuple[str, int]) -> None:
    assert stream(np.int64(1), *path).random() == WITH_PATH  # type: ignore[arg-type]  # as a user may
    assert bits(32, np.int64(1), *path) == BITS  # type: ignore[arg-type]  # as a user may


def test_other_paths_give_other_streams() -> None:
    drawn = {stream(1, *path).random() for path in [(), ("x",), ("x", 3), ("x", "3"), (3, "x"), ("x3",)]}
    assert len(drawn) == 6
    with pytest.raises(InputError, match="seed: got -1"):
        stream(-1)
