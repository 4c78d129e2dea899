"""Reasons that a researcher writes for a decision. The study's log and the report print them."""

from batteries.errors import InputError

LONGEST_REASON = 500


def checked_reason(reason: str, field: str = "--reason") -> str:
    """Return a reason that can be stored in the log and printed in a report.

    Parameters
    ----------
    reason
        The reason.
    field
        Name of the field or option, for the message.

    Raises
    ------
    InputError
        If the reason is empty, too long, or contains unprintable characters.
    """
    reason = reason.strip()
    if not reason or len(reason) > LONGEST_REASON or not reason.isprintable():
        raise InputError(
            f"{field}: the reason is empty, too long or not on one line. Fix: write one sentence of at most "
            f"{LONGEST_REASON} characters that identifies no person, because the log and the report print the reason."
        )
    return reason
