"""Rate limits for the requests of one session, and for the requests without a session from one network address.

All IPv6 addresses of a network of 64 bits count as one address, because one machine can use all of them. Counts are in
memory for one time window, and are neither stored nor logged. Each server process counts separately. Libraries for
rate limits start threads that remove old counts, which would slow every request. So this module uses no library.
"""

import ipaddress
import math
import threading
import time
from collections import Counter

from flask import request
from werkzeug.exceptions import TooManyRequests

from server.settings import Settings

KEYS_TRIED_PER_MINUTE = 10
"""Largest number of wrong researcher's tokens per minute from one address. Further wrong tokens get status 429."""
PASSWORDS_TRIED_PER_MINUTE = 10
"""Largest number of wrong passwords per minute, from one address or from one known browser. Further attempts get status
429 without a check of the password, because each check takes a tenth of a second.
"""
CODES_TRIED_PER_MINUTE = 20
"""Largest number of wrong withdrawal codes per minute from one address. Further wrong codes get status 429."""
UNPROVEN_CLAIMS_PER_MINUTE = 20
"""Largest number of refusals per minute and address that reveal something about a panel id. A refusal for a missing
proof reveals that the panel id has a session. A refusal because the id is not invited, or because the study is full,
reveals that the id has no session.
"""
IPV6_NETWORK_BITS = 64
"""Number of leading bits of an IPv6 address that identify the network of one customer or machine (RFC 6177, RFC 8981).
"""


def address_key(address: str | None) -> str:
    """Return the key that groups requests from a network address.

    Parameters
    ----------
    address
        The address of the client, such as `request.remote_addr`.

    Returns
    -------
    str
        For an IPv4 address, the address, even if it was written as IPv6 (`::ffff:192.0.2.1`). For any other IPv6
        address, the network of 64 bits. Any other text is returned unchanged.
    """
    try:
        parsed = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return address or ""
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((parsed.packed, IPV6_NETWORK_BITS), strict=False))


class FixedWindow:
    """Counter of events with a limit for each time window. The events of each key are counted separately.

    Parameters
    ----------
    limit
        Largest count in a window.
    window_s
        Length of the window, in seconds.
    """

    def __init__(self, limit: int, window_s: float) -> None:
        self._limit = limit
        self._window_s = window_s
        self._began_at = time.monotonic()
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, key: str) -> None:
        """Count one event of a key. Raise an error if the limit is exceeded.

        Raises
        ------
        TooManyRequests
            If the limit is exceeded. The error contains the time, in seconds, after which the client may try again.
        """
        with self._lock:
            self._renew()
            self._counts[key] += 1
            is_over = self._counts[key] > self._limit
            wait_s = self._began_at + self._window_s - time.monotonic()
        if is_over:
            raise TooManyRequests(retry_after=max(1, math.ceil(wait_s)))

    def has_reached(self, key: str) -> bool:
        """Return True if a key has reached the limit, without counting an event."""
        with self._lock:
            self._renew()
            return self._counts[key] >= self._limit

    def _renew(self) -> None:
        if time.monotonic() - self._began_at >= self._window_s:
            self._began_at = time.monotonic()
            self._counts.clear()


class PeriodicCount:
    """Counter that the caller reports at most once in each time window.

    Parameters
    ----------
    window_s
        Length of the window, in seconds.
    """

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._reported_at = -math.inf
        self._n = 0
        self._lock = threading.Lock()

    def count(self) -> int:
        """Count one event. Return the number of events to report now, or 0 if this time window has a report already.

        After the result 0, the event is part of the next report. If there is no further event, `take_rest` returns its
        number.
        """
        with self._lock:
            self._n += 1
            if time.monotonic() - self._reported_at < self._window_s:
                return 0
            self._reported_at = time.monotonic()
            return self._take()

    def take_rest(self) -> int:
        """Return the number of counted events that are not reported yet. They then count as reported."""
        with self._lock:
            return self._take()

    def put_back(self, number: int) -> None:
        """Add back a number of events, because their report failed."""
        with self._lock:
            self._n += number

    def _take(self) -> int:
        taken, self._n = self._n, 0
        return taken


