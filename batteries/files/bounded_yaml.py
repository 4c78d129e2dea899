"""YAML 1.2 texts as ruamel's round-trip nodes, with limits on size, nesting and the expansion of aliases (`*name`).

A few hundred bytes of aliases to aliases expand to gigabytes ("billion laughs"). The expanded size is counted while
the text is read, so that such a file is refused before any alias is expanded.
"""

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, MaxDepthExceededError
from ruamel.yaml.constructor import RoundTripConstructor
from ruamel.yaml.error import StringMark
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.nodes import MappingNode, ScalarNode

LONGEST_TEXT = 20_000_000
"""Most characters in a YAML file. The largest published batteries have some megabytes. JSON Lines has no limit."""
DEEPEST = 50
"""Most levels of nested lists and mappings. Equipoise's files need fewer than ten; Python's stack allows hundreds."""
MOST_EXPANDED = 1_000_000
"""Most values and characters to which all aliases of a file together may expand."""

LARGEST_NUMBER_BITS = 1024
"""Most bits of a whole number, as in the largest float. Python refuses to print numbers with thousands of digits."""


class UnreadableYAMLError(Exception):
    """The text is too large or contains an invalid value. The message names the problem and a fix."""

    def __init__(self, line: int, sentence: str) -> None:
        super().__init__(sentence)
        self.line = line
        """Line of the problem, from 1."""


def load_yaml(text: str) -> Any:
    """Return the content of a YAML text, as ruamel's types, which store their line numbers.

    Raises
    ------
    UnreadableYAMLError
        If the text is too long or nested too deeply, its aliases expand to too much, or it holds an invalid value.
    ruamel.yaml.error.YAMLError
        If the text is not YAML.
    """
    if len(text) > LONGEST_TEXT:
        raise UnreadableYAMLError(
            1, f"the file has more than {LONGEST_TEXT // 1_000_000} MB. Fix: save a large battery as JSON Lines."
        )
    yaml = YAML(typ="rt")
    yaml.max_depth = DEEPEST
    yaml.Composer = _CountingComposer
    yaml.Constructor = _Constructor
    try:
        return yaml.load(text)
    except MaxDepthExceededError as error:
        raise UnreadableYAMLError(
            _line(error.problem_mark), f"more than {DEEPEST} levels of nesting. Fix: nest lists and fields less deeply."
        ) from None


def _line(mark: StringMark | None) -> int:
    return mark.line + 1 if mark else 1


class _CountingComposer(Composer):
    """A composer that counts the expanded size of aliases."""

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader=loader)
        self._size = 0
        """Values and characters so far, with aliases expanded."""
        self._expanded = 0
        """Values and characters of aliases alone."""
        self._sizes: dict[str, int] = {}
        """Size of the value of each anchor, once it is complete."""

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
                _line(event.start_mark), "a list or mapping is used as a name. Fix: put the name in quotes."
            )
        return node

    def _count_alias(self, event: AliasEvent) -> None:
        if event.anchor not in self.anchors:
            return  # ruamel reports this error itself.
        line = _line(event.start_mark)
        if event.anchor not in self._sizes:
            raise UnreadableYAMLError(
                line,
                f"the alias `*{event.anchor}` is inside the value that it names. Fix: write the "
                "value instead of the alias.",
            )
        self._size += self._sizes[event.anchor]
        self._expanded += self._sizes[event.anchor]
        if self._expanded > MOST_EXPANDED:
            raise UnreadableYAMLError(
                line,
                f"the aliases up to `*{event.anchor}` expand to more than {MOST_EXPANDED:,} values and characters. "
                "Fix: use fewer aliases of aliases.",
            )


class _Constructor(RoundTripConstructor):
    """A constructor that reports the line of an invalid value, such as a date that does not exist."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep=deep)
            if isinstance(value, int) and value.bit_length() > LARGEST_NUMBER_BITS:
                raise ValueError("the number has too many digits")
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
            raise UnreadableYAMLError(
                _line(node.start_mark),
                f"the value cannot be read ({error}). Fix: correct the value, or put a text in quotes.",
            ) from None
        return value
