"""The process of ioHub: it ends with the session, and the session notices its end."""

import os
import signal
import time
from pathlib import Path

import pytest

PATIENCE_S = 30


def is_running(process_id):
    """Return True if a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for_the_end_of(process_id):
    deadline_s = time.monotonic() + PATIENCE_S
    while is_running(process_id):
        assert time.monotonic() < deadline_s, "the process is still running"
        time.sleep(0.05)


def follow(screen, file):
    """Kill ioHub, and then the program of the session. Both must be noticed."""
    with screen.start("eye_tracker", str(file)) as program:

        def answer(**command):
            program.ask(**command)
            return program.reply()

        assert answer(do="message") == {"at_s": None, "is_open": False}
        first = answer(do="open")["hub"]
        assert answer(do="message")["at_s"] > 0
        os.kill(first, signal.SIGKILL)
        deadline_s = time.monotonic() + PATIENCE_S
        while "error" not in (failed := answer(do="message")):
            assert time.monotonic() < deadline_s, "the session does not notice the end of ioHub"
        assert "no longer answers. Fix: check the eye tracker and its cable" in failed["error"]
        assert "gaze.hdf5: the data of the eye tracker may be incomplete" in failed["problem"]
        assert answer(do="message") == {"at_s": None, "is_open": False}, "the error is raised only once"
        assert answer(do="close")["n_processes"] == 0

        file.unlink()
        second = answer(do="open")["hub"]
        os.kill(program.process.pid, signal.SIGKILL)
        program.process.join()
        wait_for_the_end_of(second)


def test_a_session_notices_the_end_of_iohub_and_iohub_ends_with_the_session(screen, tmp_path):
    with pytest.raises(RuntimeError, match="ended with -9"):
        follow(screen, tmp_path / "gaze.hdf5")
