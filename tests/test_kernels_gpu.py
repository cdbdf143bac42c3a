"""The CUDA source without a CUDA device: it compiles for an H200, and numba's simulator gives the CPU's numbers.

Both run in Python there, so that those of the CPU need not be compiled; test_kernels_agree.py has its machine code.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from takeup import TS, Environment, World, simulate
from takeup.errors import EngineError

TRUTH = Environment.from_world(World.bernoulli([[0.8, 0.2], [0.3, 0.7]], [0.3, 0.6]))

needs_cuda = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")

SIMULATED = """
import numpy as np
from takeup import TS, UCBAT, Forgetting, Normals, Number, TSLat, TSObs, TSRobust, Environment, Reporting, World
from takeup.simulation.kernels import gpu
from kernel_runs import interpreted, laid_out
two = Environment.from_world(World.bernoulli([[0.8, 0.2], [0.3, 0.7]], [0.3, 0.6]))
numbers = Environment.from_world(World([[0.8, 0.2], [0.3, 0.7]], Normals([30, 40], [5, 9]), Number(0, 70)))
few = ((two, TSObs(), True), (numbers, TSObs(), True))
forgetting = Forgetting(base=TSObs(), half_life=1, epoch=1)
chains = TSLat(inference="gibbs", sweeps=3)
more = ((two, TS(), False), (two, TSRobust(), False), (numbers, UCBAT(), True), (two, forgetting, True))
more += ((two, chains, True),)
for truth, policy, recurrence in CASES:
    options = {"reporting": Reporting(0.7, 1, 2), "steps": [3, 6], "full": True, "recurrence": recurrence}
    layout = laid_out([truth, truth], policy, 6, 5, **options)
    for one, other in zip(gpu.run(layout, range(2, 4), block=1), interpreted(layout, range(2, 4)), strict=True):
        np.testing.assert_array_equal(one, other)
"""

COMPILED = """
import types
import numba
import numba.cuda.dispatcher as dispatcher
import numpy as np
from numba import cuda
from takeup import Forgetting, Normals, Number, TSLat, TSObs, TSRobust, Environment, World
from takeup.simulation.kernels import compile_gpu
from kernel_runs import laid_out
dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=(9, 0))
truth = Environment.from_world(World.bernoulli(np.eye(3), [0.1, 0.2, 0.3]))
numbers = Environment.from_world(World(np.eye(3), Normals([30, 40, 50], [5, 9, 7]), Number(0, 70)))
few = ((numbers, TSObs()),)
more = ((truth, TSObs()), (truth, TSRobust()), (truth, TSLat(inference="gibbs")), (truth, Forgetting(base=TSObs())))
for each, policy in CASES:
    layout = laid_out([each], policy, 100)
    given = ((64, 64, 0), layout.given, compile_gpu.memory(layout, 64, np.zeros), layout.output(64))
    ptx, _ = cuda.compile_ptx(compile_gpu.entry(layout), tuple(numba.typeof(each) for each in given), cc=(9, 0))
    assert ".visible .entry" in ptx and "fma.rn.f32" in ptx
"""


def run(script: str, **environment: str) -> None:
    paths = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | paths | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


some = pytest.mark.parametrize("cases", ["few", pytest.param("more", marks=pytest.mark.long)])


@needs_cuda
@some
def test_the_source_compiles_for_a_gpu(cases: str) -> None:
    run(COMPILED.replace("CASES", cases))


@needs_cuda
@some
def test_the_simulated_gpu_gives_the_numbers_of_the_cpu(cases: str) -> None:
    run(SIMULATED.replace("CASES", cases), NUMBA_ENABLE_CUDASIM="1")


def test_without_a_device_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("numba_cuda") is not None:
        from numba import cuda

        monkeypatch.setattr(cuda, "is_available", lambda: False)
    with pytest.raises(EngineError, match=r"no CUDA device|takeup\[gpu\]"):
        simulate(TRUTH, TS(), 10, 2, engine="gpu")
