"""A study in the laboratory: the server's application in this process, its store, and the laboratory's files."""

import os
import re
import secrets
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import httpx

from batteries.errors import InputError
from equipoise.commands.lab_files import LabFiles, delete_withdrawn
from equipoise.commands.lab_sync import SyncingClient, UploadResult, upload_all, upload_withdrawals
from equipoise.commands.store_access import StudyFolder, loaded, store_of
from experiment.lab.hardware.machine_check import LEAST_SIZE_PX, check_machine, report, verdict_of
from experiment.lab.hardware.psychopy_import import require_psychopy
from experiment.lab.requirements import check_device, check_tasks
from experiment.lab.screens.text.fonts import font_for, missing_glyphs, texts_of
from experiment.lab.server_client import LabClient
from experiment.lab.session import LabSession, Visitor, VisitOutcome
from experiment.records import Kind
from experiment.study.definition import Study
from server.app import create_app
from server.laboratory import SOURCE
from server.locations import store_location
from server.security.secret_files import Secrets
from server.settings import read_settings
from server.store import Store

THIS_MACHINE = {"localhost", "127.0.0.1", "::1"}
TOKEN_VARIABLE = "EQUIPOISE_RESEARCHER_TOKEN"  # noqa: S105 - the name of a variable


@dataclass(frozen=True)
class Setup:
    """The machine: the display of the session, and the destination of event codes."""

    monitor: str | None = None
    """A monitor of PsychoPy's Monitor Center."""
    screen: int = 0
    """Number of the screen, from 0."""
    size_px: tuple[int, int] | None = None
    """Size of a window; None for the full screen."""
    trigger: str | None = None
    """Destination of event codes, such as `serial:/dev/ttyUSB0`; see `experiment.lab.hardware.triggers`."""


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


def lab_check(study: StudyFolder | None = None, setup: Setup | None = None) -> tuple[str, bool]:
    """Check this machine for the laboratory.

    Parameters
    ----------
    study
        Study whose letters the fonts must have; None to skip that.
    setup
        The machine.

    Returns
    -------
    tuple of str and bool
        Findings for a technician, and True if the machine can be used.
    """
    setup = setup or Setup()
    study = loaded(study) if study is not None else None
    require_psychopy()
    from experiment.lab.hardware.keys_and_clicks import InputDevices  # noqa: PLC0415 - PsychoPy takes seconds to load
    from experiment.lab.hardware.window import LabWindow  # noqa: PLC0415

    with LabWindow(setup.size_px, screen=setup.screen, monitor=setup.monitor) as window:
        inputs = InputDevices(window)
        if study is None:
            findings = check_machine(window, inputs)
        else:
            findings = check_machine(window, inputs, _missing_glyphs(study), _least_size_px(study))
    return report(findings), verdict_of(findings) != "bad"


def _least_size_px(study: Study) -> tuple[int, int]:
    needs = study.definition.device
    return max(LEAST_SIZE_PX[0], needs.width_px or 0), max(LEAST_SIZE_PX[1], needs.height_px or 0)


def _missing_glyphs(study: Study) -> tuple[str, ...]:
    try:
        font_for(texts_of(study))
    except InputError:
        return missing_glyphs(texts_of(study))
    return ()


def lab_upload(
    study: StudyFolder, server: str | None = None, into: str | None = None, prefix: str = "", store: str | None = None
) -> UploadResult:
    """Upload the laboratory sessions of a store to a server or to another store.

    Parameters
    ----------
    study
        The study.
    server, into
        Target: a server's address, or another store.
    prefix
        Prefix of the participants' codes there.
    store
        The store with the sessions; by default the study's own.

    Raises
    ------
    InputError
        If the server or the store cannot be reached, or target and source are the same.
    """
    if (server is None) == (into is None):
        raise InputError("no target, or two. Fix: name one, with --server or with --into.")
    study = loaded(study)
    here = store_location(study, read_settings(store=store))
    if into is not None and (into == here or Path(into).resolve() == Path(here).resolve()):
        raise InputError(f"--into {into}: this is the store where the sessions are. Fix: name another.")
    with store_of(study, store, must_exist=True) as opened, ExitStack() as stack:
        there = (
            stack.enter_context(remote_client(server)) if server else stack.enter_context(local_client(study, into))[0]
        )
        try:
            uploaded = upload_all(study, opened, there, prefix)
            return replace(uploaded, problem=delete_withdrawn(study, opened))
        except httpx.HTTPError as error:
            raise InputError(
                f"--server {server}: it cannot be reached ({error}); it keeps what it has received, and the rest is "
                "safe here. Fix: try again later."
            ) from None


@contextmanager
def local_client(study: Study, location: str | None) -> Iterator[tuple[LabClient, Store]]:
    """Yield the server's application in this process, and its store."""
    settings = read_settings(store=location)
    with store_of(study, location) as store:
        # The token is only for this process: in a file it would be taken for the server's.
        own = Secrets(secrets.token_urlsafe(), secrets.token_urlsafe())
        app = create_app(study, store, own, settings)
        with httpx.Client(transport=httpx.WSGITransport(app=app), base_url="http://localhost") as client:
            yield LabClient(client, own.researcher_token), store


@contextmanager
def remote_client(server: str) -> Iterator[LabClient]:
    """Yield the client of a server elsewhere.

    Raises
    ------
    InputError
        If the address is not safe for a token, or the researcher's token is unknown.
    """
    try:
        address = httpx.URL(server)
    except httpx.InvalidURL:
        address = httpx.URL()
    if not address.host or address.scheme not in {"http", "https"}:
        raise InputError(f"--server {server}: this is not a server's address. Fix: write https:// and its name.")
    if address.scheme == "http" and address.host not in THIS_MACHINE:
        raise InputError(
            f"--server {server}: without encryption, others on the network could read the researcher's token and "
            "the responses. Fix: use its https:// address, or a tunnel to it from this machine and "
            "http://localhost."
        )
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token:
        raise InputError(
            f"--server {server}: the researcher's token of this server is missing. Fix: set the environment variable "
            f"{TOKEN_VARIABLE} to the content of the file `researcher-token` on the server."
        )
    with httpx.Client(base_url=address, timeout=20) as client:
        yield LabClient(client, token)
