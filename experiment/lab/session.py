"""A session in the laboratory from consent to debriefing, in the web's order; the trials are those of the plan."""

import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from pydantic import JsonValue

from batteries.errors import InputError
from experiment.lab.answering import Answering, check_task
from experiment.lab.course import Course
from experiment.lab.desk import Desk, Feedback, NotNow, OpenSession
from experiment.lab.notes import Notes
from experiment.lab.pictures.buttons import Action
from experiment.lab.pictures.fixation import fixation
from experiment.lab.pictures.sheet import Sheet
from experiment.lab.pictures.showing import Feedback as ShownFeedback
from experiment.lab.pictures.showing import Showing, seconds
from experiment.lab.pictures.trial import with_even_letters
from experiment.lab.reading import Reader
from experiment.lab.trials import Escaped, ShownTrial, Stage, take_trial
from experiment.plan import Phase, Trial, plan_session
from experiment.records import Kind, LabDevice, Response
from experiment.study import Study

REFRESH_TOLERANCE = 0.02
"""As in a browser: 59.94 Hz is sold as 60."""


@dataclass(frozen=True)
class Visitor:
    """Who comes to the laboratory."""

    participant: str
    """The laboratory's own code, such as `P01`."""
    occasion: int
    """Which of the participant's sessions, from 1."""
    group: int | None
    """Counterbalance group; None for the one whose turn it is."""
    kind: Kind = Kind.HUMAN


class Outcome(StrEnum):
    """How a visit ended."""

    COMPLETED = "completed"
    LEFT = "left"
    WITHDRAWN = "withdrawn"
    DECLINED = "declined"
    ENDED = "ended"


_ENDS = {
    Outcome.DECLINED: ("declined_title", "lab_declined"),
    Outcome.LEFT: ("lab_left_title", "lab_left"),
    Outcome.WITHDRAWN: ("withdrawn_title", "lab_withdrawn"),
}


