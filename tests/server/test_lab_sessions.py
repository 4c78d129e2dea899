"""What a store promises a laboratory: occasions, groups that are wanted, sessions that were taken elsewhere."""

import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiment.plan import plan_session
from experiment.records import Kind, LabDevice, Source, Status
from experiment.study import Study
from experiment.timeline import Resume
from server.store import (
    Adopted,
    Conflict,
    Identity,
    Place,
    Refusal,
    Release,
    SessionStart,
    Store,
    StoredSession,
    StudyFull,
    Visit,
)
from server.store.copying import copy_store
from server.store.sqlite import SqliteStore
from server.store.verifying import verify
from tests.server.stores import (
    Clock,
    Person,
    another,
    at_once,
    by_hand,
    of,
    problems,
    recruiting,
    reopened,
    response,
    rows,
    saying,
    verified,
    version_of,
)

DEVICE = LabDevice(
    width_px=1920,
    height_px=1080,
    full_screen=True,
    screen=0,
    monitor="lab1",
    nominal_hz=60,
    measured_hz=59.94,
    frame_ms=16.683,
    is_synchronised=True,
    pacing="frames",
    keyboard="ptb",
    psychopy_version="2026.2.0",
    python_version="3.11.2",
    platform="Linux",
    text_font="DejaVu Sans",
)
BEGAN_AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


def new_id() -> str:
    return str(uuid.uuid4())


def start_of(code: str | None = "P01", **fields: Any) -> SessionStart:
    """Return what a laboratory asks for; without a code, a rehearsal."""
    who: dict[str, Any] = {"kind": Kind.HUMAN, "identity": Identity("lab", code)} if code else {"kind": Kind.SIMULATED}
    told = {"start_id": new_id(), "source": Source.LAB, "token_digest": new_id(), "consent_digest": "consent",
            "device": DEVICE, "occasion": 1}  # fmt: skip
    return SessionStart(**(told | who | fields))


def taken(session: str = "00000000000000aa", **fields: Any) -> Adopted:
    """Return what a session is that was taken elsewhere."""
    told = {"participant": "p-aaaaaaaaaaaa", "group": 1, "seed": 1, "started_at": BEGAN_AT}
    return Adopted(session, **(told | fields))


class Laboratory:
    """An experimenter with a study and a store."""

    def __init__(self, store: Store, study: Study) -> None:
        self.store, self.study = store, study
        self.token = ""

    def start(self, code: str | None = "P01", **fields: Any) -> StoredSession:
        start = start_of(code, **fields)
        stored = self.store.start_session(self.study, start)
        self.token = start.token_digest
        return stored

    def adopt(self, code: str | None = "P01", **fields: Any) -> StoredSession:
        occasion = fields.pop("occasion", 1)
        start_id = fields.pop("start_id", new_id())
        return self.start(code, occasion=occasion, start_id=start_id, adopted=taken(**fields))

    def answer(self, stored: StoredSession, n: int | None = None) -> list[bool]:
        n_trials = len(stored.plan.trials)
        sent = [response(index, onset_source="flip") for index in range(n_trials if n is None else n)]
        return self.store.add_responses(stored.plan.session, self.token, sent)

    def complete(self, stored: StoredSession, **more: Any) -> None:
        if self.now().n_answered == 0:
            self.answer(stored)
        self.store.complete_session(self.study, stored.plan.session, True, **more)

    def now(self) -> StoredSession:
        found = self.store.find_session(self.token)
        assert found is not None
        return found


@pytest.fixture
def lab(any_store: Store, small_study: Study) -> Laboratory:
    any_store.register_study(small_study)
    return Laboratory(any_store, small_study)


LabOf = Callable[..., Laboratory]


@pytest.fixture
def lab_of(any_store: Store, small_study: Study) -> LabOf:
    """Make a laboratory with the small study, recruited in a way that a test chooses."""

    def make(study: Study = small_study, **recruitment: Any) -> Laboratory:
        recruited = recruiting(study, **recruitment)
        any_store.register_study(recruited)
        return Laboratory(any_store, recruited)

    return make


def log_of(store: Store, study: Study, session: str) -> list[tuple[str, dict[str, Any]]]:
    return [(event.event, event.details) for event in store.events(study) if event.session == session]


def n_sessions(store: Store) -> int:
    ((n,),) = rows(store, "SELECT COUNT(*) FROM sessions")
    return int(n)


# Occasions


