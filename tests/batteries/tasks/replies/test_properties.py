"""Properties of every reading, for any reply."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batteries.items import Battery
from batteries.tasks import task_named
from batteries.tasks.replies.reading import INVALID, Reading
from tests.batteries.vignettes import published_format as published
from tests.batteries.vignettes.building import battery_of

CONTENTS: dict[str, list[dict[str, Any]]] = {
    "multiple_choice": [
        {"prompt": "Where?", "options": ["In the basket", "In the box", "In the garden", "Behind the sofa"]},
        {"prompt": "How many?", "options": ["3", "4", "5"]},
        {"prompt": "Does he know?", "options": ["Yes", "Yes, but later", "No"]},
        {"prompt": "Who?", "options": ["A", "B and C", "...", "?"]},
    ],
    "blackbox_predict": [{"size": 8, "atoms": [[2, 3], [3, 6]], "entry": "east-3"}],
    "jspsych": [
        {"plugin": "p", "parameters": {"choices": ["Left", "Right"]}, "answers": [{"response": 0}, {"response": 1}]},
        {"plugin": "p", "parameters": {}, "answers": [{"response": "f"}, {"response": "j", "rt": None}]},
    ],
}
ITEMS = [(name, content) for name, contents in CONTENTS.items() for content in contents]

FRAGMENTS = [
    *(
        "1",
        "2",
        "10",
        "B",
        "(B)",
        "1.5",
        "2/3",
        "25 %",
        "two",
        "second",
        "option",
        "the answer is",
        "I choose",
        "not",
        "or",
    ),
    *(
        "if",
        "wait",
        "actually",
        "no",
        "because",
        "so",
        "final",
        "In the basket",
        "in the box",
        "Yes",
        "WEST-5",
        "EAST-3",
    ),
    *(
        "absorbed",
        "is reflected",
        "exits at",
        "from",
        "row 5",
        "I cannot",
        ".",
        ",",
        ":",
        "?",
        "\n",
        "\r\n",
        " ",
        "-",
        "->",
        "1.",
    ),
    *(
        "**",
        "```",
        "<answer>",
        "</answer>",
        "\\boxed{",
        "{",
        "}",
        '{"answer": ',
        '"',
        "'",
        "[",
        "]",
        "null",
        "|",
        "~~",
        "$",
        "\\",
    ),
    *(
        "<b>",
        "&lt;",
        "\u200b",
        "\ufeff",
        "\u0663",
        "\uff12",
        "\u2460",
        "\u7b54\u6848",
        "\u00e9",
        "\ud800",
        "\U0001f449",
        "\ue000",
    ),
]
LONG = [
    *(
        "(",
        " ",
        "\n",
        "answer is 1 ",
        '{"a":',
        "{a:1,",
        "[[",
        "((-",
        "1 or ",
        "1/",
        "1+",
        "not ",
        "in the ",
        "WEST-5 ",
        "row 5 ",
    ),
    *(
        "<a ",
        "<think>",
        "<answer>",
        "\\boxed{",
        "!?",
        "...",
        "n't ",
        "**",
        "~~",
        "#\n",
        "1. In the basket\n",
        "\ufdfa",
        "\u9009",
    ),
]
REPLIES = st.text() | st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join)
REPLIES |= st.lists(st.sampled_from(FRAGMENTS), max_size=25).map(" ".join)


def read(item: tuple[str, dict[str, Any]], reply: str) -> Reading:
    return task_named(item[0]).read_reply(item[1], reply)


@given(st.sampled_from(ITEMS), REPLIES)
@settings(max_examples=500)
def test_any_reply_has_a_possible_response_or_a_reason(item: tuple[str, dict[str, Any]], reply: str) -> None:
    found = read(item, reply)
    if found.is_valid:
        task_named(item[0]).check_response(item[1], found.response)
    else:
        assert found.rule in INVALID
        assert found.response is None


@given(st.sampled_from(ITEMS), REPLIES)
@settings(max_examples=200)
def test_a_reply_is_read_the_same_way_each_time(item: tuple[str, dict[str, Any]], reply: str) -> None:
    assert read(item, reply) == read(item, reply)


@given(st.sampled_from(ITEMS), REPLIES, st.sampled_from(["\n", "\n\n \n", "\r\n", "\ufeff", "\t\n"]))
@settings(max_examples=200)
def test_empty_lines_and_a_byte_order_mark_change_nothing(
    item: tuple[str, dict[str, Any]], reply: str, blank: str
) -> None:
    assert read(item, blank + reply + blank.replace("\ufeff", "\n")) == read(item, reply)


@given(st.sampled_from(ITEMS), REPLIES)
@settings(max_examples=200)
def test_the_form_of_line_ends_changes_nothing(item: tuple[str, dict[str, Any]], reply: str) -> None:
    plain = reply.replace("\r", "")
    assert read(item, plain.replace("\n", "\r\n")) == read(item, plain)


@given(st.sampled_from(ITEMS), REPLIES, st.sampled_from(["2", "The answer is B.", "absorbed", "", "\n", "{"]))
@settings(max_examples=200)
def test_a_closed_block_of_reasoning_changes_nothing(
    item: tuple[str, dict[str, Any]], reply: str, reasoning: str
) -> None:
    before = read(item, reply)
    after = read(item, f"<think>{reasoning}</think>{reply}")
    # A reply of reasoning only is not empty.
    assert after == before or (before.rule, after.rule) == ("empty", "only_reasoning")


@pytest.mark.parametrize("item", [ITEMS[0], ITEMS[4]], ids=["multiple_choice", "blackbox_predict"])
@pytest.mark.parametrize("fragment", LONG)
def test_a_very_long_reply_is_read(item: tuple[str, dict[str, Any]], fragment: str) -> None:
    # A search that is not linear would take about a minute for this text.
    reply = fragment * (300_000 // len(fragment.encode("utf-8", "surrogatepass")))
    assert read(item, reply) is not None


@pytest.fixture(scope="module")
def vignettes(tmp_path_factory: pytest.TempPathFactory) -> Battery:
    """A battery of vignettes with both points of view and all conditions."""
    folder = published.write_template_set(tmp_path_factory.mktemp("published") / "templates")
    return battery_of(folder, {"pov": ["first", "third"], "variants": 2}, seed=2)


def test_the_three_lines_of_the_standard_prompt_are_read_as_their_option(vignettes: Battery) -> None:
    task = task_named("multiple_choice")
    for item in vignettes.items:
        options = item.content["options"]
        assert isinstance(options, list)
        for number, option in enumerate(options, start=1):
            reply = f"{number}\n{option}\nThis option fits the text best."
            assert task.read_reply(item.content, reply) == Reading(number, "three_lines"), reply
            assert task.read_reply(item.content, str(option)).response == number, option


def test_a_number_with_the_text_of_another_option_is_read_as_none_of_them(vignettes: Battery) -> None:
    task = task_named("multiple_choice")
    for item in vignettes.items[:500]:
        options = item.content["options"]
        assert isinstance(options, list)
        for number, option in enumerate(options, start=1):
            other = number % len(options) + 1
            assert task.read_reply(item.content, f"{other}\n{option}\nIt fits.").rule == "number_and_text_disagree", (
                option
            )


def test_a_statement_is_read_in_several_languages() -> None:
    options = {"options": ["In the basket", "In the box", "In the garden"]}
    sentences = (
        "Die Antwort ist 2.",
        "La respuesta es 2.",
        "La r\u00e9ponse est 2.",
        "La risposta \u00e8 2.",
        "A resposta \u00e9 2.",
    )
    for sentence in (
        *sentences,
        "\u041e\u0442\u0432\u0435\u0442: 2",
        "\u7b54\u6848\u662f2",
        "\u7b54\u3048\u306f2\u3067\u3059",
    ):
        assert task_named("multiple_choice").read_reply(options, sentence).response == 2, sentence
