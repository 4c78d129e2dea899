"""Matched and unmatched variation, answer positions, and labels."""

import json
import re
import shutil
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from batteries.items import Battery
from tests.batteries.vignettes import published_format as published
from tests.batteries.vignettes.building import (
    QUESTIONS,
    battery_of,
    by,
    code,
    labels_of,
    question,
    spread,
    story,
    texts,
)

# --- matched and unmatched variation ----------------------------------------------------------------------------------


def test_conditions_of_a_variant_differ_in_the_switch_alone(third: Battery, plain: Battery) -> None:
    for battery in (plain, third):
        for cell, items in by(battery.items, "template_id", "variant").items():
            labels = [labels_of(item)[0] for item in items]
            assert all(one.agree(other) for one, other in combinations(labels, 2)), cell
            assert len({item.factors["option_order"] for item in items}) == 1, cell


def test_the_questions_on_a_story_share_its_labels(plain: Battery) -> None:
    """Prerequisites ask about the same story as single and double questions."""
    for cell, items in by(plain.items, "scenario", "version", "variant").items():
        labels = [labels_of(item)[0] for item in items]
        assert all(labels[0].agree(other) for other in labels[1:]), cell


def test_equal_switches_give_equal_texts(plain: Battery) -> None:
    """If two conditions set all switches alike, their stories at one level are identical."""
    seen: dict[tuple[Any, ...], list[Any]] = {}
    for item in plain.items:
        link = tuple(question(item)["links"][code(item)])
        cell = (
            item.factors["scenario"],
            item.factors["version"],
            item.factors["inference_level"],
            item.factors["variant"],
        )
        assert seen.setdefault((*cell, link), texts(item)[0]) == texts(item)[0]


def test_unmatched_instances_have_separate_draws(templates: Path) -> None:
    battery = battery_of(templates, {"matched": False, "capability_types": ["single"]}, seed=4)
    assert len(battery.items) == 6 * 2 * 4 * 5
    cells = by(battery.items, "template_id", "inference_level", "variant")
    pairs = [(labels_of(one)[0].of, labels_of(other)[0].of) for one, other in cells.values()]
    shared = sum(one.get("name_1") == other.get("name_1") for one, other in pairs)
    assert shared < len(pairs) / 4  # by chance one in sixty
    orders = {tuple(item.factors["option_order"] for item in items) for items in cells.values()}
    assert any(one != other for one, other in orders)
    assert spread(Counter(int(str(item.key)) for item in battery.items)) <= 4


# --- positions of the right option ------------------------------------------------------------------------------------


def test_answer_positions_are_balanced(plain: Battery) -> None:
    """Conditions and levels of a variant share one order of the options, so the test counts these orders.

    In every kind of question and condition each position is right in the same number of orders, except for the
    remainder of a block of four. Double questions differ in the conditions that share a right option. Each such pattern
    has a remainder.
    """
    orders = {
        (item.factors["template_id"], item.factors["condition"], item.factors["variant"]): item for item in plain.items
    }.values()
    patterns: defaultdict[Any, set[tuple[int, ...]]] = defaultdict(set)
    for qa in QUESTIONS.values():
        right = [answers.index(1) for answers in qa["answers"].values()]
        patterns[qa["capability_type"]].add(tuple(right.index(option) for option in right))
    for (kind, condition), items in by(orders, "capability_type", "condition").items():
        rest = spread(Counter(int(str(item.key)) for item in items))
        assert rest <= len(patterns[kind]), (kind, condition)
    # Over the whole battery: at most one order in a hundred more in one position than in another.
    counts = Counter(int(str(item.key)) for item in plain.items)
    assert spread(counts) <= len(plain.items) / 100, counts


@pytest.mark.parametrize("n_variants", [4, 8])
def test_whole_blocks_are_balanced_exactly(templates: Path, n_variants: int) -> None:
    """Of four variants of a question, each has the right option at a different position, in every condition."""
    for qa_id in ("1.2.0.0.a", "1.1.0.0.a", "1.0.0.0.a", "2.2.0.0.b", "3.2.0.0.a"):
        battery = battery_of(
            templates, {"ids": [qa_id], "variants": n_variants, "inference_levels": [2]}, seed=n_variants
        )
        for items in by(battery.items, "condition").values():
            assert spread(Counter(int(str(item.key)) for item in items)) == 0, qa_id


def test_all_positions_are_used_even_by_few_items(templates: Path) -> None:
    battery = battery_of(templates, {"variants": 1, "inference_levels": [2], "capability_types": ["single"]}, seed=5)
    assert {item.key for item in battery.items} == {1, 2, 3, 4}


def test_the_wrong_options_are_shuffled_too(plain: Battery) -> None:
    """The balance of the right option must not fix the order of the other options."""
    for qa_id, items in by(plain.items, "template_id").items():
        assert len({item.factors["option_order"] for item in items}) >= 3, qa_id
    sequences: Counter[tuple[int, ...]] = Counter()
    for item in plain.items:
        right = [answers.index(1) for answers in question(item)["answers"].values()]
        if len(set(right)) == 1 and code(item) == "0" and item.factors["inference_level"] == 2:
            order = [int(digit) - 1 for digit in str(item.factors["option_order"])]
            wrong = sorted(set(range(4)) - set(right))
            sequences[tuple(wrong.index(option) for option in order if option in wrong)] += 1
    assert sequences.total() == 18 * 5
    assert len(sequences) == 6 and max(sequences.values()) < 90 * 0.4, sequences


