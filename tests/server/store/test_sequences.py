"""Random sequences of events in a study, on both stores, compared with a simple reference implementation."""

import shutil
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from experiment.records import Kind, Response, Status
from experiment.study.definition import Study
from server.store import Conflict, Identity, NotYourSession, Release, SlotState, SqliteStore, Store, StudyFull
from server.store.verify import verify
from tests.server.stores import Clock, Person, address, another, empty, make_small, recruiting, response

N_TRIALS = 3
N_GROUPS, QUOTA, QUOTA_PER_GROUP, TIME_OUT_MIN = 2, 3, 2, 60

HAPPENINGS = [
    *["participant_arrives"] * 8,
    *["participant_repeats_the_start"] * 3,
    *["participant_reloads_the_page"] * 3,
    *["participant_responds"] * 2,
    *["participant_retries"] * 2,
    *["participant_responds_to_the_rest"] * 2,
    *["participant_completes"] * 4,
    "participant_withdraws",
    "the_researcher_releases_a_slot",
    "the_researcher_opens_or_closes_a_group",
    *["time_passes"] * 5,
]


@dataclass
class Expected:
    """The expected state of one participant."""

    person: Person
    slot: SlotState = SlotState.RESERVED
    status: Status = Status.ACTIVE
    reason: Release | None = None
    answers: list[Response] = field(default_factory=list)
    seen_min: float = 0
    """Time of the participant's last visit or response, in minutes of the clock."""

    @property
    def is_human(self) -> bool:
        return self.person.kind is Kind.HUMAN