def test_a_laboratorys_session_is_kept_with_its_occasion_and_its_machine(lab: Laboratory) -> None:
    stored = lab.start(occasion=3)
    assert stored.is_new
    assert stored.session.source is Source.LAB
    (row,) = lab.store.sessions(lab.study)
    assert (row["source"], row["occasion"], row["adopted_at"]) == ("lab", 3, None)
    assert row["device_measured_hz"] == 59.94
    assert row["device_keyboard"] == "ptb"
    ((device,),) = rows(lab.store, "SELECT device FROM visits")
    assert LabDevice.model_validate_json(device) == DEVICE
    assert problems(lab.store) == []


def test_the_same_participant_on_the_same_occasion_goes_on_with_the_session(lab: Laboratory) -> None:
    first = lab.start()
    lab.answer(first, 2)
    again = lab.start()
    assert not again.is_new
    assert (again.plan, again.n_answered, again.n_visits) == (first.plan, 2, 2)
    assert lab.store.add_responses(again.plan.session, lab.token, [response(2)]) == [True]
    assert problems(lab.store) == []


def test_a_retried_start_is_one_session_and_one_visit(lab: Laboratory) -> None:
    start_id = new_id()
    assert [lab.start(start_id=start_id).is_new for _ in range(2)] == [True, False]
    assert lab.now().n_visits == 1
    assert n_sessions(lab.store) == 1


def test_another_occasion_is_another_session_of_the_same_person_in_a_place_of_its_own(lab: Laboratory) -> None:
    first = lab.start()
    lab.complete(first)
    second = lab.start(occasion=2)
    assert second.is_new
    assert second.session.participant == first.session.participant
    assert second.plan.session != first.plan.session
    assert second.plan.own_code != first.plan.own_code
    assert second.session.group != first.session.group
    assert sum(one.n_begun for one in lab.store.progress(lab.study)) == 2
    assert [row["session"] for row in lab.store.identities(lab.study)] == [first.plan.session, second.plan.session]
    lab.complete(second)
    assert len({row["participant"] for row in lab.store.trials(lab.study)}) == 1
    assert problems(lab.store) == []


def test_a_later_occasion_may_be_begun_while_an_earlier_one_is_under_way(lab: Laboratory) -> None:
    sessions = {occasion: lab.start(occasion=occasion).plan.session for occasion in (2, 1, 3)}
    assert len(set(sessions.values())) == 3
    assert {occasion: lab.start(occasion=occasion).plan.session for occasion in (3, 1, 2)} == sessions


def test_a_completed_occasion_is_refused_and_the_next_one_is_named(lab: Laboratory) -> None:
    lab.complete(lab.start(occasion=2))
    before = verified(lab.store)
    with pytest.raises(Conflict, match=r"^Participant P01 has completed session 2 of this study; .* `--session 3`\.$"):
        lab.start(occasion=2)
    assert verified(lab.store) == before
    assert lab.start(occasion=3).is_new


def test_who_has_withdrawn_begins_nothing_more_on_whichever_occasion(lab: Laboratory) -> None:
    sessions = [lab.start(occasion=occasion) for occasion in (1, 2)]
    lab.answer(sessions[1], 1)
    lab.store.withdraw_session(sessions[1].plan.session)
    assert rows(lab.store, "SELECT DISTINCT status, n_answered FROM sessions") == [("withdrawn", 0)]
    for occasion in (1, 2, 3):
        with pytest.raises(Refusal, match="cannot begin it again"):
            lab.start(occasion=occasion)
    assert n_sessions(lab.store) == 2
    assert problems(lab.store) == []


def test_the_session_of_an_occasion_is_found_without_a_token(lab: Laboratory) -> None:
    stored = {occasion: lab.start(occasion=occasion) for occasion in (1, 2)}
    who = Identity("lab", "P01")
    assert {occasion: lab.store.session_on(lab.study, who, occasion) for occasion in (1, 2)} == stored
    assert lab.store.session_on(lab.study, who, 3) is None
    assert lab.store.session_on(lab.study, Identity("lab", "P02"), 1) is None
    assert lab.store.session_on(lab.study, Identity("panel", "P01"), 1) is None


def test_a_code_is_among_the_identities_and_nowhere_else(lab: Laboratory) -> None:
    stored = lab.start("the-code-of-somebody")
    lab.complete(stored)
    lab.adopt("the-code-of-somebody", occasion=2)
    for table in ("trials", "sessions", "participants", "events", "responses", "visits"):
        assert "the-code" not in str(rows(lab.store, f"SELECT * FROM {table}")), table
    assert "the-code" not in repr(lab.store.sessions(lab.study))
    found = lab.store.sessions_of(lab.study, "lab", "the-code-of-somebody")
    assert {one.participant for one in found} == {stored.session.participant.participant}
    assert lab.store.external_id(stored.plan.session) == "the-code-of-somebody"


