"""The client of the server's HTTP API. The server runs in the same process or on another machine.

The server makes plans and practice feedback, checks responses, and completes and withdraws sessions. For laboratory and
web sessions, the server uses the same code.
"""

from datetime import datetime
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from batteries.errors import InputError
from batteries.files.file_reading import describe
from experiment.lab_api import Completion, LabStart, OpenSession, SessionQuery, SlotQuery, SlotReply, TrialFeedback
from experiment.participant_api import (
    CompletionRequest,
    DemographicsRequest,
    EmptyRequest,
    ResponsesReply,
    ResponsesRequest,
)
from experiment.records import Response

Form = TypeVar("Form", bound=BaseModel)


class NotNow(InputError):
    """The store is unavailable now, for instance because the disk is full. The same request may succeed later."""


class LabClient:
    """Begins a session, sends its responses, and receives feedback.

    Parameters
    ----------
    client
        The HTTP client, which keeps the session's cookie.
    researcher_token
        The token with which the server recognises a laboratory.
    """

    def __init__(self, client: httpx.Client, researcher_token: str) -> None:
        self._client = client
        self._authorization = {"Authorization": f"Bearer {researcher_token}"}

    def find(self, participant: str, session_number: int) -> OpenSession | None:
        """Return the participant's session with this session number, or None if there is none. Nothing is stored."""
        reply = self._get("/api/lab/session", SessionQuery, participant=participant, session_number=session_number)
        return None if reply.status_code == httpx.codes.NOT_FOUND else OpenSession.model_validate(_accepted(reply))

    def require_slot(self, participant: str, session_number: int, group: int | None) -> SlotReply:
        """Raise an InputError if a participant cannot begin or resume a session now. Nothing is stored.

        Returns
        -------
        SlotReply
            The study that the server has, and the group of the session. An older server does not send them.

        Raises
        ------
        InputError
            If there is no free slot, or the participant has completed this session or has withdrawn.
        """
        reply = self._get(
            "/api/lab/slot", SlotQuery, participant=participant, session_number=session_number, group=group
        )
        return SlotReply.model_validate(_accepted(reply))

    def start(self, start: LabStart) -> OpenSession:
        """Begin, resume or upload a session.

        Raises
        ------
        InputError
            If the server refuses; the message comes from the server.
        """
        return OpenSession.model_validate(self._post("/api/lab/session", start))

    def send_demographics(self, session: str, answers: dict[str, str | int | None]) -> None:
        """Send the answers to the questions about the participant."""
        self._post("/api/demographics", _checked(DemographicsRequest, session=session, answers=answers))

    def respond(self, session: str, responses: list[Response]) -> list[TrialFeedback | None]:
        """Send responses. When this method returns, the responses are on disk."""
        body = _checked(ResponsesRequest, session=session, responses=responses)
        reply: ResponsesReply = self._post("/api/responses", body)
        feedback = [each["feedback"] for each in reply["responses"]]
        return [None if each is None else TrialFeedback.model_validate(each) for each in feedback]

    def complete(self, completed_at: datetime | None = None) -> Completion:
        """Complete the session after all its responses are stored. Pass `completed_at` only for an uploaded session."""
        body = _checked(CompletionRequest, completed_at=completed_at)
        return Completion.model_validate(self._post("/api/complete", body))

    def withdraw(self) -> None:
        """Delete the session's responses at the participant's request."""
        self._post("/api/withdraw", EmptyRequest())

    def _get(self, address: str, form: type[SessionQuery], **fields: str | int | None) -> httpx.Response:
        query = _checked(form, **fields).model_dump(exclude_none=True)
        return self._client.get(address, params=query, headers=self._authorization)

    def _post(self, address: str, body: BaseModel) -> Any:
        sent = body.model_dump(mode="json")
        return _accepted(self._client.post(address, json=sent, headers=self._authorization))


def _checked(form: type[Form], **fields: Any) -> Form:
    try:
        return form.model_validate(fields)
    except ValidationError as error:
        raise InputError(describe(error, form)) from None


def _accepted(reply: httpx.Response) -> Any:
    if reply.status_code == httpx.codes.UNAUTHORIZED:
        raise InputError(
            "this session is open in another program, or the participant resumed it on another machine. Fix: "
            "close the session in the other program, and run the same command again."
        )
    try:
        said = reply.json()
        if reply.is_success:
            return said
        sentence = str(said["error"])
    except (ValueError, KeyError, TypeError):
        sentence = (
            f"{reply.url.host} did not reply like an Equipoise server (it sent the HTTP status {reply.status_code} "
            "without a reason). Fix: check the address, and whether this network first shows a page that asks for a "
            "sign-in."
        )
    raise NotNow(sentence) if reply.status_code == httpx.codes.SERVICE_UNAVAILABLE else InputError(sentence)
