"""The keys of responses: keys for the options of `multiple_choice`, and mappings of keys to responses over groups."""

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from batteries.errors import InputError
from batteries.items import Item
from batteries.tasks.keypress import Key, Keypress
from batteries.tasks.multiple_choice import MultipleChoice


class ResponseKeys(BaseModel):
    """The keys with which participants respond. Stored responses do not depend on these settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    options: tuple[Key, ...] = Field(
        default=(),
        max_length=9,
        description=(
            "Keys of option 1, option 2 and so on of `multiple_choice` items with one answer, such as `[f, j]`; if "
            "omitted, the digits 1, 2 and so on."
        ),
    )
    mappings: int = Field(
        default=1,
        ge=1,
        le=60,
        description=(
            "Number of mappings of keys to responses, which multiplies the number of groups: `2` exchanges the two "
            "keys of `options`, and of each `keypress` item, for half of the groups. `1`: all groups have the same "
            "keys."
        ),
    )

    @field_validator("options")
    @classmethod
    def _each_key_once(cls, options: tuple[str, ...]) -> tuple[str, ...]:
        for key in options:
            if options.count(key) > 1:
                raise ValueError(f"the key `{key}` has several options. Fix: give each option its own key.")
        return options


def with_response_keys(item: Item, keys: ResponseKeys, mapping: int) -> Item:
    """Return an item with the keys that participants have under a mapping.

    Mapping 1 has the keys of `study.yaml` and of the battery. With each further mapping, each key gets the next
    response, and the last key gets the first response. So over n mappings of n keys, each response has each key once.

    The content of a `multiple_choice` item with one answer gets `option_keys`, the keys of its options. The content of
    a `keypress` item gets other `keys`. All other items stay the same.

    Parameters
    ----------
    item
        An item of the battery.
    keys
        The study's setting.
    mapping
        Number of the mapping, from 1.
    """
    content: dict[str, Any] = item.content
    own = _keys_of(item, keys)
    if not own:
        return item
    shift = (mapping - 1) % len(own)
    if item.task == Keypress.name:
        names = list(content["keys"].values())
        moved = dict(zip(own, [*names[shift:], *names[:shift]], strict=True))
        return item.model_copy(update={"content": {**content, "keys": moved}})
    # Key i gives response i + shift, so response i has key i - shift.
    return item.model_copy(
        update={"content": {**content, "option_keys": [*own[len(own) - shift :], *own[: len(own) - shift]]}}
    )


def under_all_mappings(items: Sequence[Item], keys: ResponseKeys) -> list[Item]:
    """Return items under each mapping (`with_response_keys`), one mapping after another."""
    return [with_response_keys(item, keys, mapping) for mapping in range(1, keys.mappings + 1) for item in items]


def check_response_keys(keys: ResponseKeys, items: Iterable[Item]) -> None:
    """Raise an InputError if an item has more options than keys, or if the mappings do not balance the item's keys."""
    has_mapped = False
    for item in items:
        if _has_option_keys(item, keys) and len(item.content["options"]) > len(keys.options):  # type: ignore[arg-type]
            raise InputError(
                f"`response_keys.options` has {len(keys.options)} keys, but the item `{item.item_id}` has "
                f"{len(item.content['options'])} options. Fix: add keys, or delete `options`."  # type: ignore[arg-type]
            )
        n_keys = len(_keys_of(item, keys))
        has_mapped = has_mapped or n_keys > 1
        if keys.mappings > 1 and n_keys and keys.mappings % n_keys:
            raise InputError(
                f"`response_keys.mappings` is {keys.mappings}, but the item `{item.item_id}` has {n_keys} keys, so "
                f"its responses would not have each key equally often. Fix: write a multiple of {n_keys}."
            )
    if keys.mappings > 1 and not has_mapped:
        raise InputError(
            "`response_keys.mappings` has no effect, because no item has several response keys. Fix: delete "
            "`mappings`, or write the keys of options under `options`."
        )


def _keys_of(item: Item, keys: ResponseKeys) -> list[str]:
    """Return the keys that the setting gives to an item, in the order of its responses; none for other items."""
    content: dict[str, Any] = item.content
    if item.task == Keypress.name:
        return list(content["keys"])
    return list(keys.options[: len(content["options"])]) if _has_option_keys(item, keys) else []


def _has_option_keys(item: Item, keys: ResponseKeys) -> bool:
    return bool(keys.options) and item.task == MultipleChoice.name and not item.content.get("several")
