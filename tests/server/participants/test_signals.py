"""Signals of a trial, and missing responses: stored as sent, and shown in the view and the tidy table."""

import dataclasses
import json
import math
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from analysis.data.columns import SIGNALS
from analysis.data.tidy_table import read_trials, tidy_trials
from analysis.exclusions.flow import apply_exclusions
from batteries.items import Battery
from experiment.records import Signals
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.definition import Study
from experiment.study.exclusion_rules import AttentionCheckRule
from experiment.study.timeline import Resume, Timing
from server.app import create_app
from server.settings import Settings
from server.store import SqliteStore, Store
from server.store.copying import copy_store
from tests.server.conftest import SECRETS, Participant
from tests.server.stores import Person, execute_sql, problems, response, saying, verified, version_of

NO_LIMITS = Settings(requests_per_second=1_000_000, starts_per_minute=1_000_000, slots_per_address=1_000_000)
ALL = {
    "hidden": 1, "away_ms": 2_345, "fullscreen_left": 2, "pasted": 3, "copied": 4, "resized": 5, "too_early": 6,
    "too_fast": 1, "untrusted": 7, "translated": 1,
    "rules_opened": 2, "rules_ms": 5_678,
}  # fmt: skip
JSPSYCH = {"trial_type": "html-button-response", "plugin_version": "2.1.0", "time_elapsed_ms": 12_345.678}
SHOWN = {"attempt": 3, "visit": 2, "input": "touch", "signals": ALL, "jspsych": JSPSYCH}


@pytest.fixture
def participant(small_study: Study, any_store: Store) -> Participant:
    return begun(small_study, any_store)


def begun(study: Study, store: Store) -> Participant:
    participant = Participant(create_app(study, store, SECRETS, NO_LIMITS))
    assert participant.start().status_code == 201
    return participant


def row(store: Store, trial_index: int = 0) -> dict[str, Any]:
    (found,) = [row for row in store.trials() if row["trial_index"] == trial_index]
    return found


def table_of(store: Store) -> pd.DataFrame:
    return tidy_trials(pd.DataFrame(store.trials()))


def sentence(reply: TestResponse) -> str:
    """Return the one sentence of a refusal."""
    assert reply.status_code == 422, reply.text
    message: str = reply.get_json()["error"]
    assert "\n" not in message and message.endswith(".")
    return message


# Stored as sent


def test_all_signals_of_a_response_are_stored_and_shown(participant: Participant, any_store: Store) -> None:
    assert participant.answer(0, **SHOWN).status_code == 201
    found = row(any_store)
    assert (found["attempt"], found["visit"], found["input"], found["missing"]) == (3, 2, "touch", None)
    assert json.loads(found["signals"]) == ALL
    assert json.loads(found["jspsych"]) == JSPSYCH
    assert problems(any_store) == []


def test_signals_have_separate_columns_in_the_tidy_table(participant: Participant, any_store: Store) -> None:
    participant.answer(0, **SHOWN)
    first = table_of(any_store).iloc[0]
    assert {name: first[f"signal_{name}"] for name in ALL} == ALL
    assert (first["attempt"], first["visit"], first["input"]) == (3, 2, "touch")
    assert (first["trial_type"], first["plugin_version"]) == ("html-button-response", "2.1.0")
    assert (first["time_elapsed"], first["rt"]) == (12_345.678, 1234)
    assert pd.isna(first["missing"])


def test_the_table_has_a_column_for_every_signal() -> None:
    assert {f"signal_{name}" for name in Signals.model_fields} == set(SIGNALS)


@pytest.mark.parametrize("signals", [None, {}, dict.fromkeys(ALL, 0)])
def test_absent_signals_are_zero_with_a_response_and_missing_without_one(
    participant: Participant, any_store: Store, signals: dict[str, int] | None
) -> None:
    participant.answer(0, signals=signals)
    table = table_of(any_store)
    assert table.loc[0, list(SIGNALS)].tolist() == [0] * len(SIGNALS)
    assert table.loc[1:, list(SIGNALS)].isna().all(axis=None)


