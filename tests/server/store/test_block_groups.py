"""Studies with blocks in a store: their groups, their revisions, and studies that have no blocks."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from batteries.errors import InputError
from experiment.load_study import load_study
from experiment.plan import plan_session
from experiment.records import Kind
from experiment.study.definition import Study, StudyDefinition, content_digest
from server.participants.group_links import group_of, group_token
from server.store import Store
from server.store.errors import StudyFull
from tests.block_study import make_block_study
from tests.server.conftest import SECRETS
from tests.server.stores import Person, execute_sql, problems, recruiting, rows


@pytest.fixture
def blocks(tmp_path: Path) -> Study:
    return load_study(make_block_study(tmp_path / "blocks"))


def test_sessions_are_spread_over_the_groups_and_the_orders_of_blocks(any_store: Store, blocks: Study) -> None:
    any_store.register_study(blocks)
    people = [Person(any_store, blocks) for _ in range(5)]
    assert [person.group for person in people] == [1, 2, 3, 4, 1]
    for person in people[:4]:
        planned = plan_session(blocks, person.group, 1).trials
        assert [trial.item.item_id for trial in person.stored.plan.trials] == [trial.item_id for trial in planned]
    progress = [group for group in any_store.progress(blocks) if group.kind is Kind.HUMAN]
    assert [group.group for group in progress] == [1, 2, 3, 4]
    assert problems(any_store) == []


def test_a_quota_per_group_holds_for_each_order_of_blocks(any_store: Store, blocks: Study) -> None:
    study = recruiting(blocks, quota_per_group=1)
    any_store.register_study(study)
    assert sorted(Person(any_store, study).group for _ in range(4)) == [1, 2, 3, 4]
    with pytest.raises(StudyFull):
        Person(any_store, study)


def test_slots_of_a_group_that_are_missing_are_found(any_store: Store, blocks: Study) -> None:
    any_store.register_study(blocks)
    execute_sql(any_store, "DELETE FROM slots WHERE kind = 'human' AND \"group\" = 4")
    (problem,) = problems(any_store)
    assert "group 4, human: the numbers of slots and sessions differ" in problem


def test_links_of_groups_exist_for_each_order_of_blocks(blocks: Study) -> None:
    key = SECRETS.signing_key
    for group in (1, 4):
        assert group_of(blocks, key, group_token(blocks, key, group)) == group
    assert group_of(blocks, key, group_token(blocks, key, 5)) is None


def test_another_wording_of_a_block_is_a_revision_and_another_order_is_not(any_store: Store, blocks: Study) -> None:
    any_store.register_study(blocks)
    first = Person(any_store, blocks)
    reworded = replace(blocks, texts={**blocks.texts, "words.md": "# Now words\n\nSay every word aloud.\n"})
    assert any_store.revise_study(reworded, "typo").changed == ("`words.md`",)
    assert Person(any_store, reworded).stored.plan.texts["words.md"].endswith("every word aloud.\n")
    assert first.begin().plan.texts == blocks.texts
    definition = blocks.definition
    assert definition.blocks is not None
    fixed = definition.blocks.model_copy(update={"order": "fixed"})
    other = replace(blocks, definition=definition.model_copy(update={"blocks": fixed}))
    with pytest.raises(InputError, match=r"`blocks\.order` changed after the first session\. Fix: give"):
        any_store.revise_study(other, "another order")
    assert problems(any_store) == []


def test_a_definition_from_before_blocks_is_read_and_keeps_its_digest(any_store: Store, sample_study: Study) -> None:
    any_store.register_study(sample_study)
    person = Person(any_store, sample_study)
    ((text,),) = rows(any_store, "SELECT definition FROM studies")
    former = json.loads(text)
    del former["blocks"], former["order"]["sequence"]
    read = StudyDefinition.model_validate(former)
    assert read == sample_study.definition
    assert (read.n_groups, read.blocks) == (10, None)
    assert content_digest(read, sample_study.battery.digest, sample_study.texts) == sample_study.digest
    assert person.begin().plan.definition == read
