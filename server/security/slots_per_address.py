"""Limit of slots per network address, so that one client cannot fill a study with many invented ids.

The server keeps the network address of each session's start in memory for a day, and neither stores nor logs it. Each
server process counts only the sessions that it has begun.
"""

import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager

from experiment.study.definition import Study
from server.store import Refusal, Store

REMEMBERED_S = 24 * 3600


class SlotsPerAddress:
    """Number of participants with a slot, for each network address.

    Parameters
    ----------
    most
        Largest number of participants from one address who may have a slot at the same time.
    study
        The served study, which defines when a slot times out.
    store
        The store, which knows the sessions with a slot.
    """

    def __init__(self, most: int, study: Study, store: Store) -> None:
        self._most = most
        self._study = study
        self._store = store
        self._sessions: defaultdict[str, set[str]] = defaultdict(set)
        self._begun: deque[tuple[float, str, str]] = deque()
        self._starting: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """The start requests that are running now, for each address. Requests with the same start id count as one."""
        self._lock = threading.Lock()

    @contextmanager
    def one_more(self, address: str, start_id: str) -> Iterator[None]:
        """Raise an error if the address is at its limit; otherwise run the `with` block.

        While the block runs, the start counts as a participant, so that simultaneous starts are counted too. In the
        block, call `add` as soon as the session has begun.

        Raises
        ------
        Refusal
            If the address is at its limit. There is no error for a repeated start whose session was begun from this
            address and still has a slot.
        """
        self._admit(address, start_id)
        try:
            yield
        finally:
            with self._lock:
                starting = self._starting[address]
                starting[start_id] -= 1
                if not starting[start_id]:
                    del starting[start_id]
                if not starting:
                    del self._starting[address]

    def _admit(self, address: str, start_id: str) -> None:
        with self._lock:
            self._forget()
            begun = set(self._sessions.get(address, ()))
            if self._has_room(address, start_id):
                self._starting[address][start_id] += 1
                return
        held = set(self._store.with_slots(self._study, list(begun))) if begun else set()
        is_known = bool(held) and self._store.session_of_start(start_id) in held
        with self._lock:
            if address in self._sessions:
                self._sessions[address] -= begun - held
            if not is_known and not self._has_room(address, start_id):
                raise Refusal("slots_of_address_taken")
            self._starting[address][start_id] += 1

    def _has_room(self, address: str, start_id: str) -> bool:
        starting = self._starting.get(address, Counter[str]())
        return start_id in starting or len(self._sessions.get(address, ())) + len(starting) < self._most

    def add(self, address: str, session: str) -> None:
        """Record that a session was begun from an address."""
        with self._lock:
            self._sessions[address].add(session)
            self._begun.append((time.monotonic(), address, session))

    def _forget(self) -> None:
        while self._begun and self._begun[0][0] < time.monotonic() - REMEMBERED_S:
            _, address, session = self._begun.popleft()
            self._sessions[address].discard(session)
            if not self._sessions[address]:
                del self._sessions[address]
