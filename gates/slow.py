"""Connections that do nothing, or next to nothing, and those who want to work beside them."""

import asyncio
import itertools
from contextlib import suppress

import uvloop

import load_clients
from gates.gate import Found, Gate, Run
from gates.scene import OPTIONS, defective
from load import Requests
from load_kinds import SPEC
from pace import Load
from serving import Served

SLOW = 1_000
PLACES = 4
"""They come from so many addresses."""

RATE, P99 = 50.0, 500.0
HEAD = b"POST /trials/x/decisions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 200\r\n"


async def dawdle(port: int, i: int) -> None:
    """One connection after the other: silent, or a byte of a head or of a body every second."""
    for _ in itertools.count():
        with suppress(OSError):
            address = (f"127.0.1.{1 + i % PLACES}", 0)
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=address)
            try:
                if i % 3 == 2:
                    writer.write(HEAD + b"\r\n")
                for byte in HEAD * 100:
                    if i % 3:
                        writer.write(bytes([byte]))
                    with suppress(TimeoutError):
                        async with asyncio.timeout(1.0):  # `wait_for` may lose that it is to end
                            if not await reader.read(4_096):
                                break
            finally:
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()
        await asyncio.sleep(1.0)


async def health(port: int) -> int:
    """The status that somebody new gets."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    try:
        head = await asyncio.wait_for(reader.read(), 30)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    return int(head[9:12] or 0)


def beside(run: Run, *defects: str) -> Found:
    """Those who work, for so many seconds, while there is room for no more connections than those who do not."""
    environment = defective(*defects) if defects else None
    options = [*OPTIONS, "--connections", str(SLOW)]
    server = Served(run.folder / "trials.db", run.folder, options, environment=environment)
    wrong: list[str] = []
    fresh = 0
    try:
        key = server.key("decide", "report", "design")
        trial = server.trial(SPEC, key)
        load = Load([server.port], Requests(trial, key), connections=16)

        async def go() -> None:
            nonlocal fresh
            slow = [asyncio.create_task(dawdle(server.port, i)) for i in range(SLOW)]
            await asyncio.sleep(3.0)
            working = asyncio.create_task(load.paced(RATE, run.times, "beside"))
            try:
                while not working.done():
                    run.step(round(len(load.decisions.seconds) / RATE))
                    status = await health(server.port)
                    fresh += 1
                    if status != 200:
                        wrong.append(f"somebody new got {status}")
                    await asyncio.sleep(0.5)
                await working
            finally:
                for each in (*slow, working):
                    each.cancel()
                await asyncio.gather(*slow, working, return_exceptions=True)

        try:
            uvloop.run(go())
        except* OSError as group:
            wrong.append(f"a client was cut off: {group.exceptions[0]}")
    finally:
        server.stop()
    wrong += load.decisions.refused + load.reports.refused + load_clients.lost(server.database, trial, load.said)
    p99 = load.decisions.quantile(0.99) if load.decisions.seconds else float("inf")
    figures = (
        f"{SLOW:,} slow ones; {len(load.said):,} decisions and reports of others, p99 {p99:.0f} ms; {fresh} new clients"
    )
    if wrong:
        return Found(False, f"{figures}; {len(wrong)} wrong, the first: {wrong[0][:160]}")
    return Found(p99 < P99 or not run.timed, f"{figures}; none refused, none lost")


def roomless(run: Run) -> Found:
    """No room is made for whoever comes."""
    return beside(run, "roomless")


GATES = (
    Gate(
        name="slow-connections",
        part="load",
        shows="1,000 connections that are silent, or send a byte of a head or a body a second, and come again when "
        "closed, where there may be 1,000: others are let in and answered, p99 below 500 ms, errors 0",
        unit="seconds",
        times=120,
        suite=2,
        run=beside,
        without="making room for those who ask",
        control=roomless,
        control_times=3,
    ),
)
