"""The preview page: its counts, its marks, and its robustness to any text of a battery."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest

from batteries.design import Deal, LatinSquare, assign_groups
from batteries.errors import InputError
from batteries.items import Battery, Item
from batteries.tasks import READING_WORDS_PER_MINUTE
from batteries.vignettes.preview import write_preview
from batteries.vignettes.preview.page import render_preview
from batteries.vignettes.preview.texts import ItemTexts, pieces, tokens_of

FILLERS = {0: " Butter goes soft in the warm.", 1: " Stone holds the heat.", 2: "", 3: " The ledge was clean."}
SIDES = {"A": "cold", "B": "warm", "C": "high", "D": "very low"}
OPTIONS = ["It was firm.", "It was soft.", "It was gone.", "Nobody knows."]
SCENARIOS = ("butter", "clock", "visit", "plan", "walk", "tool")


def vignette(
    scenario: str = "butter",
    version: str = "A",
    condition: str = "A",
    level: int = 2,
    variant: int = 1,
    kind: str = "single",
    name: str = "Omar",
    **changes: Any,
) -> Item:
    """Return an instance as the builder makes it, with the story of this module."""
    number = 1 + SCENARIOS.index(scenario) if scenario in SCENARIOS else 1
    story = f"{name} set the butter on the {SIDES[condition]} ledge.{FILLERS[level]} At noon it was still there."
    return Item(
        item_id=f"{scenario}-{version}-{kind}-{condition}-level{level}-v{variant}{changes.pop('suffix', '')}",
        task="multiple_choice",
        factors={
            "template_id": f"{number}.{kind}.{version.lower()}",
            "scenario": scenario,
            "scenario_number": number,
            "version": version,
            "capability_type": kind,
            "condition": condition,
            "demand_condition": "c0" if condition == "A" else "c0 + c1",
            "demands": "place" if condition == "A" else "place; warmth",
            "inference_level": level,
            "pov": "first",
            "variant": variant,
            **changes.pop("factors", {}),
        },
        content=changes.pop("content", {"text": story, "prompt": f"What did {name} find?", "options": OPTIONS}),
        key=changes.pop("key", "ABCD".index(condition) + 1),
        **changes,
    )


def battery_of(items: list[Item], **header: Any) -> Battery:
    return Battery(**{"battery": "ledge", "version": "1.0", **header}, items=tuple(items))


def human_design(offset: bool = True) -> tuple[Battery, dict[str, int]]:
    """Six scenarios in two versions, two conditions at three levels, over six groups, with a practice item."""
    items = [vignette(*cell) for cell in product(SCENARIOS, "AB", "AB", (0, 2, 3))]
    design = LatinSquare(
        method="latin_square",
        groups=6,
        rows=("scenario",),
        cells=("condition", "inference_level"),
        versions="version",
        offset_versions=offset,
    )
    groups = assign_groups(items, design)
    practice = Item(
        item_id="practice",
        task="multiple_choice",
        content={"text": "A plum rolled.", "prompt": "Where to?", "options": ["Left", "Right"]},
        key=2,
    )
    return battery_of([*items, practice]), groups


# --- reading a page ---------------------------------------------------------------------------------------------------

VOID = {"meta", "br", "hr", "img", "link", "input"}


@dataclass
class Node:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Node | str"] = field(default_factory=list)

    def all(self, tag: str, css_class: str = "") -> Iterator["Node"]:
        for child in self.children:
            if isinstance(child, Node):
                if child.tag == tag and (not css_class or css_class in child.attributes.get("class", "").split()):
                    yield child
                yield from child.all(tag, css_class)

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)


class Reader(HTMLParser):
    """A strict reader: every open tag must be closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Node("root")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Node(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag, f"</{tag}> closes another tag"

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read(html: str) -> Node:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == [reader.root]
    return reader.root


def page(items: list[Item], groups: Mapping[str, int] | None = None) -> Node:
    return read(render_preview(battery_of(items), groups))


def cell_of(root: Node, item_id: str) -> Node:
    (found,) = (
        cell
        for table in root.all("table", "instances")
        for cell in table.all("td")
        if any(code.text == item_id for code in cell.all("code"))
    )
    return found


def marked(cell: Node, tag: str) -> list[str]:
    story = next(cell.all("div", "text"))
    return [node.text for node in story.all(tag)]


def sentences(root: Node) -> dict[str, bool]:
    """Return the properties of the design, each with True if the page says that it holds."""
    (facts,) = root.all("ul", "facts")
    return {list(fact.all("span"))[-1].text: "Holds:" in fact.text for fact in facts.all("li")}


def rows_of(root: Node, label: str) -> list[list[str]]:
    """Return the body rows of the table whose scroll box has this label."""
    (box,) = (box for box in root.all("div", "scroll") if box.attributes["aria-label"] == label)
    (body,) = box.all("tbody")
    return [[" ".join(cell.text.split()) for cell in row.children if isinstance(cell, Node)] for row in body.all("tr")]


# --- the differences --------------------------------------------------------------------------------------------------


def test_words_that_differ_from_condition_a_are_marked_and_nothing_else() -> None:
    root = page([vignette(condition=condition, level=2) for condition in "ABC"])
    assert marked(cell_of(root, "butter-A-single-B-level2-v1"), "mark") == ["warm"]
    assert marked(cell_of(root, "butter-A-single-C-level2-v1"), "mark") == ["high"]
    assert marked(cell_of(root, "butter-A-single-A-level2-v1"), "mark") == ["cold"]  # a word that B and C lack
    assert not list(next(root.all("table", "instances")).all("ins"))


def test_words_that_differ_from_level_2_are_marked_down_the_levels() -> None:
    root = page([vignette(condition=condition, level=level) for condition in "AB" for level in range(4)])
    for condition in "AB":
        for level, filler in FILLERS.items():
            cell = cell_of(root, f"butter-A-single-{condition}-level{level}-v1")
            assert marked(cell, "ins") == ([filler.strip()] if filler else [])
            assert marked(cell, "mark") == [SIDES[condition]]


def test_without_level_2_levels_are_compared_with_the_first_level() -> None:
    root = page([vignette(level=0), vignette(level=1)])
    assert marked(cell_of(root, "butter-A-single-A-level0-v1"), "ins")
    assert "from level 0: +3 −5" in cell_of(root, "butter-A-single-A-level1-v1").text


def test_equal_conditions_have_no_marks_and_the_page_says_so() -> None:
    content = {"text": "The same.", "prompt": "What?", "options": OPTIONS}
    root = page([vignette(condition=condition, content=content) for condition in "AB"])
    (table,) = root.all("table", "instances")
    assert not [*table.all("mark"), *table.all("ins")]
    assert "from A: the same" in cell_of(root, "butter-A-single-B-level2-v1").text


def test_a_cell_says_how_many_words_differ() -> None:
    root = page([vignette(condition=condition) for condition in "AD"])
    assert "15\u00a0words; from A: +2 −1" in cell_of(root, "butter-A-single-D-level2-v1").text


def test_the_marked_pieces_put_together_are_the_text() -> None:
    for text in ("", " lead", "One, two – three.\n\nNew  paragraph ", "It’s o'clock; a well-known X-ray…", "\n"):
        tokens = tokens_of(text)
        for places in (set(), {0}, set(range(len(tokens))), set(range(0, len(tokens), 2))):
            assert "".join(piece.text for piece in pieces(tokens, places, {1})) == text
    root = page([vignette(condition=condition, level=level) for condition in "AB" for level in (0, 2)])
    for item in (vignette(condition="B", level=0), vignette(condition="A", level=2)):
        story = next(cell_of(root, item.item_id).all("div", "text"))
        assert story.text == item.content["text"]


def test_question_and_options_are_shown_once_with_the_right_option_of_each_condition() -> None:
    root = page([vignette(condition=condition, level=level) for condition in "AB" for level in (0, 2)])
    (table,) = root.all("table", "options")
    assert next(table.all("caption")).text == "What did Omar find?"
    assert not list(root.all("ol", "choices"))
    (body,) = table.all("tbody")
    right = [["✓" in cell.text for cell in row.all("td")] for row in body.all("tr")]
    assert right == [[True, False], [False, True], [False, False], [False, False]]
    assert [mark.text for mark in body.all("mark", "right")] == ["✓ right", "✓ right"]


def test_options_that_differ_between_cells_are_shown_in_each_cell() -> None:
    other = {"text": "Story.", "prompt": "What did Selin find?", "options": OPTIONS[::-1]}
    root = page([vignette(), vignette(condition="B", content=other, key=3)])
    assert not list(root.all("table", "options"))
    cell = cell_of(root, "butter-A-single-B-level2-v1")
    assert [mark.text for mark in cell.all("mark", "right")] == ["✓ Right answer: It was soft."]
    prompt = next(cell.all("p", "text"))
    assert [mark.text for mark in prompt.all("mark")] == ["Selin"]


def test_a_key_that_changes_with_the_level_is_named_with_the_level() -> None:
    root = page([vignette(level=0, key=1), vignette(level=2, key=2)])
    (table,) = root.all("table", "options")
    assert [mark.text for mark in table.all("mark")] == ["✓ right at level 0", "✓ right at level 2"]


def test_the_head_of_a_column_names_the_demands_that_the_condition_adds() -> None:
    (table,) = page([vignette(condition=condition) for condition in "AB"]).all("table", "instances")
    first, second = (head.text for head in next(table.all("thead")).all("th"))
    assert "adds" not in first
    assert "adds warmth" in second


# --- variants, points of view, perturbations --------------------------------------------------------------------------


def test_the_first_variant_is_open_two_are_folded_and_the_rest_is_counted() -> None:
    items = [vignette(condition=condition, variant=variant) for condition in "AB" for variant in range(1, 6)]
    (question,) = page(items).all("div", "question")
    folded = [next(details.all("summary")).text for details in question.all("details")]
    assert folded == ["Variant 2, first person (2\u00a0items)", "Variant 3, first person (2\u00a0items)"]
    assert "2\u00a0further variants are not shown (4\u00a0items)" in question.text
    assert "level2-v4" not in question.text


def test_further_points_of_view_are_folded() -> None:
    third = vignette(suffix="-third", factors={"pov": "third"})
    (question,) = page([vignette(), third]).all("div", "question")
    assert [next(details.all("summary")).text for details in question.all("details")] == [
        "Variant 1, third person (1\u00a0item)"
    ]


def test_without_a_factor_variant_items_are_variants_in_the_order_of_their_ids() -> None:
    items = [vignette(suffix=f"-row{row}", name=name) for row, name in enumerate(("Omar", "Selin"), start=1)]
    for item in items:
        del item.factors["variant"]
    (question,) = page(items).all("div", "question")
    assert next(question.all("details")).text.startswith("Variant 2, first person")


def perturbed(degree: float, condition: str = "A") -> Item:
    clean = dict(vignette(condition=condition).content)
    shown = {**clean, "text": str(clean["text"]).replace(" ledge", "  ledge").replace("noon", "nqqn")}
    factors = {"spacing_noise_proportion": degree, "character_noise_number": 5}
    return vignette(condition=condition, suffix=f"-noise{degree}", factors=factors, content=shown, clean=clean)


def test_perturbed_items_are_folded_next_to_their_clean_text_with_the_changes_marked() -> None:
    root = page([vignette(), perturbed(0.5)])
    (details,) = next(root.all("div", "question")).all("details")
    assert "1\u00a0instance with a perturbation, beside the clean text" in details.text
    clean, shown, *_ = details.all("td")
    assert next(clean.all("p")).text == vignette().content["text"]
    assert next(shown.all("p")).text == perturbed(0.5).content["text"]
    assert [mark.text for mark in shown.all("mark")] == ["  ledge", "nqqn"]
    assert "spacing noise proportion 0.5, character noise number 5" in details.text
    assert not list(clean.all("mark"))
    assert next(cell_of(root, vignette().item_id).all("div", "text")).text == vignette().content["text"]


def test_if_all_items_are_perturbed_the_clean_text_is_compared() -> None:
    root = page([perturbed(0.5), perturbed(0.5, condition="B")])
    assert marked(cell_of(root, "butter-A-single-B-level2-v1-noise0.5"), "mark") == ["warm"]


def test_of_many_perturbed_items_one_item_per_perturbation_is_shown() -> None:
    items = [perturbed(degree / 100, condition) for condition in "AB" for degree in range(1, 11)]
    root = page([vignette(), *items])
    (details,) = next(root.all("div", "question")).all("details")
    assert (
        "20\u00a0instances with a perturbation, beside the clean text (10 shown, one for each perturbation)"
        in details.text
    )
    assert len(list(details.all("tbody"))) == 10


# --- counts -----------------------------------------------------------------------------------------------------------


def test_words_and_reading_time_are_counted() -> None:
    items = [vignette(condition=condition, level=level) for condition in "AD" for level in (0, 2)]
    rows = {row[0]: row[1:] for row in rows_of(page(items), "Words and reading time")}
    assert list(rows) == ["all", "single A", "single D", "level 0", "level 2"]
    assert rows["all"][:4] == ["4", "14", "18", "21"]  # stories of 14, 15, 20 and 21 words
    words = [ItemTexts.of(item.content).n_words for item in items]
    assert rows["all"][4:7] == [str(min(words)), str(round(sum(sorted(words)[1:3]) / 2)), str(max(words))]
    assert rows["all"][9] == f"{60 * max(words) / READING_WORDS_PER_MINUTE:.0f} s"


def test_prerequisite_questions_come_before_single_and_double_ones() -> None:
    kinds = ("double", "single", "comprehension_check")
    rows = rows_of(page([vignette(kind=kind) for kind in kinds]), "Words and reading time")
    assert [row[0] for row in rows] == ["all", "comprehension A", "single A", "double A"]


def test_a_participants_session_is_counted_from_the_groups() -> None:
    battery, groups = human_design()
    root = read(render_preview(battery, groups))
    words = Counter[int]()
    for item_id, group in groups.items():
        words[group] += ItemTexts.of(battery.by_id[item_id].content).n_words
    low, high = min(words.values()), max(words.values())
    span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    assert f"A participant reads {span} words in the test trials" in root.text
    assert [row[-2] for row in rows_of(root, "Items of each group")] == [f"{words[group]:,}" for group in range(1, 7)]
    assert "The 1\u00a0item outside the groups would add 7\u00a0words" in root.text


def test_answer_positions_are_counted_overall_by_condition_and_over_groups() -> None:
    battery, groups = human_design()
    rows = {row[0]: row[1:] for row in rows_of(read(render_preview(battery, groups)), "Positions of the right option")}
    assert rows["all"] == ["72", "36 · 50.0 %per group: 6", "36 · 50.0 %per group: 6", *["0 · 0.0 %per group: 0"] * 2]
    assert rows["single A"][:2] == ["36", "36 · 100.0 %per group: 6"]
    alone = rows_of(read(render_preview(battery, None)), "Positions of the right option")
    assert alone[0][2] == "36 · 50.0 %"


# --- the counterbalance design ----------------------------------------------------------------------------------------


def test_the_squares_of_the_picture_show_the_items_of_the_groups() -> None:
    battery, groups = human_design()
    root = read(render_preview(battery, groups))
    (picture,) = (svg for svg in root.all("svg") if svg.attributes.get("role") == "img")
    titles = {node.attributes.get("id") for node in (*picture.all("title"), *picture.all("desc"))}
    assert set(picture.attributes["aria-labelledby"].split()) <= titles
    squares = list(picture.all("g"))
    assert len(squares) == 6 * 12
    seen = {}
    for square in squares:
        group, item_id = re.fullmatch(r"group (\d+): (.+)", next(square.all("title")).text).groups()  # type: ignore[union-attr]
        assert square.attributes["data-group"] == group
        factors = battery.by_id[item_id].factors
        assert next(square.all("text")).text == f"{factors['condition']}{factors['inference_level']}"
        colour = {"A": "c0", "B": "c1"}[str(factors["condition"])]
        assert next(square.all("rect")).attributes["class"] == colour
        seen[item_id] = int(group)
    assert seen == groups
    table = rows_of(root, "The counterbalance matrix as a table")
    assert [row[0] for row in table][:3] == ["butter A", "butter B", "clock A"]
    assert [label for row in table for label in row[1:]] == [next(square.all("text")).text for square in squares]


def test_every_property_of_a_sound_design_is_said_to_hold() -> None:
    battery, groups = human_design()
    said = sentences(read(render_preview(battery, groups)))
    assert all(said.values()), said
    assert list(said) == [
        "Every one of the 72\u00a0test items is in exactly one group.",
        "Every group sees 12 items.",
        "Every scenario × version × condition × level is seen exactly once, by one group: 72 of 72.",
        "Within every group each condition is seen equally often: 6 times.",
        "Within every group each level is seen equally often: 4 times.",
        "Within every group each condition at each level is seen equally often: 2 times.",
        "Every group sees each story once: 12 of 12.",
        "No participant sees the same condition of a scenario twice.",
    ]
    rows = rows_of(read(render_preview(battery, groups)), "Items of each group")
    assert [row[:8] for row in rows] == [[str(g), "12", "6", "6", "4", "4", "4", "2"] for g in range(1, 7)]


def test_the_published_design_shows_one_condition_of_a_scenario_twice() -> None:
    battery, groups = human_design(offset=False)
    said = sentences(read(render_preview(battery, groups)))
    (broken,) = (sentence for sentence, holds in said.items() if not holds)
    assert broken.startswith(
        "In 6 of 6\u00a0groups a participant sees the same condition of a scenario twice, for example in group 1"
    )


def test_a_property_fails_if_an_item_changes_its_group() -> None:
    battery, groups = human_design()
    moved = next(item_id for item_id, group in groups.items() if group == 1)
    said = sentences(read(render_preview(battery, {**groups, moved: 2})))
    broken = [sentence for sentence, holds in said.items() if not holds]
    assert len(broken) == 6
    assert "The groups see 11 to 13 items." in broken
    assert any("Not every condition is seen equally often in 2 of 6\u00a0groups (group 1, 2)" in one for one in broken)
    assert "Not every group sees each story once: the counts are 0 to 2." in broken


def test_variants_in_several_groups_and_absent_cells_are_reported() -> None:
    items = [vignette(condition=condition, level=level) for condition in "AB" for level in (0, 2)][:-1]
    items.append(vignette(variant=2, level=0))
    groups = {item.item_id: 1 + number % 2 for number, item in enumerate(items)}
    groups[items[-1].item_id] = 2
    said = sentences(read(render_preview(battery_of(items), groups)))
    (sentence,) = (one for one in said if one.startswith("Of 4"))
    assert not said[sentence]
    assert "1\u00a0cell is seen by more than one group, 1\u00a0cell is seen by no group. Example: butter-A" in sentence


def test_items_of_the_groups_that_the_battery_lacks_are_named() -> None:
    battery, groups = human_design()
    said = sentences(read(render_preview(battery, {**groups, "ghost": 1})))
    assert said["The groups name 1\u00a0item that the battery does not have: ghost."] is False


def test_items_outside_the_groups_are_listed_separately() -> None:
    battery, groups = human_design()
    root = read(render_preview(battery, groups))
    (article,) = root.all("article")
    assert next(article.all("code")).text == "practice"
    assert [mark.text for mark in article.all("mark")] == ["✓ Right answer: Right"]


def test_each_kind_of_question_is_counted_separately() -> None:
    cells = product(SCENARIOS[:4], ("single", "double"), "ABCD")
    items = [vignette(one, condition=c, kind=kind) for one, kind, c in cells if kind == "double" or c in "AB"]
    design = Deal(method="deal", groups=2, balance=("capability_type", "condition"))
    root = page(items, assign_groups(items, design))
    said = sentences(root)
    assert said["Within every group each condition of a kind of question is seen equally often: 2 times."]
    assert [row[0] for row in rows_of(root, "The counterbalance matrix as a table")][:2] == [
        "butter A double",
        "butter A single",
    ]


# --- the page as a page -----------------------------------------------------------------------------------------------


def all_pages() -> Iterator[str]:
    battery, groups = human_design()
    yield render_preview(battery, groups)
    yield render_preview(battery, None)
    yield render_preview(battery_of([vignette(), perturbed(0.5), vignette(variant=2)]), None)
    yield render_preview(battery_of([hand_written(number) for number in range(3)]), None)


def hand_written(number: int) -> Item:
    return Item(
        item_id=f"q{number}",
        task="multiple_choice",
        content={"prompt": f"What is {number} + 1?", "options": [str(number), str(number + 1)]},
        key=2,
    )


def test_every_page_is_complete_html_with_unique_ids_and_valid_links() -> None:
    for html in all_pages():
        root = read(html)
        ids = re.findall(r'\sid="([^"]*)"', html)
        assert len(ids) == len(set(ids))
        assert {link.attributes["href"] for link in root.all("a")} <= {f"#{one}" for one in ids}
        levels = [int(tag) for tag in re.findall(r"<h([1-4])[ >]", html)]
        assert levels[0] == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))
        assert next(root.all("html")).attributes["lang"] == "en"
        assert all("scope" in head.attributes for head in root.all("th"))
        for box in root.all("div", "scroll"):
            assert box.attributes["tabindex"] == "0"
            assert box.attributes["aria-label"]


