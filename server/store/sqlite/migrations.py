"""Tables of the SQLite store, as named, ordered migrations.

The main tables are `studies`, `batteries`, `items`, `participants`, `sessions` and `runs`. Panel ids are in a separate
table, `identities`, and researchers' accounts in the table `accounts`. Further tables have the planned trials, the
responses, the slots in the groups, and the log of decisions. Times are UTC, ISO 8601. Responses, contents of items and
answer keys are JSON texts.
"""

import json

from batteries.store_format import KNOWN_MIGRATIONS
from server.store.checksums import FIRST_FIXED, N_FIRST_COLUMNS, RESPONSE_COLUMNS, link
from server.store.database import SqliteDatabase
from server.store.sql import identities, responses, sessions
from server.store.sql.assignment_log import lock_log
from server.store.sql.session_rows import beginning
from server.store.sql.studies import add_content_digests, content_checksum
from server.store.sqlite.sqlite_utils_alone import Database, Migrations
from server.store.tables import TRIALS

migrations = Migrations("equipoise")

COLUMNS_OF_M002 = RESPONSE_COLUMNS[:N_FIRST_COLUMNS]


@migrations()
def m001_studies_sessions_responses(db: Database) -> None:
    """The first schema."""
    db.table("studies").create(
        {"study_digest": str, "study": str, "version": str, "battery_digest": str, "definition": str, "texts": str,
         "registered_at": str},
        pk="study_digest", not_null={"study", "version", "battery_digest", "definition"}, strict=True,
    )  # fmt: skip
    db.table("items").create(
        {"battery_digest": str, "item_id": str, "task": str, "factors": str, "content": str, "key": str},
        pk=("battery_digest", "item_id"), not_null={"task", "factors", "content", "key"}, strict=True,
    )  # fmt: skip
    db.table("participants").create({"participant": str, "kind": str}, pk="participant", not_null={"kind"}, strict=True)
    db.table("sessions").create(
        {"session": str, "participant": str, "study_digest": str, "battery_digest": str, "group": int, "seed": int,
         "source": str, "status": str, "started_at": str, "completed_at": str, "consent_digest": str,
         "token_digest": str, "start_id": str, "completion_code": str, "n_trials": int},
        pk="session", not_null={"participant", "study_digest", "battery_digest", "source", "status", "started_at"},
        foreign_keys=[("participant", "participants", "participant"), ("study_digest", "studies", "study_digest")],
        strict=True,
    )  # fmt: skip
    db.table("sessions").create_index(["token_digest"], unique=True)
    db.table("sessions").create_index(["start_id"], unique=True)
    db.table("runs").create(
        {"session": str, "run": str, "model": str, "model_version": str, "temperature": float, "prompt_digest": str,
         "parameters": str},
        pk="session", not_null={"run", "model", "model_version"}, foreign_keys=[("session", "sessions", "session")],
        strict=True,
    )  # fmt: skip
    db.table("runs").create_index(["run"], unique=True)
    db.table("planned_trials").create(
        {"session": str, "trial_index": int, "phase": str, "item_id": str},
        pk=("session", "trial_index"), not_null={"phase", "item_id"},
        foreign_keys=[("session", "sessions", "session")], strict=True,
    )  # fmt: skip
    db.table("responses").create(
        {"response_id": str, "session": str, "trial_index": int, "attempt": int, "response": str, "rt_ms": float,
         "fixation_ms": float, "fixation_frames": int, "shown_at": str, "received_at": str, "frames_dropped": int,
         "focus_lost": int, "valid": int, "text": str, "imported_correct": int},
        pk="response_id", not_null={"session", "trial_index", "attempt", "response", "received_at", "valid"},
        foreign_keys=[("session", "sessions", "session")], strict=True,
    )  # fmt: skip
    db.table("responses").create_index(["session", "trial_index", "attempt"], unique=True)