def test_a_code_of_the_laboratory_is_nobodys_panel_id(lab: Laboratory) -> None:
    panel = Person(lab.store, lab.study, identity=Identity("panel", "P01"))
    stored = lab.start("P01")
    assert stored.plan.session != panel.session
    assert stored.session.participant != panel.stored.session.participant


def test_each_rehearsal_is_somebody_else_and_takes_no_place_from_people(lab_of: LabOf) -> None:
    lab = lab_of(quota=1)
    rehearsals = [lab.start(None) for _ in range(3)]
    assert len({stored.session.participant.participant for stored in rehearsals}) == 3
    assert {stored.plan.kind for stored in rehearsals} == {Kind.SIMULATED}
    assert lab.store.identities(lab.study) == []
    assert lab.start("P01").is_new
    assert problems(lab.store) == []


def test_a_rehearsal_is_gone_on_with_by_the_same_start(lab: Laboratory) -> None:
    start_id = new_id()
    first = lab.start(None, start_id=start_id)
    again = lab.start(None, start_id=start_id)
    assert (again.plan, again.is_new) == (first.plan, False)


@pytest.mark.parametrize("n_servers", [1, 2])
def test_simultaneous_starts_of_one_occasion_are_one_session(lab: Laboratory, n_servers: int) -> None:
    with closing(another(lab.store)) as other:
        stores = [lab.store, other][:n_servers]
        for occasion in (1, 2, 3):
            starts = [partial(stores[number % n_servers].start_session, lab.study, start_of(occasion=occasion))
                      for number in range(6)]  # fmt: skip
            outcomes = at_once(*starts)
            begun = [one for one in outcomes if isinstance(one, StoredSession)]
            assert len({one.plan.session for one in begun}) == 1
            assert sum(one.is_new for one in begun) <= 1
            assert len(begun) + of(Refusal, outcomes) == 6
    assert n_sessions(lab.store) == 3
    assert rows(lab.store, "SELECT COUNT(*) FROM participants") == [(1,)]
    assert problems(lab.store) == []


def test_simultaneous_starts_of_one_occasion_in_two_versions_of_a_study_are_one_session(lab: Laboratory) -> None:
    later = version_of(lab.study, "1.1")
    lab.store.register_study(later)
    lab.start(occasion=1)  # so that the person is known, and no key keeps a second session of theirs out
    with closing(another(lab.store)) as other:
        for occasion in range(2, 8):
            at_once(
                partial(lab.store.start_session, lab.study, start_of(occasion=occasion)),
                partial(other.start_session, later, start_of(occasion=occasion)),
            )
    assert n_sessions(lab.store) == 7
    assert problems(lab.store) == []


def test_who_must_begin_again_does_so_on_the_same_occasion(lab_of: LabOf, small_study: Study) -> None:
    lab = lab_of(saying(small_study, resume=Resume(max_reloads=0, otherwise="restart")))
    first = lab.start(occasion=2)
    again = lab.start(occasion=2)
    assert again.plan.session != first.plan.session
    assert (again.session.participant, again.session.group) == (first.session.participant, first.session.group)
    assert rows(lab.store, "SELECT DISTINCT occasion, source FROM sessions") == [(2, "lab")]
    found = lab.store.session_on(lab.study, Identity("lab", "P01"), 2)
    assert found is not None
    assert found.plan.session == again.plan.session
    assert problems(lab.store) == []


def test_a_session_of_the_laboratory_ends_by_the_studys_own_rules(
    lab_of: LabOf, small_study: Study, clock: Clock
) -> None:
    lab = lab_of(saying(small_study, resume=Resume(max_age_min=30, otherwise="end")))
    lab.start()
    clock.advance(minutes=31)
    assert lab.start().ended_for is Release.TOO_OLD
    assert lab.start(occasion=2).ended_for is None


# Groups that are wanted


def test_a_group_that_is_wanted_is_given(lab: Laboratory) -> None:
    stored = [lab.start(f"P{number}", group=3) for number in range(3)]
    assert [(one.session.group, one.session.seed) for one in stored] == [(3, 1), (3, 2), (3, 3)]
    assert log_of(lab.store, lab.study, stored[0].plan.session)[0][1]["wanted"] == 3
    assert lab.start("P9").session.group == 1
    assert problems(lab.store) == []


def test_without_a_wish_the_group_is_chosen_as_on_the_web(lab: Laboratory) -> None:
    groups = []
    for number in range(3):
        groups.append(lab.start(f"P{number}").session.group)
        groups.append(Person(lab.store, lab.study).group)
    assert Counter(groups) == {1: 2, 2: 2, 3: 2}


