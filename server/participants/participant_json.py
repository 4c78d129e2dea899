"""The JSON for a participant's browser: the study, the session with its plan, and the end page.

The JSON never contains an answer key.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from batteries.stimulus.shown import shown_content
from experiment.pages_between_trials import block_instructions, break_positions
from experiment.participant_api import (
    CompletedSessionReply,
    CompletionReply,
    EndedReply,
    EndedSessionReply,
    ExitReply,
    PracticeReply,
    SessionReply,
    StudyReply,
)
from experiment.plan import Phase, intertrial_ms
from experiment.records import Kind, Source, Status
from experiment.study.definition import Study, consent_digest
from experiment.study.recruitment import Exit, Exits
from experiment.web.requirements import needs_sound
from server.context import context
from server.participants import participant_auth, practice_criterion
from server.participants.attention_checks import has_passed_checks
from server.participants.interactive_trials import moves_so_far
from server.participants.page_html import page_html
from server.participants.practice_criterion import Judged
from server.store import Release, SessionPlan, SlotState, StoredSession

ENDED_BECAUSE = {
    Release.PRACTICE: "practice_failed",
    Release.TOO_OLD: "too_old",
    Release.RELOADED: "reloaded_too_often",
    Release.RESTARTED: "reloaded_too_often",
}
"""For each reason for the release of a slot, the key of the text that explains why the session cannot be resumed."""

AnySession = SessionReply | CompletedSessionReply | EndedSessionReply


def page(texts: Mapping[str, str], name: str | None) -> str | None:
    """Return the page `name` of a study as HTML, or None if `name` is None."""
    return None if name is None else page_html(texts[name], context().study.words)


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text, as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def study_json(
    study: Study,
    notice: str | None,
    returns_cookies: bool,
    kind: Kind = Kind.HUMAN,
    begun_before: bool = False,
) -> StudyReply:
    """Return the data that the page shows before a session.

    `begun_before` is True if the participant may resume a session of another browser. `kind` is `human` or `simulated`,
    as in the session of the request. If the request has no session, `kind` is `human`.
    """
    definition, timeline = study.definition, study.definition.timeline
    exits = _exits(study, kind)
    return {
        "title": definition.title,
        "language": definition.language,
        "information_html": [page_html(study.texts[name], study.words) for name in timeline.information],
        "consent_html": page(study.texts, timeline.consent),
        "consent_digest": consent_digest(definition, study.texts, Source.WEB),
        "instructions_html": [page_html(study.texts[name], study.words) for name in timeline.instructions],
        "rules_html": [page_html(study.texts[name], study.words) for name in timeline.rules],
        "contact_html": page(study.texts, timeline.contact),
        "device": {**definition.device.model_dump(), "sound": needs_sound(study)},
        "fullscreen": timeline.fullscreen,
        "exits": {
            "no_consent": _exit_json(exits.no_consent),
            "incompatible_device": _exit_json(exits.incompatible_device),
        },
        "plugins": {
            name: {"address": f"/study/{digest_of(study.texts[plugin.file])}.js", "variable": plugin.variable}
            for name, plugin in definition.plugins.items()
        },
        "fixation_ms": definition.timing.fixation_ms,
        "notice": notice,
        "begun_before": begun_before,
        "returns_cookies": returns_cookies,
    }


def session_json(stored: StoredSession) -> AnySession:
    """Return a session with its plan and its progress. If the session is over, add the end page."""
    store, plan = context().store, stored.plan
    is_completed = stored.session.status is Status.COMPLETED
    needs_responses = is_completed or practice_criterion.is_under_way(plan, stored.n_answered)
    responses = store.responses(plan.session) if needs_responses else {}
    judged = practice_criterion.judged_so_far(plan, responses, stored.n_answered) if responses else None
    if judged and judged.has_ended and stored.session.status is Status.ACTIVE and stored.ended_for is None:
        # The server was stopped between the last practice response and the end. The next visit stores the end.
        stored = replace(stored, slot=SlotState.RELEASED, release_reason=Release.PRACTICE)
    return _session_fields(stored, responses, judged)


def _session_fields(stored: StoredSession, responses: Mapping[int, Any], judged: Judged | None) -> AnySession:
    plan, definition = stored.plan, stored.plan.definition
    breaks, criterion = definition.timeline.breaks, definition.practice_criterion
    is_completed = stored.session.status is Status.COMPLETED
    trials = [(trial.phase, trial.item) for trial in plan.trials]
    body: SessionReply = {
        "session": plan.session,
        "kind": plan.kind,
        "status": stored.session.status if is_completed or stored.ended_for is None else "ended",
        "visit": stored.n_visits,
        "fixation_ms": definition.timing.fixation_ms,
        "reading_ms": definition.timing.reading_ms,
        "deadline_ms": definition.timing.deadline_ms,
        "feedback_ms": definition.timing.feedback_ms,
        "interrupted_trial": definition.resume.interrupted_trial,
        "demographics": [] if stored.has_demographics else _questions(stored),
        "breaks": {"before": break_positions(definition, trials), "page_html": page(plan.texts, breaks.page)}
        if breaks
        else None,
        # Without the levels of blocks, because a level may reveal the right response.
        "blocks": [
            {
                "trial_index": index,
                "instructions_html": [page_html(plan.texts[name], context().study.words) for name in names],
            }
            for index, names in block_instructions(definition, trials).items()
        ],
        "confidence": definition.confidence.model_dump(mode="json") if definition.confidence else None,
        "practice_rounds": criterion.rounds if criterion else 1,
        "next_trial_index": judged.next_trial_index if judged and judged.passed else stored.n_answered,
        "moves": moves_so_far(plan, judged.next_trial_index if judged and judged.passed else stored.n_answered),
        # Without key, factors and item id, because a factor such as `outcome` may reveal the right response. The name
        # of a picture may reveal the response too, so the page gets its digest.
        "trials": [
            {
                "trial_index": trial.trial_index,
                # An attention check looks like any other question; otherwise it would check nothing.
                "phase": Phase.PRACTICE if trial.phase is Phase.PRACTICE else Phase.TEST,
                "task": trial.item.task,
                "content": shown_content(definition.with_response_keys(trial.item, plan.group).content),
                "intertrial_ms": intertrial_ms(definition.timing, stored.session.seed, trial.trial_index),
            }
            for trial in plan.trials
        ],
    }
    if is_completed:
        return {**body, **completion_json(plan, responses)}
    return body if stored.ended_for is None else {**body, **ended_json(plan, stored.ended_for)}


def practice_json(plan: SessionPlan, judged: Judged) -> PracticeReply:
    """Return the JSON with the result of a finished round of practice, and the next step."""
    return {
        "passed": judged.passed,
        "correct": judged.n_correct,
        "needed": judged.n_needed,
        "next_trial_index": judged.next_trial_index,
        "ended": ended_json(plan, Release.PRACTICE) if judged.has_ended else None,
    }


def ended_json(plan: SessionPlan, reason: Release) -> EndedReply:
    """Return the JSON of the end page for a session that ended early because of a rule of the study."""
    exits = _exits(context().study, plan.kind)
    exit_ = exits.practice_not_passed if reason is Release.PRACTICE else exits.not_resumed
    return {
        "message": context().study.words.say(ENDED_BECAUSE[reason]),
        "exit": _exit_json(exit_, plan),
        "withdrawal_code": withdrawal_code(plan),
        "contact_html": page(plan.texts, plan.definition.timeline.contact),
    }


def completion_json(plan: SessionPlan, responses: Mapping[int, Any]) -> CompletionReply:
    """Return the JSON of the end page for a participant who has completed the session."""
    timeline, exits = plan.definition.timeline, _exits(context().study, plan.kind)
    outcome = exits.at_completion(has_passed_checks(plan, dict(responses)))
    fixed = None if plan.kind is Kind.SIMULATED else plan.definition.completion_code
    code = outcome.code or fixed or plan.withdrawal_code
    return {
        "completion_code": code,
        "withdrawal_code": withdrawal_code(plan),
        "exit": _exit_json(outcome.model_copy(update={"code": code}), plan),
        "debrief_html": page(plan.texts, timeline.debrief) or "",
        "contact_html": page(plan.texts, timeline.contact),
    }


def _exits(study: Study, kind: Kind) -> Exits:
    """Return the codes and links for the end page of a study. A simulated participant gets no codes and no links."""
    return Exits() if kind is Kind.SIMULATED else study.definition.recruitment.exits


def _questions(stored: StoredSession) -> list[dict[str, Any]]:
    # The questions are in a separate file of the study. So the present questions are used, not the questions that the
    # file had at the session's start.
    if stored.plan.definition.timeline.demographics is None:
        return []
    return [question.model_dump() for question in context().study.demographics]


def withdrawal_code(plan: SessionPlan) -> str | None:
    """Return the withdrawal code of a session; None if the session has no such code."""
    # In an earlier Equipoise, a session had no withdrawal code if the study had one completion code for all.
    return None if plan.withdrawal_code == plan.definition.completion_code else plan.withdrawal_code


def _exit_json(exit_: Exit, plan: SessionPlan | None = None) -> ExitReply:
    url = exit_.link
    if url is not None:
        url = url.replace("{code}", quote(exit_.code or "", safe=""))
        if "{id}" in url:
            url = url.replace("{id}", quote(_external_id(plan), safe=""))
    return {"code": exit_.code, "url": url}


def _external_id(plan: SessionPlan | None) -> str:
    """Return the participant's panel id. The id comes from the store or, before consent, from the cookie."""
    known = context().store.external_id(plan.session) if plan else None
    who = participant_auth.identity()
    return known or (who.external_id if who else "")