def test_fields_that_an_older_page_does_not_send_are_missing_and_the_response_is_accepted(
    participant: Participant, any_store: Store
) -> None:
    assert participant.answer(0).status_code == 201
    found = row(any_store)
    assert [found[name] for name in ("attempt", "visit", "input", "missing", "signals", "jspsych")] == [1, *[None] * 5]
    first = table_of(any_store).iloc[0]
    assert pd.isna(first["visit"]) and pd.isna(first["trial_type"]) and pd.isna(first["rt"])


@given(
    signals=st.none() | st.dictionaries(st.sampled_from(sorted(ALL)), st.integers(0, 1_000_000)),
    attempt=st.integers(1, 1_000_000),
    visit=st.none() | st.integers(1, 1_000_000),
    given_by=st.sampled_from([None, "key", "mouse", "touch", "pen"]),
    elapsed=st.none() | st.floats(0, 1e12),
)
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_signals_within_the_bounds_are_returned_unchanged(
    small_study: Study, any_store: Store, signals: Any, attempt: int, visit: int | None, given_by: Any, elapsed: Any
) -> None:
    person = begun(small_study, any_store)
    jspsych = None if elapsed is None else JSPSYCH | {"time_elapsed_ms": elapsed}
    sent = {"signals": signals, "attempt": attempt, "visit": visit, "input": given_by, "jspsych": jspsych}
    assert person.answer(0, **sent).status_code == 201
    (found,) = [
        row for row in any_store.trials() if (row["session"], row["trial_index"]) == (person.session["session"], 0)
    ]
    assert (found["attempt"], found["visit"], found["input"]) == (attempt, visit, given_by)
    kept = json.loads(found["signals"]) if found["signals"] else {}
    assert {name: n for name, n in kept.items() if n} == {name: n for name, n in (signals or {}).items() if n}
    assert (json.loads(found["jspsych"]) if found["jspsych"] else None) == jspsych


def test_a_retry_keeps_the_signals_that_were_sent_first(participant: Participant, any_store: Store) -> None:
    response_id = str(uuid.uuid4())
    participant.answer(0, response_id=response_id, **SHOWN)
    again = participant.answer(0, response_id=response_id, signals={"hidden": 99}, attempt=4)
    assert again.status_code == 200
    assert (json.loads(row(any_store)["signals"]), row(any_store)["attempt"]) == (ALL, 3)
    assert len([one for one in any_store.trials() if one["response"] is not None]) == 1


def test_models_have_no_signals(small_study: Study, any_store: Store) -> None:
    from experiment.models.baselines import run_baseline

    any_store.register_study(small_study)
    any_store.add_runs(small_study, [run_baseline(small_study, "baseline/tracer")])
    table = table_of(any_store)
    assert table[list(SIGNALS)].isna().all(axis=None)
    assert table[["implausibly_fast", "same_response_run", "input", "visit"]].isna().all(axis=None)


