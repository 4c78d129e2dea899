"""The eye tracker of a visit: when it is started, calibrated and stopped."""

from collections.abc import Callable
from pathlib import Path

from experiment.lab.page_reader import PageReader
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.message import message
from experiment.lab.trial import Display
from experiment.lab_api import OpenSession
from experiment.plan import Phase, Trial


class EyeTracking:
    """Starts, calibrates and stops the eye tracker of a visit. Without an eye tracker, the methods have no effect.

    The eye tracker is started after the consent, the instructions and the practice. It is calibrated then, and again
    after each break and before each block. With Escape, the experimenter keeps the calibration before.

    Parameters
    ----------
    display, sheet
        The participant's display, and the sheet (sizes, fonts and texts of the screens).
    reader
        The reader of pages.
    file_of
        Function that returns the file for the data of the eye tracker in the current visit of a session.
    """

    def __init__(
        self, display: Display, sheet: Sheet, reader: PageReader, file_of: Callable[[OpenSession], Path]
    ) -> None:
        self._display, self._sheet, self._reader = display, sheet, reader
        self._file_of = file_of
        self._say = sheet.words.say

    @property
    def is_running(self) -> bool:
        """True if the eye tracker has been started and not stopped."""
        return self._display.eye_tracker is not None and self._display.eye_tracker.is_open

    def begin_trials(self, trial: Trial, session: OpenSession, begins_part: bool) -> bool:
        """Calibrate before a trial if necessary. Return True if so.

        `begins_part` is True if the trial is the first one of a visit or a block, or comes after a break.
        """
        tracker = self._display.eye_tracker
        if tracker is None or trial.phase is Phase.PRACTICE or (tracker.is_open and not begins_part):
            return False
        title, words = f"# {self._say('lab_eye_title')}", self._say("lab_eye")
        self._reader.read({"lab_eye_title": f"{title}\n\n{words}"}, self._say("continue"))
        if not tracker.is_open:
            self._show_wait()
            tracker.open(self._file_of(session), session.session)
        self._display.calibrate()
        return True

    def calibrate_again(self) -> None:
        """Calibrate again, because the experimenter has chosen it."""
        self._display.calibrate()

    def stop(self) -> None:
        """Stop the recording, and close the file."""
        tracker = self._display.eye_tracker
        if tracker is not None and tracker.is_open:
            self._show_wait()
            tracker.close()

    def _show_wait(self) -> None:
        """Ask the participant to wait, because ioHub needs some seconds."""
        self._display.show(message(self._sheet, self._say("lab_eye_wait"), [], []))
