"""A live trial without its storage: what its spec says, how it decides, and what its log means. No I/O."""

from takeup.trial.book import Book, Record
from takeup.trial.commands import Ask, Command, Decide, DecideMany, Decision, perform
from takeup.trial.design import Design
from takeup.trial.fallbacks import Fallback
from takeup.trial.reporting import Receipt, Report
from takeup.trial.spec import TrialSpec, load
from takeup.trial.steering import Amend, Move, Signature, Tick, Unblind

__all__ = [
    "Amend",
    "Ask",
    "Book",
    "Command",
    "Decide",
    "DecideMany",
    "Decision",
    "Design",
    "Fallback",
    "Move",
    "Receipt",
    "Record",
    "Report",
    "Signature",
    "Tick",
    "TrialSpec",
    "Unblind",
    "load",
    "perform",
]
