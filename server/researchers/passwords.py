"""Passwords of researchers: the check of a new password, the hash, and the comparison at sign-in.

The hash is argon2id with the parameters of RFC 9106 for little memory (64 MiB), from the library argon2-cffi. A new
password is checked with zxcvbn (Wheeler, 2016), which knows 30,000 common passwords and patterns such as repetitions.
There are no rules on kinds of characters (NIST SP 800-63B, 3.1.1.2).
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from werkzeug.exceptions import TooManyRequests

from batteries.errors import InputError

ADVISED_LENGTH = 15
"""Advised number of characters (ASVS 6.2.1)."""
SHORTEST, LONGEST = 8, 200
WAIT_S = 2.0
"""Longest time for which a browser that has signed in before waits for another check."""
LEAST_SCORE = 3
"""Smallest accepted score of zxcvbn: at least 10^8 guesses."""
CHECKED_LENGTH = 72
"""zxcvbn checks at most this number of characters, because its time grows with the square of the length."""

_hasher = PasswordHasher()
_being_checked = {is_known: threading.BoundedSemaphore() for is_known in (True, False)}
"""Each check of a password needs 64 MiB and a tenth of a second, so checks run one after the other. Browsers that have
signed in before do not wait for other browsers.
"""


def checked_password(password: str, *known_words: str) -> str:
    """Return a new password, if it is hard to guess.

    Parameters
    ----------
    password
        The password.
    known_words
        Words that an attacker would try first, such as the name of the account.

    Raises
    ------
    InputError
        If the password is too short, too long, or easy to guess.
    """
    from zxcvbn import zxcvbn  # noqa: PLC0415 - its lists are large, and the server does not need them

    if not SHORTEST <= len(password) <= LONGEST:
        raise InputError(
            f"the password has {len(password)} characters. Fix: choose {SHORTEST} to {LONGEST} characters; "
            f"{ADVISED_LENGTH} or more are advised."
        )
    found = zxcvbn(password[:CHECKED_LENGTH], user_inputs=list(known_words))
    if found["score"] < LEAST_SCORE:
        raise InputError(
            "this password is common or easy to guess. Fix: choose another password, such as four or more words that "
            "have nothing to do with each other."
        )
    return password


def hash_password(password: str) -> str:
    """Return the salted hash of a password."""
    return _hasher.hash(password)


def is_password(password: str, password_hash: str | None) -> bool:
    """Return True if a password has this hash.

    The time is the same for an unknown account (`password_hash` is None), so that nobody can find out which accounts
    exist.
    """
    try:
        is_right = _hasher.verify(password_hash or _hash_of_nothing(), password[:LONGEST])
    except (VerificationError, InvalidHashError):
        return False
    return is_right and bool(password_hash)


@cache
def _hash_of_nothing() -> str:
    return _hasher.hash("")


@contextmanager
def one_check_at_a_time(is_known: bool) -> Iterator[None]:
    """Check one password in this block. Refuse the request if another request is checking a password.

    Parameters
    ----------
    is_known
        True if the request comes from a browser that has signed in before.

    Raises
    ------
    TooManyRequests
        If another browser of the same kind is signing in just now.
    """
    semaphore = _being_checked[is_known]
    if not semaphore.acquire(timeout=WAIT_S if is_known else 0):
        raise TooManyRequests(retry_after=1)
    try:
        yield
    finally:
        semaphore.release()
