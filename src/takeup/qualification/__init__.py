"""Qualification on the user's own machine: is takeup installed as it was built, and does it do here what it should?"""

from takeup.qualification.check import Check, Finding, Group, Outcome
from takeup.qualification.requirements import Area, Requirement, areas, requirements
from takeup.qualification.run import Qualification, qualify

__all__ = [
    "Area",
    "Check",
    "Finding",
    "Group",
    "Outcome",
    "Qualification",
    "Requirement",
    "areas",
    "qualify",
    "requirements",
]
