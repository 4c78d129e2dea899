"""The tables of a store and their columns, in the order in which rows can be put in: what they refer to comes first."""

from server.store.checksums import RESPONSE_COLUMNS

TABLES: dict[str, tuple[str, ...]] = {
    "studies": ("study_digest", "study", "version", "battery_digest", "definition", "texts", "registered_at",
                "content_digest"),
    "revisions": ("study_digest", "revision", "content_digest", "battery_digest", "definition", "texts",
                  "registered_at"),
    "items": ("battery_digest", "item_id", "task", "factors", "content", "key"),
    "participants": ("participant", "kind"),
    "sessions": (
        "session", "participant", "study_digest", "battery_digest", "group", "seed", "source", "status", "started_at",
        "completed_at", "consent_digest", "token_digest", "start_id", "completion_code", "n_trials", "place",
        "release_reason", "seen_at", "n_answered", "checksum", "demographics", "occasion", "adopted_at",
        "revision", "excluded_at", "excluded_reason",
    ),
    "runs": ("session", "run", "model", "model_version", "temperature", "prompt_digest", "parameters"),
    "planned_trials": ("session", "trial_index", "phase", "item_id"),
    "responses": (*RESPONSE_COLUMNS, "checksum"),
    "visits": ("session", "visit", "visit_id", "at", "next_trial_index", "device"),
    "places": ("study_digest", "kind", "group", "n_begun", "n_reserved", "n_confirmed", "is_open"),
    "logs": ("study_digest", "n_events", "checksum"),
    "events": ("study_digest", "event_index", "at", "event", "session", "details", "checksum"),
    "identities": ("study", "source", "external_id", "participant", "parameters", "created_at", "checksum",
                   "signed_at"),
    "answer_totals": ("study_digest", "part", "n_answers", "checksum_sum"),
}  # fmt: skip
