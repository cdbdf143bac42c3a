"""Covariates by their grammar: measures and categories, values that they allow, and values that nobody should send."""

import math
from collections.abc import Mapping
from typing import Any

from fuzzing.values import LETTERS, MOST_TEXT, NUMBERS, Dice, Raw, hostile_value, spoiled

NAMES = ("age", "state", "é", "中文", "<b>", "a b", "'", "x" * 100, "=1+1", "covariates.age", "weight", "0")
LEVELS = ("alert", "drowsy", "1", "true", "<i>", "é", "missing", "中", "null", "z" * 100)
LIKE = ("0.5", "nan", "1e400", "-0", "", " ", "None", "0x1", "1_0", "\u0661", "\u00bd")
"""Texts that a number may be taken for."""


def covariates(dice: Dice) -> dict[str, Any]:
    """What a space has beside the rest; most of it is accepted, and some has more features than there may be."""
    names = _some(dice, NAMES, dice.pick((1, 1, 2, 2, 3, 5)))
    found: dict[str, Any] = {"covariates": {name: _kind(dice) for name in names}}
    if len(names) > 1 and dice.chance(0.4):
        pairs = [[one, other] for i, one in enumerate(names) for other in names[i + 1 :]]
        found["interactions"] = _some(dice, pairs, dice.whole(1, min(3, len(pairs))))
    return found


def values(dice: Dice, kinds: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A value of each that it allows: at an end, in between, by whole steps or not, or missing."""
    return {name: _value(dice, kind) for name, kind in kinds.items()}


def wrong(dice: Dice, kinds: Mapping[str, Mapping[str, Any]]) -> Any:
    """The same with something wrong, or odd; now and then it is right all the same."""
    good = values(dice, kinds)
    name = dice.pick(list(good))
    match dice.whole(0, 7):
        case 0:
            return good | {name: dice.pick(NUMBERS)}
        case 1:
            return good | {name: dice.pick((*LIKE, *LETTERS))}
        case 2:
            return good | {dice.pick((f"{name} ", name.upper(), "sex", "", *LETTERS)): dice.pick((1, None, "a"))}
        case 3:
            return {each: value for each, value in good.items() if each != name}
        case 4:
            return good | {name: "x" * dice.size(200, MOST_TEXT)}
        case 5:
            return good | {f"{name} {i}": i for i in range(dice.size(1, 20_000))}
        case 6:
            return good | {name: _beyond(dice, kinds[name])}
    return spoiled(dice, good) if dice.chance(0.8) else hostile_value(dice)


def _kind(dice: Dice) -> dict[str, Any]:
    kept = {"missing": dice.pick(("kept", "kept", "refused"))} if dice.chance(0.5) else {}
    if dice.chance(0.45):
        many = dice.whole(2, 5) if dice.chance(0.93) else dice.size(2, len(LEVELS))
        levels = _some(dice, LEVELS, many)
        return {"kind": "category", "levels": levels, **({} if "missing" in levels and dice.chance(0.8) else kept)}
    low = dice.pick((0, 18, -40, -1e6, 0.1, 1e-6, 1e9))
    step = dice.pick((1, 0.5, 0.1, 1e-3, 7, 1e-9, 1e6))
    measure: dict[str, Any] = {"kind": "measure", "low": low, "high": low + step * dice.size(1, 5_000), **kept}
    if step != 1 or dice.chance(0.5):
        measure["step"] = step
    if dice.chance(0.4):
        measure["unit"] = dice.pick(("years", "mmHg", "é", "<b>", "%", ""))
    return measure


def _value(dice: Dice, kind: Mapping[str, Any]) -> Any:
    if kind.get("missing") == "kept" and dice.chance(0.25):
        return None
    if kind["kind"] == "category":
        return dice.pick(kind["levels"])
    low, high, step = kind["low"], kind["high"], kind.get("step", 1)
    steps = round((high - low) / step)
    if dice.chance(0.3):
        return dice.pick((low, high))
    between = low + step * (dice.whole(0, steps - 1) + dice.pick((0, 0, 0.25, 0.5, 0.75)))
    return min(between, high)


def _beyond(dice: Dice, kind: Mapping[str, Any]) -> Any:
    """What is just not allowed, or written in a way that is not."""
    if kind["kind"] == "category":
        return dice.pick((len(kind["levels"]), 0, True, [kind["levels"][0]], f" {kind['levels'][0]}", {}))
    low, high, step = kind["low"], kind["high"], kind.get("step", 1)
    near = (low - 0.51 * step, high + 0.51 * step, math.nextafter(low, -math.inf), math.nextafter(high, math.inf))
    return dice.pick((*near, str(low), f"{high} ", [low], True, math.nan, Raw("1e400"), Raw("-1e400"), 10**400))


def _some(dice: Dice, values: Any, many: int) -> list[Any]:
    """Several of these, each once, in any order."""
    left = list(values)
    return [left.pop(dice.whole(0, len(left) - 1)) for _ in range(min(many, len(left)))]
