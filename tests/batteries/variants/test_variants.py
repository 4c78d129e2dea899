"""Variants of items: the key follows its option, and nothing that could break an item is written."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.design import Deal, LatinSquare, assign_groups
from batteries.errors import InputError
from batteries.items import Battery, Item, load_battery, save_battery
from batteries.tasks import task_named
from batteries.variants import ITEM_VARIANT, ORIGINAL_ITEM
from batteries.variants.battery import with_variants
from batteries.variants.option_orders import in_other_orders, refers_to_options

OPTIONS = ["It was firm.", "It was soft.", "It was gone.", "There is not enough information to know."]


def choice(item_id: str = "q1", options: list[str] = OPTIONS, key: int = 1, **changes: Any) -> Item:
    content = {"text": "The butter was in the sun.", "prompt": "What about the butter?", "options": options}
    return Item(item_id=item_id, task="multiple_choice", content=content, key=key, **changes)


def battery_of(*items: Item) -> Battery:
    return Battery(battery="demo", version="1", canary="c-1", items=items)


@st.composite
def choices(draw: st.DrawFn) -> Item:
    options = draw(st.lists(st.text(min_size=1), min_size=2, max_size=9, unique=True))
    key = draw(st.integers(1, len(options)))
    template_order = "".join(map(str, draw(st.permutations(range(1, len(options) + 1)))))
    return choice(options=options, key=key, factors={"option_order": template_order})


def option_of(item: Item) -> str:
    return item.content["options"][item.key - 1]


@given(choices(), st.none() | st.integers(1, 9))
def test_in_every_order_the_key_names_the_same_option(item: Item, n_orders: int | None) -> None:
    versions = [item, *in_other_orders(item, n_orders)]
    n_options = len(item.content["options"])
    assert len(versions) == min(n_orders or 9, n_options)
    task = task_named("multiple_choice")
    for version in versions:
        assert option_of(version) == option_of(item)
        assert task.checked_content(version.content, version.key) == version.content
        assert sorted(version.content["options"]) == sorted(item.content["options"])
        by_template_number = dict(zip(version.factors["option_order"], version.content["options"], strict=True))
        assert by_template_number == dict(zip(item.factors["option_order"], item.content["options"], strict=True))
    assert len({version.item_id for version in versions}) == len(versions)
    for option in item.content["options"]:
        assert len({version.content["options"].index(option) for version in versions}) == len(versions)


@given(choices())
def test_the_right_option_is_in_every_position_once(item: Item) -> None:
    keys = [version.key for version in (item, *in_other_orders(item))]
    assert sorted(keys) == list(range(1, len(item.content["options"]) + 1))


def test_few_orders_are_far_apart() -> None:
    assert [version.factors[ITEM_VARIANT] for version in in_other_orders(choice(), 2)] == ["order 3"]


@pytest.mark.parametrize(
    "option",
    [
        "All of the above", "None of the above.", "Two of the above", "None above", "Both A and B", "A and C",
        "b or c", "(a), (b) and (c)", "Options 1 and 2", "Neither 1 nor 3", "Only B", "A and B are both right",
        "The options above",
        "The previous two answers are wrong", "Keine der oben genannten Antworten", "Alle obigen",
        "Aucune des réponses ci-dessus", "Ninguna de las anteriores", "Nenhuma das anteriores",
        "Nessuna delle precedenti", "Geen van bovenstaande",
    ],
)  # fmt: skip
def test_an_option_that_refers_to_the_place_of_others_is_found(option: str) -> None:
    assert refers_to_options(["Red", "Green", "Blue", option])


@pytest.mark.parametrize(
    "option",
    [
        OPTIONS[3], "Both", "Neither of them", "Option A", "The shelf above the door", "The one below the shelf",
        "The end of the previous week", "She gave the first answer", "H and I", "8 or 9", "A nurse and a doctor",
        "They were all above the shelf", "Er ist oben.", "Los años anteriores",
    ],
)  # fmt: skip
def test_an_option_with_a_meaning_of_its_own_is_rotated(option: str) -> None:
    assert not refers_to_options(["Red", "Green", option])


def test_a_battery_has_its_items_and_all_variants(tmp_path: Path) -> None:
    board = {"size": 8, "atoms": [[2, 3]], "entry": "north-1"}
    ray = Item(item_id="ray", task="blackbox_predict", content=board, key="south-1")
    above = choice("above", ["Red", "Blue", "None of the above"])
    scale = choice("scale", ["0", "1", "More"])
    noisy = choice("noisy", ["Ys", "no"], 2).model_copy(update={"clean": choice(options=["Yes", "No"]).content})
    practice = choice("practice")
    table = tmp_path / "words.csv"
    table.write_text('item_id,prompt,option_1\nq1,"How was\nit?",\nabove,,Crimson\nq1,,Hard.\n\n')
    whole = battery_of(choice(), ray, above, scale, noisy, practice)
    made = with_variants(whole, ["practice"], None, table, ["scale"])
    file = tmp_path / "battery.jsonl"
    save_battery(made.battery, file)
    battery = load_battery(file)
    assert battery.digest == made.battery.digest != whole.digest
    assert battery.by_id["practice"] == practice
    assert (battery.canary, made.n_orders, made.n_paraphrases, made.in_one_order) == ("c-1", 4, 3, ("above",))
    assert {item.item_id: item.factors[ORIGINAL_ITEM] for item in battery.items if item != practice} == {
        **{item_id: item_id for item_id in ("q1", "ray", "above", "scale", "noisy")},
        **{f"q1-{variant}": "q1" for variant in ("order2", "order3", "order4", "paraphrase1", "paraphrase2")},
        "above-paraphrase1": "above", "noisy-order2": "noisy",
    }  # fmt: skip
    assert battery.by_id["noisy-order2"].clean["options"] == ["No", "Yes"]
    assert battery.by_id["q1-paraphrase1"].content == {**choice().content, "prompt": "How was\nit?"}
    assert battery.by_id["q1-paraphrase2"].content["options"] == ["Hard.", *OPTIONS[1:]]
    assert battery.by_id["q1-paraphrase2"].factors[ITEM_VARIANT] == "paraphrase 2"


def test_each_group_of_people_sees_each_item_in_one_variant() -> None:
    items = with_variants(battery_of(*(choice(f"q{n}") for n in range(8))), [], None, None, []).battery.items
    square = LatinSquare(method="latin_square", groups=4, rows=(ORIGINAL_ITEM,), cells=(ITEM_VARIANT,))
    deal = Deal(method="deal", groups=4, balance=(ORIGINAL_ITEM, ITEM_VARIANT))
    for design in (square, deal):
        groups = assign_groups(items, design)
        seen = {(groups[item.item_id], item.factors[ORIGINAL_ITEM]) for item in items}
        variants = [(groups[item.item_id], item.factors[ITEM_VARIANT]) for item in items]
        assert len(seen) == len(items)
        assert {variants.count(each) for each in variants} == {2}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("text\nx\n", "line 1: there is no column `item_id`"),
        ("item_id,words\nq1,x\n", "line 1: unknown column `words`"),
        ("item_id,prompt\nq1,Why?\nq9,Why?\n", "line 3, item `q9`: the battery has no test item with this id"),
        ("item_id,prompt\nq1,What about the butter?\n", "line 2, item `q1`: the item, or an earlier row, has the same"),
        ("item_id,prompt\nq1,Why?\nq1,Why?\n", "line 3, item `q1`: the item, or an earlier row, has the same wording"),
        ("item_id,option_5\nq1,x\n", "line 2, item `q1`: `option_5` has a text, but the item has 4 options"),
        ("item_id,option_1\nq1,It was gone.\n", "line 2, item `q1`: `option_1` has the text of option 3"),
        ("item_id,option_1,option_2\nq1,x,x\n", "line 2, item `q1`: `options`: two options have the same text"),
        ("item_id,prompt\nnoisy,Why?\n", "line 2, item `noisy`: this item has a perturbation"),
    ],
)  # fmt: skip
def test_a_paraphrase_that_does_not_fit_is_refused_with_its_line(tmp_path: Path, table: str, message: str) -> None:
    file = tmp_path / "words.csv"
    file.write_text(table)
    noisy = choice("noisy").model_copy(update={"clean": choice().content})
    with pytest.raises(InputError, match="Fix: ") as error:
        with_variants(battery_of(choice(), noisy), [], None, file, [])
    assert f"{file}, {message}" in str(error.value)


def test_a_battery_that_cannot_have_variants_is_refused() -> None:
    twice = with_variants(battery_of(choice()), [], None, None, []).battery
    for battery, arguments, message in (
        (twice, ([], None, None, []), "the battery has variants already"),
        (battery_of(choice()), ([], 1, None, []), "no item has a variant"),
        (battery_of(choice(), choice("q1-order2")), ([], None, None, []), "a variant would get the id `q1-order2`"),
        (battery_of(choice("q" * 200)), ([], None, None, []), "more than 200 characters"),
        (battery_of(choice()), ([], None, None, ["q2"]), "no item `q2`"),
    ):
        with pytest.raises(InputError, match=f"{message}.*Fix: "):
            with_variants(battery, *arguments)
