"""The researchers' accounts in an SQL database."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from experiment.study.definition import Study
from server.store.account_contract import AccountStore
from server.store.database import Database
from server.store.models import Access, Account
from server.store.sql import accounts

Result = TypeVar("Result")


class SqlAccountStore(AccountStore):
    """The methods of `AccountStore` for both databases."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Database]:
        """Yield a connection for reading."""

    @abstractmethod
    def _write(self, job: Callable[[Database], Result]) -> Result:
        """Run a job in a transaction; return the job's result once the transaction is committed."""

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
