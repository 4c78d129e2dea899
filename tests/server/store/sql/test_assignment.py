"""Slots in counterbalance groups: the choice of a group, and hundreds of simultaneous participants."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment.records import Kind
from experiment.study.definition import Study
from experiment.study.recruitment import Recruitment
from server.store import Release, SlotState, Store, StoreUnavailable, StudyFull
from server.store.sql.assignment import GroupSlots, choose_group
from tests.server.stores import Clock, Person, another, at_once, make_small, of, problems, recruiting, rows

# The choice of a group.


@st.composite
def groups_of_slots(draw: st.DrawFn) -> list[GroupSlots]:
    counts = st.integers(0, 6)
    return [
        GroupSlots(group, draw(st.integers(0, 30)), draw(counts), draw(counts), draw(st.booleans()))
        for group in range(1, draw(st.integers(1, 8)) + 1)
    ]


quotas = st.none() | st.integers(1, 40)
recruitments = st.builds(Recruitment, quota=quotas, quota_per_group=st.none() | st.integers(1, 8))


@given(groups_of_slots(), recruitments)
def test_no_participant_is_assigned_to_a_closed_or_full_group(
    groups: list[GroupSlots], recruitment: Recruitment
) -> None:
    chosen = choose_group(groups, recruitment)
    if chosen is not None:
        group = groups[chosen - 1]
        assert group.is_open
        assert recruitment.quota_per_group is None or group.n_taken < recruitment.quota_per_group
        assert recruitment.quota is None or sum(one.n_taken for one in groups) < recruitment.quota


@given(groups_of_slots(), recruitments)
def test_no_participant_is_refused_while_a_slot_is_free(groups: list[GroupSlots], recruitment: Recruitment) -> None:
    if choose_group(groups, recruitment) is None:
        is_filled = recruitment.quota is not None and sum(one.n_taken for one in groups) >= recruitment.quota
        limit = recruitment.quota_per_group
        assert is_filled or all(not one.is_open or (limit is not None and one.n_taken >= limit) for one in groups)


@given(groups_of_slots(), recruitments)
def test_the_group_with_the_fewest_taken_slots_is_chosen(groups: list[GroupSlots], recruitment: Recruitment) -> None:
    chosen = choose_group(groups, recruitment)
    if chosen is not None:
        here = groups[chosen - 1]
        for other in groups:
            if other.is_open:
                assert here.n_taken <= other.n_taken
            if other.is_open and other.n_taken == here.n_taken:
                assert (here.n_confirmed, here.group) <= (other.n_confirmed, other.group)


@given(groups_of_slots(), recruitments, st.sets(st.integers(1, 8)))
def test_a_participant_gets_another_group_than_before_if_one_has_a_free_slot(
    groups: list[GroupSlots], recruitment: Recruitment, had: set[int]
) -> None:
    chosen = choose_group(groups, recruitment, had)
    others = [replace(group, is_open=group.is_open and group.group not in had) for group in groups]
    assert chosen == (choose_group(others, recruitment) or choose_group(groups, recruitment))


@given(groups_of_slots(), recruitments, st.randoms())
def test_the_choice_depends_on_nothing_but_the_counts(
    groups: list[GroupSlots], recruitment: Recruitment, random: Any
) -> None:
    shuffled = random.sample(groups, len(groups))
    assert choose_group(groups, recruitment) == choose_group(shuffled, recruitment)


@given(st.integers(1, 8), st.integers(1, 10))
def test_groups_without_released_slots_are_filled_in_turn(n_groups: int, quota_per_group: int) -> None:
    recruitment = Recruitment(quota_per_group=quota_per_group)
    taken = [0] * n_groups
    for number in range(n_groups * quota_per_group):
        groups = [GroupSlots(group, n, n, 0, is_open=True) for group, n in enumerate(taken, start=1)]
        chosen = choose_group(groups, recruitment)
        assert chosen == number % n_groups + 1
        taken[chosen - 1] += 1
    assert choose_group([GroupSlots(g, n, n, 0, True) for g, n in enumerate(taken, start=1)], recruitment) is None


# Hundreds of participants.

N_GROUPS, QUOTA_PER_GROUP, QUOTA = 5, 61, 300
N_COMING = 500
DROP_OUT = 0.3


def patiently(job: Callable[[], Any]) -> Any:
    """Do a job as a client does, which tries again while the store is too busy."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return job()
        except StoreUnavailable:
            if time.monotonic() > deadline:
                raise


class Watch(threading.Thread):
    """Read the groups repeatedly until it is stopped."""

    def __init__(self, store: Store) -> None:
        super().__init__(daemon=True)
        self.store, self.ended = store, threading.Event()
        self.seen: list[list[int]] = []

    def run(self) -> None:
        while not self.ended.wait(0.02):
            with suppress(StoreUnavailable):
                taken = rows(self.store, "SELECT n_reserved + n_confirmed FROM slots WHERE kind = 'human'")
                self.seen.append([n for (n,) in taken])

    def __enter__(self) -> "Watch":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.join()


