"""Keys of options, and mappings of keys to responses over groups: pure functions of the study and the group."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.data.tidy_table import read_trials
from batteries.errors import InputError
from batteries.items import Item
from equipoise.commands.check.groups import groups_point
from experiment.load_study import load_study
from experiment.plan import plan_session
from experiment.simulated_participants import simulate
from experiment.study.response_keys import ResponseKeys, with_response_keys
from tests.block_study import make_block_study
from tests.server_process import running_server
from tests.timed_study import choice, keypress, make_timed_study

BALANCED = "response_keys: {options: [f, j], mappings: 2}\n"


def item_of(line: dict[str, Any]) -> Item:
    return Item.model_validate(line)


def response_of_key(item: Item, key: str) -> Any:
    """Return the response that a key gives to an item."""
    content: Any = item.content
    return content["keys"][key] if item.task == "keypress" else content["option_keys"].index(key) + 1


@given(n_keys=st.integers(2, 5), task=st.sampled_from(["keypress", "multiple_choice"]))
def test_over_all_mappings_each_response_has_each_key_once(n_keys: int, task: str) -> None:
    keys = "adfjk"[:n_keys]
    names = {key: f"response {number}" for number, key in enumerate(keys)}
    made = keypress("q", None, keys=names) if task == "keypress" else choice("q", options=[*names.values()])
    setting, item = ResponseKeys(options=tuple(keys), mappings=n_keys), item_of(made)
    shown = [with_response_keys(item, setting, mapping) for mapping in range(1, n_keys + 1)]
    pairs = Counter((key, str(response_of_key(one, key))) for one in shown for key in keys)
    assert len(pairs) == n_keys**2
    assert set(pairs.values()) == {1}
    assert [response_of_key(shown[0], key) for key in keys] == (
        [*names.values()] if task == "keypress" else [*range(1, n_keys + 1)]
    ), "the first mapping has the keys of the study and of the battery"


def test_only_single_choices_and_fast_responses_get_other_keys() -> None:
    setting = ResponseKeys(options=("f", "j", "k"), mappings=6)
    several = item_of(choice("q", several={"at_least": 1, "at_most": 2}) | {"key": [1]})
    assert with_response_keys(several, setting, 2) is several
    assert with_response_keys(item_of(choice("q")), ResponseKeys(mappings=2), 2).content == choice("q")["content"]
    two_options = with_response_keys(item_of(choice("q")), setting, 2)
    assert two_options.content["option_keys"] == ["j", "f"], "an item with two options has the first two keys"
    go = item_of(keypress("go", None, keys={"space": "go"}, withhold=True, window_ms=500))
    assert with_response_keys(go, setting, 2).content["keys"] == {"space": "go"}


def test_mappings_are_crossed_with_groups_and_orders_of_blocks(tmp_path: Path) -> None:
    def change(study: dict[str, Any]) -> None:
        study["response_keys"] = {"options": ["f", "j"], "mappings": 2}

    study = load_study(make_block_study(tmp_path / "study", change))
    assert study.definition.n_groups == 8
    assert [study.definition.response_mapping(group) for group in range(1, 9)] == [1] * 4 + [2] * 4
    assert study.definition.response_mapping(None) == 1
    first_blocks = [
        next(study.battery.by_id[t.item_id].factors["material"] for t in plan.trials if t.phase.value == "test")
        for plan in (plan_session(study, group, 1) for group in range(1, 9))
    ]
    assert first_blocks == ["pictures", "pictures", "words", "words"] * 2
    items = [study.test_items_by_group[group] for group in range(1, 9)]
    assert items[0] == items[2] == items[4] == items[6] != items[1] == items[3] == items[5] == items[7]
    said = groups_point(study).found
    assert "4 groups, which have different orders of the blocks and different response keys" in said


def test_a_study_without_response_keys_keeps_its_digest_and_its_groups(tmp_path: Path) -> None:
    def digest(name: str, more: str) -> str:
        return load_study(make_timed_study(tmp_path / name, [choice("q"), keypress("w", None)], more)).digest

    plain = digest("plain", "")
    assert digest("empty", "response_keys: {}\n") == plain
    assert len({plain, digest("keys", "response_keys: {options: [f, j]}\n"), digest("two", BALANCED)}) == 3


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (
            "{options: [f, j]}",
            "`response_keys.options` has 2 keys, but the item `three-0` has 3 options. Fix:",
        ),
        ("{options: [f, f]}", "the key `f` has several options. Fix: give each option its own key."),
        ("{options: [escape, f1]}", "`response_keys.options"),
        ("{options: [f, j, k], mappings: 3}", "the item `q` has 2 keys, so its responses would not have each key"),
        ("{mappings: 2}", "`response_keys.mappings` has no effect"),
        ("{options: [f, j, k], mappings: 7}", "is 7, but the item `q` has 2 keys"),
        (
            "{options: [f, j, k], mappings: 54}",
            "`response_keys`: 20 groups with 54 mappings of response keys each are 1,080 groups",
        ),
    ],
)
def test_keys_that_do_not_fit_the_items_are_refused(tmp_path: Path, setting: str, words: str) -> None:
    items = [choice("q"), *(choice(f"three-{n}", options=["a", "b", "c"]) for n in range(20))]
    folder = make_timed_study(tmp_path / "study", items, f"response_keys: {setting}\n", practice=1)
    path = folder / "study.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("groups: 1", "groups: 20"), encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(words)):
        load_study(folder)


def test_a_response_has_the_same_score_under_each_mapping() -> None:
    setting = ResponseKeys(options=("f", "j"), mappings=2)
    for item in (item_of(choice("q")), item_of(keypress("w", "word"))):
        shown = with_response_keys(item, setting, 2)
        responses = [response_of_key(shown, key) for key in "fj"]
        assert [shown.score(response) for response in responses] == [item.score(response) for response in responses]


def test_simulated_participants_of_all_groups_answer_and_the_table_has_their_mappings(tmp_path: Path) -> None:
    items = [choice("p"), choice("q"), keypress("w", "word")]
    folder = make_timed_study(tmp_path / "study", items, BALANCED, practice=1)
    study = load_study(folder)
    with running_server(folder) as url:
        token = (folder / "data" / "researcher-token").read_text(encoding="ascii").strip()
        simulate(url, token, study, 4, 1)
    trials = read_trials(study.store_path)
    assert len(trials) == 4 * 3
    assert trials["response"].map(lambda response: response in (1, 2, "word", "nonword")).all()
    assert trials.groupby("group")["response_mapping"].unique().map(list).to_dict() == {1: [1], 2: [2]}