def test_a_page_needs_no_network_and_runs_no_script() -> None:
    for html in all_pages():
        assert not re.search(r"https?:|//|url\(|@import|\ssrc=|<script|<link|<img|<iframe", html)


def test_texts_of_a_battery_are_shown_and_never_become_markup() -> None:
    evil = "<script>alert(1)</script>"
    content = {"text": f"Story {evil}", "prompt": f"Why {evil}?", "options": [f"a {evil}", 'b " onload="x']}
    items = [
        vignette(scenario=evil, condition=condition, content=content, key=1, suffix=evil, factors={"version": evil})
        for condition in "AB"
    ]
    for item in items:
        item.factors.update(capability_type=evil, template_id=evil, demands=evil, demand_condition=evil, pov=evil)
    items[1].content["text"] = f"Other {evil} story {evil}"
    items.append(hand_written(1).model_copy(update={"item_id": evil, "factors": {"note": evil}}))
    battery = battery_of(items, battery=evil, version=evil, description=evil, canary=evil)
    for groups in (None, {items[0].item_id: 1, items[1].item_id: 2}):
        html = render_preview(battery, groups)
        assert "<script" not in html
        assert evil in next(read(html).all("main")).text
        assert 'onload="' not in html


def test_a_battery_without_scenarios_is_a_plain_list() -> None:
    root = page([hand_written(number) for number in range(3)])
    assert [next(article.all("code")).text for article in root.all("article")] == ["q0", "q1", "q2"]
    assert not list(root.all("table", "instances"))
    grouped = page([hand_written(number) for number in range(3)], {"q0": 1, "q1": 2})
    assert sentences(grouped) == {
        "Every one of the 2\u00a0test items is in exactly one group.": True,
        "Every group sees 1 item.": True,
    }
    assert not [svg for svg in grouped.all("svg") if svg.attributes.get("role")]


