"""A laboratory session from consent to debriefing, with the same plan and in the same order as on the web."""

import unicodedata
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, TypeVar

from batteries.errors import InputError
from experiment.lab.eye_tracking import EyeTracking
from experiment.lab.input.response_state import ResponseState
from experiment.lab.page_reader import PageReader
from experiment.lab.presentation import Step
from experiment.lab.progress import SessionProgress, plan_of
from experiment.lab.screens.layout.buttons import Action
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.message import message
from experiment.lab.screens.trial import blank, fixation
from experiment.lab.screens.trial_header import ShownFeedback, TrialMoment, seconds
from experiment.lab.server_client import LabClient, NotNow
from experiment.lab.session_files.attempt_log import AttemptLog
from experiment.lab.trial import Display, Escaped, ShownTrial, ask_confidence, run_trial
from experiment.lab.visitor import Visitor, VisitOutcome
from experiment.lab_api import Ended, LabStart, OpenSession, TrialFeedback
from experiment.plan import Phase, Trial, intertrial_ms
from experiment.records import Kind, Response, Source
from experiment.study.definition import Study, consent_digest
from experiment.study.event_codes import BlockLevel

T = TypeVar("T")


_ENDS = {
    VisitOutcome.DECLINED: ("declined_title", "lab_declined"),
    VisitOutcome.LEFT: ("lab_left_title", "lab_left"),
    VisitOutcome.WITHDRAWN: ("withdrawn_title", "lab_withdrawn"),
}


