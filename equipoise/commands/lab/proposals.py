"""The sessions that can begin in the laboratory, and warnings on likely typing errors in participant codes."""

import re
from collections.abc import Sequence
from contextlib import suppress

import httpx

from batteries.errors import InputError
from experiment.lab.server_client import LabClient
from experiment.lab.start_dialog import Proposal
from experiment.lab.visitor import Visitor
from experiment.lab_api import MAX_SESSION_NUMBER, OpenSession
from experiment.records import Kind
from experiment.study.definition import Study
from server.store import LAB, Store


class Proposals:
    """The sessions of a study that can begin.

    Parameters
    ----------
    study, store
        The study, and the store on this machine.
    lab_client
        The client with which sessions begin.
    lab_clients
        The clients of all places with earlier sessions: of the store on this machine, and of the server if there is
        one.
    """

    def __init__(self, study: Study, store: Store, lab_client: LabClient, lab_clients: Sequence[LabClient]) -> None:
        self._study, self._store = study, store
        self._client, self._all_clients = lab_client, lab_clients

    def propose(self, participant: str, session_number: int | None, group: int | None, kind: Kind) -> Proposal:
        """Propose a session of a participant; see `experiment.lab.start_dialog.Propose`."""
        visitor = Visitor(participant, session_number or 1, group, kind)
        try:
            if kind is Kind.SIMULATED:  # Each rehearsal is a new session, in a group that is known when it begins.
                self._all_clients[0].find(participant, visitor.session_number)  # Refuses an invalid code.
                return Proposal(visitor, group=group)
            visitor = Visitor(participant, session_number or self._next_number(participant), group)
            begun = self._begun(participant, visitor.session_number)
            group = self.require_slot(visitor)
        except InputError as error:
            return Proposal(visitor, problem=str(error))
        return Proposal(visitor, begun is not None, group, self.typing_errors(visitor))

    def require_slot(self, visitor: Visitor) -> int | None:
        """Return the group that the session has or would have now.

        Raises
        ------
        InputError
            If the participant cannot begin or resume the session.
        """
        who = visitor.participant, visitor.session_number
        begun = self._client.find(*who)  # Refuses another machine's session.
        if begun is not None and begun.status == "active":
            self._refuse_excluded(begun, visitor)
        return self._client.require_slot(*who, visitor.group).group

    def typing_errors(self, visitor: Visitor) -> list[str]:
        """Return a sentence for each likely typing error in the participant code or the session number.

        After such an error, the store could contain one person as two participants.
        """
        doubts = []
        code, session_number = visitor.participant, visitor.session_number
        others = {str(one["external_id"]) for one in self._store.identities(self._study) if one["id_kind"] == LAB}
        if session_number > 1 and self._begun(code, session_number - 1) is None:
            doubts.append(
                f"Check the code: {code} has no session {session_number - 1}, and this will be session "
                f"{session_number}."
            )
        alike = sorted(other for other in others if _bare(other) == _bare(code))
        if alike and code not in alike:
            doubts.append(f"Check the code: {code} is new, but the store has {' and '.join(alike)}.")
        return doubts

    def _refuse_excluded(self, begun: OpenSession, visitor: Visitor) -> None:
        """Refuse to resume a session that the researcher has excluded, for instance because of a wrong code."""
        found, code = self._store.session_named(self._study, begun.session), visitor.participant
        if found is not None and found.excluded_reason is not None:
            raise InputError(
                f"session {visitor.session_number} of {code} is excluded ({found.excluded_reason}). Fix: if this is "
                f"another person, use another code, such as {code}b; if not, run `equipoise exclude "
                f"{self._study.folder} --session {begun.session} --reason REASON --undo` first."
            )

    def _next_number(self, participant: str) -> int:
        """Return the number of the participant's interrupted session, or else of the next session."""
        for number in range(1, MAX_SESSION_NUMBER):
            begun = self._begun(participant, number)
            if begun is None or begun.status == "active":
                return number
        return MAX_SESSION_NUMBER

    def _begun(self, participant: str, session_number: int) -> OpenSession | None:
        for lab_client in self._all_clients:
            with suppress(httpx.HTTPError, InputError):  # Without the server, the store on this machine decides.
                if begun := lab_client.find(participant, session_number):
                    return begun
        return None


def _bare(code: str) -> str:
    """Return a code in small letters, without signs and leading zeros, so that similar codes become equal."""
    return re.sub(r"(?<!\d)0+(?=\d)", "", re.sub(r"[\W_]", "", code.casefold()))
