"""Lists within a reply: the options restated with comments, and numbered steps."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from batteries.tasks.replies.kinds import Kind
from batteries.tasks.replies.options import Options
from batteries.tasks.replies.tokens import Token, tokens_of

_ITEM = re.compile(
    r"(?P<mark>[^\w\s(\[]{0,5}\s?)?(?:(?:option|choice|answer|opci\u00f3n|antwort|variante|step)\s{1,3})?[(\[]?"
    r"(?P<number>\d{1,2}|[A-La-l](?=[).:\]]))(?P<sign>[)\].:\u3001-]{1,3}|(?=\s))\s{0,3}(?P<rest>\S.*)",
    re.IGNORECASE,
)
_GOOD = re.compile("[\u2705\u2714\u2713\u2611\u2b50\U0001f448\u2190]|<[-=]{1,3}")
_ONLY_MARK = re.compile("(?:\u2705|\u2714|\u2713|\u2611|\u274c|\u2716|\u2717|\u2718|\u2610|[xX]|\\s){1,5}")
_FIRST_MARK = re.compile("[\u2705\u2714\u2713\u2611\u274c\u2716\u2717\u2718\u2610]\\s*")
_LEAST_STEPS = 2
_LEAST_OPTIONS = 3


@dataclass(frozen=True)
class _Line:
    index: int
    number: int
    is_signed: bool
    text: str
    has_mark: bool


def without_lists(text: str, options: Options | None, placed: Callable[[int], str]) -> str:
    """Return a text without restated options and without the numbers of steps.

    Parameters
    ----------
    text : str
        A prepared reply.
    options : Options or None
        The options of the item, if it has any.
    placed : callable
        Function that is called for each list in which only one option is marked as the answer. It gets the number of
        this option, and returns the text that replaces the list.
    """
    lines = text.split("\n")
    runs = _runs(lines)
    if options is not None:
        runs += _marked_texts(lines, options)
    for run in runs:
        if options is not None and _restates(run, options):
            marked = [line.number for line in run if _is_marked(line, options)]
            for line in run:
                lines[line.index] = ""
            if len(marked) == 1:
                lines[run[-1].index] = placed(marked[0])
        elif len(run) >= _LEAST_STEPS and all(line.is_signed for line in run):
            for line in run:
                lines[line.index] = line.text
    return "\n".join(lines)


def _runs(lines: Sequence[str]) -> list[list[_Line]]:
    """Return each run: lines that are numbered 1, 2, 3, and so on. Lines without a number may be between them."""
    runs: list[list[_Line]] = []
    for index, line in enumerate(lines):
        found = _ITEM.match(line.strip()[:1000])
        if found is None:
            continue
        value = found["number"]
        number = int(value) if value.isdigit() else "abcdefghijkl".index(value.lower()) + 1
        marked = bool(_GOOD.search(found["mark"] or "") or _GOOD.search(found["rest"]))
        item = _Line(index, number, bool(found["sign"]), found["rest"], marked)
        if number == 1:
            runs.append([item])
        elif runs and runs[-1][-1].number == number - 1:
            runs[-1].append(item)
    return [run for run in runs if len(run) > 1]


def _marked_texts(lines: Sequence[str], options: Options) -> list[list[_Line]]:
    """Return a list with one run: the lines that consist of a mark and the text of an option.

    Return an empty list unless each option has exactly one of these lines.
    """
    run: list[_Line] = []
    for index, line in enumerate(lines):
        mark = _FIRST_MARK.match(line)
        if mark is not None:
            text = line[mark.end() :]
            numbers = [number for number, words in enumerate(options.words, start=1) if _keys(text) == list(words)]
            run.extend(_Line(index, number, True, text, bool(_GOOD.search(mark[0]))) for number in numbers)
    return [run] if sorted(item.number for item in run) == list(range(1, len(options.texts) + 1)) else []


def _keys(text: str) -> list[str]:
    return [token.key for token in tokens_of(text) if token.is_wordlike]


def _restates(run: Sequence[_Line], options: Options) -> bool:
    """Return True if the lines of a run repeat the options.

    Most of the lines must begin with the text of their option, or with words that contain a distinctive word of this
    text. A run also repeats the options if it has one line for each option, and every line has a mark.
    """
    n_options = len(options.texts)
    if len(run) > n_options or len(run) < min(n_options, _LEAST_OPTIONS):
        return False
    has_marks = all(_FIRST_MARK.match(line.text) or _ONLY_MARK.fullmatch(line.text) for line in run)
    return (has_marks and len(run) == n_options) or sum(_repeats(line, options) for line in run) > len(run) / 2


def _repeats(line: _Line, options: Options) -> bool:
    words = options.words[line.number - 1]
    keys = _keys(line.text)
    return tuple(keys[: len(words)]) == words or bool(
        options.distinctive()[line.number - 1] & set(keys[: len(words) + 1])
    )


def _is_marked(line: _Line, options: Options) -> bool:
    """Return True if a sign or the comment after the option calls it right."""
    if line.has_mark:
        return True
    comment = options.lexicon.named(tokens_of(line.text))
    comment = _after_words(comment, options.words[line.number - 1])
    kinds = {token.kind for token in comment}
    says_right = any(token.kind in {Kind.RIGHT, Kind.ANSWER} or token.key in {"yes", "this"} for token in comment)
    return says_right and not kinds & {Kind.NOT, Kind.WRONG, Kind.MAY, Kind.BUT, Kind.IF}


def _after_words(tokens: Sequence[Token], words: Sequence[str]) -> list[Token]:
    n_words = 0
    for position, token in enumerate(tokens):
        if n_words == len(words):
            return list(tokens[position:])
        n_words += token.is_wordlike
    return []
