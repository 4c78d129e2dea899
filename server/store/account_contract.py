"""The part of a store's interface that is about the researchers' accounts."""

from abc import ABC, abstractmethod

from experiment.study.definition import Study
from server.store.models import Access, Account


class AccountStore(ABC):
    """Researchers' accounts. Each study has its own accounts, and its log records each change of an account."""

    @abstractmethod
    def accounts(self, study: Study) -> list[Account]:
        """Return the accounts of a study, sorted by name."""

    @abstractmethod
    def account(self, study: Study, name: str) -> Account | None:
        """Return the account with this name, or None."""

    @abstractmethod
    def save_account(self, study: Study, account: Account, change: Access, by: str) -> None:
        """Store a new account (`Access.ACCOUNT_ADDED`), or a change of the account with the same name.

        Parameters
        ----------
        study
            The study.
        account
            The account after the change.
        change
            The kind of the change, one of `ACCOUNT_CHANGES`, for the log.
        by
            The person who makes the change, for the log.

        Raises
        ------
        Conflict
            If a new account has the name of an existing account, or if the account to change does not exist.
        """

    @abstractmethod
    def remove_account(self, study: Study, name: str, by: str) -> bool:
        """Delete an account; return False if there is no such account. The log of the study keeps the name."""

    @abstractmethod
    def use_code(self, study: Study, name: str, time_step: int) -> bool:
        """Record that a code of the second factor was used; return False if it was used before.

        Parameters
        ----------
        study
            The study.
        name
            The account's name.
        time_step
            Number of the code's time step (RFC 6238). The codes of this step and of all earlier steps become invalid.
        """
