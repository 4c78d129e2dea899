"""Sections of pages for the browser and for the laboratory."""

import hashlib
from pathlib import Path

import pytest

from batteries.errors import InputError
from equipoise.studies import sample_studies, sample_study_folder
from experiment.load_study import load_study
from experiment.models.prompts.practice import instruction_pages
from experiment.records import Source
from experiment.study.definition import Study, consent_digest
from experiment.study.pages_by_source import check_sections, page_for
from experiment.study.unfinished_texts import find_gaps
from tests.equipoise.commands.check.studies import with_texts

PAGE = """# Consent

Your answers carry a random name.
::: web
Only the code leads to them.
:::
:::lab

The experimenter's list leads to them.

::::
You may stop.
"""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (Source.WEB, "# Consent\n\nYour answers carry a random name.\nOnly the code leads to them.\nYou may stop.\n"),
        (
            Source.LAB,
            "# Consent\n\nYour answers carry a random name.\n\nThe experimenter's list leads to them.\n\n"
            "You may stop.\n",
        ),
    ],
)
def test_each_source_has_the_common_lines_and_its_own(source: Source, expected: str) -> None:
    check_sections(PAGE, Path("consent.md"))
    assert page_for(PAGE, source) == expected


@pytest.mark.parametrize("page", ["", "# Title\n\nText.\n", "a ::: b", "Text\r\n\r\nwith other line ends.\r\n"])
def test_a_page_without_sections_is_the_same_for_both_sources(page: str) -> None:
    check_sections(page, Path("page.md"))
    assert page_for(page, Source.WEB) == page_for(page, Source.LAB) == page


def test_sections_are_recognised_in_lists_in_quotations_and_with_windows_line_ends() -> None:
    page = "1. One\r\n   ::: lab\r\n   press\r\n   :::\r\n\r\n> ::: web\r\n> click\r\n> :::\r\n\r\nEnd\r\n"
    check_sections(page, Path("page.md"))
    assert page_for(page, Source.WEB) == "1. One\r\n\r\n> click\r\n\r\nEnd\r\n"
    assert page_for(page, Source.LAB) == "1. One\r\n   press\r\n\r\n\r\nEnd\r\n"


def test_marks_in_a_block_of_code_are_text() -> None:
    page = "::: lab\n```\n::: web\n:::\n```\n:::\nBoth\n"
    check_sections(page, Path("page.md"))
    assert page_for(page, Source.LAB) == "```\n::: web\n:::\n```\nBoth\n"
    assert page_for(page, Source.WEB) == "Both\n"


@pytest.mark.parametrize(
    ("page", "line", "problem"),
    [
        ("Text\n::: online\nA\n:::\n", 2, "the section `::: online` has an unknown source. Fix: write `::: web` or"),
        ("Text\n::: Web\nA\n:::\n", 2, "the section `::: Web` has an unknown source"),
        ("Text\n::: web The code\n:::\n", 2, "the section `::: web The code` has an unknown source"),
        ("Text\n::: web\nA\n", 2, "the section `::: web` has no end. Fix: write a line `:::`"),
        ("::: web\nA\n::: lab\nB\n:::\n", 3, "begins inside the section of line 1. Fix: end the section of line 1"),
        ("Text\n\n:::\n", 3, "this `:::` ends a section, but no section is open. Fix: delete this line"),
        ("::: web\nA\n:::\n:::\n", 4, "no section is open"),
        ("::: web\nA\n:::\n \n", 1, r"this page is empty in the laboratory, .* Fix: add words .* `::: lab`"),
        ("::: web\n:::\n", 1, "this page is empty in the browser"),
        ("\n::: lab\nA\n:::\n", 2, "this page is empty in the browser"),
    ],
)
def test_an_error_in_a_section_names_file_and_line(study_folder: Path, page: str, line: int, problem: str) -> None:
    (study_folder / "consent.md").write_text(page, encoding="utf-8")
    with pytest.raises(InputError, match=rf"consent\.md, line {line}: .*{problem}"):
        load_study(study_folder)


def test_a_file_with_sections_is_one_version_with_a_consent_digest_for_each_source(sample_study: Study) -> None:
    study = with_texts(sample_study, consent=PAGE)
    digests = {source: consent_digest(study.definition, study.texts, source) for source in (Source.WEB, Source.LAB)}
    assert digests == {
        source: hashlib.sha256(page_for(PAGE, source).encode()).hexdigest() for source in (Source.WEB, Source.LAB)
    }
    assert digests[Source.WEB] != digests[Source.LAB]
    for words in ("Only the code", "The experimenter's list"):
        changed = with_texts(sample_study, consent=PAGE.replace(words, f"{words} surely"))
        assert changed.digest != study.digest, "a change of either text is another version"


def test_without_sections_both_sources_have_the_digest_of_the_file(sample_study: Study) -> None:
    study = with_texts(sample_study, consent="I agree.\n")
    whole = hashlib.sha256(b"I agree.\n").hexdigest()
    for source in (Source.WEB, Source.LAB):
        assert consent_digest(study.definition, study.texts, source) == whole


def test_models_read_the_words_for_the_browser(sample_study: Study) -> None:
    study = with_texts(sample_study, **{"instructions-2": "Choose.\n::: web\nClick.\n:::\n::: lab\nPress.\n:::\n"})
    assert instruction_pages(study)[-1] == "Choose.\nClick."


def test_a_gap_is_found_in_each_section_at_its_line_in_the_file(sample_study: Study) -> None:
    study = with_texts(sample_study, contact="Ask us.\n::: web\nTODO\n:::\n::: lab\nTODO\n:::\n")
    assert [str(gap) for gap in find_gaps(study)] == ["contact.md, line 3 (TODO)", "contact.md, line 6 (TODO)"]


ONLY_TRUE_IN = {
    Source.WEB: ("Leave the study", "Delete my answers", "Only the code", "browser", "a finger", "touch", "internet",
                 "translated", "dark", "copied", "your screen", "top of the screen", "below", "switch on"),
    Source.LAB: ("Escape", "F1", "experimenter", "this computer", "participant code"),
}  # fmt: skip
"""Words for facts of one source: the button, the page of withdrawal and the browser; the keys, and the files."""


@pytest.mark.parametrize("name", sample_studies())
def test_the_sample_studies_say_in_each_place_what_is_true_there(name: str) -> None:
    study = load_study(sample_study_folder(name))
    for source, other in ((Source.WEB, Source.LAB), (Source.LAB, Source.WEB)):
        text = " ".join(" ".join(study.page(page, source).split()) for page in study.definition.pages)
        assert [word for word in ONLY_TRUE_IN[other] if word in text] == []
    timeline = study.definition.timeline
    assert timeline.consent is not None and timeline.contact is not None
    for page in (timeline.consent, timeline.contact):
        assert "**Escape** key" in study.page(page, Source.LAB)
        assert "the button *Leave the study*" in study.page(page, Source.WEB)
    consent = " ".join(study.page(timeline.consent, Source.LAB).split())
    assert "files on this computer have your participant code" in consent
