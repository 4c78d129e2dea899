"""Withdrawing by the researcher's hand, for a participant who asks for it and cannot do it by themselves."""

from batteries.errors import InputError
from equipoise.stores import find_session, store_of
from experiment.study import Study


def withdraw(
    study: Study,
    code: str | None = None,
    session: str | None = None,
    panel_id: str | None = None,
    location: str | None = None,
) -> None:
    """Delete the answers of one participant.

    Parameters
    ----------
    study
        The study.
    code
        The participant's own code.
    session, panel_id
        The session's name, or the panel's id of the person, in place of the code.
    location
        The store; by default what the settings say.

    Raises
    ------
    InputError
        If none or several of code, session and panel id are given, or nobody is known by it.
    """
    if [code, session, panel_id].count(None) != 2:
        raise InputError("name the participant by one of --code, --session and --panel-id.")
    with store_of(study, location, must_exist=True) as store:
        if code is None:
            store.withdraw_session(find_session(store, study, session, panel_id).session)
            return
        sessions = store.sessions_with_code(study, "".join(code.split()).upper())
        if not sessions:
            raise InputError(
                f"no session of this study has {code} as its own code, so nothing was deleted; check the "
                "code with the participant. (A code that study.yaml fixes for everyone names nobody.)"
            )
        for one in sessions:
            store.withdraw_session(one)