@migrations()
def m002_places_and_checksums(db: Database) -> None:
    """Add the slots of groups, the log of decisions, panel ids and checksum chains. Order the responses by session."""
    for column, kind in {
        "place": str, "release_reason": str, "seen_at": str, "n_answered": int, "checksum": str,
    }.items():  # fmt: skip
        db.table("sessions").add_column(column, kind)
    db.table("sessions").create_index(["study_digest", "place", "seen_at"])
    db.table("sessions").create_index(["participant"])
    db.table("places").create(
        {"study_digest": str, "kind": str, "group": int, "n_begun": int, "n_reserved": int, "n_confirmed": int,
         "is_open": int},
        pk=("study_digest", "kind", "group"), not_null={"n_begun", "n_reserved", "n_confirmed", "is_open"},
        foreign_keys=[("study_digest", "studies", "study_digest")], strict=True,
    )  # fmt: skip
    db.table("logs").create(
        {"study_digest": str, "n_events": int, "checksum": str}, pk="study_digest",
        not_null={"n_events", "checksum"}, foreign_keys=[("study_digest", "studies", "study_digest")], strict=True,
    )  # fmt: skip
    db.table("events").create(
        {"study_digest": str, "event_index": int, "at": str, "event": str, "session": str, "details": str,
         "checksum": str},
        pk=("study_digest", "event_index"), not_null={"at", "event", "details", "checksum"},
        foreign_keys=[("study_digest", "studies", "study_digest")], strict=True,
    )  # fmt: skip
    db.table("identities").create(
        {"study": str, "source": str, "external_id": str, "participant": str, "parameters": str, "created_at": str},
        pk=("study", "source", "external_id"), not_null={"participant", "parameters", "created_at"},
        foreign_keys=[("participant", "participants", "participant")], strict=True,
    )  # fmt: skip
    db.table("identities").create_index(["participant"])
    _keep_responses_by_session(db)
    _chain_what_is_there(SqliteDatabase(db.conn))


def _keep_responses_by_session(db: Database) -> None:
    """Store the responses as one tree in the order of sessions, so that a new response changes one page of the file."""
    db.execute("DROP VIEW IF EXISTS trials")
    db.execute(
        """
        CREATE TABLE responses_by_session (
          session TEXT NOT NULL REFERENCES sessions(session), trial_index INTEGER NOT NULL, attempt INTEGER NOT NULL,
          response_id TEXT NOT NULL, response TEXT NOT NULL, rt_ms REAL, fixation_ms REAL, fixation_frames INTEGER,
          fixation_frames_intended INTEGER, frame_ms REAL, shown_at TEXT, onset_source TEXT, received_at TEXT NOT NULL,
          frames_dropped INTEGER, focus_lost INTEGER, valid INTEGER NOT NULL, text TEXT,
          imported_correct INTEGER, checksum TEXT NOT NULL,
          PRIMARY KEY (session, trial_index, attempt)
        ) STRICT, WITHOUT ROWID
        """
    )
    before = {column.name for column in db.table("responses").columns}
    columns = ", ".join(column for column in COLUMNS_OF_M002 if column in before)
    db.execute(f"INSERT INTO responses_by_session ({columns}, checksum) SELECT {columns}, '' FROM responses")
    db.execute("DROP TABLE responses")
    db.execute("ALTER TABLE responses_by_session RENAME TO responses")


def _chain_what_is_there(db: SqliteDatabase) -> None:
    """Give slots and checksums to the sessions from before this migration."""
    for study_digest, definition in db.execute("SELECT study_digest, definition FROM studies").fetchall():
        db.execute("INSERT INTO logs (study_digest, n_events, checksum) VALUES (?, 0, '')", (study_digest,))
        db.insert(
            "places",
            ("study_digest", "kind", "group", "n_begun", "n_reserved", "n_confirmed", "is_open"),
            [
                (study_digest, kind, group, 0, 0, 0, 1)
                for kind in ("human", "simulated")
                for group in range(1, json.loads(definition)["design"]["groups"] + 1)
            ],
        )
    sessions = db.execute(
        'SELECT session, kind, study_digest, "group", status, started_at, completed_at '
        "FROM sessions JOIN participants USING (participant)"
    ).fetchall()
    begun: dict[str, dict[str, list[str | None]]] = {}
    for session, kind, study_digest, group, status, started_at, completed_at in sessions:
        n_answered, checksum = _chain_answers(db, session)
        slot = None if kind == "model" else _SLOT_BEFORE_LOG[status]
        db.execute(
            "UPDATE sessions SET n_answered = ?, checksum = ?, place = ?, release_reason = ?, seen_at = ? "
            "WHERE session = ?",
            (n_answered, checksum, slot, "withdrawal" if slot == "released" else None, started_at, session),
        )
        if slot is not None:
            begun.setdefault(study_digest, {})[session] = [status, completed_at, slot]
            db.execute(
                "UPDATE places SET n_begun = n_begun + 1, n_reserved = n_reserved + ?, n_confirmed = n_confirmed + ? "
                'WHERE study_digest = ? AND kind = ? AND "group" = ?',
                (slot == "reserved", slot == "confirmed", study_digest, kind, group),
            )
    for (study_digest,) in db.execute("SELECT study_digest FROM logs").fetchall():
        log = lock_log(db, study_digest)
        log.write("registered", content=content_checksum(db, study_digest))
        log.write("begun before this log", sessions=begun.get(study_digest, {}))
        for session, run in db.execute(
            "SELECT session, run FROM runs JOIN sessions USING (session) WHERE study_digest = ?", (study_digest,)
        ).fetchall():
            log.write("run added", session, run=run)


