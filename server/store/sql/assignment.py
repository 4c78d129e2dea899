"""Slots in counterbalance groups: reserved at the start, confirmed on completion, or released for another participant.

A slot is taken if it is reserved or confirmed. The next participant goes to the group with the fewest taken slots. All
decisions are made while the study's log is locked (`server.store.sql.assignment_log`). So they are made one after the
other, and no group gets too many participants. The log records each decision with the numbers of slots.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from experiment.lab_api import UploadedSession
from experiment.records import Kind, Source, Status
from experiment.study.recruitment import Recruitment
from server.store.database import Database, marks, minutes_ago, now
from server.store.errors import Conflict, StudyFull
from server.store.models import REGAINED_AFTER, Release, SlotState
from server.store.sql.assignment_log import Log
from server.store.tables import TABLES

MOST_SLOTS_ADDED = 10_000
"""Largest number of slots that can be added to a quota at once."""


@dataclass(frozen=True)
class GroupSlots:
    """Numbers of a group's slots."""

    group: int
    n_begun: int
    """Number of sessions that have begun. If no session was uploaded, it is also the seed of the latest session."""
    n_reserved: int
    n_confirmed: int
    is_open: bool
    n_added: int = 0
    """Number of slots that researchers added to the quota of the group."""

    @property
    def n_taken(self) -> int:
        """Number of slots that no other participant can have."""
        return self.n_reserved + self.n_confirmed


def choose_group(
    groups: Sequence[GroupSlots], recruitment: Recruitment, had: Collection[int] = frozenset()
) -> int | None:
    """Return the open group with the fewest taken slots, for the next participant; None if all open groups are full.

    Of several groups with equally few taken slots, the group with the fewest completed sessions is chosen, because a
    participant under way may still leave. Then the group with the lowest number is chosen. Reserved slots count like
    confirmed slots. Otherwise all participants who arrive before the next completion would get the same group.

    `had` are the groups of the participant's earlier sessions. One of the other groups is chosen if it has a free slot,
    so that the participant gets other items or another order.
    """
    if _is_full(groups, recruitment):
        return None
    free = [group for group in groups if group.is_open and not _is_filled(group, recruitment)]
    if not free:
        return None
    free = [group for group in free if group.group not in had] or free
    return min(free, key=lambda group: (group.n_taken, group.n_confirmed, group.group)).group


def _is_filled(group: GroupSlots, recruitment: Recruitment) -> bool:
    return recruitment.quota_per_group is not None and group.n_taken >= recruitment.quota_per_group + group.n_added


def _is_full(groups: Sequence[GroupSlots], recruitment: Recruitment) -> bool:
    """Return True if the quota of the whole study is reached."""
    n_added = sum(group.n_added for group in groups)
    n_taken = sum(group.n_taken for group in groups)
    return recruitment.quota is not None and n_taken >= recruitment.quota + n_added


def read_slots(db: Database, study_digest: str, kind: Kind) -> list[GroupSlots]:
    """Return the slots of each group, in the order of the group numbers."""
    rows = db.execute(
        'SELECT "group", n_begun, n_reserved, n_confirmed, is_open, n_added FROM slots '
        'WHERE study_digest = ? AND kind = ? ORDER BY "group"',
        (study_digest, kind.value),
    )
    return [
        GroupSlots(group, n_begun, n_reserved, n_confirmed, bool(is_open), n_added)
        for group, n_begun, n_reserved, n_confirmed, is_open, n_added in rows
    ]


def add_groups(db: Database, study_digest: str, n_groups: int) -> None:
    """Make the groups of a study, without participants, when the study is registered for the first time."""
    db.insert(
        "slots",
        TABLES["slots"],
        [
            (study_digest, kind.value, group, 0, 0, 0, 1, 0)
            for kind in (Kind.HUMAN, Kind.SIMULATED)
            for group in range(1, n_groups + 1)
        ],
        skip_known=True,
    )


def why_full(db: Database, study_digest: str, recruitment: Recruitment) -> StudyFull | None:
    """Return the error for a participant who arrives now, or None if there is a free slot."""
    if choose_group(read_slots(db, study_digest, Kind.HUMAN), recruitment) is not None:
        return None
    groups = _slots_for_newcomers(db, study_digest, recruitment)
    return None if choose_group(groups, recruitment) is not None else _why_full(groups, recruitment)


def require_slot(
    db: Database, study_digest: str, recruitment: Recruitment, wanted: int | None, had: Collection[int]
) -> int:
    """Return the group that `reserve` would reserve for a person who arrives now. Raise its errors. Reserve nothing."""
    groups = _slots_for_newcomers(db, study_digest, recruitment)
    return _group_of_newcomer(groups, Kind.HUMAN, recruitment, wanted, had).group


