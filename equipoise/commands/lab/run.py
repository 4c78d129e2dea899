"""Run of a participant's session in the laboratory: the window, the store on this machine, and its files."""

import re
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from batteries.errors import InputError
from equipoise.commands.lab.check import Setup
from equipoise.commands.lab.clients import local_client, remote_client
from equipoise.commands.lab.files import LabFiles, delete_withdrawn
from equipoise.commands.lab.syncing_client import SyncingClient
from equipoise.commands.lab.upload import upload_withdrawals
from equipoise.commands.store_access import StudyFolder, loaded
from experiment.lab.hardware.psychopy_import import require_psychopy
from experiment.lab.requirements import check_device, check_tasks
from experiment.lab.server_client import LabClient
from experiment.lab.session import LabSession, Visitor, VisitOutcome
from experiment.records import Kind
from experiment.study.definition import Study
from server.laboratory import SOURCE
from server.store import Store


@dataclass(frozen=True)
class LabVisit:
    """Result of a visit."""

    outcome: VisitOutcome
    table: Path | None
    """PsychoPy's table, if there is one."""
    problem: str | None
    """File that could not be written beside the store; None if all were."""
    waiting_for: str | None
    """Reason why the server lacks something; None if it has everything, or there is no server."""
    withdrawals_waiting_for: str | None
    """Reason why responses of other, withdrawn participants are not deleted on the server yet; None if they are."""


def lab_run(
    study: StudyFolder,
    visitor: Visitor,
    setup: Setup | None = None,
    server: str | None = None,
    store: str | None = None,
    warn: Callable[[str], None] = warnings.warn,
) -> LabVisit:
    """Run one visit of a participant in a PsychoPy window.

    Parameters
    ----------
    study
        The study.
    visitor
        Who comes.
    setup
        The machine.
    server
        Address of a server for uploads during the session; None for no upload.
    store
        The store on this machine; by default the study's own.
    warn
        Receives warnings for the experimenter before the window opens, for instance of a code that looks mistyped.

    Raises
    ------
    InputError
        If PsychoPy is not installed, or the session cannot be begun.
    """
    study, setup = loaded(study), setup or Setup()
    check_tasks(study)
    n_groups = study.definition.design.groups
    if visitor.group is not None and visitor.group > n_groups:
        raise InputError(f"--group {visitor.group}: this group does not exist. Fix: name one from 1 to {n_groups}.")
    if server is not None and visitor.kind is Kind.SIMULATED:
        raise InputError("--rehearsal: a rehearsal stays on this machine. Fix: leave --server out.")
    require_psychopy()
    from experiment.lab.psychopy_display import open_display  # noqa: PLC0415 - PsychoPy takes seconds to load

    opening = open_display(study, setup.monitor, setup.screen, setup.size_px, setup.trigger)
    with ExitStack() as stack:
        there = stack.enter_context(remote_client(server)) if server else None
        here, opened = stack.enter_context(local_client(study, store))
        syncing = SyncingClient(study, opened, here, there) if there else None
        lab_client = syncing or here
        if syncing is not None:
            stack.callback(syncing.close)
        if visitor.kind is Kind.HUMAN:
            _refuse_early(lab_client, visitor)
            _warn_of_typing_errors(study, opened, [here, *([there] if there else [])], visitor, warn)
        withdrawals_waiting_for = upload_withdrawals(study, opened, there) if there else None
        problem = delete_withdrawn(study, opened)
        display, sheet = stack.enter_context(opening)
        check_device(study, display.device)
        files = LabFiles(study, opened, visitor)
        session = LabSession(
            study, lab_client, display, sheet, visitor, files.open_attempt_log, files.write_table, files.delete
        )
        outcome = session.run()
        has_all = syncing is None or syncing.finish()
    waiting_for = None if syncing is None or has_all else syncing.problem or "it took too long"
    return LabVisit(outcome, files.table, files.problem or problem, waiting_for, withdrawals_waiting_for)


def _refuse_early(lab_client: LabClient, visitor: Visitor) -> None:
    """Refuse an ineligible participant before the window opens."""
    lab_client.find(visitor.participant, visitor.occasion)  # Refused if it was run elsewhere.
    lab_client.require_slot(visitor.participant, visitor.occasion, visitor.group)


def _warn_of_typing_errors(
    study: Study, store: Store, lab_clients: Sequence[LabClient], visitor: Visitor, tell: Callable[[str], None]
) -> None:
    """Warn of a likely slip in the code, or in the session's number: it would make two participants of one."""
    code, occasion = visitor.participant, visitor.occasion
    others = {str(one["external_id"]) for one in store.identities(study) if one["source"] == SOURCE}
    if occasion > 1 and not any(_has_begun(lab_client, code, occasion - 1) for lab_client in lab_clients):
        tell(f"Check the code: {code} has no session {occasion - 1} here, and this will be session {occasion}.")
    alike = sorted(other for other in others if _bare(other) == _bare(code))
    if alike and code not in alike:
        tell(f"Check the code: {code} is new here, but there is {' and '.join(alike)}.")


def _has_begun(lab_client: LabClient, code: str, occasion: int) -> bool:
    with suppress(httpx.HTTPError, InputError):  # A session that has begun continues without the server.
        return lab_client.find(code, occasion) is not None
    return False


def _bare(code: str) -> str:
    """Return the part of a code without usual slips: capitals, zeros before numbers, and signs between."""
    return re.sub(r"(?<!\d)0+(?=\d)", "", re.sub(r"[\W_]", "", code.casefold()))