_SLOT_BEFORE_LOG = {"active": "reserved", "completed": "confirmed", "withdrawn": "released"}


def _chain_answers(db: SqliteDatabase, session: str) -> tuple[int, str]:
    """Write the checksums of a session's responses. Return the number of responses and the last checksum."""
    checksum = beginning(db, session, FIRST_FIXED)
    rows = db.execute(
        f"SELECT {', '.join(COLUMNS_OF_M002)} FROM responses WHERE session = ? ORDER BY trial_index, attempt",
        (session,),
    ).fetchall()
    for row in rows:
        checksum = link(checksum, row)
        db.execute(
            "UPDATE responses SET checksum = ? WHERE session = ? AND trial_index = ? AND attempt = ?",
            (checksum, *row[:3]),
        )
    return len(rows), checksum


@migrations()
def m003_visits_signals_demographics(db: Database) -> None:
    """Add the table of visits, the answers to demographic questions, and columns of responses, such as `input`."""
    for column, kind in {"visit": int, "input": str, "missing": str, "signals": str, "jspsych": str}.items():
        db.table("responses").add_column(column, kind)
    db.table("sessions").add_column("demographics", str)
    db.table("visits").create(
        {"session": str, "visit": int, "visit_id": str, "at": str, "next_trial_index": int, "device": str},
        pk=("session", "visit"), not_null={"visit_id", "at", "next_trial_index"},
        foreign_keys=[("session", "sessions", "session")], strict=True,
    )  # fmt: skip
    db.execute("DROP VIEW IF EXISTS trials")
    db.create_view("trials", TRIALS)


@migrations()
def m004_timing_of_every_answer(db: Database) -> None:
    """Add the columns for the timing of responses, if the store does not have these columns."""
    before = {column.name for column in db.table("responses").columns}
    db.execute("DROP VIEW trials")
    for column, kind in {"fixation_frames_intended": int, "frame_ms": float, "onset_source": str}.items():
        if column not in before:
            db.table("responses").add_column(column, kind)
    db.create_view("trials", TRIALS)


@migrations()
def m005_occasions(db: Database) -> None:
    """Add the session number of a laboratory session, and the time of the upload of an uploaded session."""
    for column, kind in {"occasion": int, "adopted_at": str}.items():
        db.table("sessions").add_column(column, kind)
    db.table("sessions").create_index(["study_digest", "group", "seed"])


@migrations()
def m006_occasion_of_a_trial(db: Database) -> None:
    """Add the session number to the view, so that the analysis can separate a participant's sessions."""
    db.execute("DROP VIEW trials")
    db.create_view("trials", TRIALS)


@migrations()
def m007_answer_totals(db: Database) -> None:
    """Add the number of responses of each study, a checksum of each panel id, and an index of withdrawal codes."""
    db.table("sessions").create_index(["completion_code"])
    db.table("identities").add_column("checksum", str)
    db.table("answer_totals").create(
        {"study_digest": str, "part": int, "n_answers": int, "checksum_sum": int}, pk=("study_digest", "part"),
        not_null={"n_answers", "checksum_sum"}, foreign_keys=[("study_digest", "studies", "study_digest")], strict=True,
    )  # fmt: skip


@migrations()
def m008_revisions_and_exclusions(db: Database) -> None:
    """Add revisions of a study's wording, and the exclusion of sessions by the researcher."""
    db.table("studies").add_column("content_digest", str)
    db.table("revisions").create(
        {"study_digest": str, "revision": int, "content_digest": str, "battery_digest": str, "definition": str,
         "texts": str, "registered_at": str},
        pk=("study_digest", "revision"),
        not_null={"content_digest", "battery_digest", "definition", "texts", "registered_at"},
        foreign_keys=[("study_digest", "studies", "study_digest")], strict=True,
    )  # fmt: skip
    for column, kind in {"revision": int, "excluded_at": str, "excluded_reason": str}.items():
        db.table("sessions").add_column(column, kind)
    db.table("identities").add_column("signed_at", str)
    add_content_digests(SqliteDatabase(db.conn))
    db.execute("DROP VIEW trials")
    db.create_view("trials", TRIALS)


