"""The forms of a kernel are picked by what they cost, which these tests say: none looks at a clock."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from takeup import TS, Environment, Reporting, TSObs, World, simulate
from takeup.cli import app, engine_line
from takeup.simulation import compiled, picking
from takeup.simulation.engine import Choice, Form
from takeup.simulation.kernels import cpu, gpu
from takeup.simulation.kernels.layout import Layout
from takeup.simulation.run import EngineName, plan
from takeup.simulation.trace import Trace

TRUTH = Environment.from_world(World.bernoulli([[0.8, 0.2], [0.3, 0.7]], [0.4, 0.6]))
SECOND = 2**-10
"""Of a step, so that 1,024 of them take a second."""

SPEC = """
horizon = 300
replications = 130
seed = 5

[environments.one]
compliance = [[0.8, 0.2], [0.3, 0.7]]
success = [0.4, 0.6]

[[policies]]
kind = "TS"
"""


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Form]]:
    """Says what a step costs in which form, and whether the code is there; returns the list of what is asked for."""

    def told(lanes: float, plain: float, *, ready: bool = True, fewest: int = 1) -> list[Form]:
        asked: list[Form] = []

        def cost(layout: Layout, form: Form, threads: int, most: int) -> float:
            asked.append(form)
            return lanes if form == "lanes" else plain

        monkeypatch.setattr(picking, "cost", cost)
        monkeypatch.setattr(picking, "is_ready", lambda layout, form: ready)
        monkeypatch.setattr(picking, "FEWEST_STEPS", fewest)
        return asked

    return told


def laid_out(horizon: int, reporting: Reporting = Reporting()) -> Layout:
    planned = plan(TRUTH, TS(), horizon, reporting=reporting)
    return compiled._layout(planned.setup, planned.setup.policies["TS"])


def test_the_faster_form_is_picked(costs: Callable[..., list[Form]]) -> None:
    """64 replications are two groups of lanes, one for each core, or 32 replications on each."""
    layout = laid_out(1_024)
    costs(lanes=8 * SECOND, plain=SECOND)
    assert picking.pick(layout, 64, cores=2) == Choice("cpu", "lanes", 8.0)
    assert picking.pick(layout, 2, cores=2) == Choice("cpu", "plain", 1.0)
    assert picking.pick(layout, 33, cores=64) == Choice("cpu", "plain", 1.0)
    assert picking.pick(layout, 10, cores=1) == Choice("cpu", "lanes", 8.0)
    assert picking.pick(layout, 2, cores=2, free=False) == Choice("cpu", "lanes", 8.0)


def test_small_work_and_code_that_is_not_there_keep_the_usual_form(costs: Callable[..., list[Form]]) -> None:
    layout = laid_out(1_024)
    asked = costs(lanes=SECOND / 2, plain=0)
    assert picking.pick(layout, 2, cores=2) == Choice("cpu", "lanes", 0.5)
    asked += costs(lanes=59 * SECOND, plain=0, ready=False)
    assert picking.pick(layout, 2, cores=2) == Choice("cpu", "lanes", 59.0)
    asked += costs(lanes=59 * SECOND, plain=0, fewest=1_025)
    assert picking.pick(layout, 2, cores=2) == Choice("cpu", "lanes")
    assert "plain" not in asked
    costs(lanes=61 * SECOND, plain=SECOND, ready=False)
    assert picking.pick(layout, 2, cores=2).form == "plain"
    costs(lanes=2 * SECOND, plain=1.9 * SECOND)
    assert picking.pick(layout, 2, cores=2).form == "lanes"  # too close to change
    asked = costs(lanes=0, plain=9 * SECOND)
    late = laid_out(1_024, Reporting(delay=3))
    assert picking.pick(late, 2, cores=2) == Choice("cpu", "plain", 9.0)
    assert asked == ["plain"]  # there are no lanes


def test_results_do_not_depend_on_what_is_picked(
    costs: Callable[..., list[Form]], monkeypatch: pytest.MonkeyPatch
) -> None:
    forms: list[Form] = []
    run = cpu.run

    def watched(*arguments: object, form: Form = "auto", **others: object) -> object:
        forms.append(form)
        return run(*arguments, form=form, **others)  # type: ignore[arg-type]  # handed on as they come

    monkeypatch.setattr(cpu, "run", watched)
    engine: EngineName = "auto"
    costs(lanes=9 * SECOND, plain=1e-9)
    one = simulate(TRUTH, [TS(), TSObs()], 300, 70, engine=engine)
    costs(lanes=9 * SECOND, plain=SECOND)
    other = simulate(TRUTH, [TS(), TSObs()], 300, 70, engine=engine)
    asked = simulate(TRUTH, [TS(), TSObs()], 300, 70, engine="cpu")
    assert forms == ["plain", "plain", "lanes", "lanes", "auto", "auto"]
    for trace in (other, asked):
        np.testing.assert_array_equal(one.regret, trace.regret)
        np.testing.assert_array_equal(one.pulls, trace.pulls)
        one.setup.check_same(trace.setup)


def test_a_step_is_measured_without_changing_anything() -> None:
    """What it costs is not looked at; that it was measured in a few steps, and is a time, is."""
    layout = laid_out(5_000)
    before = cpu.run(layout, range(40))
    forms: tuple[Form, ...] = ("lanes", "plain")
    for form in forms:
        assert 0 <= picking.cost(layout, form, 2, 100) < np.inf
        assert picking.is_ready(layout, form)
    for one, two in zip(before, cpu.run(layout, range(40)), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "trial.toml"
    path.write_text(SPEC)
    return path


def test_the_command_says_in_one_line_what_it_picked(
    file: Path, costs: Callable[..., list[Form]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """130 replications of 300 steps are three rounds of lanes on two cores, or 65 of one replication each."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(compiled, "has_device", lambda: False)
    lanes, plain, idle = (
        "CPU, 32 replications side by side",
        "CPU, one replication after the other",
        "on an idle machine",
    )
    runs = {
        (8, 1): f"{lanes} on 2 cores, about 5.5 thousand decisions a second; about 7 s {idle}.",
        (80, 1): f"{plain} on 2 cores, about 2 thousand decisions a second; about 19 s {idle}.",
        (1 / 9, 1): f"{lanes} on 2 cores; a second or less.",
    }
    outputs = []
    for (side_by_side, alone), line in runs.items():
        costs(side_by_side * SECOND, alone * SECOND)
        found = CliRunner().invoke(app, ["simulate", str(file)])
        assert found.stderr == f"Engine: {line}\n"
        outputs.append(found.stdout)
        machine = CliRunner().invoke(app, ["simulate", str(file), "--json"])
        assert machine.stderr == ""
        outputs.append(json.dumps(json.loads(machine.stdout)["simulation"]["regret"]))
    assert len(set(outputs)) == 2
    costs(9, 9, fewest=10**6)
    assert CliRunner().invoke(app, ["simulate", str(file)]).stderr == f"Engine: {lanes} on 2 cores.\n"
    asked = CliRunner().invoke(app, ["simulate", str(file), "--engine", "reference"])
    assert asked.stderr == "Engine: the reference (numpy) on one core.\n"


