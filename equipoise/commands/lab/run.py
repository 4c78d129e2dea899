"""`equipoise lab run`: open the window and the store, run a participant's session, and write the session's files."""

import warnings
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from batteries.errors import InputError
from equipoise.commands.lab.check import Setup
from equipoise.commands.lab.clients import local_client, remote_client
from equipoise.commands.lab.files import LabFiles, delete_withdrawn
from equipoise.commands.lab.proposals import Proposals
from equipoise.commands.lab.syncing_client import SyncingClient
from equipoise.commands.lab.upload import upload_withdrawals
from equipoise.commands.store_access import StoreAddress, StudyFolder, loaded
from experiment.lab.frame_durations import durations_warning
from experiment.lab.hardware.devices import Devices
from experiment.lab.hardware.eye_tracker import EyeTracker
from experiment.lab.hardware.eye_tracker_settings import read_eye_tracker
from experiment.lab.hardware.psychopy_import import require_psychopy
from experiment.lab.hardware.response_box.box_text import BoxText, read_box
from experiment.lab.hardware.scanner import Scanner, read_scanner
from experiment.lab.requirements import check_box, check_device, check_media, check_tasks
from experiment.lab.session import LabSession
from experiment.lab.start_dialog import StartDialog
from experiment.lab.timing_summary import (
    MachineTiming,
    TrialTiming,
    before_the_visit,
    trial_timing,
)
from experiment.lab.visitor import Visitor, VisitOutcome
from experiment.lab_api import OpenSession
from experiment.plan import Trial
from experiment.records import Kind
from experiment.study.definition import Study
from server.store import Store, StoreUnavailable
from server.store.sql.lab_sessions import trials_of


@dataclass(frozen=True)
class LabVisit:
    """Result of a participant's visit."""

    visitor: Visitor
    """The participant and the session number."""
    outcome: VisitOutcome
    table: Path | None
    """File of PsychoPy's table; None if there is no table."""
    eye_file: Path | None
    """File with the data of the eye tracker; None if there is none."""
    problem: str | None
    """Sentence on a laboratory file that could not be written or deleted; None if no write or deletion failed."""
    waiting_for: str | None
    """Reason why the upload is incomplete; None if the server has all responses, or if no server was given."""
    withdrawals_waiting_for: str | None
    """Reason why the server has not deleted the responses of participants who withdrew earlier.

    None if the server has deleted all these responses, or if no server was given.
    """
    machine_timing: MachineTiming
    """Timing of fixations and key presses on this machine."""
    n_early_pulses: int
    """Number of pulses of the scanner before the program began to wait for the scanner; 0 without a scanner."""
    trial_timing: TrialTiming | None
    """The actual timing of the visit's trials; None if no trial is stored."""


