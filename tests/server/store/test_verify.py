"""Verifying a store: each change made outside Equipoise is found and named."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import psycopg
import pytest

from experiment.models.baselines import run_baseline
from experiment.study.definition import Study
from server.store import Release, SqliteStore, Store
from server.store.checksums import RESPONSE_COLUMNS, link_response
from server.store.database import SqliteDatabase
from server.store.postgres.store import PostgresDatabase, PostgresStore
from server.store.sql.responses import number_of
from server.store.verify import Verified, verify
from tests.server.store.used_stores import live_in, names
from tests.server.stores import (
    Person,
    address,
    execute_sql,
    problems,
    recruiting,
    reopened,
    rows,
    verified,
    version_of,
)

# Changes made outside Equipoise.


def after(store: Store, *statements: str) -> Verified:
    """Return the problems found after some statements, which are then undone."""
    if isinstance(store, SqliteStore):
        with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
            connection.execute("BEGIN")
            for statement in statements:
                assert connection.execute(statement).rowcount != 0, statement
            return verify(SqliteDatabase(connection))
    with closing(psycopg.connect(address(store))) as connection:
        connection.execute("SET session_replication_role = replica")
        for statement in statements:
            assert connection.execute(statement.encode()).rowcount != 0, statement
        return verify(PostgresDatabase(connection))


LAST_EVENT = (
    "event_index = (SELECT MAX(event_index) FROM events AS all_of_it WHERE all_of_it.study_digest = '{study}') "
    "AND study_digest = '{study}'"
)


DELETE_SESSION = tuple(
    f"DELETE FROM {table} WHERE session = '{{completed}}'" for table in ("responses", "planned_trials", "sessions")
)


DAMAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "an exclusion taken back unseen": (
        "session {excluded}: its exclusion, or the reason, differs",
        ("UPDATE sessions SET excluded_at = NULL, excluded_reason = NULL WHERE session = '{excluded}'",),
    ),
    "a session excluded unseen": (
        "session {completed}: its exclusion, or the reason, differs",
        ("UPDATE sessions SET excluded_at = '2026', excluded_reason = 'x' WHERE session = '{completed}'",),
    ),
    "another reason for an exclusion": (
        "session {excluded}: its exclusion, or the reason, differs",
        ("UPDATE sessions SET excluded_reason = 'x' WHERE session = '{excluded}'",),
    ),
    "the texts of a revision changed": (
        "its definition, texts or items differ from the content that was registered as revision 2",
        ("UPDATE revisions SET texts = '{{}}'",),
    ),
    "a revision that nobody accepted": (
        "revision 3 is present, but not in the log",
        ("UPDATE revisions SET revision = 3",),
    ),
    "a session put to another revision": (
        "session {revised}: its plan, or the end of its responses",
        ("UPDATE sessions SET revision = 1 WHERE session = '{revised}'",),
    ),
    "an answer changed": (
        "session {completed}: the response to trial 1",
        ("UPDATE responses SET response = '\"reflected\"' WHERE session = '{completed}' AND trial_index = 1",),
    ),
    "a response time changed": (
        "session {completed}: the response to trial 0",
        ("UPDATE responses SET rt_ms = rt_ms + 1 WHERE session = '{completed}' AND trial_index = 0",),
    ),
    "the last answer changed": (
        "session {completed}: the response to trial 2",
        ("UPDATE responses SET focus_lost = 0 WHERE session = '{completed}' AND trial_index = 2",),
    ),
    "two answers swapped": (
        "session {completed}: the response to trial",
        (
            "UPDATE responses SET trial_index = 9 WHERE session = '{completed}' AND trial_index = 0",
            "UPDATE responses SET trial_index = 0 WHERE session = '{completed}' AND trial_index = 1",
            "UPDATE responses SET trial_index = 1 WHERE session = '{completed}' AND trial_index = 9",
        ),
    ),
    "an answer in the middle deleted": (
        "session {completed}: 3 responses were acknowledged, but 2 are present",
        ("DELETE FROM responses WHERE session = '{completed}' AND trial_index = 1",),
    ),
    "the last answer deleted": (
        "session {under way}: 2 responses were acknowledged, but 1 are present",
        ("DELETE FROM responses WHERE session = '{under way}' AND trial_index = 1",),
    ),
    "the last answer deleted, and the count put right": (
        "session {under way}: its plan, or the end of its responses",
        (
            "DELETE FROM responses WHERE session = '{under way}' AND trial_index = 1",
            "UPDATE sessions SET n_answered = 1 WHERE session = '{under way}'",
        ),
    ),
    "the last answer deleted, and the session put back to what it was before it": (
        "study {study:.12}...: ",
        (
            "UPDATE sessions SET n_answered = 1, checksum = (SELECT checksum FROM responses WHERE trial_index = 0 "
            "AND session = '{under way}') WHERE session = '{under way}'",
            "DELETE FROM responses WHERE session = '{under way}' AND trial_index = 1",
        ),
    ),
    "a study's totals deleted": (
        "study {study:.12}...: ",
        ("DELETE FROM response_totals WHERE study_digest = '{study}'",),
    ),
    "a panel id changed": (
        "the panel id, or a parameter of the panel id, was changed",
        ("UPDATE identities SET external_id = 'bert' WHERE external_id = 'anna'",),
    ),
    "a panel id given to another participant": (
        "the panel id, or a parameter of the panel id, was changed",
        ("UPDATE identities SET participant = (SELECT participant FROM sessions WHERE session = '{lapsed}')",),
    ),
    "what came with a panel id changed": (
        "the panel id, or a parameter of the panel id, was changed",
        ("UPDATE identities SET parameters = '{{}}'",),
    ),
    "a completion code changed": (
        "session {completed}: the response to trial 0, or data before this response",
        ("UPDATE sessions SET withdrawal_code = 'MINE' WHERE session = '{completed}'",),
    ),
    "the reason of a release changed": (
        "session {excluded}: its status, slot, release",
        ("UPDATE sessions SET release_reason = 'return' WHERE session = '{excluded}'",),
    ),
    "all answers deleted": (
        "session {completed}: 3 responses were acknowledged, but 0 are present",
        ("DELETE FROM responses WHERE session = '{completed}'",),
    ),
    "all answers deleted as if by a withdrawal": (
        "session {completed}",
        (
            "DELETE FROM responses WHERE session = '{completed}'",
            "UPDATE sessions SET status = 'withdrawn', n_answered = 0 WHERE session = '{completed}'",
        ),
    ),
    "an answer added": (
        "session {under way}: 2 responses were acknowledged, but 3 are present",
        (
            "INSERT INTO responses (session, trial_index, attempt, response_id, response, received_at, valid, checksum)"
            " VALUES ('{under way}', 2, 1, 'x', '1', '', 1, '')",
        ),
    ),
    "an answer added after a withdrawal": (
        "session {withdrawn}: 0 responses were acknowledged, but 1 are present",
        (
            "INSERT INTO responses (session, trial_index, attempt, response_id, response, received_at, valid, checksum)"
            " VALUES ('{withdrawn}', 0, 1, 'x', '1', '', 1, '')",
        ),
    ),
    "an answer moved to another session": (
        "session {completed}: 3 responses were acknowledged, but 2 are present",
        ("UPDATE responses SET session = '{withdrawn}' WHERE session = '{completed}' AND trial_index = 2",),
    ),
    "a session deleted": ("session {completed}: it is missing, but in the log", DELETE_SESSION),
    "a session's row deleted": (
        "session {completed}: it is missing, but its responses are present",
        ("DELETE FROM sessions WHERE session = '{completed}'",),
    ),
    "a participant deleted": (
        "session {completed}",
        (
            "DELETE FROM participants WHERE participant IN "
            "(SELECT participant FROM sessions WHERE session = '{completed}')",
        ),
    ),
    "a session added": (
        "session added: it is present, but not in the log",
        (
            "INSERT INTO participants (participant, kind) VALUES ('p-added', 'human')",
            'INSERT INTO sessions (session, participant, study_digest, battery_digest, "group", seed, source, status, '
            "started_at, n_trials, slot, n_answered, checksum) "
            "SELECT 'added', 'p-added', study_digest, battery_digest, \"group\", 99, source, status, started_at, 0, "
            "'released', 0, '' FROM sessions WHERE session = '{completed}'",
            "UPDATE slots SET n_begun = n_begun + 1 WHERE study_digest = '{study}' AND kind = 'human' "
            'AND "group" = (SELECT "group" FROM sessions WHERE session = \'{completed}\')',
        ),
    ),
    "a session put into another group": (
        "session {completed}",
        ('UPDATE sessions SET "group" = "group" % 3 + 1 WHERE session = \'{completed}\'',),
    ),
    "a person made simulated": (
        "session {completed}",
        (
            "UPDATE participants SET kind = 'simulated' WHERE participant IN "
            "(SELECT participant FROM sessions WHERE session = '{completed}')",
        ),
    ),
    "a session completed that was not": (
        "session {under way}: it is completed, but only 2 of 3 responses",
        ("UPDATE sessions SET status = 'completed' WHERE session = '{under way}'",),
    ),
    "a plan changed": (
        "session {lapsed}: its plan",
        (
            "UPDATE planned_trials SET item_id = "
            "(SELECT MAX(item_id) FROM planned_trials AS p WHERE p.session = '{lapsed}' AND p.trial_index = 1) "
            "WHERE session = '{lapsed}' AND trial_index = 2",
        ),
    ),
    "a plan's phase changed": (
        "session {completed}: the response to trial 0, or data before this response",
        ("UPDATE planned_trials SET phase = 'test' WHERE session = '{completed}' AND trial_index = 0",),
    ),
    "a plan changed in a session that was withdrawn": (
        "session {withdrawn}",
        ("UPDATE planned_trials SET phase = 'test' WHERE session = '{withdrawn}' AND trial_index = 0",),
    ),
    "a planned trial deleted": (
        "session {completed}: 3 trials were planned, but 2 are present",
        ("DELETE FROM planned_trials WHERE session = '{completed}' AND trial_index = 2",),
    ),
    "a plan deleted": (
        "session {lapsed}: 3 trials were planned, but 0 are present",
        ("DELETE FROM planned_trials WHERE session = '{lapsed}'",),
    ),
    "an item's key changed": (
        "its definition, texts or items",
        ("UPDATE items SET key = '\"absorbed by nothing\"' WHERE item_id = '{item}'",),
    ),
    "an item's factors changed": (
        "its definition, texts or items",
        ("UPDATE items SET factors = '{{}}' WHERE item_id = '{item}'",),
    ),
    "an item deleted": ("its definition, texts or items", ("DELETE FROM items WHERE item_id = '{item}'",)),
    "an item added": (
        "its definition, texts or items",
        (
            "INSERT INTO items (battery_digest, item_id, task, factors, content, key) "
            "SELECT battery_digest, 'added', task, factors, content, key FROM items WHERE item_id = '{item}'",
        ),
    ),
    "a definition changed": (
        "study {study:.12}...: its definition, texts or items",
        ("UPDATE studies SET definition = REPLACE(definition, '2000', '1') WHERE study_digest = '{study}'",),
    ),
    "a definition made unreadable": (
        "study {study:.12}",
        ("UPDATE studies SET definition = 'lost' WHERE study_digest = '{study}'",),
    ),
    "a text changed": (
        "study {study:.12}...: its definition, texts or items",
        ("UPDATE studies SET texts = REPLACE(texts, 'you', 'they') WHERE study_digest = '{study}'",),
    ),
    "a definition deleted": (
        "study {study:.12}",
        ("DELETE FROM studies WHERE study_digest = '{study}'",),
    ),
    "a log entry changed": (
        "study {study:.12}...: entry 3 of the log",
        ("UPDATE events SET details = '{{}}' WHERE event_index = 3 AND study_digest = '{study}'",),
    ),
    "a log entry's time changed": (
        "study {study:.12}...: entry 2 of the log",
        ("UPDATE events SET at = '2020' WHERE event_index = 2 AND study_digest = '{study}'",),
    ),
    "a log entry deleted": (
        "study {study:.12}...: entry 2 of the log",
        ("DELETE FROM events WHERE event_index = 2 AND study_digest = '{study}'",),
    ),
    "the first log entry deleted": (
        "study {study:.12}...: entry 0 of the log",
        ("DELETE FROM events WHERE event_index = 0 AND study_digest = '{study}'",),
    ),
    "the last log entry deleted": (
        "study {study:.12}...: entries are missing at the end of the log",
        (f"DELETE FROM events WHERE {LAST_EVENT}",),
    ),
    "the last log entry deleted, and the count put right": (
        "study {study:.12}...: entries are missing at the end of the log",
        (
            f"DELETE FROM events WHERE {LAST_EVENT}",
            "UPDATE logs SET n_events = n_events - 1 WHERE study_digest = '{study}'",
        ),
    ),
    "a whole log deleted": (
        "study {study:.12}",
        ("DELETE FROM events WHERE study_digest = '{study}'", "DELETE FROM logs WHERE study_digest = '{study}'"),
    ),
    "a count of places changed": (
        "the numbers of slots and sessions differ",
        ("UPDATE slots SET n_confirmed = n_confirmed + 1 WHERE kind = 'human' AND \"group\" = 1",),
    ),
    "a count of sessions begun changed": (
        "the numbers of slots and sessions differ",
        ("UPDATE slots SET n_begun = n_begun - 1 WHERE kind = 'human' AND \"group\" = 1",),
    ),
    "a group's counts deleted": (
        "study {study:.12}..., group 1",
        ("DELETE FROM slots WHERE study_digest = '{study}' AND kind = 'human' AND \"group\" = 1",),
    ),
    "a group closed": (
        "study {study:.12}..., group 1: it is closed, but the log says the opposite",
        ("UPDATE slots SET is_open = 0 WHERE study_digest = '{study}' AND kind = 'human' AND \"group\" = 1",),
    ),
    "the digest of a content changed": (
        "study {study:.12}...: the digest of its content",
        ("UPDATE studies SET content_digest = 'another' WHERE study_digest = '{study}'",),
    ),
    "a place given back": (
        "the numbers of slots and sessions differ",
        ("UPDATE sessions SET slot = 'confirmed' WHERE session = '{excluded}'",),
    ),
    "a model's answer changed": (
        "session {run}: the response to trial 4",
        ("UPDATE responses SET response = '\"reflected\"' WHERE session = '{run}' AND trial_index = 4",),
    ),
    "a model's text changed": (
        "session {run}: the response to trial 1",
        ("UPDATE responses SET text = 'I saw nothing' WHERE session = '{run}' AND trial_index = 1",),
    ),
    "a model's run given to another model": (
        "session {run}",
        ("UPDATE runs SET model = 'another' WHERE session = '{run}'",),
    ),
    "a model's run that nobody made": ("session {run}", ("DELETE FROM runs WHERE session = '{run}'",)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_changes_outside_equipoise_are_found_and_named(lived_in: tuple[Store, dict[str, Person]], damage: str) -> None:
    store, people = lived_in
    expected, statements = DAMAGES[damage]
    known = names(store, people)
    found = after(store, *(statement.format(**known) for statement in statements))
    assert any(expected.format(**known) in problem for problem in found.problems), found.problems


@pytest.mark.parametrize("damage", DAMAGES)
def test_only_changed_sessions_are_reported(lived_in: tuple[Store, dict[str, Person]], damage: str) -> None:
    store, people = lived_in
    known = names(store, people)
    statements = [statement.format(**known) for statement in DAMAGES[damage][1]]
    if " log" in damage:  # With a gap in the log, the sessions of its study are unknown.
        innocent = {people["later"].session}
    else:
        innocent = {person.session for person in people.values() if not any(person.session in s for s in statements)}
    found = after(store, *statements)
    assert [problem for problem in found.problems if any(session in problem for session in innocent)] == []


SHOWN: dict[str, str] = {
    "study": "UPDATE studies SET study = 'another' WHERE study_digest = '{study}'",
    "study_version": "UPDATE studies SET version = '7' WHERE study_digest = '{study}'",
    "battery": "UPDATE sessions SET battery_digest = 'another' WHERE session = '{completed}'",
    "session": "UPDATE planned_trials SET session = '{lapsed}', trial_index = 3 + trial_index "
    "WHERE session = '{completed}'",
    "participant": "UPDATE sessions SET participant = (SELECT participant FROM sessions AS s WHERE s.session = "
    "'{lapsed}') WHERE session = '{completed}'",
    "kind": "UPDATE participants SET kind = 'human' WHERE kind = 'simulated'",
    "source": "UPDATE sessions SET source = 'lab' WHERE session = '{completed}'",
    "status": "UPDATE sessions SET status = 'active' WHERE session = '{completed}'",
    "group": "UPDATE sessions SET \"group\" = 1 + \"group\" WHERE session = '{completed}'",
    "seed": "UPDATE sessions SET seed = 77 WHERE session = '{completed}'",
    "session_number": "UPDATE sessions SET session_number = 2 WHERE session = '{completed}'",
    "study_revision": "UPDATE sessions SET revision = 2 WHERE session = '{completed}'",
    "excluded_at": "UPDATE sessions SET excluded_at = '2026' WHERE session = '{excluded}'",
    "excluded_reason": "UPDATE sessions SET excluded_reason = NULL WHERE session = '{excluded}'",
    "started_at": "UPDATE sessions SET started_at = '2020-01-01T00:00:00.000+00:00' WHERE session = '{completed}'",
    "completed_at": "UPDATE sessions SET completed_at = '2020-01-01T00:00:00.000+00:00' WHERE session = '{completed}'",
    "trial_index": "UPDATE planned_trials SET trial_index = 5 WHERE session = '{completed}' AND trial_index = 1",
    "phase": "UPDATE planned_trials SET phase = 'practice' WHERE session = '{completed}' AND trial_index = 1",
    "item_id": "UPDATE planned_trials SET item_id = 'x' WHERE session = '{completed}' AND trial_index = 1",
    **{
        name: f"UPDATE items SET {name} = '1' WHERE item_id = '{{item}}'"
        for name in ("task", "factors", "content", "key")
    },
    **{
        name: f"UPDATE responses SET {name} = {value} WHERE session = '{{completed}}' AND trial_index = 1"
        for name, value in {
            "response": "'1'", "rt_ms": "7", "fixation_ms": "7", "fixation_frames": "7", "shown_at": "'1'",
            "received_at": "'1'", "frames_dropped": "7", "focus_lost": "7", "attempt": "7", "valid": "0",
            "imported_correct": "1", "fixation_frames_intended": "7", "frame_ms": "7", "onset_source": "'painted'",
            "visit": "7", "input": "'pen'", "missing": "'deadline'", "signals": "'1'", "jspsych": "'1'",
            "reading_rule": "'json'", "stop_reason": "'length'", "input_tokens": "7", "output_tokens": "7",
            "presentation": "'1'", "confidence": "7", "confidence_rt_ms": "7",
        }.items()
    },
    **{
        name: f"UPDATE runs SET {name} = {value} WHERE session = '{{run}}'"
        for name, value in {
            "model": "'x'", "model_version": "'x'", "temperature": "0.7", "run": "'x'", "prompt_digest": "'x'",
        }.items()
    },
    "device": "UPDATE visits SET device = '{{\"pacing\": \"clock\"}}' WHERE session = '{completed}'",
    "run_parameters": "UPDATE runs SET parameters = '{{\"epoch\": 2}}' WHERE session = '{run}'",
}  # fmt: skip
"""For each column of the view `trials`, a statement that changes the column."""


def test_every_column_of_the_view_is_tested(lived_in: tuple[Store, dict[str, Person]]) -> None:
    assert set(lived_in[0].trials()[0]) == set(SHOWN)


@pytest.mark.parametrize("column", SHOWN)
def test_a_change_of_any_analyzed_column_is_detected(lived_in: tuple[Store, dict[str, Person]], column: str) -> None:
    """Each change is reported as a problem, or at least changes the digest."""
    store, people = lived_in
    before = verified(store)
    found = after(store, SHOWN[column].format(**names(store, people)))
    is_seen = bool(found.problems) or found.digest != before.digest
    assert is_seen


def test_a_withdrawal_passes_the_checks(any_store: Store, small_study: Study) -> None:
    any_store.register_study(small_study)
    people = [Person(any_store, small_study) for _ in range(4)]
    people[0].withdraw()
    people[1].answer()
    people[1].withdraw()
    people[2].complete().withdraw()
    found = verified(any_store)
    assert (found.problems, found.n_sessions, found.n_responses) == ([], 4, 0)


def test_all_responses_are_counted_during_the_check(lived_in: tuple[Store, dict[str, Person]]) -> None:
    store, _ = lived_in
    counts: list[int] = []
    with store.snapshot() as db:
        found = verify(db, counts.append)
    assert rows(store, "SELECT COUNT(*) FROM responses") == [(found.n_responses,)]
    assert rows(store, "SELECT COUNT(*) FROM sessions") == [(found.n_sessions,)]
    assert sum(counts) == found.n_responses


# The digest.


def test_the_digest_changes_only_with_the_data(any_store: Store, small_study: Study) -> None:
    store, study = any_store, recruiting(small_study, quota=50)
    seen = [verified(store).digest]

    def changes(job: Callable[[], Any]) -> Any:
        outcome = job()
        seen.append(verified(store).digest)
        return outcome

    changes(lambda: store.register_study(study))
    person = changes(lambda: Person(store, study))
    changes(person.answer)
    changes(person.answer)
    changes(person.complete)
    changes(lambda: store.release_slot(person.session, Release.RETURN))
    changes(lambda: store.open_group(study, 1, is_open=False))
    changes(lambda: store.add_runs(study, [run_baseline(study, "baseline/tracer")]))
    changes(lambda: store.register_study(version_of(study, "1.1")))
    changes(person.withdraw)
    assert len(set(seen)) == len(seen)
    for job in (
        lambda: store.register_study(study),
        person.withdraw,
        lambda: store.add_runs(study, [run_baseline(study, "baseline/tracer")]),
        lambda: store.delete_identities(study),
        store.trials,
        store.check,
    ):
        job()
        assert verified(store).digest == seen[-1]
    with closing(reopened(store)) as again:
        assert verified(again).digest == seen[-1]


def test_a_chain_with_new_checksums_changes_the_digest(store: SqliteStore, small_study: Study) -> None:
    """If a response, all later checksums and the totals are rewritten, only the digest shows the change."""
    store.register_study(small_study)
    person = Person(store, small_study).complete()
    before = verified(store)
    (first,) = rows(store, "SELECT checksum FROM responses WHERE trial_index = 0")
    changed, checksum = [], first[0]
    for *values, _ in rows(
        store,
        f"SELECT {', '.join(RESPONSE_COLUMNS)}, checksum FROM responses WHERE trial_index > 0 ORDER BY trial_index",
    ):
        values[RESPONSE_COLUMNS.index("response")] = json.dumps("reflected")
        checksum = link_response(checksum, values)
        changed.append((values[1], checksum))
    execute_sql(
        store,
        *(
            f"UPDATE responses SET response = '\"reflected\"', checksum = '{end}' WHERE trial_index = {index}"
            for index, end in changed
        ),
        f"UPDATE sessions SET checksum = '{checksum}' WHERE session = '{person.session}'",
    )
    (problem,) = problems(store)
    assert "its responses differ from the responses that were stored" in problem
    execute_sql(
        store,
        "DELETE FROM response_totals",
        f"INSERT INTO response_totals VALUES ('{small_study.digest}', 0, 3, "
        f"{sum(number_of(one) for (one,) in rows(store, 'SELECT checksum FROM responses'))})",
    )
    found = verified(store)
    assert found.problems == []
    assert found.digest != before.digest


def test_the_same_events_give_the_same_chains_in_both_stores(
    postgres_store: PostgresStore, store: SqliteStore, small_study: Study
) -> None:
    """Random names and times are replaced, so that digests of different stores can be compared."""
    for one in (postgres_store, store):
        live_in(one, small_study)
    ends = [
        [
            (event, json.loads(details).keys())
            for event, details in rows(one, "SELECT event, details FROM events ORDER BY study_digest, event_index")
        ]
        for one in (postgres_store, store)
    ]
    assert ends[0] == ends[1]
    shapes = [
        sorted(rows(one, "SELECT status, slot, n_answered, LENGTH(checksum) FROM sessions"), key=repr)
        for one in (postgres_store, store)
    ]
    assert shapes[0] == shapes[1]
