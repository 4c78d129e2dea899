"""The instructions of blocks in prompts."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiment.load_study import load_study
from experiment.models.prompts.requests import requests_for
from experiment.plan import Phase, plan_session
from experiment.study.definition import Study
from tests.block_study import make_block_study

PICTURES, WORDS = "Imagine each thing.", "Say each word aloud."


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return load_study(make_block_study(tmp_path / "blocks"))


def test_in_a_session_the_instructions_of_a_block_come_once_before_its_first_item(study: Study) -> None:
    made = list(requests_for(study, group=3, seed=1, whole_session=True))
    plan = [trial.item_id for trial in plan_session(study, 3, 1).trials]
    assert [request.item_id for request in made] == plan
    for text, lists in ((PICTURES, {"l1", "l2"}), (WORDS, {"l3", "l4"})):
        (request,) = [one for one in made if text in one.prompt.user]
        assert request.item_id == next(item_id for item_id in plan if item_id[:2] in lists)
        assert request.prompt.user.index(text) < request.prompt.user.index(
            study.battery.by_id[request.item_id].content["prompt"]
        )
    assert "Say them twice." in next(one.prompt.user for one in made if WORDS in one.prompt.user)


def test_a_single_item_comes_after_the_instructions_of_its_block(study: Study) -> None:
    for request in requests_for(study, style="human-equivalent"):
        user, item = request.prompt.user, study.battery.by_id[request.item_id]
        own, other = (PICTURES, WORDS) if item.factors["material"] == "pictures" else (WORDS, PICTURES)
        assert other not in user
        parts = ["Remember each word.", "Which animal barks?", own, item.content["prompt"]]
        assert [user.count(part) for part in parts] == [1] * 4
        assert sorted(parts, key=user.index) == parts


def test_a_style_without_instructions_has_no_instructions_of_blocks(study: Study) -> None:
    for request in requests_for(study, style="three-lines"):
        assert PICTURES not in request.prompt.user and WORDS not in request.prompt.user


def test_a_template_without_the_whole_item_has_them_among_the_instructions(study: Study, tmp_path: Path) -> None:
    template = tmp_path / "own.txt"
    template.write_text("{{ instructions | join('\\n') }}\n{{ prompt }}", encoding="utf-8")
    made = {one.item_id: one.prompt.user for one in requests_for(study, style=str(template))}
    assert made["l1.long.study"].index(PICTURES) < made["l1.long.study"].index("Remember: apple")
    assert PICTURES not in made["l3.long.study"]


def test_the_digest_of_a_prompt_changes_with_the_instructions_of_a_block(study: Study) -> None:
    other = replace(study, texts={**study.texts, "words.md": "# Now words\n\nWhisper.\n"})
    for style, differs in (("human-equivalent", True), ("three-lines", False)):
        digests = {requests_for(each, style=style).by_task["multiple_choice"].digest for each in (study, other)}
        assert (len(digests) == 2) == differs


def test_the_plan_of_a_session_decides_which_items_are_checks(study: Study) -> None:
    made = list(requests_for(study, group=1, seed=1, whole_session=True))
    phases = [trial.phase for trial in plan_session(study, 1, 1).trials]
    check = phases.index(Phase.ATTENTION_CHECK)
    assert PICTURES not in made[check].prompt.user and WORDS not in made[check].prompt.user