# Bounds


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"attempt": 0}, "attempt"), ({"attempt": -1}, "attempt"), ({"attempt": 1.5}, "attempt"),
        ({"attempt": None}, "attempt"), ({"attempt": 10**7}, "attempt"), ({"attempt": True}, "attempt"),
        ({"visit": 0}, "visit"), ({"visit": "1"}, "visit"), ({"visit": 10**7}, "visit"),
        ({"input": "keyboard"}, "input"), ({"input": ""}, "input"), ({"input": 1}, "input"),
        ({"missing": "late"}, "missing"), ({"missing": True}, "missing"),
        ({"signals": []}, "signals"), ({"signals": "hidden"}, "signals"), ({"signals": 1}, "signals"),
        *(({"signals": {name: -1}}, f"signals.{name}") for name in ALL),
        *(({"signals": {name: 10**10}}, f"signals.{name}") for name in ALL),
        *(({"signals": {name: None}}, f"signals.{name}") for name in ALL),
        ({"signals": {"hidden": 1.5}}, "signals.hidden"), ({"signals": {"hidden": "1"}}, "signals.hidden"),
        ({"signals": {"hidden": True}}, "signals.hidden"), ({"signals": {"focus_lost": 1}}, "signals.focus_lost"),
        ({"jspsych": {}}, "jspsych"), ({"jspsych": JSPSYCH | {"time_elapsed_ms": -1}}, "jspsych.time_elapsed_ms"),
        ({"jspsych": JSPSYCH | {"time_elapsed_ms": math.nan}}, "jspsych.time_elapsed_ms"),
        ({"jspsych": JSPSYCH | {"time_elapsed_ms": math.inf}}, "jspsych.time_elapsed_ms"),
        ({"jspsych": JSPSYCH | {"trial_type": "x" * 201}}, "jspsych.trial_type"),
        ({"jspsych": JSPSYCH | {"plugin_version": "x" * 101}}, "jspsych.plugin_version"),
        ({"jspsych": JSPSYCH | {"stimulus": "x"}}, "jspsych.stimulus"),
    ],
)  # fmt: skip
def test_a_signal_out_of_bounds_is_refused_in_a_sentence_that_names_it(
    participant: Participant, any_store: Store, changes: dict[str, Any], named: str
) -> None:
    assert f"responses.0.{named}" in sentence(participant.answer(0, **changes))
    assert row(any_store)["response"] is None


# Missing responses


@pytest.fixture
def study_of(small_study: Study) -> Callable[..., Study]:
    """Give the small study a deadline, or the rule that interrupted trials are skipped."""

    def make(deadline_ms: int | None = None, interrupted: str = "repeat") -> Study:
        version = version_of(small_study, f"{deadline_ms} {interrupted}")
        return saying(version, timing=Timing(deadline_ms=deadline_ms), resume=Resume(interrupted_trial=interrupted))

    return make


StudyOf = Callable[..., Study]
UNTIMED = dict.fromkeys(("rt_ms", "fixation_ms", "fixation_frames", "shown_at", "frames_dropped", "focus_lost"))


def miss(participant: Participant, trial_index: int, why: str, **changes: Any) -> TestResponse:
    return participant.answer(trial_index, **{"response": None, "missing": why, **UNTIMED, **changes})


@pytest.mark.parametrize("why", ["deadline", "interrupted"])
def test_a_response_can_be_missing_only_if_the_study_allows_it(study_of: StudyOf, any_store: Store, why: str) -> None:
    allowed = {"deadline": {"deadline_ms": 3_000}, "interrupted": {"interrupted": "skip"}}
    for rule in ({}, *allowed.values()):
        participant = begun(study_of(**rule), any_store)
        participant.answer(0)
        reply = miss(participant, 1, why)
        if rule == allowed[why]:
            assert reply.status_code == 201, reply.text
            assert reply.get_json()["responses"][0]["feedback"] is None
        else:
            assert f"`missing` must not be `{why}`" in sentence(reply)
    assert problems(any_store) == []


def test_the_session_has_the_deadline_and_the_rule_for_interrupted_trials(study_of: StudyOf, any_store: Store) -> None:
    session = begun(study_of(2_500, "skip"), any_store).session
    assert (session["deadline_ms"], session["interrupted_trial"], session["reading_ms"]) == (2_500, "skip", 0)
    plain = begun(study_of(), any_store).session
    assert (plain["deadline_ms"], plain["interrupted_trial"]) == (None, "repeat")


@pytest.mark.parametrize("why", ["deadline", "interrupted"])
def test_a_practice_response_is_never_missing(study_of: StudyOf, any_store: Store, why: str) -> None:
    participant = begun(study_of(3_000, "skip"), any_store)
    assert "`missing` must not be" in sentence(miss(participant, 0, why))


