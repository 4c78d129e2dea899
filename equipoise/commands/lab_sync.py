"""Upload of laboratory sessions to a server or another store: during a session or later; nothing is stored twice."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import TypeVar

import httpx

from batteries.errors import InputError
from equipoise.progress_bar import progress_bar
from experiment.lab.progress import plan_of
from experiment.lab.server_client import LabClient
from experiment.lab_api import Completion, LabStart, OpenSession, TrialFeedback, UploadedSession
from experiment.records import Response, Status
from experiment.study.definition import Study
from server.store import Store
from server.store.sql.lab_sessions import (
    LabSessionRecord,
    lab_session_record,
    lab_session_records,
    n_without_code,
    versions_of_others,
)

RESPONSES_PER_REQUEST = 50
RETRY_S = 10.0
PATIENCE_S = 20.0
"""Longest wait for the upload at the end of a session."""

T = TypeVar("T")


class WithdrawnOnServerError(Exception):
    """The participant has withdrawn on the server, but not on this machine."""


def upload_session(study: Study, record: LabSessionRecord, server: LabClient, prefix: str = "") -> int:
    """Upload a session; responses that the server has are not stored again.

    Parameters
    ----------
    study
        The study; the server must serve the same.
    record
        The session.
    server
        The target.
    prefix
        Prefix of the participant's code there.

    Returns
    -------
    int
        Number of new responses there.

    Raises
    ------
    WithdrawnOnServerError
        If the participant has withdrawn there, but not here.
    InputError
        If the server refuses.
    httpx.HTTPError
        If the server cannot be reached; it keeps what it has received.
    """
    there = server.start(_start_of(record, prefix))
    if there.status == "withdrawn":
        if record.status is Status.WITHDRAWN:
            return 0
        raise WithdrawnOnServerError
    # Otherwise it began with another revision, whose digest the server knows.
    if record.content_digest == study.digest:
        plan_of(study, there)
    if there.status == "active" and record.demographics is not None and there.demographics:
        server.send_demographics(there.session, record.demographics)
    if record.status is Status.WITHDRAWN:
        server.withdraw()
        return 0
    known = [response for response in record.responses if response.trial_index < there.next_trial_index]
    new = record.responses[len(known) :]
    # The last known response is sent too: the server refuses it if another response was stored in its place.
    _upload_responses(record, [*known[-1:], *new], server)
    if record.status is Status.COMPLETED and there.status == "active":
        server.complete(record.completed_at)
    return len(new)


def _upload_changes(record: LabSessionRecord, before: LabSessionRecord, server: LabClient) -> None:
    """Upload the changes of a session since `before`, to a server that has it open."""
    if before.demographics is None and record.demographics is not None:
        server.send_demographics(record.session, record.demographics)
    if record.status is Status.WITHDRAWN:
        server.withdraw()
        return
    _upload_responses(record, record.responses[len(before.responses) :], server)
    if record.status is Status.COMPLETED:
        server.complete(record.completed_at)


def _upload_responses(record: LabSessionRecord, responses: Sequence[Response], server: LabClient) -> None:
    for first in range(0, len(responses), RESPONSES_PER_REQUEST):
        server.respond(record.session, list(responses[first : first + RESPONSES_PER_REQUEST]))


@dataclass(frozen=True)
class UploadResult:
    """The result of uploading all laboratory sessions of a store."""

    n_sessions: int
    """Sessions that the server has now."""
    n_new: int
    """Responses that were new there."""
    n_withdrawn: int
    """Sessions that were withdrawn there, and whose responses are deleted here now."""
    n_of_other_versions: dict[str, int]
    """Sessions of other versions of the study, by version; they were not uploaded."""
    n_without_code: int
    """Sessions whose participants' codes were deleted here; they were not uploaded."""
    refused: tuple[str, ...]
    """Reasons why the server refused other sessions, a sentence for each; these stay here."""
    excluded: tuple[str, ...] = ()
    """Uploaded sessions that the researcher has excluded here; the exclusion is not uploaded."""
    problem: str | None = None
    """File of a withdrawn session that could not be deleted here; None if all are deleted."""


