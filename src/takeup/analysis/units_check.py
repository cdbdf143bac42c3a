"""Whether every decision is for another person, as all intervals take it."""

from collections import Counter

from takeup.analysis.check import Check
from takeup.log import Log


def one_each(log: Log) -> Check:
    """Whether anybody was decided for more than once: intervals take every decision for another person."""
    name, concerns = "one decision each", "everything: decisions for one person are taken for several people"
    if log.unit is None:
        why = "Which decisions are of one person is not in the log: --unit names the column."
        return Check(name, None, "Whether anybody was decided for more than once was not checked.", concerns, why)
    times = Counter(log.unit.tolist())
    again = {who: many for who, many in times.items() if many > 1 and who}
    if not again:
        return Check(name, False, "Nobody was decided for more than once.", concerns)
    most = max(again, key=lambda who: again[who])
    said = "1 person was" if len(again) == 1 else f"{len(again):,} people were"
    return Check(
        name,
        True,
        f"{said} decided for more than once, {sum(again.values()):,} times in all, and each time is taken for another"
        " person: intervals may be too short.",
        concerns,
        f"Most often {most}, {again[most]:,} times.",
    )
