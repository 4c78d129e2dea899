"""The language of built items: articles, plurals, conversions."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.batteries.vignettes import published_format as published
from tests.batteries.vignettes.building import battery_of, by, shown, texts

ARTICLES = {
    **published.GUESTS,
    "hour": "an",
    "university": "a",
    "user": "a",
    "European": "a",
    "80": "an",
    "X-ray": "an",
    "80-page book": "an",
    "8": "an",
    "11": "an",
    "18": "an",
    "88 euro note": "an",
    "50": "a",
    "100": "a",
    "unicorn": "a",
    "uniform": "a",
    "one-way ticket": "a",
    "honour": "an",
    "heirloom": "an",
    "FBI agent": "an",
    "NHS nurse": "an",
    "LED": "an",
    "UFO": "a",
    "US stamp": "a",
    "EU passport": "an",
    "SMS": "an",
    "eucalyptus": "a",
    "ewe": "a",
    "umbrella": "an",
    "unusual hat": "an",
    "apple": "an",
    "banana": "a",
}


@pytest.mark.parametrize("label", ARTICLES)
@pytest.mark.parametrize("written", ["a", "an", "A", "An"])
def test_a_and_an_are_corrected(tmp_path_factory: pytest.TempPathFactory, label: str, written: str) -> None:
    template, wanted = f"{written} thing came", ARTICLES[label]
    article = wanted.capitalize() if written[0] == "A" else wanted
    before = "" if written[0] == "A" else "Then "
    text = mended(tmp_path_factory)(f"{before}{template.replace('thing', label)} and went.")
    assert text == f"{before}{article} {label} came and went."


_MENDED: dict[str, str] = {}


def mended(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Render all sentences of the test above together: each sentence is a switch text of one story."""
    if not _MENDED:
        sentences = [
            f"{'' if written[0] == 'A' else 'Then '}{written} {label} came and went."
            for label in ARTICLES
            for written in ("a", "an", "A", "An")
        ]
        folder = tmp_path_factory.mktemp("articles")
        published.write_one_story(
            folder / "templates",
            "\n".join(f"{{vs[switch_{n}]}}" for n in range(len(sentences))) + "{vs[name_1]}{vs[filler]}",
            switches={f"switch_{n}": [sentence, "Otherwise."] for n, sentence in enumerate(sentences)},
        )
        (item,) = battery_of(folder / "templates", {"inference_levels": [2], "conditions": ["A"], "variants": 1}).items
        lines = texts(item)[0].split("\n")
        lines[-1] = re.sub(r"(?<=went\.)\w+$", "", lines[-1])
        _MENDED.update(zip(sentences, lines, strict=True))
    return _MENDED.__getitem__


@pytest.mark.parametrize(
    "text",
    [
        "{vs[name_1]} got an A in art.",
        "Vitamin A is in carrots.",
        "Plan A was a good plan, and {vs[name_1]} knew it.",
        "It was a university, {vs[name_1]} said, “a one-off”.",
        "An hour later {vs[name_1]} had a euro.",
    ],
)
def test_a_word_that_is_not_an_article_or_is_right_is_unchanged(tmp_path: Path, text: str) -> None:
    (found,) = shown(tmp_path, text)
    assert re.fullmatch(re.escape(text).replace(re.escape("{vs[name_1]}"), r"\w+"), found), found


def test_articles_are_corrected_in_prompt_and_options(tmp_path: Path) -> None:
    folder = published.write_one_story(
        tmp_path / "templates",
        "{vs[name_1]} {vs[switch_1]}.{vs[filler]}",
        prompt="Was it a hour or a apple?",
        options=["A umbrella.", "An unicorn.", "a 80-page book", "an tree"],
    )
    for item in battery_of(folder, {"variants": 1}).items:
        _, prompt, options = texts(item)
        assert prompt == "Was it an hour or an apple?"
        assert set(options) == {"An umbrella.", "A unicorn.", "an 80-page book", "a tree"}


PLURAL = {
    "repair kit": False,
    "scissors": True,
    "pliers": True,
    "trousers": True,
    "chair": False,
    "armchairs": True,
    "pair of socks": True,
    "glass": False,
    "glasses": True,
    "dress": False,
    "bus": False,
    "mice": True,
    "children": True,
    "teeth": True,
    "box of matches": False,
    "boxes of tea": True,
    "compass": False,
    "wine glasses": True,
}


_ALL_FORMS = " ".join(f"{{vs[item_1]:p{n}}}|" for n in range(1, 9))


