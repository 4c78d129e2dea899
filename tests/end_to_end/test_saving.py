"""Saving of responses from a real browser to a real server: offline, with a busy server, in batches, after a reload."""

import json
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from tests.end_to_end.visitor import NOTHING_WAITS, Visitor

RESPONSES = "**/api/responses"
DELAYED = "Saving takes a while"


@pytest.fixture
def begun(visit: Any, server: str) -> Iterator[Visitor]:
    """A participant with responses to the practice trial and the first question."""
    visitor = visit(server)
    visitor.begin()
    visitor.answer_practice()
    visitor.answer_questions(1)
    expect_sent(visitor, [[0], [1]])
    yield visitor
    visitor.page.unroute_all(behavior="ignoreErrors")


def expect_sent(visitor: Visitor, trials: list[list[int]], timeout_s: float = 20) -> None:
    """Wait until the server has accepted these responses, in these requests."""
    deadline = time.monotonic() + timeout_s
    while visitor.sent_trials != trials and time.monotonic() < deadline:
        visitor.page.wait_for_timeout(50)
    assert visitor.sent_trials == trials


def stored_trials(rows: list[dict[str, Any]]) -> list[int]:
    return [row["trial_index"] for row in rows if row["response"] is not None]


def refuse_first(n: int, status: int, retry_after: str | None) -> tuple[Callable[[Route], None], list[Any]]:
    """Return a route that refuses the first `n` requests and passes the other requests, and the list of requests."""
    seen: list[tuple[float, Any]] = []

    def handle(route: Route) -> None:
        seen.append((time.monotonic(), route.request.post_data_json))
        if len(seen) > n:
            route.continue_()
            return
        headers = {"Retry-After": retry_after} if retry_after else {}
        route.fulfill(status=status, headers=headers, json={"error": "Please try again later."})

    return handle, seen


