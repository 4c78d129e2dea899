"""The difference between the actual and the intended duration of each fixation."""

import pandas as pd


def fixation_error_ms(trials: pd.DataFrame) -> pd.Series:
    """Return the absolute difference between the actual and the intended duration of the fixation, in ms.

    The value is missing if the trial has no measured timing, such as a trial of a simulated participant.

    Parameters
    ----------
    trials : DataFrame
        Trials with `fixation_ms`, `fixation_frames_intended` and `frame_ms`.

    Notes
    -----
    The intended duration is the planned number of frames, multiplied by the frame interval of the display. It is not
    `timing.fixation_ms` of the study, because a display shows only whole frames. A fixation of 200 ms is 12 frames
    (200.0 ms) at 60 Hz, and 29 frames (201.4 ms) at 144 Hz. If flips of a laboratory's window do not wait for the
    screen, the fixation is timed by the clock. Then the difference includes this rounding, which is at most half a
    frame.
    """
    intended_ms = trials["fixation_frames_intended"].astype("float64") * trials["frame_ms"]
    return (trials["fixation_ms"] - intended_ms).abs()
