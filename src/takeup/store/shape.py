"""What a database consists of beside its rows, compared with what it should consist of, both ways.

A trigger, a rule or a column that somebody added changes what the service writes or reads, and no row shows it. So
everything that is not takeup's is told: takeup has a database, or a schema of PostgreSQL, for itself.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from sqlalchemy import CheckConstraint, Column, Connection, MetaData, PrimaryKeyConstraint, String, Table, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import CreateIndex, CreateTable

from takeup.store.migrate import HEAD
from takeup.store.schema import TRIGGERS, metadata

NONE = "nothing"
ALONE = "nothing of this name: takeup has a database, or a schema of PostgreSQL, for itself"

_REVISION = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
TABLES = (*metadata.sorted_tables, _REVISION)
"""Every table that a database has."""

_MASTER = """
SELECT type || ' ' || name || CASE WHEN type IN ('index', 'trigger') THEN ' of ' || tbl_name ELSE '' END, sql
FROM sqlite_master WHERE NOT (type = 'index' AND name GLOB 'sqlite_autoindex_*' AND sql IS NULL)
    AND NOT (type = 'table' AND (name, sql) IN (VALUES
        ('sqlite_stat1', 'CREATE TABLE sqlite_stat1(tbl,idx,stat)'),
        ('sqlite_stat4', 'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)'),
        ('sqlite_sequence', 'CREATE TABLE sqlite_sequence(name,seq)')))
UNION ALL SELECT 'revision ' || version_num, 'a row' FROM alembic_version
"""
"""Everything that there is in a file of SQLite, but for what it makes itself, word for word: the indexes of keys,
the statistics of ANALYZE, and the numbers of a table that somebody had. A name alone is no pass: anything can bear it.
"""

_CATALOGUE = r"""
WITH here AS (
    SELECT c.* FROM pg_class c WHERE relnamespace = current_schema()::regnamespace AND NOT EXISTS
        (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')
), ours AS (SELECT * FROM here WHERE relname::text = ANY(:names)), things (what, said) AS (
    SELECT CASE WHEN relkind = 'r' THEN 'table ' WHEN relkind IN ('v', 'm') THEN 'view ' ELSE 'relation ' END
        || relname, CASE WHEN relkind = 'r' AND relpersistence = 'p' THEN 'a plain table'
            ELSE relkind::text || relpersistence::text END
        || CASE WHEN relrowsecurity OR relforcerowsecurity THEN ' with row security' ELSE '' END
        || CASE WHEN EXISTS (SELECT FROM pg_inherits WHERE inhparent = here.oid OR inhrelid = here.oid)
            THEN ' with inheritance' ELSE '' END
    FROM here WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
    UNION ALL
    SELECT 'column ' || attname || ' of ' || relname, format_type(atttypid, atttypmod)
        || CASE WHEN attnotnull THEN ' not null' ELSE '' END
        || CASE WHEN attcollation NOT IN (0, 'default'::regcollation) THEN ' with a collation' ELSE '' END
        || COALESCE(' default ' || (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef
            WHERE adrelid = attrelid AND adnum = attnum), '') || attidentity::text || attgenerated::text
    FROM pg_attribute JOIN ours ON attrelid = ours.oid WHERE attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT 'constraint of ' || relname || ': ' || pg_get_constraintdef(k.oid), pg_get_constraintdef(k.oid)
    FROM pg_constraint k JOIN ours ON conrelid = ours.oid WHERE contype IN ('p', 'u', 'c', 'f', 'x')
    UNION ALL
    SELECT 'index ' || indexrelid::regclass::text || ' of ' || relname,
        pg_get_indexdef(indexrelid) || CASE WHEN indisvalid AND indisready THEN '' ELSE ' which is not valid' END
    FROM pg_index JOIN ours ON indrelid = ours.oid
    WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND conrelid = indrelid)
    UNION ALL
    SELECT 'trigger ' || tgname || ' of ' || relname, pg_get_triggerdef(t.oid, true) || ' '
        || pg_get_functiondef(tgfoid) || CASE WHEN tgenabled = 'O' THEN '' ELSE ' enabled as ' || tgenabled::text END
    FROM pg_trigger t JOIN ours ON tgrelid = ours.oid WHERE NOT tgisinternal
    UNION ALL
    SELECT 'rule ' || rulename || ' of ' || relname, pg_get_ruledef(r.oid)
    FROM pg_rewrite r JOIN ours ON ev_class = ours.oid WHERE relkind = 'r'
    UNION ALL
    SELECT 'revision ' || version_num, 'a row' FROM alembic_version
)
SELECT what, replace(said, quote_ident(current_schema()) || '.', '') FROM things
"""
"""Everything that there is in a schema of PostgreSQL, but for what belongs to an extension."""


class Oddity(NamedTuple):
    """Something that is not as it should be: what should be there, and what is."""

    where: str
    expected: str
    found: str


def oddities(connection: Connection) -> Iterator[Oddity]:
    """All that is missing, altered or not takeup's."""
    wanted = _wanted(connection.dialect.name)
    statement, values = text(_MASTER), {}
    if connection.dialect.name == "postgresql":
        statement, values = text(_CATALOGUE), {"names": [table.name for table in TABLES]}
    found: dict[str, str] = {}
    for what, said in connection.execute(statement, values):
        name = _plain(what)  # which two things can share
        found[name] = f"{found[name]}; {_plain(said)}" if name in found else _plain(said)
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            yield Oddity(name, wanted.get(name, ALONE), found.get(name, NONE))


