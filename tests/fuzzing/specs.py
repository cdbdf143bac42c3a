"""Specs by the grammar of trials and of the policies' cards: many that are fine, many that are nearly so."""

import math
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import cache
from typing import Any

from fuzzing.covariates import covariates
from fuzzing.values import Dice, hostile_value, spoiled
from takeup.policies.registry import kinds, policy_of

WORDS = ("rest", "drug", "tea", "coffee", "A", "b", "0", "1", "é", "中文", "<b>", "=1+1", "a b", "'", "\\", "x" * 200)
DEPTH = 3
"""How deep policies are put into policies."""


def spec(dice: Dice) -> dict[str, Any]:
    """A spec that follows the grammar; most of these are accepted."""
    space, shape = _space(dice)
    policy = _policy(dice, shape)
    if kinds()[policy["kind"]].card.family == "intents" and dice.chance(0.9):
        space["contexts"] = space["proposals"]
    learns = _learns_from_covariates(policy)
    if dice.chance(0.9 if learns else 0.2):
        space |= covariates(dice)
        if dice.chance(0.4 if learns else 0.1):
            space["outcomes"] = _number(dice)
            space.pop("utility", None)
    proposals = _labels(space["proposals"])
    chosen: dict[str, tuple[float, Callable[[], Any]]] = {
        "description": (0.1, lambda: dice.pick(WORDS) * dice.size(1, 49)),
        "draws": (0.4, lambda: dice.size(100, 5_000 if dice.chance(0.9) else 1_000_000)),
        "limits": (0.3, lambda: _limits(dice, proposals)),
        "burn_in": (0.15, lambda: dice.size(1, 40)),
        "window": (0.08, lambda: dice.pick((1, 60, 86_400, "1 second", "90 days", "52 weeks"))),
        "stopping": (0.3, lambda: _stopping(dice)),
        "compliance": (0.5, lambda: dice.pick(("always", "sometimes", "never"))),
        "decisions": (0.3, lambda: dice.pick(("one", "many"))),
        "fallback": (0.1, lambda: dict.fromkeys(proposals, 1 / len(proposals))),
        "seed": (0.03, lambda: dice.pick((0, 7, 2**255, "ab" * 32))),
    }
    found = {"name": f"Fuzz {dice.pick(WORDS)}"[:200], "space": space, "policy": policy}
    return found | {name: make() for name, (share, make) in chosen.items() if dice.chance(share)}


def near(dice: Dice) -> Any:
    """Such a spec as it is, or with one or two things wrong; mostly in its policy, where there is most to get wrong."""
    found: Any = spec(dice)
    if dice.chance(0.5):
        return found
    for _ in range(1 if dice.chance(0.85) else 2):
        if not isinstance(found, dict):
            break
        inside = dice.pick(("policy", "policy", "space", ""))
        if isinstance(found.get(inside), dict) and found[inside]:
            found[inside] = spoiled(dice, found[inside])
        else:
            found = spoiled(dice, found)
    return found


