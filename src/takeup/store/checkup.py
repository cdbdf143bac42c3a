"""Whether a database is one that can be relied on."""

from dataclasses import dataclass, field

from sqlalchemy import Connection, text

from takeup.store import reading
from takeup.store.migrate import revision


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
    found.problems += [f"the log lacks its trigger {name}" for name in reading.missing_triggers(connection)]
    return found


def _postgresql(connection: Connection, found: Checkup) -> None:
    for name in ("server_version", "fsync", "full_page_writes"):
        value = str(connection.execute(text(f"SHOW {name}")).scalar_one())
        found.facts.append(f"PostgreSQL {name}: {value}")
        if value == "off":
            found.problems.append(f"PostgreSQL has {name} = off and can lose what it has acknowledged")


def _sqlite(connection: Connection, found: Checkup) -> None:
    mode = str(connection.execute(text("PRAGMA journal_mode")).scalar_one())
    check = str(connection.execute(text("PRAGMA quick_check")).scalar_one())
    found.facts += [f"SQLite journal mode: {mode}", f"SQLite quick check: {check}"]
    if mode != "wal":
        found.problems.append(f"the journal mode is {mode} and should be wal")
    if check != "ok":
        found.problems.append(f"the file is damaged: {check}")