def _slots_for_newcomers(db: Database, study_digest: str, recruitment: Recruitment) -> list[GroupSlots]:
    """Return the slots of people in each group. Slots that have timed out count as released."""
    expired = Counter(group for _, group, _ in _expired(db, study_digest, recruitment))
    groups = read_slots(db, study_digest, Kind.HUMAN)
    return [replace(group, n_reserved=group.n_reserved - expired[group.group]) for group in groups]


def reserve(
    log: Log,
    kind: Kind,
    recruitment: Recruitment,
    session: str,
    wanted: int | None = None,
    had: Collection[int] = frozenset(),
) -> tuple[int, int]:
    """Reserve a slot for a new session; return the group and the seed of the session.

    `had` are the groups of the participant's earlier sessions; see `choose_group`.

    Raises
    ------
    StudyFull
        If there is no free slot.
    Conflict
        If the wanted group is full or does not exist.
    """
    if kind is Kind.HUMAN:
        release_expired(log, recruitment)
    groups = read_slots(log.db, log.study_digest, kind)
    group = _group_of_newcomer(groups, kind, recruitment, wanted, had)
    seed = _next_seed(log, kind, group)
    _count(log, kind, group.group, n_begun=1, n_reserved=1)
    asked_for: dict[str, object] = {} if wanted is None else {"wanted": wanted}
    if had and wanted is None:
        asked_for["had"] = sorted(had)
    numbers = _numbers(groups, recruitment)
    log.write("reserved", session, kind=kind, group=group.group, seed=seed, **asked_for, **numbers)
    return group.group, seed


def _group_of_newcomer(
    groups: Sequence[GroupSlots],
    kind: Kind,
    recruitment: Recruitment,
    wanted: int | None,
    had: Collection[int] = frozenset(),
) -> GroupSlots:
    """Return the wanted group. If `wanted` is None, return the group for the next participant.

    Raise an error if there is no free slot.
    """
    if wanted is not None:
        return _group_with_room(groups, wanted, kind, recruitment)
    if kind is Kind.SIMULATED:
        # Assigned in turn, and without a quota, so that a simulation can be repeated.
        return min(groups, key=lambda group: (group.n_begun, group.group))
    chosen = choose_group(groups, recruitment, had)
    if chosen is None:
        raise _why_full(groups, recruitment)
    return groups[chosen - 1]


def _group_with_room(groups: Sequence[GroupSlots], wanted: int, kind: Kind, recruitment: Recruitment) -> GroupSlots:
    group = _group_numbered(groups, wanted)
    if kind is Kind.SIMULATED:
        return group
    if not group.is_open:
        raise Conflict(
            f"Group {wanted} is closed for new participants. Fix: open the group, or let Equipoise choose a group."
        )
    if _is_filled(group, recruitment):
        quota = (recruitment.quota_per_group or 0) + group.n_added
        raise Conflict(
            f"Group {wanted} is full: {group.n_confirmed} participants have completed, {group.n_reserved} are under "
            f"way, and the quota of the group is {quota}. Fix: raise the quota, or let Equipoise choose a group."
        )
    if _is_full(groups, recruitment):
        n_taken = sum(group.n_taken for group in groups)
        quota = (recruitment.quota or 0) + sum(group.n_added for group in groups)
        raise Conflict(
            f"Group {wanted} has no free slot, because the study is full: {n_taken} participants have completed or are "
            f"under way, and the quota of the study is {quota}. Fix: raise the quota."
        )
    return group


def _group_numbered(groups: Sequence[GroupSlots], number: int) -> GroupSlots:
    if not 1 <= number <= len(groups):
        raise Conflict(f"There is no group {number} in this study. Fix: choose a group from 1 to {len(groups)}.")
    return groups[number - 1]


def _next_seed(log: Log, kind: Kind, group: GroupSlots) -> int:
    """Return the seed of the next session in a group.

    The seed is the number of the session in the group. If an uploaded session has this seed, take the next free
    number.
    """
    seed = group.n_begun + 1
    while log.db.execute(
        "SELECT 1 FROM sessions JOIN participants USING (participant) "
        'WHERE study_digest = ? AND "group" = ? AND seed = ? AND kind = ?',
        (log.study_digest, group.group, seed, kind.value),
    ).fetchone():
        seed += 1
    return seed


def add_uploaded(
    log: Log, kind: Kind, uploaded: UploadedSession, recruitment: Recruitment, **details: object
) -> SlotState:
    """Count an uploaded session, and give the session a slot if its group has a free slot.

    If the group is full, the session is stored without a slot, so that its responses are not lost.

    Raises
    ------
    Conflict
        If the group does not exist.
    """
    _group_numbered(read_slots(log.db, log.study_digest, kind), uploaded.group)
    has_room = _has_room_now(log, kind, uploaded.group, recruitment)
    slot = SlotState.RESERVED if has_room else SlotState.RELEASED
    numbers = _numbers(read_slots(log.db, log.study_digest, kind), recruitment)
    _count(log, kind, uploaded.group, n_begun=1, n_reserved=int(has_room))
    log.write(
        "uploaded",
        uploaded.session,
        kind=kind,
        group=uploaded.group,
        seed=uploaded.seed,
        slot=slot,
        **details,
        **numbers,
    )
    return slot


