"""Studies and runs of models: registered and stored once, and kept unchanged."""

import dataclasses
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from batteries.errors import InputError
from experiment.load_study import load_study
from experiment.models.baselines import run_baseline
from experiment.models.imports.stored_blackbox import read_stored_runs
from experiment.records import Kind, Run, Source
from experiment.study.definition import Study
from server.store import (
    Conflict,
    SqliteStore,
    Store,
)
from tests.server.store.contract.helpers import events
from tests.server.stores import (
    Person,
    another,
    at_once,
    execute_sql,
    problems,
    rows,
    version_of,
)

# Studies.


def test_a_changed_study_with_sessions_needs_a_new_version(
    any_store: Store, study_folder: Path, edit: Callable[[Path, str, str], None]
) -> None:
    study = load_study(study_folder)
    any_store.register_study(study)
    Person(any_store, study, Kind.SIMULATED)
    any_store.add_runs(study, [run_baseline(study, "baseline/tracer")])
    edit(study_folder / "consent.md", "ten minutes", "nine minutes")
    changed = load_study(study_folder)
    any_store.register_study(changed)  # Only simulated participants and models have sessions.

    Person(any_store, changed)
    edit(study_folder / "consent.md", "nine minutes", "five minutes")
    with pytest.raises(InputError, match="give the study a new `version`"):
        any_store.register_study(load_study(study_folder))
    any_store.register_study(changed)
    edit(study_folder / "study.yaml", 'version: "1.0"', 'version: "1.1"')
    any_store.register_study(load_study(study_folder))
    assert problems(any_store) == []


def test_a_study_is_registered_once_for_any_number_of_servers(any_store: Store, small_study: Study) -> None:
    with closing(another(any_store)) as other:
        register = [partial(one.register_study, small_study) for one in (any_store, other)]
        assert at_once(*register * 5) == [None] * 10
    assert rows(any_store, "SELECT COUNT(*) FROM studies") == [(1,)]
    assert rows(any_store, "SELECT COUNT(*) FROM items") == [(len(small_study.battery.items),)]
    assert rows(any_store, "SELECT COUNT(*) FROM slots") == [(6,)]
    assert events(any_store, small_study) == ["registered"]
    assert problems(any_store) == []


def test_a_session_keeps_the_definition_with_which_it_began(store: Store, small_study: Study) -> None:
    later = version_of(small_study, "1.1")
    store.register_study(later)
    store.register_study(version_of(small_study, "1.2"))  # It has no sessions.
    Person(store, small_study)
    Person(store, later)
    Person(store, later, Kind.SIMULATED)
    store.add_runs(later, [small_run(later)])
    found = {one.definition.version: one for one in store.registered_definitions(small_study)}
    assert {version: one.n_sessions for version, one in found.items()} == {"1.0": 1, "1.1": 2}
    assert found["1.0"].definition == small_study.definition


def test_a_code_finds_its_session_and_a_shared_code_finds_no_session(store: Store, small_study: Study) -> None:
    own, other = Person(store, small_study), Person(store, small_study)
    assert own.stored.plan.withdrawal_code != other.stored.plan.withdrawal_code
    assert store.sessions_with_code(small_study, own.stored.plan.withdrawal_code) == [own.session]
    definition = small_study.definition.model_copy(update={"completion_code": "SHARED", "version": "1.1"})
    shared = dataclasses.replace(small_study, definition=definition)
    store.register_study(shared)
    person = Person(store, shared)
    assert store.sessions_with_code(small_study, person.stored.plan.withdrawal_code) == [person.session]
    assert store.sessions_with_code(small_study, "SHARED") == []
    simulated = Person(store, shared, Kind.SIMULATED)
    assert store.sessions_with_code(small_study, simulated.stored.plan.withdrawal_code) == [simulated.session]


# Runs of models.


def small_run(study: Study, name: str = "baseline/tracer", **changes: Any) -> Run:
    return run_baseline(study, name).model_copy(update=changes)


def with_new_ids(run: Run) -> Run:
    responses = (one.model_copy(update={"response_id": str(uuid.uuid4())}) for one in run.responses)
    return run.model_copy(update={"responses": tuple(responses)})


def test_a_run_is_stored_once(store: Store, sample_study: Study) -> None:
    (first,) = store.add_runs(sample_study, [run_baseline(sample_study, "baseline/tracer")])
    (again,) = store.add_runs(sample_study, [run_baseline(sample_study, "baseline/tracer")])
    assert (first.is_new, again.is_new) == (True, False)
    assert first.run == again.run == "baseline/tracer"
    stored = store.trials(sample_study)
    assert len(stored) == 235
    assert {(row["kind"], row["run"], row["source"], row["status"], row["valid"]) for row in stored} == {
        ("model", "baseline/tracer", "api", "completed", 1)
    }
    assert problems(store) == []


