"""A server on this machine that behaves like Prolific's API, as `facts/prolific.md` and the API reference describe it.

The payment of a bonus is not idempotent: each request pays again. An approval is: the second request is ignored.
"""

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

LONGEST_PAGE = 50
TOKEN = "secret-token-of-the-researcher"
NEEDED = {
    "name", "description", "prolific_id_option", "total_available_places", "estimated_completion_time", "reward",
    "completion_codes", "device_compatibility",
}  # fmt: skip


@dataclass
class Request:
    method: str
    path: str
    body: Any
    headers: dict[str, str]


@dataclass
class Fault:
    """A failure of the next request whose method and path match."""

    method: str
    path: str
    """A regular expression that matches a part of the path."""
    status: int | None = None
    """Status of the reply; None to close the connection without a reply."""
    has_effect: bool = False
    """True if the request is carried out before it fails."""
    headers: dict[str, str] = field(default_factory=dict)
    detail: object = "something is wrong"
    waits: bool = False
    """True to wait for `FakeProlific.go_on` before the failure."""
    is_delay: bool = False
    """True to reply as if nothing failed, after the wait."""


class FakeProlific:
    """The state of the server, and its address."""

    def __init__(self) -> None:
        self.studies: dict[str, dict[str, Any]] = {}
        self.submissions: dict[str, dict[str, Any]] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.requests: list[Request] = []
        self.faults: list[Fault] = []
        self.reached = threading.Event()
        """Set when a request reached a fault that waits."""
        self.go_on = threading.Event()
        self.lock = threading.RLock()
        self.address = ""
        self.pays_later = False
        """True to show paid bonuses only after `show_payments`, because Prolific pays asynchronously."""
        self._hidden: list[tuple[str, int]] = []

    def add_study(self, study_id: str = "a" * 24, status: str = "ACTIVE", **fields: Any) -> str:
        self.studies[study_id] = {"id": study_id, "status": status, "total_available_places": 10, **fields}
        return study_id

    def add_submission(
        self, submission: str, participant: str, status: str = "AWAITING REVIEW", code: str = "DONE1", study: str = ""
    ) -> None:
        self.submissions[submission] = {
            "id": submission,
            "participant_id": participant,
            "status": status,
            "study_code": code,
            "study_id": study or next(iter(self.studies)),
            "bonus_payments": [],
        }

    def status(self, submission: str) -> str:
        return str(self.submissions[submission]["status"])

    def bonuses(self, submission: str) -> list[float]:
        return list(self.submissions[submission]["bonus_payments"])

    def show_payments(self) -> None:
        for submission, cents in self._hidden:
            self.submissions[submission]["bonus_payments"].append(float(cents))
        self._hidden.clear()

    def sent(self, method: str, path: str) -> list[Request]:
        return [one for one in self.requests if one.method == method and re.search(path, one.path)]

    def fail(self, method: str, path: str, status: int | None = None, times: int = 1, **fields: Any) -> None:
        self.faults += [Fault(method, path, status, **fields) for _ in range(times)]

    # The replies, as (status, JSON).

    def reply(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> tuple[int, Any]:
        parts = path.strip("/").split("/")[2:]
        match (method, *parts):
            case ("GET", "studies"):
                return 200, self._page(list(self.studies.values()), query)
            case ("POST", "studies"):
                return self._create(body)
            case (_, "studies", study_id, *_) if study_id not in self.studies:
                return 404, problem("Not found.")
            case ("GET", "studies", study_id):
                return 200, self.studies[study_id]
            case ("PATCH", "studies", study_id):
                self.studies[study_id] |= body
                return 200, self.studies[study_id]
            case ("POST", "studies", study_id, "transition"):
                return self._transition_study(self.studies[study_id], body["action"])
            case ("GET", "studies", study_id, "submissions"):
                found = [one for one in self.submissions.values() if one["study_id"] == study_id]
                listed = [{**one, "bonus_payments": None} for one in found]
                return 200, self._page(listed, query)
            case ("POST", "submissions", "bonus-payments"):
                return self._set_up(body)
            case ("POST", "bulk-bonus-payments", batch, "pay"):
                return self._pay(batch)
            case (_, "submissions", submission, *_) if submission not in self.submissions:
                return 404, problem("Not found.")
            case ("GET", "submissions", submission):
                one = self.submissions[submission]
                return 200, {**one, "participant": one["participant_id"], "entered_code": one["study_code"]}
            case ("POST", "submissions", submission, "transition"):
                return self._review(self.submissions[submission], body)
        return 404, problem("Not found.")

    @staticmethod
    def _page(rows: list[Any], query: dict[str, list[str]]) -> dict[str, Any]:
        """Return one page. The API may return fewer rows than the limit."""
        offset, limit = int(query.get("offset", ["0"])[0]), min(int(query.get("limit", ["20"])[0]), LONGEST_PAGE)
        return {"results": rows[offset : offset + limit], "meta": {"count": len(rows)}}

    def _create(self, body: dict[str, Any]) -> tuple[int, Any]:
        missing = sorted(NEEDED - body.keys())
        if missing or ("external_study_url" in body) == ("access_details" in body):
            return 400, problem({"missing": missing})
        codes = [one["code"] for one in body["completion_codes"]]
        if len(set(codes)) < len(codes):
            return 400, problem("Codes must be unique.")
        study_id = f"{len(self.studies):024x}"
        self.studies[study_id] = {**body, "id": study_id, "status": "UNPUBLISHED"}
        return 201, self.studies[study_id]

    @staticmethod
    def _transition_study(study: dict[str, Any], action: str) -> tuple[int, Any]:
        step = {("UNPUBLISHED", "PUBLISH"): "ACTIVE", ("ACTIVE", "PAUSE"): "PAUSED", ("PAUSED", "START"): "ACTIVE"}
        new = step.get((study["status"], action))
        if new is None:
            return 400, problem(f"{action} is not possible.")
        study["status"] = new
        return 200, study

    @staticmethod
    def _review(one: dict[str, Any], body: dict[str, Any]) -> tuple[int, Any]:
        if body["action"] == "REJECT" and (len(body.get("message", "")) < 100 or not body.get("rejection_category")):
            return 400, problem("The message is too short.")
        if one["status"] == "AWAITING REVIEW":
            one["status"] = {"APPROVE": "APPROVED", "REJECT": "REJECTED"}[body["action"]]
        return 200, one

    def _set_up(self, body: dict[str, Any]) -> tuple[int, Any]:
        lines = [line.split(",") for line in body["csv_bonuses"].splitlines()]
        own = {key for key, one in self.submissions.items() if one["study_id"] == body["study_id"]}
        if len(lines) > 200 or any(submission not in own for submission, _ in lines):
            return 400, problem("At most 200 lines, and each submission must be of this study.")
        bonuses = [(submission, round(float(amount) * 100)) for submission, amount in lines]
        batch = f"batch{len(self.batches)}"
        self.batches[batch] = {"bonuses": bonuses, "n_paid": 0}
        amount = sum(cents for _, cents in bonuses)
        return 201, {"id": batch, "study": body["study_id"], "amount": float(amount), "total_amount": amount * 1.33}

    def _pay(self, batch: str) -> tuple[int, Any]:
        if batch not in self.batches:
            return 404, problem("Not found.")
        self.batches[batch]["n_paid"] += 1
        self._hidden += self.batches[batch]["bonuses"]
        if not self.pays_later:
            self.show_payments()
        return 202, {}


def problem(detail: object) -> dict[str, Any]:
    return {"error": {"status": 400, "title": "Error", "detail": detail}}


@contextmanager
def served() -> Iterator[FakeProlific]:
    """Serve a fake Prolific on this machine for a block."""
    fake = FakeProlific()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # One packet per reply; otherwise each reply waits for an acknowledgement of its headers.

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def do_PATCH(self) -> None:
            self._answer()

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            url = urlsplit(self.path)
            with fake.lock:
                fake.requests.append(Request(self.command, url.path, body, dict(self.headers)))
                fault = next(
                    (one for one in fake.faults if one.method == self.command and re.search(one.path, url.path)), None
                )
                if fault:
                    fake.faults.remove(fault)
                status, found = 401, problem("Wrong token.")
                if self.headers.get("Authorization") == f"Token {TOKEN}" and (fault is None or fault.has_effect):
                    status, found = fake.reply(self.command, url.path, parse_qs(url.query), body)
            if fault is None:
                self._send(status, found, {})
                return
            if fault.waits:
                fake.reached.set()
                fake.go_on.wait(60)
            if fault.is_delay:
                self._send(status, found, {})
            elif fault.status is None:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
            else:
                self._send(fault.status, problem(fault.detail), fault.headers)

        def _send(self, status: int, found: Any, headers: dict[str, str]) -> None:
            text = json.dumps(found).encode()
            self.send_response(status)
            for name, value in {
                "Content-Type": "application/json",
                "Content-Length": str(len(text)),
                **headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """Print nothing if a killed command closes its connection."""

    server = Server(("127.0.0.1", 0), Handler)
    fake.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield fake
    finally:
        fake.go_on.set()
        server.shutdown()
        thread.join()
        server.server_close()