@pytest.mark.parametrize("group", [0, -1, 4, 2**70])
def test_a_group_that_is_not_there_is_refused(lab: Laboratory, group: int) -> None:
    before = verified(lab.store)
    for code in ("P01", None):
        with pytest.raises(Conflict, match=rf"^There is no group {group} in this study; the groups are 1 to 3\.$"):
            lab.start(code, group=group)
    assert verified(lab.store) == before


def test_a_full_group_is_refused_by_its_name_and_others_are_not(lab_of: LabOf) -> None:
    lab = lab_of(quota_per_group=1)
    lab.start("P01", group=2)
    with pytest.raises(Conflict, match=r"^Group 2 is full: 0 have completed, 1 are under way, and its quota is 1;"):
        lab.start("P02", group=2)
    assert lab.store.identities(lab.study)[-1]["external_id"] == "P01"
    assert lab.start("P02", group=3).session.group == 3
    assert lab.start("P01", group=2).session.group == 2
    assert problems(lab.store) == []


def test_a_group_of_a_full_study_is_refused(lab_of: LabOf) -> None:
    lab = lab_of(quota=1)
    lab.complete(lab.start("P01"))
    with pytest.raises(Conflict, match=r"^Group 3 has no room, as the study is full: 1 .* quota is 1;"):
        lab.start("P02", group=3)
    with pytest.raises(StudyFull):
        lab.start("P02")


def test_a_place_that_has_timed_out_is_room_for_who_is_wanted_there(lab_of: LabOf, clock: Clock) -> None:
    lab = lab_of(quota_per_group=1)
    Person(lab.store, lab.study)
    clock.advance(minutes=61)
    assert lab.start("P01", group=1).session.group == 1
    assert problems(lab.store) == []


def test_a_closed_group_is_refused_until_it_is_opened(lab: Laboratory) -> None:
    lab.store.open_group(lab.study, 2, is_open=False)
    with pytest.raises(Conflict, match=r"^Group 2 is closed for new participants;"):
        lab.start(group=2)
    lab.store.open_group(lab.study, 2, is_open=True)
    assert lab.start(group=2).session.group == 2


def test_a_rehearsal_has_the_group_that_it_asks_for_whatever_the_quota(lab_of: LabOf) -> None:
    lab = lab_of(quota_per_group=1)
    lab.store.open_group(lab.study, 2, is_open=False)
    assert [lab.start(None, group=2).session.group for _ in range(2)] == [2, 2]


def test_another_group_than_the_sessions_is_refused_and_the_sessions_is_named(lab: Laboratory) -> None:
    lab.start(group=2)
    with pytest.raises(Conflict, match=r"^Participant P01 has begun session 1 in group 2, not 3;"):
        lab.start(group=3)
    assert lab.start(group=2).n_visits == 2
    assert lab.start(occasion=2, group=3).session.group == 3


# Sessions that were taken elsewhere


def test_a_session_that_was_taken_elsewhere_is_stored_as_it_was_there(lab: Laboratory) -> None:
    stored = lab.adopt(group=2, seed=7, own_code="0123456789")
    assert stored.is_new
    session = stored.session
    assert (session.session, session.participant.participant) == ("00000000000000aa", "p-aaaaaaaaaaaa")
    assert (session.group, session.seed, session.started_at) == (2, 7, BEGAN_AT)
    assert (session.source, stored.place, stored.plan.own_code) == (Source.LAB, Place.RESERVED, "0123456789")
    planned = [(trial.phase, trial.item_id) for trial in plan_session(lab.study, 2, 7).trials]
    assert [(trial.phase, trial.item.item_id) for trial in stored.plan.trials] == planned
    (row,) = lab.store.sessions(lab.study)
    assert row["occasion"] == 1
    assert row["adopted_at"] > row["started_at"]
    assert lab.store.sessions_with_code(lab.study, "0123456789") == [session.session]
    assert problems(lab.store) == []


