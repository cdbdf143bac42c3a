"""Steering a trial: start, pause, go on, stop."""

from fastapi import Response

from takeup.errors import InputError
from takeup.service.pages.page import Pages, Visit
from takeup.trial import Move

pages = Pages()


@pages.post("/app/trials/{trial}/state", "design")
async def move(visit: Visit) -> Response:
    """Another state. The end needs a reason, and to be asked for twice."""
    state, reason = visit.form.get("state", ""), visit.form.get("reason") or None
    if state == "stopped" and (reason is None or visit.form.get("sure") != "yes"):
        missing = "Say why the trial is stopped." if reason is None else "Tick the box if you are sure."
        return visit.page("stopping", 422, trial=visit.trial, wrong=missing, reason=reason or "")
    if state not in ("running", "paused", "stopped"):
        raise InputError("state", repr(state)[:100], "running, paused or stopped")
    await visit.service.submit(visit.trial, Move(state=state, reason=reason, by=visit.key.shown))
    return visit.see(f"/app/trials/{visit.trial}")
