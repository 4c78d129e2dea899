"""The sessions of a panel's participants, for the comparison with the panel's submissions."""

import json
from collections import Counter
from typing import Any

from batteries.tasks import score_response
from experiment.plan import Phase
from experiment.records import Kind, Status
from experiment.study.definition import Study
from experiment.study.exclusion_rules import AttentionCheckRule
from experiment.study.recruitment import PROLIFIC_KEPT_PARAMETERS
from server.recruitment.reconcile import SessionHere
from server.store import PANEL, SlotState, Store

STUDY_PARAMETER, SUBMISSION_PARAMETER = PROLIFIC_KEPT_PARAMETERS


def panel_sessions(store: Store, study: Study) -> list[SessionHere]:
    """Return the latest session of each participant with a panel id.

    A participant has several sessions only if a rule of the study has begun the session again.
    """
    rows = {row["session"]: row for row in store.sessions(study) if row["kind"] == Kind.HUMAN}
    checks, failed, wrong = _attention_checks(store, study)
    latest: dict[str, SessionHere] = {}
    for person in sorted(store.identities(study), key=lambda one: rows.get(one["session"], {}).get("started_at", "")):
        row = rows.get(person["session"])
        if person["id_kind"] != PANEL or row is None:
            continue
        latest[person["external_id"]] = SessionHere(
            session=row["session"],
            participant=row["participant"],
            external_id=person["external_id"],
            status=Status(row["status"]),
            slot=SlotState(row["slot"]),
            code=_code(study, person["withdrawal_code"], failed[row["session"]]),
            submission=person.get(SUBMISSION_PARAMETER),
            panel_study=person.get(STUDY_PARAMETER),
            n_checks=checks[row["session"]],
            n_failed_checks=wrong[row["session"]],
        )
    return list(latest.values())


def _code(study: Study, withdrawal_code: str, n_failed: int) -> str:
    """Return the completion code that the end page shows, as `server.participants.participant_json` does."""
    definition = study.definition
    rules = [rule for rule in definition.analysis.exclusions if isinstance(rule, AttentionCheckRule)]
    outcome = definition.recruitment.exits.at_completion(all(n_failed <= rule.max_failed for rule in rules))
    return outcome.code or definition.completion_code or withdrawal_code


def _attention_checks(store: Store, study: Study) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Return three numbers for each session: attention checks with a response, failed checks, and wrong responses.

    A missing response, for instance after a deadline, is a failed check for the end page, but not a wrong response.
    """
    checks: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    with store.snapshot() as db:
        rows: list[Any] = db.execute(
            'SELECT session, trial_index, task, content, "key", response, missing FROM trials '
            "WHERE study = ? AND phase = ? AND response IS NOT NULL ORDER BY attempt",
            (study.name, Phase.ATTENTION_CHECK.value),
        ).fetchall()
    last_attempts = {(session, trial_index): (session, *fields) for session, trial_index, *fields in rows}
    for session, task, content, key, response, missing in last_attempts.values():
        checks[session] += missing is None
        score = score_response(task, json.loads(content), json.loads(key), json.loads(response))
        if score is not None and not score.correct:
            failed[session] += 1
            wrong[session] += missing is None
    return checks, failed, wrong
