"""Laboratory sessions on their way to another store: handed on while they are taken, or later, and never twice."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

import httpx
from pydantic import JsonValue

from batteries.errors import InputError
from equipoise.progress_bar import progress_bar
from experiment.lab.progress import plan_of
from experiment.lab.server_client import Completion, Desk, Feedback, OpenSession
from experiment.records import Response, Status
from experiment.study.definition import Study
from server.store import Store
from server.store.sql.lab_sessions import (
    TakenSession,
    n_without_code,
    taken_session,
    taken_sessions,
    versions_of_others,
)

AT_ONCE = 50
RETRY_S = 10.0
PATIENCE_S = 20.0
"""How long a session waits at its end for what is still on its way."""

T = TypeVar("T")


def _taken_elsewhere(participant: str, occasion: int) -> InputError:
    return InputError(
        f"--participant {participant}: this session was taken at another machine, and its answers are there; if this "
        "is somebody else, give another code; else go on at that machine, or begin a further session with "
        f"--session {occasion + 1}."
    )


class WithdrawnThereError(Exception):
    """The participant has had the answers deleted where they were to be handed on to."""


def hand_on(study: Study, taken: TakenSession, desk: Desk, prefix: str = "") -> int:
    """Give a session that was taken elsewhere to a desk: what it has already is not given again.

    Parameters
    ----------
    study
        The study; the desk must serve the very same.
    taken
        The session.
    desk
        Where it goes.
    prefix
        What is put before the participant's code there.

    Returns
    -------
    int
        How many answers were new there.

    Raises
    ------
    WithdrawnThereError
        If the participant has withdrawn there, but not here.
    InputError
        If the desk refuses.
    httpx.HTTPError
        If it cannot be reached; what it has by then it keeps.
    """
    there = desk.start(_start_of(taken, prefix))
    if there.status == "withdrawn":
        if taken.status is Status.WITHDRAWN:
            return 0
        raise WithdrawnThereError
    if taken.content_digest == study.digest:  # else it began with another wording; the server knows that digest too
        plan_of(study, there)
    if there.status == "active" and taken.demographics is not None and there.demographics:
        desk.answer_about_person(there.session, taken.demographics)
    if taken.status is Status.WITHDRAWN:
        desk.withdraw()
        return 0
    known = [response for response in taken.responses if response.trial_index < there.next_trial_index]
    new = taken.responses[len(known) :]
    # The last of those that are there goes too: one that was given elsewhere in its place is refused, and so told of.
    _hand_in(taken, [*known[-1:], *new], desk)
    if taken.status is Status.COMPLETED and there.status == "active":
        desk.complete(taken.completed_at)
    return len(new)


def _hand_on_news(taken: TakenSession, before: TakenSession, desk: Desk) -> None:
    """Give what a session has got since to a desk that has it open, and has all that was there before."""
    if before.demographics is None and taken.demographics is not None:
        desk.answer_about_person(taken.session, taken.demographics)
    if taken.status is Status.WITHDRAWN:
        desk.withdraw()
        return
    _hand_in(taken, taken.responses[len(before.responses) :], desk)
    if taken.status is Status.COMPLETED:
        desk.complete(taken.completed_at)


def _hand_in(taken: TakenSession, responses: Sequence[Response], desk: Desk) -> None:
    for first in range(0, len(responses), AT_ONCE):
        desk.respond(taken.session, list(responses[first : first + AT_ONCE]))


@dataclass(frozen=True)
class HandedOn:
    """What became of sessions that were handed on."""

    n_sessions: int
    """Those that are there now."""
    n_new: int
    """Answers that were new there."""
    n_withdrawn: int
    """Sessions that were withdrawn there, and whose answers are deleted here now."""
    n_of_other_versions: dict[str, int]
    """Sessions of other versions of the study, which were not looked at, by version."""
    n_without_code: int
    """Sessions whose participants' codes were deleted here, so that nobody can say whose they are; not handed on."""
    refused: tuple[str, ...]
    """Why others are not, a sentence for each; they are kept where they are."""
    excluded: tuple[str, ...] = ()
    """Sessions among them that the researcher has excluded here; a server does not hear of that."""
    problem: str | None = None
    """Which file of a withdrawn session could not be deleted here; None if all are."""


def hand_on_all(study: Study, store: Store, desk: Desk, prefix: str = "") -> HandedOn:
    """Hand on all laboratory sessions of a store; one that is refused does not keep the others back.

    What a participant has withdrawn there is deleted here too.
    """
    with store.snapshot() as db:
        sessions, others = taken_sessions(db, study), versions_of_others(db, study)
        nameless = n_without_code(db, study)
    n_new, n_withdrawn, refused = 0, 0, []
    with progress_bar("Handing on", len(sessions)) as advance:
        for taken in sessions:
            try:
                n_new += hand_on(study, taken, desk, prefix)
            except WithdrawnThereError:
                store.withdraw_session(taken.session)
                n_withdrawn += 1
            except InputError as error:
                refused.append(f"{taken.code}, session {taken.occasion}: {error}")
            advance()
    excluded = tuple(taken.session for taken in sessions if taken.excluded_reason is not None)
    return HandedOn(len(sessions) - len(refused), n_new, n_withdrawn, others, nameless, tuple(refused), excluded)


def hand_on_withdrawals(study: Study, store: Store, desk: Desk) -> str | None:
    """Have the answers of all who have withdrawn here deleted at a desk too, where that was cut off at the time.

    Returns
    -------
    str or None
        Why that could not be seen to for all of them; None if they are deleted there.
    """
    with store.snapshot() as db:
        withdrawn = [taken for taken in taken_sessions(db, study) if taken.status is Status.WITHDRAWN]
    problem = None
    for taken in withdrawn:
        try:
            hand_on(study, taken, desk)
        except httpx.HTTPError as error:  # nor will the next come through, and somebody waits
            return str(error)
        except InputError as error:
            problem = f"{taken.code}, session {taken.occasion}: {error}"
    return problem


