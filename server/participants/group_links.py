"""Links that assign their participants to one counterbalance group, with a signature of the server.

Without a signature, a participant could choose the group by changing the link.
"""

from experiment.study.definition import Study
from server.security.signatures import sign, signed_value


def group_token(study: Study, signing_key: str, group: int) -> str:
    """Return the value of the parameter `group` in the link of a group."""
    return sign(signing_key, _purpose(study), str(group))


def group_of(study: Study, signing_key: str, token: str) -> int | None:
    """Return the group that a link names; None if the signature is invalid, or if the study has no such group."""
    value = signed_value(signing_key, _purpose(study), token)
    if value is None or not value.isdecimal():
        return None
    group = int(value)
    return group if 1 <= group <= study.definition.n_groups else None


def _purpose(study: Study) -> str:
    return f"group {study.name}"
