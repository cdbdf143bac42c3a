"""What a REDCap project asks: the fields of its data dictionary, with their choices."""

from collections.abc import Mapping
from dataclasses import dataclass

from takeup.adapters.redcap.tables import Table, rows_of
from takeup.checks import shown
from takeup.errors import InputError, LabelError
from takeup.frames.columns import number_of, text_of
from takeup.outcomes import Number, Outcome

COLUMNS = {
    "name": ("Variable / Field Name", "field_name"),
    "kind": ("Field Type", "field_type"),
    "label": ("Field Label", "field_label"),
    "choices": ("Choices, Calculations, OR Slider Labels", "select_choices_or_calculations"),
    "validation": (
        "Text Validation Type OR Show Slider Number",
        "text_validation_type_or_show_slider_number",
    ),
    "low": ("Text Validation Min", "text_validation_min"),
    "high": ("Text Validation Max", "text_validation_max"),
}
"""What each column is called in the file that REDCap's pages give, and by its API."""

FIXED = {"yesno": {"0": "No", "1": "Yes"}, "truefalse": {"0": "False", "1": "True"}}
"""The choices of kinds of fields that say none."""

TICKED = {"0": "Unchecked", "1": "Checked"}
"""The choices of each box of a checkbox field, which is exported as a field of its own."""

STEPS = {"integer": 1.0, "number": 0.01} | {f"number_{d}dp": 10.0**-d for d in range(1, 5)}
"""How fine a validated number is; one of any digits is kept to a hundredth."""


@dataclass(frozen=True)
class Field:
    """A field.

    Attributes:
        name: of the variable.
        kind: radio, dropdown, yesno, truefalse, checkbox, text, ..
        label: the question.
        choices: the label of each code, in their order; empty where it has none.
        number: what it measures, where it is a validated number with both bounds.
    """

    name: str
    kind: str
    label: str
    choices: Mapping[str, str]
    number: Outcome | None = None

    @property
    def labels(self) -> list[str]:
        """What can be chosen."""
        return list(self.choices.values())

    def label_of(self, value: str) -> str:
        """The label of a code; a label is returned as it is, as files may have either."""
        code = text_of(value)
        if code in self.choices:
            return self.choices[code]
        if value in self.choices.values():
            return value
        allowed = f"one of {', '.join(f'{code} ({label})' for code, label in self.choices.items())}"
        raise LabelError(self.name, shown(value), allowed, "or a code of missing data: missing=[..]")

    def code_of(self, label: str) -> str:
        """The code of a label."""
        for code, each in self.choices.items():
            if each == label:
                return code
        raise LabelError(self.name, shown(label), f"one of {', '.join(self.labels)}, as the dictionary has them")


@dataclass(frozen=True)
class Dictionary:
    """A data dictionary.

    Attributes:
        fields: by their names, in their order; the first one is the record's id.
    """

    fields: Mapping[str, Field]

    @classmethod
    def of(cls, table: "Table | Dictionary") -> "Dictionary":
        """From the CSV file that REDCap's pages give, or what its API does, as `project.metadata` of PyCap."""
        if isinstance(table, Dictionary):
            return table
        rows = rows_of("dictionary", table)
        if not rows:
            raise InputError("dictionary", "no fields", "a row for each field")
        found = {}
        for number, row in enumerate(rows, start=1):
            said = {}
            for name, headings in COLUMNS.items():
                have = [heading for heading in headings if heading in row]
                if not have and name in ("name", "kind"):
                    raise InputError("dictionary", f"the columns {', '.join(row)}", f"a column {headings[0]!r}")
                said[name] = str(row[have[0]] or "").strip() if have else ""
            where = f"dictionary: row {number}, field {said['name']!r}"
            found[said["name"]] = Field(
                said["name"], said["kind"], said["label"], _choices(where, said), _number(where, said)
            )
        return cls(found)

    @property
    def record_id(self) -> str:
        """The name of the field that identifies a record."""
        return next(iter(self.fields))

    def field(self, argument: str, name: str) -> Field:
        """A field by its name; a box of a checkbox field, `name___code`, is one too."""
        if name in self.fields:
            found = self.fields[name]
            if found.kind != "checkbox":
                return found
            boxes = ", ".join(f"{name}___{code}" for code in found.choices)
            raise InputError(argument, shown(name), f"one box of it: {boxes}")
        parent, _, code = name.partition("___")
        boxes_of = self.fields.get(parent)
        if code and boxes_of is not None and code in boxes_of.choices:
            return Field(name, "checkbox", boxes_of.choices[code], TICKED)
        raise InputError(argument, shown(name), f"one of the fields {', '.join(self.fields)}")


def _choices(where: str, said: Mapping[str, str]) -> dict[str, str]:
    """The choices of a field: "1, Drug | 2, Placebo"."""
    if said["kind"] in FIXED:
        return FIXED[said["kind"]]
    if said["kind"] not in ("radio", "dropdown", "checkbox"):
        return {}
    found: dict[str, str] = {}
    for part in said["choices"].split("|"):
        code, comma, label = (piece.strip() for piece in part.partition(","))
        if not code or not comma or code in found:
            raise InputError(where, shown(said["choices"]), 'choices such as "1, Drug | 2, Placebo", each code once')
        found[code] = label or code
    if len(set(found.values())) < len(found):
        raise InputError(where, shown(said["choices"]), "choices with different labels")
    return found


def _number(where: str, said: Mapping[str, str]) -> Outcome | None:
    """What a validated number measures; a slider goes from 0 to 100 where it does not say."""
    if said["kind"] == "slider":
        return Number(number_of(said["low"]) or 0.0, number_of(said["high"]) or 100.0, 1.0)
    step = STEPS.get(said["validation"]) if said["kind"] == "text" else None
    low, high = number_of(said["low"]), number_of(said["high"])
    if step is None or low is None or high is None:
        return None
    if low >= high:
        raise InputError(where, f"from {low:g} to {high:g}", "a minimum below the maximum")
    return Number(low, high, step)
