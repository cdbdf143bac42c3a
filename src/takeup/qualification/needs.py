"""What takeup needs, by what the installed packages say of themselves: is it there, in a version that they allow?"""

import importlib.util
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.metadata import Distribution, PackageNotFoundError

from takeup.charts.extra import required

EXTRAS = {
    "sim": ("numba", "polars"),
    "server": ("fastapi", "uvicorn", "sqlalchemy", "alembic"),
    "postgres": ("psycopg",),
    "report": ("altair", "vl_convert", "jinja2"),
    "dask": ("dask", "distributed"),
}
"""Those that trials run with, and modules by which it is seen whether they are installed."""

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?")
_EXTRA = re.compile(r"extra == ['\"]([A-Za-z0-9._-]+)['\"]")


@dataclass(frozen=True, slots=True)
class Need:
    """That a package needs another.

    Attributes:
        by: the name of the one.
        extra: of its extras the one that it needs it for; "" where it always does.
        text: the requirement, as its metadata have it.
    """

    by: str
    extra: str
    text: str

    @property
    def name(self) -> str:
        """Of the other, as an index spells it."""
        return _named(self.text)[0]

    @property
    def extras(self) -> tuple[str, ...]:
        """Those of the other that are needed."""
        return _named(self.text)[1]


def missing(extra: str) -> list[str]:
    """The modules of an extra that are not installed."""
    return [name for name in EXTRAS[extra] if importlib.util.find_spec(name) is None]


def installed(name: str) -> Distribution | None:
    """A distribution, where it is there."""
    try:
        return metadata.distribution(name)
    except PackageNotFoundError:
        return None


def needs_of(found: Distribution, extra: str = "") -> tuple[Need, ...]:
    """What a distribution always needs, or what for one of its extras."""
    name = _spelled(found.metadata["Name"] or "")
    return tuple(Need(name, extra, text) for text in found.requires or () if extra in (_EXTRA.findall(text) or [""]))


def needed() -> Iterator[Need]:
    """Whatever takeup needs, for all extras that trials run with, and whatever that needs, as far as it is there."""
    waiting, seen = [("takeup", extra) for extra in ("", *EXTRAS)], set[tuple[str, str]]()
    while waiting:
        asked = waiting.pop()
        if asked in seen or (found := installed(asked[0])) is None:
            continue
        seen.add(asked)
        for need in needs_of(found, asked[1]):
            yield need
            waiting += [(need.name, extra) for extra in ("", *need.extras)]


def present() -> dict[str, tuple[str, ...]]:
    """The extras that count as installed, and why: which packages of theirs are there that nothing else here needs."""
    found = installed("takeup")
    if found is None:
        return {}
    names = {extra: {each.name for each in needs_of(found, extra)} for extra in EXTRAS}
    others = {
        need.name
        for each in metadata.distributions()
        if (each.metadata["Name"] or "takeup") != "takeup"
        for need in needs_of(each)
    }
    own = {
        extra: named - others.union(*(other for other in names.values() if other < named))
        for extra, named in names.items()
    }
    there = {extra: tuple(sorted(name for name in named if installed(name))) for extra, named in own.items()}
    return {extra: named for extra, named in there.items() if named}


def unmet(needs: Iterable[Need]) -> tuple[int, tuple[str, ...]]:
    """How many needs there are here, and which of them nothing meets; extras that are not there need nothing.

    Raises:
        MissingExtraError: without the package `packaging`, which comes with the extra `report`.
    """
    required("packaging")
    from packaging.requirements import Requirement

    there, count, wrong = present(), 0, list[str]()
    for need in needs:
        asked = Requirement(need.text)
        unwanted = need.by == "takeup" and need.extra not in ("", *there)
        if unwanted or (asked.marker is not None and not asked.marker.evaluate({"extra": need.extra})):
            continue
        count += 1
        found = installed(need.name)
        by = f"{need.by}[{need.extra}]" if need.extra else need.by
        why = _why(there[need.extra]) if need.by == "takeup" and need.extra else ""
        if found is None:
            wrong.append(f"{by} needs {asked.name}{asked.specifier}, which is not installed{why}")
        elif not asked.specifier.contains(found.version, prereleases=True):
            wrong.append(f"{by} needs {asked.name}{asked.specifier}, and {found.version} is installed{why}")
    return count, tuple(sorted(set(wrong)))


def _why(there: tuple[str, ...]) -> str:
    """What makes an extra count: one package may be there for another reason, many are an installation."""
    first, *more = there
    return f" ({first} and {len(more)} more are there)" if more else f" ({first} is there)"


def _named(text: str) -> tuple[str, tuple[str, ...]]:
    """The name and the extras that a requirement begins with."""
    begun = _REQUIREMENT.match(text)
    if begun is None:
        return "", ()
    return _spelled(begun[1]), tuple(each.strip() for each in (begun[2] or "").split(",") if each.strip())


def _spelled(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