def people_who_came(stores: Sequence[Store], study: Study, n: int, first: int = 0) -> list[Person]:
    """Let participants start at once, distributed over the servers; return those who got a slot."""
    begin = [
        partial(Person, stores[number % len(stores)], study, start_id=str(UUID(int=number)))
        for number in range(first, first + n)
    ]
    outcomes = at_once(*(partial(patiently, job) for job in begin))
    people = [outcome for outcome in outcomes if isinstance(outcome, Person)]
    assert len(people) + of(StudyFull, outcomes) == n, Counter(map(repr, outcomes))
    return people


def retell(store: Store, study: Study) -> tuple[Counter[int], int]:
    """Follow the log, in which no group may be over-filled; return the taken slots, and their largest number."""
    slots: dict[str, SlotState] = {}
    group_of: dict[str, int] = {}
    seeds: Counter[int] = Counter()
    most = 0
    for event in store.events(study):
        taken = Counter(group_of[session] for session, held in slots.items() if held is not SlotState.RELEASED)
        if event.session is None:
            assert event.event == "registered"
            continue
        group = event.details["group"]
        if event.event == "reserved":
            assert event.session not in slots
            numbers = {int(g): sum(counts) for g, counts in event.details["taken"].items()}
            assert numbers == {g: taken[g] for g in numbers}  # The decision used the true numbers.
            assert group == min(numbers, key=lambda g: (numbers[g], event.details["taken"][str(g)][0], g))
            seeds[group] += 1
            assert event.details["seed"] == seeds[group]
            slots[event.session], group_of[event.session] = SlotState.RESERVED, group
        elif event.event == "confirmed":
            assert slots[event.session] is SlotState.RESERVED
            slots[event.session] = SlotState.CONFIRMED
        elif event.event == "released":
            assert event.details["was"] == slots[event.session]
            assert event.details["because"] in list(Release)
            slots[event.session] = SlotState.RELEASED
        else:
            assert event.event == "withdrew"
        taken = Counter(group_of[session] for session, held in slots.items() if held is not SlotState.RELEASED)
        assert max(taken.values(), default=0) <= QUOTA_PER_GROUP
        assert taken.total() <= QUOTA
        most = max(most, taken.total())
    stored = dict(rows(store, "SELECT session, slot FROM sessions"))
    assert stored == {session: held.value for session, held in slots.items()}
    return Counter(group_of[session] for session, held in slots.items() if held is not SlotState.RELEASED), most


def fill_with_drop_out(stores: Sequence[Store], study: Study, clock: Clock) -> None:
    with Watch(stores[0]) as watch:
        people = people_who_came(stores, study, N_COMING)
        assert len(people) == QUOTA
        n_leaving = int(DROP_OUT * QUOTA)
        leaving, staying = people[:n_leaving], people[n_leaving:]
        withdrawing, returning, lapsing = leaving[0::3], leaving[1::3], leaving[2::3]
        jobs: list[Callable[[], Any]] = [person.complete for person in staying]
        jobs += [person.withdraw for person in withdrawing]
        jobs += [partial(person.store.release_slot, person.session, Release.RETURN) for person in returning]
        # As a client does, send unacknowledged responses again.
        outcomes = at_once(*(partial(patiently, job) for job in jobs))
        assert of(Exception, outcomes) == 0, Counter(map(repr, outcomes))
        clock.advance(minutes=61)
        replacements = people_who_came(stores, study, N_COMING // 2, first=N_COMING)
        assert len(replacements) == n_leaving
        at_once(*(partial(patiently, person.complete) for person in replacements))
    assert {person.session for person in lapsing} == {
        session for (session,) in rows(stores[0], "SELECT session FROM sessions WHERE release_reason = 'time-out'")
    }
    assert len(watch.seen) > 5
    assert all(max(seen) <= QUOTA_PER_GROUP and sum(seen) <= QUOTA for seen in watch.seen)
    progress = [one for one in stores[-1].progress(study) if one.kind is Kind.HUMAN]
    assert sum(one.n_completed for one in progress) == QUOTA
    assert sorted(one.n_completed for one in progress) == [60] * 5
    assert sum(one.n_begun for one in progress) == QUOTA + n_leaving
    assert [one.n_under_way for one in progress] == [0] * N_GROUPS
    taken, most = retell(stores[0], study)
    assert taken == Counter({one.group: one.n_completed for one in progress})
    assert most == QUOTA
    assert problems(stores[0]) == []


@pytest.fixture
def study(sample_study: Study) -> Study:
    return recruiting(make_small(sample_study, N_GROUPS), quota=QUOTA, quota_per_group=QUOTA_PER_GROUP)


def test_five_hundred_simultaneous_participants_fill_every_group_exactly(
    any_store: Store, study: Study, clock: Clock
) -> None:
    any_store.register_study(study)
    with closing(another(any_store)) as second, closing(another(any_store)) as third:
        fill_with_drop_out([any_store, second, third], study, clock)