def test_a_run_in_two_simultaneous_imports_is_stored_once(store: Store, small_study: Study) -> None:
    run = small_run(small_study)
    with closing(another(store)) as other:
        outcomes = at_once(*[partial(one.add_runs, small_study, [run]) for one in (store, other)] * 5)
    assert Counter(added.is_new for (added,) in outcomes) == {True: 1, False: 9}
    assert rows(store, "SELECT run FROM runs") == [("baseline/tracer",)]


def test_stored_responses_are_refused_in_another_run(any_store: Store, sample_study: Study, stored_runs: Path) -> None:
    haiku, *others = read_stored_runs(sample_study, [stored_runs])
    part = haiku.model_copy(update={"item_ids": haiku.item_ids[:23], "responses": haiku.responses[:23]})
    any_store.add_runs(sample_study, [part])
    with pytest.raises(Conflict, match=r"is in the store already, as part of the run `Haiku 4.5"):
        any_store.add_runs(sample_study, [*others, haiku])
    assert len(any_store.trials()) == 23  # All or none.
    assert problems(any_store) == []


def imported(study: Study, responses: slice, **changes: Any) -> Run:
    """Return some responses of a run as an import."""
    run = with_new_ids(small_run(study, source=Source.IMPORT, parameters={"format": "table"}))
    item_ids = run.item_ids[responses]
    some = tuple(
        response.model_copy(update={"trial_index": index}) for index, response in enumerate(run.responses[responses])
    )
    return run.model_copy(update={"item_ids": item_ids, "responses": some} | changes)


@pytest.mark.parametrize("later", [slice(2, 4), slice(0, 4)])
def test_a_second_import_under_the_same_condition_is_refused(
    any_store: Store, small_study: Study, later: slice
) -> None:
    totals = {"format": "table", "totals": {"tokens_in": 7}}
    any_store.add_runs(small_study, [imported(small_study, slice(0, 2), parameters=totals)])
    with pytest.raises(
        Conflict, match="of the same model under the same condition is in the store already, with 2 responses"
    ):
        any_store.add_runs(small_study, [imported(small_study, later)])
    any_store.add_runs(small_study, [imported(small_study, later, temperature=0.5)])
    any_store.add_runs(small_study, [imported(small_study, later, parameters={"format": "table", "epoch": 2})])
    assert len({row["run"] for row in any_store.trials()}) == 3
    assert problems(any_store) == []


def test_a_training_cutoff_that_is_learned_later_makes_no_second_run(any_store: Store, small_study: Study) -> None:
    run = imported(small_study, slice(0, 2))
    parameters = {"format": "table", "training_cutoff": "2024-06"}
    any_store.add_runs(small_study, [run])
    assert not any_store.add_runs(small_study, [run.model_copy(update={"parameters": parameters})])[0].is_new
    with pytest.raises(Conflict, match="is in the store already, with 2 responses"):
        any_store.add_runs(small_study, [imported(small_study, slice(0, 4), parameters=parameters)])
    assert problems(any_store) == []


def test_the_items_of_a_stored_battery_are_found_by_the_start_of_its_digest(
    any_store: Store, small_study: Study
) -> None:
    assert any_store.items_of_battery(small_study.battery.digest[:8]) == {}
    any_store.register_study(small_study)
    found = any_store.items_of_battery(small_study.battery.digest[:8])
    assert found.keys() == small_study.battery.by_id.keys()
    assert any_store.items_of_battery("00000000") == {}


def test_another_run_with_the_same_label_gets_a_number(store: Store, small_study: Study) -> None:
    run = small_run(small_study)
    labels = [added.run for added in store.add_runs(small_study, [run, with_new_ids(run), with_new_ids(run)])]
    assert labels == ["baseline/tracer", "baseline/tracer (2)", "baseline/tracer (3)"]
    (later,) = store.add_runs(small_study, [with_new_ids(run)])
    assert later.run == "baseline/tracer (4)"


def test_simultaneous_runs_with_the_same_label_get_different_numbers(store: Store, small_study: Study) -> None:
    run, later = small_run(small_study), version_of(small_study, "1.1")
    with closing(another(store)) as other:
        outcomes = at_once(
            *(
                partial(one.add_runs, study, [with_new_ids(run)])
                for one in (store, other)
                for study in (small_study, later) * 2
            )
        )
    assert len({added.run for (added,) in outcomes}) == 8


