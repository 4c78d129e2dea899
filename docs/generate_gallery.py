"""Write the tables of the gallery: run the commands of the page, and compare their results with printed numbers.

Run `.venv/bin/python docs/generate_gallery.py` with EQUIPOISE_TEST_DATA (see CONTRIBUTING.md) after a change of the
page, of a plan beside the page, or of an analysis. A test fails until the page agrees with the code.

A comment `compare` on the page is followed by a table with the printed numbers of a file in docs/gallery/printed beside
the numbers of a results file. A comment `show` is followed by rows of a results file that no paper has printed.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from equipoise.cli.main import main as command_line

HERE = Path(__file__).parent / "gallery"
PAGE = HERE / "published-tables.md"
DATA = ("blackbox/play_games.csv", "blackbox/predict/augmented_no_thinking.json", "ir/human_answers.csv")
"""The files of the published data that the commands use."""

WORDS = {
    "atoms_correct_mean": "atoms correct", "atoms_correct_se": "SE", "score_mean": "score", "perfect_mean": "perfect",
    "correct_mean": "accuracy", "correct_ci_low": "CI from", "correct_ci_high": "to", "estimate": "coefficient",
    "std_error": "SE", "ci_low": "CI from", "ci_high": "to", "p_value": "p", "effect": "V",
}  # fmt: skip
"""Words for the columns of results. A comment on the page can give others, as `words`."""

_BLOCK = re.compile(
    r"```console\n(?P<commands>.*?)```\n(?:\n```text\n(?P<output>.*?)```\n)?"
    r"|```python\n(?P<python>.*?)```\n"
    r"|<!-- (?P<kind>compare|show): (?P<what>\{.*?\}) -->\n.*?<!-- end -->\n",
    re.DOTALL,
)


def with_tables(page: str, data: Path) -> str:
    """Return the page with the output of its commands and with its tables.

    Parameters
    ----------
    page : str
        The text of the page.
    data : Path
        The folder with the published data.
    """
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for file in (*(data / name for name in DATA), *HERE.glob("*.yaml"), *HERE.glob("printed/*.csv")):
            shutil.copy(file, folder)
        return _BLOCK.sub(_filled, page)


def _filled(block: re.Match[str]) -> str:
    """Run a block of commands or Python, or write the table below a comment."""
    if block["commands"]:
        output = "".join(_run(line.removeprefix("$ ")) for line in block["commands"].splitlines())
        if block["output"] is None:
            return block[0]
        return f"```console\n{block['commands']}```\n\n```text\n{output}```\n"
    if block["python"]:
        exec(block["python"], {})  # noqa: S102 - the code is on our own page
        return block[0]
    table = _compared(**yaml.safe_load(block["what"])) if block["kind"] == "compare" else _shown(
        **yaml.safe_load(block["what"])
    )  # fmt: skip
    return f"<!-- {block['kind']}: {block['what']} -->\n\n{table}\n<!-- end -->\n"


def _run(command: str) -> str:
    """Run a command and return its output. An audit that finds an impossible number exits with code 1."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            command_line.main(shlex.split(command)[1:], standalone_mode=False)
        except SystemExit as ended:
            if ended.code not in (0, 1):
                raise
    return printed.getvalue()


def _compared(
    printed: str,
    results: str,
    by: list[str],
    label: str | None = None,
    where: dict[str, str] | None = None,
    words: dict[str, str] | None = None,
) -> str:
    """Return a table with printed numbers beside those of a results file, whose columns have the same names."""
    lines = ["| row | printed | Equipoise | verdict |", "|---|---|---|---|"]
    rows = pd.read_csv(printed, dtype=str)
    found = _rows(results, where).astype(dict.fromkeys(by, str)).set_index(by)
    names = WORDS | (words or {})
    n_same = 0
    for row in rows.to_dict("records"):
        ours = found.loc[tuple(row[name] for name in by) if len(by) > 1 else row[by[0]]]
        texts = {name: text for name, text in row.items() if name not in (*by, label)}
        computed = {name: _as_printed(float(ours[name]), text) for name, text in texts.items()}
        is_same = computed == texts
        n_same += is_same
        name = row[label] if label else ", ".join(_level(key, row[key]) for key in by)
        verdict = "as printed" if is_same else "differs"
        lines.append(f"| {name} | {_listed(texts, names)} | {_listed(computed, names)} | {verdict} |")
    return "\n".join([*lines, "", f"{n_same} of {len(rows)} rows are as printed.", ""])


def _shown(results: str, columns: dict[str, str], where: dict[str, str] | None = None) -> str:
    lines = [f"| {' | '.join(columns.values())} |", "|---" * len(columns) + "|"]
    for row in _rows(results, where)[list(columns)].to_dict("records"):
        cells = [_readable(value) for value in row.values()]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _rows(results: str, where: dict[str, str] | None) -> pd.DataFrame:
    table = pd.read_csv(results)
    for name, level in (where or {}).items():
        table = table[table[name] == level]
    return table


def _as_printed(value: float, text: str) -> str:
    """Return a number with the digits of the printed text, or the text if the number can be rounded to it."""
    if text.startswith("<"):
        return text if value < float(text[1:]) else f"{value:.3g}"
    number, percent = text.rstrip("%"), text.endswith("%")
    value = 100 * value if percent else value
    mantissa, _, exponent = number.partition("e")
    decimals = len(mantissa.partition(".")[2])
    half = 0.5 * 10.0 ** ((int(exponent) if exponent else 0) - decimals)
    # A number in the middle between two printed numbers, such as 0.925, may be rounded up or down.
    if abs(value - float(number)) <= half * (1 + 1e-9):
        return text
    return f"{value:.{decimals}{'e' if exponent else 'f'}}{'%' if percent else ''}"


def _level(factor: str, level: str) -> str:
    """Return a level in words: "thinking", "no thinking", or the level itself."""
    return {"True": factor, "False": f"no {factor}"}.get(level, level)


def _listed(values: dict[str, str], words: dict[str, str]) -> str:
    return ", ".join(f"{words.get(name, name)} {value}" for name, value in values.items())


def _readable(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else f"{value:.4f}" if abs(value) >= 0.0001 else f"{value:.1e}"
    return str(value)


if __name__ == "__main__":
    given = os.environ.get("EQUIPOISE_TEST_DATA")
    if given is None:
        sys.exit("EQUIPOISE_TEST_DATA is not set. Fix: set it to the folder with the published data.")
    page = with_tables(PAGE.read_text(encoding="utf-8"), Path(given).resolve())
    PAGE.write_text(page, encoding="utf-8", newline="\n")
