"""What was broken into before, and stays closed: the tests that hold the cause of each row of docs/reliability.md."""

import os
import re
import subprocess
import sys
from pathlib import Path

from gates.gate import Found, Gate, Run
from gates.scene import defective

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reliability.md"

ATTACKS: dict[str, tuple[str, ...]] = {
    "a Cookie header of 200 kB": ("service_process::heads_without_end_are_refused_and_others_are_served",),
    "150 MB of headers, or an address of 60 MB": (
        "service_connections::a_head_without_end_is_refused_as_it_comes",
        "service_process::heads_without_end_are_refused_and_others_are_served",
    ),
    "1,200 silent connections, 1,024 files allowed": (
        "service_process::silent_connections_keep_nobody_out",
        "service_crowding::a_full_house_makes_room_for_those_who_ask",
    ),
    "100 heads or 100 bodies at a byte a second": (
        "service_connections::who_lets_the_service_wait_is_cut_off",
        "service_connections::a_body_is_waited_for_as_long_as_it_comes",
    ),
    "50 clients that never read their answers": ("service_connections::who_never_reads_is_cut_off",),
    "a connection that is used again after 6.5 s": (
        "service_connections::connections_stay_open_for_as_long_as_proxies_assume",
    ),
    "a client that goes away in the middle of its body": (
        "service_bodies::a_client_that_goes_away_is_no_error_of_the_service",
    ),
    "JSON of 536 kB with a key twice": ("service_hostile::hostile_bodies_are_refused_and_leave_no_trace",),
    "TOML `a.a.a..=1` of 100 kB": ("service_hostile::toml_that_takes_long_is_refused_before_it_is_read",),
    "20 batches of 7 MB at once, all of them invalid": (
        "service_hostile::the_first_error_of_a_batch_ends_its_validation",
        "service_hostile::large_bodies_are_read_beside_the_loop_one_at_a_time",
        "service_bodies::large_bodies_share_a_bounded_room",
    ),
    '`TSLat(inference="gibbs")` with so many sweeps that a decision takes minutes': (
        "trial_run::what_could_not_decide_is_refused_at_creation",
        "store_deadlines::a_policy_that_goes_wrong_pauses_its_trial_and_no_other",
    ),
    "`TSObs(alpha=1e-320)`: NaN inside": (
        "trial_run::numbers_that_are_no_probabilities_never_become_a_proposal",
        "trial_run::draws_that_are_not_numbers_are_no_reason_to_propose_the_first_arm",
    ),
    "texts, lists, null, 2⁶², 10³⁰⁸ as parameters": (
        "policy_contract::bad_parameters_are_refused_before_anything_runs",
        "trial_run::so_are_numbers_beside_the_policy",
    ),
    "a writer that hangs": (
        "store_deadlines::a_writer_that_hangs_is_killed_and_replaced",
        "store_deadlines::a_store_whose_writer_hangs_can_be_closed",
        "service_ready::a_writer_that_hangs_shows",
    ),
    "a writer that was stopped, under a service that was killed": ("store_writer_process::it_ends_with_whoever_asks",),
    "one inserted row with a count of zero": (
        "trial_audit_database::a_row_that_no_log_leads_to_is_found_and_never_loaded",
        "trial_audit_database::whoever_would_use_a_row_that_cannot_be_is_refused",
    ),
    "a deleted trial": ("trial_audit_database::a_trial_that_was_deleted_is_missed",),
    "triggers, tables, columns, views, rows of no trial": (
        "trial_audit_database::whatever_is_not_takeups_is_found_by_audit_and_doctor",
        "trial_audit_database::rows_of_a_trial_that_is_not_there_are_found",
    ),
    "half a line at the end of the anchors": ("trial_anchors::a_line_that_a_crash_cut_off_is_cut_away",),
    "the file deleted under a service, 547 requests": (
        "store_file::nothing_is_acknowledged_that_is_not_in_the_file",
        "store_file::the_service_is_not_ready_any_more",
    ),
    "whoever reads the machine's files": (
        "store_secrets::a_database_and_its_log_are_for_their_owner_alone",
        "store_secrets::a_database_that_others_may_read_is_a_problem",
        "trial_anchors::anchors_that_others_may_read_are_warned_of",
    ),
    "asking again for 60 units of others": (
        "service_blinding::asking_again_for_the_units_of_others_tells_no_arm_and_is_logged",
        "service_blinding::no_other_way_to_ask_tells_either",
    ),
    "guessing in reports": (
        "service_blinding::guessing_in_reports_tells_neither_action_nor_outcome",
        "service_blinding::nothing_that_a_blinded_key_sees_depends_on_whether_its_guess_was_right",
    ),
    "a seed of one's own": (
        "service_blinding::a_seed_that_somebody_chose_is_refused_or_told_of",
        "trial_trust::a_seed_is_for_rehearsals_alone_and_is_told_of",
    ),
    "fallbacks of one's own choice: 300 while it runs, 300 after the end": (
        "service_blinding::fallbacks_are_limited_and_shown",
        "trial_trust::fallbacks_are_taken_for_some_time_and_so_many_a_day",
    ),
    "without a key, four addresses: 2,000 requests that are answered 401 and never send their bodies": (
        "service_crowding::who_was_answered_and_owes_the_rest_goes_first",
        "service_connections::the_rest_of_a_body_that_was_answered_has_little_time",
    ),
    "without a key, over TLS: as many silent connections as there is room for": (
        "service_tls::who_is_silent_instead_of_agreeing_on_tls_keeps_nobody_out",
        "service_tls::the_silent_of_one_address_make_room_for_its_others",
    ),
    "a key that is revoked while it sends a batch as slowly as it may": (
        "service_keys::a_key_that_is_revoked_while_a_body_comes_is_not_let_in",
    ),
    "an admin's key of one trial: keys without end": ("service_keys::keys_that_are_made_all_the_time_keep_nobody_out",),
    "a reader's key: 16 audits at once": (
        "service_long_jobs::audits_and_exports_wait_for_their_turn",
        "service_long_jobs::who_waits_too_long_for_its_turn_is_told",
    ),
    "a key that decides: 8 batches of 10,000 units at once": (
        "store_queue::a_rush_in_one_trial_keeps_others_waiting_for_one_transaction",
        "store_queue::a_large_batch_has_a_transaction_for_itself",
    ),
    "a key that reports: 8 batches of 10,000 reports at once": (
        "service_api::a_batch_of_reports_leaves_room_for_others",
    ),
    "many proposals of which some are known well and others hardly": (
        "allocation::no_integral_is_computed_where_it_would_not_be_used",
        "trial_run::so_are_draws_that_take_long",
    ),
    "clients who leave with requests on their way": (
        "service_connections::who_leaves_with_requests_ahead_is_not_answered",
    ),
    "indexes of SQLite that differ from their table": (
        "trial_audit_database::an_index_of_sqlite_that_says_something_else_than_its_table_is_found",
    ),
    "a trigger that has a name of SQLite's own": (
        "trial_audit_database::whatever_is_not_takeups_is_found_by_audit_and_doctor",
        "trial_audit_database::what_sqlite_makes_by_itself_is_no_difference",
    ),
    "anchors that are deleted under a service": ("trial_anchors::anchors_that_were_moved_away_hold_nothing",),
    "guessing a colleague's report under its idempotency key": (
        "service_blinding::the_key_of_a_report_is_answered_to_its_maker_alone",
    ),
}
"""By the words of the page, the tests: a file of tests and a test in it, without the `test_` of both."""


