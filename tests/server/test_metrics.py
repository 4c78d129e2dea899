"""Metrics of a process whose first requests are simultaneous."""

import subprocess
import sys
from pathlib import Path

from tests.paths import ROOT

FIRST_REQUESTS_AT_ONCE = """
import sys, time
from pathlib import Path
from experiment.load_study import load_study
from server import metrics
from server.app import create_app
from server.security.secret_files import Secrets
from server.settings import Settings
from server.store import SqliteStore
from tests.server.stores import at_once

def slowly(kind):
    def make(*arguments, **options):
        time.sleep(0.05)  # so that threads meet there
        return kind(*arguments, **options)
    return make

metrics.Counter, metrics.Histogram = slowly(metrics.Counter), slowly(metrics.Histogram)
store = SqliteStore(Path(sys.argv[1]) / "store.db")
app = create_app(load_study(Path("equipoise/studies/blackbox-predict")), store, Secrets("key", "token"), Settings())
print(sorted({reply if isinstance(reply, Exception) else reply.status_code
              for reply in at_once(*[lambda: app.test_client().get("/healthz")] * 8)}))
store.close()
"""


def test_simultaneous_first_requests_are_all_counted_and_get_a_reply(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_REQUESTS_AT_ONCE, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "[200]\n", done.stderr
