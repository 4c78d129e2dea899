"""The sound output: sounds that begin at a planned time, with psychtoolbox, and the time at which they really began.

psychtoolbox compensates for the latency of the output if a sound is planned early enough. Its clock and
`time.perf_counter_ns` are compared whenever a time is converted.
"""

import time
from typing import TYPE_CHECKING, Any

from batteries.errors import InputError

if TYPE_CHECKING:
    from experiment.lab.media.sounds import Samples

_LOW_LATENCY = 1
_PLAYBACK, _MASTER = 1, 8
"""Modes of psychtoolbox. A master mixes all sounds that are played at the same time."""


class SoundOutput:
    """The usual sound output of the machine.

    Raises
    ------
    InputError
        If the machine has no sound output, or another program uses it alone.
    """

    rate_hz: int
    """Number of samples per second."""

    def __init__(self) -> None:
        try:
            from psychtoolbox import audio  # noqa: PLC0415 - needs libraries that a machine may lack

            audio.verbosity(0)
            self._master: Any = audio.Stream(mode=_PLAYBACK + _MASTER, latency_class=[_LOW_LATENCY], channels=2)
            self._master.start(0, 0, 1)
        except Exception as error:  # psychtoolbox raises the class Exception itself.
            raise InputError(
                f"the study plays sounds, and the sound output cannot be opened ({_first_line(error)}). Fix: connect "
                "loudspeakers or headphones, close other programs that play sounds, and run `equipoise lab check`."
            ) from None
        self._audio = audio
        self.rate_hz = round(self._master.status["SampleRate"])

    @property
    def latency_ms(self) -> float:
        """Latency of the output in ms, as the driver reports it."""
        return float(self._master.status["PredictedLatency"]) * 1000

    def load(self, samples: "Samples") -> "LoadedSound":
        """Return a sound that can begin at once."""
        return LoadedSound(self._audio.Slave(self._master.handle, mode=_PLAYBACK, data=samples, channels=2))

    def close(self) -> None:
        """Close the output."""
        self._master.stop(0, 1)
        self._master.close()


class LoadedSound:
    """A sound that is ready to be played once."""

    def __init__(self, slave: Any) -> None:
        self._slave: Any = slave

    def play_at(self, at_ns: int) -> None:
        """Begin the sound at a time by `time.perf_counter_ns`, or as soon as possible if that time is too near."""
        self._slave.start(1, _ptb_s() + (at_ns - time.perf_counter_ns()) / 1e9, 0)

    def onset(self) -> tuple[int | None, float | None]:
        """Return the time at which the sound reached the output, and the latency in ms that this time includes.

        The time is None if the sound has not begun yet.
        """
        status = self._slave.status
        latency_ms = float(status["PredictedLatency"]) * 1000 or None
        if not status["StartTime"]:
            return None, latency_ms
        return time.perf_counter_ns() + round((status["StartTime"] - _ptb_s()) * 1e9), latency_ms

    def close(self) -> None:
        """End the sound."""
        if self._slave is not None:
            self._slave.stop(0, 0)
            self._slave.close()
            self._slave = None


def _ptb_s() -> float:
    from psychtoolbox import GetSecs  # noqa: PLC0415

    return float(GetSecs())


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].removeprefix("PTB-ERROR: ").rstrip(".")
