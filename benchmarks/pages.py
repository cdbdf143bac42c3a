"""What pages cost: opening a large trial, and what open pages do to decisions.

    PYTHONPATH=tests python benchmarks/pages.py [--events 1000000] [--pages 50] [--rounds 8] [--seconds 10]

Both go over loopback to a `takeup serve` of their own. Latencies of decisions are counted from the moment at which the
request should have been sent, so that a service that stalls cannot hide it. Rounds with and without pages alternate.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from load import Connection, Requests
from serving import Served, served
from takeup.live import Trial
from takeup.randomness import stream
from takeup.store import Store
from takeup.trial.reporting import Report

SPEC: dict[str, Any] = {
    "name": "A large trial",
    "space": {"proposals": ["usual care", "drug"], "contexts": ["young", "old"], "outcomes": ["bad", "good"]},
    "policy": {"kind": "TSObs"},
}
BATCH = 2_000
RATE = 100.0
"""Decisions a second; as many reports come with them."""

CONNECTIONS = 16


def fill(file: Path, events: int) -> None:
    """A trial of so many events, half decisions and half reports, through the store as requests go."""
    rng = stream(1, "pages")
    with Store(str(file), synchronous="OFF") as store:
        trial = Trial.create(store, SPEC, trial="large")
        trial.start()
        for first in range(0, events // 2, BATCH):
            units = [{"unit": f"u{i}", "context": ("young", "old")[i % 2]} for i in range(first, first + BATCH)]
            chance = rng.random((BATCH, 2))
            replies = [
                trial.submit(
                    Report(
                        decision=made.number,
                        implemented=made.proposal if comply < 0.7 else "usual care",
                        outcome="good" if win < (0.5 if made.proposal == "drug" else 0.4) else "bad",
                    )
                )
                for made, (comply, win) in zip(trial.decide_many(units), chance, strict=True)
            ]
            for reply in replies:
                reply.result()


async def fetch(port: int, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, str, bytes]:
    """One request on a connection of its own: the status, the head and the body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    given = {"Host": "127.0.0.1", "Connection": "close", "Content-Length": str(len(body)), **headers}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in given.items())
    writer.write(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body)
    head, _, content = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return int(head[9:12]), head.decode(), content


async def signed_in(port: int, key: str) -> str:
    """A session's cookie."""
    _, head, page = await fetch(port, "GET", "/app/sign-in")
    cookie = re.search(r"set-cookie: (takeup=[^;]+)", head)
    token = re.search(rb'name="form_token" value="(\w+)"', page)
    assert cookie is not None
    assert token is not None
    body = urlencode({"form_token": token[1].decode(), "key": key}).encode()
    kind = "application/x-www-form-urlencoded"
    _, head, _ = await fetch(port, "POST", "/app/sign-in", body, Cookie=cookie[1], Content_Type=kind)
    cookie = re.search(r"set-cookie: (takeup=[^;]+)", head)
    assert cookie is not None
    return cookie[1]


async def opening(service: Served, key: str, trial: str) -> dict[str, float]:
    """How long a page takes, and how long it takes until it shows everything, in milliseconds."""
    cookie = await signed_in(service.port, key)
    began = time.perf_counter()
    answered = 0.0
    while True:
        status, _, page = await fetch(service.port, "GET", f"/app/trials/{trial}", Cookie=cookie)
        assert status == 200
        answered = answered or time.perf_counter() - began
        if b"being drawn" not in page:
            return {"answered": 1e3 * answered, "complete": 1e3 * (time.perf_counter() - began)}