def test_a_session_is_adopted_once_however_often_it_comes_and_the_later_token_is_valid(lab: Laboratory) -> None:
    first = lab.adopt(start_id="s1")
    before = lab.token
    sent = [response(index) for index in range(len(first.plan.trials))]
    lab.store.add_responses(first.plan.session, lab.token, sent[:2])
    again = lab.adopt(start_id="s2")
    assert (again.is_new, again.plan, again.n_answered, again.n_visits) == (False, first.plan, 2, 1)
    assert lab.store.find_session(before) is None
    assert lab.store.add_responses(first.plan.session, lab.token, sent) == [False, False, True]
    assert lab.store.add_responses(first.plan.session, lab.token, sent) == [False] * 3
    lab.store.complete_session(lab.study, first.plan.session, True, BEGAN_AT + timedelta(minutes=20))
    over = lab.adopt(start_id="s3")
    assert over.session.status is Status.COMPLETED
    assert lab.store.add_responses(first.plan.session, lab.token, sent) == [False] * 3
    lab.store.complete_session(lab.study, first.plan.session, True, BEGAN_AT + timedelta(minutes=20))
    assert n_sessions(lab.store) == 1
    assert lab.store.progress(lab.study)[0].n_begun == 1
    assert problems(lab.store) == []


def test_one_session_that_is_adopted_many_times_at_once_is_one_session(lab: Laboratory) -> None:
    with closing(another(lab.store)) as other:
        starts = [start_of(adopted=taken()) for _ in range(6)]
        outcomes = at_once(*(partial((lab.store, other)[n % 2].start_session, lab.study, start)
                             for n, start in enumerate(starts)))  # fmt: skip
    assert of(StoredSession, outcomes) + of(Refusal, outcomes) == 6
    assert sum(one.is_new for one in outcomes if isinstance(one, StoredSession)) <= 1
    assert n_sessions(lab.store) == 1
    assert problems(lab.store) == []


@pytest.mark.parametrize(
    "other",
    [{"group": 2}, {"seed": 2}, {"occasion": 2}, {"own_code": "FFFFFFFFFF"}, {"code": "P02"}, {"code": None}],
    ids=str,
)
def test_another_session_of_the_same_name_is_refused(lab: Laboratory, other: dict[str, Any]) -> None:
    lab.adopt(own_code="0123456789")
    before = verified(lab.store)
    with pytest.raises(Conflict, match=r"^There is another session of the name 00000000000000aa here;"):
        lab.adopt(**({"own_code": "0123456789", "participant": "p-bbbbbbbbbbbb"} | other))
    assert verified(lab.store) == before


def test_a_session_of_another_version_or_of_the_web_is_not_the_one_of_that_name(lab: Laboratory) -> None:
    lab.adopt()
    later = version_of(lab.study, "1.1")
    lab.store.register_study(later)
    person = Person(lab.store, lab.study)
    web = person.stored.session
    with pytest.raises(Conflict, match="another session of the name"):
        Laboratory(lab.store, later).adopt()
    with pytest.raises(Conflict, match="another session of the name"):
        lab.adopt("P02", session=web.session, group=web.group, seed=web.seed, participant=web.participant.participant)
    assert person.answer() == [True]


def test_a_session_that_was_begun_here_may_be_taken_to_its_end_elsewhere(lab: Laboratory) -> None:
    begun = lab.start()
    session = begun.session
    back = lab.adopt(
        session=session.session,
        group=session.group,
        seed=session.seed,
        participant=session.participant.participant,
        started_at=session.started_at,
    )
    assert (back.is_new, back.plan) == (False, begun.plan)
    assert n_sessions(lab.store) == 1


def test_somebody_who_is_known_here_keeps_their_pseudonym(lab: Laboratory) -> None:
    here = lab.start(occasion=1)
    lab.complete(here)
    adopted = lab.adopt(occasion=2)
    assert adopted.session.participant == here.session.participant
    ((event, details),) = log_of(lab.store, lab.study, adopted.plan.session)
    assert (event, details["participant_elsewhere"]) == ("adopted", "p-aaaaaaaaaaaa")
    assert not lab.adopt(occasion=2).is_new
    assert rows(lab.store, "SELECT COUNT(*) FROM participants") == [(1,)]
    assert problems(lab.store) == []


def test_who_came_from_elsewhere_is_known_here_from_then_on(lab: Laboratory) -> None:
    lab.adopt(occasion=1)
    lab.adopt(occasion=2, session="00000000000000bb", seed=2)
    assert lab.start(occasion=3).session.participant.participant == "p-aaaaaaaaaaaa"
    assert rows(lab.store, "SELECT COUNT(*) FROM identities") == [(1,)]


def test_one_pseudonym_is_not_two_peoples(lab: Laboratory) -> None:
    lab.adopt("P01")
    with pytest.raises(Conflict, match="known here by another code"):
        lab.adopt("P02", session="00000000000000bb")
    with pytest.raises(Conflict, match="another kind"):
        lab.adopt(None, session="00000000000000bb")
    assert n_sessions(lab.store) == 1


