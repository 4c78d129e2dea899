"""psiTurk, with its own example project, its default number of worker processes, and SQLite.

psiTurk keeps a participant's data as one document: each save sends all responses so far, and is acknowledged by "user
data saved".
"""

import json
import os
import random
import subprocess
import time
import uuid
from pathlib import Path

from benchmarks.load import LoadError, Script, request
from benchmarks.peers import environment
from benchmarks.processes import ServerProcess

N_TRIALS = 26
FORM = "Content-Type: application/x-www-form-urlencoded\r\n"
JSON = "Content-Type: application/json\r\n"


def server(folder: Path, port: int) -> ServerProcess:
    """Return psiTurk's server with its example project, new in `folder`, which must not exist."""
    programs = environment("psiturk")
    folder.mkdir()
    settings = {"PSITURK_GLOBAL_CONFIG_LOCATION": str(folder), "PSITURK_PORT": str(port)}
    subprocess.run(
        [programs / "psiturk-setup-example"], cwd=folder, env=os.environ | settings, capture_output=True, check=True
    )
    return ServerProcess([str(programs / "psiturk-server")], folder / "psiturk-example", port, settings)


def participant() -> Script:
    """Start a participant's session."""
    worker, assignment = f"W{uuid.uuid4().hex}", f"A{uuid.uuid4().hex}"
    unique_id = f"{worker}:{assignment}"
    query = f"assignmentId={assignment}&hitId=H1&workerId={worker}&mode=live"
    for page in ("ad", "consent", "exp"):
        (yield request("GET", f"/{page}?{query}")).expect(200)
    (yield request("POST", "/inexp", f"uniqueId={unique_id}".encode(), FORM)).expect(200)

    document = {
        "condition": 0,
        "counterbalance": 0,
        "assignmentId": assignment,
        "workerId": worker,
        "hitId": "H1",
        "bonus": 0,
        "questiondata": {},
        "eventdata": [],
        "useragent": "benchmark",
        "mode": "live",
        "id": unique_id,
    }
    beginning = json.dumps(document)[:-1].encode()
    data: list[str] = []
    for trial in range(N_TRIALS):
        trial_data = {"phase": "TEST", "response": random.randrange(4), "rt": random.randrange(300, 3000)}
        row = {"uniqueid": unique_id, "current_trial": trial, "dateTime": int(time.time() * 1e3)}
        data.append(json.dumps(row | {"trialdata": trial_data}))
        body = b'%b, "currenttrial": %d, "data": [%b]}' % (beginning, trial + 1, ", ".join(data).encode())
        reply = yield request("PUT", f"/sync/{unique_id}", body, JSON, is_response=True)
        if b"user data saved" not in reply.expect(200).body:
            raise LoadError(f"psiTurk did not save: {reply.body[:500]!r}")
    (yield request("GET", f"/complete?uniqueId={unique_id}&mode=live")).expect(200)
