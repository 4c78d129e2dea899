"""The tasks `keypress` and `recall`: what an item may be, how responses score, and how replies are read."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from batteries.errors import InputError
from batteries.tasks import TASKS
from batteries.tasks.recall import recalled

KEYPRESS, RECALL = TASKS["keypress"], TASKS["recall"]
LEXICAL = {"prompt": "Word?", "stimulus": [{"text": "blick"}], "keys": {"j": "nonword", "f": "word"}}
GO = {"prompt": "Go?", "keys": {"space": "go"}, "window_ms": 800, "withhold": True}


def keypress(key: Any = "word", **changes: Any) -> dict[str, Any]:
    return KEYPRESS.checked_content({**LEXICAL, **changes}, key)


def recall(key: Any, **changes: Any) -> dict[str, Any]:
    return RECALL.checked_content({"prompt": "Which words were in the list?", **changes}, key)


def test_the_responses_to_a_keypress_item_are_the_names_of_its_keys() -> None:
    content = keypress()
    assert KEYPRESS.responses(content) == ["word", "nonword"]
    assert KEYPRESS.chance(content) == 0.5
    assert KEYPRESS.score(content, "word", "word").correct
    assert not KEYPRESS.score(content, "word", "nonword").correct
    with pytest.raises(InputError, match="`word`, `nonword`"):
        KEYPRESS.check_response(content, "none")


def test_no_key_is_a_response_only_if_the_item_allows_it() -> None:
    content = KEYPRESS.checked_content(GO, "none")
    assert KEYPRESS.responses(content) == ["go", "none"]
    assert KEYPRESS.score(content, "none", "none").correct
    assert KEYPRESS.feedback(content, "none", "go").text == "withhold_wrong"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mask": [{"text": "XXXX"}]}, "stimulus_ms"),
        ({"mask_ms": 100}, "mask"),
        ({"withhold": True}, "window_ms"),
        ({"keys": {"f": "yes", "j": "yes"}}, "same name"),
        ({"keys": {"f": "yes", "j": "Yes"}}, "same name"),
        ({"keys": {"f": "none"}}, "another name"),
        ({"keys": {"F1": "yes"}}, "keys"),
        ({"keys": {}}, "keys"),
        ({"prompt": "", "stimulus": []}, "shows nothing"),
        ({"stimulus_ms": 5}, "stimulus_ms"),
        ({"screens": [{"parts": []}]}, "duration_ms"),
    ],
)
def test_a_keypress_item_that_cannot_be_shown_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        keypress(**changes)


@pytest.mark.parametrize(
    ("reply", "response"),
    [("word", "word"), ("NONWORD.", "nonword"), ("J", "nonword"), ('{"answer": "word"}', "word"),
     ("It is a nonword.", "nonword"), ("I do not know.", None), ("", None), ("2", None), ("A", None)],
)  # fmt: skip
def test_a_model_answers_with_the_name_or_the_key(reply: str, response: str | None) -> None:
    assert KEYPRESS.read_reply(keypress(), reply).response == response


@pytest.mark.parametrize("names", [{"left": "right", "right": "left"}, {"a": "2", "b": "1"}])
@pytest.mark.parametrize("form", ["{}", "{}.", "Answer: {}", "The answer is {}.", '{{"answer": "{}"}}'])
def test_a_name_is_never_read_as_another_key_or_as_a_position(names: dict[str, str], form: str) -> None:
    for name in names.values():
        assert KEYPRESS.read_reply(keypress(name, keys=names), form.format(name)).response == name


LIST = ["apple", ["car", "auto"], "house"]


@pytest.mark.parametrize(
    ("response", "changes", "credit"),
    [
        (["house", "Apple ", "AUTO"], {}, 1),
        (["apple", "apple", "apple"], {}, 1 / 3),
        ([], {}, 0),
        (["tree", "house"], {}, 1 / 3),
        (["hosue"], {}, 0),
        (["hosue"], {"typos": 1}, 1 / 3),
        (["hoouse", "aple"], {"typos": 1}, 2 / 3),
        (["cat"], {"typos": 2}, 0),  # A short word must be exact.
        (["apple", "house", "car"], {"ordered": True}, 1 / 3),
        (["apple", "car", "house"], {"ordered": True}, 1),
        (["car", "auto"], {}, 1 / 3),  # Two texts of one entry are one entry.
    ],
)
def test_the_credit_of_a_recall_is_the_share_of_recalled_entries(
    response: list[str], changes: dict[str, Any], credit: float
) -> None:
    score = RECALL.score(recall(LIST, **changes), LIST, response)
    assert score.score == pytest.approx(credit)
    assert score.correct == (credit == 1)


@given(st.lists(st.sampled_from(["apple", "car", "house", "tree", "hosue", ""]), max_size=8), st.booleans())
def test_an_entry_of_a_response_recalls_at_most_one_entry_of_the_list(texts: list[str], ordered: bool) -> None:
    found = [index for index in recalled(LIST, texts, ordered, typos=1) if index is not None]
    assert len(set(found)) == len(found)
    assert all(index < len(texts) for index in found)


@pytest.mark.parametrize("key", [[], "apple", [["apple"], "apple "], [""], [3], [["a", "b"], "b"], ["x"] * 31])
def test_a_list_that_cannot_be_scored_is_refused(key: Any) -> None:
    with pytest.raises(InputError):
        recall(key)


@pytest.mark.parametrize("response", ["apple", [""], [3], ["x" * 201], ["a"] * 31, None])
def test_a_response_that_is_not_a_short_list_of_texts_is_refused(response: Any) -> None:
    with pytest.raises(InputError):
        RECALL.check_response(recall(LIST), response)


@pytest.mark.parametrize(
    ("reply", "response"),
    [
        ('["apple", "car"]', ["apple", "car"]),
        ('{"recalled": ["apple", "car"]}', ["apple", "car"]),
        ("apple\ncar", ["apple", "car"]),
        ("Here is the list:\n1. apple\n2. car", ["apple", "car"]),
        ("- apple\n- car", ["apple", "car"]),
        ("apple, car", ["apple", "car"]),
        ("[]", []),
        ("", None),
        ("\n".join(["word"] * 31), None),
        ("I'm sorry, but I can't help with that.", None),
        ("I cannot recall the list.\nIt was too long.", None),
        ("I'm sorry, this may be incomplete:\napple\nhelp", ["apple", "help"]),
        ("<think>Was it apple?</think>", None),
    ],
)
def test_a_model_answers_with_a_list(reply: str, response: list[str] | None) -> None:
    assert RECALL.read_reply(recall(LIST), reply).response == response
