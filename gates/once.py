"""Keys and units that are sent many times at once have one effect each."""

from typing import Any

import uvloop

import load_clients
from gates.gate import Found, Gate, Run
from gates.scene import OPTIONS, defective
from load import Requests
from serving import Served
from takeup.live import Trial

REPEATS = {"keys": 16, "units": 32}


def at_once(run: Run, *defects: str) -> Found:
    """So many keys, 16 times each, and a fifth as many units under other keys, 32 times each."""
    environment = defective(*defects) if defects else None
    server = Served(run.folder / "trials.db", run.folder, OPTIONS, environment=environment)
    said, wrong = list[str](), list[str]()
    try:
        key = server.key("decide", "design")
        for what, ask in (("keys", load_clients.keys_at_once), ("units", load_clients.units_at_once)):
            times, repeats = run.times if what == "keys" else max(1, run.times // 5), REPEATS[what]
            trial = server.trial({**load_clients.SPEC, "name": what}, key)
            crowd = load_clients.Crowd([server.port], Requests(trial, key))
            answers: dict[str, set[Any]] = uvloop.run(ask(crowd, times, repeats))
            run.step(times)
            with Trial.open(server.database, trial) as opened:
                progress, found = opened.progress(), opened.audit()
            several = sum(len(each) != 1 for each in answers.values())
            said.append(f"{times:,} {what} sent {repeats} times each: {progress.decisions:,} decisions")
            wrong += [f"{several} {what} have several answers"] if several else []
            wrong += [] if progress.decisions == times == len(answers) else [f"{progress.decisions} for {times} {what}"]
            if what == "keys" and progress.sequence != 2 + times:
                wrong.append(f"the log has {progress.sequence - 2} events for {times} keys")
            wrong += [] if found.passed else [str(found.difference)]
    finally:
        server.stop()
    figures = "; ".join(said)
    return Found(not wrong, f"{figures}; wrong: {wrong[0]}" if wrong else f"{figures}; one answer each, audits passed")


def keyless(run: Run) -> Found:
    """Keys are not looked up."""
    return at_once(run, "keyless")


GATES = (
    Gate(
        name="at-once",
        part="faults",
        shows="keys that are sent 16 times at once, units that are asked for 32 times at once under other keys: one "
        "effect each, and one answer",
        unit="keys",
        times=10_000,
        suite=0,
        run=at_once,
        without="looking up keys when somebody asks again",
        control=keyless,
        control_times=50,
    ),
)
