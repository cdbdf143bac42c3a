"""Datasets as files: Dataset-JSON 1.1, SAS transport files (XPT, version 5), and a list of all variables."""

import csv
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from takeup import folders
from takeup.cdisc import xpt
from takeup.cdisc.datasets import datasets_of
from takeup.cdisc.study import Study
from takeup.cdisc.variables import DATE_FORMAT, Dataset, Variable
from takeup.version import __version__

VERSION = "1.1.0"
LISTED = "variables"


def write(study: Study, folder: str | Path, *, transport: bool = False, made: datetime | None = None) -> list[str]:
    """Write all datasets of a study to a folder, all of them or none, and return the files' names.

    Args:
        study: what they are made from.
        folder: made where it is not there.
        transport: SAS transport files beside Dataset-JSON; needs the extra `cdisc`.
        made: when; now where left out.

    Raises:
        InputError: what a transport file cannot hold, such as letters beyond ASCII.
    """
    folders.check(Path(folder), "folder")
    datasets = datasets_of(study)
    if transport:
        for each in datasets:
            xpt.check(each)
    with folders.filled(Path(folder), f"{LISTED}.json", alone=True) as filling:
        for each in datasets:
            name = each.name.lower()
            _write_json(filling / f"{name}.json", each, study, made or datetime.now(UTC))
            if transport:
                xpt.write(filling / f"{name}.xpt", each)
        _write_list(filling, datasets)
        return sorted(file.name for file in filling.iterdir())


def columns_of(dataset: Dataset) -> list[dict[str, Any]]:
    """The variables of a dataset, as Dataset-JSON describes them."""
    found = []
    for variable, length in zip(dataset.variables, dataset.lengths(), strict=True):
        said = {
            "itemOID": f"IT.{dataset.name}.{variable.name}",
            "name": variable.name,
            "label": variable.label,
            "dataType": variable.kind,
            "targetDataType": "integer" if variable.kind == "date" else None,
            "length": length if variable.kind == "string" else None,
            "displayFormat": DATE_FORMAT if variable.kind == "date" else None,
            "keySequence": variable.key,
        }
        found.append({name: value for name, value in said.items() if value is not None})
    return found


def _write_json(file: Path, dataset: Dataset, study: Study, made: datetime) -> None:
    """A row a line."""
    said = {
        "datasetJSONCreationDateTime": made.isoformat(timespec="seconds"),
        "datasetJSONVersion": VERSION,
        "fileOID": f"takeup.{study.name}.{dataset.name}",
        "dbLastModifiedDateTime": None if study.modified is None else study.modified.isoformat(timespec="seconds"),
        "sourceSystem": {"name": "takeup", "version": __version__},
        "studyOID": study.name,
        "itemGroupOID": f"IG.{dataset.name}",
        "records": len(dataset.rows),
        "name": dataset.name,
        "label": dataset.label,
        "columns": columns_of(dataset),
    }
    head = json.dumps({name: value for name, value in said.items() if value is not None}, ensure_ascii=False)
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in dataset.rows)
    file.write_text(f'{head[:-1]}, "rows": [\n{rows}\n]}}\n', encoding="utf-8")


def _write_list(folder: Path, datasets: Sequence[Dataset]) -> None:
    """What each variable is and comes from, for people and for programs; a define.xml says more, and is not written."""
    listed = [
        _listed(each, variable, length)
        for each in datasets
        for variable, length in zip(each.variables, each.lengths(), strict=True)
    ]
    (folder / f"{LISTED}.json").write_text(json.dumps(listed, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    with (folder / f"{LISTED}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, listed[0])
        writer.writeheader()
        writer.writerows(listed)


def _listed(dataset: Dataset, variable: Variable, length: int | None) -> dict[str, Any]:
    return {
        "dataset": dataset.name,
        "variable": variable.name,
        "label": variable.label,
        "type": "Num" if variable.numeric else "Char",
        "length": 8 if length is None else length,
        "format": DATE_FORMAT if variable.kind == "date" else None,
        "key": variable.key,
        "from": variable.says,
    }
