"""The decisions of a log, for steps that make something of them."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

LOG = logging.getLogger("takeup.store")

EVERY = 100_000
"""After so many decisions it is said how far this is."""

_COUNT = sa.text("SELECT decisions FROM trials WHERE id = :trial")
_LOG = sa.text("SELECT body FROM events WHERE trial = :trial AND kind = 'decided' ORDER BY sequence")


def decided(connection: sa.Connection, trial: str) -> Iterator[dict[str, Any]]:
    """The events that made the decisions of a trial, in their order."""
    total = connection.execute(_COUNT, {"trial": trial}).scalar_one()
    rows = connection.execute(_LOG, {"trial": trial}, execution_options={"yield_per": 1_000})
    for count, (body,) in enumerate(rows, start=1):
        if count % EVERY == 0:
            LOG.info("trial %s: %s of %s decisions read", trial, f"{count:,}", f"{total:,}")
        yield json.loads(body)
