"""Tables of the SQLite store, as named, ordered migrations.

Kept apart: what was asked (studies, batteries, items), who answered (participants, sessions, runs), which trials were
planned, and what was answered. Times are UTC, ISO 8601; answers, contents and keys are JSON texts.
"""

from sqlite_utils import Database
from sqlite_utils.migrations import Migrations

from batteries.store_format import KNOWN_MIGRATIONS

migrations = Migrations("equipoise")


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
    db.create_view(
        "trials",
        """
        SELECT studies.study AS study, studies.version AS study_version, sessions.battery_digest AS battery,
               sessions.session AS session, sessions.participant AS participant, participants.kind AS kind,
               sessions.source AS source, sessions.status AS status, sessions."group" AS "group",
               sessions.seed AS seed, sessions.started_at AS started_at, sessions.completed_at AS completed_at,
               planned_trials.trial_index AS trial_index, planned_trials.phase AS phase,
               planned_trials.item_id AS item_id, items.task AS task, items.factors AS factors,
               items.content AS content, items.key AS key,
               responses.response AS response, responses.rt_ms AS rt_ms, responses.fixation_ms AS fixation_ms,
               responses.fixation_frames AS fixation_frames, responses.shown_at AS shown_at,
               responses.received_at AS received_at, responses.frames_dropped AS frames_dropped,
               responses.focus_lost AS focus_lost, responses.attempt AS attempt,
               runs.model AS model, runs.model_version AS model_version, runs.temperature AS temperature,
               runs.run AS run, runs.prompt_digest AS prompt_digest,
               responses.valid AS valid, responses.imported_correct AS imported_correct
          FROM planned_trials
          JOIN sessions USING (session)
          JOIN studies USING (study_digest)
          JOIN participants USING (participant)
          LEFT JOIN items ON items.battery_digest = sessions.battery_digest AND items.item_id = planned_trials.item_id
          LEFT JOIN responses
                 ON responses.session = planned_trials.session AND responses.trial_index = planned_trials.trial_index
          LEFT JOIN runs ON runs.session = sessions.session
        """,
    )


assert tuple(migration.name for migration in migrations.pending(Database(memory=True))) == KNOWN_MIGRATIONS
