import re
from pathlib import Path

import pytest

from batteries.errors import InputError
from experiment.load_study import load_study
from experiment.texts import FORMER_NAMES, PLACEHOLDER, catalogue, check_own, languages, texts_in


def with_lines(study_folder: Path, *lines: str) -> Path:
    with (study_folder / "study.yaml").open("a", encoding="utf-8") as file:
        file.write("\n" + "\n".join(lines) + "\n")
    return study_folder


def in_language(study_folder: Path, language: str) -> Path:
    path = study_folder / "study.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"^language: .*$", f"language: {language}", text, flags=re.MULTILINE), encoding="utf-8")
    assert f"language: {language}\n" in path.read_text(encoding="utf-8")
    return study_folder


def test_there_are_catalogues_in_four_languages() -> None:
    assert set(languages()) >= {"ar", "de", "en", "es"}


@pytest.mark.parametrize("language", languages())
def test_every_catalogue_has_all_texts_with_the_same_placeholders(language: str) -> None:
    english, other = catalogue("en"), catalogue(language)
    assert other.keys() == english.keys()
    for name, text in other.items():
        assert text.strip(), name
        assert sorted(PLACEHOLDER.findall(text)) == sorted(PLACEHOLDER.findall(english[name])), name
    assert texts_in(language, {}).direction == ("rtl" if language == "ar" else "ltr")


@pytest.mark.parametrize("language", sorted(set(languages()) - {"en"}))
def test_a_catalogue_is_translated(language: str) -> None:
    """No text is English, except for texts that are equal in both languages."""
    english = catalogue("en")
    same = {name for name, text in catalogue(language).items() if text == english[name]}
    assert same <= {"between_cells", "side_west", "mark_in", "described_video"}


def test_a_language_with_a_country_uses_the_catalogue_of_the_language() -> None:
    assert texts_in("de-AT", {}).by_name == catalogue("de")
    assert texts_in("de-AT", {}).language == "de"


def test_a_language_without_a_catalogue_gets_english_texts_marked_as_english() -> None:
    words = texts_in("fr", {"agree": "J'accepte"})
    assert words.language == "en"
    assert words.say("agree") == "J'accepte"
    assert words.say("decline") == catalogue("en")["decline"]


def test_a_study_that_replaces_all_texts_is_in_its_own_language() -> None:
    assert texts_in("he", dict.fromkeys(catalogue("en"), "..")).language == "he"


def test_the_direction_of_a_study_is_that_of_its_language() -> None:
    assert texts_in("he-IL", {}).direction == "rtl"
    assert texts_in("he-IL", {}).language == "en"


def test_placeholder_values_are_inserted_unchanged() -> None:
    words = texts_in("en", {"question_of": "{number}/{total} {number}"})
    assert words.say("question_of", number="{total}", total=3) == "{total}/3 {total}"


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        ({"agre": "x"}, "Fix: write `agree`."),
        ({"zzzzzz": "x"}, "texts.md"),
        ({"question_of": "{nummer}"}, "an unknown placeholder {nummer}. Fix: use {number}, {total}."),
        ({"agree": "{x}"}, "Fix: use none."),
        ({"lab_delete_word": "32"}, "`texts.lab_delete_word` is '32', which participants could type by accident"),
        ({"lab_delete_word": "f 2 j"}, "it has fewer than 3 letters. Fix: write a word."),
    ],
)
def test_texts_that_cannot_be_shown_are_refused(own: dict[str, str], sentence: str) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        check_own(own, Path("study.yaml"))


def test_a_studys_text_may_omit_a_placeholder() -> None:
    check_own({"question_of": "Question {number}"}, Path("study.yaml"))


def test_a_study_replaces_texts(study_folder: Path) -> None:
    before = load_study(study_folder)
    study = load_study(with_lines(study_folder, "texts:", "  agree: Yes, I will"))
    assert study.words.say("agree") == "Yes, I will"
    assert study.words.say("decline") == catalogue("en")["decline"]
    assert study.digest != before.digest  # participants read another text


def test_an_error_in_a_studys_texts_names_the_file(study_folder: Path) -> None:
    with pytest.raises(InputError, match=r"study\.yaml: `texts` has the unknown name `agre`"):
        load_study(with_lines(study_folder, "texts:", "  agre: Yes"))


@pytest.mark.parametrize(("former", "present"), FORMER_NAMES.items())
def test_a_text_with_its_former_name_is_shown_with_a_warning(study_folder: Path, former: str, present: str) -> None:
    folder = with_lines(study_folder, "texts:", f"  {former}: Wait")
    sentence = rf"study\.yaml: `texts\.{former}` is now called `texts\.{present}`\. Fix: use the new name in the file\."
    with pytest.warns(FutureWarning, match=sentence):
        study = load_study(folder)
    assert study.words.say(present) == "Wait"
    assert study.definition.texts == {former: "Wait"}, "the digest of the study is as before"


def test_a_text_with_its_former_and_its_present_name_is_refused(study_folder: Path) -> None:
    folder = with_lines(study_folder, "texts:", "  slots_taken: Wait", "  places_taken: Wait")
    with pytest.raises(InputError, match=r"`texts\.places_taken` is the former name of `texts\.slots_taken`, and both"):
        load_study(folder)


def test_a_study_uses_the_texts_of_its_language(study_folder: Path) -> None:
    assert load_study(in_language(study_folder, "de")).words.say("next") == "Weiter"


@pytest.mark.parametrize("language", languages())
def test_the_word_that_deletes_answers_can_be_a_studys_own_word(language: str) -> None:
    check_own({"lab_delete_word": texts_in(language, {}).say("lab_delete_word")}, Path("study.yaml"))
