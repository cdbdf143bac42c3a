"""The service: live trials over HTTP."""

from takeup.errors import MissingExtraError

try:
    import fastapi  # noqa: F401  # says which extra is missing, once, for all modules below
    import prometheus_client  # noqa: F401  # only whether it is there
    import uvicorn  # noqa: F401  # only whether it is there
except ImportError as error:
    raise MissingExtraError(error.name or "fastapi", "server") from None

from takeup.service.app import create_app
from takeup.service.settings import Settings

__all__ = ["Settings", "create_app"]