@cache
def _wanted(name: str) -> dict[str, str]:
    """The definition of everything that should be there, by its name."""
    dialect: Dialect = {"sqlite": sqlite, "postgresql": postgresql}[name].dialect()
    things = {f"revision {HEAD}": "a row"}
    things |= {f"trigger {trigger} of events": said for trigger, said in TRIGGERS[name].items()}
    for table in TABLES:
        if name == "postgresql":
            things |= _parts(table, dialect)
        else:
            things[f"table {table.name}"] = str(CreateTable(table).compile(dialect=dialect))
        for index in table.indexes:
            things[f"index {index.name} of {table.name}"] = str(CreateIndex(index).compile(dialect=dialect))
    return {_plain(what): _plain(said) for what, said in things.items()}


def _parts(table: Table, dialect: Dialect) -> dict[str, str]:
    """A table, its columns and its constraints, as the catalogue of PostgreSQL calls them."""
    things = {f"table {table.name}": "a plain table"}
    for column in table.columns:
        kind = column.type.compile(dialect=dialect).lower().replace("varchar", "character varying")
        given = getattr(column.server_default, "arg", None)
        default = "" if given is None else f" default '{given}'::{kind}"
        things[f"column {column.name} of {table.name}"] = kind + ("" if column.nullable else " not null") + default
    for constraint in table.constraints:
        key = f"PRIMARY KEY ({', '.join(column.name for column in table.primary_key)})"
        said = f"CHECK ({constraint.sqltext})" if isinstance(constraint, CheckConstraint) else key
        things[f"constraint of {table.name}: {said}"] = said
    return things


def _plain(said: object) -> str:
    """A definition without what databases and their versions write differently: brackets, quotes, white space.

    The columns and constraints of a table are sorted, as SQLite appends those that a migration added.
    """
    text = str(said).strip()
    if text.startswith("CREATE TABLE"):
        first, last = text.index("("), text.rindex(")")
        parts = sorted(map(_plain, re.split(r",(?![^()]*\))", text[first + 1 : last])))
        text = f"{text[:first]} {', '.join(parts)} {text[last + 1 :]}"
    return re.sub(r'[\s"()]+', " ", text).replace(" USING btree", "").replace(" ,", ",").strip()
