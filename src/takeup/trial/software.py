"""What computes a decision: named in every one of them, as other code may decide differently."""

import hashlib
import platform
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import metadata, resources

import numpy as np
import scipy

from takeup.trial.design import Design
from takeup.version import __version__

FOLDERS = (
    "",
    "conjugates",
    "covariates",
    "families",
    "frames",
    "inference",
    "log",
    "outcomes",
    "policies",
    "populations",
    "trial",
)
"""The folders of this package whose code a decision depends on; they import no other, which a test holds."""


@lru_cache(maxsize=64)
def software(design: Design) -> str:
    """What the decisions of a trial depend on: versions, a hash of our code, and the packages of others' policies."""
    ours = f"takeup {__version__} ({CODE}), numpy {np.__version__}, scipy {scipy.__version__}, {platform.machine()}"
    return ", ".join([ours, *sorted(set(_packages(design.policy)))])


def _code() -> str:
    """A short hash of the code, the same whatever the line ends of the file system."""
    digest = hashlib.sha256()
    for folder in FOLDERS:
        place = resources.files("takeup").joinpath(folder)
        for file in sorted(place.iterdir(), key=lambda each: each.name):
            if file.name.endswith(".py"):
                content = file.read_bytes().replace(b"\r\n", b"\n")
                digest.update(f"{folder}/{file.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:12]


CODE = _code()
"""Taken when this module is loaded, which is when the rest of that code is."""


def _packages(policy: object) -> Iterator[str]:
    """The packages of a policy, and of those within it, that are not ours: their names and versions."""
    module = type(policy).__module__.partition(".")[0]
    if module != "takeup":
        yield from (f"{name} {metadata.version(name)}" for name in _distributions().get(module, ()))
        if module not in _distributions():
            yield f"{module}, which is no package"
    for value in vars(policy).values() if hasattr(policy, "__dict__") else ():
        if hasattr(value, "card"):
            yield from _packages(value)


@cache
def _distributions() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())
