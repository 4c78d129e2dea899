"""Points on the participants' texts."""

from pathlib import Path

import pytest

from equipoise.commands.check.checklist import Verdict
from equipoise.commands.check.study_texts import files_point, pages_point, reading_age_point, translation_point
from equipoise.commands.server_process import announce
from equipoise.studies import copy_sample_study
from experiment.load_study import load_study
from experiment.study.definition import Study
from experiment.texts import catalogue
from server.settings import read_settings
from tests.equipoise.commands.check.studies import CONTACT, with_entries, with_texts, with_timeline

HARD = "Participation presupposes comprehension of the aforementioned methodological considerations. " * 10


def test_the_files_of_a_study_that_loads_pass(sample_study: Study) -> None:
    assert files_point(sample_study).verdict is Verdict.PASSED


def test_pages_without_a_gap_pass(sample_study: Study) -> None:
    assert pages_point(with_texts(sample_study, contact=CONTACT)).verdict is Verdict.PASSED


def test_a_new_study_fails_because_its_contact_page_has_a_gap(sample_study: Study) -> None:
    point = pages_point(sample_study)
    assert point.verdict is Verdict.FAILED
    assert "contact.md, line 3 (TODO) and contact.md, line 23 (TODO)" in point.found


def test_the_server_names_texts_with_a_gap_when_it_starts(
    study_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    announce(study_folder, read_settings())
    note = "Note: participants see texts with a gap: contact.md, line 3 (TODO) and contact.md, line 23 (TODO)."
    assert note in capsys.readouterr().out
    (study_folder / "contact.md").write_text(CONTACT, encoding="utf-8")
    announce(study_folder, read_settings())
    assert "Note:" not in capsys.readouterr().out


@pytest.mark.parametrize("gap", ["TODO: your name", "FIXME", "Lorem ipsum dolor"])
def test_a_page_with_a_mark_of_an_unfinished_text_fails(sample_study: Study, gap: str) -> None:
    point = pages_point(with_texts(sample_study, contact=CONTACT, debrief=f"Thank you. {gap}"))
    assert (point.verdict, "debrief.md" in point.found) == (Verdict.FAILED, True)


def test_a_gap_in_a_text_of_study_yaml_fails(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    copy_sample_study("blackbox-predict", folder)
    path = folder / "study.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}\ntexts:\n  completed: TODO\n", encoding="utf-8")
    study = with_texts(load_study(folder), contact=CONTACT)
    assert f"study.yaml, line {len(text.splitlines()) + 3} (TODO)" in pages_point(study).found


def test_an_empty_page_fails(sample_study: Study) -> None:
    point = pages_point(with_texts(sample_study, contact=CONTACT, debrief=" \n"))
    assert (point.verdict, "debrief.md has no text" in point.found) == (Verdict.FAILED, True)


def test_a_study_without_a_debrief_needs_attention(sample_study: Study) -> None:
    point = pages_point(with_timeline(with_texts(sample_study, contact=CONTACT), debrief=None))
    assert (point.verdict, "no page for debrief" in point.found) == (Verdict.ATTENTION, True)


def test_texts_that_are_easy_to_read_pass_and_the_formula_is_named(sample_study: Study) -> None:
    point = reading_age_point(sample_study)
    assert point.verdict is Verdict.PASSED
    assert "Flesch-Kincaid" in point.found


def test_a_page_that_is_hard_to_read_needs_attention(sample_study: Study) -> None:
    point = reading_age_point(with_texts(sample_study, debrief=HARD))
    assert point.verdict is Verdict.ATTENTION
    assert "debrief.md needs a reading age of more than 18 years" in point.found


@pytest.mark.parametrize(("source", "where"), [("web", "in the browser"), ("lab", "in the laboratory")])
def test_each_section_of_a_page_is_judged_for_its_source(sample_study: Study, source: str, where: str) -> None:
    page = f"It is over. Thank you.\n::: {source}\n{HARD}\n:::\n"
    point = reading_age_point(with_texts(sample_study, debrief=page))
    assert f"debrief.md {where} needs a reading age of more than 18 years." in point.found
    assert point.found.count("needs a reading age") == 1


def test_a_short_page_is_not_judged(sample_study: Study) -> None:
    assert reading_age_point(with_texts(sample_study, debrief=HARD[:93])).verdict is Verdict.PASSED


def test_the_reading_age_in_a_language_without_a_formula_is_not_checked(sample_study: Study) -> None:
    point = reading_age_point(with_entries(sample_study, language="ar"))
    assert (point.verdict, "`ar`" in point.found) == (Verdict.NOT_CHECKED, True)


@pytest.mark.parametrize("language", ["en", "de-AT", "es", "ar"])
def test_a_language_with_a_catalogue_passes(sample_study: Study, language: str) -> None:
    assert translation_point(with_entries(sample_study, language=language)).verdict is Verdict.PASSED


def test_a_language_without_a_catalogue_fails_until_all_texts_are_translated(sample_study: Study) -> None:
    french = with_entries(sample_study, language="fr", texts={"agree": "J'accepte"})
    point = translation_point(french)
    assert point.verdict is Verdict.FAILED
    assert f"{len(catalogue('en')) - 1} buttons and messages have no translation into `fr`" in point.found
    whole = with_entries(french, texts=dict.fromkeys(catalogue("en"), "Texte"))
    assert translation_point(whole).verdict is Verdict.PASSED
