"""A spec as a form: what was filled in becomes a spec, or says field by field what is wrong with it."""

from collections.abc import Mapping
from itertools import product
from typing import Any

from pydantic import ValidationError

from takeup.errors import InputError, TakeupError
from takeup.live.rehearsal import FEWEST, MOST_PEOPLE
from takeup.live.scenarios import assumed, assumed_of
from takeup.live.trial_run import TriedSpec, tried
from takeup.outcomes import Levels
from takeup.service.body import parse_json, parse_toml
from takeup.service.pages import covariate_rows
from takeup.service.pages.choices import USUAL, choices, chosen
from takeup.service.pages.form_numbers import Fields, Wrong, number, real, whole
from takeup.service.problem import ProblemError
from takeup.space import Space
from takeup.specfile import SpaceTable, SpecError, allowed
from takeup.trial import Design, TrialSpec
from takeup.trial.spec import duration, parse

BLANK: Fields = {
    "by": "form",
    "proposals": "usual care\nnew drug",
    "outcome-0": "not well",
    "utility-0": "0",
    "outcome-1": "well",
    "utility-1": "1",
    "policy": USUAL,
    "compliance": "always",
    "decisions": "one",
    "floor": "0",
    "ceiling": "100",
    "burn_in": "20",
}
"""What a new form begins with."""

WINDOW = "Expected: a number and its unit, such as 30 days, 36 hours or 12 weeks."
MOST_LEVELS = 100
ROWS = 4
"""How many outcome levels are asked for, at least."""

_LISTS = ("proposals", "implemented", "contexts", "contexts_too", "intended")
_CROSSED = ("contexts", "contexts_too")
_PLACES = {
    "space.size": "proposals",
    "space.outcomes": "outcome-0",
    "space.utility": "utility-0",
    "stopping.probability_best": "probability_best",
    "stopping.maximum": "maximum",
    "limits": "floor",
}
"""Where an error of a spec is shown, if not at the field of the key's last name."""

_BOUNDS = {"probability_best": "a number above 50 and below 100"}
"""What is allowed where the form and the spec count in different units."""


def levels(fields: Fields) -> list[tuple[int, str, str]]:
    """The rows of outcome levels: their place, label and utility; two more than are filled in."""
    filled = [i for i in range(MOST_LEVELS) if fields.get(f"outcome-{i}") or fields.get(f"utility-{i}")]
    many = min(MOST_LEVELS, max(ROWS, max(filled, default=0) + 3))
    return [(i, fields.get(f"outcome-{i}", ""), fields.get(f"utility-{i}", "")) for i in range(many)]


def read(fields: Fields) -> tuple[TriedSpec | None, Wrong]:
    """The spec that was filled in or pasted, after its trial run; or what is wrong. Not for the event loop."""
    pasted = fields.get("by") == "paste"
    spec, wrong = _pasted(fields.get("text", "")) if pasted else _filled(fields)
    if spec is None:
        return None, wrong
    try:
        return tried(spec, "spec" if pasted else ""), {}
    except SpecError as error:
        if pasted:
            return None, {"text": f"{_capital(str(error))}."}
        key = error.argument.removeprefix(": ")
        hint = f" ({error.hint})" if error.hint else ""
        much = f"Together they make {error.value}: " if key == "space.size" else ""
        return None, _shown({_place(key, fields): f"{_capital(much + error.allowed)}{hint}."}, fields)


def _filled(fields: Fields) -> tuple[TrialSpec | None, Wrong]:
    """The spec that was filled in, as far as it can be told without its design."""
    wrong: Wrong = {}
    content = _content(fields, wrong)
    try:
        spec = TrialSpec.model_validate(content)
    except ValidationError as error:
        for each in error.errors():
            place = _place(".".join(str(part) for part in each["loc"]), fields)
            needed = each["type"] in ("missing", "string_too_short")
            expected = _BOUNDS.get(place) or allowed(str(each["msg"]))
            wrong.setdefault(place, "This is needed." if needed else f"Expected: {expected}.")
    if not wrong:
        return spec, {}
    _check_space(content, fields, wrong)
    return None, _shown(wrong, fields)


