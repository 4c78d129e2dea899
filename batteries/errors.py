"""The one error for input that a person can mend."""


class InputError(Exception):
    """Something a person gave us is wrong; the message names the place, what is wrong and how to mend it."""
