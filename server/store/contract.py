"""What every store promises."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from experiment.records import Response, Run
from experiment.study.definition import Study, StudyDefinition
from server.store.database import Database
from server.store.errors import StudyFull
from server.store.models import (
    NOTHING_PASSED_OVER,
    Access,
    AddedRun,
    GroupProgress,
    Identity,
    LogEvent,
    RegisteredDefinition,
    Release,
    Revision,
    SessionFound,
    SessionPlan,
    SessionStart,
    SlotState,
    StoredSession,
    Visit,
)


class Store(ABC):
    """Append-only answers beside the plans they answer. All methods may be called from any thread.

    A method that writes returns only when what it wrote is committed and on disk. If it raises, it has written
    nothing, or, where the connection broke in the very moment of the commit, something that a retry finds done.
    Responses are never changed; only a withdrawal deletes them. The store publishes one view, `trials` (a row a
    planned trial, with its answer if there is one), which `analysis` reads.

    Every method raises `StoreUnavailable` when the store cannot be used now.
    """

    @abstractmethod
    def register_study(self, study: Study) -> None:
        """Record the study and its battery, so that the store can be understood without the study's folder.

        Raises
        ------
        InputError
            If people have begun this version of the study when its content was another; the message names what
            changed since, and says whether `revise_study` could accept it.
        """

    @abstractmethod
    def revise_study(self, study: Study, reason: str) -> Revision:
        """Accept a change of wording in a version that people have begun, and write it to the log with the reason.

        Groups, places and sessions stay as they are. A session goes on with the content that it began with; those
        that begin on a server that has loaded the revision get the new one.

        Raises
        ------
        InputError
            If nobody has begun this version, the content is registered already, or more changed than its wording.
        """

    @abstractmethod
    def changed_since(self, study: Study) -> str | None:
        """Return what changed since this version of the study was registered, by name; None if nothing did."""

    @abstractmethod
    def revisions(self, study: Study) -> list[Revision]:
        """Return the revisions of all versions of this study, the oldest first."""

    @abstractmethod
    def content(self, study: Study, content_digest: str) -> tuple[StudyDefinition, Mapping[str, str]] | None:
        """Return the definition and texts of a revision of the study that is served, by its digest, or None."""

    @abstractmethod
    def start_session(self, study: Study, start: SessionStart) -> StoredSession:
        """Reserve a place and begin a session in its group; `server.store.sql.assignment` chooses the group.

        The seed is the session's number within its kind and group, so that the plans of a whole study can be made
        again without its data; a seed that an uploaded session has already is passed over. The same start given twice
        begins one session, and so does the same identity on the same occasion; the later token is then the valid one,
        and the study's rules for coming back hold (`open_session`). A panel's id alone resumes nothing: the client must
        hold the session's token, or repeat the start that began it, or bring the panel's newer signature or its name of
        the submission that began. On another occasion the same person begins another
        session. Who withdrew does not begin again, whatever the occasion.

        A session that was taken elsewhere (`start.uploaded`) is stored as it is, without a place if there is no room
        for it. Given again, under whichever code, it is opened as it is by now, completed or withdrawn as may be; that
        is not a visit.

        Raises
        ------
        StudyFull
            If there is no place.
        BegunElsewhere
            If a panel's id has begun a session, and the client does not show that it belongs to the same person.
        Conflict
            If this person has withdrawn from the study, or has completed this occasion; if the group that is wanted
            has no room, is not there, or is not the session's; if another session has the name
            of the uploaded one, or another person its code.
        """

    @abstractmethod
    def why_full(self, study: Study) -> StudyFull | None:
        """Return what a person who came now would be told, or None if there is a place for them."""

    @abstractmethod
    def require_slot(self, study: Study, identity: Identity, occasion: int, group: int | None) -> None:
        """Refuse somebody who comes to the laboratory now as `start_session` would; nothing is stored.

        Raises
        ------
        StudyFull, Conflict
            See `start_session`.
        """

    @abstractmethod
    def find_session(self, token_digest: str) -> StoredSession | None:
        """Return the session that belongs to a token, or None."""

    @abstractmethod
    def may_resume(self, study: Study, identity: Identity) -> bool:
        """Return whether somebody has begun this study and may resume it in another browser (`start_session`)."""

    @abstractmethod
    def with_slots(self, study: Study, sessions: Sequence[str]) -> list[str]:
        """Return which of these sessions have a place reserved that has not timed out, in any order."""

    @abstractmethod
    def session_of_start(self, start_id: str) -> str | None:
        """Return the session to which a start leads if it is sent again, or None if it would begin one."""

    @abstractmethod
    def session_on(self, study: Study, identity: Identity, occasion: int) -> StoredSession | None:
        """Return the session that somebody has begun on an occasion, or None."""

    @abstractmethod
    def find_plan(self, token_digest: str) -> SessionPlan | None:
        """Return the plan of the session that belongs, or lately belonged, to a token, or None.

        Answered from memory where possible; `add_responses` checks that the token still holds.
        """

    @abstractmethod
    def answers(self, session: str) -> dict[int, Any]:
        """Return a session's answers by trial index."""

    @abstractmethod
    def add_responses(
        self, session: str, token_digest: str, responses: Sequence[Response], passed_over: range = NOTHING_PASSED_OVER
    ) -> list[bool]:
        """Store answers to the next trials of a session, all of them or none.

        Parameters
        ----------
        session
            Its name.
        token_digest
            By which it is known.
        responses
            The answers, in the order of their trials.
        passed_over
            Trials that need no answer, up to the first of `responses`: rounds of practice, once one was passed.

        Returns
        -------
        list of bool
            For each, True if it is new, False if the very same response (by `response_id`) was stored before.

        Raises
        ------
        NotYourSession
            If the token is not the session's.
        Conflict
            If a trial is not the next one, the session is over, or an id belongs to another answer.
        """

    @abstractmethod
    def add_demographics(self, session: str, answers: Mapping[str, Any]) -> bool:
        """Store what somebody said about themselves; return whether it is the first time, as only that counts."""

    @abstractmethod
    def complete_session(
        self, study: Study, session: str, passed_checks: bool, completed_at: datetime | None = None
    ) -> None:
        """Mark a session as completed and confirm its place; again is the same as once.

        A session in the laboratory may say when it was completed, as it may come here later.

        With `passed_checks` false the place is released instead, so that somebody else is recruited for it. A session
        whose place was given to another after a time-out completes too, without a place (`surplus` in the log).

        Raises
        ------
        Conflict
            If answers are missing, the participant has withdrawn, or the session must not say when it was completed.
        """

    @abstractmethod
    def withdraw_session(self, session: str, by_researcher: bool = False) -> None:
        """Delete a session's answers, release its place and close it; again is the same as once.

        What the same person answered in an earlier session, before they began again, goes too. The log says so, and
        whether the researcher did it.
        """

    @abstractmethod
    def open_session(self, study: Study, token_digest: str, visit: Visit) -> StoredSession:
        """Note that a session was opened again, and apply the study's rules for that (`resume` in `study.yaml`).

        Beyond the rules' bounds the session ends (`StoredSession.ended_for`), or another one is begun by the same
        person in the same group, to which the token then belongs. Otherwise as `resume_session`. A session that is
        over, or of which all is answered, is left as it is. Visits of an uploaded session break no rule: they were
        allowed where it was taken.

        Raises
        ------
        NotYourSession
            If no session belongs to the token.
        StudyFull
            If the place was given to somebody else.
        """

    @abstractmethod
    def resume_session(self, study: Study, session: str) -> None:
        """Note that somebody is here again, and reserve a place again if theirs was released after a time-out.

        Raises
        ------
        StudyFull
            If the place was given to somebody else, and there is no other in the group.
        """

    @abstractmethod
    def release_slot(self, session: str, reason: Release) -> bool:
        """Release a place, reserved or confirmed, by the researcher's decision; return whether there was one.

        Without one nothing changes, unless the reason is one of the study's rules, which then ends the session.
        """

    @abstractmethod
    def exclude_sessions(self, sessions: Sequence[str], reason: str) -> None:
        """Exclude people's sessions from the analysis by the researcher's decision, all of them or none.

        Answers stay. The place of each is released, so that another person is recruited.

        Raises
        ------
        Conflict
            If one is withdrawn, excluded already, or not a person's.
        """

    @abstractmethod
    def include_sessions(self, study: Study, sessions: Sequence[str], reason: str) -> list[SlotState]:
        """Undo `exclude_sessions`; return what each has now: its place again, or none if it was given to another.

        The places are in the order of the sessions' names.

        Raises
        ------
        Conflict
            If one is not excluded.
        """

    @abstractmethod
    def open_group(self, study: Study, group: int, is_open: bool) -> None:
        """Open or close a group for new participants."""

    @abstractmethod
    def sessions_with_code(self, study: Study, completion_code: str) -> list[str]:
        """Return the sessions in this study whose own completion code this is: one or none.

        A code that study.yaml fixes for everyone is nobody's own, and finds no session.
        """

    @abstractmethod
    def sessions_of(self, study: Study, source: str, external_id: str) -> list[SessionFound]:
        """Return the sessions in this study of whom a source (see `Identity`) calls by this id, the oldest first."""

    @abstractmethod
    def session_named(self, study: Study, session: str) -> SessionFound | None:
        """Return the session in this study of this name."""

    @abstractmethod
    def external_id(self, session: str) -> str | None:
        """Return the id by which a panel, a link or a laboratory calls a session's participant; None if unknown."""

    @abstractmethod
    def identities(self, study: Study) -> list[dict[str, Any]]:
        """Return the panel ids of this study with the pseudonyms they belong to; personal data."""

    @abstractmethod
    def delete_identities(self, study: Study, participant: str | None = None) -> int:
        """Delete the panel ids of this study, or one participant's; return how many. Answers are not touched.

        The log of the study says how many were deleted.
        """

    @abstractmethod
    def kept_traces(self) -> list[str]:
        """Return a sentence on each file that may still hold what was deleted; none if all is gone."""

    @abstractmethod
    def add_runs(self, study: Study, runs: Sequence[Run]) -> list[AddedRun]:
        """Store models' runs, all of them or none.

        A run whose very answers are stored already is not stored again; another with the same label gets a number.

        Raises
        ------
        Conflict
            If some answers of a run are stored already, as part of another run.
        """

    @abstractmethod
    def progress(self, study: Study) -> list[GroupProgress]:
        """Return what has become of the sessions of people and simulated participants in this study."""

    @abstractmethod
    def note(self, study: Study | None, access: Access, **details: Any) -> list[int]:
        """Note in a study's log what a researcher did that changes no data.

        The digest that `verify` finds does not depend on these entries, as the data are the same.

        Parameters
        ----------
        study
            The study; None for the whole store, so that the log of each study says it. If this version of the study
            has no log here, it is noted with the version that was registered last.
        access
            What was done.
        details
            Numbers and names that say more; nothing personal.

        Returns
        -------
        list of int
            The number of the entry, in each log; empty if the study was never registered here.
        """

    @abstractmethod
    def events(self, study: Study, since: int = 0, of: Sequence[str] = ()) -> list[LogEvent]:
        """Return the log of this study, oldest first: decisions about places, changes, and accesses.

        Parameters
        ----------
        study
            The study.
        since
            Number of the first entry wanted.
        of
            The events that are wanted; all if empty.
        """

    @abstractmethod
    def registered_definitions(self, study: Study) -> list[RegisteredDefinition]:
        """Return what `study.yaml` said for the sessions of people and simulated participants in this study."""

    @abstractmethod
    def sessions(self, study: Study) -> list[dict[str, Any]]:
        """Return a row for each session of people and simulated participants in this study, without identities."""

    @abstractmethod
    def trials(self, study: Study | None = None) -> list[dict[str, Any]]:
        """Return the rows of the view `trials`, all or one study's."""

    @abstractmethod
    def check(self) -> None:
        """Raise `StoreUnavailable` unless the store could be written to just now."""

    @abstractmethod
    def check_integrity(self) -> None:
        """Check the whole database for damage; takes some seconds for each million answers.

        Raises
        ------
        InputError
            If it is damaged.
        """

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Database]:
        """Lend a connection that sees the store as it is at one moment, whatever is written meanwhile."""

    @abstractmethod
    def filling(self) -> AbstractContextManager[Database]:
        """Lend a connection to fill an empty store in one transaction, undone if the block raises."""

    @abstractmethod
    def close(self) -> None:
        """Finish what is being written and let go of the store."""
