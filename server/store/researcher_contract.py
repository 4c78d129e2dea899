"""The part of a store's interface for researchers: their accounts, and the data of the pages on which they watch."""

from abc import ABC, abstractmethod

from experiment.study.definition import Study
from server.store.models import Access, Account
from server.store.monitor_models import Monitored, SessionHistory, WatchedSession


class ResearcherStore(ABC):
    """Researchers' accounts, and the data for watching a study.

    Each study has its own accounts, and its log records each change of an account. The methods that return the data for
    watching read a snapshot through a separate connection, so that they never delay a response.
    """

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

    @abstractmethod
    def monitored(self, study: Study) -> Monitored:
        """Return counts and recent times of the version of the study that is served."""

    @abstractmethod
    def watched_sessions(self, study: Study, pseudonym: str = "", n_most: int = 200) -> list[WatchedSession]:
        """Return the latest sessions of people and simulated participants, in all versions of the study.

        Parameters
        ----------
        study
            The study.
        pseudonym
            Name of a participant or a session; "" for all sessions.
        n_most
            Largest number of sessions to return.
        """

    @abstractmethod
    def history(self, study: Study, participant: str) -> list[SessionHistory]:
        """Return all sessions of the participant with this pseudonym, the oldest first; empty if there is none."""
