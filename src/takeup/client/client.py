"""Requests to the service, repeated until there is an answer or time has run out."""

import json
import secrets
import ssl
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from takeup import checks, errors, specfile
from takeup.client.transport import HttpAnswer, NotSentError, Transport

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
_AGAIN = {429, 502, 503, 504, 500}
_ALLOWED = "texts, numbers, true, false, lists and tables"


class Client(AbstractContextManager["Client"]):
    """A service, as one key sees it; any number of threads may use it.

    Args:
        url: the service's address.
        key: an API key.
        timeout: how many seconds a request may take, with all its retries.
        context: a TLS context, where the system's default is not what is wanted.
        sleep: how to wait between two tries.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: float = 30.0,
        context: ssl.SSLContext | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.timeout = checks.seconds("timeout", timeout)
        _check_key(key)
        self._transport = Transport(url, context)
        self._headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
        self._sleep = sleep

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def trials(self) -> list[dict[str, Any]]:
        """The trials that the key gives access to."""
        found: list[dict[str, Any]] = self.call("GET", "/trials")["trials"]
        return found

    def create(self, spec: Mapping[str, Any] | str | Path, *, trial: str | None = None) -> str:
        """A new trial, in draft, from a mapping or the path of a TOML or JSON file; its identifier."""
        content = spec if isinstance(spec, Mapping) else specfile.read(spec)
        query = "" if trial is None else f"?{urlencode({'trial': trial})}"
        return str(self.call("POST", f"/trials{query}", dict(content))["trial"])

    def call(
        self, method: str, path: str, body: object = None, *, key: str | None = None, timeout: float | None = None
    ) -> Any:
        """Make a request; returns the answer's JSON.

        Args:
            method: GET, POST, PUT or DELETE.
            path: the path after the service's address.
            body: sent as JSON.
            key: an idempotency key; without one, a POST that may have arrived is not repeated.
            timeout: how many seconds it may take, with all retries.

        Raises:
            UnreachableError: there was no answer in time, or none of the service's.
            TakeupError: the service refused; its `kind` is what the service calls it.
        """
        return json.loads(self.raw(method, path, body, key=key, timeout=timeout).body or b"null")

    def raw(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        key: str | None = None,
        timeout: float | None = None,
        media: str | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> HttpAnswer:
        """`call`, with the answer as it came.

        Args:
            method: GET, POST, PUT or DELETE.
            path: the path after the service's address.
            body: sent as JSON; bytes are sent as they are, where `media` says what they are.
            key: an idempotency key; without one, a POST that may have arrived is not repeated.
            timeout: how many seconds it may take, with all retries.
            media: the type of a body of bytes; such a request is repeated, and must name itself, as a batch does.
            stop: asked before every try: whether nobody wants it any more.
        """
        headers = dict(self._headers)
        content = None
        if body is not None:
            content = body if media is not None and isinstance(body, bytes) else _encoded(body)
            headers["Content-Type"] = media or "application/json"
        if key is not None:
            headers["Idempotency-Key"] = key
        repeatable = method != "POST" or key is not None or media is not None
        seconds = self.timeout if timeout is None else timeout
        until, pause, said = time.monotonic() + seconds, FIRST_PAUSE, "no time was given"
        while time.monotonic() < until and not stop():
            wait = 0.0
            try:
                answer = self._transport.send(method, path, content, headers, until)
            except OSError as error:
                said = str(error) or type(error).__name__
                if not (repeatable or isinstance(error, NotSentError)):
                    break
            else:
                if answer.status < 300:
                    return answer
                problem = _problem(answer)
                kind = _kind(problem)
                said = f"{answer.status}: {problem.get('detail', '')}"
                in_flight = kind == "in-flight"
                if not (answer.status in _AGAIN or in_flight):
                    raise _error(problem, kind) if kind else self._alien(answer)
                if not repeatable and answer.status != 429:
                    break
                wait = 0.0 if in_flight else _retry_after(answer)
            left = until - time.monotonic()
            self._sleep(max(0.0, min(left, max(wait, pause * (0.5 + secrets.randbelow(500) / 1_000)))))
            pause = min(2 * pause, LONGEST_PAUSE)
        raise errors.UnreachableError(
            f"{self._transport.url} did not answer within {seconds:g} s; the last try: {said}"
        )

    def _alien(self, answer: HttpAnswer) -> errors.UnreachableError:
        """What an answer is that the service has not given, but something that stands before it."""
        return errors.UnreachableError(
            f"{self._transport.url} answered with status {answer.status}, and not as the service does; is that its"
            " address, and does something stand before it?"
        )


def _check_key(key: object) -> None:
    """A key can be sent as it is. No error says what it is, as errors are logged."""
    if not isinstance(key, str) or not key:
        given = errors.NOTHING if key in (None, "") else f"a value of type {type(key).__name__}"
        raise errors.InputError("key", given, "an API key, as `takeup keys create` prints it")
    if any(not "!" <= each <= "~" for each in key):
        allowed = "an API key as it was printed, without blanks and ends of lines"
        raise errors.InputError("key", "a text with a character that no key has", allowed, "strip() what a file has")


def _encoded(body: object) -> bytes:
    """A body as JSON; numbers may be numpy's, or decimal fractions."""
    try:
        return json.dumps(body, allow_nan=False, default=_plain).encode()
    except errors.InputError:
        raise
    except TypeError as error:  # "keys must be str, int, float, bool or None, not int64"
        given = f"a key of type {str(error).rpartition(' ')[2]}"
        raise errors.InputError("body", given, "texts as the keys of tables") from None
    except ValueError as error:
        if "Circular" in str(error):
            raise errors.InputError("body", "a list or table that contains itself", _ALLOWED) from None
        if "digits" in str(error):  # Python does not write numbers of more than 4,300
            raise errors.InputError("body", "a number of very many digits", "numbers of a few digits") from None
        hint = "leave out what is unknown, and declare it missing if it stays so"
        raise errors.InputError("body", "a number that is nan or infinite", "finite numbers", hint) from None


