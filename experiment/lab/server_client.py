"""The laboratory's way to where answers go: the server's HTTP interface, in the same process or over a network.

So plans, practice, checks of answers, completion and withdrawal are the server's for everyone, and there is no second
of their kind here.
"""

from datetime import datetime
from typing import Any, Literal

import httpx
from pydantic import BaseModel, ConfigDict, JsonValue

from batteries.errors import InputError
from experiment.plan import Phase
from experiment.records import Response
from experiment.study.demographics import Question


class _Received(BaseModel):
    """What the server sends; what is new to us in it does not matter."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Ended(_Received):
    """Why a session cannot be gone on with, by the study's rules."""

    message: str
    withdrawal_code: str | None


class Practice(_Received):
    """What a finished round of practice leads to."""

    correct: int
    needed: int
    next_trial_index: int
    ended: Ended | None


class Feedback(_Received):
    """What is said of a practice trial, after its answer."""

    correct: bool
    message: str
    solution: JsonValue
    practice: Practice | None = None


class Completion(_Received):
    """What somebody gets who has answered everything."""

    completion_code: str
    withdrawal_code: str | None


class StoredTrial(_Received):
    """A trial of the plan that is stored with a session."""

    phase: Phase
    content: dict[str, JsonValue]
    """Of the item that is shown."""


class OpenSession(_Received):
    """A session as far as it has come."""

    session: str
    status: Literal["active", "completed", "withdrawn", "ended"]
    participant: str
    """The pseudonym."""
    group: int
    seed: int
    started_at: datetime
    own_code: str
    visit: int
    demographics: tuple[Question, ...]
    next_trial_index: int
    trials: tuple[StoredTrial, ...]
    message: str | None = None
    withdrawal_code: str | None = None


class NotNow(InputError):
    """Something cannot be stored at the moment, as on a full disk, and may be handed in again as it is."""


class Desk:
    """Where a session is begun, its answers are handed in, and feedback is given.

    Parameters
    ----------
    client
        Speaks to the server; keeps the session's cookie.
    researcher_token
        Shows that a laboratory asks, and not just anybody.
    """

    def __init__(self, client: httpx.Client, researcher_token: str) -> None:
        self._client = client
        self._authorization = {"Authorization": f"Bearer {researcher_token}"}

    def find(self, participant: str, occasion: int) -> OpenSession | None:
        """Return the session that somebody has begun here, or None; nothing is stored."""
        who: dict[str, str | int] = {"participant": participant, "occasion": occasion}
        reply = self._client.get("/api/lab/session", params=who, headers=self._authorization)
        return None if reply.status_code == httpx.codes.NOT_FOUND else OpenSession.model_validate(_accepted(reply))

    def require_place(self, participant: str, occasion: int, group: int | None) -> None:
        """Refuse somebody who comes now and cannot begin or go on; nothing is stored.

        Raises
        ------
        InputError
            If there is no place, in the group that is wanted, they have withdrawn, or have had this session.
        """
        asked: dict[str, str | int] = {"participant": participant, "occasion": occasion}
        asked |= {} if group is None else {"group": group}
        _accepted(self._client.get("/api/lab/place", params=asked, headers=self._authorization))

    def start(self, start: dict[str, JsonValue]) -> OpenSession:
        """Begin a session, or go on with one; see `server.laboratory` for what a start says.

        Raises
        ------
        InputError
            If the server refuses; the message is the server's.
        """
        return OpenSession.model_validate(self._post("/api/lab/session", start))

    def answer_about_person(self, session: str, answers: dict[str, str | int | None]) -> None:
        """Hand in what somebody says about themselves."""
        self._post("/api/demographics", {"session": session, "answers": dict(answers)})

    def respond(self, session: str, responses: list[Response]) -> list[Feedback | None]:
        """Hand in answers; once this returns they are on disk."""
        body = {"session": session, "responses": [each.model_dump(mode="json") for each in responses]}
        stored = self._post("/api/responses", body)["responses"]
        return [each["feedback"] and Feedback.model_validate(each["feedback"]) for each in stored]

    def complete(self, completed_at: datetime | None = None) -> Completion:
        """Close the session, whose answers are all there; one that was taken elsewhere says when it was completed."""
        body = {"completed_at": completed_at.isoformat()} if completed_at else {}
        return Completion.model_validate(self._post("/api/complete", body))

    def withdraw(self) -> None:
        """Have the session's answers deleted, as the participant asks."""
        self._post("/api/withdraw", {})

    def _post(self, address: str, body: dict[str, Any]) -> Any:
        return _accepted(self._client.post(address, json=body, headers=self._authorization))


def _accepted(reply: httpx.Response) -> Any:
    if reply.status_code == httpx.codes.UNAUTHORIZED:
        raise InputError(
            "This session is open in another program, another window or a `lab send`, or its participant has gone on "
            "elsewhere; close that one, and run the same command again."
        )
    try:
        said = reply.json()
        if reply.is_success:
            return said
        sentence = str(said["error"])
    except (ValueError, KeyError, TypeError):
        sentence = (
            f"what answers at {reply.url.host} is no server of Equipoise (status {reply.status_code}, and no reason); "
            "look whether the address is right, and whether the network wants you to log in."
        )
    raise NotNow(sentence) if reply.status_code == httpx.codes.SERVICE_UNAVAILABLE else InputError(sentence)