@pytest.mark.parametrize("label", PLURAL)
def test_forms_follow_singular_and_plural(tmp_path: Path, label: str) -> None:
    (text,) = shown(
        tmp_path,
        "The {vs[item_1]}: " + _ALL_FORMS,
        variables=[],
        items={"item_1": {"chosen": True}},
        tables={"item_df.csv": f"items,chosen\n{label},True\nspare thing,False\n"},
    )
    forms = "they| them| were| s| | they're| are| aren't|" if PLURAL[label] else "it| it| was| | s| it's| is| isn't|"
    assert text == f"The {label}: {forms}"


def test_conversions_change_the_case(tmp_path: Path) -> None:
    (text,) = shown(
        tmp_path,
        "{vs[item_1]!u} {vs[item_1]!l} {vs[item_1]!c} {vs[item_1]}",
        variables=[],
        items={"item_1": {"chosen": True}},
        tables={"item_df.csv": "items,chosen\nold TV set,True\nspare,False\n"},
    )
    upper, lower, capitalised, as_is = (match[0] for match in re.finditer(r"\S+ \S+ \S+", text))
    assert (upper, lower, as_is) == ("OLD TV SET", "old tv set", "old TV set")
    assert capitalised in {"Old TV set", "Old tv set"}  # the description says "capitalise"; both are


@pytest.mark.parametrize("pov", ["first", "third"])
def test_every_slot_of_the_point_of_view_is_filled(tmp_path: Path, pov: str) -> None:
    folder = published.write_one_story(
        tmp_path / "templates",
        "{vs[name_1]} {vs[switch_1]}: " + "".join(f"{{vs[pov_{n}]}}|" for n in range(1, 11)) + "{vs[filler]}",
    )
    item = battery_of(folder, {"inference_levels": [2], "conditions": ["A"], "variants": 1, "pov": [pov]}).items[0]
    text = texts(item)[0].partition(": ")[2]
    if pov == "first":
        assert text == "you|your|are|you|you||were|have|your||"
    else:
        name = text.partition("|")[0]
        assert text == f"{name}|their|is|they|them|s|was|has|{name}'s|es|"
        assert name in published.NAMES and name not in texts(item)[0].partition(": ")[0]


def test_switches_can_contain_switches_and_labels(tmp_path: Path) -> None:
    folder = published.write_one_story(
        tmp_path / "templates",
        "{vs[switch_2]!c} end.{vs[filler]}",
        switches={
            "switch_3": ["a {vs[coinflip_1]} egg", "an {vs[otherside_1]} egg"],
            "switch_1": ["ran with {vs[switch_3]}", "hid {vs[switch_3]}"],
            "switch_2": ["{vs[name_1]} {vs[switch_1]}", "then {vs[name_1]!u} {vs[switch_1]}"],
        },
        coinflips={"coinflip_1": ["raw", "old"]},
    )
    one, other = battery_of(folder, {"inference_levels": [2], "variants": 1}, seed=6).items
    name, flipped = re.fullmatch(r"(\w+) ran with an? (raw|old) egg end\.", texts(one)[0]).groups()  # type: ignore[union-attr]
    opposite = {"raw": "old", "old": "raw"}[flipped]
    article = {"raw": "a", "old": "an"}
    assert texts(one)[0] == f"{name} ran with {article[flipped]} {flipped} egg end."
    assert texts(other)[0] == f"Then {name.upper()} hid {article[opposite]} {opposite} egg end."


def test_a_question_can_contain_the_filler(tmp_path: Path) -> None:
    folder = published.write_one_story(
        tmp_path / "templates", "{vs[name_1]} {vs[switch_1]}.{vs[filler]}", prompt="What now?{vs[filler]}"
    )
    items = by(battery_of(folder, {"variants": 1, "conditions": ["A"]}).items, "inference_level")
    assert [texts(items[level,][0])[1] for level in range(4)] == [
        "What now? That was clear.", "What now? That was a hint.", "What now?", "What now? The sky was grey."
    ]  # fmt: skip


def test_an_empty_filler_leaves_no_trace(tmp_path: Path) -> None:
    folder = published.write_one_story(
        tmp_path / "templates", " {vs[name_1]} {vs[switch_1]}. {vs[filler]} It was late. "
    )
    items = by(battery_of(folder, {"variants": 1, "conditions": ["A"]}).items, "inference_level")
    assert texts(items[2,][0])[0].endswith(". It was late.")
    for (item,) in items.values():
        assert "  " not in texts(item)[0]
        assert texts(item)[0] == texts(item)[0].strip()
