"""A typed text with a text cursor, and the effect of each key on the text."""

import unicodedata
from dataclasses import dataclass

from batteries.tasks.question import n_characters

_RIGHT_TO_LEFT = frozenset({"R", "AL"})


@dataclass(frozen=True)
class TypedText:
    """A typed text."""

    text: str = ""
    cursor: int = 0
    """Index of the character after the text cursor."""

    def after(self, press: str, most_characters: int, has_lines: bool = False) -> "TypedText":
        """Return the text after a press. A press without a meaning changes nothing.

        Parameters
        ----------
        press
            A typed character, or PsychoPy's name of an editing key, such as `backspace` or `left`.
        most_characters
            Largest length of the text, in UTF-16 code units, as in a browser.
        has_lines
            True if the key Enter begins a new line.
        """
        before, behind = self.text[: self.cursor], self.text[self.cursor :]
        match press:
            case "backspace":
                return TypedText(before[:-1] + behind, max(0, self.cursor - 1))
            case "delete":
                return TypedText(before + behind[1:], self.cursor)
            case "left" | "right":
                forward = (press == "right") != self._is_right_to_left()
                return self._with_cursor(self.cursor + (1 if forward else -1))
            case "home":
                return self._with_cursor(before.rfind("\n") + 1)
            case "end":
                return self._with_cursor(self.cursor + len(behind.partition("\n")[0]))
            case "up" | "down":
                return self._in_next_line(upwards=press == "up")
            case "return" | "num_enter":
                typed = "\n" if has_lines else ""
            case _:
                is_text = press.isprintable() and (len(press) == 1 or not press.isascii())
                typed = press if is_text else ""
        if not typed or n_characters(self.text + typed) > most_characters:
            return self
        return TypedText(before + typed + behind, self.cursor + len(typed))

    def _with_cursor(self, cursor: int) -> "TypedText":
        return TypedText(self.text, min(max(cursor, 0), len(self.text)))

    def _in_next_line(self, upwards: bool) -> "TypedText":
        """Move the cursor to the line above or below, between line feeds. Keep the distance to the line's start."""
        starts = [0, *(index + 1 for index, character in enumerate(self.text) if character == "\n")]
        number = sum(start <= self.cursor for start in starts) - 1
        if upwards and number == 0:
            return self._with_cursor(0)
        if not upwards and number == len(starts) - 1:
            return self._with_cursor(len(self.text))
        start = starts[number - 1 if upwards else number + 1]
        end = (*starts, len(self.text) + 1)[number + (0 if upwards else 2)] - 1
        return self._with_cursor(min(start + self.cursor - starts[number], end))

    def _is_right_to_left(self) -> bool:
        """Return True if the first letter belongs to a script that is read from right to left."""
        kinds = map(unicodedata.bidirectional, self.text)
        return next((kind in _RIGHT_TO_LEFT for kind in kinds if kind in {"L", *_RIGHT_TO_LEFT}), False)


NO_TEXT = TypedText()