def _space(dice: Dice) -> tuple[dict[str, Any], tuple[int, int, int, int]]:
    """A space, and its numbers of contexts, proposals, actions and outcomes."""
    proposals, contexts, outcomes = dice.whole(2, 6), dice.pick((1, 1, 2, 3, 5)), dice.pick((2, 2, 2, 3, 5))
    actions = proposals
    if dice.chance(0.04):  # up to what is allowed, and a little further
        cells = dice.size(2_000, 110_000)
        proposals = actions = dice.size(2, max(2, math.isqrt(cells // 3) - 1))
        contexts = max(1, cells // (proposals * (actions + 1) * (outcomes + 1)))
    space: dict[str, Any] = {"proposals": _names(dice, proposals)}
    if dice.chance(0.25):
        actions = dice.whole(2, 6)
        space["implemented"] = _names(dice, actions)
        if dice.chance(0.6):
            space["intended"] = [dice.whole(0, actions - 1) for _ in range(proposals)]
    if contexts > 1 or dice.chance(0.2):
        space["contexts"] = _names(dice, contexts)
    if outcomes > 2 or dice.chance(0.2):
        space["outcomes"] = _names(dice, outcomes)
        space["utility"] = _utility(dice, outcomes)
    return space, (contexts, proposals, actions, outcomes)


def _learns_from_covariates(policy: dict[str, Any]) -> bool:
    """Whether a policy does, or one that it is made of."""
    inner = (each for each in policy.values() if isinstance(each, dict) and each.get("kind") in kinds())
    return kinds()[policy["kind"]].card.covariates or any(map(_learns_from_covariates, inner))


def _number(dice: Dice) -> dict[str, Any]:
    """An outcome that is a number, which lines are of."""
    step = dice.pick((1, 0.5, 1e-3, 10))
    high = step * dice.size(1, 2_000)
    return {"kind": "number", "low": 0, "high": high, "step": step, "better": dice.pick(("higher", "lower"))}


def _names(dice: Dice, count: int) -> Any:
    if dice.chance(0.6):
        return count
    return [f"{dice.pick(WORDS)[:190]} {i}" for i in range(count)] if count > len(WORDS) else list(WORDS[:count])


def _labels(names: Any) -> list[str]:
    return [str(i) for i in range(names)] if isinstance(names, int) else list(names)


def _utility(dice: Dice, outcomes: int) -> list[float]:
    if dice.chance(0.1):
        extreme = dice.pick((1e-300, 1e300, 1e12, 5e-324, 1e154))
        return [extreme * y for y in range(outcomes)]
    return [round(dice.between(0.1, 10) - 3, 2) + 20 * y for y in range(outcomes)]


def _limits(dice: Dice, proposals: list[str]) -> dict[str, Any]:
    even = 1 / len(proposals)
    floor: Any = dice.pick((0, even / 2, even, 1e-9, 0.01 * even))
    ceiling: Any = dice.pick((1, 1, min(1, 2 * even), even))
    if dice.chance(0.3):
        floor = {dice.pick(proposals): floor}
    return dice.pick(({"floor": floor}, {"ceiling": ceiling}, {"floor": floor, "ceiling": ceiling}))


def _stopping(dice: Dice) -> dict[str, Any]:
    found: dict[str, Any] = {"probability_best": dice.pick((0.51, 0.9, 0.99, 1 - 1e-12))}
    if dice.chance(0.5):
        found["maximum"] = dice.size(1, 10**9)
    if dice.chance(0.5):
        found["reading"] = dice.pick(("policy", "intention to treat"))
    return found


def _policy(dice: Dice, shape: tuple[int, int, int, int], depth: int = 0) -> dict[str, Any]:
    """A policy of any kind, with some of its parameters: those on its card, and the policies that it is made of."""
    name = dice.pick(_live() if depth == 0 and dice.chance(0.92) else sorted(kinds()))
    kind = kinds()[name]
    found = {"kind": name, **dice.pick(kind.card.variants).parameters}
    for parameter in fields(kind):  # type: ignore[arg-type]  # every policy is a dataclass, and the registry does not say so
        bound, default = kind.card.parameters.get(parameter.name), parameter.default
        if hasattr(default, "card"):
            if depth < DEPTH and dice.chance(0.4):
                inner = _policy(dice, shape, depth + 1)
                found[parameter.name] = inner if dice.chance(0.7) else {"kind": type(default).__name__}
        elif dice.chance(0.35):
            found[parameter.name] = _value(dice, bound, None if default is MISSING else default, shape)
    return found


@cache
def _live() -> list[str]:
    """The kinds that may run a trial."""
    return sorted(name for name in kinds() if policy_of({"kind": name}).live)


def _value(dice: Dice, bound: Any, default: Any, shape: tuple[int, int, int, int]) -> Any:
    """What a card allows, from end to end; or something near to the default where it says nothing."""
    values = getattr(bound, "values", None)
    if values:
        return dice.pick(values)
    if getattr(bound, "optional", False) and dice.chance(0.2):
        return None
    least = max((getattr(bound, name, -math.inf) for name in ("least", "above")), default=-math.inf)
    most = min((getattr(bound, name, math.inf) for name in ("most", "below")), default=math.inf)
    match type(bound).__name__:
        case "Whole":
            return dice.pick((bound.least, bound.most, dice.size(max(1, bound.least), bound.most), dice.size(1, 50)))
        case "Positive" | "Counts":
            return _array(dice, shape)
        case "NoneType":
            return _unlike(dice, default)
    if dice.chance(0.15):
        return dice.pick((least, most, math.nextafter(least, math.inf), math.nextafter(most, -math.inf)))
    low = least if least > 0 else 1e-6 if dice.chance(0.8) else 1e-300
    return dice.between(low, min(most, 1e3 if dice.chance(0.8) else 1e300))


def _array(dice: Dice, shape: tuple[int, int, int, int]) -> Any:
    """A number, or an array over some of the axes."""

    def number() -> float:
        return dice.between(1e-3, 1e3) if dice.chance(0.9) else dice.between(1e-320, 1e15)

    if dice.chance(0.4):
        return number()
    contexts, proposals, actions, outcomes = shape
    sizes = dice.pick(
        (
            *((outcomes,), (proposals, outcomes), (actions, outcomes), (proposals, actions), (contexts, outcomes)),
            *((contexts, proposals, outcomes), (contexts, actions, outcomes), (contexts, proposals, actions)),
            *((contexts, proposals, actions, outcomes), (contexts, proposals, actions + 1, outcomes + 1), (1,)),
        )
    )
    if math.prod(sizes) > 2_000:
        return number()
    value, same = number(), dice.chance(0.5)

    def filled(rest: tuple[int, ...]) -> Any:
        return (value if same else number()) if not rest else [filled(rest[1:]) for _ in range(rest[0])]

    return filled(sizes)


def _unlike(dice: Dice, default: Any) -> Any:
    """Something of the same type as a default, or anything."""
    match default:
        case tuple() | list():
            return [dice.size(1, 200) if dice.chance(0.8) else dice.size(1, 2**40) for _ in range(dice.whole(0, 4))]
        case bool():
            return dice.chance(0.5)
        case int() | float():
            return dice.between(1e-6, 1e9)
    return hostile_value(dice)
