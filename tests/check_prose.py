"""The check of our prose: refuses unclear words, unclear first words of docstrings, and errors without a fix.

Run it with `.venv/bin/python tests/check_prose.py`; `make check` does. Code, text in backticks and identifiers are not
checked. A string that is stored data keeps its words with the comment `# prose: stored`.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent

UNCLEAR = {
    r"whoever|whomever": "name the actor: participant, researcher, client",
    r"somebody|someone": "name the actor: participant, researcher, client",
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
_FIRST_WORD = re.compile(r"(?:What|Whether|How|Why|Where|Who|Which|Of which|Whose)\b(?!.*\?)")
_NOT_PROSE = re.compile(r"`[^`]*`|“[^”]*”|https?://\S+")
_STORED = "# prose: stored"


def problems_in(words: str) -> Iterator[str]:
    """Yield a sentence for each unclear word of a text."""
    words = _NOT_PROSE.sub("", words)
    for pattern, advice in _UNCLEAR.items():
        for found in pattern.finditer(words):
            yield f"“{found[0].strip()}” is unclear. Fix: write {advice}."


def check_python(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and sentence for each problem of a Python file's comments, docstrings and messages."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_message = token.type == tokenize.STRING and " " in token.string
        if (is_message or token.type == tokenize.COMMENT) and _STORED not in lines[token.end[0] - 1]:
            yield from ((token.start[0], problem) for problem in problems_in(token.string))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            first = _FIRST_WORD.match(node.value.value)
            if first:
                yield node.lineno, f"the docstring starts with “{first[0]}”. Fix: start with a verb or a noun."
        if isinstance(node, ast.Raise) and _is_error_without_fix(node.exc):
            yield node.lineno, "the error says no fix. Fix: end it with `Fix:` and one action."


def _is_error_without_fix(raised: ast.expr | None) -> bool:
    """Return True for an InputError with a literal message of a whole sentence that lacks `Fix:`."""
    if not (isinstance(raised, ast.Call) and isinstance(raised.func, ast.Name) and raised.func.id == "InputError"):
        return False
    message = raised.args[0] if raised.args else None
    if isinstance(message, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in message.values]
        written = "".join(map(str, parts))
    elif isinstance(message, ast.Constant):
        written = str(message.value)
    else:
        return False
    return not re.search(r"Fix: |\{\}\.?\s*$", written)


def check_text(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and sentence for each problem of a document, outside its code blocks."""
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code:
            yield from ((number, problem) for problem in problems_in(line))


def check_file(path: Path) -> list[str]:
    """Return a sentence for each problem of a file, with its line."""
    check = check_python if path.suffix == ".py" else check_text
    found = check(path.read_text(encoding="utf-8"))
    return [f"{path.relative_to(ROOT)}, line {number}: {problem}" for number, problem in found]


def checked_files() -> list[Path]:
    """Return the files with prose: every room, the documents, the pages and the participants' texts in English."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [
        ROOT / name
        for name in listed
        if (name.endswith((".py", ".md", ".ts", ".html")) or name.endswith("texts/en.json"))
        and not name.startswith(("tests/", "batteries/intuition/"))
        and (ROOT / name).exists()
    ]


def main() -> int:
    """Print every problem; return 1 if there are any."""
    problems = [problem for path in checked_files() for problem in check_file(path)]
    print("\n".join(problems) or "The prose is plain.")  # noqa: T201
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
