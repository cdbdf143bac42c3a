"""The packages of other tools, which adapters import when they are used."""

from importlib import import_module
from typing import Any

from takeup.errors import MissingExtraError


def required(module: str, extra: str) -> Any:
    """The module, or an error that names the extra."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(module, extra) from None
