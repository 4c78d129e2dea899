"""The errors of a store: requests that it refuses, and a store that cannot be used."""

from batteries.errors import InputError
from experiment.texts import ENGLISH


class Conflict(Exception):
    """A request that contradicts what is stored, such as an answer out of order; the message is for the client."""


class Refusal(Conflict):
    """A conflict of which a participant hears, in their language.

    Parameters
    ----------
    text
        Name of the sentence in the catalogues of `experiment.texts`.
    values
        What is in the sentence's places.
    """

    def __init__(self, text: str, **values: object) -> None:
        super().__init__(ENGLISH.say(text, **values))
        self.text = text
        self.values = values


class StudyFull(Refusal):
    """There is no free place for another participant."""


class BegunElsewhere(Refusal):
    """The id has begun this study, and the client does not show that it belongs to the same person."""


class NotYourSession(Refusal):
    """The token is not, or no longer, the one by which the session is known."""


class StoreUnavailable(Exception):
    """The store cannot be used now (full disk, locked file, no connection); nothing was acknowledged, so try again."""


class StoreAway(InputError):
    """A store cannot be opened now, as its database is stopped, starts up or does not reply; waiting may help.

    Any other `InputError` from opening a store needs a person: a wrong address or password, or missing rights.
    """
