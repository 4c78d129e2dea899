"""Reading replies whose answer is a key: the name of the key's response, or the key itself."""

from collections.abc import Mapping

from batteries.tasks.replies.multiple_choice import ChoiceOutcomes
from batteries.tasks.replies.reader import read_reply
from batteries.tasks.replies.reading import Reading


def read(keys: Mapping[str, str], withheld: str | None, reply: str) -> Reading:
    """Return the name of the response that a reply gives, or the reason why there is none.

    The prompt asks for a name, so a reply that is both a name and another key is read as the name. The names have no
    numbers or letters, so a reply such as "2" never means the second name.

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
    >>> read({"left": "right", "right": "left"}, None, "Left").response
    'left'
    """
    names = {name.casefold(): name for name in [*keys.values(), *([withheld] if withheld else [])]}
    plain = reply.strip().strip("`'\"*.").casefold()
    if plain in names:
        return Reading(names[plain], "first_line")
    if plain in keys:
        return Reading(keys[plain], "key")
    found = read_reply(ChoiceOutcomes(list(names.values()), have_positions=False), reply)
    return Reading(list(names.values())[found.response - 1], found.rule) if isinstance(found.response, int) else found
