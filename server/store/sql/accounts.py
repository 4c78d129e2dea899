"""Researchers' accounts. Each change is written to the study's log, with a checksum of the account after the change."""

import json
from collections.abc import Iterator

from experiment.study.definition import Study
from server.store.checksums import link
from server.store.database import Database, insert_sql, marks, now
from server.store.errors import Conflict
from server.store.models import ACCOUNT_CHANGES, Access, Account, Role
from server.store.sql import studies
from server.store.sql.assignment_log import lock_log

STORED = ("study", "account", "role", "password_hash", "totp_secret", "is_active")
"""Columns with the fields of an account."""


def listed(db: Database, study: str) -> list[Account]:
    """See `ResearcherStore.accounts`."""
    rows = db.execute(f"SELECT {', '.join(STORED[1:])} FROM accounts WHERE study = ? ORDER BY account", (study,))
    return [
        Account(name, Role(role), password_hash, totp_secret, bool(is_active))
        for name, role, password_hash, totp_secret, is_active in rows
    ]


def save(db: Database, study: Study, account: Account, change: Access, by: str) -> None:
    """See `ResearcherStore.save_account`."""
    fields = (account.role.value, account.password_hash, account.totp_secret, int(account.is_active))
    exists = any(known.name == account.name for known in listed(db, study.name))
    if exists == (change is Access.ACCOUNT_ADDED):
        raise Conflict(
            f"the account {account.name} {'exists already' if exists else 'does not exist'}. Fix: choose another name."
        )
    if exists:
        db.execute(
            "UPDATE accounts SET role = ?, password_hash = ?, totp_secret = ?, is_active = ? "
            "WHERE study = ? AND account = ?",
            (*fields, study.name, account.name),
        )
    else:
        db.execute(insert_sql("accounts", (*STORED, "created_at")), (study.name, account.name, *fields, now()))
    _write_log(db, study, change, account=account.name, role=account.role, by=by, state=_checksum(db, study, account))


def remove(db: Database, study: Study, name: str, by: str) -> bool:
    """See `ResearcherStore.remove_account`."""
    deleted = db.execute("DELETE FROM accounts WHERE study = ? AND account = ?", (study.name, name)).rowcount
    if deleted:
        _write_log(db, study, Access.ACCOUNT_REMOVED, account=name, by=by)
    return bool(deleted)


def use_code(db: Database, study: str, name: str, time_step: int) -> bool:
    """See `ResearcherStore.use_code`."""
    used = db.execute(
        "UPDATE accounts SET totp_step = ? WHERE study = ? AND account = ? AND COALESCE(totp_step, -1) < ?",
        (time_step, study, name, time_step),
    )
    return bool(used.rowcount)


def changed(db: Database) -> Iterator[str]:
    """Yield a sentence for each account that differs from the log of its study."""
    logged: dict[tuple[str, str], str | None] = {}
    for study, text in db.execute(
        "SELECT study, details FROM events JOIN studies USING (study_digest) "
        f"WHERE event IN ({marks(ACCOUNT_CHANGES)}) ORDER BY at, event_index",
        ACCOUNT_CHANGES,
    ).fetchall():
        details = json.loads(text)
        logged[study, details["account"]] = details.get("state")
    stored = {
        (row[0], row[1]): link("", row) for row in db.execute(f"SELECT {', '.join(STORED)} FROM accounts").fetchall()
    }
    for study, account in sorted(logged.keys() | stored.keys()):
        if logged.get((study, account)) != stored.get((study, account)):
            yield f"account {account} of study {study}: it differs from the log."


def _checksum(db: Database, study: Study, account: Account) -> str:
    row = db.execute(
        f"SELECT {', '.join(STORED)} FROM accounts WHERE study = ? AND account = ?", (study.name, account.name)
    ).fetchone()
    return link("", row)


def _write_log(db: Database, study: Study, change: Access, **details: str) -> None:
    if not studies.logs_of(db, study):
        studies.register(db, study)  # An account may be added before the study is served for the first time.
    (study_digest,) = studies.logs_of(db, study)
    lock_log(db, study_digest).write(change.value, **details)
