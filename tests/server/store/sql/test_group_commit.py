"""Group commit: waiting work is committed together, and each caller gets the result of its own work."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from experiment.study.definition import Study
from server.store import Conflict, SqliteStore, StoreUnavailable
from server.store.database import Database
from server.store.sql.group_commit import MAX_BATCH, GroupCommit
from tests.server.stores import Person, at_once, of, problems, reopened, rows


class Commits:
    """A commit that records its batches, and can be paused or made to fail."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.threads: set[int] = set()
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.error: Exception | None = None

    def __call__(self, batch: Sequence[Any]) -> list[Any]:
        self.threads.add(threading.get_ident())
        self.may_go_on.wait()
        if self.error:
            raise self.error
        self.batches.append(list(batch))
        return [Conflict(f"{work}") if work % 3 == 0 else work * 10 for work in batch]


@pytest.fixture
def commits() -> Commits:
    return Commits()


@pytest.fixture
def group(commits: Commits) -> Iterator[GroupCommit[int]]:
    group: GroupCommit[int] = GroupCommit(commits)
    yield group
    commits.may_go_on.set()
    group.close()


def waiting(group: GroupCommit[int], n: int) -> None:
    """Wait until this number of callers wait."""
    deadline = time.monotonic() + 20
    while group._waiting.qsize() < n:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def held_up(group: GroupCommit[int], commits: Commits) -> threading.Thread:
    """Pause the commit of the work 1 for a block; work that arrives meanwhile must wait."""
    commits.may_go_on.clear()
    thread = threading.Thread(target=group.do, args=(1,))
    thread.start()
    deadline = time.monotonic() + 20
    while not commits.threads:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return thread


def test_each_caller_gets_the_result_of_its_own_work(group: GroupCommit[int]) -> None:
    outcomes = at_once(*(partial(group.do, work) for work in range(90)))
    for work, outcome in enumerate(outcomes):
        if work % 3 == 0:
            assert isinstance(outcome, Conflict) and str(outcome) == str(work)
        else:
            assert outcome == work * 10


def test_waiting_work_is_committed_together_in_order_of_arrival(group: GroupCommit[int], commits: Commits) -> None:
    threads = [held_up(group, commits)]
    for number in range(20):
        threads.append(threading.Thread(target=group.do, args=(3 * number + 2,), daemon=True))
        threads[-1].start()
        waiting(group, number + 1)
    commits.may_go_on.set()
    for thread in threads:
        thread.join()
    assert commits.batches == [[1], [3 * number + 2 for number in range(20)]]


def test_a_batch_is_limited_and_no_work_is_lost(group: GroupCommit[int], commits: Commits) -> None:
    threads, n = [held_up(group, commits)], 2 * MAX_BATCH + 10
    threads += [threading.Thread(target=group.do, args=(1,)) for _ in range(n)]
    for thread in threads[1:]:
        thread.start()
    waiting(group, n)
    commits.may_go_on.set()
    for thread in threads:
        thread.join()
    assert [len(batch) for batch in commits.batches] == [1, MAX_BATCH, MAX_BATCH, 10]


def test_all_commits_are_made_by_one_thread(group: GroupCommit[int], commits: Commits) -> None:
    at_once(*(partial(group.do, work) for work in range(30)))
    assert len(commits.threads) == 1
    assert threading.get_ident() not in commits.threads


@pytest.mark.parametrize("error", [StoreUnavailable("full"), ZeroDivisionError("a mistake")])
def test_a_failed_commit_is_reported_to_all_waiting_callers_and_the_writer_continues(
    group: GroupCommit[int], commits: Commits, error: Exception
) -> None:
    commits.error = error
    outcomes = at_once(*(partial(group.do, work) for work in range(1, 20)))
    assert of(type(error), outcomes) == 19
    commits.error = None
    assert group.do(1) == 10