class Sequences(RuleBasedStateMachine):
    """A study with more participants than slots, on two servers."""

    study: Study
    open_stores: Callable[[], tuple[Store, Store]]
    leave_stores: Callable[[tuple[Store, Store]], None]

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.installed = self.clock.installed()
        self.installed.__enter__()
        self.minutes = 0.0
        self.everybody: list[Expected] = []
        self.is_open = dict.fromkeys(range(1, N_GROUPS + 1), True)
        self.stores = type(self).open_stores()

    def teardown(self) -> None:
        type(self).leave_stores(self.stores)
        self.installed.__exit__(None, None, None)

    # The expected slots.

    def taken(self, group: int) -> int:
        return sum(
            one.slot is not SlotState.RELEASED for one in self.everybody if one.is_human and one.person.group == group
        )

    def confirmed(self, group: int) -> int:
        return sum(
            one.slot is SlotState.CONFIRMED for one in self.everybody if one.is_human and one.person.group == group
        )

    def has_room(self, group: int) -> bool:
        return self.taken(group) < QUOTA_PER_GROUP and sum(map(self.taken, self.is_open)) < QUOTA

    def expired(self) -> list[Expected]:
        return [
            one
            for one in self.everybody
            if one.is_human and one.slot is SlotState.RESERVED and self.minutes - one.seen_min > TIME_OUT_MIN
        ]

    def newcomers_group(self) -> int | None:
        """Return the expected group of a new participant, or None; sessions that have timed out release their slots."""
        released = self.expired()
        for one in released:
            one.slot, one.reason = SlotState.RELEASED, Release.TIME_OUT
        free = [group for group, is_open in self.is_open.items() if is_open and self.has_room(group)]
        if not free:  # Then no slot is released.
            for one in released:
                one.slot, one.reason = SlotState.RESERVED, None
            return None
        return min(free, key=lambda group: (self.taken(group), self.confirmed(group), group))

    # Events.

    @rule(what=st.sampled_from(HAPPENINGS), who=st.integers(0, 11), server=st.integers(0, 1), how=st.integers(0, 5))
    def something_happens(self, what: str, who: int, server: int, how: int) -> None:
        """Choose the next event; one rule, so that the events have these proportions."""
        if what in {"participant_arrives", "the_researcher_opens_or_closes_a_group", "time_passes"}:
            getattr(self, what)(server, how)
        elif self.everybody:
            one = self.everybody[who % len(self.everybody)]
            one.person.store = self.stores[server]
            getattr(self, what)(one, how)

    def participant_arrives(self, server: int, how: int) -> None:
        kind = Kind.SIMULATED if how == 5 else Kind.HUMAN
        identity = Identity("panel", f"person-{len(self.everybody)}") if how % 2 else None
        group = self.newcomers_group() if kind is Kind.HUMAN else None
        if kind is Kind.HUMAN:
            assert (self.stores[1 - server].why_full(self.study) is not None) == (group is None)
        try:
            person = Person(self.stores[server], self.study, kind, identity)
        except StudyFull:
            assert kind is Kind.HUMAN and group is None
            return
        if kind is Kind.HUMAN:
            assert person.group == group
        begun = [one.person.group for one in self.everybody if one.person.kind is kind].count(person.group)
        assert person.stored.session.seed == begun + 1
        self.everybody.append(Expected(person, seen_min=self.minutes))

    def _comes_back(self, one: Expected, attempt: Callable[[], object]) -> bool:
        """Let a participant with an open session resume; return True if they may resume."""
        is_free = self.is_free_for(one)
        try:
            attempt()
        except StudyFull:
            assert one.slot is SlotState.RELEASED and not is_free
            assert len(one.answers) < N_TRIALS
            return False
        one.seen_min = self.minutes
        self.note_released()
        if one.slot is SlotState.RELEASED and not self.is_free_for(one):
            assert len(one.answers) == N_TRIALS  # All responses are stored: resuming works without a slot.
            return True
        one.slot, one.reason = SlotState.RESERVED, None
        return True

    def is_free_for(self, one: Expected) -> bool:
        """Return True if a participant who timed out can regain a slot."""
        return one.reason is Release.TIME_OUT and (not one.is_human or self.has_room(one.person.group))

    def note_released(self) -> None:
        """Adopt from the store which of the sessions that have timed out were released just now."""
        for one in self.expired():
            one.person.store = self.stores[0]
            if one.person.now.slot is SlotState.RELEASED:
                one.slot, one.reason = SlotState.RELEASED, Release.TIME_OUT

    def participant_repeats_the_start(self, one: Expected, how: int) -> None:
        person, earlier_token = one.person, one.person.token
        if how % 2 and person.identity:
            person.start_id = str(uuid.uuid4())
        if one.status is Status.WITHDRAWN:
            with pytest.raises(Conflict):
                person.begin()
            return
        session = person.session
        if one.status is Status.COMPLETED:
            person.begin()
        elif not self._comes_back(one, person.begin):
            return
        assert person.session == session
        assert person.stored.n_answered == len(one.answers)
        with pytest.raises(NotYourSession):
            person.store.add_responses(session, earlier_token, [response(len(one.answers))])

    def participant_reloads_the_page(self, one: Expected, how: int) -> None:
        resume = partial(one.person.store.resume_session, self.study, one.person.session)
        if one.status is Status.ACTIVE:
            self._comes_back(one, resume)
        else:
            resume()

    def participant_responds(self, one: Expected, how: int) -> None:
        """Send responses from the next trial, from an earlier trial, or with a gap."""
        first, n = (0, -1, 1, 0, 0, -1)[how], (1, 1, 1, 2, 3, 2)[how]
        new = [response(max(0, len(one.answers) + first) + number) for number in range(n)]
        if one.status is Status.ACTIVE and new[0].trial_index == len(one.answers) and new[-1].trial_index < N_TRIALS:
            assert one.person.send(*new) == [True] * n
            one.answers += new
            one.seen_min = self.minutes
        else:
            with pytest.raises(Conflict):
                one.person.send(*new)

    def participant_retries(self, one: Expected, how: int) -> None:
        """Send retries alone, retries followed by a new response, or changed retries, which are different responses."""
        if not one.answers:
            return
        with_new, changes = how in {0, 1}, {2: "answer", 3: "trial"}.get(how)
        again, new = list(one.answers), response(len(one.answers))
        if changes == "answer":
            again[-1] = again[-1].model_copy(update={"response": "reflected"})
        elif changes == "trial":
            again[-1] = again[-1].model_copy(update={"trial_index": len(one.answers)})
        sent = [*again, new] if with_new else again
        is_refused = changes is not None or (
            with_new and (one.status is not Status.ACTIVE or new.trial_index == N_TRIALS)
        )
        if is_refused:
            with pytest.raises(Conflict):
                one.person.send(*sent)
            return
        assert one.person.send(*sent) == [False] * len(again) + [True] * (len(sent) - len(again))
        if with_new:
            one.answers.append(new)
            one.seen_min = self.minutes

    def participant_responds_to_the_rest(self, one: Expected, how: int) -> None:
        left = [response(index) for index in range(len(one.answers), N_TRIALS)]
        if one.status is Status.ACTIVE and left:
            one.person.send(*left)
            one.answers += left
            one.seen_min = self.minutes

    def participant_completes(self, one: Expected, how: int) -> None:
        passed_checks = how > 1
        if how > 2:
            self.participant_responds_to_the_rest(one, how)
        complete = partial(one.person.store.complete_session, self.study, one.person.session, passed_checks)
        if one.status is Status.WITHDRAWN or len(one.answers) < N_TRIALS:
            with pytest.raises(Conflict):
                complete()
            return
        complete()
        if one.status is Status.COMPLETED:
            return
        one.status = Status.COMPLETED
        if not passed_checks and one.is_human:
            one.slot, one.reason = SlotState.RELEASED, Release.ATTENTION_CHECK
            return
        one.seen_min = self.minutes  # A visit, so that the slot has not timed out.
        self.note_released()
        if one.slot is SlotState.RESERVED or self.is_free_for(one):
            one.slot, one.reason = SlotState.CONFIRMED, None

    def participant_withdraws(self, one: Expected, how: int) -> None:
        one.person.withdraw()
        if one.status is not Status.WITHDRAWN:
            one.status, one.slot, one.reason, one.answers = (
                Status.WITHDRAWN, SlotState.RELEASED, Release.WITHDRAWAL, [],
            )  # fmt: skip

    def the_researcher_releases_a_slot(self, one: Expected, how: int) -> None:
        reason = (Release.RETURN, Release.EXCLUSION)[how % 2]
        had_one = one.person.store.release_slot(one.person.session, reason)
        assert had_one == (one.slot is not SlotState.RELEASED)
        if had_one:
            one.slot, one.reason = SlotState.RELEASED, reason

    def the_researcher_opens_or_closes_a_group(self, server: int, how: int) -> None:
        group = 1 + how % N_GROUPS
        self.is_open[group] = not self.is_open[group]
        self.stores[server].open_group(self.study, group, self.is_open[group])

    def time_passes(self, server: int, how: int) -> None:
        minutes = 25 if how % 2 else TIME_OUT_MIN + 5
        self.clock.advance(minutes)
        self.minutes += minutes

    # Invariants after each event.

    @invariant()
    def all_is_as_the_model_says_and_the_books_balance(self) -> None:
        with self.stores[0].snapshot() as db:
            stored = {
                session: tuple(rest)
                for session, *rest in db.execute("SELECT session, status, slot, n_answered FROM sessions").fetchall()
            }
            answers: dict[str, list[tuple[int, str]]] = {}
            for session, index, response_id in db.execute(
                "SELECT session, trial_index, response_id FROM responses ORDER BY session, trial_index"
            ).fetchall():
                answers.setdefault(session, []).append((index, response_id))
            slots = db.execute('SELECT kind, "group", n_begun, n_reserved, n_confirmed, is_open FROM slots').fetchall()
            problems = verify(db).problems
        assert problems == []
        assert stored == {
            one.person.session: (one.status.value, one.slot.value, len(one.answers)) for one in self.everybody
        }
        for one in self.everybody:
            expected = [(index, sent.response_id) for index, sent in enumerate(one.answers)]
            assert answers.get(one.person.session, []) == expected  # The beginning of the plan without gaps.
        for kind, group, n_begun, n_reserved, n_confirmed, is_open in slots:
            here = [one for one in self.everybody if one.person.kind == kind and one.person.group == group]
            counted = Counter(one.slot for one in here)
            assert (n_begun, n_reserved, n_confirmed) == (
                len(here), counted[SlotState.RESERVED], counted[SlotState.CONFIRMED],
            )  # fmt: skip
            assert kind == "simulated" or (
                n_reserved + n_confirmed <= QUOTA_PER_GROUP and is_open == self.is_open[group]
            )
        assert sum(row[3] + row[4] for row in slots if row[0] == "human") <= QUOTA

    @invariant()
    def progress_adds_up_to_all_sessions(self) -> None:
        found = self.stores[1].progress(self.study)
        assert sum(one.n_begun for one in found) == len(self.everybody)
        assert sum(one.n_under_way + one.n_completed for one in found if one.kind is Kind.HUMAN) == sum(
            map(self.taken, self.is_open)
        )


