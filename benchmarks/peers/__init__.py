"""The tools that labs use today, installed from PyPI into separate environments and run as documented."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

FOLDER = Path(__file__).parent


class PeerUnavailable(Exception):
    """A peer could not be installed here; the message has the reason."""


def environment(peer: str) -> Path:
    """Return the folder with the programs of a peer's virtual environment, which is created at first use.

    Parameters
    ----------
    peer
        Its name; `NAME-requirements.txt` beside this file pins what is installed.

    Raises
    ------
    PeerUnavailable
        If it cannot be installed.
    """
    requirements = FOLDER / f"{peer}-requirements.txt"
    folder = cache_folder() / peer
    installed = folder / "installed-requirements.txt"
    if not installed.exists() or installed.read_bytes() != requirements.read_bytes():
        print(f"installing {peer} into {folder}", file=sys.stderr)  # noqa: T201
        venv.create(folder, clear=True, with_pip=True)
        done = subprocess.run(
            [folder / "bin" / "pip", "install", "--quiet", "--requirement", requirements],
            # Our constraints do not apply to the peer.
            env={name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise PeerUnavailable(f"{peer} could not be installed: {done.stderr[-2000:]}")
        shutil.copy(requirements, installed)
    return folder / "bin"


def cache_folder() -> Path:
    """Return the folder of environments and runs."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "equipoise-benchmarks"
