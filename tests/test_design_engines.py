"""Trials of a plan on other engines: a cluster gives what one machine gives, and so does a simulated GPU."""

from typing import Any

import numpy as np
import pytest

from plans import THREE, two
from takeup.design.engines import engine_of, on_cluster
from takeup.design.operate import operate
from takeup.design.plan import Plan
from takeup.design.running import laid_out
from takeup.errors import InputError, MismatchError
from test_kernels_gpu import needs_cuda, run

SIMULATED = """
import numpy as np
from plans import two
from takeup.design.running import laid_out
from takeup.simulation.kernels import look_cpu, look_gpu
look_gpu.THREADS = look_gpu.LAUNCH = 32
plan = two(looks={"at": [4, 9], "lag": 2}, stopping={"superiority": 0.9}, limits={"floor": 0.2})
layout = laid_out(plan, plan.scenarios, 3)
for one, other in zip(look_gpu.run(layout, range(2, 72), most=32), look_cpu.run(layout, range(2, 72)), strict=True):
    np.testing.assert_array_equal(one, other)
"""

COMPILED = """
import types
import numba
import numba.cuda.dispatcher as dispatcher
import numpy as np
from numba import cuda
from plans import THREE
from takeup.design.plan import Plan
from takeup.design.running import laid_out
from takeup.simulation.kernels import compile_gpu, look_gpu
dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=(9, 0))
against = {"control": "A", "superiority": 0.9, "futility": {"probability": 0.9, "margin": 0.1}}
for policy, more in (
    ("TS", {}),
    ("TSRobust", {"reading": "policy"}),
    ("TSObs", {**against, "reading": {"bounded": 0.05}}),
    ("TSCheck", {**against, "reading": "compliers"}),
):
    plan = Plan.of({**THREE, "policy": {"kind": policy}, "stopping": more or THREE["stopping"]})
    layout = laid_out(plan, plan.scenarios, 0)
    host = types.SimpleNamespace(device_array=np.empty)
    memory = look_gpu.side_by_side(host, layout.memory(), 1)
    given = ((64, 64, 0), layout.given, memory, layout.output(64))
    entry = compile_gpu.look_entry(layout, layout.memory())
    ptx, _ = cuda.compile_ptx(entry, tuple(numba.typeof(each) for each in given), cc=(9, 0))
    assert ".visible .entry" in ptx
"""


def same(one: Any, other: Any) -> None:
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype


@pytest.mark.requirement("R-6.4")
def test_a_cluster_gives_the_serial_result() -> None:
    plan, done = Plan.of({**THREE, "looks": {"at": [100, 200], "lag": 20}}), list[int]()
    spread = on_cluster(None, plan, plan.scenarios, range(10, 5_010), 3, done.append)
    serial = operate(plan, replications=range(10, 5_010), seed=3)
    for i, name in enumerate(plan.scenarios):
        same((part[i] for part in spread), serial[name].kept)
    assert sum(done) == 2 * 5_000


@needs_cuda
@pytest.mark.long
def test_the_source_compiles_for_a_gpu() -> None:
    run(COMPILED)


@needs_cuda
@pytest.mark.long
def test_the_simulated_gpu_gives_the_numbers_of_the_cpu() -> None:
    """70 trials on 32 threads, in three launches."""
    run(SIMULATED, NUMBA_ENABLE_CUDASIM="1")


def test_engines_are_named() -> None:
    with pytest.raises(InputError, match="engine: got 'tpu'"):
        operate(two(), replications=2, engine="tpu")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="scheduler"):
        operate(two(), replications=2, scheduler="tcp://127.0.0.1:9")
    plan, other = Plan.of(THREE), Plan.of({**THREE, "policy": {"kind": "UCB1"}})
    assert [engine_of(plan, name)[0] for name in ("auto", "cpu", "dask", "gpu")] == ["cpu", "cpu", "cpu", "gpu"]
    assert engine_of(other)[0] == engine_of(plan, "reference")[0] == "reference"


def test_trials_of_two_engines_are_not_mixed() -> None:
    from dataclasses import replace

    found = operate(Plan.of(THREE), ["null"], 4)["null"]
    with pytest.raises(MismatchError, match="engines"):
        found + replace(found, replications=found.replications + 4, engine="gpu")


def test_a_trial_takes_as_many_bytes_as_is_said() -> None:
    """Three proposals: 1 + 2 + 2 for how it ended, 3 x 2 counts of 4 bytes, 3 x (2 + 1) for what was dropped."""
    plan = Plan.of(THREE)
    layout = laid_out(plan, plan.scenarios, 0)
    assert layout.bytes == 5 + 24 + 9
    kept = operate(plan, ["null"], 1_000)["null"].kept
    assert sum(part.nbytes for part in kept) == 1_000 * layout.bytes
