"""Reading of YAML 1.2 with the library ruamel, with limits on size, nesting and the expansion of aliases (`*name`).

The value of an alias can contain other aliases. So a file of a few hundred bytes can expand to gigabytes ("billion
laughs"). While the text is read, the size that it would have after the expansion is counted. If this size is too large,
the file is refused before any alias is expanded.
"""

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, MaxDepthExceededError
from ruamel.yaml.constructor import RoundTripConstructor
from ruamel.yaml.error import StringMark
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.nodes import MappingNode, ScalarNode

LONGEST_TEXT = 20_000_000
"""Maximum number of characters in a YAML file. The largest published batteries have a few million characters."""
DEEPEST = 50
"""Maximum number of levels of nested lists and mappings. Equipoise's files need fewer than ten levels."""
MOST_EXPANDED = 1_000_000
"""Maximum number of values and characters that come from the aliases of a file."""

LARGEST_NUMBER_BITS = 1024
"""Maximum number of bits of a whole number. Python cannot convert a larger number to a float."""


class UnreadableYAMLError(Exception):
    """The YAML text is too large or contains an invalid value. The message names the problem and a fix."""

    def __init__(self, line: int, sentence: str) -> None:
        super().__init__(sentence)
        self.line = line
        """Line of the problem, from 1."""


def load_yaml(text: str) -> Any:
    """Return the content of a YAML text as objects of the library ruamel. These objects store line numbers.

    Raises
    ------
    UnreadableYAMLError
        If the text is too long, is nested too deeply, has aliases that expand too far, or has an invalid value.
    ruamel.yaml.error.YAMLError
        If the text is not YAML.
    """
    if len(text) > LONGEST_TEXT:
        raise UnreadableYAMLError(
            1, f"the file has more than {LONGEST_TEXT:,} characters. Fix: save a large battery as JSON Lines."
        )
    yaml = YAML(typ="rt")
    yaml.max_depth = DEEPEST
    yaml.Composer = _CountingComposer
    yaml.Constructor = _Constructor
    try:
        return yaml.load(text)
    except MaxDepthExceededError as error:
        raise UnreadableYAMLError(
            _line(error.problem_mark),
            f"the file has more than {DEEPEST} levels of nesting. Fix: nest lists and fields less deeply.",
        ) from None


def _line(mark: StringMark | None) -> int:
    return mark.line + 1 if mark else 1


class _CountingComposer(Composer):
    """A YAML composer that counts the expanded size of aliases."""

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader=loader)
        self._size = 0
        """Number of values and characters that were read so far. An alias is counted with its expanded size."""
        self._expanded = 0
        """Number of values and characters that come from aliases."""
        self._sizes: dict[str, int] = {}
        """Expanded size of the value of each anchor (`&name`) that has been read completely."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.parser.peek_event()
        if isinstance(event, AliasEvent):
            self._count_alias(event)
            node = super().compose_node(parent, index)
        else:
            before = self._size
            self._size += 1 + len(getattr(event, "value", ""))
            self._sizes.pop(event.anchor, None)  # An anchor that is defined again names the new value.
            node = super().compose_node(parent, index)
            if event.anchor is not None:
                self._sizes[event.anchor] = self._size - before
        if isinstance(parent, MappingNode) and index is None and not isinstance(node, ScalarNode):
            raise UnreadableYAMLError(
                _line(event.start_mark),
                "a list or a group of fields is used as the name of a field. Fix: put the name in quotes.",
            )
        return node

    def _count_alias(self, event: AliasEvent) -> None:
        if event.anchor not in self.anchors:
            return  # ruamel reports this error itself.
        line = _line(event.start_mark)
        if event.anchor not in self._sizes:
            raise UnreadableYAMLError(
                line,
                f"the value with the name `&{event.anchor}` contains a reference to itself (`*{event.anchor}`). Fix: "
                "replace this reference with a value.",
            )
        self._size += self._sizes[event.anchor]
        self._expanded += self._sizes[event.anchor]
        if self._expanded > MOST_EXPANDED:
            raise UnreadableYAMLError(
                line,
                f"the references in this file (such as `*{event.anchor}`) repeat more than {MOST_EXPANDED:,} values "
                "and characters. Fix: write values in full instead of such references.",
            )


class _Constructor(RoundTripConstructor):
    """A YAML constructor that reports the line of an invalid value, such as a date that does not exist."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep=deep)
            if isinstance(value, int) and value.bit_length() > LARGEST_NUMBER_BITS:
                raise ValueError("the number has too many digits")
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
            raise UnreadableYAMLError(
                _line(node.start_mark),
                f"the value cannot be read ({error}). Fix: correct the value, or put quotes around a text.",
            ) from None
        return value
