"""`equipoise withdraw`: delete the responses of a participant who asks the researcher for the deletion."""

from batteries.errors import InputError
from equipoise.commands.coding.codes import coding_studies_with
from equipoise.commands.lab.files import delete_withdrawn
from equipoise.commands.store_access import (
    BY_COMMAND,
    SessionSelector,
    StoreAddress,
    StudyFolder,
    find_session,
    loaded,
    store_of,
)


def withdraw(
    study: StudyFolder,
    code: str | None = None,
    *,
    session: str | None = None,
    panel_id: str | None = None,
    participant: str | None = None,
    store: StoreAddress | None = None,
) -> list[str]:
    """Delete the responses of one participant in all their sessions, and the laboratory's files of these sessions.

    Parameters
    ----------
    study
        The study or its folder.
    code
        The participant's withdrawal code.
    session, panel_id, participant
        Instead of `code`: the name of one of the participant's sessions, the panel id, or the laboratory's code for the
        participant.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.

    Returns
    -------
    list of str
        One sentence for each file that may still contain responses of the participant.

    Raises
    ------
    InputError
        If no code or name is given, if several are given, or if no participant has this code or name.
    """
    if [code, session, panel_id, participant].count(None) != 3:
        raise InputError(
            "no participant is named, or several participants are named. Fix: give one of --code, --session, "
            "--panel-id and --participant."
        )
    study = loaded(study)
    with store_of(study, store, must_exist=True) as opened:
        if code is None:
            named = SessionSelector(session, panel_id, participant)
            sessions = [find_session(opened, study, named).session]
        else:
            sessions = opened.sessions_with_code(study, "".join(code.split()).upper())
        if not sessions:
            raise InputError(
                f"no session of this study has the withdrawal code {code}, so nothing was deleted. Fix: check the "
                "code with the participant. A completion code in study.yaml is not a withdrawal code, because all "
                "participants have the same completion code."
            )
        for one in sessions:
            opened.withdraw_session(one, by=BY_COMMAND)
        problem, kept = delete_withdrawn(study, opened), opened.kept_traces()
    if problem is not None:
        raise InputError(f"the responses are deleted, but a file is not deleted: {problem}")
    return [*kept, *coding_studies_with(study, set(sessions))]
