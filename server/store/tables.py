"""The tables of a store with their columns. Each table comes after the tables to which its rows refer."""

from server.store.checksums import ACTION_COLUMNS, RESPONSE_COLUMNS

TABLES: dict[str, tuple[str, ...]] = {
    "studies": ("study_digest", "study", "version", "battery_digest", "definition", "texts", "registered_at",
                "content_digest"),
    "revisions": ("study_digest", "revision", "content_digest", "battery_digest", "definition", "texts",
                  "registered_at"),
    "items": ("battery_digest", "item_id", "task", "factors", "content", "key"),
    "participants": ("participant", "kind"),
    "sessions": (
        "session", "participant", "study_digest", "battery_digest", "group", "seed", "source", "status", "started_at",
        "completed_at", "consent_digest", "token_digest", "start_id", "withdrawal_code", "n_trials", "slot",
        "release_reason", "seen_at", "n_answered", "checksum", "demographics", "session_number", "uploaded_at",
        "revision", "excluded_at", "excluded_reason",
    ),
    "runs": ("session", "run", "model", "model_version", "temperature", "prompt_digest", "parameters"),
    "planned_trials": ("session", "trial_index", "phase", "item_id"),
    "responses": (*RESPONSE_COLUMNS, "checksum"),
    "actions": (*ACTION_COLUMNS, "checksum"),
    "visits": ("session", "visit", "visit_id", "at", "next_trial_index", "device"),
    "slots": ("study_digest", "kind", "group", "n_begun", "n_reserved", "n_confirmed", "is_open", "n_added"),
    "logs": ("study_digest", "n_events", "checksum"),
    "events": ("study_digest", "event_index", "at", "event", "session", "details", "checksum"),
    "identities": ("study", "id_kind", "external_id", "participant", "parameters", "created_at", "checksum",
                   "signed_at"),
    "payments": ("study", "participant", "purpose", "decision", "submission", "cents", "paid_before", "state", "claim",
                 "batch", "claimed_at", "settled_at"),
    "accounts": ("study", "account", "role", "password_hash", "totp_secret", "is_active", "totp_step", "created_at"),
    "response_totals": ("study_digest", "part", "n_responses", "checksum_sum"),
}  # fmt: skip


TRIALS = """
SELECT studies.study AS study, studies.version AS study_version, sessions.battery_digest AS battery,
       sessions.session AS session, sessions.participant AS participant, participants.kind AS kind,
       sessions.source AS source, sessions.status AS status, sessions."group" AS "group",
       sessions.seed AS seed, sessions.started_at AS started_at, sessions.completed_at AS completed_at,
       planned_trials.trial_index AS trial_index, planned_trials.phase AS phase,
       planned_trials.item_id AS item_id, items.task AS task, items.factors AS factors,
       items.content AS content, items.key AS key,
       responses.response AS response, responses.rt_ms AS rt_ms, responses.fixation_ms AS fixation_ms,
       responses.fixation_frames AS fixation_frames, responses.fixation_frames_intended AS fixation_frames_intended,
       responses.frame_ms AS frame_ms, responses.shown_at AS shown_at, responses.onset_source AS onset_source,
       responses.received_at AS received_at, responses.frames_dropped AS frames_dropped,
       responses.focus_lost AS focus_lost, responses.attempt AS attempt,
       runs.model AS model, runs.model_version AS model_version, runs.temperature AS temperature,
       runs.run AS run, runs.prompt_digest AS prompt_digest,
       responses.valid AS valid, responses.imported_correct AS imported_correct,
       responses.reading_rule AS reading_rule, responses.stop_reason AS stop_reason,
       responses.input_tokens AS input_tokens, responses.output_tokens AS output_tokens,
       responses.visit AS visit, responses.input AS input, responses.missing AS missing,
       responses.signals AS signals, responses.jspsych AS jspsych,
       responses.presentation AS presentation, responses.confidence AS confidence,
       responses.confidence_rt_ms AS confidence_rt_ms,
       sessions.session_number AS session_number, sessions.revision AS study_revision,
       sessions.excluded_at AS excluded_at, sessions.excluded_reason AS excluded_reason,
       runs.parameters AS run_parameters,
       (SELECT visits.device FROM visits
         WHERE visits.session = planned_trials.session AND visits.visit <= responses.visit
         ORDER BY visits.visit DESC LIMIT 1) AS device
  FROM planned_trials
  JOIN sessions USING (session)
  JOIN studies USING (study_digest)
  JOIN participants USING (participant)
  LEFT JOIN items ON items.battery_digest = sessions.battery_digest AND items.item_id = planned_trials.item_id
  LEFT JOIN responses
         ON responses.session = planned_trials.session AND responses.trial_index = planned_trials.trial_index
  LEFT JOIN runs ON runs.session = sessions.session
"""
"""The query of the view `trials`, which is the same in every store.

The device is that of the response's visit. A server does not record all visits of an uploaded session; then it is the
device of the last recorded visit before.
"""
