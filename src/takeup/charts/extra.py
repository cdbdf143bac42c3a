"""The optional packages that charts need, of the extra `report`."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from takeup.errors import MissingExtraError

MODULES = ("altair", "vl_convert")


def available() -> bool:
    """Whether charts can be drawn here."""
    return all(find_spec(module) is not None for module in MODULES)


def required(module: str) -> ModuleType:
    """The module, or an error that names the extra."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(module, "report") from None
