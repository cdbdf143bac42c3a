"""The datasets of CDISC from the page of a log: those that the command line writes, in one file."""

import io
import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

import asgi
from page_visitor import Visitor, harmless
from takeup.cdisc import write
from takeup.cdisc.trials import study_of
from takeup.live import Trial
from takeup.service.routes import log

SPEC: dict[str, Any] = {
    "name": "Clinic",
    "space": {"proposals": ["usual care", "new drug"], "outcomes": ["ill", "well"]},
    "policy": {"kind": "TS"},
}
PAGE, LOG = "/app/trials/clinic/cdisc", "/app/trials/clinic/log"


def made(api: asgi.Api, **more: Any) -> Trial:
    trial = Trial.create(api.store, {**SPEC, **more}, trial="clinic")
    trial.start()
    return trial


def rows(content: bytes) -> Any:
    return json.loads(content)["rows"]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_button_gives_what_the_command_line_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: bool
) -> None:
    if elsewhere:
        monkeypatch.setattr(log, "LONG", 1)
    with asgi.api(str(tmp_path / "trials.db")) as api:
        trial = made(api)
        for i in range(6):
            trial.report(trial.decide(f"p{i}"), implemented=i % 2, outcome=(i + 1) % 2)
        visitor = Visitor(api, "read-unblinded")
        assert PAGE in visitor.get(LOG).body.decode()
        reply = visitor.get(PAGE)
        assert (reply.status, reply.headers["content-type"]) == (200, "application/zip")
        names = write(study_of(trial), tmp_path / "written", transport=True)
        with ZipFile(io.BytesIO(reply.body)) as packed:
            assert sorted(packed.namelist()) == [f"clinic/{name}" for name in names]
            for name in (each for each in names if each.endswith(".json") and each != "variables.json"):
                assert rows(packed.read(f"clinic/{name}")) == rows((tmp_path / "written" / name).read_bytes())


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_trial_without_decisions_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: bool) -> None:
    if elsewhere:
        monkeypatch.setattr(log, "LONG", 1)
    with asgi.api(str(tmp_path / "trials.db")) as api:
        made(api)
        reply = Visitor(api, "read-unblinded").get(PAGE)
        assert reply.status == 422
        assert "with decisions" in harmless(reply).text


def test_letters_that_a_transport_file_cannot_hold_leave_it_out(tmp_path: Path) -> None:
    with asgi.api(str(tmp_path / "trials.db")) as api:
        made(api).decide("Zoë")
        with ZipFile(io.BytesIO(Visitor(api, "read-unblinded").get(PAGE).body)) as packed:
            assert "clinic/adsl.json" in packed.namelist()
            assert not [name for name in packed.namelist() if name.endswith(".xpt")]


def test_who_gets_no_button(tmp_path: Path) -> None:
    with asgi.api(str(tmp_path / "trials.db")) as api:
        made(api, decisions="many")
        assert PAGE not in Visitor(api, "read-unblinded").get(LOG).body.decode()
        assert PAGE not in Visitor(api, "read-blinded").get(LOG).body.decode()
        assert Visitor(api, "read-blinded").get(PAGE).status == 403