def test_any_text_of_a_model_is_stored_unchanged(store: Store, small_study: Study) -> None:
    run = small_run(small_study, parameters={"stop": ["\x00", "é"], "top_p": 0.1})
    texts = ["I think\nthat – 🙂", "ends in nothing: \x00", ""] * 2
    pairs = zip(run.responses, texts, strict=True)
    responses = tuple(one.model_copy(update={"text": text, "valid": False}) for one, text in pairs)
    with_texts = run.model_copy(update={"responses": responses})
    if isinstance(store, SqliteStore):
        store.add_runs(small_study, [with_texts])
    else:  # PostgreSQL cannot store NUL: nothing is stored, with a clear message.
        with pytest.raises(InputError, match="NUL"):
            store.add_runs(small_study, [with_texts])
        assert store.trials() == []
        return
    stored = rows(store, "SELECT text FROM responses ORDER BY trial_index")
    assert [text.replace("\x00", "") for (text,) in stored] == [text.replace("\x00", "") for text in texts]
    assert problems(store) == []


def test_an_incomplete_run_is_stored_unchanged(store: Store, small_study: Study) -> None:
    run = small_run(small_study, temperature=0.7, prompt_digest="abc")
    backwards = run.model_copy(update={"responses": tuple(reversed(run.responses[1:]))})
    store.add_runs(small_study, [backwards])
    found = store.trials(small_study)
    assert [row["response"] is None for row in found] == [True] + [False] * 5
    assert {(row["temperature"], row["prompt_digest"]) for row in found} == {(0.7, "abc")}
    assert problems(store) == []


def test_how_a_reply_was_read_is_stored_and_a_later_change_is_noticed(any_store: Store, small_study: Study) -> None:
    any_store.register_study(small_study)
    run = small_run(small_study)
    details = {"reading_rule": "statement", "stop_reason": "length", "input_tokens": 210, "output_tokens": 0}
    with_details = run.responses[0].model_copy(update={**details, "thinking": "It could be 1 or 2."})
    run = run.model_copy(update={"responses": (with_details, *run.responses[1:])})
    any_store.add_runs(small_study, [run])
    assert any_store.add_runs(small_study, [run])[0].is_new is False
    first, second, *_ = any_store.trials(small_study)
    assert {name: first[name] for name in details} == details
    assert {second[name] for name in details} == {None}
    assert rows(any_store, "SELECT thinking FROM responses WHERE thinking IS NOT NULL") == [("It could be 1 or 2.",)]
    assert problems(any_store) == []
    execute_sql(any_store, "UPDATE responses SET thinking = 'It is 2.' WHERE thinking IS NOT NULL")
    assert problems(any_store)


def test_runs_are_listed_with_the_numbers_of_their_responses(store: Store, small_study: Study) -> None:
    assert store.runs(small_study) == []
    run = small_run(small_study, temperature=0.7, parameters={"epoch": 2})
    changes: list[dict[str, Any]] = [
        {"valid": False, "stop_reason": "max_tokens", "input_tokens": 20, "output_tokens": 3},
        {"text": "The item is 1B_D-4e.", "stop_reason": "stop", "input_tokens": 1},
        {"thinking": "I know 1b_d-4E."},
        {"text": "1bxd-4e"},
    ]
    pairs = zip(run.responses, [*changes, {}, {}], strict=True)
    some = tuple(one.model_copy(update=changed) for one, changed in pairs)[:5]
    store.add_runs(version_of(small_study, "1.1"), [run.model_copy(update={"run": "b", "responses": some})])
    store.add_runs(small_study, [with_new_ids(small_run(small_study, run="a", model="other"))])
    first, second = store.runs(small_study, canary="1b_d-4e")
    assert (first.run, first.n_responses, first.n_with_canary, first.input_tokens) == ("a", 6, 0, None)
    assert (second.study_version, second.temperature, second.parameters) == ("1.1", 0.7, {"epoch": 2})
    assert (second.source, second.battery_digest) == (Source.API, small_study.battery.digest)
    assert second.n_items == 6
    assert (second.n_responses, second.n_invalid, second.n_truncated, second.n_with_canary) == (5, 1, 1, 2)
    assert (second.input_tokens, second.output_tokens) == (21, 3)
    assert [run.n_with_canary for run in store.runs(small_study)] == [None, None]


def test_times_are_stored_in_utc(store: Store, small_study: Study) -> None:
    local_time = datetime(2026, 11, 21, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    store.add_runs(small_study, [small_run(small_study, started_at=local_time)])
    assert {row["started_at"] for row in store.trials()} == {"2026-11-22T04:30:00.000+00:00"}
