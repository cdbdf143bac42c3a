"""A REDCap server of a few lines, on loopback: it keeps a dictionary and records, and refuses what REDCap would."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs

TOKEN = "0123456789ABCDEF" * 2


class RedcapServer(HTTPServer):
    """What was imported is in `records`, by id."""

    def __init__(self, metadata: list[dict[str, str]], records: list[dict[str, str]]) -> None:
        self.metadata = metadata
        self.record_id = metadata[0]["field_name"]
        self.records = {row[self.record_id]: dict(row) for row in records}
        self.keeps = 10**9
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        """Where its API is."""
        return f"http://127.0.0.1:{self.server_address[1]}/api/"

    def answer(self, asked: dict[str, str]) -> tuple[int, Any]:
        """The status and the JSON of a request."""
        if asked.get("token") != TOKEN:
            return 403, {"error": "You do not have permissions to use the API"}
        if asked["content"] == "metadata":
            return 200, self.metadata
        if "data" not in asked:
            return 200, list(self.records.values())
        rows, known = json.loads(asked["data"]), {field["field_name"] for field in self.metadata}
        for row in rows:
            if set(row) - known:
                return 400, {"error": f"The following fields were not found: {', '.join(set(row) - known)}"}
        taken = rows[: self.keeps]
        for row in taken:
            self.records.setdefault(row[self.record_id], {}).update(row)
        return 200, [row[self.record_id] for row in taken]


class _Handler(BaseHTTPRequestHandler):
    server: RedcapServer
    timeout = 10

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        status, said = self.server.answer({name: values[0] for name, values in parse_qs(body).items()})
        content = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def redcap_server(metadata: list[dict[str, str]], records: list[dict[str, str]]) -> Iterator[RedcapServer]:
    """A server that answers until the block ends."""
    server = RedcapServer(metadata, records)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)