class _Stops(Exception):
    """The participant wants to stop."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome


def check_tasks(study: Study) -> None:
    """Refuse a study with items that only a browser can show.

    Raises
    ------
    InputError
        If there is one.
    """
    try:
        for item in study.battery.items:
            check_task(item.item_id, item.task)
    except InputError as error:
        raise InputError(f"{study.folder / 'study.yaml'}: {error}") from None


def check_device(study: Study, here: LabDevice) -> None:
    """Refuse a machine that lacks what the study asks of every device.

    Raises
    ------
    InputError
        If its window is too small or its screen too slow.
    """
    needs, where = study.definition.device, f"{study.folder / 'study.yaml'}, device"
    width_px, height_px = needs.width_px or here.width_px, needs.height_px or here.height_px
    if here.width_px < width_px or here.height_px < height_px:
        raise InputError(
            f"{where}: the study needs a window of at least {width_px} x {height_px} pixels, and this one has "
            f"{here.width_px} x {here.height_px}; run it on a larger screen."
        )
    hz = here.measured_hz if here.is_synchronised else here.nominal_hz
    if needs.refresh_hz and hz and hz < needs.refresh_hz * (1 - REFRESH_TOLERANCE):
        raise InputError(
            f"{where}: the study needs a screen of {needs.refresh_hz} Hz, and this one has {hz:.1f}; set a faster mode "
            "of the screen, or take another."
        )


def sheet_for(study: Study, size_px: tuple[int, int]) -> Sheet:
    """Return the sheet for a study's screens, with letters of one size for all items.

    Raises
    ------
    InputError
        If there is no font for the study, or an item does not fit the screen.
    """
    timing, n_trials = study.definition.timing, max(len(items) for items in study.test_items_by_group.values())
    longest = Showing(
        progress=study.words.say("question_of", number=n_trials, total=n_trials),
        reading_ms=timing.reading_ms,
        deadline_ms=timing.deadline_ms,
    )
    return with_even_letters(Sheet.of(study, size_px), study.battery.items, longest)


class LabSession:
    """One visit of a participant.

    Parameters
    ----------
    study
        The study.
    desk
        Where answers go.
    stage, sheet
        What the participant sits at, and what is drawn on.
    visitor
        Who comes.
    notes_of
        Where attempts and frames of a session are noted.
    on_stored
        Called whenever something was stored, with the session.
    on_withdrawn
        Called when the session's answers were deleted, so that what else holds them goes too.
    """

    def __init__(
        self,
        study: Study,
        desk: Desk,
        stage: Stage,
        sheet: Sheet,
        visitor: Visitor,
        notes_of: Callable[[OpenSession], Notes],
        on_stored: Callable[[OpenSession], None],
        on_withdrawn: Callable[[OpenSession], None],
    ) -> None:
        self._study = study
        self._desk = desk
        self._stage = stage
        self._sheet = sheet
        self._reader = Reader(stage, sheet, self._escaped)
        self._fixation = fixation(sheet)
        self._visitor = visitor
        self._notes_of = notes_of
        self._on_stored = on_stored
        self._on_withdrawn = on_withdrawn
        self._say = study.words.say
        self._session: OpenSession | None = None
        self._is_over = False

    def run(self) -> Outcome:
        """Run the visit to its end, whatever that is; all that was answered is stored by then.

        Raises
        ------
        InputError
            If the session cannot be begun, in a sentence for whoever runs the laboratory.
        """
        try:
            return self._run()
        except _Stops as stops:
            if stops.outcome is not Outcome.COMPLETED:
                title, words = _ENDS[stops.outcome]
                self._reader.tell(self._say(title), self._say(words), self._say("lab_done"))
            return stops.outcome
        except InputError:  # a sentence for the experimenter; the participant does not see the window vanish
            self._reader.tell(self._say("error_title"), self._say("lab_problem"))
            raise

    def _run(self) -> Outcome:
        session = self._session = self._begin()
        if session.status == "ended":
            return self._ended(session.message or "")
        plan = plan_session(self._study, session.group, session.seed)
        notes, course = self._notes_of(session), Course(self._study, plan, session.next_trial_index)
        self._on_stored(session)
        if session.demographics:
            self._ask_about_person(session)
        if course.next_trial_index == 0:
            self._instruct()
        elif course.trial is not None:
            self._welcome_back(course.trial, session, course, notes)
            if course.trial is not None and course.trial.phase is Phase.PRACTICE:
                self._instruct()
        is_after_page = True
        while course.trial is not None:
            if not is_after_page:
                self._page_before(course.trial, course)
            is_after_page = False
            self._take(course.trial, session, course, notes)
        if course.practice is not None and course.practice.ended is not None:
            return self._ended(course.practice.ended.message)
        return self._complete(session)

    def _begin(self) -> OpenSession:
        """Begin the session after consent, or go on with the one that was begun."""
        timeline, texts = self._study.definition.timeline, self._study.texts
        who = self._visitor
        is_human = who.kind is Kind.HUMAN
        is_known = is_human and self._desk.find(who.participant, who.occasion) is not None
        if is_human and not is_known:
            self._desk.require_place(who.participant, who.group)
        if not is_known:
            pages = {name: texts[name] for name in timeline.information}
            if timeline.consent is None:
                self._reader.read(pages or {"title": f"# {self._study.definition.title}"}, self._say("begin"))
            elif not self._reader.consents(pages | {timeline.consent: texts[timeline.consent]}):
                raise _Stops(Outcome.DECLINED)
        consent = texts[timeline.consent].encode() if timeline.consent else None
        start: dict[str, JsonValue] = {
            "start_id": str(uuid.uuid4()),
            "consent_digest": hashlib.sha256(consent).hexdigest() if consent is not None else None,
            "study_digest": self._study.digest,
            "participant": who.participant,
            "occasion": who.occasion,
            "group": who.group,
            "kind": who.kind.value,
            "device": self._stage.device.model_dump(mode="json"),
        }
        return self._desk.start(start)

    def _ask_about_person(self, session: OpenSession) -> None:
        n_questions = len(session.demographics)
        answers = {
            question.name: self._reader.ask(question, self._say("question_of", number=number, total=n_questions))
            for number, question in enumerate(session.demographics, start=1)
        }
        self._desk.answer_about_person(session.session, answers)

    def _instruct(self) -> None:
        names = self._study.definition.timeline.instructions
        if names:
            pages = {name: self._study.texts[name] for name in names}
            pages[names[-1]] += self._time_limit()
            self._reader.read(pages, self._say("begin"))

    def _time_limit(self) -> str:
        deadline_ms = self._study.definition.timing.deadline_ms
        return (
            "" if deadline_ms is None else f"\n\n{self._say('time_limit', seconds=seconds(self._sheet, deadline_ms))}"
        )

    def _welcome_back(self, trial: Trial, session: OpenSession, course: Course, notes: Notes) -> None:
        """Say where it goes on; pass the interrupted trial over where the study wants it so, but never practice."""
        answered, total = course.n_answered
        words = [self._say("welcome_back", answered=answered, total=total)]
        n_begun = notes.n_begun(trial.trial_index)
        is_skipped = self._study.definition.resume.interrupted_trial == "skip" and trial.phase is not Phase.PRACTICE
        if n_begun > 0 and is_skipped:
            nothing = Response(
                response_id=str(uuid.uuid4()),
                trial_index=trial.trial_index,
                response=None,
                missing="interrupted",
                attempt=n_begun,
                visit=session.visit,
            )
            self._hand_in(nothing, session, course)
            words.append(self._say("trial_skipped"))
        self._own_page("welcome_back_title", "\n\n".join(words) + self._time_limit())

    def _page_before(self, trial: Trial, course: Course) -> None:
        """Show the page that is due before a trial, if one is."""
        breaks, answered = self._study.definition.timeline.breaks, course.n_questions_before(trial)
        if trial.phase is Phase.PRACTICE:
            if course.begins_further_round(trial) and course.practice is not None:
                so_far = {"correct": course.practice.correct, "needed": course.practice.needed}
                self._own_page("practice_again_title", self._say("practice_again", **so_far))
        elif breaks and answered > 0 and answered % breaks.every == 0:
            if breaks.page:
                self._reader.read({breaks.page: self._study.texts[breaks.page]}, self._say("continue"))
            else:
                self._own_page("break_title", self._say("break", answered=answered, total=course.n_questions))

    def _take(self, trial: Trial, session: OpenSession, course: Course, notes: Notes) -> None:
        """Take a trial; whoever thought of leaving and stays sees it from its fixation again."""
        item, timing = self._study.battery.by_id[trial.item_id], self._study.definition.timing
        shown = ShownTrial(trial, item, timing, course.place(trial))
        while True:
            try:
                response = take_trial(self._stage, self._sheet, self._fixation, shown, session.visit, notes)
                break
            except Escaped:
                self._escaped()
        feedback = self._hand_in(response, session, course)
        if feedback is not None:
            has_ended = course.practice is not None and course.practice.ended is not None
            self._show(feedback, response, shown, is_last=course.practice_is_over and not has_ended)

    def _hand_in(self, response: Response, session: OpenSession, course: Course) -> Feedback | None:
        while True:
            try:
                (feedback,) = self._desk.respond(session.session, [response])
                break
            except NotNow:
                self._wait_to_store()
        self._on_stored(session)
        course.go_on(feedback.practice if feedback else None)
        return feedback

    def _wait_to_store(self) -> None:
        """Ask for help where an answer cannot be stored at the moment; return to try it again."""
        actions = [
            Action("again", self._say("device_try_again"), "1"),
            Action("leave", self._say("lab_leave"), "2"),
        ]
        words = [self._say("lab_not_stored")]
        if self._reader.choose(self._say("error_title"), words, actions) == "leave":
            raise _Stops(Outcome.LEFT)

    def _show(self, feedback: Feedback, response: Response, shown: ShownTrial, is_last: bool) -> None:
        note = self._say("last_practice") if is_last else ""
        showing = Showing(
            answering=Answering(response.response, response.response),
            feedback=ShownFeedback(feedback.correct, feedback.message, feedback.solution, note),
            actions=(self._reader.onward(self._say("continue")),),
        )
        self._reader.show(shown.picture(self._sheet, showing))

    def _complete(self, session: OpenSession) -> Outcome:
        completion = self._desk.complete()
        self._on_stored(session)
        self._is_over = True
        debrief = self._study.definition.timeline.debrief
        parts = [f"# {self._say('completed_title')}", self._say("completed")]
        parts += [self._study.texts[debrief]] if debrief else []
        if completion.withdrawal_code:
            code = self._say("lab_change_mind", code=f"**{completion.withdrawal_code}**")
            parts += [f"## {self._say('change_mind_title')}", code]
        pages = {debrief or "end": "\n\n".join([*parts, self._say("lab_done")])}
        contact = self._study.definition.timeline.contact
        others = [Action("contact", self._say("contact"), "1")] if contact else []
        reader = Reader(self._stage, replace(self._sheet, way_out=""), self._escaped)
        while reader.read(pages, self._say("close"), *others) == "contact" and contact:
            reader.read({contact: self._study.texts[contact]}, self._say("close"))
        return Outcome.COMPLETED

    def _ended(self, message: str) -> Outcome:
        self._is_over = True
        self._reader.tell(self._say("ended_title"), message, self._say("lab_done"))
        return Outcome.ENDED

    def _own_page(self, title: str, text: str) -> None:
        self._reader.read({title: f"# {self._say(title)}\n\n{text}"}, self._say("continue"))

    def _escaped(self) -> None:
        """Ask whether to stop, and how; return if the participant stays."""
        if self._is_over:
            raise _Stops(Outcome.COMPLETED)
        done = {"stay": "leave_stay"}
        done |= {"leave": "lab_leave", "delete": "leave_confirm"} if self._session else {"decline": "decline"}
        contact = self._study.definition.timeline.contact
        done |= {"contact": "contact"} if contact else {}
        actions = [Action(name, self._say(label), str(number)) for number, (name, label) in enumerate(done.items(), 1)]
        words = "lab_stop" if self._session else "lab_nothing_stored"
        chosen = self._reader.choose(self._say("leave_title"), [self._say(words)], actions)
        if chosen == "contact" and contact:
            self._reader.read({contact: self._study.texts[contact]}, self._say("close"))
            self._escaped()
        if chosen == "decline":
            raise _Stops(Outcome.DECLINED)
        if chosen == "leave":
            raise _Stops(Outcome.LEFT)
        if chosen == "delete" and self._is_sure():
            self._desk.withdraw()
            if self._session is not None:
                self._on_withdrawn(self._session)
            raise _Stops(Outcome.WITHDRAWN)

    def _is_sure(self) -> bool:
        actions = [Action("stay", self._say("leave_stay"), "1"), Action("delete", self._say("leave_confirm"), "2")]
        title, words = self._say("leave_confirm"), self._say("leave_explained")
        return self._reader.choose(title, [words], actions) == "delete"
