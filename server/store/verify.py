"""Verification of a store: chains of checksums and counts show whether all acknowledged data are present and unchanged.

Withdrawn data do not count as missing, because the session and the log record the withdrawal.
"""

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

from experiment.plan import Phase
from experiment.records import Kind
from experiment.study.definition import StudyDefinition
from server.store.checksums import (
    ACTION_COLUMNS,
    FIXED,
    RESPONSE_COLUMNS,
    SESSIONS,
    beginning_of_session,
    is_link_of_response,
    link,
)
from server.store.database import Database
from server.store.models import FORMER_REASONS, Access, Release, SlotState
from server.store.sql import accounts, identities, payments, responses
from server.store.sql.studies import content_checksum, studies_not_found

ACCESSES = frozenset(Access)
UNREADABLE = (sqlite3.Error, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors that reading a damaged row may raise."""


@dataclass
class Verified:
    """Result of a verification."""

    n_sessions: int = 0
    n_responses: int = 0
    problems: list[str] = field(default_factory=list)
    """One sentence for each problem; empty if there is no problem."""
    digest: str = ""
    """SHA-256 over the last checksums of all chains. If the researcher keeps it, a later verification shows whether
    earlier data have changed.
    """


@dataclass
class _Logs:
    """Content of the logs of all studies."""

    sessions: dict[str, tuple[str, str | None, str | None, str | None]] = field(default_factory=dict)
    """Status, time of completion, slot and release reason of each session. The keys are session names. For models, the
    time of completion is None.
    """
    broken: set[str] = field(default_factory=set)
    """Digests of the studies whose log is missing or damaged."""
    whole: set[str] = field(default_factory=set)
    """Digests of the studies whose log is present and unchanged."""
    excluded: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Time and reason of the researcher's exclusion of a session. The keys are session names."""
    closed: set[tuple[str, int]] = field(default_factory=set)
    """Pairs of a study's digest and the number of a group that the researcher has closed."""
    added: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Number of slots added to the quota, by the digest of the study and the number of the group."""
    revisions: set[tuple[str, int]] = field(default_factory=set)
    """Pairs of a study's digest and the number of a revision."""
    ends: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def verify(db: Database, on_rows: Callable[[int], None] = lambda _n: None) -> Verified:
    """Check the chains of responses, the logs, slots, items, accounts, panel ids and payments in a store.

    Parameters
    ----------
    db
        A connection that reads the store as it was at one moment.
    on_rows
        Function that is called with the number of responses checked since the last call, for instance to show
        progress.
    """
    found = Verified()
    try:
        logs = _read_logs(db)
        totals_here: dict[str, list[int]] = {}
        ends = [*_check_sessions(db, found, logs, totals_here, on_rows), *logs.ends]
        found.problems += [*logs.problems, *_check_slots(db, logs), *_check_totals(db, totals_here)]
        found.problems += [*_check_revisions(db, logs), *_check_exclusions(db, logs), *accounts.changed(db)]
        found.problems += payments.changed(db)
        found.problems += [
            f"participant {participant}: the panel id, or a parameter of the panel id, was changed."
            for participant in identities.changed(db)
        ]
        # Sorted by Python, because databases order texts differently.
        found.digest = hashlib.sha256("\n".join(sorted(ends)).encode()).hexdigest()
    except UNREADABLE as error:
        found.problems.append(f"the checks ended early, because a part of the store cannot be read ({error}).")
    return found


def _named(study_digest: str) -> str:
    return f"study {study_digest[:12]}..."


def _read_logs(db: Database) -> _Logs:
    """Check the chain of each study's log, and read the decisions about sessions from the log."""
    logs = _Logs()
    for study_digest, n_events, checksum in db.execute("SELECT study_digest, n_events, checksum FROM logs").fetchall():
        trouble = _read_log(db, study_digest, (n_events, checksum), logs)
        if trouble:
            logs.broken.add(study_digest)
            logs.problems.append(f"{_named(study_digest)}: {trouble}")
        else:
            logs.whole.add(study_digest)
    for (study_digest,) in db.execute("SELECT study_digest FROM studies").fetchall():
        if study_digest not in logs.whole | logs.broken:
            logs.broken.add(study_digest)
            logs.problems.append(f"{_named(study_digest)}: its log is missing.")
    return logs


def _read_log(db: Database, study_digest: str, end: tuple[int, str], logs: _Logs) -> str | None:
    """Add the content of a study's log to `logs`. Return a sentence on the problem of this log, or None."""
    events = db.execute(
        "SELECT event_index, at, event, session, details, checksum FROM events "
        "WHERE study_digest = ? ORDER BY event_index",
        (study_digest,),
    ).fetchall()
    expected = decided = ""
    n_decided = 0
    for position, (index, at, event, session, details, stored) in enumerate(events):
        expected = link(expected, [study_digest, index, at, event, session, details])
        if index != position or stored != expected:
            return f"entry {position} of the log is missing or changed."
        if event not in ACCESSES:
            decided = link(decided, [study_digest, n_decided, at, event, session, details])
            n_decided += 1
        entry = json.loads(details)
        _replay(logs, event, session, entry)
        if event == "closed":
            logs.closed.add((study_digest, entry["group"]))
        elif event == "opened":
            logs.closed.discard((study_digest, entry["group"]))
        elif event == "quota extended":
            logs.added[study_digest, entry["group"]] += entry["n_slots"]
        elif event in {"registered", "revised"}:
            revision = entry.get("revision", 1)
            logs.revisions.add((study_digest, revision))
            if entry["content"] != content_checksum(db, study_digest, revision):
                logs.problems.append(
                    f"{_named(study_digest)}: its definition, texts or items differ from the content that was "
                    f"registered{f' as revision {revision}' if revision > 1 else ''}."
                )
    # Accesses do not change data. So the end of a second chain is used, which is the chain of a log without accesses.
    logs.ends.append(f"{study_digest} {n_decided} {decided}")
    return None if (len(events), expected) == end else "entries are missing at the end of the log."


def _replay(logs: _Logs, event: str, session: str | None, details: dict[str, Any]) -> None:
    if event == "begun before this log":
        logs.sessions |= {
            name: (status, at, slot, Release.WITHDRAWAL if slot == SlotState.RELEASED else None)
            for name, (status, at, slot) in details["sessions"].items()
        }
    if session is None:
        return
    if event == "excluded":
        logs.excluded[session] = (details["excluded_at"], details["reason"])
    elif event == "included":
        logs.excluded.pop(session, None)
    status, completed_at, slot, reason = logs.sessions.get(session, ("active", None, None, None))
    slots = {"reserved": "reserved", "regained": "reserved", "confirmed": "confirmed", "released": "released"}
    if event == "withdrew":
        status = "withdrawn"
    elif event == "run added" or "completed_at" in details:
        status = "completed"
    if event in {"uploaded", "adopted"}:  # Before `m010`: `adopted`, with the key `place`.
        slot = details["slot"] if event == "uploaded" else details["place"]
        reason = Release.NO_ROOM if slot == SlotState.RELEASED else None
    elif event in slots:
        slot, reason = slots[event], details.get("because")
    reason = FORMER_REASONS.get(reason, reason)
    logs.sessions[session] = (status, details.get("completed_at", completed_at), slot, reason)


def _check_sessions(
    db: Database, found: Verified, logs: _Logs, totals_here: dict[str, list[int]], on_rows: Callable[[int], None]
) -> Iterator[str]:
    """Check each session's chain, and compare the session with the log. Yield the last checksum of each chain."""
    for table in ("planned_trials", "responses", "actions", "visits"):
        strays = db.execute(f"SELECT DISTINCT session FROM {table} WHERE session NOT IN (SELECT session FROM sessions)")
        found.problems += [f"session {session}: it is missing, but its {table} are present." for (session,) in strays]
    # Five queries run side by side in the same order, so that only one session is in memory at a time.
    plan_of = _BySession(
        db,
        "SELECT session, phase, item_id FROM planned_trials WHERE session IN (SELECT session FROM sessions) "
        "ORDER BY session, trial_index",
    )
    responses_of = _BySession(
        db,
        f"SELECT {', '.join(RESPONSE_COLUMNS)}, checksum FROM responses "
        "WHERE session IN (SELECT session FROM sessions) ORDER BY session, trial_index, attempt",
    )
    actions_of = _BySession(
        db,
        f"SELECT {', '.join(ACTION_COLUMNS)}, checksum FROM actions "
        "WHERE session IN (SELECT session FROM sessions) ORDER BY session, trial_index, action_index",
    )
    visits_of = _BySession(
        db,
        "SELECT session, visit, visit_id, at, next_trial_index, device FROM visits "
        "WHERE session IN (SELECT session FROM sessions) ORDER BY session, visit",
    )
    seen = set()
    for row in db.stream(
        "SELECT study_digest, status, completed_at, slot, release_reason, n_trials, n_answered, checksum, "
        f"demographics, {FIXED} FROM {SESSIONS} ORDER BY session"
    ):
        study_digest, status, completed_at, slot, reason, n_trials, n_answered, checksum, demographics, *fixed = row
        session, is_model = fixed[0], fixed[2] == Kind.MODEL
        seen.add(session)
        plan, rows = [trial[1:] for trial in plan_of(session)], responses_of(session)
        found.n_sessions += 1
        found.n_responses += len(rows)
        numbers = [responses.number_of(response[-1]) for response in rows]
        totals_here[study_digest] = [
            before + here
            for before, here in zip(totals_here.get(study_digest, (0, 0)), (len(rows), sum(numbers)), strict=True)
        ]
        on_rows(len(rows))
        links = _in_order(actions_of(session), rows)
        found.problems += _check_chain(session, plan, rows, links, fixed, (n_trials, n_answered, checksum))
        n_there = len(rows) + _n_passed_over(plan, rows, n_answered)
        if status == "completed" and not is_model and n_there < n_trials:
            found.problems.append(
                f"session {session}: it is completed, but only {n_there} of {n_trials} responses are present."
            )
        if study_digest in logs.whole:
            logged = logs.sessions.get(session)
            if logged is None:
                found.problems.append(f"session {session}: it is present, but not in the log.")
            elif logged != (status, None if is_model else completed_at, slot, reason):
                found.problems.append(
                    f"session {session}: its status, slot, release or time of completion differs from the log "
                    f"({status}, not {logged[0]}; {slot} ({reason}), not {logged[2]} ({logged[3]}))."
                )
        elif study_digest not in logs.broken:
            found.problems.append(f"session {session}: its study {study_digest[:12]}... is missing.")
        beside = [*visits_of(session), *([demographics] if demographics else [])]
        yield f"{session} {status} {n_answered} {checksum}{' ' + link('', beside) if beside else ''}"
    found.problems += [f"session {session}: it is missing, but in the log." for session in logs.sessions.keys() - seen]


def _in_order(actions: list[Any], rows: list[Any]) -> list[tuple[bool, Any]]:
    """Return the links of a session's chain: the actions of a trial come before its response.

    Each link is True for a response, and the row.
    """
    links = [(row[1], False, row) for row in actions] + [(row[1], True, row) for row in rows]
    return [(is_response, row) for _, is_response, row in sorted(links, key=itemgetter(0, 1))]


def _check_chain(
    session: str,
    plan: list[Any],
    rows: list[Any],
    links: list[tuple[bool, Any]],
    fixed: list[Any],
    end: tuple[int, int, str],
) -> Iterator[str]:
    n_trials, n_answered, checksum = end
    if len(plan) != n_trials:
        yield f"session {session}: {n_trials} trials were planned, but {len(plan)} are present."
    if len(rows) + _n_passed_over(plan, rows, n_answered) != n_answered:
        yield f"session {session}: {n_answered} responses were acknowledged, but {len(rows)} are present."
    last = beginning_of_session(fixed, plan)
    if not (_is_link(*links[0], last) if links else checksum == last):
        last = beginning_of_session(fixed[:-1], plan)  # A session from before `m007`.
    for is_response, row in links:
        if not _is_link(is_response, row, last):
            what = "response to" if is_response else f"action {row[2]} in"
            before = "response" if is_response else "action"
            yield f"session {session}: the {what} trial {row[1]}, or data before this {before}, was changed."
            return
        last = row[-1]
    if last != checksum:
        yield f"session {session}: its plan, or the end of its responses, was changed."


def _is_link(is_response: bool, row: Any, last: str) -> bool:
    *values, stored = row
    return is_link_of_response(stored, last, values) if is_response else stored == link(last, values)


def _n_passed_over(plan: list[Any], rows: list[Any], n_answered: int) -> int:
    """Return the number of practice trials that needed no response, because an earlier round was passed."""
    if len(rows) == n_answered:
        return 0
    answered = {row[1] for row in rows}
    unanswered = [phase for index, (phase, _) in enumerate(plan[:n_answered]) if index not in answered]
    return unanswered.count(Phase.PRACTICE) if rows else 0


class _BySession:
    """The rows of a query by session. The caller must request the sessions in the order of the query."""

    def __init__(self, db: Database, query: str) -> None:
        self._groups = ((session, list(rows)) for session, rows in groupby(db.stream(query), key=itemgetter(0)))
        self._next = next(self._groups, None)

    def __call__(self, session: str) -> list[tuple[Any, ...]]:
        if self._next is None or self._next[0] != session:
            return []
        rows, self._next = self._next[1], next(self._groups, None)
        return rows


def _check_revisions(db: Database, logs: _Logs) -> Iterator[str]:
    for study_digest in studies_not_found(db):
        yield f"{_named(study_digest)}: the digest of its content does not match its definition, texts and items."
    for study_digest, revision in db.execute("SELECT study_digest, revision FROM revisions").fetchall():
        if study_digest in logs.whole and (study_digest, revision) not in logs.revisions:
            yield f"{_named(study_digest)}: revision {revision} is present, but not in the log."
    for study_digest, revision in db.execute(
        "SELECT DISTINCT study_digest, revision FROM sessions WHERE revision IS NOT NULL"
    ).fetchall():
        if study_digest in logs.whole and (study_digest, revision) not in logs.revisions:
            yield f"{_named(study_digest)}: sessions began with revision {revision}, which is not in the log."


def _check_exclusions(db: Database, logs: _Logs) -> Iterator[str]:
    rows = db.execute(
        "SELECT session, study_digest, excluded_at, excluded_reason FROM sessions "
        "WHERE excluded_at IS NOT NULL OR excluded_reason IS NOT NULL"
    ).fetchall()
    excluded = {session: (at, reason) for session, _, at, reason in rows}
    broken = {session for session, study_digest, *_ in rows if study_digest not in logs.whole}
    for session in sorted((excluded.keys() | logs.excluded.keys()) - broken):
        if excluded.get(session) != logs.excluded.get(session):
            yield f"session {session}: its exclusion, or the reason, differs from the log."


def _check_slots(db: Database, logs: _Logs) -> Iterator[str]:
    counted: Counter[tuple[Any, ...]] = Counter()
    for study_digest, kind, group, slot, n in db.execute(
        'SELECT study_digest, kind, "group", slot, COUNT(*) FROM sessions JOIN participants USING (participant) '
        'WHERE slot IS NOT NULL GROUP BY study_digest, kind, "group", slot'
    ):
        counted[study_digest, kind, group, slot] = n
        counted[study_digest, kind, group, "begun"] += n
    slots = {
        tuple(group): numbers
        for *group, n_begun, n_reserved, n_confirmed in db.execute(
            'SELECT study_digest, kind, "group", n_begun, n_reserved, n_confirmed FROM slots'
        )
        for numbers in [(n_begun, n_reserved, n_confirmed)]
    }
    for study_digest, definition in db.execute("SELECT study_digest, definition FROM studies").fetchall():
        for kind in (Kind.HUMAN.value, Kind.SIMULATED.value):
            for group in range(1, _n_groups(definition) + 1):
                numbers = tuple(counted[study_digest, kind, group, what] for what in ("begun", "reserved", "confirmed"))
                if slots.get((study_digest, kind, group)) != numbers:
                    yield f"{_named(study_digest)}, group {group}, {kind}: the numbers of slots and sessions differ."
    for study_digest, group, is_open, n_added in db.execute(
        "SELECT study_digest, \"group\", is_open, n_added FROM slots WHERE kind = 'human' "
        'ORDER BY study_digest, "group"'
    ).fetchall():
        if study_digest in logs.whole and bool(is_open) == ((study_digest, group) in logs.closed):
            found = "open" if is_open else "closed"
            yield f"{_named(study_digest)}, group {group}: it is {found}, but the log says the opposite."
        if study_digest in logs.whole and n_added != logs.added[study_digest, group]:
            yield f"{_named(study_digest)}, group {group}: the slots added to its quota differ from the log."


def _check_totals(db: Database, totals_here: dict[str, list[int]]) -> Iterator[str]:
    """Check that no study has lost responses, even if the counts and checksums of its sessions were changed too."""
    stored = responses.read_totals(db)
    for study_digest in sorted(stored.keys() | totals_here.keys()):
        n_stored, sum_stored = stored.get(study_digest, (0, 0))
        n_here, sum_here = totals_here.get(study_digest, (0, 0))
        if n_here != n_stored:
            yield (
                f"{_named(study_digest)}: {n_stored} responses were stored, but {n_here} are present. The numbers "
                "also differ if an older Equipoise wrote to this store after the update."
            )
        elif sum_here != sum_stored:
            yield f"{_named(study_digest)}: its responses differ from the responses that were stored."


def _n_groups(definition: str) -> int:
    """Return the number of groups in a definition; 0 if the definition is unreadable, which another check reports."""
    try:
        return StudyDefinition.model_validate_json(definition).n_groups
    except ValueError:
        return 0
