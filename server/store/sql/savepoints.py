"""A batch of work inside one transaction: each piece is done completely or not at all, independently of the others."""

from collections.abc import Callable, Sequence
from typing import Any

from server.store.database import Database
from server.store.sql import responses
from server.store.sql.responses import ResponseBatch

Job = Callable[[Database], Any]


def run_batch(
    db: Database, batch: Sequence[ResponseBatch | Job], of_one_alone: type[Exception], of_all: type[Exception]
) -> list[Any]:
    """Do all work of a batch and return the result of each piece, or the exception that undid it.

    Responses come first, all in few statements, then the jobs in their order.

    Parameters
    ----------
    db
        A connection inside a transaction, which the caller commits.
    batch
        Responses and jobs.
    of_one_alone
        The database's error for work that contradicts the store.
    of_all
        The database's other errors: they are raised, and nothing of the batch is done.
    """
    outcomes: dict[int, Any] = {}
    new = [position for position, work in enumerate(batch) if isinstance(work, ResponseBatch)]
    if new:
        batches = [work for work in batch if isinstance(work, ResponseBatch)]
        together = _attempt(db, lambda db: responses.add(db, batches), of_one_alone, of_all)
        if isinstance(together, Exception):
            # One of them holds what the database cannot store: each is tried alone, so that it does not affect the
            # others.
            together = [_alone(db, batch[position], of_one_alone, of_all) for position in new]
        outcomes.update(zip(new, together, strict=True))
    for position, work in enumerate(batch):
        if not isinstance(work, ResponseBatch):
            outcomes[position] = _attempt(db, work, of_one_alone, of_all)
    return [outcomes[position] for position in range(len(batch))]


def _alone(db: Database, work: Any, of_one_alone: type[Exception], of_all: type[Exception]) -> Any:
    outcome = _attempt(db, lambda db: responses.add(db, [work]), of_one_alone, of_all)
    return outcome if isinstance(outcome, Exception) else outcome[0]


def _attempt(db: Database, job: Job, of_one_alone: type[Exception], of_all: type[Exception]) -> Any:
    """Return a job's result, or the exception after which its changes were undone."""
    db.execute("SAVEPOINT job")
    try:
        result = job(db)
    except Exception as error:
        if isinstance(error, of_all) and not isinstance(error, of_one_alone):
            raise
        db.execute("ROLLBACK TO SAVEPOINT job")
        result = error
    db.execute("RELEASE SAVEPOINT job")
    return result