def _start_of(taken: TakenSession, prefix: str) -> dict[str, JsonValue]:
    return {
        "start_id": taken.start_id,
        "consent_digest": taken.consent_digest,
        "study_digest": taken.content_digest,
        "participant": f"{prefix}{taken.code}",
        "occasion": taken.occasion,
        "group": None,
        "kind": taken.kind,
        "device": taken.device.model_dump(mode="json") if taken.device else None,
        "adopt": {
            "session": taken.session,
            "participant": taken.participant,
            "group": taken.group,
            "seed": taken.seed,
            "started_at": taken.started_at.isoformat(),
            "own_code": taken.own_code,
            "is_withdrawn": taken.status is Status.WITHDRAWN,
        },
    }


class Relay(Desk):
    """A desk on this machine that hands on to a server elsewhere what it has taken; the network keeps nobody waiting.

    Group and order come from the server, so that its places are the ones that count. If it cannot be reached later, all
    is kept here, and is handed on with the next visit or by `equipoise lab send`.

    Parameters
    ----------
    study, store, here
        The study, and the store and the desk on this machine.
    there
        The server's.
    """

    def __init__(self, study: Study, store: Store, here: Desk, there: Desk) -> None:
        self._study = study
        self._store = store
        self._here = here
        self._there = there
        self._session: str | None = None
        self._there_now: TakenSession | None = None
        """The session as the server has it, if that is known, and open there."""
        self.problem: str | None = None
        """Why something could not be handed on, the last time."""
        self._news = threading.Event()
        self._is_over = False

    def find(self, participant: str, occasion: int) -> OpenSession | None:
        here = self._here.find(participant, occasion)
        if here is None:
            there = self._reach(lambda: self._there.find(participant, occasion))
            if there is not None and there.next_trial_index > 0:
                raise _taken_elsewhere(participant, occasion)
            return None
        if here.status == "active":
            there = None
            with suppress(httpx.HTTPError, InputError):  # what was begun goes on without the server, too
                there = self._there.find(participant, occasion)
            is_same = there is not None and there.session == here.session
            if there is not None and is_same and there.next_trial_index > here.next_trial_index:
                raise _taken_elsewhere(participant, occasion)
        else:
            self._hand_on_once(here.session)  # it may have broken off at its end, before all was handed on
        return here

    def require_place(self, participant: str, occasion: int, group: int | None) -> None:
        if self._here.find(participant, occasion) is None:
            self._reach(lambda: self._there.require_place(participant, occasion, group))
        else:  # what was begun goes on without the server, too
            self._here.require_place(participant, occasion, group)

    def start(self, start: dict[str, JsonValue]) -> OpenSession:
        if self._here.find(str(start["participant"]), int(str(start["occasion"]))) is None:
            there = self._reach(lambda: self._there.start(start))
            plan_of(self._study, there)  # refused before anything is stored here if the server makes another plan
            adopt: dict[str, JsonValue] = {
                "session": there.session,
                "participant": there.participant,
                "group": there.group,
                "seed": there.seed,
                "started_at": there.started_at.isoformat(),
                "own_code": there.own_code,
            }
            start = start | {"adopt": adopt, "group": None}
        session = self._here.start(start)
        self._session, self._there_now = session.session, None
        self._thread = threading.Thread(target=self._hand_on, args=[self._session], name="equipoise-relay", daemon=True)
        self._thread.start()
        self._news.set()
        return session

    def answer_about_person(self, session: str, answers: dict[str, str | int | None]) -> None:
        self._here.answer_about_person(session, answers)
        self._news.set()

    def respond(self, session: str, responses: list[Response]) -> list[Feedback | None]:
        stored = self._here.respond(session, responses)
        self._news.set()
        return stored

    def complete(self, completed_at: datetime | None = None) -> Completion:
        completion = self._here.complete(completed_at)
        self._news.set()
        return completion

    def withdraw(self) -> None:
        self._here.withdraw()
        self._news.set()

    def finish(self) -> bool:
        """Wait a while for what is on its way; return whether the server has all that is here."""
        self._is_over = True
        self._news.set()
        if self._session is None:
            return True
        self._thread.join(PATIENCE_S)
        return not self._thread.is_alive() and self._there_now is not None

    def stop(self) -> None:
        """Wait for nothing more, as the network's client is closed now; `finish` comes before."""
        self._is_over = True
        self._news.set()

    def _hand_on(self, session: str) -> None:
        while True:
            self._news.wait(RETRY_S)
            self._news.clear()
            is_over = self._is_over  # asked before what is here is read, so that nothing comes after the last look
            self._hand_on_once(session)
            if is_over:
                return

    def _hand_on_once(self, session: str) -> None:
        before, self._there_now = self._there_now, None  # after whatever fails, all is looked at anew
        try:
            taken = self._taken(session)
            if before is None:
                hand_on(self._study, taken, self._there)
            elif taken != before:
                _hand_on_news(taken, before, self._there)
            self._there_now = taken
        except WithdrawnThereError:
            self.problem = "it was withdrawn there"
        except Exception as error:  # whatever it is, it must not end the session, nor this thread
            self.problem = str(error)

    def _taken(self, session: str) -> TakenSession:
        with self._store.snapshot() as db:
            return taken_session(db, session)

    def _reach(self, request: Callable[[], T]) -> T:
        try:
            return request()
        except httpx.HTTPError as error:
            raise InputError(
                f"the server cannot be reached ({error}); nothing was begun. Mend the connection, or leave --server "
                "out and hand the session on later with `equipoise lab send`."
            ) from None