def fields_of(design: Design) -> dict[str, str]:
    """The form that a spec would be filled in with; as text to paste where the form does not have all of it."""
    spec, space = design.spec, design.space
    text = spec.model_dump_json(indent=2, exclude={"seed"}, exclude_none=True)
    choice = chosen(spec.policy)
    limits = spec.limits
    if choice is None or not isinstance(limits.floor, float) or not isinstance(limits.ceiling, float):
        return {"by": "paste", "text": text}
    if not isinstance(space.outcome, Levels):
        return {"by": "paste", "text": text}
    fields = {
        "by": "form",
        "name": spec.name,
        "description": spec.description,
        "proposals": "\n".join(space.proposals),
        "implemented": "" if space.implemented == space.proposals else "\n".join(space.implemented),
        "intended": "",
        "contexts": "" if space.contexts == ("0",) else "\n".join(space.contexts),
        "policy": choice.name,
        "compliance": spec.compliance,
        "decisions": spec.decisions,
        "floor": number(100 * limits.floor),
        "ceiling": number(100 * limits.ceiling),
        "burn_in": str(spec.burn_in),
        "window": "" if spec.window is None else duration(spec.window),
        "probability_best": _optional(spec.stopping.probability_best, 100),
        "maximum": _optional(spec.stopping.maximum),
    }
    for i, (label, utility) in enumerate(zip(space.outcomes, space.utility, strict=True)):
        fields |= {f"outcome-{i}": label, f"utility-{i}": number(utility)}
    fields |= covariate_rows.fields_of(space.covariates)
    if space.intended is not None and space.implemented != space.proposals:
        fields["intended"] = "\n".join(space.implemented[a] for a in space.intended)
    again, _ = _filled(fields)
    same = again is not None and Design.of(again, new=False).text == design.text
    return fields if same else {"by": "paste", "text": text}


def assumptions(fields: Fields, space: Space) -> tuple[dict[str, Any], Wrong]:
    """What a rehearsal assumes: of the outcomes of each action, how many people, and how many a day."""
    wrong: Wrong = {}
    many = len(assumed_of(space.outcome))
    rates = assumed(space)
    for a in range(len(rates)):
        names = [f"rate-{a}-{j}" for j in range(1, many + 1)]
        if all(name in fields for name in names):
            levels = isinstance(space.outcome, Levels)
            rates[a] = _shares(fields, names, wrong) if levels else _assumed(fields, names, rates[a], wrong)
    people = real(fields, "people", wrong, FEWEST, MOST_PEOPLE) if "people" in fields else 300
    per_day = real(fields, "per_day", wrong, 0.01, 1e6) if fields.get("per_day") else 10
    return {"rates": rates, "people": int(people or FEWEST), "per_day": float(per_day or 1)}, wrong


def _shares(fields: Fields, names: list[str], wrong: Wrong) -> list[float]:
    """The shares of all levels, from those of all but the first in percent."""
    given = [real(fields, name, wrong, 0, 100) for name in names]
    row = [0.0 if p is None else p / 100 for p in given]
    if sum(row) > 1 + 1e-9:
        wrong.setdefault(names[0], "Together these are more than 100 %.")
    return [max(0.0, 1 - sum(row)), *row]


def _assumed(fields: Fields, names: list[str], before: list[float], wrong: Wrong) -> list[float]:
    """Means, or a mean and a standard deviation; only the mean of numbers may be below zero."""
    found = []
    for name, other in zip(names, before, strict=True):
        given = real(fields, name, wrong, -1e12, 1e12)
        if given is not None and given <= 0 and not (len(names) == 2 and name == names[0]):
            wrong[name] = "Give a number above 0."
        found.append(other if given is None or name in wrong else given)
    return found


