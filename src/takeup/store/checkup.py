"""Whether a database is one that can be relied on."""

from dataclasses import dataclass, field

from sqlalchemy import Connection, select, text

from takeup.errors import TakeupError
from takeup.store import reading, sealing, sqlite
from takeup.store.indexes import amcheck, disagreements
from takeup.store.migrate import revision
from takeup.store.schema import trials
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
    _seeds(connection, found)
    if connection.dialect.name == "postgresql":
        _postgresql(connection, found)
    else:
        _sqlite(connection, found)
    found.problems += [
        f"{where}: expected {expected}, found {there}"
        for where, expected, there in (*disagreements(connection), *oddities(connection))
    ]
    return found


def _seeds(connection: Connection, found: Checkup) -> None:
    """Whether a copy of the database gives away the seeds of trials that go on, and whether they can be read here."""
    going_on = select(trials.c.id, trials.c.secret).where(trials.c.state != "stopped").order_by(trials.c.id)
    rows = connection.execute(going_on).all()
    hidden = [row for row in rows if sealing.is_sealed(row.secret)]
    if rows:
        found.facts.append(f"seeds of trials that have not stopped: {len(hidden)} of {len(rows)} sealed")
    for row in hidden:
        try:
            sealing.opened(row.secret, sealing.owner(row.id))
        except TakeupError as error:
            found.problems.append(str(error))


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