@pytest.mark.parametrize("trial_index", [0, 1])
def test_only_a_plugins_response_can_be_too_large(study_of: StudyOf, any_store: Store, trial_index: int) -> None:
    participant = begun(study_of(), any_store)
    if trial_index == 1:
        participant.answer(0)
    assert "`missing` must not be `too_large`" in sentence(miss(participant, trial_index, "too_large"))


@pytest.mark.parametrize("why", ["deadline", "interrupted"])
@pytest.mark.parametrize("answer", ["absorbed", 1, "", [], False])
def test_a_missing_response_has_no_value(study_of: StudyOf, any_store: Store, why: str, answer: Any) -> None:
    participant = begun(study_of(3_000, "skip"), any_store)
    participant.answer(0)
    sentence(miss(participant, 1, why, response=answer))


def test_a_response_without_a_value_is_refused_unless_it_is_marked_as_missing(
    study_of: StudyOf, any_store: Store
) -> None:
    participant = begun(study_of(3_000, "skip"), any_store)
    participant.answer(0)
    sentence(participant.answer(1, response=None))
    assert participant.answer(1).status_code == 201


def test_a_missing_response_is_stored_shown_and_scored_as_none(study_of: StudyOf, any_store: Store) -> None:
    participant = begun(study_of(3_000, "skip"), any_store)
    participant.answer(0)
    assert miss(participant, 1, "deadline", rt_ms=None, signals={"hidden": 1}).status_code == 201
    assert miss(participant, 2, "interrupted").status_code == 201
    assert participant.complete().status_code == 200
    table = table_of(any_store)
    assert table["missing"].astype("str").fillna("").tolist() == ["", "deadline", "interrupted"]
    assert table["response"].isna().tolist() == [False, True, True]
    assert table["correct"].isna().tolist() == [False, True, True]
    assert table["received_at"].notna().all()
    assert table["signal_hidden"].tolist()[:2] == [0, 1]
    assert pd.isna(table["signal_hidden"][2]), "no client reported this signal"
    assert table["same_response_run"].isna().tolist() == [
        True,
        True,
        True,
    ]  # the practice responses, and no other response
    assert problems(any_store) == []


def test_a_missing_response_is_retried_like_any_other_response_and_is_not_filled_in_later(
    study_of: StudyOf, any_store: Store
) -> None:
    participant = begun(study_of(3_000), any_store)
    participant.answer(0)
    response_id = str(uuid.uuid4())
    assert [miss(participant, 1, "deadline", response_id=response_id).status_code for _ in range(2)] == [201, 200]
    assert participant.answer(1).status_code == 409
    assert participant.answer(1, response_id=response_id).status_code == 409
    assert [one["missing"] for one in any_store.trials()] == [None, "deadline", None]


def test_a_missing_response_is_excluded_as_unanswered_and_the_participant_is_kept(
    study_of: StudyOf, any_store: Store
) -> None:
    participant = begun(study_of(3_000), any_store)
    participant.answer(0)
    participant.answer(1)
    miss(participant, 2, "deadline")
    participant.complete()
    marked = apply_exclusions(table_of(any_store), AnalysisPlan()).trials
    assert marked["excluded_by"].fillna("").tolist() == ["not_a_test_trial", "", "unanswered"]


# Attention checks


@pytest.fixture
def checked_of(sample_study: Study, study_of: StudyOf) -> Callable[..., Study]:
    """The small study with an attention check, in each task."""
    (choice,) = (
        item for item in sample_study.battery.items if item.item_id in sample_study.definition.attention_checks
    )
    (ray,) = (item for item in sample_study.battery.items if item.item_id in sample_study.definition.practice)

    def make(task: str) -> Study:
        check = {"multiple_choice": choice, "blackbox_predict": ray}[task].model_copy(update={"item_id": "check"})
        study = study_of(3_000, "skip")
        order = study.definition.order.model_copy(update={"attention_check_spacing": 1})
        rules = (AttentionCheckRule(rule="attention_check", max_failed=0),)
        analysis = study.definition.analysis.model_copy(update={"exclusions": rules})
        items = (*study.battery.items, check)
        battery = Battery(**(study.battery.model_dump(exclude={"items"}) | {"items": items}))
        study = saying(study, attention_checks=("check",), order=order, analysis=analysis, version=task)
        return dataclasses.replace(study, battery=battery)

    return make