def test_a_session_can_be_brought_again_after_its_code_was_deleted(lab: Laboratory) -> None:
    lab.adopt()
    lab.store.delete_identities(lab.study)
    assert not lab.adopt().is_new
    assert lab.store.identities(lab.study) == []
    assert lab.adopt(occasion=2, session="00000000000000bb").session.participant.participant == "p-aaaaaaaaaaaa"


def test_an_occasion_that_was_taken_here_and_elsewhere_is_kept_twice_and_is_completed(lab: Laboratory) -> None:
    """As when the reply to a start was lost, and the laboratory went on by itself."""
    start_id = new_id()
    ghost = lab.start(start_id=start_id)
    adopted = lab.adopt(start_id=start_id, participant="p-bbbbbbbbbbbb")
    assert adopted.is_new
    assert adopted.session.participant == ghost.session.participant
    lab.complete(adopted)
    with pytest.raises(Conflict, match="has completed session 1"):
        lab.start()
    found = lab.store.session_on(lab.study, Identity("lab", "P01"), 1)
    assert found is not None
    assert found.plan.session == adopted.plan.session
    assert problems(lab.store) == []


def test_two_people_whom_two_laboratories_call_alike_do_not_become_one(lab: Laboratory) -> None:
    here = lab.start()
    lab.answer(here, 1)
    with pytest.raises(Conflict, match=r"another session 1 of a participant P01 here, .*--prefix"):
        lab.adopt(participant="p-bbbbbbbbbbbb")
    lab.adopt("B-P01", participant="p-bbbbbbbbbbbb")
    lab.adopt(participant="p-cccccccccccc", occasion=2, session="00000000000000ab")
    assert problems(lab.store) == []


def test_a_session_of_another_version_is_not_gone_on_with(lab: Laboratory) -> None:
    """The laboratory would show the items of its own folder, and the answers would stand with others."""
    begun = lab.start()
    newer = version_of(lab.study, "9")
    lab.store.register_study(newer)
    with pytest.raises(Conflict, match=r"begun session 1 with version 1.* of that version only"):
        Laboratory(lab.store, newer).start()
    assert lab.start().plan.session == begun.plan.session


def test_what_was_taken_elsewhere_is_never_refused_for_lack_of_room(lab_of: LabOf) -> None:
    lab = lab_of(quota_per_group=1)
    Person(lab.store, lab.study).complete()
    adopted = lab.adopt()
    assert (adopted.session.group, adopted.place, adopted.release_reason) == (1, Place.RELEASED, Release.NO_ROOM)
    lab.adopt()
    lab.store.resume_session(lab.study, adopted.plan.session)
    assert lab.store.open_session(lab.study, lab.token, Visit(new_id(), DEVICE)).n_visits == 2
    lab.complete(adopted)
    assert (lab.now().session.status, lab.now().place) == (Status.COMPLETED, Place.RELEASED)
    (first, details), *others = log_of(lab.store, lab.study, adopted.plan.session)
    assert (first, details["place"], details["taken"]["1"]) == ("adopted", "released", [1, 0])
    assert [event for event, _ in others] == ["surplus"]
    assert lab.store.progress(lab.study)[0].n_replaced == 1
    assert problems(lab.store) == []


def test_what_was_taken_elsewhere_has_a_place_as_soon_as_there_is_one(lab_of: LabOf) -> None:
    lab = lab_of(quota=1)
    person = Person(lab.store, lab.study)
    adopted = lab.adopt(group=2)
    assert adopted.place is Place.RELEASED
    person.withdraw()
    lab.complete(adopted)
    assert (lab.now().place, lab.now().release_reason) == (Place.CONFIRMED, None)
    assert problems(lab.store) == []


def test_a_closed_group_takes_in_what_was_taken_for_it(lab: Laboratory) -> None:
    lab.store.open_group(lab.study, 2, is_open=False)
    assert lab.adopt(group=2).place is Place.RESERVED
    with pytest.raises(Conflict, match="There is no group 9"):
        lab.adopt("P02", group=9, session="00000000000000bb", participant="p-bbbbbbbbbbbb")
    assert n_sessions(lab.store) == 1
    assert len(lab.store.identities(lab.study)) == 1


@pytest.mark.parametrize("has_room", [True, False])
def test_no_visit_that_is_told_later_ends_what_was_taken_elsewhere(
    lab_of: LabOf, small_study: Study, clock: Clock, has_room: bool
) -> None:
    lab = lab_of(saying(small_study, resume=Resume(max_age_min=5, max_reloads=0, otherwise="end")), quota=1)
    if not has_room:
        Person(lab.store, lab.study)
    adopted = lab.adopt()
    clock.advance(minutes=30)
    for number in range(2, 4):
        opened = lab.store.open_session(lab.study, lab.token, Visit(new_id()))
        assert (opened.ended_for, opened.n_visits) == (None, number)
    lab.complete(lab.adopt())
    assert lab.now().session.status is Status.COMPLETED
    assert adopted.plan.session == lab.now().plan.session