def _content(fields: Fields, wrong: Wrong) -> dict[str, Any]:
    """A spec as a file would have it."""
    lists = {name: [line.strip() for line in fields.get(name, "").splitlines() if line.strip()] for name in _LISTS}
    crossed = [lists[name] for name in _CROSSED if lists[name]]
    lists["contexts"] = [", ".join(each) for each in product(*crossed)] if crossed else []
    rows = [(i, label, utility) for i, label, utility in levels(fields) if label or utility]
    space: dict[str, Any] = {"proposals": lists["proposals"], "outcomes": [label for _, label, _ in rows]}
    space |= {name: lists[name] for name in ("implemented", "contexts", "intended") if lists[name]}
    space["utility"] = [real(fields, f"utility-{i}", wrong) or 0.0 for i, _, _ in rows]
    space |= covariate_rows.content(fields, wrong)
    for i, label, _ in rows:
        if not label:
            wrong[f"outcome-{i}"] = "Give this outcome a name, or leave out its worth."
    _check_limits(fields, len(lists["proposals"]), wrong)
    choice = choices().get(fields.get("policy", ""))
    if choice is None:
        wrong["policy"] = "Choose one of these."
    elif choice.covariates and not covariate_rows.filled(fields):
        wrong["policy"] = (
            "It learns from what is known before of each person: say above what that is, or choose another."
        )
    content: dict[str, Any] = {
        "name": fields.get("name", ""),
        "description": " ".join(fields.get("description", "").split()),
        "space": space,
        "policy": {} if choice is None else choice.description,
        "limits": {
            name: (real(fields, name, wrong, 0, 100) or 0.0) / 100 if fields.get(name) else default
            for name, default in (("floor", 0.0), ("ceiling", 1.0))
        },
        "burn_in": whole(fields, "burn_in", wrong) or 0,
        "stopping": {"maximum": whole(fields, "maximum", wrong)},
        "compliance": fields.get("compliance", ""),
        "decisions": fields.get("decisions", ""),
        "window": fields.get("window") or None,
    }
    best = real(fields, "probability_best", wrong, 50, 100)
    content["stopping"]["probability_best"] = None if best is None else best / 100
    return content


def _check_limits(fields: Fields, proposals: int, wrong: Wrong) -> None:
    """Whether every proposal can have at least the floor and at most the ceiling, in percent."""
    floor, ceiling = (real(fields, name, wrong, 0, 100) for name in ("floor", "ceiling"))
    if floor is not None and proposals * floor > 100 + 1e-9:
        wrong["floor"] = f"{proposals} proposals cannot all have so much: at most {100 / proposals:.4g} %."
    if ceiling is not None and 0 < proposals * ceiling < 100 - 1e-9:
        wrong["ceiling"] = f"{proposals} proposals cannot all have so little: at least {100 / proposals:.4g} %."


def _check_space(content: Mapping[str, Any], fields: Fields, wrong: Wrong) -> None:
    """Errors of the space, so that they are shown together with those of other fields."""
    try:
        SpaceTable.model_validate(content["space"]).build()
    except ValidationError:
        pass  # it was found with the others
    except InputError as error:
        wrong.setdefault(_place(f"space.{error.argument}", fields), f"{_capital(error.allowed)}.")


def _pasted(text: str) -> tuple[TrialSpec | None, Wrong]:
    """A spec in JSON or TOML, or what is wrong with it, by the keys that its writer knows."""
    try:
        found = parse_json(text.encode()) if text.startswith("{") else parse_toml(text.encode())
        if not isinstance(found, dict) or not found:
            return None, {"text": "Paste a spec: a table with a name, a space and a policy."}
        return parse(found), {}
    except (ProblemError, TakeupError) as error:
        said = error.detail if isinstance(error, ProblemError) else error
        return None, {"text": f"{_capital(str(said))}."}


def _place(key: str, fields: Fields) -> str:
    """The field that a key of a spec is about."""
    before = covariate_rows.place(key, fields)
    if before is not None:
        return before
    parts = key.split(".")
    for length in (2, 1):
        found = _PLACES.get(".".join(parts[:length]))
        if found is not None and (length == 2 or len(parts) == 1):
            return found
    return parts[0] if parts[0] not in ("space", "limits", "stopping") or len(parts) == 1 else parts[1]


def _shown(wrong: Wrong, fields: Fields) -> Wrong:
    """Errors at fields that the form does not have are shown at its top."""
    known = {*BLANK, *fields, *_LISTS, "name", "window", "maximum", "probability_best"}
    if "number of seconds" in wrong.get("window", ""):  # which a file may say, and no form
        wrong = {**wrong, "window": WINDOW}
    known |= covariate_rows.known(fields)
    known |= {name for i, *_ in levels(fields) for name in (f"outcome-{i}", f"utility-{i}")}
    return {place if place in known else "": text for place, text in wrong.items()}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _optional(value: float | None, times: float = 1) -> str:
    return "" if value is None else number(times * value)
