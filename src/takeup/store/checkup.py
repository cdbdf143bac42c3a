"""Whether a database is one that can be relied on."""

from dataclasses import dataclass, field

from sqlalchemy import Connection, text

from takeup.store import reading, sqlite
from takeup.store.indexes import amcheck, disagreements
from takeup.store.migrate import revision
from takeup.store.shape import oddities


@dataclass(slots=True)
class Checkup:
    """What was found: facts to print, and problems to solve."""

    facts: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def checkup(connection: Connection) -> Checkup:
    """Look at the settings that durability depends on, and at the tables."""
    found = Checkup()
    names = reading.identifiers(connection)
    found.facts.append(f"schema {revision(connection)}, {len(names)} trials: {', '.join(names) or 'none'}")
    if connection.dialect.name == "postgresql":
        _postgresql(connection, found)
    else:
        _sqlite(connection, found)
    found.problems += [
        f"{where}: expected {expected}, found {there}"
        for where, expected, there in (*disagreements(connection), *oddities(connection))
    ]
    return found


def _postgresql(connection: Connection, found: Checkup) -> None:
    for name in ("server_version", "fsync", "full_page_writes"):
        value = str(connection.execute(text(f"SHOW {name}")).scalar_one())
        found.facts.append(f"PostgreSQL {name}: {value}")
        if value == "off":
            found.problems.append(f"PostgreSQL has {name} = off and can lose what it has acknowledged")
    if amcheck(connection) is None:
        found.facts.append("PostgreSQL amcheck: not installed or not permitted; indexes are not compared with tables")


def _sqlite(connection: Connection, found: Checkup) -> None:
    mode = str(connection.execute(text("PRAGMA journal_mode")).scalar_one())
    file = str(connection.execute(text("SELECT file FROM pragma_database_list WHERE name = 'main'")).scalar_one())
    open_to_others = sqlite.exposed(file)
    if open_to_others is not None:
        found.problems.append(open_to_others)
    found.facts.append(f"SQLite journal mode: {mode}")
    if mode != "wal":
        found.problems.append(f"the journal mode is {mode} and should be wal")