@migrations()
def m009_plain_names(db: Database) -> None:
    """Rename columns, so that slots, withdrawal codes, uploads and responses have the same name everywhere."""
    db.execute("DROP VIEW trials")
    for old, new in {"place": "slot", "completion_code": "withdrawal_code", "adopted_at": "uploaded_at"}.items():
        db.execute(f"ALTER TABLE sessions RENAME COLUMN {old} TO {new}")
    db.execute("ALTER TABLE places RENAME TO slots")
    db.execute("ALTER TABLE answer_totals RENAME TO response_totals")
    db.execute("ALTER TABLE response_totals RENAME COLUMN n_answers TO n_responses")
    responses.count_totals(SqliteDatabase(db.conn))  # Of a store from before `m007`.
    db.create_view("trials", TRIALS)


@migrations()
def m010_plain_words(db: Database) -> None:
    """Rename columns, so that session numbers, kinds of ids and release reasons have the same name everywhere."""
    db.execute("DROP VIEW trials")
    db.execute("ALTER TABLE sessions RENAME COLUMN occasion TO session_number")
    db.execute("ALTER TABLE identities RENAME COLUMN source TO id_kind")
    identities.add_checksums(SqliteDatabase(db.conn))  # Of a store from before `m007`.
    sessions.rename_reasons(SqliteDatabase(db.conn))
    db.create_view("trials", TRIALS)


@migrations()
def m011_replies_of_models(db: Database) -> None:
    """Add columns for the replies of models: the reading rule, the reason of the end, the tokens, and the thinking."""
    kinds = {"reading_rule": str, "stop_reason": str, "input_tokens": int, "output_tokens": int, "thinking": str}
    for column, kind in kinds.items():
        db.table("responses").add_column(column, kind)
    db.execute("DROP VIEW trials")
    db.create_view("trials", TRIALS)


@migrations()
def m012_parameters_of_runs(db: Database) -> None:
    """Add the parameters of runs to the view, so that the analysis knows which runs have the same condition."""
    db.execute("DROP VIEW trials")
    db.create_view("trials", TRIALS)


@migrations()
def m013_payments(db: Database) -> None:
    """Add the table of payments that were sent to a panel."""
    db.table("payments").create(
        {"study": str, "participant": str, "purpose": str, "decision": str, "submission": str, "cents": int,
         "paid_before": str, "state": str, "claim": str, "batch": str, "claimed_at": str, "settled_at": str},
        pk=("study", "participant", "purpose"),
        not_null={"decision", "submission", "paid_before", "state", "claim", "claimed_at"},
        foreign_keys=[("participant", "participants", "participant")], strict=True,
    )  # fmt: skip


@migrations()
def m014_accounts_and_extended_quotas(db: Database) -> None:
    """Add the researchers' accounts, and the number of slots that a researcher added to the quota of a group."""
    db.table("accounts").create(
        {"study": str, "account": str, "role": str, "password_hash": str, "totp_secret": str, "is_active": int,
         "totp_step": int, "created_at": str},
        pk=("study", "account"), not_null={"role", "password_hash", "is_active", "created_at"}, strict=True,
    )  # fmt: skip
    db.table("slots").add_column("n_added", int, not_null_default=0)


@migrations()
def m015_screens_and_confidence(db: Database) -> None:
    """Add the timing of a trial's screens and sounds, and the participant's confidence in a response."""
    for column, kind in {"presentation": str, "confidence": float, "confidence_rt_ms": float}.items():
        db.table("responses").add_column(column, kind)
    db.execute("DROP VIEW trials")
    db.create_view("trials", TRIALS)


@migrations()
def m016_device_of_a_trial(db: Database) -> None:
    """Add the device to the view, so that the analysis knows how a trial was timed."""
    db.execute("DROP VIEW trials")
    db.create_view("trials", TRIALS)


@migrations()
def m017_actions(db: Database) -> None:
    """Add the table of the actions in trials of interactive tasks."""
    # One tree in the order of sessions, as the responses, so that a new action changes one page of the file.
    db.execute(
        """
        CREATE TABLE actions (
          session TEXT NOT NULL REFERENCES sessions(session), trial_index INTEGER NOT NULL,
          action_index INTEGER NOT NULL, action_id TEXT NOT NULL, action TEXT NOT NULL, observation TEXT NOT NULL,
          since_onset_ms REAL, rt_ms REAL, input TEXT, attempt INTEGER NOT NULL, visit INTEGER,
          received_at TEXT NOT NULL, checksum TEXT NOT NULL, PRIMARY KEY (session, trial_index, action_index)
        ) STRICT, WITHOUT ROWID
        """
    )


assert tuple(migration.name for migration in migrations.pending(Database(memory=True))) == KNOWN_MIGRATIONS
