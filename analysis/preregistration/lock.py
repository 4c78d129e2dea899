"""Lock a plan before data are seen: store the plan, its digest and the time.

The locks are in a JSON file in the folder of the plan. Each lock contains the digest (SHA-256) of the previous lock,
so Equipoise detects a changed or removed lock. The researcher can publish a digest in a public registry. Then readers
can check that the locked plan is unchanged.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from batteries.canonical_json import canonical_json, digest, same_json
from batteries.errors import InputError
from batteries.files.atomic_write import atomic_write
from experiment.study.former_names import with_present_names
from experiment.study.planned_analyses import PlannedAnalyses


class Lock(BaseModel):
    """A locked plan."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    recorded: ClassVar[str] = "locked"

    plan: dict[str, Any]
    """The plan without default values."""
    of: dict[str, str]
    """The data for which the plan was made, such as the digest of the study's battery."""
    n_sessions: int | None
    """Number of sessions that had started at the time of the lock; None if unknown."""
    locked_at: str
    """Time of the lock (UTC, ISO 8601)."""
    software: str
    previous: str
    """Digest of the previous lock; an empty text for the first lock."""

    @property
    def content(self) -> dict[str, Any]:
        """The plan, with the present names of entries that an earlier Equipoise named differently."""
        return with_present_names(self.plan)

    @property
    def digest(self) -> str:
        """SHA-256 of the whole lock."""
        return digest(self.model_dump(mode="json"))


class _LockFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    locks: list[Lock]
    digest: str


def plan_content(plan: PlannedAnalyses) -> dict[str, Any]:
    """Return the content of a plan, with the present names of entries and without default values.

    Default values are omitted, so that the content stays the same if a later Equipoise adds optional entries to plans.
    """
    return with_present_names(plan.model_dump(mode="json", exclude_defaults=True))


def read_locks(path: Path) -> list[Lock]:
    """Return the locks in a file, the oldest first. Return an empty list if the file does not exist.

    Raises
    ------
    InputError
        If the file was changed.
    """
    if not path.exists():
        return []
    try:
        found = _LockFile.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError):
        raise InputError(
            f"{path}: this is not a file of locked plans, or the file was changed. Fix: restore the file from a "
            "backup or from version control."
        ) from None
    try:
        digests = [lock.digest for lock in found.locks]
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if not digests or [*(lock.previous for lock in found.locks), found.digest] != ["", *digests]:
        raise InputError(f"{path}: the locked plans in this file were changed. Fix: restore the file from a backup.")
    return found.locks


def add_lock(
    path: Path, plan: PlannedAnalyses, *, of: dict[str, str], n_sessions: int | None, software: str,
    now: datetime | None = None,
) -> Lock:  # fmt: skip
    """Lock a plan: add a new lock to the file of locks.

    Raises
    ------
    InputError
        If this plan is locked already, or the file cannot be written.
    """
    locks = read_locks(path)
    content = plan_content(plan)
    try:
        canonical_json(content)
    except InputError as error:
        raise InputError(f"the plan cannot be locked: {error}") from None
    if locks and same_json([locks[-1].content, locks[-1].of], [content, of]):
        raise InputError(
            f"{path}: this plan was already locked at {locks[-1].locked_at} (digest {locks[-1].digest}). Fix: keep "
            "this lock, and lock again only after you have changed the plan."
        )
    lock = Lock(
        plan=content,
        of=of,
        n_sessions=n_sessions,
        locked_at=(now or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds"),
        software=software,
        previous=locks[-1].digest if locks else "",
    )
    text = _LockFile(locks=[*locks, lock], digest=lock.digest).model_dump_json(indent=2)
    with atomic_write(path) as file:
        file.write(text + "\n")
    return lock
