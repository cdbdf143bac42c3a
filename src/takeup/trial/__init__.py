"""A live trial without its storage: what its spec says, how it decides, and what its log means. No I/O."""

from takeup.trial.book import Book, Record
from takeup.trial.commands import Ask, Command, Decide, DecideMany, Decision, perform
from takeup.trial.design import Design
from takeup.trial.fallbacks import Fallback
from takeup.trial.ingested import Ingested
from takeup.trial.ingesting import Batch, Ingest
from takeup.trial.leases import Lease
from takeup.trial.leasing import Lend, Revoke
from takeup.trial.reporting import Receipt, Report
from takeup.trial.spec import TrialSpec, load
from takeup.trial.steering import Amend, Move, Signature, Tick, Unblind

__all__ = [
    "Amend",
    "Ask",
    "Batch",
    "Book",
    "Command",
    "Decide",
    "DecideMany",
    "Decision",
    "Design",
    "Fallback",
    "Ingest",
    "Ingested",
    "Lease",
    "Lend",
    "Move",
    "Receipt",
    "Record",
    "Report",
    "Revoke",
    "Signature",
    "Tick",
    "TrialSpec",
    "Unblind",
    "load",
    "perform",
]
