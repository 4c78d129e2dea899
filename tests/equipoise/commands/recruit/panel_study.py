"""A panel's study with two attention checks, and participants who take it."""

import json
import uuid
from pathlib import Path
from typing import Any

from experiment.load_study import load_study
from server.app import create_app
from server.security.secret_files import read_secrets
from server.settings import Settings
from server.store.open import opened_store
from tests.equipoise.commands.store.commands import StoredStudy, make_small_study, on_a_file

PROLIFIC_STUDY = "a" * 24
RECRUITMENT = """recruitment:
  entry: panel
  quota: 60
  exits:
    completed: {code: DONE1, link: "https://app.prolific.com/submissions/complete?cc={code}"}
    failed_checks: {code: FAIL1}
    no_consent: {code: NOCO1}
    incompatible_device: {code: DEVI1}
  prolific:
    description: Say where a ray comes out.
    address: https://study.example.org/
    minutes: 10
    wage_per_hour: 9.1
"""


def id_of(name: str) -> str:
    """Return a panel id of Prolific's form for a name, such as `anna`."""
    return name.encode().hex().ljust(24, "0")


def make_panel_study(folder: Path, recruitment: str = RECRUITMENT) -> StoredStudy:
    """Make a study with two attention checks, in which none may be failed."""
    make_small_study(folder, "panel")
    battery = folder / "battery.jsonl"
    lines = battery.read_text(encoding="utf-8").splitlines()
    check = json.loads(next(line for line in lines if '"attention-1"' in line))
    battery.write_text("\n".join([*lines, json.dumps(check | {"item_id": "attention-2"})]) + "\n", encoding="utf-8")
    contact = folder / "contact.md"
    contact.write_text(contact.read_text(encoding="utf-8").replace("TODO: ", ""), encoding="utf-8")
    path = folder / "study.yaml"
    lines = path.read_text(encoding="utf-8").splitlines()
    # Without the comments, which contain entries that are off, such as `#recruitment:`.
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#")).partition("\nrecruitment:")[0]
    text = text.replace("[attention-1]", "[attention-1, attention-2]").replace("spacing: 5", "spacing: 2")
    path.write_text(f"{text}\n{recruitment}", encoding="utf-8")
    return on_a_file(folder)


def change_recruitment(stored: StoredStudy, old: str, new: str) -> None:
    path = stored.folder / "study.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def take(
    stored: StoredStudy,
    name: str,
    *,
    n_failed: int = 0,
    n_missing: int = 0,
    n_answers: int | None = None,
    then: str = "complete",
    submission: str | None = None,
    parameter: str = "PROLIFIC_PID",
    panel_id: str | None = None,
    query: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Let a participant take the study; return the end page, or the session if it does not end."""
    study = load_study(stored.folder)
    with opened_store(stored.location) as store:
        app = create_app(study, store, read_secrets(stored.folder / "data"), Settings(requests_per_second=100_000))
        http = app.test_client()
        address = {
            parameter: panel_id or id_of(name),
            "STUDY_ID": PROLIFIC_STUDY,
            "SESSION_ID": submission or f"sub-{name}",
            **(query or {}),
        }
        assert http.get("/", query_string=address).status_code == 303
        digest = http.get("/api/study").get_json()["consent_digest"]
        start = {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "human"}
        begun = http.post("/api/session", json=start)
        if begun.status_code != 201:
            return {"status": begun.status_code, **begun.get_json()}
        session = begun.get_json()
        stored.sessions[name] = session["session"]
        left, unanswered = n_failed, n_missing
        for trial in session["trials"][:n_answers]:
            response: object = "absorbed"
            if trial["task"] == "multiple_choice":
                response, left = (1, left - 1) if left else (2, 0)
            body = {"response_id": str(uuid.uuid4()), "trial_index": trial["trial_index"], "response": response}
            if trial["task"] == "multiple_choice" and unanswered:
                unanswered -= 1
                body |= {"response": None, "missing": "deadline"}
            sent = http.post("/api/responses", json={"session": session["session"], "responses": [body]})
            assert sent.status_code == 201, sent.get_json()
        if not then or (n_answers is not None and then == "complete"):
            return dict(session)
        ended = http.post(f"/api/{then}", json={})
        assert ended.status_code == 200, ended.get_json()
        return dict(ended.get_json())