@pytest.mark.parametrize("has_room", [True, False])
def test_who_comes_back_to_what_was_begun_elsewhere_keeps_the_studys_rules(
    lab_of: LabOf, small_study: Study, has_room: bool
) -> None:
    """As on the machine in the laboratory, if the server has chosen the group."""
    lab = lab_of(saying(small_study, resume=Resume(max_reloads=1, otherwise="end")), quota=1)
    if not has_room:
        Person(lab.store, lab.study)
    lab.adopt(started_at=datetime.now(UTC))
    assert lab.start().ended_for is None
    assert lab.start().ended_for is Release.RELOADED
    assert problems(lab.store) == []


def test_what_was_begun_long_ago_elsewhere_does_not_time_out_at_once(lab: Laboratory, clock: Clock) -> None:
    lab.adopt()
    Person(lab.store, lab.study)
    assert lab.now().place is Place.RESERVED
    clock.advance(minutes=61)
    Person(lab.store, lab.study)
    assert (lab.now().place, lab.now().release_reason) == (Place.RELEASED, Release.TIME_OUT)
    lab.complete(lab.adopt())
    assert lab.now().place is Place.CONFIRMED
    assert problems(lab.store) == []


def test_who_has_withdrawn_here_brings_nothing_more(lab: Laboratory) -> None:
    adopted = lab.adopt()
    lab.store.withdraw_session(adopted.plan.session)
    before = verified(lab.store)
    assert lab.adopt().session.status is Status.WITHDRAWN
    with pytest.raises(Conflict, match="is over"):
        lab.answer(adopted)
    with pytest.raises(Refusal, match="cannot begin it again"):
        lab.adopt(occasion=2, session="00000000000000bb")
    assert verified(lab.store) == before


def test_no_newcomer_has_the_seed_of_a_session_that_was_taken_elsewhere(lab: Laboratory) -> None:
    for number, seed in enumerate((2, 3, 5)):
        lab.adopt(f"P{number}", session=f"{number:016x}", participant=f"p-{number:012x}", seed=seed)
    new = [lab.start(f"Q{number}", group=1).session.seed for number in range(4)]
    assert new == [4, 6, 7, 8]
    assert lab.start(None, group=1).session.seed == 1  # among the simulated all are free
    assert lab.store.progress(lab.study)[0].n_begun == 7
    assert problems(lab.store) == []


def test_who_begins_again_does_not_have_that_seed_either(lab_of: LabOf, small_study: Study) -> None:
    lab = lab_of(saying(small_study, resume=Resume(max_reloads=0, otherwise="restart")))
    lab.start("P01", group=1)
    lab.adopt("P02", seed=3)
    assert lab.start("P01").session.seed == 4


def test_a_session_in_the_laboratory_and_no_other_may_say_when_it_was_completed(lab: Laboratory) -> None:
    at = BEGAN_AT + timedelta(minutes=25)
    for begin in (lab.adopt, partial(lab.start, "P02")):
        stored = begin()
        lab.complete(stored, completed_at=at)
        lab.complete(stored, completed_at=at + timedelta(minutes=5))  # the first counts
    assert {row["completed_at"] for row in lab.store.sessions(lab.study)} == {"2026-11-20T09:55:00.000+00:00"}
    person = Person(lab.store, lab.study).answer_all()
    with pytest.raises(Conflict, match="Only a session in the laboratory"):
        lab.store.complete_session(lab.study, person.session, True, at)
    assert person.now.session.status is Status.ACTIVE
    assert problems(lab.store) == []


# Everything else


def test_sessions_of_the_web_and_of_the_laboratory_stand_side_by_side(lab: Laboratory) -> None:
    Person(lab.store, lab.study).complete()
    lab.complete(lab.start())
    lab.complete(lab.adopt("P02"))
    trials = lab.store.trials(lab.study)
    assert Counter(row["source"] for row in trials) == {"web": 3, "lab": 6}
    assert {row["onset_source"] for row in trials if row["source"] == "lab"} == {"flip"}
    listed = lab.store.sessions(lab.study)
    assert {(row["source"], row["occasion"]) for row in listed} == {("web", None), ("lab", 1)}
    assert sum(one.n_completed for one in lab.store.progress(lab.study)) == 3