def _plain(value: Any) -> object:
    """What JSON has no word for, in its words."""
    if isinstance(value, Decimal):
        return str(value)
    if getattr(value, "shape", None) == ():
        item = value.item()
        if not hasattr(item, "dtype"):
            return item
        if item.dtype.kind == "f":  # a long double, which Python has no number for
            return float(item)
    raise errors.InputError("body", f"{value!r:.100}", _ALLOWED)


def new_key() -> str:
    """An idempotency key that nobody else uses."""
    return uuid.uuid4().hex


def segment(name: str) -> str:
    """A trial's identifier as a part of a path."""
    if not isinstance(name, str) or not name:
        raise errors.InputError("trial", repr(name), "the identifier of a trial, such as stroke")
    return quote(name, safe="")


def _problem(answer: HttpAnswer) -> dict[str, Any]:
    try:
        found = json.loads(answer.body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _retry_after(answer: HttpAnswer) -> float:
    given = answer.headers.get("Retry-After", "")
    return float(given) if given.isdecimal() else 0.0


def _kind(problem: Mapping[str, Any]) -> str:
    """What the service calls a problem; empty where it is none of the service's."""
    before, _, kind = str(problem.get("type", "")).rpartition(":")
    return kind if before == "urn:takeup" else ""


def _error(problem: Mapping[str, Any], kind: str) -> errors.TakeupError:
    """The error that the same request would have raised without HTTP."""
    found = _plain_error(problem, kind)
    found.kind = kind
    return found


def _plain_error(problem: Mapping[str, Any], kind: str) -> errors.TakeupError:
    detail = str(problem.get("detail", kind))
    if kind == "reused-key":
        return errors.ReusedKeyError(detail.partition("'")[2].partition("'")[0])
    plain: dict[str, type[errors.TakeupError]] = {
        "conflict": errors.ConflictError,
        "state": errors.StateError,
        "not-found": errors.NotFoundError,
        "unauthenticated": errors.AccessError,
        "forbidden": errors.AccessError,
    }
    if kind in plain:
        return plain[kind](detail)
    argument, value = str(problem.get("argument", "request")), problem.get("value", detail)
    return errors.InputError(argument, value, str(problem.get("allowed", "what the service takes")), words=detail)
