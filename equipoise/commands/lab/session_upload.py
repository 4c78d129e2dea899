"""Upload of one laboratory session, either after the session or in a thread while the session runs."""

import threading
from collections.abc import Sequence
from enum import Enum

from experiment.lab.progress import plan_of
from experiment.lab.server_client import LabClient
from experiment.lab_api import LabStart, UploadedSession
from experiment.records import Response, Status
from experiment.study.definition import Study
from server.store import Store
from server.store.sql.lab_sessions import LabSessionRecord, lab_session_record

RESPONSES_PER_REQUEST = 50
RETRY_S = 10.0
"""Time from a failed upload to the next attempt, in seconds."""
PATIENCE_S = 20.0
"""Longest wait for the upload at the end of a session, in seconds."""


class WithdrawnOnServerError(Exception):
    """The participant has withdrawn on the server, but not on this machine."""


def upload_session(study: Study, record: LabSessionRecord, server: LabClient, prefix: str = "") -> int:
    """Upload a session. The server does not store a response twice.

    Parameters
    ----------
    study
        The study. The server must serve the same study.
    record
        The session.
    server
        Client of the server, or of the other store, that receives the session.
    prefix
        Text to add before the participant code.

    Returns
    -------
    int
        Number of responses that were new on the server.

    Raises
    ------
    WithdrawnOnServerError
        If the participant has withdrawn on the server, but not on this machine.
    InputError
        If the server refuses the session.
    httpx.HTTPError
        If the server cannot be reached. The server keeps the responses that it has received.
    """
    there = server.start(_start_of(record, prefix))
    if there.status == "withdrawn":
        if record.status is Status.WITHDRAWN:
            return 0
        raise WithdrawnOnServerError
    # If the session has another revision of the study, the digests differ. The server checks the digest of the session.
    if record.content_digest == study.digest:
        plan_of(study, there)
    if there.status == "active" and record.demographics is not None and there.demographics:
        server.send_demographics(there.session, record.demographics)
    if record.status is Status.WITHDRAWN:
        server.withdraw()
        return 0
    known = [response for response in record.responses if response.trial_index < there.next_trial_index]
    new = record.responses[len(known) :]
    # The last response that the server has is sent again. The server refuses the response if it has changed.
    _upload_responses(record, [*known[-1:], *new], server)
    if record.status is Status.COMPLETED and there.status == "active":
        server.complete(record.completed_at)
    return len(new)


def _upload_changes(record: LabSessionRecord, before: LabSessionRecord, server: LabClient) -> None:
    """Upload what changed in a session since `before`. The client of the server must have opened this session."""
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
    """State of the upload of a session that is running."""

    PENDING = "the server may lack something"
    UPLOADING = "an upload of everything in the store is running"
    SYNCED = "the server has everything"
    FAILED = "an upload failed, and the next upload begins after `RETRY_S`"
    CLOSING = "the session is over, and one more upload is due"
    LAST_UPLOAD = "the upload after the end of the session is running"
    COMPLETE = "no further upload; the server has everything"
    INCOMPLETE = "no further upload; the server lacks something"


class UploadEvent(Enum):
    """Event that can change the state of an upload."""

    CHANGE = "something was stored on this machine"
    BEGIN = "an upload begins"
    SUCCESS = "an upload succeeded"
    FAILURE = "an upload failed"
    TIME_OUT = "`RETRY_S` have passed since the last upload failed"
    CLOSE = "nothing more will be stored"


