"""A client of the service: retries, idempotency, a fallback when it cannot be reached, and decisions in process."""

from takeup.client.client import Client
from takeup.client.edge import Edge
from takeup.client.edge_rows import EdgeDecision
from takeup.client.spool import Drawn
from takeup.client.trial import RemoteTrial

__all__ = ["Client", "Drawn", "Edge", "EdgeDecision", "RemoteTrial"]
