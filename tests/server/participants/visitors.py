"""Participants who take a study over HTTP, each with a browser and an address that may contain an id."""

import hashlib
import uuid
from typing import Any
from urllib.parse import quote

from flask import Flask
from werkzeug.test import TestResponse

from tests.server.conftest import headers_of

PANEL_ID = "5f3a9c0d12ab34cd56ef7890"
SUBMISSION = "66aa77bb88cc99dd00ee11ff"


def pid(name: str) -> str:
    """Return a panel id in Prolific's format, made from a name."""
    return hashlib.sha256(name.encode()).hexdigest()[:24]


class Visitor:
    """A participant's browser, opened with an address that may have a panel id or a link's token."""

    def __init__(self, app: Flask, address: str = "/", https: bool = False) -> None:
        self.http = app.test_client()
        self.base = "https://localhost" if https else "http://localhost"
        self.came_in = self.get(address)
        self.session: dict[str, Any] = {}

    def get(self, address: str) -> TestResponse:
        return self.http.get(address, base_url=self.base)

    def post(self, address: str, body: dict[str, Any], **headers: str) -> TestResponse:
        return self.http.post(address, json=body, base_url=self.base, headers=headers)

    def study(self) -> dict[str, Any]:
        texts: dict[str, Any] = self.get("/api/study").get_json()
        return texts

    def start(self, **changes: Any) -> TestResponse:
        start = {"start_id": str(uuid.uuid4()), "consent_digest": self.study()["consent_digest"], "kind": "human"}
        reply = self.post("/api/session", start | changes, **headers_of(changes.get("kind")))
        self.session = reply.get_json()
        return reply

    def answer(self, trial_index: int) -> TestResponse:
        answer = {"response_id": str(uuid.uuid4()), "trial_index": trial_index, "response": "absorbed"}
        return self.post("/api/responses", {"session": self.session["session"], "responses": [answer]})

    def complete(self) -> TestResponse:
        for trial in self.session["trials"][self.session["next_trial_index"] :]:
            assert self.answer(trial["trial_index"]).status_code == 201
        return self.post("/api/complete", {})

    def withdraw(self) -> TestResponse:
        return self.post("/api/withdraw", {})


def from_panel(panel_id: str, **more: str) -> str:
    """Return the address of a panel's link for a participant."""
    return "/?" + "&".join(f"{name}={quote(value)}" for name, value in {"PROLIFIC_PID": panel_id, **more}.items())


def refused(reply: TestResponse, status: int) -> str:
    """Return the sentence of a refusal."""
    assert reply.status_code == status, reply.text
    sentence: str = reply.get_json()["error"]
    assert sentence.endswith((".", "!"))
    return sentence
