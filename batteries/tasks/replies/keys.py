"""Reading replies whose answer is a key: the name of the key's response, or the key itself."""

from collections.abc import Mapping

from batteries.tasks.replies import multiple_choice
from batteries.tasks.replies.reading import Reading


def read(keys: Mapping[str, str], withheld: str | None, reply: str) -> Reading:
    """Return the name of the response that a reply gives, or the reason why there is none.

    Parameters
    ----------
    keys
        The names of the responses by their keys.
    withheld
        The name of the response without a key; None if the item does not allow this response.
    reply
        The whole reply of the model.

    Examples
    --------
    >>> read({"f": "word", "j": "nonword"}, None, "Nonword.")
    Reading(response='nonword', rule='first_line')
    >>> read({"f": "word", "j": "nonword"}, None, "J").response
    'nonword'
    """
    plain = reply.strip().strip("`'\"*.").casefold()
    if plain in keys:
        return Reading(keys[plain], "key")
    names = [*keys.values(), *([withheld] if withheld else [])]
    if plain in {name.casefold() for name in names}:
        return Reading(next(name for name in names if name.casefold() == plain), "first_line")
    found = multiple_choice.read({"options": names}, reply)
    return found if found.response is None else Reading(names[int(str(found.response)) - 1], found.rule)
