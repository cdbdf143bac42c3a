"""The Dask engine: what a cluster gives is what one machine gives, also when its workers die."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import distributed
import numpy as np
import pytest

from takeup import TS, Environment, TSObs, World, simulate
from takeup.errors import EngineError
from takeup.simulation.cluster import Cluster
from takeup.simulation.run import plan


def sweep(cells: int, arms: int = 3) -> dict[str, Environment]:
    """Environments whose compliance falls."""
    return {
        str(i): Environment.from_world(World.bernoulli(np.eye(arms) * (1 - p) + p / arms, [0.3, 0.5, 0.6][:arms]))
        for i, p in enumerate(np.linspace(0, 0.9, cells))
    }


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    untyped: Any = distributed
    with (
        untyped.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        untyped.Client(cluster) as client,
    ):
        yield client


def same(one: Any, other: Any) -> None:
    for name in ("regret", "pulls", "decisions"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_threads_of_this_process_give_the_serial_result(engine: Any) -> None:
    policy = TS()  # whose lanes of two arms, with decisions kept, are those of test_kernels_engine.py
    serial = plan(sweep(3, 2), policy, 60, 4, engine=engine, record="full")
    whole = serial.run(range(50, 260))
    done: list[int] = []
    spread = Cluster(serial.engines[0], seconds=0.05, grain=100 if engine == "reference" else 32)
    part = spread(serial.setup, policy, range(50, 260), done.append)
    same(part, type(part)(whole.regret[:, 0], whole.pulls[:, 0], whole.decisions[:, 0]))
    assert sum(done) == 3 * 210 * 60


def test_a_port_that_somebody_has_taken_is_no_obstacle() -> None:
    """Dask's own choice for its pages is 8787; that it is taken would be a warning, and those are errors here."""
    with socket.socket() as taken:
        with suppress(OSError):  # somebody else has it, which is as good
            taken.bind(("0.0.0.0", 8787))
            taken.listen()
        simulate(sweep(2, 2), TS(), 20, 40, engine="dask", record="full")  # machine code that is there: see above


@pytest.mark.long
def test_an_existing_client_is_used_and_left_open(client: Any) -> None:
    arguments: dict[str, Any] = {"horizon": 100, "replications": 40, "seed": 2, "record": "curve"}
    spread = simulate(sweep(4), [TS(), TSObs()], engine="dask", scheduler=client, **arguments)
    same(spread, simulate(sweep(4), [TS(), TSObs()], engine="cpu", **arguments))
    spread.setup.check_same(simulate(sweep(4), [TS(), TSObs()], engine="cpu", **arguments).setup)
    assert client.status == "running"
    address = simulate(sweep(4), TS(), engine="dask", scheduler=client.scheduler.address, **arguments)
    same(address, simulate(sweep(4), TS(), engine="cpu", **arguments))


def test_a_worker_that_is_killed_costs_nothing(client: Any) -> None:
    """A sweep of 30 cells in many small blocks; one of three workers dies on the way.

    By the reference, for which no worker has to load numba; the test above has kernels on workers.
    """
    planned = plan(sweep(30), TSObs(), 5, 6, engine="reference")
    whole = planned.run(range(200))
    victim = next(iter(client.run(os.getpid).values()))

    done: list[int] = []

    def kill_once(decisions: int) -> None:
        if not done:
            os.kill(victim, signal.SIGKILL)
        done.append(decisions)

    part = Cluster(planned.engines[0], client, seconds=0.002, grain=32)(planned.setup, TSObs(), range(200), kill_once)
    assert len(done) > 1
    same(part, type(part)(whole.regret[:, 0], whole.pulls[:, 0], whole.decisions[:, 0]))
    assert victim not in client.run(os.getpid).values()


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("takeup.simulation.cluster.ANSWER_SECONDS", 1.0)
    with pytest.raises(EngineError, match="no Dask scheduler answers at"):
        simulate(sweep(1), TS(), 5, 1, engine="dask", scheduler="tcp://127.0.0.1:9")