class _Stops(Exception):
    """The visit ends now, with this outcome."""

    def __init__(self, outcome: VisitOutcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome


class _RulesClosed(Exception):
    """The participant closed the rules with escape."""


def _close_rules() -> NoReturn:
    raise _RulesClosed


def _plain(word: str) -> str:
    """Return a word in the form in which typed words are compared: without capitals and outer spaces."""
    return unicodedata.normalize("NFC", word).strip().casefold()


class _NotDeleted(InputError):
    """A participant withdrew, but the responses could not be deleted."""


class LabSession:
    """One visit of a participant, in which a session begins or is resumed.

    Parameters
    ----------
    study
        The study.
    lab_client
        The client of the server that stores responses.
    display, sheet
        The participant's display, and the sheet (sizes, fonts and texts of the screens).
    visitor
        The participant.
    open_attempt_log
        Function that opens the log of a session's attempts at trials and its frame intervals.
    on_stored
        Function that is called with the session after every write to the store.
    on_withdrawn
        Function that is called after the session's responses were deleted, to delete the files of the session too.
    eye_file
        Function that returns the file for the data of the eye tracker in the current visit of a session.
    on_trial
        Function that is called before each trial, for the experimenter: with the trial, and the number of all trials.
    """

    def __init__(
        self,
        study: Study,
        lab_client: LabClient,
        display: Display,
        sheet: Sheet,
        visitor: Visitor,
        open_attempt_log: Callable[[OpenSession], AttemptLog],
        on_stored: Callable[[OpenSession], None],
        on_withdrawn: Callable[[OpenSession], None],
        eye_file: Callable[[OpenSession], Path],
        on_trial: Callable[[Trial, int], None] = lambda _trial, _n_trials: None,
    ) -> None:
        self._study = study
        self._client = lab_client
        self._display = display
        self._sheet = sheet
        self._reader = PageReader(display, replace(sheet, rules_hint=""), self._escaped)
        self._eye_tracking = EyeTracking(display, sheet, self._reader, eye_file)
        self._trial_sheet = sheet.in_trials
        self._fixation, self._blank = fixation(self._trial_sheet), blank(self._trial_sheet)
        self._visitor = visitor
        self._open_attempt_log = open_attempt_log
        self._on_stored = on_stored
        self._on_withdrawn = on_withdrawn
        self._on_trial = on_trial
        self._say = study.words.say
        self._session: OpenSession | None = None
        self._n_answers = 0

    def run(self) -> VisitOutcome:
        """Run the visit to its end. When this method returns, all responses are stored.

        Raises
        ------
        InputError
            If the session cannot begin or resume, or responses cannot be deleted. The message is for the experimenter.
        """
        try:
            return self._run()
        except _Stops as stops:
            if stops.outcome in _ENDS:
                self._mark_end()
                title, words = _ENDS[stops.outcome]
                self._reader.show_message(self._say(title), self._say(words), self._say("lab_done"))
            return stops.outcome
        except (
            InputError
        ) as error:  # The participant reads a page before the window closes; the experimenter reads the error.
            words = "lab_not_deleted" if isinstance(error, _NotDeleted) else "lab_problem"
            self._reader.show_message(self._say("error_title"), self._say(words))
            raise

    def _run(self) -> VisitOutcome:
        session = self._session = self._begin()
        self._display.events.mark_session("session_start")
        self._n_answers = session.n_answers
        if session.status == "ended":
            return self._ended(Ended(message=session.message or "", withdrawal_code=session.withdrawal_code))
        plan = plan_of(self._study, session)
        attempt_log, progress = (
            self._open_attempt_log(session),
            SessionProgress(self._study, plan, session.next_trial_index),
        )
        self._on_stored(session)
        has_skipped = self._skip_interrupted(session, progress, attempt_log)
        if session.demographics:
            self._ask_about_person(session)
        if progress.next_trial_index == 0:
            self._instruct()
        elif progress.trial is not None:
            self._welcome_back(progress, has_skipped)
            if progress.trial.phase is Phase.PRACTICE:
                self._instruct()
        is_first_of_visit, scanner_has_begun = True, False
        timing = self._study.definition.timing
        while progress.trial is not None:
            begins_part = has_page = is_first_of_visit or self._page_before(progress.trial, progress)
            if block := progress.block_before(progress.trial, is_first_of_visit):
                has_page = self._begin_block(*block) or has_page
                begins_part = True
            is_first_of_visit = False
            has_page = self._eye_tracking.begin_trials(progress.trial, session, begins_part) or has_page
            if self._display.scanner and not scanner_has_begun and progress.trial.phase is not Phase.PRACTICE:
                self._wait_for_scanner()
                has_page = scanner_has_begun = True
            self._on_trial(progress.trial, len(plan.trials))
            interval_ms = 0 if has_page else intertrial_ms(timing, session.seed, progress.trial.trial_index)
            self._take(progress.trial, session, progress, attempt_log, interval_ms)
        if progress.practice is not None and progress.practice.ended is not None:
            return self._ended(progress.practice.ended)
        return self._complete(session)

    def _begin(self) -> OpenSession:
        """Begin the session after consent, or resume it."""
        timeline, who = self._study.definition.timeline, self._visitor
        is_human = who.kind is Kind.HUMAN
        is_known = is_human and self._client.find(who.participant, who.session_number) is not None
        if is_human and not is_known:
            self._client.require_slot(who.participant, who.session_number, who.group)
        if not is_known:
            pages = self._pages(*timeline.information)
            if timeline.consent is None:
                self._reader.read(pages or {"title": f"# {self._study.definition.title}"}, self._say("begin"))
            elif not self._reader.consents(pages | self._pages(timeline.consent)):
                raise _Stops(VisitOutcome.DECLINED)
        start = LabStart(
            start_id=str(uuid.uuid4()),
            consent_digest=consent_digest(self._study.definition, self._study.texts, Source.LAB),
            study_digest=self._study.digest,
            participant=who.participant,
            session_number=who.session_number,
            group=who.group,
            kind=Kind.HUMAN if is_human else Kind.SIMULATED,
            device=self._display.device,
        )
        try:
            return self._client.start(start)
        except NotNow:
            raise InputError(
                "the session has not begun, because the store cannot be written to, usually because the disk is full. "
                "Fix: free space on the disk, and run the same command again."
            ) from None

    def _ask_about_person(self, session: OpenSession) -> None:
        n_questions = len(session.demographics)
        answers = {
            question.name: self._reader.ask(question, self._say("question_of", number=number, total=n_questions))
            for number, question in enumerate(session.demographics, start=1)
        }
        self._retry_until_stored(lambda: self._client.send_demographics(session.session, answers), "lab_not_stored")

    def _instruct(self) -> None:
        names = self._study.definition.timeline.instructions
        if names:
            pages = self._pages(*names)
            pages[names[-1]] += self._time_limit()
            self._reader.read(pages, self._say("begin"))

    def _time_limit(self) -> str:
        deadline_ms = self._study.definition.timing.deadline_ms
        return (
            "" if deadline_ms is None else f"\n\n{self._say('time_limit', seconds=seconds(self._sheet, deadline_ms))}"
        )

    def _skip_interrupted(self, session: OpenSession, progress: SessionProgress, attempt_log: AttemptLog) -> bool:
        """Skip an interrupted test trial if the study's setting `resume.interrupted_trial` is `skip`.

        Return True if a trial was skipped.
        """
        trial, wanted = progress.trial, self._study.definition.resume.interrupted_trial
        n_begun = attempt_log.n_begun(trial.trial_index) if trial else 0
        if trial is None or n_begun == 0 or wanted == "repeat" or trial.phase is Phase.PRACTICE:
            return False
        nothing = Response(
            response_id=str(uuid.uuid4()),
            trial_index=trial.trial_index,
            response=None,
            missing="interrupted",
            attempt=n_begun,
            visit=session.visit,
        )
        self._send(nothing, session, progress)
        return True

    def _welcome_back(self, progress: SessionProgress, has_skipped: bool) -> None:
        answered, total = progress.n_answered
        words = [self._say("welcome_back", answered=answered, total=total)]
        words += [self._say("trial_skipped")] if has_skipped else []
        self._own_page("welcome_back_title", "\n\n".join(words) + self._time_limit())

    def _wait_for_scanner(self) -> None:
        picture = message(self._sheet, self._say("lab_scanner_title"), [self._say("lab_scanner_wait")], [])
        while True:
            try:
                self._display.wait_for_scanner(picture)
            except Escaped:
                self._escaped()
            else:
                return

    def _begin_block(self, block: BlockLevel, instructions: tuple[str, ...]) -> bool:
        """Begin a block. Return True if there was a page with its instructions."""
        if instructions:
            self._display.events.announce("block", block)
            self._reader.read(self._pages(*instructions), self._say("continue"))
        else:
            self._display.events.mark_session("block", block=block)
        return bool(instructions)

    def _page_before(self, trial: Trial, progress: SessionProgress) -> bool:
        """Show the page before a trial, if there is one: a break, or a new round of practice. Return True if so."""
        breaks, answered = self._study.definition.timeline.breaks, progress.n_questions_before(trial)
        if trial.phase is Phase.PRACTICE:
            if progress.begins_further_round(trial) and progress.practice is not None:
                so_far = {"correct": progress.practice.correct, "needed": progress.practice.needed}
                self._own_page("practice_again_title", self._say("practice_again", **so_far))
                return True
        elif breaks and progress.comes_after_break(trial):
            self._display.events.announce("break")
            if breaks.page:
                self._reader.read(self._pages(breaks.page), self._say("continue"))
            else:
                self._own_page("break_title", self._say("break", answered=answered, total=progress.n_questions))
            return True
        return False

    def _take(
        self,
        trial: Trial,
        session: OpenSession,
        progress: SessionProgress,
        attempt_log: AttemptLog,
        interval_ms: int,
    ) -> None:
        """Run a trial. If the participant presses escape and stays, the trial is repeated from its fixation."""
        definition, timing = self._study.definition, self._study.definition.timing
        item = definition.with_response_keys(self._study.battery.by_id[trial.item_id], session.group)
        interval = Step(self._blank, "intertrial", interval_ms) if interval_ms else None
        shown = ShownTrial(trial, item, timing, progress.position(trial), interval)
        while True:
            try:
                response = run_trial(
                    self._display,
                    self._trial_sheet,
                    self._fixation,
                    shown,
                    session.visit,
                    attempt_log,
                    self._read_rules,
                )
                response = self._with_confidence(response, shown)
                break
            except Escaped:
                self._escaped()
                shown = replace(shown, intertrial=None)  # The participant has continued from a page.
        feedback = self._send(response, session, progress)
        self._display.events.note_stored()
        if feedback is not None:
            self._display.events.announce_feedback()
            has_ended = progress.practice is not None and progress.practice.ended is not None
            self._show(feedback, response, shown, is_last=progress.practice_is_over and not has_ended)

    def _with_confidence(self, response: Response, shown: ShownTrial) -> Response:
        """Return the response with the participant's confidence, if the study asks for it and there is a response."""
        question = self._study.definition.confidence
        if question is None or response.missing is not None:
            return response
        return response.model_copy(update=ask_confidence(self._display, self._trial_sheet, question, shown.progress))

    def _read_rules(self) -> None:
        """Show the rules until the participant closes them, with the last page or with escape."""
        names = self._study.definition.timeline.rules
        closing = PageReader(self._display, replace(self._sheet, rules_hint="", escape_hint=""), _close_rules)
        with suppress(_RulesClosed):
            closing.read(self._pages(*names), self._say("close"))

    def _send(self, response: Response, session: OpenSession, progress: SessionProgress) -> TrialFeedback | None:
        (feedback,) = self._retry_until_stored(
            lambda: self._client.respond(session.session, [response]), "lab_not_stored"
        )
        self._n_answers += response.response is not None
        self._on_stored(session)
        progress.advance(feedback.practice if feedback else None)
        return feedback

    def _retry_until_stored(self, request: Callable[[], T], words: str, leave: str = "lab_stop_for_now") -> T:
        """Call `request`. While the store is unavailable, the participant can retry or stop for now."""
        actions = [Action("again", self._say("device_try_again"), "1"), Action("leave", self._say(leave), "2")]
        while True:
            try:
                return request()
            except NotNow:
                if self._reader.choose(self._say("error_title"), [self._say(words)], actions) == "leave":
                    raise _Stops(VisitOutcome.LEFT) from None

    def _show(self, feedback: TrialFeedback, response: Response, shown: ShownTrial, is_last: bool) -> None:
        """Show the feedback until the participant continues, or for `timing.feedback_ms`."""
        duration_ms = shown.timing.feedback_ms
        note = self._say("last_practice") if is_last else ""
        moment = TrialMoment(
            response_state=ResponseState(response.response, response.response),
            feedback=ShownFeedback(
                feedback.correct, feedback.message, feedback.solution, note, tuple(feedback.explanation)
            ),
            actions=() if duration_ms else (self._reader.onward(self._say("continue")),),
        )
        self._reader.show(shown.picture(replace(self._trial_sheet, rules_hint=""), moment), duration_ms)

    def _complete(self, session: OpenSession) -> VisitOutcome:
        completion = self._retry_until_stored(self._client.complete, "lab_problem")
        self._on_stored(session)
        debrief = self._study.definition.timeline.debrief
        parts = [f"# {self._say('completed_title')}", self._say("completed")]
        parts += self._pages(debrief).values() if debrief else []
        return self._last_page(VisitOutcome.COMPLETED, debrief or "end", parts, completion.withdrawal_code)

    def _ended(self, ended: Ended) -> VisitOutcome:
        parts = [f"# {self._say('ended_title')}", ended.message]
        return self._last_page(VisitOutcome.ENDED, "end", parts, ended.withdrawal_code)

    def _last_page(
        self, outcome: VisitOutcome, name: str, parts: list[str], withdrawal_code: str | None
    ) -> VisitOutcome:
        """Show the last page, with the withdrawal code. Escape closes this page, because the session is over."""

        def close() -> NoReturn:
            raise _Stops(outcome)

        if withdrawal_code:
            code = self._say("lab_change_mind", code=f"**{withdrawal_code}**")
            parts = [*parts, f"## {self._say('change_mind_title')}", code]
        pages = {name: "\n\n".join([*parts, self._say("lab_done")])}
        contact = self._study.definition.timeline.contact
        others = [Action("contact", self._say("contact"), "1")] if contact else []
        reader = PageReader(self._display, replace(self._sheet, rules_hint="", escape_hint=""), close)
        self._mark_end()
        while reader.read(pages, self._say("close"), *others) == "contact" and contact:
            reader.read(self._pages(contact), self._say("close"))
        return outcome

    def _mark_end(self) -> None:
        if self._session is not None:
            self._display.events.mark_session("session_end")
        self._eye_tracking.stop()

    def _pages(self, *names: str) -> dict[str, str]:
        """Return the words of pages for the laboratory, by file name."""
        return {name: self._study.page(name, Source.LAB) for name in names}

    def _own_page(self, title: str, text: str) -> None:
        self._reader.read({title: f"# {self._say(title)}\n\n{text}"}, self._say("continue"))

    def _escaped(self, *notes: str) -> None:
        """Ask the participant whether to stay, stop or withdraw. Return only if the participant stays.

        `notes` are paragraphs before the question.
        """
        done = {"stay": "leave_stay"}
        done |= {"leave": "lab_stop_for_now", "delete": "leave_confirm"} if self._session else {"decline": "decline"}
        contact = self._study.definition.timeline.contact
        done |= {"contact": "contact"} if contact else {}
        done |= {"calibrate": "lab_eye_again"} if self._eye_tracking.is_running else {}
        actions = [Action(name, self._say(label), str(number)) for number, (name, label) in enumerate(done.items(), 1)]
        words = "lab_stop" if self._session else "lab_nothing_stored"
        chosen = self._reader.choose(self._say("leave_title"), [*notes, self._say(words)], actions)
        if chosen == "contact" and contact:
            self._reader.read(self._pages(contact), self._say("close"))
            self._escaped()
        if chosen == "calibrate":
            self._eye_tracking.calibrate_again()
        if chosen == "decline":
            raise _Stops(VisitOutcome.DECLINED)
        if chosen == "leave":
            raise _Stops(VisitOutcome.LEFT)
        if chosen == "delete" and self._session is not None:
            self._confirm_withdrawal(self._session)

    def _confirm_withdrawal(self, session: OpenSession) -> None:
        """Delete the responses if the participant types a word. Otherwise, ask again whether to stay.

        Typing is a deliberate act. Presses of keys that mean responses, such as digits, never delete responses.
        """
        title, word, n_other = self._say("leave_confirm"), self._say("lab_delete_word"), session.n_other_sessions
        words = [self._say("lab_delete_answers", number=self._n_answers)]
        words += [self._say("lab_leave_earlier", number=n_other)] if n_other else []
        words += [self._say("lab_delete_final"), self._say("lab_delete_type", word=word)]
        typed = self._reader.ask_for_text(title, words, submit=title, cancel=self._say("leave_stay"))
        if typed is not None and _plain(typed) == _plain(word):
            self._withdraw(session)
        self._escaped(*([] if typed is None else [self._say("lab_delete_wrong", word=word)]))

    def _withdraw(self, session: OpenSession) -> NoReturn:
        """Delete the responses. If the deletion fails, inform the participant and the experimenter."""
        try:
            self._retry_until_stored(self._client.withdraw, "lab_not_deleted", leave="close")
        except (_Stops, InputError) as error:
            why = "the store cannot be written to" if isinstance(error, _Stops) else str(error).rstrip(".")
            raise _NotDeleted(
                f"{self._visitor.participant} has withdrawn, but the responses are NOT deleted "
                f"yet ({why}). Fix: run `equipoise withdraw {self._study.folder} --session {session.session}`."
            ) from None
        self._eye_tracking.stop()  # Its file is open, and is deleted too.
        self._on_withdrawn(session)
        raise _Stops(VisitOutcome.WITHDRAWN)
