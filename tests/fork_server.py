"""A process that has already imported Equipoise with its libraries. Its forks run commands and servers of the tests.

The imports of a server or of an analysis need seconds of processor time, and hundreds of tests start one.
"""

import os
from functools import cache
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from multiprocessing.forkserver import ensure_running
from unittest.mock import patch

from tests.paths import ROOT

_IMPORTED = [
    "equipoise.cli.main", "equipoise.commands.analyze", "equipoise.commands.server_process", "server.worker",
    "experiment.simulated_participants",
    # Without the extra `models`, these modules are left out.
    "equipoise.commands.models.run", "experiment.models.runs.ask", "experiment.models.runs.run_log", "openai",
    "anthropic", "tests.frozen_imports",
]  # fmt: skip


@cache
def fork_server() -> ForkServerContext:
    """Start the process at the first call, and return the context that makes its forks. Python has one per process."""
    context = get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)
    with patch.dict(os.environ, {"PYTHONPATH": str(ROOT)}):
        ensure_running()
    return context