def test_a_story_with_only_the_factor_scenario_is_shown() -> None:
    item = Item(
        item_id="alone",
        task="multiple_choice",
        factors={"scenario": "walk"},
        content={"text": "One story.", "prompt": "What?", "options": ["Yes", "No"]},
        key=1,
    )
    assert next(cell_of(page([item]), "alone").all("div", "text")).text == "One story."
    assert "Every group sees each story once: 1 of 1." in sentences(page([item], {"alone": 1}))


def test_a_long_plain_list_says_how_many_items_are_not_shown() -> None:
    root = page([hand_written(number) for number in range(230)])
    assert len(list(root.all("article"))) == 200
    assert "30\u00a0further items are not shown." in root.text


def test_batteries_of_other_tasks_are_refused() -> None:
    ray = Item(item_id="ray", task="blackbox_predict", content={"atoms": [[1, 1]], "entry": "north-3"}, key="south-3")
    with pytest.raises(
        InputError, match=r"the item `ray` has the task blackbox.*the preview shows only multiple-choice items"
    ):
        render_preview(battery_of([vignette(), ray]), None)


def test_groups_of_another_battery_are_refused() -> None:
    with pytest.raises(InputError, match="the battery `ledge` has no item of the study"):
        render_preview(battery_of([vignette()]), {"other": 1})


@pytest.mark.parametrize("offset", [True, False])
def test_the_same_battery_gives_the_same_bytes_in_any_order_of_its_items(tmp_path: Path, offset: bool) -> None:
    battery, groups = human_design(offset)
    write_preview(battery, groups, tmp_path / "one.html")
    shuffled = battery.model_copy(update={"items": battery.items[::-1]})
    write_preview(shuffled, dict(reversed(groups.items())), tmp_path / "two.html")
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_a_page_that_cannot_be_written_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        write_preview(battery_of([vignette()]), None, tmp_path / "file" / "page.html")
    (tmp_path / "page.html").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_preview(battery_of([vignette()]), None, tmp_path / "page.html")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "page.html"]
