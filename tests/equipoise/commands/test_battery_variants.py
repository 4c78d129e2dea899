"""`equipoise battery variants`: from a study to a study that asks every item in several orders and wordings."""

import re
from pathlib import Path

import equipoise as eq
from experiment.plan import plan_session
from tests.equipoise.commands.store.commands import done, refused

COLOURS = """
battery: colours
version: "1"
items:
- {item_id: sky, task: multiple_choice, content: {prompt: Which?, options: [Red, Blue]}, key: 2}
- {item_id: grass, task: multiple_choice, content: {prompt: Which?, options: [Red, Blue, None of the above]}, key: 3}
"""


def test_the_variants_of_a_study_are_the_battery_of_its_next_version(tmp_path: Path) -> None:
    folder, words = tmp_path / "study", tmp_path / "words.csv"
    eq.new(folder, "intuition-single")
    first = eq.load_study(folder)
    original = first.test_items[0].item_id
    words.write_text(f"item_id,prompt\n{original},Which one is it?\n", encoding="utf-8")
    printed = done("battery", "variants", folder, "-o", folder / "variants.jsonl", "--paraphrases", words)
    assert printed == (
        f"Made {folder / 'variants.jsonl'} with 579 items: 432 with another order of options, 1 paraphrased.\n"
    )
    definition = (folder / "study.yaml").read_text(encoding="utf-8").replace("battery.jsonl", "variants.jsonl")
    design = "design: {method: deal, groups: 4, balance: [original_item]}\n\norder:"
    definition = re.sub(r"design:.*?order:", design, definition, count=1, flags=re.DOTALL)
    (folder / "study.yaml").write_text(definition, encoding="utf-8")
    study = eq.load_study(folder)
    assert len(study.test_items) == 577
    assert [study.battery.by_id[item_id] for item_id in study.definition.practice] == [
        first.battery.by_id[item_id] for item_id in first.definition.practice
    ]
    items = [study.battery.by_id[trial.item_id] for trial in plan_session(study, 1, 7).trials]
    asked = [item.factors["original_item"] for item in items if "original_item" in item.factors]
    assert len(asked) == 145
    assert set(asked) == {item.item_id for item in first.test_items}  # The group gets the fifth version of an item too.
    assert "the battery has variants already" in refused("battery", "variants", folder, "-o", tmp_path / "v.jsonl")


def test_items_that_keep_their_order_are_named(tmp_path: Path) -> None:
    file, output = tmp_path / "colours.yaml", tmp_path / "variants.jsonl"
    file.write_text(COLOURS, encoding="utf-8")
    printed = done("battery", "variants", file, "-o", output, "--orders", 2)
    assert printed.splitlines() == [
        f"Made {output} with 3 items: 1 with another order of options, 0 paraphrased.",
        "These items have no other order, because an option refers to other options by place, letter or number: grass.",
    ]
    assert "no item has a variant" in refused("battery", "variants", file, "-o", output, "--keep-order", "sky")
    for orders in ("0", "some", "-1"):
        assert "this is not a number of orders" in refused(
            "battery", "variants", file, "-o", output, "--orders", orders
        )
    assert len(eq.load_battery(output).items) == 3
