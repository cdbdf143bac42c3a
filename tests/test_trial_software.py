"""What a decision says of the code that made it."""

import ast
import json
import re
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from takeup.live import Trial
from takeup.policies import register, registry
from takeup.trial import software as versions
from takeup.trial.design import Design
from troubled import Troubled

SOURCE = Path(str(resources.files("takeup")))
SAY = "from takeup.trial.software import CODE; print(CODE)"


def imported(at: Path) -> str:
    """The hash that takeup says it has, imported from a folder or an archive."""
    run = [sys.executable, "-P", "-c", SAY]
    return subprocess.run(run, env={"PYTHONPATH": str(at)}, check=True, capture_output=True, text=True).stdout.strip()


def hashed(at: Path) -> str:
    """The hash that takeup in a folder would say it has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resources, "files", lambda name: at / name)
        return versions._code()


@pytest.mark.requirement("R-2.7")
def test_decisions_depend_on_no_code_that_is_not_hashed() -> None:
    """Whatever the modules of these folders import of takeup is in them too, so that nothing can be forgotten."""
    for folder in versions.FOLDERS:
        for file in (SOURCE / folder).glob("*.py"):
            if file in (SOURCE / "__init__.py", SOURCE / "__main__.py"):  # what people import, and the command line
                continue
            for node in ast.walk(ast.parse(file.read_text())):
                names = [node.module] if isinstance(node, ast.ImportFrom) else []
                names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
                for name in names:
                    parts = (name or "").split(".")
                    if parts[0] == "takeup" and len(parts) > 1:
                        inside = parts[1] in versions.FOLDERS or (SOURCE / f"{parts[1]}.py").is_file()
                        assert inside, f"{file} imports {name}"


@pytest.mark.requirement("R-2.7")
def test_the_code_is_named_by_a_hash_whatever_its_line_ends_and_wherever_it_lies(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(SOURCE, copy / "takeup", ignore=shutil.ignore_patterns("__pycache__"))
    assert hashed(copy) == versions.CODE
    file = copy / "takeup" / "posterior.py"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert hashed(copy) == versions.CODE
    archive = shutil.make_archive(str(tmp_path / "archive"), "zip", copy)
    assert imported(Path(archive)) == versions.CODE
    file.write_bytes(file.read_bytes() + b"# another thought\n")
    other = hashed(copy)
    assert other != versions.CODE
    (copy / "takeup" / "cli" / "demo.py").write_text("")  # the command line decides nothing
    assert hashed(copy) == other


@pytest.mark.requirement("R-2.7")
def test_every_decision_names_what_made_it(tmp_path: Path) -> None:
    """Alone, in a batch and under a lease; what a client drew by itself names nothing of takeup's."""
    spec = {"name": "t", "space": {"proposals": 2}, "policy": {"kind": "TS"}, "edge": {"allowed": True}}
    with Trial.create(tmp_path / "t.db", spec) as trial:
        trial.start()
        trial.decide("a")
        trial.decide_many([{"unit": "b"}, {"unit": "c"}])
        lease = trial.lease()
        drawn: list[dict[str, Any]] = [
            {"unit": each, "lease": lease.number, "drawn": lease.issued} for each in ("d", "e")
        ]
        rows = [row | {"proposal": lease.proposals[lease.draw(row["unit"], None, 0)]} for row in drawn]
        assert trial.ingest("batch", rows).recorded == 2
        logged = [json.loads(each.body) for each in trial.events(kind="decided", limit=1_000)]
    assert len(logged) == 5
    for each in logged:
        assert re.fullmatch(rf"takeup \S+ \({versions.CODE}\), numpy \S+, scipy \S+, \w+", each["software"])


@pytest.mark.requirement("R-2.7")
def test_a_design_names_versions_and_the_packages_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    register(Troubled)
    spec = {"name": "t", "space": {"proposals": 2}}
    plain = versions.software(Design.of({**spec, "policy": {"kind": "TSObs"}}))
    assert re.fullmatch(rf"takeup \S+ \({versions.CODE}\), numpy \S+, scipy \S+, \w+", plain)
    other = versions.software(Design.of({**spec, "policy": {"kind": "Troubled"}}))
    assert other == f"{plain}, troubled, which is no package"
    monkeypatch.setattr(versions, "_distributions", lambda: {"troubled": ["numpy"]})
    versions.software.cache_clear()
    again = versions.software(Design.of({**spec, "policy": {"kind": "Troubled"}}))
    assert re.fullmatch(rf"{re.escape(plain)}, numpy \S+", again)
    versions.software.cache_clear()
