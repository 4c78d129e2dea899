"""Withdrawing after the end: the completion code is all that still leads from a person to their answers."""

from batteries.errors import InputError
from equipoise.stores import store_of
from experiment.study import Study


def withdraw_by_code(study: Study, completion_code: str, location: str | None = None) -> None:
    """Delete the answers of the session that was given a completion code.

    Raises
    ------
    InputError
        If no session has this code as its own, as where the study fixes one code for everyone.
    """
    with store_of(study, location, must_exist=True) as store:
        sessions = store.sessions_with_code(study, "".join(completion_code.split()).upper())
        if not sessions:
            raise InputError(
                f"no session of this study has {completion_code} as its own code, so nothing was deleted; check the "
                "code with the participant. (A `completion_code` that study.yaml fixes for everyone names nobody.)"
            )
        for session in sessions:
            store.withdraw_session(session)
