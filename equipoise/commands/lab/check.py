"""Check of the laboratory's machine: screen, timing, keyboard and fonts."""

from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from batteries.errors import InputError
from equipoise.commands.store_access import StudyFolder, loaded
from experiment.lab.frame_durations import durations_warning, frame_durations
from experiment.lab.hardware.machine_check import LEAST_SIZE_PX, MachineFinding, check_machine, report, verdict_of
from experiment.lab.hardware.psychopy_import import require_psychopy
from experiment.lab.hardware.response_box.box_text import read_box
from experiment.lab.hardware.scanner import read_scanner
from experiment.lab.requirements import check_box, check_media, check_tasks, plays_sounds
from experiment.lab.screens.text.fonts import font_for, missing_glyphs, texts_of
from experiment.study.definition import Study

if TYPE_CHECKING:
    from experiment.lab.hardware.window import LabWindow


@dataclass(frozen=True)
class Setup:
    """The machine of a session: its display, the destination of event codes, and its response box."""

    monitor: str | None = None
    """Name of a monitor in PsychoPy's Monitor Center, whose calibration is used; None for no calibration."""
    screen: int = 0
    """Number of the screen, counted from 0."""
    size_px: tuple[int, int] | Literal["windowed"] | None = None
    """Size of the window in pixels; `windowed` for 1280 x 800, or less on a small screen; None for the full screen."""
    trigger: str | None = None
    """Destination of event codes, such as `serial:/dev/ttyUSB0`; see `experiment.lab.hardware.triggers`."""
    scanner: str | None = None
    """Key that an MRI scanner presses with each pulse, such as `5` or `5,discard=4`; None without a scanner."""
    box: str | None = None
    """Response box, such as `keys:a=1,b=2`; see `experiment.lab.hardware.response_box.box_text`."""
    eye_tracker: str | None = None
    """`mouse`, or a YAML file with ioHub's settings of an eye tracker; None without. `lab_check` ignores this field."""
    require_frames: bool = False
    """True to refuse a session if flips do not wait for the screen. `lab_check` ignores this field."""
    require_ptb: bool = False
    """True to refuse a session if psychtoolbox does not read the keyboard. `lab_check` ignores this field."""


def lab_check(
    study: StudyFolder | None = None, setup: Setup | None = None, inform: Callable[[str], None] = print
) -> tuple[str, bool]:
    """Check this machine for the laboratory.

    Parameters
    ----------
    study
        Study that the machine must be able to show, with its fonts and the size of its screen. None to check the
        machine without a study.
    setup
        The display and the response box to check; None for the defaults.
    inform
        Function that receives a sentence on each press of a button of the response box.

    Returns
    -------
    tuple of str and bool
        Findings for a technician, and True if the machine can be used.

    Raises
    ------
    InputError
        If the laboratory cannot show the study, PsychoPy is not installed, or the response box cannot be opened.
    """
    setup = setup or Setup()
    box = read_box(setup.box) if setup.box else None
    study = loaded(study) if study is not None else None
    if study is not None:
        check_tasks(study)
        check_media(study, setup.monitor)
        if box is not None:
            check_box(study, box, read_scanner(setup.scanner).key if setup.scanner else None)
    require_psychopy()
    from experiment.lab.hardware.keys_and_clicks import InputDevices  # noqa: PLC0415 - PsychoPy takes seconds to load
    from experiment.lab.hardware.response_box.box import open_box  # noqa: PLC0415
    from experiment.lab.hardware.response_box.box_check import check_response_box  # noqa: PLC0415
    from experiment.lab.hardware.window import LabWindow  # noqa: PLC0415

    with (
        closing(open_box(box)) if box else nullcontext() as opened_box,
        LabWindow(setup.size_px, screen=setup.screen, monitor=setup.monitor) as window,
    ):
        inputs = InputDevices(window, box=opened_box)
        if study is None:
            findings = check_machine(window, inputs)
        else:
            findings = check_machine(window, inputs, _missing_glyphs(study), _least_size_px(study), plays_sounds(study))
            findings.append(_durations_finding(study, window.frame_ms, window.pacing))
            if study.lab_only_item:
                findings.append(_trials_finding(study, window))
        if box and opened_box:
            findings.append(check_response_box(window, inputs, box, opened_box.timing, inform))
    return report(findings), verdict_of(findings) != "bad"


def _trials_finding(study: Study, window: "LabWindow") -> MachineFinding:
    """Draw the first frame of each item that a class of the study draws."""
    from experiment.lab.psychopy_trials.loading import load_classes  # noqa: PLC0415 - PsychoPy takes seconds to load
    from experiment.lab.psychopy_trials.running import try_all_items  # noqa: PLC0415

    try:
        n_items = try_all_items(study, load_classes(study), window)
    except InputError as error:
        found, _, advice = str(error).partition(" Fix: ")
        return MachineFinding("PsychoPy trials", "bad", found.rstrip("."), advice)
    return MachineFinding("PsychoPy trials", "good", f"items that were drawn: {n_items:,}")


def _durations_finding(study: Study, frame_ms: float, pacing: Literal["frames", "clock"]) -> MachineFinding:
    """Return the durations of the study in frames, with a warning if some are not whole frames."""
    if pacing == "clock":
        return MachineFinding("Durations", "good", "timed by the clock, because flips do not wait for the screen")
    if uneven := durations_warning(study, frame_ms):
        found, _, advice = uneven.partition(" Fix: ")
        return MachineFinding("Durations", "warning", found.rstrip("."), advice)
    sentences = [each.sentence for each in frame_durations(study, frame_ms)]
    return MachineFinding("Durations", "good", "; ".join(sentences) or "none")


def _least_size_px(study: Study) -> tuple[int, int]:
    needs = study.definition.device
    return max(LEAST_SIZE_PX[0], needs.width_px or 0), max(LEAST_SIZE_PX[1], needs.height_px or 0)


def _missing_glyphs(study: Study) -> tuple[str, ...]:
    try:
        font_for(texts_of(study))
    except InputError:
        return missing_glyphs(texts_of(study))
    return ()