def upload_all(study: Study, store: Store, server: LabClient, prefix: str = "") -> UploadResult:
    """Upload all laboratory sessions of a store; a refused session does not stop the others.

    The responses of a participant who has withdrawn there are deleted here too.
    """
    with store.snapshot() as db:
        sessions, others = lab_session_records(db, study), versions_of_others(db, study)
        without_code = n_without_code(db, study)
    n_new, n_withdrawn, refused = 0, 0, []
    with progress_bar("Uploading", len(sessions)) as advance:
        for record in sessions:
            try:
                n_new += upload_session(study, record, server, prefix)
            except WithdrawnOnServerError:
                store.withdraw_session(record.session)
                n_withdrawn += 1
            except InputError as error:
                refused.append(f"{record.code}, session {record.session_number}: {error}")
            advance()
    excluded = tuple(record.session for record in sessions if record.excluded_reason is not None)
    return UploadResult(
        len(sessions) - len(refused), n_new, n_withdrawn, others, without_code, tuple(refused), excluded
    )


def upload_withdrawals(study: Study, store: Store, server: LabClient) -> str | None:
    """Delete on the server the responses of all participants who have withdrawn here.

    Returns
    -------
    str or None
        Why that failed for some of them; None if all are deleted there.
    """
    with store.snapshot() as db:
        withdrawn = [record for record in lab_session_records(db, study) if record.status is Status.WITHDRAWN]
    problem = None
    for record in withdrawn:
        try:
            upload_session(study, record, server)
        except httpx.HTTPError as error:  # The next would fail too, and a participant waits.
            return str(error)
        except InputError as error:
            problem = f"{record.code}, session {record.session_number}: {error}"
    return problem


def _start_of(record: LabSessionRecord, prefix: str) -> LabStart:
    return LabStart(
        start_id=record.start_id,
        consent_digest=record.consent_digest,
        study_digest=record.content_digest,
        participant=f"{prefix}{record.code}",
        session_number=record.session_number,
        kind=record.kind,
        device=record.device,
        uploaded=UploadedSession(
            session=record.session,
            participant=record.participant,
            group=record.group,
            seed=record.seed,
            started_at=record.started_at,
            withdrawal_code=record.withdrawal_code,
            is_withdrawn=record.status is Status.WITHDRAWN,
        ),
    )


class UploadState(Enum):
    """State of a running session's upload."""

    PENDING = "the server may lack something"
    UPLOADING = "an upload is running"
    SYNCED = "the server has everything"
    FAILED = "the last upload failed"


class SessionUpload:
    """Uploads one session while it runs, in a thread of its own.

    Each change makes the upload pending; then it is uploading, and synced or failed. A change during an upload makes
    it pending again, and a failed one is tried again after `RETRY_S`. `close` ends it after one more upload.

    Parameters
    ----------
    study, store
        The study, and the store on this machine.
    session
        Name of the session.
    server
        Where it is uploaded to.
    """

    def __init__(self, study: Study, store: Store, session: str, server: LabClient) -> None:
        self.problem: str | None = None
        """Reason why the last upload failed."""
        self._study, self._store, self._session, self._server = study, store, session, server
        self._on_server: LabSessionRecord | None = None
        """The session as the server has it; None if that is not known."""
        self._state = UploadState.PENDING
        self._is_closing = False
        self._changes = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="equipoise-upload", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def changed(self) -> None:
        """Upload the changes in this store."""
        with self._changes:
            self._state = UploadState.PENDING
            self._changes.notify()

    def close(self) -> None:
        """End the thread after one more upload, without waiting for it."""
        with self._changes:
            self._is_closing = True
            self._changes.notify()

    def wait(self) -> bool:
        """Wait `PATIENCE_S` for the thread to end; return True if the server has everything."""
        if self._thread.ident is not None:  # Otherwise it was never started.
            self._thread.join(PATIENCE_S)
        return not self._thread.is_alive() and self._state is UploadState.SYNCED

    def upload(self) -> None:
        """Upload what the server lacks, in the thread of the caller."""
        with self._changes:
            self._state = UploadState.UPLOADING
        is_done = self._try()
        with self._changes:
            if self._state is UploadState.UPLOADING:  # Otherwise something has changed meanwhile.
                self._state = UploadState.SYNCED if is_done else UploadState.FAILED

    def _run(self) -> None:
        is_last = False
        while not is_last:
            with self._changes:
                self._changes.wait_for(lambda: self._is_closing or self._state is UploadState.PENDING, RETRY_S)
                is_last = self._is_closing  # Read before the session, so that nothing is stored after the last upload.
            self.upload()

    def _try(self) -> bool:
        before, self._on_server = self._on_server, None  # After a failure, the server is asked for its state.
        try:
            with self._store.snapshot() as db:
                record = lab_session_record(db, self._session)
            if before is None:
                upload_session(self._study, record, self._server)
            elif record != before:
                _upload_changes(record, before, self._server)
        except WithdrawnOnServerError:
            self.problem = "it was withdrawn there"
            return False
        except Exception as error:  # No error may end the session or this thread.
            self.problem = str(error)
            return False
        self._on_server = record
        return True


