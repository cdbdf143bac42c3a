"""A PostgreSQL that is started again under a store."""

import psycopg

import servers
from asgi import SPEC
from takeup.live import Trial
from takeup.store import Store, reading


def test_a_read_does_not_notice_that_the_server_was_started_again(postgres: servers.Server) -> None:
    with postgres.database() as url, Store(url) as store:
        trial = Trial.create(store, SPEC)
        for _ in range(2):
            assert store.read(reading.identifiers) == [trial.id]
            with psycopg.connect(url) as other:
                other.execute(servers.END)
        assert trial.state == "draft"
