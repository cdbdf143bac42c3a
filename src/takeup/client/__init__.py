"""A client of the service: retries, idempotency, and a fallback when the service cannot be reached."""

from takeup.client.client import Client
from takeup.client.spool import Drawn
from takeup.client.trial import RemoteTrial

__all__ = ["Client", "Drawn", "RemoteTrial"]