def reserve_in(log: Log, held: "HeldSlot", recruitment: Recruitment, session: str) -> int:
    """Reserve a slot for a new session that replaces a participant's former session.

    Return the seed of the new session.

    The new session is in the group of the former session.

    Raises
    ------
    StudyFull
        If the group is full.
    """
    if not _has_room_now(log, held.kind, held.group, recruitment):
        raise StudyFull("slot_given_away")
    groups = read_slots(log.db, log.study_digest, held.kind)
    seed = _next_seed(log, held.kind, groups[held.group - 1])
    _count(log, held.kind, held.group, n_begun=1, n_reserved=1)
    numbers = _numbers(groups, recruitment)
    log.write("reserved", session, kind=held.kind, group=held.group, seed=seed, instead_of=held.session, **numbers)
    return seed


def release_expired(log: Log, recruitment: Recruitment) -> None:
    """Release the slots of participants whose last visit and last response are older than the study's time-out."""
    for session, group, seen_at in _expired(log.db, log.study_digest, recruitment):
        _release(log, Kind.HUMAN, session, group, SlotState.RESERVED, Release.TIME_OUT, seen_at=seen_at)


def _expired(db: Database, study_digest: str, recruitment: Recruitment) -> list[tuple[str, int, str]]:
    """Return the session, the group and the time of the last visit, for each session that has timed out."""
    limit = minutes_ago(recruitment.time_out_min)
    return db.execute(
        'SELECT session, "group", seen_at FROM sessions JOIN participants USING (participant) '
        "WHERE study_digest = ? AND slot = 'reserved' AND kind = 'human' AND seen_at < ? AND NOT EXISTS "
        "(SELECT 1 FROM responses WHERE responses.session = sessions.session AND received_at >= ?) ORDER BY session",
        (study_digest, limit, limit),
    ).fetchall()


def with_slots(db: Database, study_digest: str, recruitment: Recruitment, sessions: Sequence[str]) -> list[str]:
    """Return those of the given sessions that have a reserved slot.

    A slot that has timed out does not count, because the next participant can have it.
    """
    expired = {session for session, _, _ in _expired(db, study_digest, recruitment)}
    rows = db.execute(
        f"SELECT session FROM sessions WHERE slot = 'reserved' AND session IN ({marks(sessions)})", sessions
    )
    return [session for (session,) in rows if session not in expired]


@dataclass(frozen=True)
class HeldSlot:
    """The data of a session for decisions about its slot."""

    session: str
    kind: Kind
    group: int
    status: Status
    slot: SlotState
    release_reason: str | None
    has_all_responses: bool
    source: Source
    is_uploaded: bool
    """True if the session was uploaded. Its responses are then stored even if it has no slot."""


def held_slot(db: Database, session: str) -> HeldSlot:
    """Return the data about a session's slot. The caller must lock the log first, so that the slot does not change."""
    name, kind, group, status, slot, reason, n_missing, source, uploaded_at = db.execute(
        'SELECT session, kind, "group", status, slot, release_reason, n_trials - n_answered, source, uploaded_at '
        "FROM sessions JOIN participants USING (participant) WHERE session = ?",
        (session,),
    ).fetchone()
    return HeldSlot(
        session=name,
        kind=Kind(kind),
        group=group,
        status=Status(status),
        slot=SlotState(slot),
        release_reason=reason,
        has_all_responses=n_missing == 0,
        source=Source(source),
        is_uploaded=uploaded_at is not None,
    )


def confirm(log: Log, held: HeldSlot, recruitment: Recruitment, completed_at: str) -> None:
    """Confirm the slot of a completed session.

    If the session has no slot, give it a free slot of its group, if there is one.
    """
    if held.slot is SlotState.RESERVED:
        _count(log, held.kind, held.group, n_reserved=-1, n_confirmed=1)
    elif held.release_reason in REGAINED_AFTER and _has_room_now(log, held.kind, held.group, recruitment):
        _count(log, held.kind, held.group, n_confirmed=1)
    else:
        reason = held.release_reason
        log.write("surplus", held.session, group=held.group, slot_released_for=reason, completed_at=completed_at)
        return
    log.db.execute("UPDATE sessions SET slot = 'confirmed', release_reason = NULL WHERE session = ?", (held.session,))
    log.write("confirmed", held.session, group=held.group, completed_at=completed_at)


