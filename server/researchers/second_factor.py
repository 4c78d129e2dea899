"""The second factor of researchers: codes that change every 30 seconds (TOTP, RFC 6238), from the library pyotp."""

import hmac
import time

import pyotp

STEP_S = 30
"""Length of a time step, in seconds."""
ACCEPTED_STEPS = (-1, 0, 1)
"""Time steps whose codes are accepted, relative to the present step: clocks differ, and typing takes time."""


def new_secret() -> str:
    """Return a new random secret of 160 bits, in base 32."""
    return pyotp.random_base32()


def enrolment_uri(secret: str, account: str, study: str) -> str:
    """Return the address with which an authenticator app learns a secret (Key Uri Format)."""
    return pyotp.TOTP(secret).provisioning_uri(name=account, issuer_name=f"Equipoise {study}")


def time_step_of(secret: str, code: str, at: float | None = None) -> int | None:
    """Return the number of the time step to which a code belongs; None if the code is wrong.

    Parameters
    ----------
    secret
        The secret of the account, in base 32.
    code
        The code that the researcher entered: 6 digits; spaces do not matter.
    at
        Time in seconds since 1970; by default the present time.
    """
    totp = pyotp.TOTP(secret, interval=STEP_S)
    present = int((time.time() if at is None else at) // STEP_S)
    given = "".join(code.split()).encode()
    found = None
    for offset in ACCEPTED_STEPS:  # Always all, so that the time reveals nothing.
        if hmac.compare_digest(totp.generate_otp(present + offset).encode(), given):
            found = present + offset
    return found
