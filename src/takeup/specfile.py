"""Specs as people write them, in TOML or JSON: read, checked, and refused by file, key and value."""

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)
from pydantic_core import ErrorDetails

from takeup.errors import NOTHING, InputError, TakeupError
from takeup.space import Space


class SpecError(InputError):
    """Something in a spec: names the file, the key and the value."""


class Table(BaseModel):
    """A table of a spec: a key that it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class GrownTable(Table):
    """A table with keys that were added later.

    They are left out of its text where they have their defaults, so that specs which were stored before keep their text
    and its hash.
    """

    newer: ClassVar[tuple[str, ...]]

    @model_serializer(mode="wrap")
    def _without_newer_defaults(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = dump(self)
        for name in self.newer:
            if getattr(self, name) == type(self).model_fields[name].default:
                content.pop(name, None)
        return content


MOST_NAMES = 10_000
Names = Annotated[int, Field(strict=True, le=MOST_NAMES)] | Annotated[list[str], Field(max_length=MOST_NAMES)]
"""How many there are, or what each is called. Specs come from afar: none may ask for what takes minutes to build."""


MOST_COVARIATES = 1_000
"""How many covariates, or pairs of them, a spec may name before anybody counts their features."""


class SpaceTable(GrownTable):
    """`[space]`: names and utilities; left out, everything is numbered and outcomes are failure and success.

    Covariates are in the order of their names, as the text that is stored has no other.
    """

    newer = ("covariates", "interactions")

    proposals: Names
    implemented: Names | None = None
    contexts: Names = 1
    outcomes: Names | dict[str, Any] = 2
    utility: Annotated[list[float], Field(max_length=MOST_NAMES)] | None = None
    intended: Annotated[list[int | str], Field(max_length=MOST_NAMES)] | dict[str, int | str] | None = None
    covariates: Annotated[dict[str, dict[str, Any]], Field(max_length=MOST_COVARIATES)] | None = None
    interactions: Annotated[list[list[str]], Field(max_length=MOST_COVARIATES)] | None = None

    def build(self) -> Space:
        """The space."""
        content = self.model_dump()
        if self.covariates is not None:
            content["covariates"] = dict(sorted(self.covariates.items()))
        return Space(**content)


Model = TypeVar("Model", bound=BaseModel)
_PLAIN = {
    "a valid dictionary": "a table of keys and values",
    "a valid list": "a list",
    "a valid string": "a text",
    "a valid number": "a number",
    "a finite number": "a number that is finite",
    "a valid integer": "a whole number",
    "a valid boolean": "true or false",
}
"""What pydantic calls by names that only programmers use."""
_BEGINNINGS = {"be ": "", "have ": "", "match ": "a text that matches "}


def read(path: str | Path) -> Mapping[str, Any]:
    """What a file says: JSON where its name ends so, else TOML."""
    file = Path(path)
    language = "JSON" if file.suffix.lower() == ".json" else "TOML"
    try:
        text = file.read_text(encoding="utf-8")
        content = json.loads(text) if language == "JSON" else tomllib.loads(text)
    except OSError as error:
        raise SpecError(str(path), error.strerror, f"a {language} file that can be read") from None
    except (json.JSONDecodeError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SpecError(str(path), error, language) from None
    if not isinstance(content, dict):
        raise SpecError(str(path), type(content).__name__, "a table of keys and values")
    return content


def validated(model: type[Model], content: Mapping[str, Any], file: str) -> Model:
    """The model of this content; the first thing that is wrong with it is the error."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        place, first, said = told(content, error.errors())
        name = f"{file}: {'.'.join(map(str, place)) or 'the whole'}"
        if first["type"] == "extra_forbidden":
            known = _keys(model, place[:-1])
            close = difflib.get_close_matches(str(place[-1]), known, n=1)
            hint = f"did you mean {close[0]}?" if close else ""
            raise SpecError(name, repr(first["input"]), f"one of the keys {', '.join(known)}", hint) from None
        if first["type"] == "missing":
            raise SpecError(name, NOTHING, "a value") from None
        raise SpecError(name, repr(first["input"]), said) from None


def told(content: Any, errors: Iterable[ErrorDetails]) -> tuple[tuple[int | str, ...], ErrorDetails, str]:
    """Where the first thing is wrong in a content, the error that says it best, and what would be allowed there."""
    found = [(_place(content, each), each) for each in errors]
    unknown = [each for each in found if each[1]["type"] == "extra_forbidden"]  # likelier than what it stands for
    root = (unknown or found)[0][0]
    place, first = max((each for each in unknown or found if each[0][: len(root)] == root), key=lambda e: len(e[0]))
    said = dict.fromkeys(allowed(each["msg"]) for other, each in found if other == place)
    return place, first, ", or ".join(said)


def _place(content: Any, error: ErrorDetails) -> tuple[int | str, ...]:
    """Where an error is, in the words of the content: pydantic also names the alternatives that it tried."""
    place: list[int | str] = []
    for part in error["loc"]:
        inside = part in content if isinstance(content, Mapping) else isinstance(content, list) and type(part) is int
        if inside:
            content = content[part]
            place.append(part)
    if error["type"] == "missing":
        place.append(error["loc"][-1])
    return tuple(place)


def _keys(model: type[BaseModel], place: tuple[int | str, ...]) -> list[str]:
    """The keys that a table of a model knows."""
    for part in place:
        if type(part) is int:
            continue
        found = list(_models(model.model_fields[str(part)].annotation)) if str(part) in model.model_fields else []
        if not found:
            break
        model = found[0]
    return list(model.model_fields)


def _models(kind: Any) -> Iterator[type[BaseModel]]:
    """The tables that a key may hold, in lists and among alternatives too."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for inner in get_args(kind):
        yield from _models(inner)


def allowed(said: str) -> str:
    """What would have been right, in a sentence of ours, from a sentence of pydantic's."""
    said = re.sub(r" after validation, not \d+$", "", said.removeprefix("Value error, "))
    said = re.sub(r"^[A-Z]\w* should (be |have |match )", lambda begun: _BEGINNINGS[begun[1]], said)
    return _PLAIN.get(re.sub(r" or instance of \w+$", "", said.partition(",")[0]), said)


@contextmanager
def at(file: str, key: str) -> Iterator[None]:
    """Errors that are raised inside name this file and this key."""
    try:
        yield
    except SpecError:
        raise
    except InputError as error:
        words = error.words and f"{file}: {key}: {error.words}"
        raise SpecError(f"{file}: {key}.{error.argument}", error.value, error.allowed, error.hint, words) from None
    except TakeupError as error:
        raise SpecError(f"{file}: {key}", None, str(error), words=f"{file}: {key}: {error}") from None


def toml(content: Mapping[str, Any]) -> str:
    """A content as a TOML file: what `read` reads again; keys without a value are left out."""
    return "\n\n".join(_tables(content, ())).strip() + "\n"


def _tables(content: Mapping[str, Any], place: tuple[str, ...]) -> Iterator[str]:
    """A table's own keys, then the tables inside of it, each under its name."""
    inner = {key: value for key, value in content.items() if isinstance(value, Mapping)}
    plain = {key: value for key, value in content.items() if value is not None and key not in inner}
    own = [f"{_key(key)} = {_written(value)}" for key, value in plain.items()]
    named = [f"[{'.'.join(map(_key, place))}]"] if place and (own or not inner) else []
    if named or own:
        yield "\n".join([*named, *own])
    for key, value in inner.items():
        yield from _tables(value, (*place, key))


def _key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else _written(name)


def _written(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_written(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value)
