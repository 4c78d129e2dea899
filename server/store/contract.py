"""The interface of every store."""

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
    """Append-only responses with their plans. All methods may be called from any thread.

    A method that writes returns only when its data are committed and on disk. If the method raises, it has written
    nothing. There is one exception: if the connection broke during the commit, a retry may find the work done.
    Responses are never changed; only a withdrawal deletes them. The store publishes one view, `trials`, which
    `analysis` reads: one row per planned trial, with its response if there is one.

    Every method raises `StoreUnavailable` if the store cannot be used now.
    """

    @abstractmethod
    def register_study(self, study: Study) -> None:
        """Record the study and its battery, so that the store is complete without the study's folder.

        Raises
        ------
        InputError
            If this version of the study has sessions that began with another content. The message names the
            differences, and says if `revise_study` could accept them.
        """

    @abstractmethod
    def revise_study(self, study: Study, reason: str) -> Revision:
        """Accept a change of wording in a version that has sessions, and write it to the log with the reason.

        Groups, slots and sessions stay as they are. A session keeps the content that it began with; sessions that begin
        on a server with the revision get the new content.

        Raises
        ------
        InputError
            If this version has no sessions, the content is registered already, or more than its wording changed.
        """

    @abstractmethod
    def changed_since(self, study: Study) -> str | None:
        """Return the changes since this version of the study was registered, by name; None if there are none."""

    @abstractmethod
    def revisions(self, study: Study) -> list[Revision]:
        """Return the revisions of all versions of this study, the oldest revision first."""

    @abstractmethod
    def content(self, study: Study, content_digest: str) -> tuple[StudyDefinition, Mapping[str, str]] | None:
        """Return the definition and texts of a revision of the study that is served, by its digest, or None."""

    @abstractmethod
    def start_session(self, study: Study, start: SessionStart) -> StoredSession:
        """Reserve a slot and begin a session in its group; `server.store.sql.assignment` chooses the group.

        The seed counts the sessions of one kind in one group, so that the plans of a whole study can be made again
        without its data. A seed that an uploaded session has is skipped.

        The same start given twice begins one session. The same identity with the same session number begins one session
        too: the later token is then the valid one, and the study's rules for resuming apply (`open_session`). A panel's
        id alone resumes nothing. The client must hold the session's token, repeat the start that began the session, or
        bring the panel's newer signature or the panel's name of the first submission. With another session number the
        same participant begins another session. A participant who withdrew cannot begin any further session.

        A session that was run elsewhere (`start.uploaded`) is stored unchanged; if its group is full, it gets no slot.
        If the same session is uploaded again, under any code, it is opened in its present state, completed or
        withdrawn; this opening is not a visit.

        Raises
        ------
        StudyFull
            If there is no free slot.
        BegunElsewhere
            If a panel's id has begun a session, and the client does not prove that it belongs to the same participant.
        Conflict
            If this participant has withdrawn from the study, or has completed the session with this number; if the
            wanted group is full, does not exist, or is not the session's; if another session has the uploaded session's
            name, or another participant has its code.
        """

    @abstractmethod
    def why_full(self, study: Study) -> StudyFull | None:
        """Return the refusal for a participant who arrives now, or None if there is a free slot."""

    @abstractmethod
    def require_slot(self, study: Study, identity: Identity, session_number: int, group: int | None) -> None:
        """Refuse a participant in the laboratory now as `start_session` would; nothing is stored.

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
        """Return True if an identity has begun this study and may resume it in another browser (`start_session`)."""

    @abstractmethod
    def with_slots(self, study: Study, sessions: Sequence[str]) -> list[str]:
        """Return those of these sessions whose slot is reserved and has not timed out, in any order."""

    @abstractmethod
    def session_of_start(self, start_id: str) -> str | None:
        """Return the session of a start that is sent again, or None if the start would begin a session."""

    @abstractmethod
    def session_on(self, study: Study, identity: Identity, session_number: int) -> StoredSession | None:
        """Return the session with this number that an identity has begun, or None."""

    @abstractmethod
    def find_plan(self, token_digest: str) -> SessionPlan | None:
        """Return the plan of the session that has, or recently had, this token, or None.

        The plan comes from memory if possible; `add_responses` checks that the token is still valid.
        """

    @abstractmethod
    def responses(self, session: str) -> dict[int, Any]:
        """Return a session's responses by trial index."""

    @abstractmethod
    def add_responses(
        self, session: str, token_digest: str, responses: Sequence[Response], passed_over: range = NOTHING_PASSED_OVER
    ) -> list[bool]:
        """Store responses to the next trials of a session, all of them or none.

        Parameters
        ----------
        session
            Its name.
        token_digest
            Digest of the session's token.
        responses
            The responses, in the order of their trials.
        passed_over
            Trials before the first of `responses` that need no response: rounds of practice after a passed round.

        Returns
        -------
        list of bool
            For each response, True if it is new, False if the same response (by `response_id`) was stored before.

        Raises
        ------
        NotYourSession
            If the token is not the session's.
        Conflict
            If a trial is not the next trial of the plan, the session is over, or an id belongs to another response.
        """

    @abstractmethod
    def add_demographics(self, session: str, answers: Mapping[str, Any]) -> bool:
        """Store the answers about the participant; return True the first time. Later answers are not stored."""

    @abstractmethod
    def complete_session(
        self, study: Study, session: str, passed_checks: bool, completed_at: datetime | None = None
    ) -> None:
        """Mark a session as completed and confirm its slot; idempotent.

        A laboratory session may name its time of completion, because it may be uploaded later.

        With `passed_checks` false the slot is released instead, so that another participant is recruited. If the slot
        was given to another participant after a time-out, the session completes without a slot (`surplus` in the log).

        Raises
        ------
        Conflict
            If responses are missing, if the participant has withdrawn, or if a session that is not a laboratory's names
            its time of completion.
        """

    @abstractmethod
    def withdraw_session(self, session: str, by_researcher: bool = False) -> None:
        """Delete a session's responses, release its slot and close it; idempotent.

        The responses in the participant's other sessions of the study are deleted too. The log records the withdrawal,
        and whether the researcher did it.
        """

    @abstractmethod
    def open_session(self, study: Study, token_digest: str, visit: Visit) -> StoredSession:
        """Record that a session was opened again, and apply the study's rules for that (`resume` in `study.yaml`).

        Beyond the rules' limits the session ends (`StoredSession.ended_for`), or the same participant begins another
        session in the same group, which then has the token. Within the limits, the effect is that of `resume_session`.
        A session that is over, or has all responses, is not changed. Visits of an uploaded session break no rule,
        because they were allowed where the session was run.

        Raises
        ------
        NotYourSession
            If the token belongs to no session.
        StudyFull
            If another participant has the slot.
        """

    @abstractmethod
    def resume_session(self, study: Study, session: str) -> None:
        """Record that a participant is back, and reserve a slot again if the slot was released after a time-out.

        Raises
        ------
        StudyFull
            If another participant has the slot, and the group has no free slot.
        """

    @abstractmethod
    def release_slot(self, session: str, reason: Release) -> bool:
        """Release a reserved or confirmed slot by the researcher's decision; return True if there was a slot.

        If there is no slot, nothing changes, unless the reason is one of the study's rules: such a rule ends the
        session.
        """

    @abstractmethod
    def exclude_sessions(self, sessions: Sequence[str], reason: str) -> None:
        """Exclude participants' sessions from the analysis by the researcher's decision, all of them or none.

        Responses stay. The slot of each is released, so that another participant is recruited.

        Raises
        ------
        Conflict
            If a session is withdrawn, excluded already, or not a person's.
        """

    @abstractmethod
    def include_sessions(self, study: Study, sessions: Sequence[str], reason: str) -> list[SlotState]:
        """Undo `exclude_sessions`; return the present state of each session's slot.

        The states are in the order of the sessions' names. A slot is released if another participant has it now.

        Raises
        ------
        Conflict
            If a session is not excluded.
        """

    @abstractmethod
    def open_group(self, study: Study, group: int, is_open: bool) -> None:
        """Open or close a group for new participants."""

    @abstractmethod
    def sessions_with_code(self, study: Study, completion_code: str) -> list[str]:
        """Return the sessions of this study with this withdrawal code: one session or none.

        A completion code that study.yaml fixes for all participants belongs to no session.
        """

    @abstractmethod
    def sessions_of(self, study: Study, id_kind: str, external_id: str) -> list[SessionFound]:
        """Return the sessions of the participant with this id, the oldest session first; see `Identity`."""

    @abstractmethod
    def session_named(self, study: Study, session: str) -> SessionFound | None:
        """Return the session of this study with this name, or None."""

    @abstractmethod
    def external_id(self, session: str) -> str | None:
        """Return the id of a session's participant at a panel, of a link or in a laboratory; None if unknown."""

    @abstractmethod
    def identities(self, study: Study) -> list[dict[str, Any]]:
        """Return the panel ids of this study with their pseudonyms; personal data."""

    @abstractmethod
    def delete_identities(self, study: Study, participant: str | None = None) -> int:
        """Delete the panel ids of this study, or one participant's; return their number. Responses are not touched.

        The log of the study records the number.
        """

    @abstractmethod
    def kept_traces(self) -> list[str]:
        """Return a sentence for each file that may still contain deleted data; empty if there is no such file."""

    @abstractmethod
    def add_runs(self, study: Study, runs: Sequence[Run]) -> list[AddedRun]:
        """Store models' runs, all of them or none.

        A run whose responses are stored already is not stored again. If another run has the same label, a number is
        added to the label.

        Raises
        ------
        Conflict
            If some responses of a run are stored already, as part of another run.
        """

    @abstractmethod
    def progress(self, study: Study) -> list[GroupProgress]:
        """Return the numbers of sessions of people and simulated participants in this study, by status."""

    @abstractmethod
    def note(self, study: Study | None, access: Access, **details: Any) -> list[int]:
        """Record in a study's log a researcher's action that changes no data.

        The digest that `verify` computes does not depend on these entries, because the data are the same.

        Parameters
        ----------
        study
            The study; None for the whole store, so that the log of each study records the action. If this version of
            the study has no log in the store, the version that was registered last is used.
        access
            The action.
        details
            Further numbers and names; nothing personal.

        Returns
        -------
        list of int
            The number of the entry in each log; empty if the study was never registered in this store.
        """

    @abstractmethod
    def events(self, study: Study, since: int = 0, of: Sequence[str] = ()) -> list[LogEvent]:
        """Return the log of this study, the oldest entry first: decisions about slots, changes, and accesses.

        Parameters
        ----------
        study
            The study.
        since
            Number of the first entry to return.
        of
            The events to return; all events if empty.
        """

    @abstractmethod
    def registered_definitions(self, study: Study) -> list[RegisteredDefinition]:
        """Return the content of `study.yaml` for the sessions of people and simulated participants in this study."""

    @abstractmethod
    def sessions(self, study: Study) -> list[dict[str, Any]]:
        """Return one row for each session of people and simulated participants in this study, without identities."""

    @abstractmethod
    def trials(self, study: Study | None = None) -> list[dict[str, Any]]:
        """Return the rows of the view `trials`, of all studies or of one study."""

    @abstractmethod
    def check(self) -> None:
        """Raise `StoreUnavailable` if the store cannot be written now."""

    @abstractmethod
    def check_integrity(self) -> None:
        """Check the whole database for damage; takes some seconds for each million responses.

        Raises
        ------
        InputError
            If the database is damaged.
        """

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Database]:
        """Yield a connection that sees the store at one moment, whatever is written meanwhile."""

    @abstractmethod
    def filling(self) -> AbstractContextManager[Database]:
        """Yield a connection to fill an empty store in one transaction, which is undone if the block raises."""

    @abstractmethod
    def close(self) -> None:
        """Finish pending writes and close the store."""
