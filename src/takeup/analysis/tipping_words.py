"""What a tipping point says, for people: of the effect of offering, without a promise and with one."""

from takeup.analysis.check import capital
from takeup.analysis.estimate import Estimate
from takeup.analysis.telling import amount, direction, quantity
from takeup.analysis.tipping import Difference, Tipping


def sentences(found: Tipping) -> tuple[str, ...]:
    """All that it says."""
    if found.withheld:
        return leading(found)
    return (*leading(found), *(_shown(each, found) for each in found.differences))


def leading(found: Tipping) -> tuple[str, ...]:
    """What stands beside the answer: what would have to be promised, and whether the data contradict that."""
    if found.withheld:
        return (f"What a promise about those who refuse would change cannot be told, as {found.withheld}.",)
    return (_fate(found), *_refuted(found), *_left_out(found))


def _fate(found: Tipping) -> str:
    """What follows with no promise, and what with one."""
    alike, falls, space = found.alike, found.falls_at, found.space
    if found.offered is not None and found.offered.conclusion != found.unpromised:
        return _at_odds(found, found.offered)
    if found.unpromised:
        held = f"That {_effect(found, found.unpromised)}, follows from what was offered, without any promise about"
        if alike == found.unpromised and falls is None:
            return f"{held} those who refuse, and with every promise."
        return f"{held} those who refuse. With some promises it does not follow: none is needed here."
    if alike:
        if falls is None:
            how = f"no more than {amount(found.points[-1].promise, space, signed=False)}"
        else:
            how = f"less than {amount(falls, space, signed=False)}"
        point = "" if falls is None else " That is the tipping point."
        return (
            "From what was offered alone nothing is concluded. With a promise about those who refuse it would follow"
            f" that {_effect(found, alike)}: takers and refusers would have to differ by {how} without it, in"
            f" {quantity(space)}.{point}"
        )
    if any(point.conclusion for point in found.points):
        return "Nothing follows from what was offered alone; with some promises about those who refuse it does."
    return (
        "Nothing is concluded of offering it, with or without a promise about those who refuse: even if takers and"
        " refusers were alike without it, it might be better, worse or neither."
    )


def _at_odds(found: Tipping, offered: Estimate) -> str:
    """What follows where intention to treat says another thing than the same without a promise here."""
    if offered.n == found.n:
        here, why = "By the interval of this reading", "Both are of the same people, and it is a close call."
    else:
        here = f"Among the {found.n:,} of whom it is also known what they took"
        why = "What was taken is not known of all, and those of whom it is may be others."
    everybody = f"by intention to treat, of all {offered.n:,} whose outcome is known,"
    if offered.conclusion:
        given = f"That {_effect(found, offered.conclusion)}, follows {everybody} without any promise about those who"
        return f"{given} refuse. {here} it does not follow without one. {why}"
    return (
        f"{capital(everybody)} nothing is concluded. {here} it would follow that {_effect(found, found.unpromised)},"
        f" without any promise about those who refuse. {why}"
    )


def _refuted(found: Tipping) -> tuple[str, ...]:
    least = found.least_promise
    if least <= 0:
        return ()
    told = f"The data contradict a promise below {amount(least, found.space, signed=False)}: groups differ by more."
    if not found.unpromised and found.falls_at and least >= found.falls_at:
        return (f"{told} So that promise cannot be made.",)
    return (told,)


def _left_out(found: Tipping) -> tuple[str, ...]:
    told = "This rests on those of whom it is known what they took and what came of it"
    return (f"{told}: of {found.missing:,} it is not.",) if found.missing else ()


def _shown(each: Difference, found: Tipping) -> str:
    way = "higher" if each.value >= 0 else "lower"
    low, high = amount(each.low, found.space), amount(each.high, found.space)
    return (
        f"Of people who had {each.action}: those who have it only if offered {each.only} are"
        f" {amount(abs(each.value), found.space, signed=False)} {way}, in {quantity(found.space)}, than those who have"
        f" it even if offered {each.whatever} (interval {low.removesuffix(' points')} to {high})."
    )


def _effect(found: Tipping, conclusion: int) -> str:
    one, other = (found.space.proposals[z] for z in (found.one, found.other))
    return f"offering {one} rather than {other} {direction(found.space, 'difference').told(conclusion > 0)}"