def test_responses_given_offline_arrive_in_one_request_after_the_connection_returns(
    begun: Visitor, study_folder: Path, rows: Any
) -> None:
    begun.context.set_offline(True)
    begun.answer_questions(3)
    expect(begun.page.locator("#save-status")).to_contain_text("Offline")
    begun.wait_for_trial()
    begun.shoot_everywhere("offline")
    begun.context.set_offline(False)
    expect(begun.page.locator("#save-status")).to_contain_text("All answers are saved", timeout=20_000)
    assert begun.sent_trials == [[0], [1], [2, 3, 4]]
    assert stored_trials(rows(study_folder)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("status", [503, 429])
def test_the_same_responses_are_sent_to_a_busy_server_after_the_requested_time(
    begun: Visitor, study_folder: Path, rows: Any, status: int
) -> None:
    begun.expected.append(f"status of {status}")
    handle, seen = refuse_first(2, status, retry_after="3")
    begun.page.route(RESPONSES, handle)
    begun.answer_questions(2)
    expect(begun.page.locator("#save-status")).to_contain_text(DELAYED)
    begun.wait_for_trial()
    begun.shoot_everywhere("delayed")
    begun.answer_questions(1)
    expect(begun.page.locator("#save-status")).to_contain_text("All answers are saved", timeout=20_000)

    times = [at for at, _ in seen]
    waits_s = [later - earlier for earlier, later in pairwise(times)]
    assert all(3 <= wait_s < 3 * 1.25 + 1 for wait_s in waits_s[:2])
    ids = [[response["response_id"] for response in body["responses"]] for _, body in seen]
    assert [response["trial_index"] for response in seen[0][1]["responses"]] == [2]
    assert ids[1][:1] == ids[0]
    assert ids[2][: len(ids[1])] == ids[1]
    assert stored_trials(rows(study_folder)) == [0, 1, 2, 3, 4]
    stored = [row for row in rows(study_folder) if row["response"] is not None]
    assert len(stored) == 5


def test_a_short_failure_of_the_server_is_not_shown(begun: Visitor) -> None:
    """A message that appears during a trial would distract the participant."""
    begun.expected.append("status of 503")
    handle, _ = refuse_first(1, 503, retry_after="1")
    begun.page.route(RESPONSES, handle)
    begun.page.evaluate(
        "window.said = []; new MutationObserver(() => said.push(document.getElementById('save-status').textContent))"
        ".observe(document.getElementById('save-status'), {childList: true})"
    )
    begun.answer_questions(1)
    expect_sent(begun, [[0], [1], [2]])
    assert begun.page.evaluate("said") == []


def test_a_busy_server_only_delays_the_start_and_the_practice(
    visit: Any, server: str, study_folder: Path, rows: Any
) -> None:
    visitor = visit("about:blank")
    visitor.expected.append("status of 503")
    for path in ("study", "session", "responses"):
        handle, _ = refuse_first(1, 503, retry_after="2")
        visitor.page.route(f"**/api/{path}", handle)
    visitor.page.goto(server)
    expect(visitor.page.get_by_text("The server cannot answer at the moment")).to_be_visible()
    visitor.shoot_everywhere("busy")
    visitor.page.unroute("**/api/session")
    handle, starts = refuse_first(1, 503, retry_after="1")
    visitor.page.locator("#consent-agree").wait_for()
    visitor.page.route("**/api/session", handle)
    visitor.begin()
    visitor.wait_for_trial()
    visitor.page.keyboard.press("a")
    visitor.page.keyboard.press("Enter")
    expect(visitor.page.get_by_text("Checking your answer")).to_be_visible()
    expect(visitor.page.locator("#save-status")).to_contain_text(DELAYED)
    visitor.shoot_everywhere("practice-delayed")
    visitor.page.locator("#feedback-continue").click()
    visitor.wait_for_trial()
    assert starts[0][1] == starts[1][1]  # both requests have the same start id, so one session begins
    assert len({row["session"] for row in rows(study_folder)}) == 1
    assert stored_trials(rows(study_folder)) == [0]


def test_waiting_responses_survive_a_reload(begun: Visitor, study_folder: Path, rows: Any) -> None:
    begun.expected.append("ERR_FAILED")
    begun.page.route(RESPONSES, lambda route: route.abort())
    begun.answer_questions(2)
    begun.page.once(
        "dialog", lambda dialog: dialog.accept()
    )  # the browser asks whether to leave the page with unsent responses
    begun.page.unroute(RESPONSES)
    begun.page.reload()
    expect(begun.page.get_by_text("Your answers so far are saved (4 of")).to_be_visible()
    assert stored_trials(rows(study_folder)) == [0, 1, 2, 3]
    assert begun.sent_trials[2:] == [[2, 3]]


def test_responses_before_a_refused_response_are_stored(begun: Visitor, study_folder: Path, rows: Any) -> None:
    begun.expected += ["status of 422", "ERR_INTERNET_DISCONNECTED"]
    begun.context.set_offline(True)
    begun.answer_questions(3)

    def spoil(route: Route) -> None:
        body = route.request.post_data_json
        for response in body["responses"]:
            if response["trial_index"] == 3:
                response["response"] = "no possible answer"
        route.continue_(post_data=json.dumps(body))

    begun.page.route(RESPONSES, spoil)
    begun.context.set_offline(False)
    expect(begun.page.locator("h1")).to_have_text("An answer could not be saved")
    expect(begun.page.locator("#save-status")).to_be_empty()
    begun.shoot_everywhere("not-saved")
    assert stored_trials(rows(study_folder)) == [0, 1, 2]


def test_a_refusal_by_a_proxy_does_not_discard_responses(begun: Visitor, study_folder: Path, rows: Any) -> None:
    begun.expected.append("status of 403")
    blocked: list[Route] = []

    def block_first(route: Route) -> None:
        blocked.append(route)
        if len(blocked) == 1:
            route.fulfill(status=403, content_type="text/html", body="<h1>Please log in to the campus network</h1>")
        else:
            route.continue_()

    begun.page.route(RESPONSES, block_first)
    begun.answer_questions(1)
    expect_sent(begun, [[0], [1], [2]])
    assert stored_trials(rows(study_folder)) == [0, 1, 2]


@pytest.mark.parametrize(("n", "length", "sizes"), [(150, 1, [100, 50]), (40, 2_000, [23, 17])])
def test_a_long_backlog_is_sent_in_requests_that_browser_and_server_accept(
    begun: Visitor, n: int, length: int, sizes: list[int]
) -> None:
    """The browser sends at most 64 KB for a page that can be closed, and the server accepts 100 responses at once."""
    page = begun.page
    page.evaluate(
        """async ([n, length]) => {
          const { session } = await (await fetch("/api/session")).json();
          for (let trial_index = 2; trial_index < n + 2; trial_index++) {
            const response_id = crypto.randomUUID();
            const entry = { session, response_id, trial_index, response: "x".repeat(length), rt_ms: 1234.5 };
            localStorage.setItem(`equipoise-response-${response_id}`, JSON.stringify(entry));
          }
        }""",
        [n, length],
    )
    bodies: list[str] = []

    def take(route: Route) -> None:
        bodies.append(route.request.post_data or "")
        taken = json.loads(bodies[-1])["responses"]
        route.fulfill(
            json={"responses": [{"response_id": response["response_id"], "feedback": None} for response in taken]}
        )

    page.route(RESPONSES, take)
    page.reload()
    expect(page.locator("h1")).to_have_text("Welcome back")
    assert [len(json.loads(body)["responses"]) for body in bodies] == sizes
    assert [r["trial_index"] for body in bodies for r in json.loads(body)["responses"]] == list(range(2, n + 2))
    assert max(len(body) for body in bodies) < 64 * 1024
    assert page.evaluate(NOTHING_WAITS)
