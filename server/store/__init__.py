"""The store: what was asked and answered, and nothing that is acknowledged is ever lost.

`contract` says what a store promises; `sqlite` is the embedded one; `schema` its tables; `writer` its group commit.
"""

from server.store.contract import AddedRun, Conflict, SessionStart, Store, StoredSession, StoreUnavailable
from server.store.sqlite import SqliteStore

__all__ = ["AddedRun", "Conflict", "SessionStart", "SqliteStore", "Store", "StoreUnavailable", "StoredSession"]
