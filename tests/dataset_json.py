"""What a Dataset-JSON file of version 1.1 must be: a JSON schema, written from the standard's specification."""

from typing import Any

_TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?([+-]\d\d:\d\d|Z)?$"
_OID = {"type": "string", "minLength": 1}
_TEXT = {"type": "string"}
_KINDS = ["string", "integer", "decimal", "float", "double", "boolean", "datetime", "date", "time", "URI"]

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": [
        "datasetJSONCreationDateTime",
        "datasetJSONVersion",
        "itemGroupOID",
        "records",
        "name",
        "label",
        "columns",
    ],
    "properties": {
        "datasetJSONCreationDateTime": {"type": "string", "pattern": _TIME},
        "datasetJSONVersion": {"type": "string", "pattern": r"^1\.1(\.(0|[1-9]\d*))?$"},
        "fileOID": _OID,
        "dbLastModifiedDateTime": {"type": "string", "pattern": _TIME},
        "originator": _TEXT,
        "sourceSystem": {
            "type": "object",
            "additionalProperties": False,
            "required": ["name", "version"],
            "properties": {"name": _TEXT, "version": _TEXT},
        },
        "studyOID": _OID,
        "metaDataVersionOID": _OID,
        "metaDataRef": _TEXT,
        "itemGroupOID": _OID,
        "records": {"type": "integer", "minimum": 0},
        "name": _OID,
        "label": _TEXT,
        "columns": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["itemOID", "name", "label", "dataType"],
                "properties": {
                    "itemOID": _OID,
                    "name": _OID,
                    "label": _TEXT,
                    "dataType": {"enum": _KINDS},
                    "targetDataType": {"enum": ["integer", "decimal"]},
                    "length": {"type": "integer", "minimum": 1},
                    "displayFormat": _TEXT,
                    "keySequence": {"type": "integer", "minimum": 1},
                },
            },
        },
        "rows": {
            "type": "array",
            "items": {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}},
        },
    },
}
ORDER = list(SCHEMA["properties"])
"""The order of attributes that the specification asks for."""
VALUES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "datetime": (str,),
    "date": (str,),
    "integer": (int,),
    "float": (int, float),
}
"""What the values of a column are, by its dataType."""
