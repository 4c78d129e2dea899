"""`equipoise assignment` shows slots, closes groups, releases slots and writes the log."""

import json
from pathlib import Path

from tests.equipoise.commands.store.commands import N_GROUPS, StoredStudy, answer, done, refused, table
from tests.server.stores import rows

# assignment


def shown(stored: StoredStudy) -> dict[str, list[str]]:
    heading, *lines = done("assignment", "show", stored.folder, *stored.option).splitlines()
    assert heading.split() == ["group", "completed", "under", "way", "lapsed", "replaced", "withdrawn"]
    return {line.split()[0]: line.split()[1:] for line in lines}


def test_the_slots_of_each_group_are_shown_and_add_up(stored: StoredStudy) -> None:
    slots = shown(stored)
    assert list(slots) == [*map(str, range(1, N_GROUPS + 1)), "all"]
    assert slots["all"] == ["1", "2", "0", "0", "1"]
    for column in range(5):
        assert sum(int(slots[str(group)][column]) for group in range(1, N_GROUPS + 1)) == int(slots["all"][column])


def test_a_study_without_sessions_has_only_free_slots(empty: StoredStudy) -> None:
    empty.opened().__enter__().close()  # makes the store
    assert shown(empty)["all"] == ["0"] * 5


def test_a_closed_group_gets_no_participant_until_it_is_opened(empty: StoredStudy) -> None:
    printed = done("assignment", "close", empty.folder, "--group", 2, *empty.option)
    assert printed == "Group 2 is closed for new participants.\n"
    assert shown(empty)["2"] == [*"00000", "closed"]
    for number in range(3):
        answer(empty, f"person-{number}", n_answers=0)
    assert shown(empty)["1"] == [*"03000"]
    printed = done("assignment", "open", empty.folder, "--group", 2, *empty.option)
    assert printed == "Group 2 is open for new participants.\n"
    answer(empty, "one-more", n_answers=0)
    assert shown(empty)["2"] == [*"01000"]


def test_slots_are_added_to_a_quota_and_the_log_names_the_command_line(empty: StoredStudy, tmp_path: Path) -> None:
    refusal = refused("assignment", "extend", empty.folder, "--group", 1, "--slots", 1, *empty.option)
    assert "no quota" in refusal
    path = empty.folder / "study.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("{entry: panel", "{quota: 1, entry: panel"), "utf-8")
    answer(empty, "anna", n_answers=0)
    printed = done("assignment", "extend", empty.folder, "--group", 1, "--slots", 2, *empty.option)
    assert printed == "Slots added to the quota of group 1: 2.\n"
    for name in ("bert", "carl"):
        answer(empty, name, n_answers=0)
    assert shown(empty)["all"] == [*"03000"]
    done("assignment", "log", empty.folder, "-o", tmp_path / "log.csv", *empty.option)
    (entry,) = [row for row in table(tmp_path / "log.csv") if row["event"] == "quota extended"]
    assert json.loads(entry["details"]) == {"group": 1, "n_slots": 2, "by": "command line"}
    for group, slots in ((9, 1), (1, 0), (1, 10_001)):
        refused("assignment", "extend", empty.folder, "--group", group, "--slots", slots, *empty.option)


def test_a_missing_group_is_refused_by_its_number(stored: StoredStudy) -> None:
    before = shown(stored)
    for command in ("close", "open"):
        for group in ("0", "3", "-1", "one", "1.5", ""):
            assert "--group" in refused("assignment", command, stored.folder, "--group", group, *stored.option)
    assert shown(stored) == before


def test_no_slot_is_released_for_an_exclusion_because_the_responses_would_stay_in_the_analysis(
    stored: StoredStudy,
) -> None:
    before = shown(stored)
    named = ["--panel-id", "anna", "--reason", "exclusion"]
    assert "Fix: use `equipoise exclude " in refused("assignment", "release", stored.folder, *named, *stored.option)
    assert shown(stored) == before


def test_a_slot_is_released_by_panel_id_or_session_and_the_responses_stay(stored: StoredStudy) -> None:
    reason = "return"
    with stored.opened() as store:
        before = rows(store, "SELECT * FROM responses ORDER BY session, trial_index")
    for name, value in (("--panel-id", "anna"), ("--session", stored.sessions["bert"])):
        printed = done("assignment", "release", stored.folder, name, value, "--reason", reason, *stored.option)
        session = stored.sessions.get(value, value)
        assert (
            printed
            == f"The slot of session {session} is released; another participant will be recruited for this slot.\n"
        )
        again = refused("assignment", "release", stored.folder, name, value, "--reason", reason, *stored.option)
        assert "released before" in again
    with stored.opened() as store:
        assert rows(store, "SELECT * FROM responses ORDER BY session, trial_index") == before
        reasons = dict(rows(store, "SELECT session, release_reason FROM sessions"))
    assert {reasons[stored.sessions[name]] for name in ("anna", "bert")} == {reason}
    assert shown(stored)["all"] == ["0", "1", "1", "1", "1"]


def test_an_unknown_participant_is_refused_and_nothing_is_changed(stored: StoredStudy) -> None:
    before = done("store", "verify", stored.folder, *stored.option)
    for named, message in (
        ([], "--session"),
        (["--session", stored.sessions["anna"], "--panel-id", "anna"], "--panel-id"),
        (["--session", "nothing"], "--session nothing"),
        (["--panel-id", "nobody"], "--panel-id nobody"),
        (["--panel-id", ""], "--panel-id"),
        (["--session", "' OR 1=1 --"], "--session"),
        (["--session", "p-123"], "--session"),
    ):
        for command in (["assignment", "release", "--reason", "return"], ["identities", "delete"]):
            assert message in refused(*command, stored.folder, *named, *stored.option)
    assert done("store", "verify", stored.folder, *stored.option) == before
    with stored.opened() as store:
        assert len(rows(store, "SELECT * FROM identities")) == 4


def test_an_unknown_reason_is_refused(stored: StoredStudy) -> None:
    for reason in ([], ["--reason", "boredom"]):
        assert "--reason" in refused(
            "assignment", "release", stored.folder, "--panel-id", "anna", *reason, *stored.option
        )


def test_a_model_run_has_no_slot_to_release(stored: StoredStudy) -> None:
    done("models", "run", stored.folder, "--model", "baseline/tracer", *stored.option)
    with stored.opened() as store:
        ((run_session,),) = rows(store, "SELECT session FROM runs")
    found = refused(
        "assignment", "release", stored.folder, "--session", run_session, "--reason", "return", *stored.option
    )
    assert "no session with this name" in found


def test_the_log_of_decisions_is_written_with_its_numbers(stored: StoredStudy, tmp_path: Path) -> None:
    path = tmp_path / "places.csv"
    done("assignment", "close", stored.folder, "--group", 1, *stored.option)
    printed = done("assignment", "log", stored.folder, "-o", path, *stored.option)
    decisions = table(path)
    assert printed == f"Made {path} with {len(decisions)} entries.\n"
    assert [int(row["event_index"]) for row in decisions] == list(range(len(decisions)))
    events = [row["event"] for row in decisions]
    assert events.count("reserved") == 4
    assert {"registered", "confirmed", "withdrew", "released", "closed"} <= set(events)
    reserved = next(row for row in decisions if row["session"] == stored.sessions["bert"])
    assert json.loads(reserved["details"])["taken"]
    assert "anna" not in path.read_text(encoding="utf-8")
