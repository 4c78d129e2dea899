"""A loudspeaker that a program listens to: a PulseAudio server with a virtual output, and a recorder of this output.

The recorder notes on the system's monotonic clock when samples arrive. A virtual output plays in blocks, and a block
arrives when its first sample is played. The recorder itself may be late, but never early. So the earliest arrivals of
some seconds give the times of the samples of these seconds. The rate of a virtual output is not exact: it drifts by up
to 0.3 ms per second.
"""

import array
import os
import shutil
import subprocess
import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from benchmarks.peers import PeerUnavailable

RATE_HZ = 48_000
SINK = "loudspeaker"
LOUD = 6_000
"""Samples from this size on belong to a sound. The largest size is 32,767."""
SILENCE_S = 0.15
"""A sound begins after at least this silence."""
NEAR_S = 2.0
"""Arrivals up to this time before and after a sample give its time."""
START_S = 10.0


class Loopback:
    """A virtual loudspeaker.

    Parameters
    ----------
    server
        Address of the PulseAudio server.
    """

    def __init__(self, server: str) -> None:
        self.environment = {"PULSE_SERVER": server}
        """Environment variables for a program whose sounds are recorded."""

    @contextmanager
    def recording(self) -> Iterator["Sounds"]:
        """Record until the end of the block."""
        command = ["parec", "--device", f"{SINK}.monitor", "--format=s16le", f"--rate={RATE_HZ}", "--channels=1",
                   "--latency-msec=2", "--raw"]  # fmt: skip
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | self.environment)
        assert process.stdout is not None
        sounds = Sounds()
        reader = threading.Thread(target=sounds.read, args=(process.stdout.fileno(),), daemon=True)
        reader.start()
        try:
            yield sounds
        finally:
            process.kill()
            process.wait()
            reader.join()


class Sounds:
    """The recorded samples, with the times of their arrival."""

    def __init__(self) -> None:
        self._arrivals: list[tuple[float, int]] = []
        self._bytes = bytearray()

    def read(self, descriptor: int) -> None:
        """Read until the recorder ends."""
        while data := os.read(descriptor, 65_536):
            self._arrivals.append((time.monotonic(), len(self._bytes) // 2))
            self._bytes += data

    def onsets_s(self) -> list[float]:
        """Return the times at which sounds began, on the system's monotonic clock."""
        samples = array.array("h", bytes(self._bytes[: len(self._bytes) // 2 * 2]))
        loud = [index for index, sample in enumerate(samples) if sample > LOUD]
        first = loud[:1] + [after for before, after in pairwise(loud) if after - before > SILENCE_S * RATE_HZ]
        return [self._played_s(index) for index in first]

    def _played_s(self, index: int) -> float:
        """Return the time at which a sample was played."""
        indices = [of_block for _, of_block in self._arrivals]
        near = slice(bisect_left(indices, index - NEAR_S * RATE_HZ), bisect_right(indices, index + NEAR_S * RATE_HZ))
        return min(at_s - of_block / RATE_HZ for at_s, of_block in self._arrivals[near]) + index / RATE_HZ


@contextmanager
def loopback(folder: Path) -> Iterator[Loopback]:
    """Run a PulseAudio server of its own, with its files in `folder`.

    Raises
    ------
    PeerUnavailable
        If PulseAudio is not installed, or does not start.
    """
    if not (shutil.which("pulseaudio") and shutil.which("parec")):
        raise PeerUnavailable(
            "sounds are not measured, because PulseAudio is missing. Fix: install the packages pulseaudio and "
            "pulseaudio-utils"
        )
    folder.mkdir(parents=True)
    folder.chmod(0o700)  # PulseAudio refuses a folder that others can read.
    socket = folder / "socket"
    command = [
        "pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1",
        "-L", f"module-native-protocol-unix socket={socket} auth-anonymous=1",
        "-L", f"module-null-sink sink_name={SINK} rate={RATE_HZ}",
    ]  # fmt: skip
    environment = os.environ | {"XDG_RUNTIME_DIR": str(folder), "HOME": str(folder)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_S
        while not socket.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise PeerUnavailable("sounds are not measured, because PulseAudio did not start")
            time.sleep(0.05)
        yield Loopback(f"unix:{socket}")
    finally:
        process.terminate()
        process.wait()
