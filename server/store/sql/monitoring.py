"""Queries for the pages on which researchers watch a study.

The database counts as much as it can, because Python code would delay the replies to participants. Queries that need
rows read a limited number of the latest rows.
"""

import json

from experiment.study.definition import Study
from server.store.database import Database, marks, now
from server.store.models import LogEvent
from server.store.monitor_models import Monitored, RecentResponse, SessionHistory, WatchedSession
from server.store.sql import responses, studies

MOST_COMPLETIONS = 1_000
"""Number of the latest completed sessions whose times are read."""
RECENT_SESSIONS = 100
"""Number of the latest sessions whose responses are read."""
WATCHED = (
    'session, participant, kind, "group", status, slot, release_reason, started_at, completed_at, n_answered, '
    "n_trials, excluded_reason"
)
RESPONSE_COLUMNS = (
    "trial_index", "phase", "item_id", "attempt", "response", "rt_ms", "fixation_ms", "shown_at", "received_at",
    "focus_lost", "frames_dropped", "input", "missing", "visit", "signals",
)  # fmt: skip


def monitored(db: Database, study: Study) -> Monitored:
    """See `Store.monitored`."""
    registered = studies.nearest(db, study)
    of = registered.study_digest if registered else ""
    people = "FROM sessions JOIN participants USING (participant) WHERE study_digest = ? AND kind <> 'model'"
    stages = db.execute(
        f"""
        SELECT kind, slot, CASE WHEN n_answered = 0 THEN -1 ELSE n_answered * 4 / n_trials END AS stage, COUNT(*)
          {people} AND status = 'active' GROUP BY kind, slot, stage
        """,
        (of,),
    ).fetchall()
    releases = db.execute(
        f"SELECT kind, release_reason, COUNT(*) {people} AND slot = 'released' GROUP BY kind, release_reason", (of,)
    ).fetchall()
    (n_excluded,) = db.execute(f"SELECT COUNT(*) {people} AND excluded_at IS NOT NULL", (of,)).fetchone()
    completions = db.execute(
        f"SELECT kind, started_at, completed_at {people} AND status = 'completed' "
        f"ORDER BY completed_at DESC LIMIT {MOST_COMPLETIONS}",
        (of,),
    ).fetchall()
    (first_start,) = db.execute(f"SELECT MIN(started_at) {people} AND kind = 'human'", (of,)).fetchone()
    latest = [
        session
        for (session,) in db.execute(
            f"SELECT session {people} AND n_answered > 0 ORDER BY started_at DESC LIMIT {RECENT_SESSIONS}", (of,)
        ).fetchall()
    ]
    recent = db.execute(
        "SELECT kind, phase, rt_ms, focus_lost, frames_dropped, signals FROM responses "
        "JOIN planned_trials USING (session, trial_index) JOIN sessions USING (session) "
        f"JOIN participants USING (participant) WHERE session IN ({marks(latest) or 'NULL'})",
        latest,
    ).fetchall()
    (n_of_models,) = db.execute(
        "SELECT COALESCE(SUM(n_answered), 0) FROM sessions JOIN participants USING (participant) "
        "WHERE study_digest = ? AND kind = 'model'",
        (of,),
    ).fetchone()
    return Monitored(
        at=now(),
        groups=tuple(studies.progress(db, study)),
        stages={(kind, slot, stage): n for kind, slot, stage, n in stages},
        releases={(kind, reason): n for kind, reason, n in releases},
        n_excluded=n_excluded,
        completions=tuple(map(tuple, completions)),
        first_start=first_start,
        responses=tuple(RecentResponse(*row) for row in recent),
        n_responses=responses.read_totals(db).get(of, (0, 0))[0] - int(n_of_models),
    )


def watched(db: Database, study: Study, pseudonym: str, n_most: int) -> list[WatchedSession]:
    """See `Store.watched_sessions`."""
    chosen, values = (" AND (participant = ? OR session = ?)", (pseudonym, pseudonym)) if pseudonym else ("", ())
    rows = db.execute(
        f"SELECT {WATCHED} FROM sessions JOIN participants USING (participant) JOIN studies USING (study_digest) "
        f"WHERE study = ? AND kind <> 'model'{chosen} ORDER BY started_at DESC, session LIMIT {int(n_most)}",
        (study.name, *values),
    )
    return [WatchedSession(*row) for row in rows.fetchall()]


def history(db: Database, study: Study, participant: str) -> list[SessionHistory]:
    """See `Store.history`."""
    return [_history_of(db, one) for one in reversed(watched(db, study, participant, 100))]


def _history_of(db: Database, one: WatchedSession) -> SessionHistory:
    study_digest, seed, source = db.execute(
        "SELECT study_digest, seed, source FROM sessions WHERE session = ?", (one.session,)
    ).fetchone()
    events = db.execute(
        "SELECT event_index, at, event, session, details FROM events WHERE study_digest = ? AND session = ? "
        "ORDER BY event_index",
        (study_digest, one.session),
    ).fetchall()
    visits = db.execute(
        "SELECT visit, at, next_trial_index FROM visits WHERE session = ? ORDER BY visit", (one.session,)
    ).fetchall()
    found = db.execute(
        f"SELECT {', '.join(RESPONSE_COLUMNS)} FROM responses JOIN planned_trials USING (session, trial_index) "
        "WHERE session = ? ORDER BY trial_index, attempt",
        (one.session,),
    ).fetchall()
    return SessionHistory(
        one,
        seed,
        source,
        tuple(
            LogEvent(index, at, event, session, json.loads(details)) for index, at, event, session, details in events
        ),
        tuple(map(tuple, visits)),
        tuple(dict(zip(RESPONSE_COLUMNS, row, strict=True)) for row in found),
    )
