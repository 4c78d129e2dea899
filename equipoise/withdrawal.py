"""Withdrawing after the end: the completion code is all that still leads from a person to their answers."""

from batteries.errors import InputError
from experiment.study import Study
from server.store import SqliteStore


def withdraw_by_code(study: Study, completion_code: str) -> None:
    """Delete the answers of the session that was given a completion code.

    Raises
    ------
    InputError
        If no session has this code, or several have it because the study fixes one code for everyone.
    """
    if not study.store_path.exists():
        raise InputError(f"{study.store_path}: nothing has been answered yet, so there is nothing to delete.")
    store = SqliteStore(study.store_path)
    try:
        sessions = store.sessions_with_code(completion_code.strip())
        if not sessions:
            raise InputError(f"no session of this study has the code {completion_code}; check it with the participant.")
        if len(sessions) > 1:
            raise InputError(
                f"{len(sessions)} sessions share the code {completion_code}, because study.yaml fixes "
                "`completion_code`; nothing was deleted."
            )
        store.withdraw_session(sessions[0])
    finally:
        store.close()