def test_a_gpu_is_taken_where_it_saves_a_tenth(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not tried for less than a minute of work, nor where the CPU's time is not known."""
    layout = laid_out(1_024)
    monkeypatch.setattr(picking, "expected_of_gpu", lambda layout, replications: 89.0)
    assert picking.pick_gpu(layout, 9, Choice("cpu", "lanes", 100.0)) == Choice("gpu", seconds=89.0)
    assert picking.pick_gpu(layout, 9, Choice("cpu", "lanes", 98.0)) == Choice("cpu", "lanes", 98.0)
    monkeypatch.setattr(picking, "expected_of_gpu", lambda layout, replications: 1.0)
    for seconds in (None, 59.0):
        assert picking.pick_gpu(layout, 9, Choice("cpu", "plain", seconds)) == Choice("cpu", "plain", seconds)


def test_the_time_of_a_gpu_is_that_of_two_horizons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 100,000 of 300,000 replications: 2 s at the beginning and 1/1024 s a step make 3 (2 + 1000/1024) s in all."""
    now, tried = [0.0], []

    def run(layout: Layout, replications: range) -> None:
        tried.append((layout.given.horizon, len(replications)))
        now[0] += 50.0 if layout.given.horizon == 1 else 2 + layout.given.horizon * SECOND  # compiling, or not

    monkeypatch.setattr(gpu, "run", run)
    assert picking.expected_of_gpu(laid_out(1_000), 300_000, lambda: now[0]) == 3 * (2 + 1_000 * SECOND)
    assert tried == [(1, 100_000), (16, 100_000), (64, 100_000), (256, 100_000)]
    assert picking.expected_of_gpu(laid_out(40), 7, lambda: now[0]) == 2 + 40 * SECOND
    assert tried[4:] == [(1, 7), (16, 7), (40, 7)]
    assert picking.expected_of_gpu(laid_out(10), 7, lambda: now[0]) == 2 + 10 * SECOND
    assert tried[7:] == [(1, 7), (10, 7)]


def test_the_command_takes_a_gpu_where_it_is_faster_and_stays_on_it(
    file: Path, costs: Callable[..., list[Form]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The CPU stands in for the GPU. A file that was begun on one goes on there, also where the CPU would be picked."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(compiled, "has_device", lambda: True)
    monkeypatch.setattr(picking, "expected_of_gpu", lambda layout, replications: 3.0)
    monkeypatch.setattr(gpu, "run", cpu.run)
    costs(lanes=800 * SECOND, plain=100 * SECOND)
    out = file.with_suffix(".parquet")
    command = ["simulate", str(file), "--out", str(out)]
    begun = CliRunner().invoke(app, [*command, "--replications", "100"])
    assert begun.stderr.startswith(
        "Engine: GPU, about 10 thousand decisions a second; about 3 s on an idle machine. A GPU"
    )
    assert Trace.read(str(out)).setup.engines == ("gpu",)
    costs(lanes=SECOND / 800, plain=SECOND)
    assert CliRunner().invoke(app, command).stderr == "Engine: GPU.\n"
    on_gpu, on_cpu = Trace.read(str(out)), simulate(TRUTH, TS(), 300, 130, 5)
    assert on_gpu.replications.size == 130
    np.testing.assert_array_equal(on_gpu.regret, on_cpu.regret)
    assert on_cpu.setup.engines == ("cpu",)  # in Python a GPU has to be asked for
    other = CliRunner().invoke(app, [*command, "--engine", "cpu", "--replications", "140"])
    assert "they differ in engines" in str(other.exception)


def test_several_engines_are_named_with_their_policies() -> None:
    planned = plan(TRUTH, {"one": TS(), "two": TSObs(), "other": TS()}, 5)
    chosen = (Choice("cpu", "lanes", 1.0), Choice("reference"), Choice("cpu", "lanes", 1.0))
    line = engine_line.engine_line(type(planned)(planned.setup, planned.engines, "auto", chosen), 3)
    assert line.startswith("Engine: CPU, 32 replications side by side on ")
    assert line.endswith(" (one, other); the reference (numpy) on one core (two).")


@pytest.mark.parametrize(
    ("value", "told"),
    [(41.4e6, "41 million"), (1.0e9, "1 billion"), (538_000, "540 thousand"), (41, "41"), (0.5, "0.5")],
)
def test_speeds_have_two_digits(value: float, told: str) -> None:
    assert engine_line._rounded(value) == told


@pytest.mark.parametrize(("seconds", "told"), [(12.3, "12 s"), (100, "100 s"), (210, "3.5 min"), (9_000, "2.5 h")])
def test_times_have_two_digits(seconds: float, told: str) -> None:
    assert engine_line._time(seconds) == told


INTERRUPTED = """
import os, signal
from takeup.cli import main
from takeup.simulation import picking

def cost(layout, form, threads, most):
    os.kill(os.getpid(), signal.SIGINT)
    return 1.0

picking.cost = cost
picking.FEWEST_STEPS = 1
main()
"""


def test_ctrl_c_while_measuring_ends_it_quietly(file: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED, "simulate", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
