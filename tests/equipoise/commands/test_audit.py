"""`equipoise audit` reads a printed table, and returns findings and an exit code."""

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from analysis.audit.headers_and_cells import ROLES
from analysis.audit.table import VERDICTS
from equipoise.cli.main import main
from equipoise.commands.audit import finding_lines, read_printed
from tests.paths import ROOT

PAGE = ROOT / "docs" / "how-to" / "audit-published-numbers.md"
EXAMPLE = re.compile(r"```csv\n(.*?)```\n\n```console\n\$ equipoise (.*?)\n```\n\n```text\n(.*?)```", re.DOTALL)
TOTALS = "group,n,women\na,20,11\nb,22,9\nTotal,42,20\n"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["audit", *map(str, arguments)])


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a table and returns its path."""

    def write(text, encoding="utf-8"):
        path = tmp_path / "table.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return write


def test_a_consistent_table_ends_with_exit_code_0(written):
    result = run(written(TOTALS))
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "row    check         verdict     finding",
        "Total  sum of n      consistent  the 2 rows add up to 42.",
        "Total  sum of women  consistent  the 2 rows add up to 20.",
        "",
        "2 findings: 2 consistent.",
    ]


def test_an_inconsistent_table_ends_with_exit_code_1_and_the_finding_first(written):
    result = run(written(TOTALS.replace("20\n", "21\n")))
    assert result.exit_code == 1
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[1].split("  ", maxsplit=2)[1:] == [
        "sum of women",
        "inconsistent  the 2 rows add up to 20, but 21 is printed, which is 1 too many.",
    ]
    assert lines[-1] == "2 findings: 1 inconsistent, 1 consistent."


def test_cells_that_cannot_be_checked_do_not_change_the_exit_code(written):
    result = run(written("group,n,M\na,20,5.15\nb,22,5.20\nTotal,42,5.18\n"))
    assert result.exit_code == 0
    assert "1 not checkable" in result.stdout


def test_all_findings_are_written_with_printed_and_expected_values(written, tmp_path):
    output = tmp_path / "findings.csv"
    result = run(written(TOTALS.replace("20\n", "21\n")), "-o", output)
    findings = pd.read_csv(output, dtype=str)
    assert list(findings.columns) == ["row", "check", "printed", "expected", "verdict", "explanation"]
    assert findings[["printed", "expected", "verdict"]].to_numpy().tolist() == [
        ["21", "20", "inconsistent"],
        ["42", "42", "consistent"],
    ]
    assert len(result.stdout.splitlines()) == len(findings) + 3


def test_every_option_reaches_the_audit(written):
    table = written("who,people,answers,M\na,9,217,5.19\nb,9,200,5.11\nevery,18,417,5.15\n")
    columns = ("--column", "participants=people", "--column", "trials=answers")
    result = run(table, *columns, "--trials", 24, "--participants", 17, "--total", "every", "--scale", 1, 7)
    assert result.exit_code == 1
    for sentence in (
        "9 participants with 24 trials each have at most 216 trials, but 217 are printed.",
        "18 participants, but the study recruited only 17.",
        "the 2 rows add up to 417.",
        "no mean of 9 whole numbers rounds to 5.19; the nearest possible means are 5.11 and 5.22.",
    ):
        assert sentence in result.stdout
    assert "no mean of 9 x 3 whole numbers" not in run(table, *columns, "--items", 3).stdout
    assert "no mean of 9 whole numbers rounds to 5.19" in run(table, *columns, "--whole-numbers").stdout


@pytest.mark.parametrize("separator", [";", "\t"])
def test_semicolons_and_tabs_separate_cells_too(written, separator):
    assert run(written(TOTALS.replace(",", separator))).exit_code == 0


def test_a_byte_order_mark_windows_line_ends_and_empty_lines_are_accepted(written):
    assert run(written("\ufeff" + TOTALS.replace("\n", "\r\n\r\n"))).exit_code == 0


def test_cells_keep_the_decimals_that_were_printed(written):
    assert read_printed(written("a,b\n0.50,007\n")).to_numpy().tolist() == [["0.50", "007"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("group,n\n", "the table has no rows under its header"),
        ("group,n\na,20\nb,22,3\n", "line 3: this row has 3 cells, but the header has 2"),
        ("group,n\na\n", "line 2: this row has 1 cell, but the header has 2"),
        ('group,n\n"a"b,20\n', "line 2: this is not CSV"),
        ('group,n\n"a,20\n', "this is not CSV"),
        ("group,n,n\na,20,1\n", "duplicate column `n`"),
        ("group,words\na,long\n", "nothing in this table can be checked"),
    ],
)
def test_a_file_without_a_readable_table_is_refused(written, text, message):
    result = run(written(text))
    assert result.exit_code == 2
    assert message in result.stderr
    assert "table.csv" in result.stderr
    assert result.stdout == ""


def test_a_file_that_is_not_utf_8_is_refused(written):
    result = run(written("group,n\nJürgen,20\n", encoding="latin-1"))
    assert result.exit_code == 2
    assert "is not UTF-8 text" in result.stderr


def test_a_missing_file_is_refused(tmp_path):
    result = run(tmp_path / "nothing.csv")
    assert result.exit_code == 2
    assert "this file does not exist" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--column", "trails=n"), "Fix: write `trials`."),
        (("--column", "trials=m"), "the table has no column `m`"),
        (("--column", "trials"), "write MEANING=HEADER"),
        (("--total", "Sum"), "the table has no row `Sum`. Fix: choose one of `a`, `b`, `Total`"),
        (("--scale", "7", "1"), "give the lowest response first"),
        (("--trials", "0"), "0 is not in the range"),
        (("-o", "findings.txt"), "must end in .csv"),
        (("-o", "nowhere/findings.csv"), "does not exist"),
    ],
)
def test_an_option_that_does_not_fit_the_table_is_refused(written, options, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    result = run(written(TOTALS), *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_the_table_itself_is_never_overwritten(written):
    path = written(TOTALS)
    result = run(path, "-o", path)
    assert result.exit_code == 2
    assert "this is the table itself" in result.stderr
    assert path.read_text(encoding="utf-8") == TOTALS


def test_sentences_stay_in_their_column_on_a_terminal(written):
    found = pd.DataFrame(
        [["a", "trials", "1", "2", "impossible", "nine participants cannot give so many trials, not even nearly."]],
        columns=["row", "check", "printed", "expected", "verdict", "explanation"],
    )
    lines = finding_lines(found, width=60)
    assert max(map(len, lines[:-1])) <= 60
    assert len(lines) > 4
    assert lines[2].startswith(" " * len("row  trials  impossible  "))
    assert len(finding_lines(found)) == 4


def test_the_page_shows_the_output_of_its_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))
    assert len(examples) == 5
    for table, command, shown in examples:
        words = shlex.split(command)
        Path(words[1]).write_text(table, encoding="utf-8")
        assert run(*words[1:]).stdout == shown


def test_the_page_names_every_check_verdict_and_kind_of_column():
    page = PAGE.read_text(encoding="utf-8")
    for verdict in VERDICTS:
        assert f"| `{verdict}` |" in page
    for role, what in ROLES.items():
        assert f"| `{role}` | {what.meaning} |" in page
    for check in ("sum of ...", "participants", "trials", "final + excluded trials", "counted twice", "correct",
                  "percentage", "percentage (GRIM)", "mean (GRIM)", "SD (GRIMMER)", "SE", "CI", "estimate / SE",
                  "df of ...", "statistic", "p value", "p like its statistic", "conclusion", "cell"):  # fmt: skip
        assert f"`{check}`" in page
