"""What the service says about itself at /openapi.json."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from takeup.service.problem import Problem
from takeup.trial import TrialSpec
from takeup.version import __version__

TITLE = "takeup"
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
        app.openapi_schema = found
    return app.openapi_schema