class SyncingClient(LabClient):
    """A client of this machine's store that uploads the session to a server while it runs.

    Group and seed come from the server, which counts the slots. The session never waits for the network: if the server
    cannot be reached, the session continues, and is uploaded with the next visit or by `equipoise lab upload`.

    Parameters
    ----------
    study, store, here
        The study, and the store and its client on this machine.
    server
        The server's client.
    """

    def __init__(self, study: Study, store: Store, here: LabClient, server: LabClient) -> None:
        self._study = study
        self._store = store
        self._here = here
        self._server = server
        self._upload: SessionUpload | None = None

    @property
    def problem(self) -> str | None:
        """Reason why the last upload failed."""
        return self._upload.problem if self._upload else None

    def find(self, participant: str, session_number: int) -> OpenSession | None:
        here = self._here.find(participant, session_number)
        if here is None:
            there = self._reach(lambda: self._server.find(participant, session_number))
            if there is not None and there.next_trial_index > 0:
                raise _run_elsewhere(participant, session_number)
            return None
        if here.status == "active":
            there = None
            with suppress(httpx.HTTPError, InputError):  # A session that has begun continues without the server.
                there = self._server.find(participant, session_number)
            is_same = there is not None and there.session == here.session
            if there is not None and is_same and there.next_trial_index > here.next_trial_index:
                raise _run_elsewhere(participant, session_number)
        else:  # Its upload may have been interrupted.
            self._upload = SessionUpload(self._study, self._store, here.session, self._server)
            self._upload.upload()
        return here

    def require_slot(self, participant: str, session_number: int, group: int | None) -> None:
        if self._here.find(participant, session_number) is None:
            self._reach(lambda: self._server.require_slot(participant, session_number, group))
        else:  # A session that has begun continues without the server.
            self._here.require_slot(participant, session_number, group)

    def start(self, start: LabStart) -> OpenSession:
        if self._here.find(start.participant, start.session_number) is None:
            there = self._reach(lambda: self._server.start(start))
            plan_of(self._study, there)  # Refused before anything is stored here if the server's plan differs.
            uploaded = UploadedSession(
                session=there.session,
                participant=there.participant,
                group=there.group,
                seed=there.seed,
                started_at=there.started_at,
                withdrawal_code=there.withdrawal_code,
            )
            start = start.model_copy(update={"uploaded": uploaded, "group": None})
        session = self._here.start(start)
        self._upload = SessionUpload(self._study, self._store, session.session, self._server)
        self._upload.start()
        return session

    def send_demographics(self, session: str, answers: dict[str, str | int | None]) -> None:
        self._here.send_demographics(session, answers)
        self._changed()

    def respond(self, session: str, responses: list[Response]) -> list[TrialFeedback | None]:
        stored = self._here.respond(session, responses)
        self._changed()
        return stored

    def complete(self, completed_at: datetime | None = None) -> Completion:
        completion = self._here.complete(completed_at)
        self._changed()
        return completion

    def withdraw(self) -> None:
        self._here.withdraw()
        self._changed()

    def finish(self) -> bool:
        """Wait for the upload; return True if the server has everything."""
        if self._upload is None:
            return True
        self._upload.close()
        return self._upload.wait()

    def close(self) -> None:
        """End the upload without waiting for it, because its connection is closed now."""
        if self._upload is not None:
            self._upload.close()

    def _changed(self) -> None:
        if self._upload is not None:
            self._upload.changed()

    def _reach(self, request: Callable[[], T]) -> T:
        try:
            return request()
        except httpx.HTTPError as error:
            raise InputError(
                f"the server cannot be reached ({error}); no session was begun. Fix: check the connection, or leave "
                "--server out and upload the session later with `equipoise lab upload`."
            ) from None


def _run_elsewhere(participant: str, session_number: int) -> InputError:
    return InputError(
        f"--participant {participant}: another machine has this session and its responses. Fix: continue there, begin "
        f"a further session with --session-number {session_number + 1}, or use another code if this is another person."
    )