@pytest.mark.parametrize("n_scenarios", [2, 3, 4])
def test_options_are_shuffled_per_instance(templates: Path, tmp_path: Path, n_scenarios: int) -> None:
    """With any number of scenarios, no question has its right option at the same position in all variants.

    Otherwise a subject who prefers one position would be right, or wrong, in all variants of a question, and the
    scenario would reveal the position.
    """
    copy = published.copy_of(templates, tmp_path / "templates")
    if n_scenarios == 4:
        shutil.copytree(copy / "night_bus", copy / "day_bus")
        (copy / "day_bus" / "night_bus_context_template.json").rename(
            copy / "day_bus" / "day_bus_context_template.json"
        )
        for path in (copy / "day_bus").glob("*.json"):
            if path.name != "day_bus_context_template.json":
                published.edit_json(path, ("id",), lambda old: f"4{old[1:]}")
                published.edit_json(path, ("base_context",), "day_bus")
                published.edit_json(path, ("base_context_number",), 4)
    for scenario in ("night_bus", "market_stall")[: max(3 - n_scenarios, 0)]:
        shutil.rmtree(copy / scenario)
    items = battery_of(copy, {"variants": 8, "inference_levels": [2]}).items
    assert len({item.factors["scenario"] for item in items}) == n_scenarios
    cells = by(items, "template_id", "condition")
    fixed = [cell for cell, variants in cells.items() if len({item.key for item in variants}) == 1]
    assert not fixed, f"{len(fixed)} of {len(cells)} have one position in all eight variants"


def test_the_order_of_variants_does_not_reveal_the_positions(templates: Path) -> None:
    keys = [
        [item.key for item in battery_of(templates, {"ids": ["1.1.0.0.a"], "variants": 8, "conditions": ["A"],
                                                    "inference_levels": [2]}, seed).items]
        for seed in range(5)
    ]  # fmt: skip
    assert len({tuple(key) for key in keys}) > 1


# --- labels -----------------------------------------------------------------------------------------------------------


def test_weights_are_followed(templates: Path) -> None:
    """`foggy` has weight 12 of 20, `windy` 4, `icy` and `humid` 0.5. One variant is drawn for each of many cells."""
    drawn: Counter[str] = Counter()
    for seed in (11, 12):
        battery = battery_of(templates, {"matched": False, "variants": 1}, seed)
        drawn.update(label for item in battery.items if (label := labels_of(item)[0].of.get("weather_1")))
    n = drawn.total()
    assert n == 2 * 4 * 12 * 4  # seeds, stories with weather, conditions, levels
    for label, weight in published.WEATHER.items():
        share = weight / sum(published.WEATHER.values())
        deviation = abs(drawn[label] - n * share) / (n * share * (1 - share)) ** 0.5
        assert deviation < 4, (label, drawn)


def test_labels_without_weights_are_drawn_evenly(templates: Path) -> None:
    drawn: Counter[str] = Counter()
    flips: Counter[str] = Counter()
    for seed in (13, 14):
        battery = battery_of(templates, {"matched": False, "variants": 1, "pov": ["first", "third"]}, seed)
        for item in battery.items:
            labels = labels_of(item)[0].of
            drawn[labels["name_1"]] += 1
            if "coinflip_2" in labels:
                flips[labels["coinflip_2"]] += 1
    n = drawn.total()
    assert set(drawn) == set(published.NAMES)
    assert sum((drawn[name] - n / 60) ** 2 / (n / 60) for name in published.NAMES) < 110  # chi-square, 59 df: p < 1e-4
    assert abs(flips["drawer"] - flips["old box"]) < 4 * flips.total() ** 0.5


def test_numbers_and_pseudo_words_are_drawn(plain: Battery) -> None:
    small, big, words = set(), set(), set()
    for item in plain.items:
        labels = labels_of(item)[0].of
        small |= {label for key, label in labels.items() if key.startswith("smallnumber")}
        big |= {int(label) for key, label in labels.items() if key.startswith("bignumber")}
        words |= {label for key, label in labels.items() if key.startswith("pseudo")}
        if "bignumber_2" in labels and "bignumber_1" in labels:
            assert labels["bignumber_1"] != labels["bignumber_2"]
    assert small <= {"two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"} and len(small) > 1
    assert min(big) >= 50 and max(big) <= 100
    assert len(words) == 5
    assert all(re.fullmatch(r"[a-z]{3,12}", word) and re.search("[aeiouy]", word) for word in words)
    assert not any(re.search(r"[^aeiouy]{4}|[aeiou]{3}", word) for word in words), words  # pronounceable


def test_the_protagonist_has_a_name_in_the_third_person(third: Battery) -> None:
    for item in third.items:
        labels, _ = labels_of(item)
        text, prompt, options = texts(item)
        whole = " ".join((text, prompt, *options))
        shown = json.dumps([story(item)["context"], question(item)["question"]])
        if item.factors["pov"] == "third":
            assert not re.search(r"\byou(r|rs|rself)?\b", whole, re.IGNORECASE), whole
            assert ("protagonist" in labels.of) == ("[pov_1]" in shown or "[pov_9]" in shown), item.item_id
            assert labels.of.get("protagonist", "Odile") in published.NAMES
        else:
            assert "protagonist" not in labels.of


def test_both_points_of_view_of_a_variant_share_all_other_labels(third: Battery) -> None:
    for pair in by(third.items, "template_id", "condition", "inference_level", "variant").values():
        first, other = sorted(pair, key=lambda item: str(item.factors["pov"]))
        assert labels_of(first)[0].agree(labels_of(other)[0])
