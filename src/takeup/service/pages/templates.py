"""Templates, and how they write numbers and times."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from takeup.trial.spec import duration
from takeup.trial.steering import MEANINGS
from takeup.version import __version__

_KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_AGES = (("day", 86_400), ("hour", 3_600), ("minute", 60))
_STATIC = files("takeup.service.pages") / "static"


@cache
def static() -> Mapping[str, tuple[bytes, str]]:
    """The scripts and styles, by name: their bytes and their kind."""
    found = {each.name: each.read_bytes() for each in _STATIC.iterdir() if each.name.rpartition(".")[2] in _KINDS}
    return {name: (content, _KINDS[name.rpartition(".")[2]]) for name, content in found.items()}


def asset(name: str) -> str:
    """The address of a script or style; it changes with the content, so that browsers may keep it for ever."""
    return f"/app/static/{name}?v={hashlib.sha256(static()[name][0]).hexdigest()[:12]}"


def count(number: int) -> str:
    """12,345."""
    return f"{number:,}"


def plural(number: int, noun: str) -> str:
    """1 decision, 2 decisions."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def percent(share: float, digits: int = 0) -> str:
    """81 %, with a space that does not break."""
    return f"{100 * share:.{digits}f}\u00a0%"


def decimal(number: float, digits: int = 2) -> str:
    """0.93; a true minus sign."""
    return f"{number:.{digits}f}".replace("-", "\u2212")


def probability(number: float) -> str:
    """0.93; values just below 1 or above 0 are never rounded to 1 or 0."""
    return "> 0.99" if 0.99 < number < 1 else "< 0.01" if 0 < number < 0.01 else f"{number:.2f}"


def moment(at: int) -> Markup:
    """A time, from microseconds since 1970, in UTC; a script shows it in the reader's time zone."""
    when = datetime.fromtimestamp(at / 1e6, UTC)
    return Markup('<time datetime="{}">{}</time>').format(
        when.isoformat(timespec="seconds"), when.strftime("%Y-%m-%d %H:%M UTC")
    )


def ago(microseconds: int) -> str:
    """How long something has been, in the largest unit of which it has been one."""
    seconds = max(0, microseconds) // 1_000_000
    return next((plural(seconds // size, unit) for unit, size in _AGES if seconds >= size), "less than a minute")


@cache
def environment() -> Environment:
    """The template environment: all values are escaped, and an undefined name is an error."""
    made = Environment(
        loader=PackageLoader("takeup.service.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(count=count, plural=plural, percent=percent, decimal=decimal)
    made.filters.update(probability=probability, moment=moment, duration=duration, ago=ago)
    made.globals.update(asset=asset, version=__version__, meanings=MEANINGS)
    return made


def render(template: str, **values: Any) -> str:
    """A page."""
    return environment().get_template(f"{template}.html.jinja").render(**values)
