"""The errors of a store: requests that the store refuses, and a store that cannot be used."""

from batteries.errors import InputError
from experiment.texts import ENGLISH


class Conflict(Exception):
    """Error for a request that contradicts the store, such as a response out of order. The client gets the message."""


class Refusal(Conflict):
    """A conflict whose message the participant reads, in their language.

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
    """Error if there is no free slot for another participant."""


class BegunElsewhere(Refusal):
    """Error if a session was begun with this id, and the client has no proof that the same participant is back."""


class NotYourSession(Refusal):
    """Error if the token does not belong to the session, or is no longer valid."""


class StoreUnavailable(Exception):
    """Error if the store is unavailable now, for instance because the disk is full.

    Nothing was acknowledged, so the client should try again.
    """


class StoreAway(InputError):
    """Error if a store cannot be opened now, because its database is stopped, starting or not responding.

    Another attempt may succeed later. After any other `InputError`, a person must first correct the address, the
    password or the rights.
    """
