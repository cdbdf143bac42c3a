"""Whether the indexes of a database say what their tables say.

The service finds rows by indexes, an audit reads them by their tables: an index that says something else would show the
service what no audit reads.
"""

from collections.abc import Iterator

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from takeup.store.schema import metadata
from takeup.store.shape import Oddity

_AMCHECK = """
SELECT format('%I.%I', nspname, proname)
FROM pg_proc JOIN pg_namespace n ON n.oid = pronamespace
    JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND objid = pg_proc.oid AND deptype = 'e'
    JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND refobjid = e.oid
WHERE extname = 'amcheck' AND proname = 'bt_index_check' AND pronargs = 2
    AND has_schema_privilege(n.oid, 'USAGE') AND has_function_privilege(pg_proc.oid, 'EXECUTE')
"""
_INDEXES = """
SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class c ON c.oid = indrelid
WHERE relnamespace = current_schema()::regnamespace AND relname::text = ANY(:names) ORDER BY 1
"""
_CORRUPTED = ("XX001", "XX002")
"""What PostgreSQL calls a table or an index that is."""


def amcheck(connection: Connection) -> str | None:
    """The function of PostgreSQL's extension amcheck that compares an index; None where it may not be called."""
    found: str | None = connection.execute(text(_AMCHECK)).scalar_one_or_none()
    return found


def disagreements(connection: Connection) -> Iterator[Oddity]:
    """All that differs; nothing on a PostgreSQL without amcheck, which cannot tell."""
    if connection.dialect.name == "sqlite":
        for said in connection.execute(text("PRAGMA integrity_check")).scalars():
            if said != "ok":
                yield Oddity("the file", "indexes that say what their tables say, and no damage", said)
        return
    compare = amcheck(connection)
    if compare is None:
        return
    names = [table.name for table in metadata.sorted_tables]
    for index in connection.execute(text(_INDEXES), {"names": names}).scalars().all():
        try:
            with connection.begin_nested():
                connection.execute(text(f"SELECT {compare}(CAST(:index AS regclass), true)"), {"index": index})
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) not in _CORRUPTED:
                raise
            yield Oddity(f"index {index}", "what its table says", str(error.orig))