async def watch(port: int, cookie: str, trial: str) -> None:
    """What an open page does: it listens, and fetches what is new."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /app/trials/{trial}/stream HTTP/1.1\r\nHost: x\r\nCookie: {cookie}\r\n\r\n".encode())
    drawn = 0
    try:
        while line := await reader.readline():
            if line.startswith(b"data:"):
                path = f"/app/trials/{trial}/dashboard?after={drawn}"
                status, _, _ = await fetch(port, "GET", path, Cookie=cookie, Accept_Encoding="gzip")
                assert status in (200, 204)
                drawn = int(json.loads(line[5:])["rendered"])
                print(status, flush=True)
    finally:
        writer.close()


async def watch_all(port: int, key: str, trial: str, pages: int) -> None:
    """So many open pages, until this process is ended."""
    cookie = await signed_in(port, key)
    await asyncio.gather(*(watch(port, cookie, trial) for _ in range(pages)))


async def latencies(port: int, requests: Requests, seconds: float, label: str) -> list[float]:
    """Of decisions, at a steady rate, in milliseconds."""
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for connection in [await Connection.open(port) for _ in range(CONNECTIONS)]:
        free.put_nowait(connection)
    found: list[float] = []

    async def one(unit: str, due: float) -> None:
        connection = await free.get()
        body = {"unit": unit, "context": "old"}
        status, content = await connection.ask(requests.post("decisions", body, f"{unit}-d"))
        found.append(1e3 * (time.perf_counter() - due))
        assert status < 300, content
        made = json.loads(content)
        report = {"decision": made["number"], "implemented": made["proposal"], "outcome": "good"}
        status, content = await connection.ask(requests.post("reports", report, f"{unit}-r"))
        assert status < 300, content
        free.put_nowait(connection)

    began = time.perf_counter()
    tasks = []
    for i in range(int(RATE * seconds)):
        due = began + i / RATE
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(one(f"{label}-{i}", due)))
    await asyncio.gather(*tasks)
    while not free.empty():
        await free.get_nowait().close()
    return found


def processor(pid: int) -> float:
    """The seconds of a processor that a process has used; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def compare(folder: Path, pages: int, rounds: int, seconds: float) -> None:
    """Decisions with and without open pages, in turns."""
    with served(folder / "pages.db", folder) as service:
        key = service.key("design", "decide", "report", "read-unblinded")
        trial = service.trial(SPEC, key)
        requests = Requests(trial, key)
        asyncio.run(latencies(service.port, requests, 3.0, "warm"))
        asyncio.run(opening(service, key, trial))
        alone: list[list[float]] = []
        watched: list[list[float]] = []
        fetched, used = 0, {False: 0.0, True: 0.0}
        for i in range(rounds):
            for with_pages in (False, True) if i % 2 else (True, False):
                viewers = None
                if with_pages:
                    command = [sys.executable, __file__, "--watch", str(service.port), trial, str(pages)]
                    viewers = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                    assert viewers.stdin is not None
                    viewers.stdin.write(key.encode())
                    viewers.stdin.close()
                    time.sleep(3.0)
                before = processor(service.process.pid)
                found = asyncio.run(latencies(service.port, requests, seconds, f"{i}-{with_pages}"))
                used[with_pages] += processor(service.process.pid) - before
                (watched if with_pages else alone).append(found)
                if viewers is not None:
                    viewers.terminate()
                    assert viewers.stdout is not None
                    fetched += viewers.stdout.read().count(b"200")
                    viewers.wait()
    for name, found_all in (("without pages", alone), (f"with {pages} pages", watched)):
        every = np.concatenate(found_all)
        p50, p99 = np.percentile(every, [50, 99])
        print(f"{name}: {len(every):,} decisions, p50 {p50:.1f} ms, p99 {p99:.1f} ms")
    print(
        "p99 by round, without and with:",
        "; ".join(
            f"{np.percentile(a, 99):.0f} {np.percentile(b, 99):.0f}" for a, b in zip(alone, watched, strict=True)
        ),
    )
    ratios = [np.percentile(b, 99) / np.percentile(a, 99) for a, b in zip(alone, watched, strict=True)]
    whole = np.percentile(np.concatenate(watched), 99) / np.percentile(np.concatenate(alone), 99)
    rounds_said = ", ".join(f"{each:.2f}" for each in ratios)
    print(f"p99 with / without: {whole:.2f}; median over rounds {np.median(ratios):.2f}; by round {rounds_said}")
    shares = [100 * used[each] / (rounds * seconds) for each in (False, True)]
    print(f"the process that decides used {shares[0]:.1f} % of a processor without, {shares[1]:.1f} % with pages")
    print(f"{fetched} dashboards fetched, {fetched / (rounds * (seconds + 3) * pages):.2f} a second and page")


def large(folder: Path, events: int, keep: Path | None) -> None:
    """Opening a large trial."""
    file = keep or folder / "large.db"
    if not file.exists():
        fill(file, events)
    shutil.copy(file, folder / "copy.db")
    with served(folder / "copy.db", folder) as service:
        key = service.key("decide", "read-unblinded")
        for what in ("first opening, starting the process that draws", "second opening"):
            found = asyncio.run(opening(service, key, "large"))
            print(f"{what}: answered in {found['answered']:.0f} ms, complete after {found['complete']:.0f} ms")
        for i in range(3):
            service.request(
                "POST", "/trials/large/decisions", {"unit": f"n{i}", "context": "old"}, key, Idempotency_Key=f"n{i}"
            )
            time.sleep(8)
            found = asyncio.run(opening(service, key, "large"))
            print(f"after another decision: {found['answered']:.0f} ms, complete after {found['complete']:.0f} ms")


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--keep", type=Path, help="where the large trial is kept, or is already")
    parser.add_argument("--watch", nargs=3, metavar=("PORT", "TRIAL", "PAGES"), help="be open pages; the key is read")
    parser.add_argument("--only", choices=("large", "compare", "fill"))
    given = parser.parse_args()
    if given.watch:
        os.nice(19)  # they stand for other machines
        port, trial, pages = given.watch
        asyncio.run(watch_all(int(port), sys.stdin.read(), trial, int(pages)))
        return
    if given.only == "fill":
        fill(given.keep, given.events)
        return
    with tempfile.TemporaryDirectory(prefix="takeup-pages-", dir=os.environ.get("TMPDIR")) as name:
        if given.only != "large":
            compare(Path(name), given.pages, given.rounds, given.seconds)
        if given.only != "compare":
            large(Path(name), given.events, given.keep)


if __name__ == "__main__":
    main()
