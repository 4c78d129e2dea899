"""Withdrawing by the researcher's hand, for a participant who asks for it and cannot do it by themselves."""

from batteries.errors import InputError
from equipoise.commands.lab_files import delete_withdrawn
from equipoise.commands.store_access import SessionSelector, StudyFolder, find_session, loaded, store_of


def withdraw(study: StudyFolder, code: str | None, named: SessionSelector, store: str | None = None) -> list[str]:
    """Delete the answers of one participant, in all their sessions, and the laboratory's files of them.

    Parameters
    ----------
    study
        The study.
    code
        The participant's own code.
    named
        What else names one of their sessions, in place of the code.
    store
        The store; by default what the settings say.

    Returns
    -------
    list of str
        A sentence on each file that may still hold the answers.

    Raises
    ------
    InputError
        If the participant is named by none or several of these, or nobody is known by it.
    """
    if [code, named.session, named.panel_id, named.participant].count(None) != 3:
        raise InputError("name the participant by one of --code, --session, --panel-id and --participant.")
    study = loaded(study)
    with store_of(study, store, must_exist=True) as opened:
        if code is None:
            sessions = [find_session(opened, study, named).session]
        else:
            sessions = opened.sessions_with_code(study, "".join(code.split()).upper())
        if not sessions:
            raise InputError(
                f"no session of this study has {code} as its own code, so nothing was deleted; check the "
                "code with the participant. (A code that study.yaml fixes for everyone names nobody.)"
            )
        for one in sessions:
            opened.withdraw_session(one, by_researcher=True)
        problem, kept = delete_withdrawn(study, opened), opened.kept_traces()
    if problem is not None:
        raise InputError(f"the answers are deleted, but not all files: {problem}")
    return kept
