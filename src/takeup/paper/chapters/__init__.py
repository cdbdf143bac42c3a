"""One module for each result: what it reads like in a report."""

from takeup.paper.chapters import beyond, regret, related, stroke, table2, theory

__all__ = ["beyond", "regret", "related", "stroke", "table2", "theory"]