@pytest.mark.parametrize("why", ["deadline", "interrupted"])
@pytest.mark.parametrize("task", ["multiple_choice", "blackbox_predict"])
def test_a_missed_attention_check_is_failed_on_the_server_and_in_the_analysis(
    checked_of: Callable[[str], Study], any_store: Store, task: str, why: str
) -> None:
    study = checked_of(task)
    participant = begun(study, any_store)
    planned = {row["trial_index"]: row["phase"] for row in any_store.trials(study)}  # browsers do not learn the phase
    for trial in participant.session["trials"]:
        is_check = planned[trial["trial_index"]] == "attention_check"
        reply = miss(participant, trial["trial_index"], why) if is_check else participant.answer(trial["trial_index"])
        assert reply.status_code == 201, reply.text
    assert participant.complete().status_code == 200
    (listed,) = any_store.sessions(study)
    assert (listed["status"], listed["slot"], listed["release_reason"]) == ("completed", "released", "attention check")
    people = apply_exclusions(table_of(any_store), study.definition.analysis).participants
    assert people["disposition"].tolist() == ["attention_check"]
    assert problems(any_store) == []


# The checksums


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE responses SET signals = NULL WHERE trial_index = 1",
        "UPDATE responses SET signals = '{}' WHERE trial_index = 1",
        "UPDATE responses SET signals = '{\"hidden\":5}' WHERE trial_index = 0",
        "UPDATE responses SET visit = 1 WHERE trial_index = 1",
        "UPDATE responses SET visit = 1 WHERE trial_index = 0",
        "UPDATE responses SET input = 'key' WHERE trial_index = 1",
        "UPDATE responses SET input = 'key' WHERE trial_index = 2",
        "UPDATE responses SET missing = NULL WHERE trial_index = 2",
        "UPDATE responses SET missing = 'interrupted' WHERE trial_index = 2",
        "UPDATE responses SET jspsych = NULL WHERE trial_index = 1",
        "UPDATE responses SET jspsych = REPLACE(jspsych, '2.1.0', '2.1.1') WHERE trial_index = 1",
        "UPDATE responses SET attempt = 2 WHERE trial_index = 1",
    ],
)
def test_verification_finds_any_manual_change(study_of: StudyOf, any_store: Store, statement: str) -> None:
    participant = begun(study_of(3_000), any_store)
    participant.answer(0)
    participant.answer(1, **SHOWN)
    miss(participant, 2, "deadline")
    assert problems(any_store) == []
    execute_sql(any_store, statement)
    assert problems(any_store) != []


def test_a_copy_and_a_file_for_the_analysis_contain_the_same_signals(
    study_of: StudyOf, any_store: Store, tmp_path: Path
) -> None:
    participant = begun(study_of(3_000), any_store)
    participant.answer(0, signals={"pasted": 1})
    participant.answer(1, **SHOWN)
    miss(participant, 2, "deadline")
    path = tmp_path / "copy" / "equipoise.db"
    with closing(SqliteStore(path)) as copy:
        assert copy_store(any_store, copy) == verified(any_store)
    pd.testing.assert_frame_equal(read_trials(path), table_of(any_store))


def test_directly_stored_responses_need_the_same_form(small_study: Study, any_store: Store) -> None:
    any_store.register_study(small_study)
    person = Person(any_store, small_study)
    person.send(response(0, signals={"away_ms": 2_000_000_000}), response(1, response=None, missing="interrupted"))
    assert [one["missing"] for one in any_store.trials()] == [None, "interrupted", None]
    assert table_of(any_store)["signal_away_ms"].tolist()[0] == 2_000_000_000
    assert problems(any_store) == []
