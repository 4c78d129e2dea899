"""`equipoise revise`, `equipoise exclude`, and commands that only read a study whose files changed."""

import csv
import json
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from equipoise.commands.server_process import running_server
from experiment.load_study import load_study
from server.store import Access
from server.store.open import opened_store
from tests.equipoise.commands.store.commands import (
    StoredStudy,
    answer,
    copied,
    done,
    make_small_study,
    on_a_file,
    refused,
    run,
)
from tests.server.stores import problems, rows

Edit = Callable[[Path, str, str], None]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> StoredStudy:
    template = on_a_file(tmp_path_factory.mktemp("template") / "study")
    make_small_study(template.folder, "panel")
    for name in ("anna", "bert"):
        answer(template, name, n_answers=100, then="complete")
    answer(template, "carl", n_answers=2)
    return template


@pytest.fixture
def stored(template: StoredStudy, tmp_path: Path) -> StoredStudy:
    """Return a panel's study with two completed sessions and one under way; each test has a new copy."""
    return copied(template, tmp_path / "study")


@pytest.fixture
def changed(stored: StoredStudy, edit: Edit) -> StoredStudy:
    """Return the same study after a change in the consent and in the title."""
    edit(stored.folder / "consent.md", "ten minutes", "twelve minutes")
    edit(stored.folder / "study.yaml", "title: ", "title: New ")
    return stored


def report(stored: StoredStudy) -> str:
    done_with_notes("analyze", stored.folder, "-o", stored.folder / "out")
    text = (stored.folder / "out" / "report.html").read_text(encoding="utf-8")
    return " ".join(re.sub(r"<[^>]+>", "", text).replace("\u00a0", " ").split())


def done_with_notes(*arguments: object) -> tuple[str, str]:
    found = run(*arguments)
    assert found.exit_code == 0, found.output
    return found.stdout, found.stderr


