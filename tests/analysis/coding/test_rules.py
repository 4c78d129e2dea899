import pytest
from pydantic import ValidationError

from analysis.coding.rules import codes_by_rule
from experiment.study.answer_coding import Coding

A, B = {"name": "a", "definition": "A."}, {"name": "b", "definition": "B."}


def rule(several: bool = False, **words: list[str]) -> Coding:
    codes = [{"name": name, "definition": f"About {name}.", "words": list(own)} for name, own in words.items()]
    return Coding.model_validate({"codes": codes, "several": several})


def test_the_first_code_with_a_matching_word_counts() -> None:
    coding = rule(cause=["because", "fell"], wish=["wanted", "because"])
    assert codes_by_rule(coding, "Because she wanted it") == ("cause",)
    assert codes_by_rule(coding, "She wanted it") == ("wish",)


def test_with_several_codes_all_matching_codes_count_and_the_last_code_only_alone() -> None:
    coding = rule(several=True, cause=["fell"], wish=["wanted"], other=[])
    assert codes_by_rule(coding, "It fell as she wanted") == ("cause", "wish")
    assert codes_by_rule(coding, "No idea") == ("other",)


def test_an_answer_that_no_code_fits_has_no_code_unless_the_last_code_has_no_words() -> None:
    assert codes_by_rule(rule(a=["x"], b=["y"]), "z") == ()
    assert codes_by_rule(rule(a=["x"], b=[]), "z") == ("b",)


@pytest.mark.parametrize(("words", "answer", "matches"), [
    ("fall", "It will FALL!", True),
    ("fall", "It is falling.", False),
    ("fall*", "It is falling.", True),
    ("*fall", "A waterfall.", True),
    ("*fall", "It is falling.", False),
    ("*fall*", "Waterfalls.", True),
    ("from a height", "It fell from  a\nheight.", True),
    ("from a height", "It fell from the height.", False),
    ("don't know", "I don’t know", True),
    ("café", "In the CAFÉ", True),
    ("Straße", "auf der STRASSE", True),
    ("*重力*", "因为重力的作用", True),
    ("الجاذبية", "بسبب الجاذبية.", True),
    ("fall", "", False),
])  # fmt: skip
def test_words_match_whole_words_without_regard_to_capitals_and_punctuation(
    words: str, answer: str, matches: bool
) -> None:
    assert bool(codes_by_rule(rule(a=[words], b=["never"]), answer)) == matches


def test_no_answer_makes_the_search_slow() -> None:
    # With regular expressions, such words and answers could take exponential time, and the test would not end.
    coding = rule(a=["a a a a a a a a a b", "*aaaaaaaaaab*"], b=["*a*"])
    for answer in ("a" * 20_000, "a " * 10_000):
        assert codes_by_rule(coding, answer) == ("b",)


@pytest.mark.parametrize(("changes", "sentence"), [
    ({"codes": [A, B]}, "has no `words`, and there are no `coders`"),
    ({"codes": [A | {"words": ["f*ll"]}, B]}, "a `*` within a word"),
    ({"codes": [A | {"words": ["?!"]}, B]}, "no letters or digits"),
    ({"coders": 2}, "has `words`, which are for coding by rule, but there are `coders` too"),
    ({"right": ["c"]}, "`right` names the code `c`"),
    ({"show": "item"}, "`show` is for coding by coders. Fix: delete `show`, or add `coders`."),
    ({"items": ["q1", "q1"]}, "duplicate name"),
    ({"codes": [A | {"words": ["x"]}]}, "at least 2"),
    ({"codes": [A | {"words": ["x"]}, A]}, "two codes have the name `a`"),
    ({"codes": [A | {"name": "A b", "words": ["x"]}, B]}, "pattern"),
])  # fmt: skip
def test_a_coding_with_a_mistake_is_refused(changes: dict[str, object], sentence: str) -> None:
    whole = {"codes": [A | {"words": ["x"]}, B]}
    Coding.model_validate(whole)
    with pytest.raises(ValidationError, match=sentence.replace("*", r"\*").replace(".", r"\.")):
        Coding.model_validate(whole | changes)
