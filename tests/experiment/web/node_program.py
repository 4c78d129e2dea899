"""Programs that run the web client's code in Node."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from hatch_build import _npm_from_wheel, _system_npm
from tests.paths import ROOT

WEB = ROOT / "experiment" / "web"


class NodeProgram:
    """A program in TypeScript that reads JSON from its standard input and writes JSON.

    Parameters
    ----------
    source
        The program. It imports the client's modules as `./src/...`.
    folder
        The folder for the built program.
    """

    def __init__(self, source: str, folder: Path) -> None:
        node = Path((_system_npm() or _npm_from_wheel())[0]).parent
        self._environment = os.environ | {"PATH": f"{node}{os.pathsep}{os.environ['PATH']}"}
        self._script = folder / "program.mjs"
        build = [WEB / "node_modules/.bin/esbuild", "--bundle", "--format=esm", "--platform=node"]
        # esbuild reads the program from its standard input.
        subprocess.run(
            [*build, f"--outfile={self._script}", "--log-level=error"],
            input=source, text=True, cwd=WEB, env=self._environment, check=True,
        )  # fmt: skip

    def run(self, given: Any) -> Any:
        """Return the program's reply to a value."""
        done = subprocess.run(
            ["node", self._script],
            input=json.dumps(given), capture_output=True, text=True, check=True, env=self._environment,
        )  # fmt: skip
        return json.loads(done.stdout)
