"""The check of the prose refuses unclear words, accepts plain sentences, and finds no problem in the project."""

import pytest

from tests import check_prose


@pytest.mark.parametrize(
    "sentence",
    [
        "Whoever opens the page reads it.",
        "The slot is given to somebody else.",
        "This file is mended later.",
        "The page tells of each session.",
        "The table stands below.",
        "The session goes on tomorrow.",
        "The laboratory hands the responses on.",
        "The server sees to that.",
        "There was an error, but it is no reply.",
        "A row a trial.",
        "The packages are loaded beforehand.",
        "The rows are changed by hand.",
    ],
)
def test_an_unclear_sentence_is_refused_with_better_words(sentence: str) -> None:
    assert any("Fix: write" in problem for problem in check_prose.problems_in(sentence))


@pytest.mark.parametrize(
    "sentence",
    [
        "There is no session with this id.",
        "The participant resumes the session; it is no longer open.",
        "Standard errors are robust.",
        "The column `told` and the option `--stand` are names, not prose.",
        "The published label is “by hand”.",
    ],
)
def test_a_plain_sentence_is_accepted(sentence: str) -> None:
    assert not list(check_prose.problems_in(sentence))


def test_comments_docstrings_and_messages_of_python_are_checked_with_their_lines() -> None:
    text = '"""What it does."""\n\nx = 1  # somebody\ny = "whoever reads"\nz = "too old to go on"  # prose: stored\n'
    assert [line for line, _ in check_prose.check_python(text)] == [3, 4, 1]


@pytest.mark.parametrize(
    ("raised", "is_refused"),
    [
        ('InputError("the file is empty.")', True),
        ('InputError(f"{path} is empty.")', True),
        ('InputError("the file is empty. Fix: add items.")', False),
        ('InputError(f"{path}: {error}")', False),
        ('ValueError("a bug, not a mistake of the researcher")', False),
        ('click.ClickException("the store has problems.")', True),
        ('click.UsageError("no study.")', True),
        ('click.BadParameter("not a port. Fix: write a number.")', False),
        ('Conflict("The session is closed.")', True),
        ('Conflict(f"The session {name} is closed.")', True),
        ('Conflict("The session is closed. Fix: begin a new one.")', False),
        ('Conflict("there is no group 3")', False),
        ("errors.Conflict(REASON)", False),
        ("InputError(sentence)", False),
    ],
)
def test_an_error_needs_a_fix(raised: str, is_refused: bool) -> None:
    assert bool(list(check_prose.check_python(f"raise {raised}\n"))) is is_refused


def test_names_docstrings_and_comments_of_tests_are_checked_but_no_strings() -> None:
    text = 'def test_somebody_is_told():\n    """Whoever reads."""\n    x = "somebody"  # stands\n'
    assert sorted(line for line, _ in check_prose.check_test(text)) == [1, 1, 2, 3]


def test_code_blocks_of_documents_are_not_checked() -> None:
    assert [line for line, _ in check_prose.check_text("told\n```\ntold\n```\ntold\n")] == [1, 5]


def test_our_prose_is_plain(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["check_prose.py"])
    assert check_prose.main() == 0, capsys.readouterr().out
