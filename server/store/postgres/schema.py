"""Tables of the PostgreSQL store: the same names and columns as in SQLite.

The tables are made once, under a lock, so that servers that start together do not conflict. A database of an earlier
version gets the missing tables and columns. Numbers have double precision. Flags are integers, and times and JSON are
texts, as in SQLite.
"""

from server.store.tables import TRIALS

VERSION = "m017_actions"
"""Name of the SQLite migration with the same tables."""

RENAMED_TABLES = {"places": "slots", "answer_totals": "response_totals"}
RENAMED_COLUMNS = (
    ("sessions", "place", "slot"),
    ("sessions", "completion_code", "withdrawal_code"),
    ("sessions", "adopted_at", "uploaded_at"),
    ("response_totals", "n_answers", "n_responses"),
    ("identities", "source", "id_kind"),
    ("sessions", "occasion", "session_number"),  # The former name comes first.
)
"""Renamed columns: the table, the former name and the present name. The migration `m010` renamed the last two columns,
and the migration `m009` renamed the other columns.
"""

STATEMENTS = (
    "CREATE TABLE IF NOT EXISTS _migrations (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)",
    """
    CREATE TABLE IF NOT EXISTS studies (
      study_digest TEXT PRIMARY KEY, study TEXT NOT NULL, version TEXT NOT NULL, battery_digest TEXT NOT NULL,
      definition TEXT NOT NULL, texts TEXT, registered_at TEXT
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS items (
      battery_digest TEXT, item_id TEXT, task TEXT NOT NULL, factors TEXT NOT NULL, content TEXT NOT NULL,
      key TEXT NOT NULL, PRIMARY KEY (battery_digest, item_id)
    )
    """,
    "CREATE TABLE IF NOT EXISTS participants (participant TEXT PRIMARY KEY, kind TEXT NOT NULL)",
    """
    CREATE TABLE IF NOT EXISTS sessions (
      session TEXT PRIMARY KEY, participant TEXT NOT NULL REFERENCES participants (participant),
      study_digest TEXT NOT NULL REFERENCES studies (study_digest), battery_digest TEXT NOT NULL, "group" INTEGER,
      seed INTEGER, source TEXT NOT NULL, status TEXT NOT NULL, started_at TEXT NOT NULL, completed_at TEXT,
      consent_digest TEXT, token_digest TEXT UNIQUE, start_id TEXT UNIQUE, withdrawal_code TEXT, n_trials INTEGER,
      slot TEXT, release_reason TEXT, seen_at TEXT, n_answered INTEGER, checksum TEXT
    )
    """,
    "CREATE INDEX IF NOT EXISTS sessions_slot ON sessions (study_digest, slot, seen_at)",
    "CREATE INDEX IF NOT EXISTS sessions_participant ON sessions (participant)",
    """
    CREATE TABLE IF NOT EXISTS runs (
      session TEXT PRIMARY KEY REFERENCES sessions (session), run TEXT NOT NULL UNIQUE, model TEXT NOT NULL,
      model_version TEXT NOT NULL, temperature DOUBLE PRECISION, prompt_digest TEXT, parameters TEXT
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS planned_trials (
      session TEXT REFERENCES sessions (session), trial_index INTEGER, phase TEXT NOT NULL, item_id TEXT NOT NULL,
      PRIMARY KEY (session, trial_index)
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS responses (
      session TEXT REFERENCES sessions (session), trial_index INTEGER, attempt INTEGER, response_id TEXT NOT NULL,
      response TEXT NOT NULL, rt_ms DOUBLE PRECISION, fixation_ms DOUBLE PRECISION, fixation_frames INTEGER,
      shown_at TEXT, received_at TEXT NOT NULL, frames_dropped INTEGER, focus_lost INTEGER, valid INTEGER NOT NULL,
      text TEXT, imported_correct INTEGER, checksum TEXT NOT NULL, PRIMARY KEY (session, trial_index, attempt)
    )
    """,
    """
    ALTER TABLE responses
      ADD COLUMN IF NOT EXISTS fixation_frames_intended INTEGER,
      ADD COLUMN IF NOT EXISTS frame_ms DOUBLE PRECISION, ADD COLUMN IF NOT EXISTS onset_source TEXT,
      ADD COLUMN IF NOT EXISTS visit INTEGER, ADD COLUMN IF NOT EXISTS input TEXT,
      ADD COLUMN IF NOT EXISTS missing TEXT, ADD COLUMN IF NOT EXISTS signals TEXT,
      ADD COLUMN IF NOT EXISTS jspsych TEXT, ADD COLUMN IF NOT EXISTS reading_rule TEXT,
      ADD COLUMN IF NOT EXISTS stop_reason TEXT, ADD COLUMN IF NOT EXISTS input_tokens INTEGER,
      ADD COLUMN IF NOT EXISTS output_tokens INTEGER, ADD COLUMN IF NOT EXISTS thinking TEXT,
      ADD COLUMN IF NOT EXISTS presentation TEXT, ADD COLUMN IF NOT EXISTS confidence DOUBLE PRECISION,
      ADD COLUMN IF NOT EXISTS confidence_rt_ms DOUBLE PRECISION
    """,
    """
    ALTER TABLE sessions
      ADD COLUMN IF NOT EXISTS demographics TEXT,
      ADD COLUMN IF NOT EXISTS session_number INTEGER, ADD COLUMN IF NOT EXISTS uploaded_at TEXT,
      ADD COLUMN IF NOT EXISTS revision INTEGER, ADD COLUMN IF NOT EXISTS excluded_at TEXT,
      ADD COLUMN IF NOT EXISTS excluded_reason TEXT
    """,
    'CREATE INDEX IF NOT EXISTS sessions_seed ON sessions (study_digest, "group", seed)',
    """
    CREATE TABLE IF NOT EXISTS slots (
      study_digest TEXT REFERENCES studies (study_digest), kind TEXT, "group" INTEGER, n_begun INTEGER NOT NULL,
      n_reserved INTEGER NOT NULL, n_confirmed INTEGER NOT NULL, is_open INTEGER NOT NULL,
      PRIMARY KEY (study_digest, kind, "group")
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS logs (
      study_digest TEXT PRIMARY KEY REFERENCES studies (study_digest), n_events INTEGER NOT NULL, checksum TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS events (
      study_digest TEXT REFERENCES studies (study_digest), event_index INTEGER, at TEXT NOT NULL, event TEXT NOT NULL,
      session TEXT, details TEXT NOT NULL, checksum TEXT NOT NULL, PRIMARY KEY (study_digest, event_index)
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS identities (
      study TEXT, id_kind TEXT, external_id TEXT, participant TEXT NOT NULL REFERENCES participants (participant),
      parameters TEXT NOT NULL, created_at TEXT NOT NULL, PRIMARY KEY (study, id_kind, external_id)
    )
    """,
    "CREATE INDEX IF NOT EXISTS identities_participant ON identities (participant)",
    """
    CREATE TABLE IF NOT EXISTS visits (
      session TEXT REFERENCES sessions (session), visit INTEGER, visit_id TEXT NOT NULL, at TEXT NOT NULL,
      next_trial_index INTEGER NOT NULL, device TEXT, PRIMARY KEY (session, visit)
    )
    """,
    "CREATE INDEX IF NOT EXISTS sessions_withdrawal_code ON sessions (withdrawal_code)",
    "ALTER TABLE identities ADD COLUMN IF NOT EXISTS checksum TEXT, ADD COLUMN IF NOT EXISTS signed_at TEXT",
    """
    CREATE TABLE IF NOT EXISTS response_totals (
      study_digest TEXT REFERENCES studies (study_digest), part INTEGER, n_responses BIGINT NOT NULL,
      checksum_sum BIGINT NOT NULL, PRIMARY KEY (study_digest, part)
    )
    """,
    "ALTER TABLE studies ADD COLUMN IF NOT EXISTS content_digest TEXT",
    """
    CREATE TABLE IF NOT EXISTS revisions (
      study_digest TEXT REFERENCES studies (study_digest), revision INTEGER, content_digest TEXT NOT NULL,
      battery_digest TEXT NOT NULL, definition TEXT NOT NULL, texts TEXT NOT NULL, registered_at TEXT NOT NULL,
      PRIMARY KEY (study_digest, revision)
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS payments (
      study TEXT, participant TEXT REFERENCES participants (participant), purpose TEXT, decision TEXT NOT NULL,
      submission TEXT NOT NULL, cents INTEGER, paid_before TEXT NOT NULL, state TEXT NOT NULL, claim TEXT NOT NULL,
      batch TEXT, claimed_at TEXT NOT NULL, settled_at TEXT, PRIMARY KEY (study, participant, purpose)
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS accounts (
      study TEXT, account TEXT, role TEXT NOT NULL, password_hash TEXT NOT NULL, totp_secret TEXT,
      is_active INTEGER NOT NULL, totp_step BIGINT, created_at TEXT NOT NULL, PRIMARY KEY (study, account)
    )
    """,
    "ALTER TABLE slots ADD COLUMN IF NOT EXISTS n_added INTEGER NOT NULL DEFAULT 0",
    """
    CREATE TABLE IF NOT EXISTS actions (
      session TEXT REFERENCES sessions (session), trial_index INTEGER, action_index INTEGER, action_id TEXT NOT NULL,
      action TEXT NOT NULL, observation TEXT NOT NULL, since_onset_ms DOUBLE PRECISION, rt_ms DOUBLE PRECISION,
      input TEXT, attempt INTEGER NOT NULL, visit INTEGER, received_at TEXT NOT NULL, checksum TEXT NOT NULL,
      PRIMARY KEY (session, trial_index, action_index)
    )
    """,
    "DROP VIEW IF EXISTS trials",  # PostgreSQL cannot replace a view whose columns were in another order.
    f"CREATE VIEW trials AS {TRIALS}",
)