def lab_run(
    study: StudyFolder,
    visitor: Visitor | None = None,
    setup: Setup | None = None,
    server: str | None = None,
    store: StoreAddress | None = None,
    warn: Callable[[str], None] = warnings.warn,
    may_begin: Callable[[], bool] = lambda: True,
    inform: Callable[[str], None] = print,
    show_status: Callable[[str], None] | None = None,
) -> LabVisit:
    """Run one visit of a participant in a PsychoPy window.

    Parameters
    ----------
    study
        The study.
    visitor
        The participant and the session number; None to ask the experimenter in the window.
    setup
        The display, the destination of event codes, the response box, and the required timing; None for the defaults.
    server
        Address of a server for uploads during the session; None for no upload.
    store
        The store on this machine; by default the store of the study folder.
    warn
        Function that receives each warning for the experimenter, such as a likely typing error in the participant
        code, or degraded timing. A warning on the code comes before the window opens, or is in the dialog. A warning
        on timing comes before the participant's first page.
    may_begin
        Function that is called after warnings on the code, before the window opens. If it returns False, no session
        begins.
    inform
        Function that receives the report on timing before the participant's first page, if the timing is not degraded.
    show_status
        Function that receives a sentence on the progress before each trial; None to show no progress.

    Returns
    -------
    LabVisit
        The outcome of the visit, and the problems that the experimenter must know.

    Raises
    ------
    InputError
        If PsychoPy is not installed, the session cannot or may not begin, the experimenter has cancelled the dialog, or
        the machine does not have the required timing.
    """
    study, setup = loaded(study), setup or Setup()
    check_tasks(study)
    check_media(study, setup.monitor)
    if visitor is not None:
        _check_options(study, visitor, server)
    scanner = read_scanner(setup.scanner) if setup.scanner else None
    devices = Devices(setup.trigger, scanner, _box(study, setup, scanner), _eye_tracker(setup))
    require_psychopy()
    from experiment.lab.psychopy_display import open_display  # noqa: PLC0415 - PsychoPy takes seconds to load

    opening = open_display(study, setup.monitor, setup.screen, setup.size_px, devices)
    with ExitStack() as stack:
        there = stack.enter_context(remote_client(server)) if server else None
        here, opened = stack.enter_context(local_client(study, store))
        syncing = SyncingClient(study, opened, here, there) if there else None
        lab_client = syncing or here
        if syncing is not None:
            stack.callback(syncing.close)
        proposals = Proposals(study, opened, lab_client, [here, *([there] if there else [])])
        if visitor is not None and visitor.kind is Kind.HUMAN:
            proposals.require_slot(visitor)
            doubts = proposals.typing_errors(visitor)
            for doubt in doubts:
                warn(doubt)
            if doubts and not may_begin():
                raise InputError("no session has begun. Fix: run the command with the right code and session number.")
        withdrawals_waiting_for = upload_withdrawals(study, opened, there) if there else None
        problem = delete_withdrawn(study, opened)
        if devices.eye_tracker is not None:
            devices.eye_tracker.check()
        display, sheet = stack.enter_context(opening)
        machine = display.machine_timing
        machine.require(frames=setup.require_frames, ptb=setup.require_ptb)
        check_device(study, display.device)
        (warn if machine.is_degraded else inform)(before_the_visit(machine))
        if uneven := durations_warning(study, display.device.frame_ms, machine.pacing):
            warn(uneven)
        if visitor is None:
            timing = [line.strip() for line in before_the_visit(machine).splitlines()] + ([uneven] if uneven else [])
            dialog = StartDialog(display, sheet, study.definition, timing, proposals.propose, may_rehearse=not server)
            visitor = dialog.ask()
        files = LabFiles(study, opened, visitor, display.events, display.log)
        session = LabSession(
            study,
            lab_client,
            display,
            sheet,
            visitor,
            files.open_attempt_log,
            files.write,
            files.delete,
            files.eye_file,
            _reporter(show_status),
        )
        try:
            outcome = session.run()
        finally:
            files.write_events_and_log()
        trials = _trial_timing(study, opened, files.session, machine)
        has_all = syncing is None or syncing.finish()
    waiting_for = None if syncing is None or has_all else syncing.problem or "it took too long"
    return LabVisit(
        visitor,
        outcome,
        files.table,
        files.eye,
        files.problem or (devices.eye_tracker and devices.eye_tracker.problem) or problem,
        waiting_for,
        withdrawals_waiting_for,
        machine,
        display.events.n_early_pulses,
        trials,
    )


def _box(study: Study, setup: Setup, scanner: Scanner | None) -> BoxText | None:
    """Return the response box that the experimenter chose; None without a box."""
    if setup.box is None:
        return None
    box = read_box(setup.box)
    check_box(study, box, scanner.key if scanner else None)
    return box


def _eye_tracker(setup: Setup) -> EyeTracker | None:
    """Return the eye tracker that the experimenter chose; None without an eye tracker."""
    if setup.eye_tracker is None:
        return None
    settings = read_eye_tracker(setup.eye_tracker)
    if setup.monitor is None:
        raise InputError(
            "--eye-tracker: an eye tracker needs the size and the distance of the screen. Fix: add --monitor with the "
            "name of your monitor in PsychoPy's Monitor Center. For a try, use --monitor testMonitor."
        )
    if setup.size_px is not None:
        raise InputError("--eye-tracker: an eye tracker needs the full screen. Fix: omit --window and --windowed.")
    return EyeTracker(settings, setup.monitor, setup.screen)


def _check_options(study: Study, visitor: Visitor, server: str | None) -> None:
    """Raise an InputError if the participant's options cannot be used with the study or with a server."""
    n_groups = study.definition.n_groups
    if visitor.group is not None and visitor.group > n_groups:
        raise InputError(
            f"--group {visitor.group}: this group does not exist. Fix: choose a group from 1 to {n_groups}."
        )
    if server is not None and visitor.kind is Kind.SIMULATED:
        raise InputError("--rehearsal: a rehearsal is not uploaded. Fix: omit --server.")


def _reporter(show_status: Callable[[str], None] | None) -> Callable[[Trial, int], None]:
    """Return a function that reports each trial to the experimenter."""

    def report(trial: Trial, n_trials: int) -> None:
        if show_status is not None:
            phase = trial.phase.value.replace("_", " ")
            show_status(f"Trial {trial.trial_index + 1} of {n_trials} ({phase}, item {trial.item_id}).")

    return report


def _trial_timing(
    study: Study, store: Store, session: OpenSession | None, machine: MachineTiming
) -> TrialTiming | None:
    """Return the timing of the trials that were stored in this visit; None if there are none."""
    if session is None:
        return None
    with suppress(StoreUnavailable):
        of_visit = [trial for trial in trials_of(store, session.session) if trial["visit"] == session.visit]
        return trial_timing(of_visit, machine.pacing, study.definition.timing.fixation_ms)
    return None
