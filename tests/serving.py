"""A service in a process of its own, on loopback, for tests and benchmarks."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

WAIT = 300.0


class Served:
    """A running `takeup serve`."""

    def __init__(
        self,
        database: str | Path,
        folder: Path,
        options: Sequence[str] = (),
        port: int = 0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.database, self.log = str(database), folder / "service.log"
        command = [sys.executable, "-m", "takeup", "serve", "--database", self.database, "--port", str(port), *options]
        out = folder / "service.out"
        with out.open("w") as written, self.log.open("a") as errors:
            self.process = subprocess.Popen(
                command,
                stdout=written,
                stderr=errors,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})},
            )
        try:
            self._wait(out)
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    def _wait(self, out: Path) -> None:
        """Until it says where it is, and answers there."""
        until = time.monotonic() + WAIT
        while (found := re.search(r"at http://127\.0\.0\.1:(\d+)", out.read_text())) is None:
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the service did not start: {out.read_text()} {self.log.read_text()[-2000:]}")
            time.sleep(0.02)
        self.port = int(found[1])
        self.url = f"http://127.0.0.1:{self.port}"
        key = re.search(r"takeup_\S+", out.read_text())
        self.admin = None if key is None else key[0]
        self.request("GET", "/ready")

    def request(
        self, method: str, path: str, body: object = None, key: str | None = None, **headers: str
    ) -> tuple[int, Any]:
        """One request on a connection of its own: the status, and the JSON that came."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        sent = {
            "Content-Type": "application/json",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        if key is not None:
            sent["Authorization"] = f"Bearer {key}"
        try:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            response = connection.getresponse()
            return response.status, json.loads(response.read() or "null")
        finally:
            connection.close()

    def key(self, *scopes: str) -> str:
        """A new key."""
        status, made = self.request("POST", "/keys", {"name": "test", "scopes": list(scopes)}, self.admin)
        assert status == 201, made
        return str(made["key"])

    def trial(self, spec: dict[str, Any], key: str) -> str:
        """A new trial that is running."""
        status, made = self.request("POST", "/trials", spec, key)
        assert status == 201, made
        name = str(made["trial"])
        status, made = self.request("PUT", f"/trials/{name}/state", {"state": "running"}, key)
        assert status == 200, made
        return name

    def kill(self) -> None:
        """SIGKILL: what a power cut of the process alone is."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(WAIT)

    def writer(self) -> int | None:
        """The process that writes, if one runs."""
        return self.child("takeup.store.writer_child")

    def child(self, module: str) -> int | None:
        """The process of the service that runs this module, if one does."""
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(FileNotFoundError, ProcessLookupError):  # it ended while it was looked at
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
                ours = int(parent) == self.process.pid and state != "Z"
                if ours and module.encode() in (folder / "cmdline").read_bytes():
                    return int(folder.name)
        return None

    def stop(self) -> int:
        """SIGTERM, and wait until it has finished what it had accepted."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(WAIT)
        except subprocess.TimeoutExpired:
            self.kill()
            raise


@contextmanager
def served(database: str | Path, folder: Path, *options: str) -> Iterator[Served]:
    """A service that ends with the block."""
    server = Served(database, folder, options)
    try:
        yield server
    finally:
        server.stop()
