"""The operations, a file a subject. The order is that of the look-up: what is asked most often comes first."""

from fastapi.routing import APIRoute

from takeup.service.routes import decisions, health, ingest, keys, leases, log, past, reading, reports, trials

ROUTERS = (
    decisions.router,
    reports.router,
    ingest.router,
    leases.router,
    trials.router,
    past.router,
    reading.router,
    log.router,
    keys.router,
    health.router,
)


def routes() -> list[APIRoute]:
    """All routes."""
    return [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
