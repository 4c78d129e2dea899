"""The store of studies, plans and responses. A response that the store has acknowledged is never lost.

`contract` is the interface of a store, `models` are its inputs and outputs, and `open` opens a store. `sqlite/` is the
embedded store, and `postgres/` is the store for several servers. Both stores run the SQL statements in `sql/`. The
modules of `sql/` are `sessions`, `resuming`, `responses`, `model_runs`, `assignment` with its `assignment_log`,
`exclusions`, `identities`, `payments`, `accounts`, `studies` and `uploaded_sessions`. `checksums` computes chains of
checksums over the stored rows, so that `verify` can detect a missing or changed row.
"""

from server.store.contract import Store
from server.store.errors import (
    BegunElsewhere,
    Conflict,
    NotYourSession,
    Refusal,
    StoreAway,
    StoreUnavailable,
    StudyFull,
)
from server.store.models import (
    LAB,
    NOTHING_PASSED_OVER,
    PANEL,
    Access,
    Account,
    AddedRun,
    Identity,
    Payment,
    PaymentState,
    Release,
    Role,
    SessionPlan,
    SessionStart,
    SlotState,
    StoredAction,
    StoredSession,
    StoredTrial,
    Visit,
)
from server.store.sqlite.store import SqliteStore

__all__ = [
    "LAB",
    "NOTHING_PASSED_OVER",
    "PANEL",
    "Access",
    "Account",
    "AddedRun",
    "BegunElsewhere",
    "Conflict",
    "Identity",
    "NotYourSession",
    "Payment",
    "PaymentState",
    "Refusal",
    "Release",
    "Role",
    "SessionPlan",
    "SessionStart",
    "SlotState",
    "SqliteStore",
    "Store",
    "StoreAway",
    "StoreUnavailable",
    "StoredAction",
    "StoredSession",
    "StoredTrial",
    "StudyFull",
    "Visit",
]