def run_sequences(
    study: Study,
    open_stores: Callable[[], tuple[Store, Store]],
    leave_stores: Callable[[tuple[Store, Store]], None],
    max_examples: int,
) -> None:
    machine = type("Machine", (Sequences,), {"study": study, "open_stores": open_stores, "leave_stores": leave_stores})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=max_examples,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
        ),
    )


@pytest.fixture
def study(sample_study: Study) -> Study:
    return recruiting(
        make_small(sample_study, N_GROUPS), quota=QUOTA, quota_per_group=QUOTA_PER_GROUP, time_out_min=TIME_OUT_MIN
    )


def test_any_sequence_on_sqlite_keeps_the_books(study: Study, tmp_path: Path) -> None:
    template = SqliteStore(tmp_path / "template.db")
    template.register_study(study)
    template.close()

    def open_stores() -> tuple[Store, Store]:
        path = tmp_path / f"{uuid.uuid4().hex}.db"
        shutil.copy(template.path, path)
        return SqliteStore(path), SqliteStore(path)

    def leave_stores(stores: tuple[Store, Store]) -> None:
        for store in stores:
            store.close()

    run_sequences(study, staticmethod(open_stores), staticmethod(leave_stores), max_examples=25)


def test_any_sequence_on_postgres_keeps_the_books(study: Study, postgres_store: Store) -> None:
    stores = (postgres_store, another(postgres_store))

    def open_stores() -> tuple[Store, Store]:
        empty(address(postgres_store))
        postgres_store.register_study(study)
        return stores

    try:
        run_sequences(study, staticmethod(open_stores), staticmethod(lambda stores: None), max_examples=8)
    finally:
        stores[1].close()
