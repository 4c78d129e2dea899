"""The store: what was asked and answered, and nothing that is acknowledged is ever lost.

`contract` says what a store promises, `values` what goes into one and comes out, `opened` opens one; `sqlite` is the
embedded one, `postgres` the one for many servers. Both keep the contract by the same statements (`sql_store`):
`sessions`, `answers`, `runs`, `assignment` with its `log`, `identities`, `registry`, `adoption` of what was taken
elsewhere; `checksums` chains what is kept, so that `verifying` can tell whether all is there.
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
    NOTHING_PASSED_OVER,
    PANEL,
    Access,
    AddedRun,
    Identity,
    Release,
    SessionPlan,
    SessionStart,
    SlotState,
    StoredSession,
    Visit,
)
from server.store.sqlite.store import SqliteStore

__all__ = [
    "NOTHING_PASSED_OVER",
    "PANEL",
    "Access",
    "AddedRun",
    "BegunElsewhere",
    "Conflict",
    "Identity",
    "NotYourSession",
    "Refusal",
    "Release",
    "SessionPlan",
    "SessionStart",
    "SlotState",
    "SqliteStore",
    "Store",
    "StoreAway",
    "StoreUnavailable",
    "StoredSession",
    "StudyFull",
    "Visit",
]
