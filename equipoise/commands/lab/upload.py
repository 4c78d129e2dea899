"""Upload of all laboratory sessions of a store to a server or to another store; nothing is stored twice."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import httpx

from batteries.errors import InputError
from equipoise.commands.lab.clients import local_client, remote_client
from equipoise.commands.lab.files import delete_withdrawn
from equipoise.commands.lab.session_upload import WithdrawnOnServerError, upload_session
from equipoise.commands.store_access import StoreAddress, StudyFolder, loaded, setting_of, store_of
from equipoise.progress_bar import progress_bar
from experiment.lab.server_client import LabClient
from experiment.records import Status
from experiment.study.definition import Study
from server.locations import store_location
from server.settings import read_settings
from server.store import Store
from server.store.sql.lab_sessions import lab_session_records, n_without_code, versions_of_others


@dataclass(frozen=True)
class UploadResult:
    """Result of an upload of all laboratory sessions of a store."""

    n_sessions: int
    """Number of the store's laboratory sessions that are on the server now."""
    n_new: int
    """Number of responses that were new on the server."""
    n_withdrawn: int
    """Number of sessions withdrawn on the server, whose responses are now deleted on this machine too."""
    n_of_other_versions: dict[str, int]
    """Number of sessions that were not uploaded because they belong to another version of the study, by version."""
    n_without_code: int
    """Number of sessions that were not uploaded because their participant codes were deleted."""
    refused: tuple[str, ...]
    """Reasons why the server refused sessions, one sentence each. Refused sessions remain on this machine."""
    excluded: tuple[str, ...] = ()
    """Sessions that the researcher has excluded on this machine. An exclusion is not uploaded."""
    problem: str | None = None
    """Sentence on a file of a withdrawn session that could not be deleted; None if no deletion failed."""


def lab_upload(
    study: StudyFolder,
    server: str | None = None,
    into: StoreAddress | None = None,
    prefix: str = "",
    store: StoreAddress | None = None,
) -> UploadResult:
    """Upload the laboratory sessions of a store to a server or to another store.

    Parameters
    ----------
    study
        The study.
    server, into
        The target. Give exactly one of these: the address of a server, or another store.
    prefix
        Text to add before each participant code.
    store
        The store with the sessions; by default the store of the study folder.

    Returns
    -------
    UploadResult
        The numbers of uploaded sessions and of withdrawn sessions, and the reason of each refusal.

    Raises
    ------
    InputError
        If there is not exactly one target, if it cannot be reached, or if `into` is the store with the sessions.
    """
    if (server is None) == (into is None):
        raise InputError(
            "the target of the upload is missing, or two targets are given. Fix: give either --server or --into."
        )
    study = loaded(study)
    here = store_location(study, read_settings(store=setting_of(store)))
    if into is not None and (str(into) == here or Path(into).resolve() == Path(here).resolve()):
        raise InputError(f"--into {into}: this is the store whose sessions are uploaded. Fix: choose another store.")
    with store_of(study, store, must_exist=True) as opened, ExitStack() as stack:
        there = (
            stack.enter_context(remote_client(server)) if server else stack.enter_context(local_client(study, into))[0]
        )
        try:
            uploaded = upload_all(study, opened, there, prefix)
            return replace(uploaded, problem=delete_withdrawn(study, opened))
        except httpx.HTTPError as error:
            raise InputError(
                f"--server {server}: the server cannot be reached ({error}). The responses are stored on this machine. "
                "Fix: repeat the upload later."
            ) from None


def upload_all(study: Study, store: Store, server: LabClient, prefix: str = "") -> UploadResult:
    """Upload all laboratory sessions of a store. A refused session does not stop the upload of other sessions.

    The responses of a participant who has withdrawn on the server are deleted on this machine too.
    """
    with store.snapshot() as db:
        sessions, others = lab_session_records(db, study), versions_of_others(db, study)
        without_code = n_without_code(db, study)
    n_new, n_withdrawn, refused = 0, 0, []
    with progress_bar("Uploading", len(sessions)) as advance:
        for record in sessions:
            try:
                n_new += upload_session(study, record, server, prefix)
            except WithdrawnOnServerError:
                store.withdraw_session(record.session)
                n_withdrawn += 1
            except InputError as error:
                refused.append(f"{record.code}, session {record.session_number}: {error}")
            advance()
    excluded = tuple(record.session for record in sessions if record.excluded_reason is not None)
    return UploadResult(
        len(sessions) - len(refused), n_new, n_withdrawn, others, without_code, tuple(refused), excluded
    )


def upload_withdrawals(study: Study, store: Store, server: LabClient) -> str | None:
    """Delete from the server the responses of all participants who have withdrawn on this machine.

    Returns
    -------
    str or None
        Reason why a deletion failed; None if no deletion failed.
    """
    with store.snapshot() as db:
        withdrawn = [record for record in lab_session_records(db, study) if record.status is Status.WITHDRAWN]
    problem = None
    for record in withdrawn:
        try:
            upload_session(study, record, server)
        except httpx.HTTPError as error:  # The next request would fail too, and a participant is waiting.
            return str(error)
        except InputError as error:
            problem = f"{record.code}, session {record.session_number}: {error}"
    return problem
