"""What diagnostics read of the evidence."""

import numpy as np

from takeup.checks import IntArray
from takeup.errors import InputError
from takeup.evidence import Evidence


def complete_cases(evidence: Evidence) -> tuple[IntArray, int]:
    """n[x, z, a, y] of decisions with compliance and outcome seen, and how many others there are."""
    if evidence.counts.ndim != 4:
        raise InputError("evidence", f"shape {evidence.counts.shape}", "a single table, not many side by side")
    counts = np.asarray(evidence.counts[..., :-1, :-1])
    return counts, int(evidence.counts.sum() - counts.sum())
