"""Check of the prose. It refuses unclear words, unclear first words of docstrings, and errors without a fix.

Run the check with `.venv/bin/python tests/check_prose.py` or `make check`. The check skips code, identifiers and text
in backticks. If a string is stored data, the comment `# prose: stored` on the last line of the string allows any words.
In files with tests, the names of tests, docstrings and comments are checked. Strings are not checked in these files,
because strings are input or expected output.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).parent.parent

UNCLEAR = {
    r"whoever|whomever": "the actor: participant, researcher or client",
    r"somebody|someone": "the actor: participant, researcher or client",
    r"mend(?:s|ed|ing)?": "fix, correct or resolve",
    r"told|tell(?:s|ing)? of": "say, report or name",
    r"stands?|stood": "is",
    r"go(?:es|ing)? on|went on|gone on": "continue or resume",
    r"hand(?:s|ed|ing)? (?:\w+ ){0,2}on": "upload or pass",
    r"see(?:s|ing)? to": "do",
    r"(?<!there )(?<!There )(?:is|are|was|were) no (?!(?:longer|more|less)\b)\w+": "is not a",
    r"an? (?:row|line|item|cell|file|page|point) an?": "one ... per ...",
    r"beforehand|thereby|as against|what was before|of before": "first, by this, instead of, earlier",
    r"by hand": "manually, or by the researcher",
}
"""Words that readers had to read twice, and what to write instead."""

_UNCLEAR = {re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE): advice for words, advice in UNCLEAR.items()}
_ANY_UNCLEAR = re.compile(rf"\b(?:{'|'.join(UNCLEAR)})\b", re.IGNORECASE)
"""One search finds the few files with an unclear word. Tokens of all files would take most of the time."""
_FIRST_WORD = re.compile(r"(?:What|Whether|How|Why|Where|Who|Which|Of which|Whose)\b(?!.*\?)")
_NOT_PROSE = re.compile(r"`[^`]*`|“[^”]*”|https?://\S+")
_STORED = "# prose: stored"
_ERRORS = {"InputError", "ClickException", "UsageError", "BadParameter", "Conflict"}
"""Errors whose messages people read."""


def problems_in(words: str) -> Iterator[str]:
    """Yield a sentence for each unclear word of a text."""
    words = _NOT_PROSE.sub("", words)
    for pattern, advice in _UNCLEAR.items():
        for found in pattern.finditer(words):
            yield f"“{found[0].strip()}” is unclear. Fix: write {advice}."


def check_python(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and a sentence for each problem in the comments, docstrings and messages of a Python file."""
    lines = text.splitlines()
    for token in _tokens(text):
        is_message = token.type == tokenize.STRING and " " in token.string
        if (is_message or token.type == tokenize.COMMENT) and _STORED not in lines[token.end[0] - 1]:
            yield from ((token.start[0], problem) for problem in problems_in(token.string))
    for node in _statements(ast.parse(text)):
        if _is_docstring(node):
            yield from _problems_of_first_word(node)
        if isinstance(node, ast.Raise) and _is_error_without_fix(node.exc):
            yield node.lineno, "the error has no fix. Fix: end the message with `Fix:` and one action."


def check_test(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and a sentence for each problem in comments, docstrings and test names of a file with tests."""
    for token in _tokens(text):
        if token.type == tokenize.COMMENT:
            yield from ((token.start[0], problem) for problem in problems_in(token.string))
    for node in _statements(ast.parse(text)):
        if _is_docstring(node):
            yield from ((node.lineno, problem) for problem in problems_in(_words_of(node)))
            yield from _problems_of_first_word(node)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
            yield from ((node.lineno, problem) for problem in problems_in(node.name.replace("_", " ")))


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """Yield the tokens of a Python file with an unclear word. Other files have no problem in a token."""
    if _ANY_UNCLEAR.search(text):
        yield from tokenize.generate_tokens(io.StringIO(text).readline)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements of a node. Expressions contain no statements, and visiting them takes most of the time."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
            yield child
            yield from _statements(child)


def _is_docstring(node: ast.AST) -> TypeGuard[ast.Expr]:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _problems_of_first_word(docstring: ast.Expr) -> Iterator[tuple[int, str]]:
    first = _FIRST_WORD.match(_words_of(docstring))
    if first:
        yield docstring.lineno, f"the docstring starts with “{first[0]}”. Fix: start with a verb or a noun."


def _words_of(docstring: ast.Expr) -> str:
    return str(docstring.value.value) if isinstance(docstring.value, ast.Constant) else ""


def _is_error_without_fix(raised: ast.expr | None) -> bool:
    """Return True if an error has a literal message without `Fix:`. Skip a `Conflict` that is not a whole sentence."""
    if not isinstance(raised, ast.Call):
        return False
    name = raised.func.id if isinstance(raised.func, ast.Name) else getattr(raised.func, "attr", "")
    if name not in _ERRORS:
        return False
    message = raised.args[0] if raised.args else None
    if isinstance(message, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in message.values]
        written = "".join(map(str, parts))
    elif isinstance(message, ast.Constant):
        written = str(message.value)
    else:
        return False
    if name == "Conflict" and not written.rstrip().endswith("."):
        return False
    return not re.search(r"Fix: |\{\}\.?\s*$", written)


def check_text(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and a sentence for each problem of a document, outside its code blocks."""
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code:
            yield from ((number, problem) for problem in problems_in(line))


def check_file(path: Path) -> list[str]:
    """Return a sentence for each problem of a file, with the line of the problem."""
    name = path.relative_to(ROOT).as_posix()
    check_code = check_test if name.startswith("tests/") else check_python
    check = check_code if path.suffix == ".py" else check_text
    return [f"{name}, line {number}: {problem}" for number, problem in check(path.read_text(encoding="utf-8"))]


def checked_files() -> list[Path]:
    """Return the files with prose: code, tests, documents, pages, and the participants' texts in English."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [
        ROOT / name
        for name in listed
        if (name.endswith((".py", ".md", ".ts", ".html")) or name.endswith("texts/en.json"))
        and not name.startswith("batteries/intuition/")
        and (name.endswith(".py") or not name.startswith("tests/"))
        and (ROOT / name).exists()
    ]


def main() -> int:
    """Print every problem; return 1 if there are any."""
    problems = [problem for path in checked_files() for problem in check_file(path)]
    print("\n".join(problems) or "The prose is plain.")  # noqa: T201
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
