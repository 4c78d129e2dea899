"""The page on Prolific: its commands run one after another, with a fake Prolific, and print its outputs."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from equipoise.cli.main import main
from experiment.study.recruitment import Recruitment
from server.recruitment.reconcile import Finding
from tests.docs.test_docs import DOCS, documented_in, fences
from tests.equipoise.commands.recruit.fake_prolific import TOKEN, FakeProlific, served
from tests.equipoise.commands.recruit.panel_study import PROLIFIC_STUDY, RECRUITMENT, id_of, make_panel_study, take

PAGE = DOCS / "how-to" / "recruit-through-prolific.md"
SUBMISSIONS = [
    ("anna", "AWAITING REVIEW", "DONE1"), ("bert", "AWAITING REVIEW", "NOCODE"), ("carl", "AWAITING REVIEW", "FAIL1"),
    ("dora", "AWAITING REVIEW", "FAIL1"), ("emil", "TIMED-OUT", ""), ("fred", "AWAITING REVIEW", "DONE1"),
    ("gerd", "RETURNED", ""),
]  # fmt: skip


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProlific]:
    with served() as fake:
        fake.add_study(PROLIFIC_STUDY, internal_name="blackbox-predict 1.0")
        for name, status, code in SUBMISSIONS:
            fake.add_submission(f"sub-{name}", id_of(name), status, code)
        yield fake


def test_the_commands_of_the_page_print_its_outputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake: FakeProlific
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PROLIFIC_TOKEN", raising=False)
    stored = make_panel_study(tmp_path / "my-study")
    for name, n_failed in (("anna", 0), ("bert", 0), ("carl", 1), ("dora", 2)):
        take(stored, name, n_failed=n_failed)
    take(stored, "emil", n_answers=3)
    take(stored, "fred", n_answers=2, then="withdraw")
    lines = [f"sub-{name},{id_of(name)},{status},{code}" for name, status, code in SUBMISSIONS]
    header = "Submission id,Participant id,Status,Completion code"
    Path("prolific.csv").write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    blocks = [(words, text) for words, text in fences(PAGE) if words in {"console", "text"}]
    n_compared = 0
    for (words, text), (next_words, output) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if words == "text" and ",0.50" in text:
            Path("bonuses.csv").write_text(text, encoding="utf-8")
        for line in text.splitlines() if words == "console" else ():
            if "--panel sona" in line or "--p" in line:
                continue
            result = CliRunner().invoke(main, shlex.split(line.removeprefix("$ "))[1:])
            assert result.exit_code == 0, (line, result.output)
            if next_words == "text":
                assert result.stdout == output, line
                n_compared += 1
            monkeypatch.setenv("PROLIFIC_TOKEN", TOKEN)
            monkeypatch.setenv("PROLIFIC_URL", fake.address)
    assert n_compared == 5


def test_the_page_has_the_studys_recruitment_and_every_finding() -> None:
    (text,) = [text for words, text in fences(PAGE) if words == "yaml"]
    assert text == RECRUITMENT
    assert documented_in(PAGE, "Compare the submissions") >= {finding.value for finding in Finding}
    assert Recruitment.model_fields["prolific"]
