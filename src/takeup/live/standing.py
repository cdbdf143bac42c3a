"""How a trial stands by intention to treat, as is believed: one sentence, the same wherever it is said."""

from takeup.live.findings import leader_of
from takeup.live.summary import TrialSummary
from takeup.trial.stopping import EARLY, FEW, chance

BELIEVED = "Believed so far"
"""Of what a model says that does not know how its data were gathered."""
NAIVE = "not corrected for adaptive allocation"


def standing(summary: TrialSummary) -> str:
    """Which proposal is best, and how surely; no more than that it is early where few outcomes are known."""
    known, leader = summary.progress.outcomes_counted, leader_of(summary.overall)
    if not known:
        return "No outcome is known yet"
    if known < FEW:
        return EARLY.format(f"{known} known outcome{'' if known == 1 else 's'}")
    return f"By intention to treat {leader.label} is best with probability {chance(leader.probability_best)}"
