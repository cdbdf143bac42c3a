"""How a service is set up."""

import ipaddress
import ssl
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from takeup.errors import InputError
from takeup.live.anchors import anchored_writer
from takeup.live.in_memory import check_database
from takeup.store import Store, open_file, shared
from takeup.store.writer_process import WriterProcess
from takeup.trial.computing import ComputingLimits

DATABASE = "takeup.db"
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What `takeup serve` is told.

    Attributes:
        database: a URL or a file's path.
        host: the interface to listen on.
        port: the port; 0 is any that is free.
        behind_proxy: whether a proxy in front speaks TLS.
        tls_cert: a file with the certificate chain.
        tls_key: a file with its private key.
        anchors: a file that signed anchors of the logs' heads are appended to.
        anchor_key: the file of the key that signs them.
        body_limit: the most bytes of a body.
        batch_limit: the most bytes of the body of a batch.
        ingest_limit: the most bytes of a batch of what clients decided from leases.
        bodies_limit: the most bytes that all large bodies may take at once; one key's a quarter of it, or a batch.
        head_limit: the most bytes of a request's address and headers.
        connections: how many may be open at once.
        connections_per_address: how many of them from one address; does not count behind a proxy.
        head_seconds: how long a client may take to agree on TLS, and to send a request's headers.
        body_seconds: how long a body may take on top of what its size needs, and stand still.
        write_seconds: how long an answer may remain unread on top of what its size needs.
        keep_alive_seconds: how long a connection stays open between requests.
        rate: how many requests a second a key may make in the long run.
        burst: how many it may make at once.
        leases: how many leases a key may have at once; it gains as many a minute.
        key_seconds: how long a key that another process revoked may still work.
        session_seconds: how long a person who signed in to the pages stays so.
        idle_seconds: how long one stays so who does nothing.
        invitation_seconds: how long an invitation lasts.
        key_sign_in: whether one may sign in to the pages with an API key, as in version 0.1.
        queue_limit: how many requests may wait for the database; more are turned away at once.
        waiting_limit: how many single decisions and reports may, fewer where they would wait long; further ones of a
            trial that has its share of them are turned away before they are read.
        tick_seconds: how often outcome windows are looked after when nobody asks for anything.
        grace_seconds: how long requests that were accepted may take to finish when the service is stopped.
        decision_seconds: how much computing a decision may take; the trial is paused where it takes more. A spec is
            refused where its decisions take more than half of that, or 0.5, when they are tried.
    """

    database: str = DATABASE
    host: str = "127.0.0.1"
    port: int = 8000
    behind_proxy: bool = False
    tls_cert: Path | None = None
    tls_key: Path | None = None
    anchors: Path | None = None
    anchor_key: Path | None = None
    body_limit: int = MEGABYTE
    batch_limit: int = 8 * MEGABYTE
    ingest_limit: int = 16 * MEGABYTE
    bodies_limit: int = 64 * MEGABYTE
    head_limit: int = 16_384
    connections: int = 2_000
    connections_per_address: int = 500
    head_seconds: float = 20.0
    body_seconds: float = 30.0
    write_seconds: float = 30.0
    keep_alive_seconds: int = 75
    rate: float = 2_000.0
    burst: float = 4_000.0
    leases: float = 600.0
    key_seconds: float = 2.0
    session_seconds: float = 12 * 3_600.0
    idle_seconds: float = 3_600.0
    invitation_seconds: float = 3 * 86_400.0
    key_sign_in: bool = True
    queue_limit: int = 10_000
    waiting_limit: int = 640
    tick_seconds: float = 60.0
    grace_seconds: int = 30
    decision_seconds: float = 1.0

    def __post_init__(self) -> None:
        """Refuse settings that are unsafe or contradict each other."""
        check_database("--database", self.database)
        for one, other, names in (
            (self.tls_cert, self.tls_key, "--tls-cert and --tls-key"),
            (self.anchors, self.anchor_key, "--anchors and --anchor-key"),
        ):
            if (one is None) != (other is None):
                raise InputError(names, "one of them", "both or neither")
        for name in ("tls_cert", "tls_key", "anchor_key"):
            file = getattr(self, name)
            if file is not None and not file.is_file():
                raise InputError(f"--{name.replace('_', '-')}", str(file), "a file that is there")
        self._check_certificate()
        if not (self.loopback or self.encrypted):
            raise InputError(
                "--host",
                self.host,
                "a loopback address, as keys would cross the network in the clear",
                "put a proxy that speaks TLS in front and say --behind-proxy, or give --tls-cert and --tls-key",
            )

    def _check_certificate(self) -> None:
        """Refuse what TLS cannot begin with, before anything else is begun."""
        if self.tls_cert is None or self.tls_key is None:
            return
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.tls_cert, self.tls_key, _no_password)
        except (OSError, ValueError) as error:  # an SSLError is an OSError
            raise InputError(
                "--tls-cert and --tls-key",
                f"{self.tls_cert} and {self.tls_key}",
                f"a certificate chain and its private key, both in PEM and without a password ({error})",
            ) from None

    def store(self) -> Store:
        """The database, with a writer in a process of its own; in this one where nobody else may open it."""
        opening = partial(anchored_writer, self.database, self.anchors, self.anchor_key)
        if not shared(self.database):
            return Store(self.database, writer=opening())
        limits = ComputingLimits(decision=self.decision_seconds, together=self.decision_seconds)
        return Store(self.database, writer=WriterProcess(opening, open_file(self.database), limits))

    @property
    def loopback(self) -> bool:
        """Whether nobody but this machine can connect."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def encrypted(self) -> bool:
        """Whether those who connect speak TLS, here or with a proxy in front."""
        return self.behind_proxy or self.tls_cert is not None


def _no_password() -> str:
    """Called for a key that is locked, instead of asking whoever sits at the terminal."""
    raise ValueError("the key has a password")
