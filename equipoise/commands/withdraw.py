"""Withdrawal by the researcher, for a participant who asks for it."""

from batteries.errors import InputError
from equipoise.commands.lab.files import delete_withdrawn
from equipoise.commands.store_access import SessionSelector, StudyFolder, find_session, loaded, store_of


def withdraw(study: StudyFolder, code: str | None, named: SessionSelector, store: str | None = None) -> list[str]:
    """Delete the responses of one participant, in all their sessions, and the laboratory's files of them.

    Parameters
    ----------
    study
        The study.
    code
        The participant's withdrawal code.
    named
        Another name of one of their sessions, instead of the code.
    store
        The store; by default the store in the settings.

    Returns
    -------
    list of str
        One sentence for each file that may still hold the responses.

    Raises
    ------
    InputError
        If not exactly one of these names the participant, or no participant has this name.
    """
    if [code, named.session, named.panel_id, named.participant].count(None) != 3:
        raise InputError(
            "no participant is named, or several are. Fix: name one by --code, --session, --panel-id or --participant."
        )
    study = loaded(study)
    with store_of(study, store, must_exist=True) as opened:
        if code is None:
            sessions = [find_session(opened, study, named).session]
        else:
            sessions = opened.sessions_with_code(study, "".join(code.split()).upper())
        if not sessions:
            raise InputError(
                f"no session of this study has the withdrawal code {code}, so nothing was deleted. Fix: check the "
                "code with the participant. (A completion code in study.yaml is the same for everyone and names no "
                "one.)"
            )
        for one in sessions:
            opened.withdraw_session(one, by_researcher=True)
        problem, kept = delete_withdrawn(study, opened), opened.kept_traces()
    if problem is not None:
        raise InputError(f"the responses are deleted, but not all files: {problem}")
    return kept