_NEXT = {
    UploadState.PENDING: {
        UploadEvent.BEGIN: UploadState.UPLOADING,
        UploadEvent.CLOSE: UploadState.CLOSING,
    },
    UploadState.UPLOADING: {
        # A change or the close may come too late for this upload. Then the result of this upload is ignored.
        UploadEvent.CHANGE: UploadState.PENDING,
        UploadEvent.CLOSE: UploadState.CLOSING,
        UploadEvent.SUCCESS: UploadState.SYNCED,
        UploadEvent.FAILURE: UploadState.FAILED,
    },
    UploadState.SYNCED: {
        UploadEvent.CHANGE: UploadState.PENDING,
        UploadEvent.CLOSE: UploadState.COMPLETE,
    },
    UploadState.FAILED: {
        UploadEvent.CHANGE: UploadState.PENDING,
        UploadEvent.TIME_OUT: UploadState.PENDING,
        UploadEvent.CLOSE: UploadState.CLOSING,
    },
    UploadState.CLOSING: {UploadEvent.BEGIN: UploadState.LAST_UPLOAD},
    UploadState.LAST_UPLOAD: {
        UploadEvent.CHANGE: UploadState.CLOSING,
        UploadEvent.SUCCESS: UploadState.COMPLETE,
        UploadEvent.FAILURE: UploadState.INCOMPLETE,
    },
    UploadState.COMPLETE: {UploadEvent.CHANGE: UploadState.INCOMPLETE},
    UploadState.INCOMPLETE: {},
}
"""For each state, the next state after each event. An event that is not listed for a state does not change it."""

_DUE = {UploadState.PENDING, UploadState.CLOSING}
_ENDED = {UploadState.COMPLETE, UploadState.INCOMPLETE}


class SessionUpload:
    """Uploads one session in a thread while the session runs.

    Each change in the store causes an upload, and a failed upload is retried after `RETRY_S` seconds. If the server has
    everything, `close` ends the thread at once, otherwise after one more upload.

    Parameters
    ----------
    study, store
        The study, and the store on this machine.
    session
        Name of the session.
    server
        Client of the server that receives the session.
    """

    def __init__(self, study: Study, store: Store, session: str, server: LabClient) -> None:
        self.problem: str | None = None
        """Reason why the last upload failed; None if the last upload succeeded, or if there was no upload."""
        self._study, self._store, self._session, self._server = study, store, session, server
        self._on_server: LabSessionRecord | None = None
        """The content of the session on the server after the last upload; None if the last upload failed."""
        self._state = UploadState.PENDING
        self._changes = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="equipoise-upload", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def changed(self) -> None:
        """Report a change in the store on this machine, so that the thread uploads it."""
        self._move(UploadEvent.CHANGE)

    def close(self) -> None:
        """Request the end of the thread, and return at once.

        If the server does not have everything, the thread first uploads once more.
        """
        self._move(UploadEvent.CLOSE)

    def wait(self) -> bool:
        """Wait at most `PATIENCE_S` seconds for the end of the thread. Return True if the server has everything."""
        if self._thread.ident is not None:  # Otherwise the thread was never started.
            self._thread.join(PATIENCE_S)
        return self._state is UploadState.COMPLETE

    def upload(self) -> None:
        """Upload everything that the server does not have, in the thread of the caller."""
        self._move(UploadEvent.BEGIN)
        try:
            record = self._upload_changes()
        except WithdrawnOnServerError:
            self._move(UploadEvent.FAILURE, problem="the participant has withdrawn on the server")
        except Exception as error:  # No error may end the session or this thread.
            self._move(UploadEvent.FAILURE, problem=str(error))
        else:
            self._move(UploadEvent.SUCCESS, on_server=record)

    def _upload_changes(self) -> LabSessionRecord:
        """Upload the session. Return the session with the content that the server now has."""
        with self._store.snapshot() as db:
            record = lab_session_record(db, self._session)
        if self._on_server is None:
            upload_session(self._study, record, self._server)
        elif record != self._on_server:
            _upload_changes(record, self._on_server, self._server)
        return record

    def _run(self) -> None:
        while self._wait_until_due():
            self.upload()

    def _wait_until_due(self) -> bool:
        """Wait until an upload is due. Return False if the thread must end instead."""
        with self._changes:
            retry_s = RETRY_S if self._state is UploadState.FAILED else None
            if not self._changes.wait_for(lambda: self._state in _DUE | _ENDED, retry_s):
                self._move(UploadEvent.TIME_OUT)
            return self._state in _DUE

    def _move(
        self, event: UploadEvent, *, on_server: LabSessionRecord | None = None, problem: str | None = None
    ) -> None:
        """Change to the state that follows an event. Only this method changes the state."""
        with self._changes:
            self._state = _NEXT[self._state].get(event, self._state)
            if event in {UploadEvent.SUCCESS, UploadEvent.FAILURE}:
                self._on_server, self.problem = on_server, problem
            self._changes.notify()
