"""Quotas that a researcher extends, and the name of the researcher in the log."""

import pytest

from experiment.study.definition import Study
from server.store import Conflict, Release, Store, StudyFull
from tests.server.laboratory.laboratories import LabOf
from tests.server.stores import Person, execute_sql, problems, recruiting


def full(store: Store, study: Study) -> bool:
    return store.why_full(study) is not None


def test_slots_added_to_a_group_are_given_to_new_participants(any_store: Store, small_study: Study) -> None:
    study = recruiting(small_study, quota_per_group=1)
    any_store.register_study(study)
    for _ in range(3):
        Person(any_store, study)
    assert full(any_store, study)
    with pytest.raises(StudyFull):
        Person(any_store, study)
    any_store.extend_quota(study, 2, 2, "anna")
    assert [Person(any_store, study).group for _ in range(2)] == [2, 2]
    assert full(any_store, study)
    assert [group.n_added for group in any_store.progress(study)[:3]] == [0, 2, 0]
    assert problems(any_store) == []


def test_slots_added_to_a_group_extend_the_quota_of_the_study_too(any_store: Store, small_study: Study) -> None:
    study = recruiting(small_study, quota=2)
    any_store.register_study(study)
    for _ in range(2):
        Person(any_store, study)
    assert full(any_store, study)
    any_store.extend_quota(study, 1, 1)
    any_store.extend_quota(study, 1, 1)
    for _ in range(2):
        Person(any_store, study)
    assert full(any_store, study)


@pytest.mark.parametrize(("group", "n_slots"), [(0, 1), (4, 1), (1, 0), (1, -3), (1, 10_001)])
def test_an_impossible_extension_is_refused(any_store: Store, small_study: Study, group: int, n_slots: int) -> None:
    study = recruiting(small_study, quota_per_group=1)
    any_store.register_study(study)
    with pytest.raises(Conflict):
        any_store.extend_quota(study, group, n_slots)
    assert any_store.events(study, of=["quota extended"]) == []


def test_a_study_without_a_quota_has_no_quota_to_extend(any_store: Store, small_study: Study) -> None:
    with pytest.raises(Conflict, match="no quota"):
        any_store.extend_quota(small_study, 1, 1)


def test_verification_finds_a_quota_that_was_extended_outside_equipoise(any_store: Store, small_study: Study) -> None:
    any_store.register_study(small_study)
    execute_sql(any_store, "UPDATE slots SET n_added = 5 WHERE kind = 'human' AND \"group\" = 2")
    (problem,) = problems(any_store)
    assert "group 2: the slots added to its quota differ" in problem


def test_the_log_names_the_researcher_who_decided(any_store: Store, small_study: Study) -> None:
    study = recruiting(small_study, quota_per_group=5)
    any_store.register_study(study)
    one, two, three = (Person(any_store, study).session for _ in range(3))
    any_store.open_group(study, 1, False, "anna")
    any_store.extend_quota(study, 1, 3, "bert")
    any_store.exclude_sessions([one], "fire alarm", "carl")
    any_store.include_sessions(study, [one], "wrong session", "dora")
    any_store.release_slot(two, Release.RETURN, "emil")
    any_store.withdraw_session(three, "fay")
    named = [(event.event, event.details.get("by")) for event in any_store.events(study)]
    assert named[4:] == [
        ("closed", "anna"), ("quota extended", "bert"), ("excluded", "carl"), ("released", "carl"),
        ("included", "dora"), ("released", "dora"), ("regained", "dora"), ("released", "emil"), ("withdrew", "fay"),
        ("released", "fay"),
    ]  # fmt: skip
    assert problems(any_store) == []


def test_a_laboratory_gets_an_added_slot_of_the_wanted_group(lab_of: LabOf) -> None:
    laboratory = lab_of(quota_per_group=1)
    Person(laboratory.store, laboratory.study)
    laboratory.store.extend_quota(laboratory.study, 1, 1)
    groups = [Person(laboratory.store, laboratory.study).group for _ in range(3)]
    assert sorted(groups) == [1, 2, 3]