class RateLimits:
    """The rate limits of one application."""

    def __init__(self, settings: Settings) -> None:
        self._starts = FixedWindow(settings.starts_per_minute, 60)
        self._requests = FixedWindow(settings.requests_per_second, 1)
        self._keys_tried = FixedWindow(KEYS_TRIED_PER_MINUTE, 60)
        self._codes_tried = FixedWindow(CODES_TRIED_PER_MINUTE, 60)
        self._passwords_tried = FixedWindow(PASSWORDS_TRIED_PER_MINUTE, 60)
        self._second_factors_tried = FixedWindow(PASSWORDS_TRIED_PER_MINUTE, 60)
        self.refused_sign_ins = PeriodicCount(3600)
        self._claims = FixedWindow(UNPROVEN_CLAIMS_PER_MINUTE, 60)
        self._claims_looked_up = FixedWindow(UNPROVEN_CLAIMS_PER_MINUTE, 60)

    def count_start(self) -> None:
        """Count a session start from the network address of this request."""
        self._starts.count(address_key(request.remote_addr))

    def count_request(self, session: str) -> None:
        """Count a request of a session."""
        self._requests.count(session)

    def count_wrong_key(self) -> None:
        """Count a wrong researcher's token from the network address of this request.

        Do not call this for the right token.
        """
        self._keys_tried.count(address_key(request.remote_addr))

    def refuse_more_passwords(self, browser: str | None) -> None:
        """Refuse to check a password, after too many wrong passwords from this browser, or from this address.

        Parameters
        ----------
        browser
            Name of a browser that has signed in with the same account before; None for any other browser.
        """
        if self._passwords_tried.has_reached(self._source_of_password(browser)):
            raise TooManyRequests(retry_after=60)

    def count_wrong_password(self, browser: str | None) -> None:
        """Count a wrong password; see `refuse_more_passwords`."""
        self._passwords_tried.count(self._source_of_password(browser))

    def refuse_more_second_factors(self, account: str) -> None:
        """Refuse to check a code, after too many wrong codes with the right password of an account.

        A code has only six digits, so this limit is for all addresses together. Only a person who knows the password
        can reach the limit.
        """
        if self._second_factors_tried.has_reached(account):
            raise TooManyRequests(retry_after=60)

    def count_wrong_second_factor(self, account: str) -> None:
        """Count a wrong code; see `refuse_more_second_factors`."""
        self._second_factors_tried.count(account)

    @staticmethod
    def _source_of_password(browser: str | None) -> str:
        return f"browser {browser}" if browser else address_key(request.remote_addr)

    def count_wrong_code(self) -> None:
        """Count a wrong withdrawal code from the network address of this request. Do not call this for a right code."""
        self._codes_tried.count(address_key(request.remote_addr))

    def refuse_more_starts(self) -> None:
        """Raise an error if the network address of this request has begun too many sessions. Count nothing."""
        self._refuse_at(self._starts)

    def refuse_more_claims(self) -> None:
        """Raise an error if the network address of this request has sent too many panel ids without a proof."""
        self._refuse_at(self._claims)

    def count_unproven_claim(self) -> None:
        """Count a refusal for the network address of this request.

        Call this method only if the refusal revealed whether the study knows or accepts a panel id.
        """
        self._claims.count(address_key(request.remote_addr))

    def may_look_up_claim(self) -> bool:
        """Count a look-up of an unproven panel id. Return False after too many look-ups for this network address.

        These look-ups are counted apart from refusals, so that they never prevent the start of a session.
        """
        try:
            self._claims_looked_up.count(address_key(request.remote_addr))
        except TooManyRequests:
            return False
        return True

    @staticmethod
    def _refuse_at(window: FixedWindow) -> None:
        if window.has_reached(address_key(request.remote_addr)):
            raise TooManyRequests(retry_after=60)