def release(log: Log, held: HeldSlot, reason: Release, **details: str) -> bool:
    """Release a slot; return True if the session had a slot."""
    _release(log, held.kind, held.session, held.group, held.slot, reason, **details)
    return held.slot is not SlotState.RELEASED


def regain(log: Log, held: HeldSlot, recruitment: Recruitment) -> None:
    """Reserve a slot again for a participant who has come back.

    Raises
    ------
    StudyFull
        If there is no free slot, or if the slot was released for a reason that is not in `REGAINED_AFTER`.
    """
    if held.slot is SlotState.RELEASED:
        may_return = held.release_reason in REGAINED_AFTER
        if not may_return or not _has_room_now(log, held.kind, held.group, recruitment):
            raise StudyFull("slot_given_away")
        _count(log, held.kind, held.group, n_reserved=1)
        log.write("regained", held.session, group=held.group)
    log.db.execute(
        "UPDATE sessions SET slot = ?, release_reason = NULL, seen_at = ? WHERE session = ?",
        (SlotState.RESERVED.value, now(), held.session),
    )


def open_group(log: Log, group: int, is_open: bool) -> None:
    """Open or close a group for new participants.

    Raises
    ------
    Conflict
        If the study has no such group.
    """
    _group_numbered(read_slots(log.db, log.study_digest, Kind.HUMAN), group)
    log.db.execute(
        "UPDATE slots SET is_open = ? WHERE study_digest = ? AND kind = 'human' AND \"group\" = ?",
        (int(is_open), log.study_digest, group),
    )
    log.write("opened" if is_open else "closed", group=group)


def extend_quota(log: Log, recruitment: Recruitment, group: int, n_slots: int) -> None:
    """See `Store.extend_quota`."""
    _group_numbered(read_slots(log.db, log.study_digest, Kind.HUMAN), group)
    if recruitment.quota is None and recruitment.quota_per_group is None:
        raise Conflict("This study has no quota, so there is no quota to extend. Fix: none is needed.")
    if not 0 < n_slots <= MOST_SLOTS_ADDED:
        raise Conflict(f"{n_slots} slots cannot be added. Fix: add 1 to {MOST_SLOTS_ADDED} slots.")
    log.db.execute(
        "UPDATE slots SET n_added = n_added + ? WHERE study_digest = ? AND kind = 'human' AND \"group\" = ?",
        (n_slots, log.study_digest, group),
    )
    log.write("quota extended", group=group, n_slots=n_slots)


def _release(log: Log, kind: Kind, session: str, group: int, slot: SlotState, reason: Release, **details: str) -> None:
    log.db.execute(
        "UPDATE sessions SET slot = 'released', release_reason = ? WHERE session = ?", (reason.value, session)
    )
    if slot is SlotState.RESERVED:
        _count(log, kind, group, n_reserved=-1)
    elif slot is SlotState.CONFIRMED:
        _count(log, kind, group, n_confirmed=-1)
    log.write("released", session, group=group, because=reason, was=slot, **details)


def _has_room_now(log: Log, kind: Kind, number: int, recruitment: Recruitment) -> bool:
    """Return True if a group has a free slot, even if the group is closed for new participants."""
    release_expired(log, recruitment)
    if kind is Kind.SIMULATED:
        return True
    groups = read_slots(log.db, log.study_digest, kind)
    group = next(group for group in groups if group.group == number)
    return not _is_filled(group, recruitment) and not _is_full(groups, recruitment)


def _count(log: Log, kind: Kind, group: int, n_begun: int = 0, n_reserved: int = 0, n_confirmed: int = 0) -> None:
    log.db.execute(
        "UPDATE slots SET n_begun = n_begun + ?, n_reserved = n_reserved + ?, n_confirmed = n_confirmed + ? "
        'WHERE study_digest = ? AND kind = ? AND "group" = ?',
        (n_begun, n_reserved, n_confirmed, log.study_digest, kind.value, group),
    )


def _numbers(groups: Sequence[GroupSlots], recruitment: Recruitment) -> dict[str, object]:
    """Return the numbers that the log records with a decision.

    The numbers are the confirmed and the reserved slots of each group, the closed groups, the quotas, and the slots
    that researchers added to the quotas.
    """
    added = {group.group: group.n_added for group in groups if group.n_added}
    return {
        "taken": {group.group: [group.n_confirmed, group.n_reserved] for group in groups},
        "closed": [group.group for group in groups if not group.is_open],
        "quota": recruitment.quota,
        "quota_per_group": recruitment.quota_per_group,
    } | ({"added": added} if added else {})


def _why_full(groups: Sequence[GroupSlots], recruitment: Recruitment) -> StudyFull:
    """Return the error for a participant without a slot. Its message states whether a slot may become free later."""
    if choose_group([replace(group, n_reserved=0) for group in groups], recruitment) is None:
        return StudyFull("study_full")
    return StudyFull("slots_taken", minutes=round(recruitment.time_out_min))
