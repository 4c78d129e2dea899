"""The researchers' accounts, and the data for watching a study, in an SQL database."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from experiment.study.definition import Study
from server.store.database import Database
from server.store.models import Access, Account
from server.store.monitor_models import Monitored, SessionHistory, WatchedSession
from server.store.researcher_contract import ResearcherStore
from server.store.sql import accounts, monitoring

Result = TypeVar("Result")


class SqlResearcherStore(ResearcherStore):
    """The methods of `ResearcherStore` for both databases."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Database]:
        """Yield a connection for reading."""

    @abstractmethod
    def _write(self, job: Callable[[Database], Result]) -> Result:
        """Run the function `job` in a transaction. Return its result once the transaction is committed."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Database]:
        """Yield a connection that reads the store as it was at one moment."""

    def accounts(self, study: Study) -> list[Account]:
        with self._reading() as db:
            return accounts.listed(db, study.name)

    def account(self, study: Study, name: str) -> Account | None:
        return next((account for account in self.accounts(study) if account.name == name), None)

    def save_account(self, study: Study, account: Account, change: Access, by: str) -> None:
        self._write(lambda db: accounts.save(db, study, account, change, by))

    def remove_account(self, study: Study, name: str, by: str) -> bool:
        return self._write(lambda db: accounts.remove(db, study, name, by))

    def use_code(self, study: Study, name: str, time_step: int) -> bool:
        return self._write(lambda db: accounts.use_code(db, study.name, name, time_step))

    def monitored(self, study: Study) -> Monitored:
        with self.snapshot() as db:
            return monitoring.monitored(db, study)

    def watched_sessions(self, study: Study, pseudonym: str = "", n_most: int = 200) -> list[WatchedSession]:
        with self.snapshot() as db:
            return monitoring.watched(db, study, pseudonym, n_most)

    def history(self, study: Study, participant: str) -> list[SessionHistory]:
        with self.snapshot() as db:
            return monitoring.history(db, study, participant)
