"""Rate limits: by session for its requests, by network address for what needs no session.

Counts are kept in memory for the length of their window, and neither stored nor logged. Each server process counts for
itself. (Libraries for this start threads to forget old counts, at a cost that each answer would pay; here a new window
forgets all of the last one.)
"""

import math
import threading
import time
from collections import Counter

from flask import request
from werkzeug.exceptions import TooManyRequests

from server.settings import Settings

KEYS_TRIED_PER_MINUTE = 10
"""Wrong researcher's links from one address."""
CODES_TRIED_PER_MINUTE = 20
"""Wrong codes for a withdrawal from one address; a code has 40 bits."""


class FixedWindow:
    """Counts up to a limit in each window of time, for everybody apart.

    Parameters
    ----------
    limit
        Most that is allowed in a window.
    window_s
        Its length, in seconds.
    """

    def __init__(self, limit: int, window_s: float) -> None:
        self._limit = limit
        self._window_s = window_s
        self._began_at = time.monotonic()
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, who: str) -> None:
        """Count one, and refuse it if it is over the limit.

        Raises
        ------
        TooManyRequests
            With the time, in seconds, after which to try again.
        """
        with self._lock:
            self._renew()
            self._counts[who] += 1
        self._refuse_over(self._limit, who)

    def refuse_if_reached(self, who: str) -> None:
        """Refuse, without counting, whoever has reached the limit."""
        with self._lock:
            self._renew()
        self._refuse_over(self._limit - 1, who)

    def _renew(self) -> None:
        if time.monotonic() - self._began_at >= self._window_s:
            self._began_at = time.monotonic()
            self._counts.clear()

    def _refuse_over(self, limit: int, who: str) -> None:
        if self._counts[who] > limit:
            wait_s = self._began_at + self._window_s - time.monotonic()
            raise TooManyRequests(retry_after=max(1, math.ceil(wait_s)))


class RateLimits:
    """The limits of one application."""

    def __init__(self, settings: Settings) -> None:
        self._starts = FixedWindow(settings.starts_per_minute, 60)
        self._requests = FixedWindow(settings.requests_per_second, 1)
        self._keys_tried = FixedWindow(KEYS_TRIED_PER_MINUTE, 60)
        self._codes_tried = FixedWindow(CODES_TRIED_PER_MINUTE, 60)

    def count_start(self) -> None:
        """Count a session that is begun from this request's address."""
        self._starts.count(request.remote_addr or "")

    def count_request(self, session: str) -> None:
        """Count a request of a session."""
        self._requests.count(session)

    def refuse_guessing(self) -> None:
        """Refuse a researcher's link from an address that has tried too many wrong ones."""
        self._keys_tried.refuse_if_reached(request.remote_addr or "")

    def count_wrong_key(self) -> None:
        """Count a wrong researcher's link from this request's address."""
        self._keys_tried.count(request.remote_addr or "")

    def refuse_guessing_codes(self) -> None:
        """Refuse a withdrawal from an address that has tried too many wrong codes."""
        self._codes_tried.refuse_if_reached(request.remote_addr or "")

    def count_wrong_code(self) -> None:
        """Count a wrong code from this request's address."""
        self._codes_tried.count(request.remote_addr or "")
