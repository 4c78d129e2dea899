"""A client that stores a session on this machine, and uploads the session to a server while the session runs."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import TypeVar

import httpx

from batteries.errors import InputError
from equipoise.commands.lab.session_upload import SessionUpload
from experiment.lab.progress import plan_of
from experiment.lab.server_client import LabClient
from experiment.lab_api import Completion, LabStart, OpenSession, SlotReply, TrialFeedback, UploadedSession
from experiment.records import Response
from experiment.study.definition import Study
from server.store import Store

T = TypeVar("T")


class SyncingClient(LabClient):
    """A client that stores a session on this machine, and uploads the session to a server while the session runs.

    The server counts the slots, and assigns the group and the seed. A running session never waits for the network: if
    the server cannot be reached, the session continues. The next visit or `equipoise lab upload` then uploads the
    session.

    Parameters
    ----------
    study
        The study.
    store, here
        The store on this machine, and the client of this store.
    server
        Client of the server.
    """

    def __init__(self, study: Study, store: Store, here: LabClient, server: LabClient) -> None:
        self._study = study
        self._store = store
        self._here = here
        self._server = server
        self._upload: SessionUpload | None = None

    @property
    def problem(self) -> str | None:
        """Reason why the last upload failed; None if the last upload succeeded."""
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
        else:  # The upload of a session that has ended may have been interrupted.
            self._upload = SessionUpload(self._study, self._store, here.session, self._server)
            self._upload.upload()
        return here

    def require_slot(self, participant: str, session_number: int, group: int | None) -> SlotReply:
        if self._here.find(participant, session_number) is not None:
            # A session that has begun continues without the server.
            return self._here.require_slot(participant, session_number, group)
        slot = self._reach(lambda: self._server.require_slot(participant, session_number, group))
        digest = slot.study_digest
        if digest not in {None, self._study.digest}:
            raise InputError(
                f"the study `{self._study.name}` on this machine differs from the server's study (digests "
                f"{self._study.digest[:12]}... and {str(digest)[:12]}...); no session has begun. Fix: use the same "
                "study folder on both machines."
            )
        return slot

    def start(self, start: LabStart) -> OpenSession:
        if self._here.find(start.participant, start.session_number) is None:
            there = self._reach(lambda: self._server.start(start))
            # Refuses a server with another session plan before anything is stored on this machine.
            plan_of(self._study, there)
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
        """Request the end of the upload, and wait up to `PATIENCE_S` seconds.

        Return True if the server has everything.
        """
        if self._upload is None:
            return True
        self._upload.close()
        return self._upload.wait()

    def close(self) -> None:
        """Request the end of the upload, and return at once. The caller then closes the connection to the server."""
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
                f"the server cannot be reached ({error}); no session has begun. Fix: check the connection, or omit "
                "--server and upload the session later with `equipoise lab upload`."
            ) from None


def _run_elsewhere(participant: str, session_number: int) -> InputError:
    return InputError(
        f"--participant {participant}: another machine has this session and its responses. Fix: resume the session on "
        f"that machine, or begin the next session with --session-number {session_number + 1}. For a different person, "
        "use a different code."
    )
