"""A look inside a store."""

from sqlalchemy import Engine

from takeup.store import Store, Writer


def engine(store: Store) -> Engine:
    """The connection that writes, of a store that writes in this process."""
    assert isinstance(store.writer, Writer)
    return store.writer.engine
