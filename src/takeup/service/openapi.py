"""What the service says about itself at /openapi.json."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from takeup.service.problem import Problem
from takeup.trial import TrialSpec
from takeup.version import __version__

TITLE = "takeup"
_TRIAL = "/trials/{trial}"
_DECIDED = ("/trials/{trial}/decisions", "/trials/{trial}/fallbacks")
_REF = "#/components/schemas/{model}"


def describe(app: FastAPI) -> dict[str, Any]:
    """The whole description: FastAPI's, and what FastAPI cannot know."""
    if app.openapi_schema is None:
        found = get_openapi(title=TITLE, version=__version__, routes=app.routes, description=str(app.description))
        components = found.setdefault("components", {})
        schemas = components.setdefault("schemas", {})
        for model in (Problem, TrialSpec):
            schema = model.model_json_schema(ref_template=_REF)
            schemas.update(schema.pop("$defs", {}))
            schemas[model.__name__] = schema
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "description": "An API key."}}
        _link(found["paths"])
        app.openapi_schema = found
    return app.openapi_schema


def _link(paths: dict[str, Any]) -> None:
    """Say what can be asked next, with what an answer has said: OpenAPI's links.

    A trial that was made, moved, decided in or reported to leads to all that can be asked of it, a decision to its
    report and its events, a lease and a key to their ends.
    """
    of_trials = [operation for path, some in paths.items() if path.startswith(_TRIAL) for operation in some.values()]
    for path, status, where in (
        ("/trials", "201", "$response.body#/trial"),
        (f"{_TRIAL}/state", "200", "$response.body#/trial"),
        *((each, "200", "$request.path.trial") for each in _DECIDED),
        (f"{_TRIAL}/reports", "200", "$request.path.trial"),
        (f"{_TRIAL}/leases", "201", "$request.path.trial"),
    ):
        (begun,) = (each for method, each in paths[path].items() if method in ("post", "put"))
        begun["responses"][status]["links"] = {
            each["operationId"]: {"operationId": each["operationId"], "parameters": {"trial": where}}
            for each in of_trials
        }
    lent = paths[f"{_TRIAL}/leases"]["post"]["responses"]["201"]["links"]
    lent[paths[f"{_TRIAL}/leases/{{number}}"]["delete"]["operationId"]]["parameters"]["number"] = (
        "$response.body#/number"
    )
    for path in _DECIDED:
        links = paths[path]["post"]["responses"]["200"]["links"]
        links[paths[f"{_TRIAL}/reports"]["post"]["operationId"]]["requestBody"] = {"decision": "$response.body#/number"}
        links[paths[f"{_TRIAL}/events"]["get"]["operationId"]]["parameters"]["decision"] = "$response.body#/number"
    revoke = paths["/keys/{id}"]["delete"]
    paths["/keys"]["post"]["responses"]["201"]["links"] = {
        revoke["operationId"]: {"operationId": revoke["operationId"], "parameters": {"id": "$response.body#/id"}}
    }
