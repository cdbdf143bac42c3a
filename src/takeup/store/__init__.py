"""Where trials are kept: SQLite or PostgreSQL."""

from takeup.errors import MissingExtraError

try:
    import sqlalchemy  # noqa: F401  # says which extra is missing, once, for all modules below
except ImportError:
    raise MissingExtraError("sqlalchemy", "server") from None

from takeup.store.opening import READERS, looking, open_file, shared
from takeup.store.sqlite import Library, library
from takeup.store.store import Store
from takeup.store.writer import Witness, Writer, now

__all__ = ["READERS", "Library", "Store", "Witness", "Writer", "library", "looking", "now", "open_file", "shared"]
