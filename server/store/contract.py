"""The interface of every store."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from pydantic import JsonValue

from batteries.items import Item
from experiment.records import Response, Run, TrialAction
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
    Payment,
    PaymentState,
    RegisteredDefinition,
    Release,
    Revision,
    SessionFound,
    SessionPlan,
    SessionStart,
    SlotState,
    StoredAction,
    StoredRun,
    StoredSession,
    Visit,
)
from server.store.researcher_contract import ResearcherStore


class Store(ResearcherStore):
    """A store of studies, plans and append-only responses. All methods may be called from any thread.

    A method that writes returns only when its data are committed and on disk. A method that raises an error has
    written nothing. There is one exception: if the connection to a database breaks during the commit, the data may be
    stored. Responses are never changed, and only a withdrawal deletes responses. `analysis` reads the view `trials`,
    which has one row per planned trial, with the response if there is one.

    Every method raises `StoreUnavailable` if the store cannot be used now.
    """

    @abstractmethod
    def register_study(self, study: Study) -> None:
        """Save the study and its battery in the store, so that the data can be read without the study's folder.

        Raises
        ------
        InputError
            If this version of the study has sessions that began with different content. The message names the
            differences, and states whether `revise_study` can accept them.
        """

    @abstractmethod
    def revise_study(self, study: Study, reason: str) -> Revision:
        """Accept a change of wording in a version that has sessions. Write the change and the reason to the log.

        Groups and slots do not change. A session keeps the content with which it began. Sessions that begin later get
        the new content, if the server was started with it.

        Raises
        ------
        InputError
            If this version has no sessions, if the store has the same content already, or if more than the wording
            changed.
        """

    @abstractmethod
    def changed_since(self, study: Study) -> str | None:
        """Return the names of the changes since the store saved this version of the study; None if nothing changed."""

    @abstractmethod
    def revisions(self, study: Study) -> list[Revision]:
        """Return the accepted changes of wording (revisions) in all versions of this study, the oldest first."""

    @abstractmethod
    def content(self, study: Study, content_digest: str) -> tuple[StudyDefinition, Mapping[str, str]] | None:
        """Return the definition and texts of the content with this digest; None if the study has no such content."""

    @abstractmethod
    def start_session(self, study: Study, start: SessionStart) -> StoredSession:
        """Reserve a slot in a group, and begin a session. The module `server.store.sql.assignment` chooses the group.

        The sessions of one kind in one group have the seeds 1, 2, 3, and so on. So the plans of a study can be made
        again without the data. A seed that an uploaded session already has is not given to a new session.

        A start that is sent twice begins one session. If a participant with the same identity and the same session
        number starts again, the first session is resumed by the study's rules (`open_session`). Then only the token of
        the later start is valid. With a new session number, the participant begins a further session. A participant
        who has withdrawn cannot begin a further session.

        A panel id alone is not enough to resume a session. The client needs one of these proofs: the token of the
        session, the id of the request that began the session, or a signature of the panel that is newer than the last
        visit. If the study does not require signatures, the panel's id of the submission is a proof too.

        An uploaded session (`start.uploaded`) was run with another store, and is stored unchanged. If its group is
        full, the session gets no slot. If the session is uploaded again, even under another laboratory code, the
        client gets the stored session, which may be completed or withdrawn. A repeated upload is not recorded as a
        visit.

        Raises
        ------
        StudyFull
            If there is no free slot.
        BegunElsewhere
            If a session was begun with this panel id, and the client has no proof.
        Conflict
            If this participant has withdrawn from the study, or has completed the session with this number. Also if
            the wanted group is full, does not exist, or is not the group of the session. For an uploaded session, also
            if a different session in the store has the same name, or a different participant has the same laboratory
            code.
        """

    @abstractmethod
    def why_full(self, study: Study) -> StudyFull | None:
        """Return the error for a participant who arrives now, or None if there is a free slot."""

    @abstractmethod
    def require_slot(self, study: Study, identity: Identity, session_number: int, group: int | None) -> int:
        """Return the group that a participant's session in the laboratory has, or would have now. Store nothing.

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
        """Return True if a participant with this identity may resume a session in another browser."""

    @abstractmethod
    def with_slots(self, study: Study, sessions: Sequence[str]) -> list[str]:
        """Return those of the given sessions that have a reserved slot, in any order.

        A slot that has timed out does not count.
        """

    @abstractmethod
    def session_of_start(self, start_id: str) -> str | None:
        """Return the session that the start with this id has begun, or None if there is no such session."""

    @abstractmethod
    def session_on(self, study: Study, identity: Identity, session_number: int) -> StoredSession | None:
        """Return the session with this number that a participant with this identity has begun, or None."""

    @abstractmethod
    def find_plan(self, token_digest: str) -> SessionPlan | None:
        """Return the plan of the session with this token, or None.

        The plan may come from a cache, so the token may have just become invalid. `add_responses` checks that the
        token is valid.
        """

    @abstractmethod
    def responses(self, session: str) -> dict[int, Any]:
        """Return the responses of a session. The keys are trial indices."""

    @abstractmethod
    def add_responses(
        self, session: str, token_digest: str, responses: Sequence[Response], passed_over: range = NOTHING_PASSED_OVER
    ) -> list[bool]:
        """Store responses to the next trials of a session, all of them or none.

        Parameters
        ----------
        session
            Name of the session.
        token_digest
            Digest of the session's token.
        responses
            The responses, in the order of their trials.
        passed_over
            Practice trials before the first trial of `responses` that were skipped, because an earlier round of
            practice was passed.

        Returns
        -------
        list of bool
            For each response, True if it is new, and False if it was stored before with the same `response_id`.

        Raises
        ------
        NotYourSession
            If the token does not belong to the session.
        Conflict
            If a trial is not the next trial of the plan, if the session is over, or if a different response has the
            same `response_id`.
        """

    @abstractmethod
    def actions(self, session: str, trial_index: int) -> list[StoredAction]:
        """Return the actions of a trial of an interactive task, in order."""

    @abstractmethod
    def add_action(
        self,
        session: str,
        token_digest: str,
        action: TrialAction,
        observation: JsonValue,
        passed_over: range = NOTHING_PASSED_OVER,
    ) -> bool:
        """Store the next action of the next trial of a session, with its observation.

        Parameters
        ----------
        session, token_digest, passed_over
            As in `add_responses`.
        action
            The action.
        observation
            The observation, which the participant gets only after this method has returned.

        Returns
        -------
        bool
            True if the action is new, and False if it was stored before with the same `action_id`.

        Raises
        ------
        NotYourSession
            If the token does not belong to the session.
        Conflict
            If the trial is not the next trial of the plan, an earlier action is missing, another window has added
            another action in its place, or the session is over.
        """

    @abstractmethod
    def add_demographics(self, session: str, answers: Mapping[str, Any]) -> bool:
        """Store the answers to the questions about the participant.

        Return True if the answers were stored, and False if the session has answers already.
        """

    @abstractmethod
    def complete_session(
        self, study: Study, session: str, passed_checks: bool, completed_at: datetime | None = None
    ) -> None:
        """Mark a session as completed and confirm its slot; a second call changes nothing.

        Give `completed_at` only for laboratory sessions, which a laboratory may upload after their completion.

        If `passed_checks` is False, the slot is released instead, so that another participant can have it. If the slot
        timed out and another participant has it now, the session is completed without a slot (`surplus` in the log).

        Raises
        ------
        Conflict
            If responses are missing, if the participant has withdrawn, or if `completed_at` is given for a session that
            is not a laboratory session.
        """

    @abstractmethod
    def withdraw_session(self, session: str, by: str | None = None) -> None:
        """Delete a session's responses, release its slot and close the session; a second call changes nothing.

        The responses in the participant's other sessions of the study are deleted too. The log records the withdrawal.
        If a researcher has deleted the responses, `by` is the researcher's name for the log.
        """

    @abstractmethod
    def open_session(self, study: Study, token_digest: str, visit: Visit) -> StoredSession:
        """Record that a session was opened again, and apply the study's rules for resuming (`resume` in `study.yaml`).

        If the session was opened too late or too often, the rules end it (`StoredSession.ended_for`) or replace it.
        The new session has the same participant and the same group. The token then belongs to the new session.
        Otherwise the session is resumed as in `resume_session`. A session that is over is not changed. The rules do
        not apply to sessions that have all responses, or to uploaded sessions.

        Raises
        ------
        NotYourSession
            If the token belongs to no session.
        StudyFull
            If another participant has the slot.
        """

    @abstractmethod
    def resume_session(self, study: Study, session: str) -> None:
        """Record that a participant has come back.

        If the slot was released after a time-out, reserve a slot for the session again.

        Raises
        ------
        StudyFull
            If another participant has the slot, and the group has no free slot.
        """

    @abstractmethod
    def release_slot(self, session: str, reason: Release, by: str | None = None) -> bool:
        """Release a reserved or confirmed slot. Return True if there was a slot.

        If the session has no slot, nothing changes. There is one exception: if the reason is a rule of the study
        (`ENDED_FOR`), the reason is recorded, and the session ends.
        """

    @abstractmethod
    def exclude_sessions(self, sessions: Sequence[str], reason: str, by: str | None = None) -> None:
        """Exclude participants' sessions from the analysis by the researcher's decision, all of them or none.

        The responses stay. The slot of each session is released, so that another participant can have it.

        Raises
        ------
        Conflict
            If a session is withdrawn, excluded already, or not a session of a person.
        """

    @abstractmethod
    def include_sessions(
        self, study: Study, sessions: Sequence[str], reason: str, by: str | None = None
    ) -> list[SlotState]:
        """Undo `exclude_sessions`. Return the present state of each session's slot, in the order of the session names.

        If the group has no free slot now, the slot of the session stays released.

        Raises
        ------
        Conflict
            If a session is not excluded.
        """

    @abstractmethod
    def open_group(self, study: Study, group: int, is_open: bool, by: str | None = None) -> None:
        """Open or close a group for new participants."""

    @abstractmethod
    def extend_quota(self, study: Study, group: int, n_slots: int, by: str | None = None) -> None:
        """Add slots to the quota of a group, and to the quota of the whole study.

        Raises
        ------
        Conflict
            If the study has no quota, if the group does not exist, or if the number is not positive.
        """

    @abstractmethod
    def sessions_with_code(self, study: Study, completion_code: str) -> list[str]:
        """Return the session of this study with this withdrawal code, as a list; empty if there is none.

        A completion code that `study.yaml` sets for all participants belongs to no session.
        """

    @abstractmethod
    def sessions_of(self, study: Study, id_kind: str, external_id: str) -> list[SessionFound]:
        """Return the sessions of the participant with this id, the oldest first."""

    @abstractmethod
    def session_named(self, study: Study, session: str) -> SessionFound | None:
        """Return the session of this study with this name, or None."""

    @abstractmethod
    def external_id(self, session: str) -> str | None:
        """Return the panel id, link token or laboratory code of a session's participant; None if no id is stored."""

    @abstractmethod
    def identities(self, study: Study) -> list[dict[str, Any]]:
        """Return the identities in this study with the pseudonyms of the participants. Identities are personal data."""

    @abstractmethod
    def delete_identities(self, study: Study, participant: str | None = None, by: str | None = None) -> int:
        """Delete the identities of this study, or those of one participant. Return the number of deleted identities.

        The payments of the same participants are deleted too, because they contain ids of the panel. Responses are not
        changed. The log of the study records the number.
        """

    @abstractmethod
    def payments(self, study: Study) -> list[Payment]:
        """Return the recorded payments of this study, the oldest claim first."""

    @abstractmethod
    def claim_payments(self, study: Study, wanted: Sequence[Payment], claim: str) -> list[Payment]:
        """Record that a run of a command will send these payments. Return the payments that the run may send.

        A payment may be sent if the store has no payment of the same participant for the same purpose, if the panel
        refused that payment, or if that payment was claimed and never sent. In the last case, the earlier run loses its
        claim. A payment that was sent is never claimed again. A participant without a stored identity is left out.

        Parameters
        ----------
        study
            The study.
        wanted
            The payments; `state`, `claim` and the times are ignored.
        claim
            Unique name of this run.
        """

    @abstractmethod
    def send_payments(
        self, study: Study, claim: str, purpose: str, participants: Sequence[str], batch: str | None = None
    ) -> bool:
        """Record that a run sends the claimed payments of these participants now.

        A run calls this method before its request. If the method returns False, another run has claimed one of the
        payments since. Then nothing is recorded, and the run must not send its request.
        """

    @abstractmethod
    def settle_payments(
        self, study: Study, claim: str, purpose: str, participants: Sequence[str], state: PaymentState
    ) -> None:
        """Record the outcome, `DONE` or `REFUSED`, of payments that a run has sent."""

    @abstractmethod
    def settle_payment(self, study: Study, payment: Payment, state: PaymentState) -> bool:
        """Record the outcome of one sent payment, as the panel's own list shows it.

        Return False, and record nothing, if the payment has changed since it was read.
        """

    @abstractmethod
    def kept_traces(self) -> list[str]:
        """Return a sentence for each file that may still contain deleted data; empty if there is no such file."""

    @abstractmethod
    def add_runs(self, study: Study, runs: Sequence[Run]) -> list[AddedRun]:
        """Store models' runs, all of them or none.

        A run that is stored already is not stored again. If a different run in the store has the same label, a number
        is added to the label of the new run.

        Raises
        ------
        Conflict
            If some responses of a run are stored already as part of another run. Also if the store has a different
            import of the same model under the same condition.
        """

    @abstractmethod
    def runs(self, study: Study, canary: str | None = None) -> list[StoredRun]:
        """Return the runs of all versions of this study, sorted by label.

        The database counts the responses of each run, because the replies may be larger than the memory.

        Parameters
        ----------
        study
            The study.
        canary
            The battery's canary (a text that marks its data), which is searched for in all replies. Case makes no
            difference.
        """

    @abstractmethod
    def items_of_battery(self, digest_start: str) -> dict[str, Item]:
        """Return the items of the stored battery whose digest begins with `digest_start`; empty if there is none.

        The keys are item ids.
        """

    @abstractmethod
    def progress(self, study: Study) -> list[GroupProgress]:
        """Return the numbers of sessions of people and simulated participants in this study, by status."""

    @abstractmethod
    def note(self, study: Study | None, access: Access, **details: Any) -> list[int]:
        """Record a researcher's action that changes no data in the log of a study.

        The digest that `verify` computes does not depend on such entries.

        Parameters
        ----------
        study
            The study, or None to record the action in the log of each study. If this version of the study has no log,
            the action is recorded in the log of the version that was registered last.
        access
            The action.
        details
            Further numbers and names for the entry. They must not contain personal data.

        Returns
        -------
        list of int
            The number of the entry in each log; empty if the study was never registered in this store.
        """

    @abstractmethod
    def events(self, study: Study, since: int = 0, of: Sequence[str] = ()) -> list[LogEvent]:
        """Return the log of this study, the oldest entry first: decisions about slots, changes, researchers' actions.

        Parameters
        ----------
        study
            The study.
        since
            Number of the first entry to return.
        of
            The kinds of events to return. If empty, all events are returned.
        """

    @abstractmethod
    def registered_definitions(self, study: Study) -> list[RegisteredDefinition]:
        """Return each content of `study.yaml` with which people or simulated participants began this study."""

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
        """Check the whole database for damage. The check takes some seconds for each million responses.

        Raises
        ------
        InputError
            If the database is damaged.
        """

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Database]:
        """Yield a connection that reads the store as it is now, without later changes."""

    @abstractmethod
    def filling(self) -> AbstractContextManager[Database]:
        """Yield a connection that fills an empty store in one transaction. An error in the block undoes all changes."""

    @abstractmethod
    def close(self) -> None:
        """Finish pending writes and close the store."""
