"""The errors of a store: requests that the store refuses, and a store that cannot be used."""

from batteries.errors import InputError
from experiment.texts import ENGLISH


class Conflict(Exception):
    """A request that contradicts the store, such as a response out of order. The client gets the message."""


class Refusal(Conflict):
    """A conflict that is shown to a participant, in their language.

    Parameters
    ----------
    text
        Key of the sentence in the catalogues of `experiment.texts`.
    values
        Values of the sentence's placeholders.
    """

    def __init__(self, text: str, **values: object) -> None:
        super().__init__(ENGLISH.say(text, **values))
        self.text = text
        self.values = values


class StudyFull(Refusal):
    """There is no free slot for another participant."""


class BegunElsewhere(Refusal):
    """A session was begun with this id, and the client does not prove that the same participant is back."""


class NotYourSession(Refusal):
    """The token is not the session's token, or is no longer valid."""


class StoreUnavailable(Exception):
    """The store is unavailable now, for instance because the disk is full, or because there is no connection.

    Nothing was acknowledged, so try again.
    """


class StoreAway(InputError):
    """A store cannot be opened now, because its database is stopped, starting or not responding.

    After this error, waiting may help. If opening a store raises any other `InputError`, waiting does not help: a
    person must correct the address, the password or the rights.
    """
