"""Groups that a laboratory requests from the store."""

from collections import Counter

import pytest

from server.store import LAB, Conflict, Identity, StudyFull
from tests.server.laboratory.laboratories import LabOf, Laboratory, log_of
from tests.server.stores import Clock, Person, problems, verified


def test_the_requested_group_is_assigned(lab: Laboratory) -> None:
    stored = [lab.start(f"P{number}", group=3) for number in range(3)]
    assert [(one.session.group, one.session.seed) for one in stored] == [(3, 1), (3, 2), (3, 3)]
    assert log_of(lab.store, lab.study, stored[0].plan.session)[0][1]["wanted"] == 3
    assert lab.start("P9").session.group == 1
    assert problems(lab.store) == []


def test_without_a_requested_group_the_group_is_chosen_as_on_the_web(lab: Laboratory) -> None:
    groups = []
    for number in range(3):
        groups.append(lab.start(f"P{number}").session.group)
        groups.append(Person(lab.store, lab.study).group)
    assert Counter(groups) == {1: 2, 2: 2, 3: 2}


@pytest.mark.parametrize("group", [0, -1, 4, 2**70])
def test_a_missing_group_is_refused(lab: Laboratory, group: int) -> None:
    before = verified(lab.store)
    for code in ("P01", None):
        with pytest.raises(
            Conflict, match=rf"^There is no group {group} in this study\. Fix: choose a group from 1 to 3\.$"
        ):
            lab.start(code, group=group)
    assert verified(lab.store) == before


def test_a_full_group_is_refused_by_its_name_and_other_groups_are_not(lab_of: LabOf) -> None:
    lab = lab_of(quota_per_group=1)
    lab.start("P01", group=2)
    with pytest.raises(
        Conflict,
        match=r"^Group 2 is full: 0 participants have completed, 1 are under way, and the quota of the group is 1\.",
    ):
        lab.start("P02", group=2)
    assert lab.store.identities(lab.study)[-1]["external_id"] == "P01"
    assert lab.start("P02", group=3).session.group == 3
    assert lab.start("P01", group=2).session.group == 2
    assert problems(lab.store) == []


def test_a_group_of_a_full_study_is_refused(lab_of: LabOf) -> None:
    lab = lab_of(quota=1)
    lab.complete(lab.start("P01"))
    with pytest.raises(
        Conflict, match=r"^Group 3 has no free slot, because the study is full: 1 .* quota of the study is 1\."
    ):
        lab.start("P02", group=3)
    with pytest.raises(StudyFull):
        lab.start("P02")


def test_a_timed_out_slot_is_free_for_a_participant_of_that_group(lab_of: LabOf, clock: Clock) -> None:
    lab = lab_of(quota_per_group=1)
    Person(lab.store, lab.study)
    clock.advance(minutes=61)
    assert lab.start("P01", group=1).session.group == 1
    assert problems(lab.store) == []


def test_a_closed_group_is_refused_until_it_is_opened(lab: Laboratory) -> None:
    lab.store.open_group(lab.study, 2, is_open=False)
    with pytest.raises(Conflict, match=r"^Group 2 is closed for new participants\."):
        lab.start(group=2)
    lab.store.open_group(lab.study, 2, is_open=True)
    assert lab.start(group=2).session.group == 2


def test_a_rehearsal_gets_the_requested_group_even_over_the_quota(lab_of: LabOf) -> None:
    lab = lab_of(quota_per_group=1)
    lab.store.open_group(lab.study, 2, is_open=False)
    assert [lab.start(None, group=2).session.group for _ in range(2)] == [2, 2]


def test_the_group_of_a_session_is_known_before_it_begins(lab: Laboratory) -> None:
    def group_of(code: str, session_number: int = 1, group: int | None = None) -> int:
        return lab.store.require_slot(lab.study, Identity(LAB, code), session_number, group)

    lab.start("P01", group=1)
    assert (group_of("P01"), group_of("P02"), group_of("P02", group=3)) == (1, 2, 3)
    lab.start("P02", group=2)
    lab.start("P03", group=3)
    assert group_of("P01", 2) == 2, "another group than the participant's earlier group"
    assert lab.start("P01", session_number=2).session.group == 2


def test_a_group_other_than_the_sessions_group_is_refused_and_the_right_group_is_named(lab: Laboratory) -> None:
    lab.start(group=2)
    with pytest.raises(
        Conflict, match=r"^Participant P01 has begun session 1 in group 2, not 3\. Fix: if this is another"
    ):
        lab.start(group=3)
    assert lab.start(group=2).n_visits == 2
    assert lab.start(session_number=2, group=3).session.group == 3