def test_waiting_work_is_finished_before_closing_and_later_work_is_refused(
    group: GroupCommit[int], commits: Commits
) -> None:
    first, outcomes = held_up(group, commits), []
    threads = [threading.Thread(target=lambda: outcomes.append(group.do(1))) for _ in range(10)]
    for thread in threads:
        thread.start()
    waiting(group, 10)
    closing_thread = threading.Thread(target=group.close)
    closing_thread.start()
    waiting(group, 11)
    with pytest.raises(StoreUnavailable, match="closed"):
        group.do(2)
    commits.may_go_on.set()
    for thread in (first, *threads, closing_thread):
        thread.join()
    assert outcomes == [10] * 10
    group.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        group.do(2)


# In the embedded store.


def insert(n: int, then: Callable[[], Any] = lambda: None) -> Callable[[Database], Any]:
    def job(db: Database) -> Any:
        db.execute("INSERT INTO participants (participant, kind) VALUES (?, 'human')", (str(n),))
        return then()

    return job


def refuse() -> None:
    raise Conflict("not this one")


def participants(store: SqliteStore) -> set[int]:
    return {int(participant) for (participant,) in rows(store, "SELECT participant FROM participants")}


def test_a_failing_job_undoes_itself_and_no_other(store: SqliteStore) -> None:
    jobs = [insert(n, refuse if n % 3 == 0 else lambda: None) for n in range(90)]
    outcomes = at_once(*(partial(store._write, job) for job in jobs))
    assert [isinstance(outcome, Conflict) for outcome in outcomes] == [n % 3 == 0 for n in range(90)]
    assert participants(store) == {n for n in range(90) if n % 3}


def test_a_job_that_contradicts_stored_data_undoes_itself_and_no_other(store: SqliteStore) -> None:
    outcomes = at_once(*(partial(store._write, insert(n % 10)) for n in range(30)))
    assert of(Exception, outcomes) == 20
    assert participants(store) == set(range(10))


@pytest.mark.parametrize("failing", ["BEGIN IMMEDIATE", "SAVEPOINT job", "RELEASE SAVEPOINT job", "COMMIT", "ROLLBACK"])
def test_a_failed_statement_stores_nothing_and_the_writer_continues(
    store: SqliteStore, small_study: Study, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    class Failing(sqlite3.Connection):
        failing: tuple[str, ...] = ()

        def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
            if sql.startswith(type(self).failing):
                raise sqlite3.OperationalError("disk I/O error")
            return super().execute(sql, *arguments)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", partial(connect, factory=Failing))
    with closing(reopened(store)) as again:
        again.register_study(small_study)
        person = Person(again, small_study)
        monkeypatch.setattr(Failing, "failing", (failing,) if failing != "ROLLBACK" else ("COMMIT", "ROLLBACK"))
        for write in (person.answer, lambda: again._write(insert(1))):
            with pytest.raises(StoreUnavailable, match="disk I/O error"):
                write()
        monkeypatch.setattr(Failing, "failing", ("nothing at all",))
        assert person.now.n_answered == 0
        assert person.answer() == [True]
        again._write(insert(2))
        assert participants_besides(again, person) == {2}
        assert problems(again) == []


def participants_besides(store: SqliteStore, person: Person) -> set[int]:
    own = person.stored.session.participant.participant
    return {int(name) for (name,) in rows(store, "SELECT participant FROM participants") if name != own}


def test_responses_and_other_work_can_share_a_commit(store: SqliteStore, small_study: Study, tmp_path: Path) -> None:
    store.register_study(small_study)
    people = [Person(store, small_study) for _ in range(12)]
    at_once(*(person.answer_all for person in people[:9]))
    n_commits = 0
    commit = store._commit

    def counted(batch: Sequence[Any]) -> Sequence[Any]:
        nonlocal n_commits
        n_commits += 1
        time.sleep(0.05)  # A slow disk.
        return commit(batch)

    store._group._commit = counted  # type: ignore[method-assign]
    jobs: list[Callable[[], Any]] = [person.complete for person in people]
    jobs += [partial(Person, store, small_study) for _ in range(12)]
    assert of(Exception, at_once(*jobs)) == 0
    assert n_commits < 12  # For twelve completions, three requests with responses and twelve starts.
    assert problems(store) == []