@pytest.mark.parametrize(
    "change",
    ["occasion = 2", "occasion = NULL", "adopted_at = NULL", "adopted_at = '2020-01-01T00:00:00.000+00:00'",
     "place = 'reserved'"],
)  # fmt: skip
def test_what_was_changed_of_a_session_that_was_taken_elsewhere_is_found(lab_of: LabOf, change: str) -> None:
    lab = lab_of(quota=1)
    Person(lab.store, lab.study)
    adopted = lab.adopt(group=2)
    assert problems(lab.store) == []
    by_hand(lab.store, f"UPDATE sessions SET {change} WHERE session = '{adopted.plan.session}'")
    assert any(adopted.plan.session in problem for problem in problems(lab.store))


def test_a_copy_has_the_occasions_and_the_same_digest(lab: Laboratory, tmp_path: Path) -> None:
    lab.complete(lab.start(occasion=2))
    lab.adopt("P02")
    with closing(SqliteStore(tmp_path / "copy.db")) as copy:
        assert copy_store(lab.store, copy) == verified(lab.store)
        assert copy.sessions(lab.study) == lab.store.sessions(lab.study)
        seeds = [copy.start_session(lab.study, replace(start_of("P03"), group=1)).session.seed]
    assert seeds == [3]


def test_all_is_there_after_reopening(lab: Laboratory) -> None:
    lab.start(occasion=2)
    adopted = lab.adopt("P02")
    with closing(reopened(lab.store)) as again:
        found = again.find_session(lab.token)
        assert found == adopted
        there = again.session_on(lab.study, Identity("lab", "P01"), 2)
        assert there is not None
        assert problems(again) == []


# Whatever happens

people = st.sampled_from(["P01", "P02", "P03", None])
happenings = st.lists(
    st.one_of(
        st.tuples(st.just("comes"), people, st.integers(1, 2), st.sampled_from([None, 1, 2, 3])),
        st.tuples(st.just("brings"), people, st.integers(1, 2), st.integers(1, 3), st.integers(0, 5)),
        st.tuples(st.sampled_from(["answers", "completes", "withdraws", "leaves for an hour", "web"])),
    ),
    max_size=25,
)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(happenings=happenings, quota=st.sampled_from([None, 2, 4]))
def test_whatever_happens_the_books_are_right_and_no_seed_is_given_twice(
    small_study: Study, tmp_path: Path, happenings: list[tuple[Any, ...]], quota: int | None
) -> None:
    study = recruiting(small_study, quota=quota, quota_per_group=2)
    with Clock().installed() as clock, closing(SqliteStore(tmp_path / f"{new_id()}.db")) as store:
        lab = Laboratory(store, study)
        store.register_study(study)
        for what, *told in happenings:
            with suppress(Conflict):
                happen(lab, clock, what, *told)
            with store.snapshot() as db:
                assert verify(db).problems == []
        kinds = {row["session"]: row["kind"] for row in store.sessions(study)}
        of_group = 'SELECT session, "group", seed FROM sessions WHERE adopted_at IS NULL'
        given_here = [(kinds[session], group, seed) for session, group, seed in rows(store, of_group)]
        assert len(given_here) == len(set(given_here))
        for one in store.progress(study):
            if one.kind is Kind.HUMAN:
                assert one.n_under_way + one.n_completed <= 2
        one_person = "SELECT external_id FROM identities GROUP BY external_id HAVING COUNT(DISTINCT participant) > 1"
        assert rows(store, one_person) == []


def happen(lab: Laboratory, clock: Clock, what: str, *told: Any) -> None:
    """Let something happen; to the session that was opened last, where it is to one."""
    found = lab.store.find_session(lab.token)
    if what == "comes":
        code, occasion, group = told
        lab.start(code, occasion=occasion, group=group)
    elif what == "brings":
        code, occasion, group, seed = told
        name = f"{occasion}{group}{seed}{(code or 'P00')[1:]:0>13}"
        lab.adopt(code, occasion=occasion, session=name, group=group, seed=seed, participant=f"p-{name[-12:]}")
    elif what == "web":
        Person(lab.store, lab.study)
    elif what == "leaves for an hour":
        clock.advance(minutes=61)
    elif found is not None and what == "answers":
        lab.store.add_responses(found.plan.session, lab.token, [response(found.n_answered)])
    elif found is not None and what == "completes":
        left = [response(index) for index in range(found.n_answered, len(found.plan.trials))]
        lab.store.add_responses(found.plan.session, lab.token, left)
        lab.store.complete_session(lab.study, found.plan.session, True)
    elif found is not None and what == "withdraws":
        lab.store.withdraw_session(found.plan.session)