def table(stored: StoredStudy, name: str) -> list[dict[str, str]]:
    with (stored.folder / "out" / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# revise


def test_an_accepted_revision_is_printed_and_is_in_the_report(changed: StoredStudy, edit: Edit) -> None:
    printed = done("revise", changed.folder, "--reason", "the session takes longer")
    assert printed.startswith("Accepted revision 2 of version 1.0: `title` and the consent `consent.md`.\n")
    assert "The CONSENT changed: check that your ethics board allows the new text" in printed
    answer(changed, "dora", n_answers=100, then="complete")
    text = report(changed)
    assert "Version 1.0 was reworded on 20" in text
    assert "title and the consent consent.md. Reason: “the session takes longer”." in text
    assert "3 sessions with revision 1, 1 session with revision 2" in text
    by_session = {row["session"]: row["study_revision"] for row in table(changed, "trials")}
    assert {name: by_session[session] for name, session in changed.sessions.items()} == {
        "anna": "1", "bert": "1", "carl": "1", "dora": "2",
    }  # fmt: skip
    with opened_store(changed.location) as store:
        consents = dict(rows(store, "SELECT session, consent_digest FROM sessions"))
        assert consents[changed.sessions["anna"]] != consents[changed.sessions["dora"]]
        assert problems(store) == []


def test_a_revision_of_options_prints_them_before_and_after(stored: StoredStudy, edit: Edit) -> None:
    edit(stored.folder / "battery.jsonl", '["red","blue","green","yellow"]', '["red","Blue","green","light yellow"]')
    printed = done("revise", stored.folder, "--reason", "clearer options")
    assert ", option 2: “blue” -> “Blue”\n" in printed
    assert ", option 4: “yellow” -> “light yellow”\n" in printed
    assert "option 1" not in printed
    assert "The OPTIONS changed: check that each option still has the same meaning." in printed
    assert "Equipoise cannot check the meaning of new words" in " ".join(done("revise", "--help").split())


def test_a_change_of_more_than_wording_is_refused_by_name(changed: StoredStudy, edit: Edit) -> None:
    edit(changed.folder / "study.yaml", "fixation_ms: 200", "fixation_ms: 900")
    sentence = refused("revise", changed.folder, "--reason", "a longer cross")
    assert "`timing.fixation_ms` changed after the first session. Fix: give the study a new `version`." in sentence


@pytest.mark.parametrize("reason", ["", "   ", "two\nlines", "x" * 501])
def test_a_decision_needs_a_reason_in_one_sentence(changed: StoredStudy, reason: str) -> None:
    assert "--reason" in refused("revise", changed.folder, "--reason", reason)
    assert "--reason" in refused("exclude", changed.folder, "--panel-id", "anna", "--reason", reason)


READERS: list[list[str]] = [
    ["store", "verify", "STUDY"],
    ["store", "backup", "STUDY", "-o", "backup.db"],
    ["store", "sessions", "STUDY", "-o", "sessions.csv"],
    ["assignment", "show", "STUDY"],
    ["assignment", "log", "STUDY", "-o", "log.csv"],
    ["identities", "export", "STUDY", "-o", "people.csv"],
    ["analyze", "STUDY", "-o", "out"],
]


def decided(stored: StoredStudy) -> list[Any]:
    """Return the stored decisions, without the responses and without the log's entries on views."""
    with opened_store(stored.location) as store:
        tables = [rows(store, f"SELECT * FROM {name}") for name in ("studies", "revisions", "slots")]
        events = rows(store, "SELECT event, session, details FROM events ORDER BY event_index")
    return [*tables, [event for event in events if event[0] not in set(Access)]]


@pytest.mark.parametrize("command", READERS, ids=lambda command: " ".join(command[:2]))
def test_a_command_that_only_reads_prints_one_line_on_changes_and_changes_nothing(
    changed: StoredStudy, command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = decided(changed)
    _, text = done_with_notes(*[changed.folder if word == "STUDY" else word for word in command])
    (line,) = text.splitlines()
    assert line.startswith("Note: ")
    assert "`title` and the consent `consent.md` changed since version 1.0 was served" in line
    assert decided(changed) == before


def test_groups_are_closed_and_slots_released_after_any_change_in_the_files(changed: StoredStudy) -> None:
    done_with_notes("assignment", "close", changed.folder, "--group", 1)
    done_with_notes("assignment", "release", changed.folder, "--panel-id", "carl", "--reason", "return")
    with opened_store(changed.location) as store:
        assert rows(store, "SELECT COUNT(*) FROM studies") == [(1,)]
        assert rows(store, "SELECT is_open FROM slots WHERE kind = 'human' AND \"group\" = 1") == [(0,)]


def test_a_server_starts_after_an_exploratory_table_is_added(stored: StoredStudy, edit: Edit) -> None:
    edit(stored.folder / "study.yaml", "analysis:\n", "analysis:\n  correction: bh\n")
    answer(stored, "dora", n_answers=100, then="complete")  # by an application that registers the study
    text = report(stored)
    assert "The store registered a plan with version 1.0 of the study" in text
    assert "Deviations from the registered plan:" in text
    assert "correction was the default in the registered plan, and is" in text


def begun_at(url: str, panel_id: str) -> tuple[httpx.Client, dict[str, Any], dict[str, Any]]:
    """Begin a session in a new browser; return its client, the study as shown before, and the session."""
    http = httpx.Client(base_url=url)
    http.get("/", params={"pid": panel_id})
    shown = http.get("/api/study").json()
    start = {"start_id": str(uuid.uuid4()), "consent_digest": shown["consent_digest"], "kind": "human"}
    return http, shown, http.post("/api/session", json=start).raise_for_status().json()


def test_a_running_server_keeps_its_wording_while_a_revision_is_accepted(stored: StoredStudy, edit: Edit) -> None:
    with running_server(stored.folder) as url:
        dora, before, session = begun_at(url, "dora")
        edit(stored.folder / "consent.md", "ten minutes", "twelve minutes")
        done("revise", stored.folder, "--reason", "the session takes longer")
        edith, shown, _ = begun_at(url, "edith")
        assert shown == before
    with running_server(stored.folder) as url:
        frank, after, _ = begun_at(url, "frank")
        assert after["consent_digest"] != before["consent_digest"]
        dora.base_url = url
        assert dora.get("/api/session").json()["trials"] == session["trials"]
    for http in (dora, edith, frank):
        http.close()
    revisions = [row["study_revision"] for row in sessions(stored)]
    assert revisions == [1, 1, 1, 1, 1, 2]
    with opened_store(stored.location) as store:
        assert rows(store, "SELECT SUM(n_begun) FROM slots WHERE kind = 'human'") == [(6,)]
        assert problems(store) == []


# exclude


def test_an_exclusion_is_a_step_with_its_reason_and_can_be_undone(stored: StoredStudy) -> None:
    session = stored.sessions["anna"]
    printed = done("exclude", stored.folder, "--panel-id", "anna", "--reason", "=fire alarm")
    assert printed == f"Session {session} is excluded. The responses stay; the slot is free for another participant.\n"

    text = report(stored)
    assert f"“=fire alarm” (session {session}, on 20" in text
    assert "after the last response)" in text
    flow = {row["step"]: row for row in table(stored, "exclusions")}
    assert list(flow)[:3] == ["withdrawn", "not_completed", "excluded_by_researcher"]
    assert flow["excluded_by_researcher"]["n_participants"] == "1"
    assert sum(int(row["n_participants"]) for row in flow.values()) == 3
    groups = {row["group"]: row for row in table(stored, "exclusions_by_group")}
    assert groups["total"]["recruited_participants"] == "3"
    assert int(groups["total"]["excluded_participants"]) + int(groups["total"]["final_participants"]) == 3
    trials = [row for row in table(stored, "trials") if row["session"] == session]
    assert {row["excluded_reason"] for row in trials} == {"'=fire alarm"}
    assert {row["excluded_by"] for row in trials if row["phase"] == "test"} == {"excluded_by_researcher"}
    assert all(row["response"] for row in trials), "answers stay"
    assert "complete and unchanged" in done("store", "verify", stored.folder)

    undone = done("exclude", stored.folder, "--session", session, "--undo", "--reason", "another session was meant")
    assert undone == f"Session {session} is in the analysis again; it has a slot again.\n"
    report(stored)
    assert "excluded_by_researcher" not in {row["step"] for row in table(stored, "exclusions")}
    done("assignment", "log", stored.folder, "-o", stored.folder / "log.csv")
    with (stored.folder / "log.csv").open(encoding="utf-8", newline="") as file:
        decisions = [row for row in csv.DictReader(file) if row["event"] in {"excluded", "included"}]
    assert [json.loads(row["details"])["reason"] for row in decisions] == ["=fire alarm", "another session was meant"]


def test_an_exclusion_by_researcher_deviates_from_a_locked_plan(stored: StoredStudy) -> None:
    done("analyze", stored.folder, "--lock")
    before = report(stored)
    assert "The plan of this analysis is identical to the locked plan." in before
    assert "excluded_by_researcher" not in before
    done("exclude", stored.folder, "--panel-id", "anna", "--reason", "fire alarm")
    text = report(stored)
    assert "The plan of this analysis is identical to the locked plan." not in text
    assert (
        "The researcher excluded 1 session without a rule of the plan. Number of sessions that were complete before "
        "the researcher excluded them: 1." in text
    )


def test_a_session_that_cannot_be_excluded_is_named(stored: StoredStudy) -> None:
    reason = ["--reason", "fire alarm"]
    done("exclude", stored.folder, "--panel-id", "anna", *reason)
    assert "is excluded already (fire alarm)" in refused("exclude", stored.folder, "--panel-id", "anna", *reason)
    assert "is not excluded" in refused("exclude", stored.folder, "--panel-id", "bert", "--undo", *reason)
    assert "--panel-id nobody" in refused("exclude", stored.folder, "--panel-id", "nobody", *reason)
    assert "give one of" in refused("exclude", stored.folder, *reason)
    assert "--reason" in refused("exclude", stored.folder, "--panel-id", "bert")
    done("withdraw", stored.folder, "--panel-id", "bert")
    assert "was withdrawn" in refused("exclude", stored.folder, "--panel-id", "bert", *reason)
    done("simulate", stored.folder, "-n", "1")
    simulated = next(row for row in sessions(stored) if row["kind"] == "simulated")
    assert "--without-simulated" in refused("exclude", stored.folder, "--session", simulated["session"], *reason)


def sessions(stored: StoredStudy) -> list[dict[str, Any]]:
    with opened_store(stored.location) as store:
        return store.sessions(load_study(stored.folder))
