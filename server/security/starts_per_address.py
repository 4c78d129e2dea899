"""Places by network address: nobody fills a study alone, by beginning under one made-up id after the other.

Which address began which session is known in memory only, for a day, and neither stored nor logged. Each server process
counts the sessions that began with it. Which of them still have a place is the store's to say.
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
    """The people of each network address who hold a place.

    Parameters
    ----------
    most
        How many people of one address may hold a place at the same time.
    study
        The study served; says when a place times out.
    store
        Knows which sessions have a place.
    """

    def __init__(self, most: int, study: Study, store: Store) -> None:
        self._most = most
        self._study = study
        self._store = store
        self._sessions: defaultdict[str, set[str]] = defaultdict(set)
        self._begun: deque[tuple[float, str, str]] = deque()
        self._starting: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """Of each address, the ids of the starts that are under way: how often each was sent."""
        self._lock = threading.Lock()

    @contextmanager
    def one_more(self, address: str, start_id: str) -> Iterator[None]:
        """Refuse one more person from an address where as many as may hold a place; else count them for the block.

        Call `add` in the block once the session has begun: starts that come at the same time are counted too.

        Raises
        ------
        Refusal
            If they do, and this start leads to none of their sessions; a repeated start is not a further participant.
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
                raise Refusal("places_of_address_taken")
            self._starting[address][start_id] += 1

    def _has_room(self, address: str, start_id: str) -> bool:
        starting = self._starting.get(address, Counter[str]())
        return start_id in starting or len(self._sessions.get(address, ())) + len(starting) < self._most

    def add(self, address: str, session: str) -> None:
        """Remember that a session was begun from an address."""
        with self._lock:
            self._sessions[address].add(session)
            self._begun.append((time.monotonic(), address, session))

    def _forget(self) -> None:
        while self._begun and self._begun[0][0] < time.monotonic() - REMEMBERED_S:
            _, address, session = self._begun.popleft()
            self._sessions[address].discard(session)
            if not self._sessions[address]:
                del self._sessions[address]
