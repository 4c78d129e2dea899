"""The store as a whole: progress, the log, the view, snapshots, checks and closing."""

import dataclasses
from collections import Counter
from contextlib import closing, suppress

import pytest

from experiment.records import Kind
from experiment.study.definition import Study
from server.store import (
    Release,
    Store,
    StoreUnavailable,
)
from tests.server.store.contract.helpers import TIME_OUT_MIN
from tests.server.stores import (
    Clock,
    Person,
    another,
    at_once,
    execute_sql,
    of,
    problems,
    recruiting,
    responses_of,
    rows,
    version_of,
)

# Progress and log.


def test_the_progress_of_each_group_adds_up_to_all_begun_sessions(
    store: Store, small_study: Study, clock: Clock
) -> None:
    study = recruiting(small_study, quota_per_group=4)
    lapsed = Person(store, study)
    clock.advance(minutes=TIME_OUT_MIN + 1)
    people = [Person(store, study) for _ in range(12)]
    first_group = [person for person in people if person.group == lapsed.group]
    first_group[0].complete()
    first_group[1].complete(passed_checks=False)
    first_group[2].withdraw()
    simulated = Person(store, study, Kind.SIMULATED).complete()
    by_group = {(one.kind, one.group): one for one in store.progress(study)}
    assert set(by_group) == {(kind, group) for kind in (Kind.HUMAN, Kind.SIMULATED) for group in (1, 2, 3)}
    found = by_group[Kind.HUMAN, lapsed.group]
    counts = (found.n_under_way, found.n_completed, found.n_lapsed, found.n_replaced, found.n_withdrawn)
    assert counts == (1, 1, 1, 1, 1)
    assert (by_group[Kind.HUMAN, 2].n_under_way, by_group[Kind.HUMAN, 2].n_begun) == (4, 4)
    assert by_group[Kind.SIMULATED, simulated.group].n_completed == 1
    begun = Counter((row["kind"], row["group"]) for row in store.trials(study) if row["trial_index"] == 0)
    assert {key: one.n_begun for key, one in by_group.items() if one.n_begun} == dict(begun)
    assert all(one.is_open for one in by_group.values())


def test_the_log_explains_every_decision(store: Store, small_study: Study, clock: Clock) -> None:
    study = recruiting(small_study, quota=3, quota_per_group=2)
    first = Person(store, study)
    store.open_group(study, 2, is_open=False)
    second = Person(store, study).complete()
    store.release_slot(second.session, Release.EXCLUSION)
    clock.advance(minutes=TIME_OUT_MIN + 1)
    third = Person(store, study).withdraw()
    log = store.events(study)
    assert [event.event_index for event in log] == list(range(len(log)))
    assert [event.at for event in log] == sorted(event.at for event in log)
    assert [(event.event, event.session) for event in log] == [
        ("registered", None),
        ("reserved", first.session),
        ("closed", None),
        ("reserved", second.session),
        ("confirmed", second.session),
        ("released", second.session),
        ("released", first.session),
        ("reserved", third.session),
        ("withdrew", third.session),
        ("released", third.session),
    ]
    reasons = [event.details["because"] for event in log if event.event == "released"]
    assert reasons == ["exclusion", "time-out", "withdrawal"]
    assert log[3].details == {
        "kind": "human",
        "group": 3,
        "seed": 1,
        "taken": {"1": [0, 1], "2": [0, 0], "3": [0, 0]},
        "closed": [2],
        "quota": 3,
        "quota_per_group": 2,
    }
    assert log[6].details["seen_at"] < log[6].at


def test_each_study_has_a_separate_log(store: Store, small_study: Study) -> None:
    later = version_of(small_study, "1.1")
    store.register_study(later)
    person, other = Person(store, small_study), Person(store, later)
    assert [event.session for event in store.events(small_study)] == [None, person.session]
    assert [event.session for event in store.events(later)] == [None, other.session]
    assert store.events(version_of(small_study, "never registered")) == []


def test_the_view_has_a_row_for_every_planned_trial_even_without_its_item(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    execute_sql(store, f"DELETE FROM items WHERE item_id = '{person.stored.plan.trials[1].item.item_id}'")
    found = store.trials()
    assert len(found) == 3
    assert [row["content"] is None for row in found] == [False, True, False]


def test_the_trials_of_one_study_are_found_by_its_name(store: Store, small_study: Study) -> None:
    definition = small_study.definition.model_copy(update={"study": "another-study"})
    other_study, later = dataclasses.replace(small_study, definition=definition), version_of(small_study, "1.1")
    store.register_study(other_study)
    store.register_study(later)
    people = [Person(store, study) for study in (small_study, later, other_study)]
    assert {row["session"] for row in store.trials(small_study)} == {person.session for person in people[:2]}
    assert {row["session"] for row in store.trials(other_study)} == {people[2].session}
    assert {row["session"] for row in store.trials()} == {person.session for person in people}


# The store as a whole.


def test_a_snapshot_shows_one_moment_during_other_writes(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    person.answer()
    with store.snapshot() as db:
        assert db.execute("SELECT COUNT(*) FROM responses").fetchone()[0] == 1
        person.answer()
        Person(store, small_study)
        assert db.execute("SELECT COUNT(*) FROM responses").fetchone()[0] == 1
        assert db.execute("SELECT COUNT(*) FROM sessions").fetchone()[0] == 1
    assert rows(store, "SELECT COUNT(*) FROM responses") == [(2,)]


def test_changes_in_a_snapshot_are_undone(store: Store) -> None:
    with suppress(StoreUnavailable), store.snapshot() as db:
        db.execute("DELETE FROM logs")
    assert rows(store, "SELECT COUNT(*) FROM logs") == [(1,)]


def test_a_failure_while_a_store_is_filled_is_undone(any_store: Store) -> None:
    def fill_and_fail() -> None:
        with any_store.filling() as db:
            db.execute("INSERT INTO participants (participant, kind) VALUES ('p', 'human')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fill_and_fail()
    assert rows(any_store, "SELECT COUNT(*) FROM participants") == [(0,)]
    with any_store.filling() as db:
        db.execute("INSERT INTO participants (participant, kind) VALUES ('p', 'human')")
    assert rows(any_store, "SELECT COUNT(*) FROM participants") == [(1,)]


def test_a_whole_store_passes_its_checks(store: Store, small_study: Study) -> None:
    store.check()
    store.check_integrity()
    Person(store, small_study).complete()
    store.check()
    store.check_integrity()
    assert problems(store) == []


def test_a_closed_store_refuses_all_work(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    store.close()
    for write in (
        person.answer,
        lambda: Person(store, small_study),
        person.withdraw,
        lambda: store.register_study(small_study),
        store.check,
    ):
        with pytest.raises(StoreUnavailable):
            write()
    store.close()
    with closing(another(store)) as again:
        assert responses_of(again, person.session) == []


def test_work_under_way_is_finished_before_the_store_is_closed(store: Store, small_study: Study) -> None:
    people = [Person(store, small_study) for _ in range(15)]
    outcomes = at_once(*[person.answer_all for person in people], store.close)
    with closing(another(store)) as again:
        n_stored = [len(responses_of(again, person.session)) for person in people]
        assert n_stored == [3 if isinstance(outcome, Person) else 0 for outcome in outcomes[:-1]]
        assert of(StoreUnavailable, outcomes) == n_stored.count(0)
        assert problems(again) == []