def rows() -> list[str]:
    """The attacks that the page tells of."""
    told = PAGE.read_text().partition("### What was broken into")[2].partition("\n### ")[0]
    cells = [line.split("|")[1].strip() for line in told.splitlines() if line.startswith("|")]
    return [cell for cell in cells if cell != "attack" and not cell.startswith(("**", "-"))]


def held_by(attack: str) -> list[str]:
    """Its tests, as pytest is told."""
    parts = (each.split("::") for each in ATTACKS[attack])
    return [f"tests/test_{file}.py::test_{test}" for file, test in parts]


def ran(run: Run, attacks: list[str], environment: dict[str, str]) -> Found:
    """Whether the tests of these attacks pass."""
    wanted = list(dict.fromkeys(test for attack in attacks for test in held_by(attack)))
    command = [sys.executable, "-m", "pytest", "--numprocesses=0", "--durations=0", "-p", "no:cacheprovider"]
    command += ["--assert=plain", f"--basetemp={run.folder / 'pytest'}", *wanted]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        raise RuntimeError((done.stdout + done.stderr)[-2_000:])
    last = done.stdout.strip().rpartition("\n")[2]
    counted = {word: number for number, word in re.findall(r"(\d+) (passed|failed|errors?|skipped)", last)}
    words = ", ".join(f"{number} {word}" for word, number in counted.items())
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.M)
    figures = f"{len(attacks)} attacks, {len(wanted)} tests and their cases: {words}"
    return Found(done.returncode == 0, f"{figures}; the first that failed: {failed[0]}" if failed else figures)


def closed(run: Run) -> Found:
    """All of them; fewer where fewer are asked for."""
    return ran(run, rows()[: run.times], {})


def open_again(run: Run) -> Found:
    """Connections that do nothing are left alone."""
    return ran(run, ["1,200 silent connections, 1,024 files allowed"], defective("roomless"))


GATES = (
    Gate(
        name="broken-into",
        part="attacks",
        shows="every attack that [once succeeded](reliability.md#what-was-broken-into): the tests of the cause of each",
        unit="attacks",
        times=len(ATTACKS),
        suite=0,
        run=closed,
        without="making room for those who ask",
        control=open_again,
    ),
)
