"""A bad line between a client and a service."""

import contextlib
import socket
import threading
from typing import Literal

Mode = Literal["pass", "refuse", "swallow", "trickle", "hang"]
"""Let all through; hang up at once; let the request through and swallow the answer; let the answer through far too
slowly; take the request and do nothing."""


class Proxy:
    """A TCP proxy on loopback whose line can be made bad at any time."""

    def __init__(self, port: int) -> None:
        self.mode: Mode = "pass"
        self.swallowed = 0
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._open: set[socket.socket] = set()
        self._closed = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def to(self, port: int) -> None:
        """From now on lead to another port."""
        self._to = port
        self.hang_up()

    def hang_up(self) -> None:
        """Break all connections."""
        for line in list(self._open):
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End."""
        self._closed.set()
        self._listening.close()
        self.hang_up()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        self._open.add(near)
        with near, contextlib.suppress(OSError):
            if self.mode == "refuse":
                return
            with socket.create_connection(("127.0.0.1", self._to)) as far:
                self._open.add(far)
                threading.Thread(target=self._ask, args=(near, far), daemon=True).start()
                self._answer(far, near)
                self._open.discard(far)
                near.shutdown(socket.SHUT_RDWR)  # closing alone waits for the thread that listens
        self._open.discard(near)

    def _ask(self, near: socket.socket, far: socket.socket) -> None:
        """From the client to the service."""
        with contextlib.suppress(OSError):
            while request := near.recv(1 << 20):
                if self.mode == "hang":
                    self._closed.wait(60)
                    break
                far.sendall(request)
            far.shutdown(socket.SHUT_RDWR)

    def _answer(self, far: socket.socket, near: socket.socket) -> None:
        """From the service to the client."""
        while answer := far.recv(1 << 20):
            if self.mode == "swallow":
                self.swallowed += 1
                return
            if self.mode == "trickle":
                for byte in answer:
                    near.sendall(bytes([byte]))
                    if self._closed.wait(0.1):
                        return
            else:
                near.sendall(answer)
