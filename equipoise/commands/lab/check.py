"""Check of the laboratory's machine: screen, timing, keyboard and fonts."""

from dataclasses import dataclass
from typing import Literal

from batteries.errors import InputError
from equipoise.commands.store_access import StudyFolder, loaded
from experiment.lab.frame_durations import durations_warning, frame_durations
from experiment.lab.hardware.machine_check import LEAST_SIZE_PX, MachineFinding, check_machine, report, verdict_of
from experiment.lab.hardware.psychopy_import import require_psychopy
from experiment.lab.requirements import check_media, check_tasks, plays_sounds
from experiment.lab.screens.text.fonts import font_for, missing_glyphs, texts_of
from experiment.study.definition import Study


@dataclass(frozen=True)
class Setup:
    """The machine of a session: its display, and the destination of event codes."""

    monitor: str | None = None
    """Name of a monitor in PsychoPy's Monitor Center, whose calibration is used; None for no calibration."""
    screen: int = 0
    """Number of the screen, counted from 0."""
    size_px: tuple[int, int] | None = None
    """Size of the window in pixels; None for the full screen."""
    trigger: str | None = None
    """Destination of event codes, such as `serial:/dev/ttyUSB0`; see `experiment.lab.hardware.triggers`."""
    scanner: str | None = None
    """Key that an MRI scanner presses with each pulse, such as `5` or `5,discard=4`; None without a scanner."""
    eye_tracker: str | None = None
    """`mouse`, or a YAML file with ioHub's settings of an eye tracker; None without one.

        `lab_check` ignores this field.
    """
    require_frames: bool = False
    """True to refuse a session if flips do not wait for the screen. `lab_check` ignores this field."""
    require_ptb: bool = False
    """True to refuse a session if psychtoolbox does not read the keyboard. `lab_check` ignores this field."""


def lab_check(study: StudyFolder | None = None, setup: Setup | None = None) -> tuple[str, bool]:
    """Check this machine for the laboratory.

    Parameters
    ----------
    study
        Study that the machine must be able to show, with its fonts and the size of its screen. None to check the
        machine without a study.
    setup
        The display and the destination of event codes to check; None for the defaults.

    Returns
    -------
    tuple of str and bool
        Findings for a technician, and True if the machine can be used.

    Raises
    ------
    InputError
        If the laboratory cannot show the study, or PsychoPy is not installed.
    """
    setup = setup or Setup()
    study = loaded(study) if study is not None else None
    if study is not None:
        check_tasks(study)
        check_media(study, setup.monitor)
    require_psychopy()
    from experiment.lab.hardware.keys_and_clicks import InputDevices  # noqa: PLC0415 - PsychoPy takes seconds to load
    from experiment.lab.hardware.window import LabWindow  # noqa: PLC0415

    with LabWindow(setup.size_px, screen=setup.screen, monitor=setup.monitor) as window:
        inputs = InputDevices(window)
        if study is None:
            findings = check_machine(window, inputs)
        else:
            findings = check_machine(window, inputs, _missing_glyphs(study), _least_size_px(study), plays_sounds(study))
            findings.append(_durations_finding(study, window.frame_ms, window.pacing))
    return report(findings), verdict_of(findings) != "bad"


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
