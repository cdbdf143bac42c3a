"""The pages of a trial whose clients decide from leases."""

import asgi
from page_visitor import Visitor, harmless
from takeup.live import Trial


def test_log_and_dashboard_tell_of_leases(api: asgi.Api) -> None:
    spec = {**asgi.SPEC, "name": "At the edge", "edge": {"allowed": True}}
    trial = Trial.create(api.store, spec)
    trial.start()
    lease = trial.lease(by="an app")
    proposal = lease.proposals[lease.draw("Ann", None, 0)]
    row = {"unit": "Ann", "context": "morning", "proposal": proposal, "lease": 1, "drawn": lease.issued}
    aside = {**row, "unit": "Bob <b>", "lease": 9}
    trial.ingest("monday", [{**row, "implemented": "tea", "outcome": "good"}, aside], by="an app")
    trial.revoke(1, reason="lost <phone>")
    boss = Visitor(api, "read-unblinded", "design")
    log = harmless(boss.get(f"/app/trials/{trial.id}/log")).text
    for said in (
        "Lease 1 was given",
        "100,000 times at most",
        "under lease 1",
        "Outcome: good",
        "Bob <b>",
        "the trial has given no lease with this number",
        "Rows up to 2 of 2 of the batch monday were taken: 1 decision, 0 reports",
        "Lease 1 was revoked",
        "lost <phone>",
    ):
        assert said in " ".join(log.split()), said
    for kind in ("leased", "revoked", "taken+in", "set+aside"):
        assert boss.get(f"/app/trials/{trial.id}/log?kind={kind}").status == 200
    assert boss.get(f"/app/trials/{trial.id}").status == 200
    blind = harmless(Visitor(api, "read-blinded").get(f"/app/trials/{trial.id}/log")).text
    for said in ("A lease was given", "A lease was revoked", "A part of a batch was taken", "was set aside"):
        assert said in blind
    assert "Bob" not in blind
