"""A study that changes during data collection: its analysis plan, its wording (a revision), or its substance."""

import dataclasses
import uuid
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from batteries.errors import InputError
from batteries.items import Battery, Item
from experiment.models.baselines import run_baseline
from experiment.plan import plan_session
from experiment.records import Kind
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.definition import MaxRun, Order, Study
from experiment.study.exclusion_rules import AttentionCheckRule, MedianRtRule
from experiment.study.timeline import Resume
from server.store import Identity, Store, Visit
from tests.server.stores import Person, another, at_once, execute_sql, problems, rows, saying, version_of

Change = Callable[[Study], Study]


def with_page(study: Study, name: str, text: str) -> Study:
    assert name in study.texts
    return dataclasses.replace(study, texts={**study.texts, name: text})


def with_item(study: Study, change: Callable[[Item], Item], which: int = 0) -> Study:
    """Change one of the test items."""
    one = study.test_items[which]
    items = tuple(change(item) if item is one else item for item in study.battery.items)
    return dataclasses.replace(
        study, battery=Battery(**(study.battery.model_dump(exclude={"items"}) | {"items": items}))
    )


def planned(study: Study, **fields: Any) -> Study:
    return saying(study, analysis=AnalysisPlan(**fields))


@pytest.fixture(scope="module")
def study(sample_study: Study) -> Study:
    """Three groups with two multiple-choice items each."""
    items = tuple(
        Item(
            item_id=f"q{n}",
            task="multiple_choice",
            factors={"scenario": n},
            content={"text": "", "prompt": f"What is {n} and one?", "options": [str(n), str(n + 1), "none"]},
            key=2,
        )
        for n in range(1, 8)
    )
    design = sample_study.definition.design.model_copy(update={"groups": 3, "balance": ("scenario",)})
    definition = sample_study.definition.model_copy(
        update={
            "design": design,
            "order": Order(max_run=MaxRun(of=("scenario",), length=1)),
            "attention_checks": (),
            "practice": ("q7",),
            "analysis": AnalysisPlan(),
        }
    )
    battery = Battery(battery="sums", version="1.0", items=items)
    groups = {f"q{n}": 1 + (n - 1) % 3 for n in range(1, 7)}
    return dataclasses.replace(sample_study, definition=definition, battery=battery, groups=groups)


REWORDINGS: dict[str, tuple[Change, str]] = {
    "title": (lambda study: saying(study, title="Sums"), "`title`"),
    "own words": (lambda study: saying(study, texts={"agree": "I agree"}), "`texts.agree`"),
    "consent": (lambda study: with_page(study, "consent.md", "# Consent\n\nNew."), "the consent `consent.md`"),
    "item": (
        lambda study: with_item(
            study, lambda item: item.model_copy(update={"content": item.content | {"prompt": "What is 1 plus 1?"}})
        ),
        "item `q1`",
    ),
}

SUBSTANCE: dict[str, tuple[Change, str]] = {
    "timing": (
        lambda study: saying(study, timing=study.definition.timing.model_copy(update={"fixation_ms": 900})),
        "`timing.fixation_ms`",
    ),
    "groups": (
        lambda study: saying(study, design=study.definition.design.model_copy(update={"groups": 2})), "`design.groups`",
    ),
    "practice": (lambda study: saying(study, practice=()), "`practice`"),
    "device": (
        lambda study: saying(study, device=study.definition.device.model_copy(update={"width_px": 901})),
        "`device.width_px`",
    ),
    "key": (lambda study: with_item(study, lambda item: item.model_copy(update={"key": 1})), "item `q1` (key)"),
    "factors": (
        lambda study: with_item(study, lambda item: item.model_copy(update={"factors": {"scenario": 9}})),
        "item `q1` (factors)",
    ),
    "options in another order": (
        lambda study: with_item(
            study, lambda item: item.model_copy(update={"content": item.content | {"options": ["2", "1", "none"]}})
        ),
        "item `q1` (the content",
    ),
    "options in another order, written otherwise": (
        lambda study: with_item(
            study, lambda item: item.model_copy(update={"content": item.content | {"options": [" 2.", "1.", "None"]}})
        ),
        "item `q1` (the content",
    ),
    "the label of an answer": (lambda study: saying(study, texts={"absorbed": "Reflected"}), "`texts.absorbed`"),
    "the name of a side": (lambda study: saying(study, texts={"side_north": "SOUTH"}), "`texts.side_north`"),
    "the spoken name of a place": (
        lambda study: saying(study, texts={"port_spoken_east": "West, row {position}"}), "`texts.port_spoken_east`",
    ),
    "one option less": (
        lambda study: with_item(
            study, lambda item: item.model_copy(update={"content": item.content | {"options": ["1", "2"]}})
        ),
        "item `q1` (the content",
    ),
    "an item less": (
        lambda study: dataclasses.replace(
            study, battery=Battery(**(study.battery.model_dump() | {"items": study.battery.items[1:]}))
        ),
        "item `q1` (removed)",
    ),
    "the rule that decides who is replaced": (
        lambda study: planned(study, exclusions=(AttentionCheckRule(rule="attention_check"),)),
        "`analysis.exclusions.attention_check",
    ),
}  # fmt: skip


def test_a_change_of_the_analysis_plan_changes_nothing_that_is_served(any_store: Store, study: Study) -> None:
    any_store.register_study(study)
    people = [Person(any_store, study) for _ in range(2)]
    later = planned(study, by=("scenario",), exclusions=(MedianRtRule(rule="median_rt", min_ms=200),))
    assert later.digest == study.digest
    any_store.register_study(later)
    assert Person(any_store, later).group not in {person.group for person in people}
    assert rows(any_store, "SELECT COUNT(*) FROM studies") == [(1,)]
    (registered,) = any_store.registered_definitions(study)
    assert registered.definition.analysis == study.definition.analysis, "the plan from before the data is kept"


@pytest.mark.parametrize("kind", REWORDINGS)
def test_a_change_of_wording_is_named_and_refused_until_it_is_accepted(
    any_store: Store, study: Study, kind: str
) -> None:
    change, name = REWORDINGS[kind]
    any_store.register_study(study)
    first = Person(any_store, study, identity=Identity("panel", "anna"))
    first.answer(1)
    revised = change(study)
    with pytest.raises(
        InputError, match=r"only the wording of .*\. Fix: accept the new wording .*equipoise revise"
    ) as refused:
        any_store.register_study(revised)
    assert name in str(refused.value)
    assert any_store.changed_since(revised) == name
    assert any_store.changed_since(study) is None

    accepted = any_store.revise_study(revised, "typo")
    assert (accepted.revision, accepted.version, accepted.changed) == (2, "1.0", (name,))
    any_store.register_study(revised)
    assert any_store.changed_since(revised) is None
    second = Person(any_store, revised)
    assert second.stored.plan.definition.title == revised.definition.title
    assert second.stored.plan.texts == revised.texts
    assert [trial.item for trial in second.stored.plan.trials] == [
        revised.battery.by_id[trial.item.item_id] for trial in second.stored.plan.trials
    ]
    # On each server, a participant under way continues with the content of their start.
    with closing(another(any_store)) as other:
        other.register_study(revised)
        again = other.find_session(first.token)
    assert again is not None
    assert again.plan == first.stored.plan
    first.study = revised
    first.complete()
    assert first.begin().plan.texts == study.texts

    by_session = {row["session"]: row for row in any_store.sessions(revised)}
    assert [by_session[person.session]["study_revision"] for person in (first, second)] == [1, 2]
    assert [by_session[person.session]["content_digest"] for person in (first, second)] == [
        study.digest,
        revised.digest,
    ]
    batteries = {row["session"]: row["battery"] for row in any_store.trials()}
    assert [batteries[person.session] for person in (first, second)] == [study.battery.digest, revised.battery.digest]
    (event,) = [event for event in any_store.events(revised) if event.event == "revised"]
    assert (event.details["reason"], event.details["changed"]) == ("typo", [name])
    (revision,) = any_store.revisions(revised)
    assert (revision.reason, revision.changed, revision.n_sessions) == ("typo", (name,), 1)
    assert problems(any_store) == []


def test_a_session_restarted_after_a_revision_keeps_its_consent(any_store: Store, study: Study) -> None:
    study = saying(study, resume=Resume(max_reloads=0, otherwise="restart"))
    any_store.register_study(study)
    person = Person(any_store, study, identity=Identity("panel", "anna"))
    first = person.session
    revised = REWORDINGS["item"][0](REWORDINGS["consent"][0](study))
    any_store.revise_study(revised, "clearer")
    any_store.register_study(revised)
    again = any_store.open_session(revised, person.token, Visit(str(uuid.uuid4())))

    assert again.plan.session != first
    assert again.session.revision == 1
    assert again.plan.texts == study.texts
    assert all(trial.item == study.battery.by_id[trial.item.item_id] for trial in again.plan.trials)
    stored = [(row["study_revision"], row["content_digest"], row["consent_version"], row["consent_digest"])
            for row in any_store.sessions(revised)]  # fmt: skip
    assert stored[0] == stored[1]
    assert Person(any_store, revised).stored.session.revision == 2
    assert problems(any_store) == []


def test_a_revision_keeps_groups_seeds_and_plans(any_store: Store, study: Study) -> None:
    any_store.register_study(study)
    before = [Person(any_store, study) for _ in range(4)]
    revised = REWORDINGS["item"][0](REWORDINGS["title"][0](study))
    any_store.revise_study(revised, "typos")
    after = [Person(any_store, revised) for _ in range(5)]
    groups = [person.group for person in (*before, *after)]
    assert sorted(groups) == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    for group in (1, 2, 3):
        assert [one.stored.session.seed for one in (*before, *after) if one.group == group] == [1, 2, 3]
        assert plan_session(study, group, 5) == plan_session(revised, group, 5)
    assert [one.n_begun for one in any_store.progress(revised) if one.kind is Kind.HUMAN] == [3, 3, 3]
    assert any_store.progress(revised) == any_store.progress(study)


@pytest.mark.parametrize("kind", SUBSTANCE)
def test_a_change_of_substance_is_named_and_needs_a_new_version(any_store: Store, study: Study, kind: str) -> None:
    change, name = SUBSTANCE[kind]
    any_store.register_study(study)
    Person(any_store, study)
    changed = change(REWORDINGS["title"][0](study))
    for accept in (any_store.register_study, partial(any_store.revise_study, reason="typo")):
        with pytest.raises(
            InputError, match=r"changed after the first session\. Fix: give the study a new `version`\.$"
        ) as refused:
            accept(changed)
        assert name in str(refused.value)
        assert "`title`" not in str(refused.value), "what could be accepted is not what is in the way"
    assert rows(any_store, "SELECT COUNT(*) FROM studies") == [(1,)]
    assert rows(any_store, "SELECT COUNT(*) FROM revisions") == [(0,)]
    any_store.register_study(version_of(changed, "1.1"))
    assert problems(any_store) == []


def test_a_revision_shows_which_options_changed_into_what(any_store: Store, study: Study) -> None:
    any_store.register_study(study)
    Person(any_store, study)
    revised = with_item(
        study, lambda item: item.model_copy(update={"content": item.content | {"options": ["1.", "2", "none of them"]}})
    )
    decision = any_store.revise_study(revised, "clearer")
    assert decision.options == ("item `q1`, option 1: “1” -> “1.”", "item `q1`, option 3: “none” -> “none of them”")
    assert any_store.revise_study(REWORDINGS["title"][0](revised), "clearer").options == ()


def test_options_cannot_change_their_order_over_several_revisions(any_store: Store, study: Study) -> None:
    def with_options(*options: str) -> Study:
        return with_item(
            study, lambda item: item.model_copy(update={"content": item.content | {"options": list(options)}})
        )

    first = with_options("aaaa", "bbbb")
    any_store.register_study(first)
    Person(any_store, first)
    any_store.revise_study(with_options("aaaa xxx", "bbbb yyy"), "clearer")
    with pytest.raises(InputError, match=r"item `q1` \(the content"):
        any_store.revise_study(with_options("bb xxxxx", "aa yyyyy"), "clearer")


def test_two_servers_serve_two_revisions_at_the_same_time(any_store: Store, study: Study) -> None:
    """A running server continues with the study that it loaded, until it is restarted."""
    any_store.register_study(study)
    Person(any_store, study)
    revised = REWORDINGS["title"][0](study)
    with closing(another(any_store)) as restarted:
        restarted.revise_study(revised, "typo")
        restarted.register_study(revised)
        people = at_once(*[partial(Person, any_store, study), partial(Person, restarted, revised)] * 4)
        assert [one.stored.session.revision for one in people] == [1, 2] * 4
        assert sorted(person.group for person in people) == [1, 1, 2, 2, 2, 3, 3, 3]
    assert problems(any_store) == []


def test_a_revision_that_is_requested_repeatedly_is_accepted_once(any_store: Store, study: Study) -> None:
    any_store.register_study(study)
    Person(any_store, study)
    revised = REWORDINGS["title"][0](study)
    outcomes = at_once(*[partial(any_store.revise_study, revised, "typo")] * 4)
    refused = [one for one in outcomes if isinstance(one, InputError)]
    assert len(refused) == 3
    assert all("already revision 2 of version 1.0" in str(one) for one in refused)
    with pytest.raises(InputError, match=r"already revision 1 of version 1\.0"):
        any_store.revise_study(study, "back again")
    assert any_store.revise_study(REWORDINGS["consent"][0](revised), "clearer").revision == 3
    assert problems(any_store) == []


def test_a_study_without_sessions_needs_no_revision(any_store: Store, study: Study) -> None:
    any_store.register_study(study)
    Person(any_store, study, Kind.SIMULATED)
    with pytest.raises(InputError, match=r"version 1\.0 has no sessions, so `equipoise revise` is not needed"):
        any_store.revise_study(REWORDINGS["title"][0](study), "typo")


def test_a_wording_tried_before_the_first_session_can_be_accepted_later(any_store: Store, study: Study) -> None:
    tried = REWORDINGS["title"][0](study)
    any_store.register_study(tried)
    Person(any_store, tried, Kind.SIMULATED)
    any_store.register_study(study)
    begun = Person(any_store, study)
    with pytest.raises(InputError, match="only the wording"):
        any_store.register_study(tried)
    any_store.revise_study(tried, "the first one was clearer")
    any_store.register_study(tried)
    assert Person(any_store, tried).stored.session.study_digest == begun.stored.session.study_digest
    assert problems(any_store) == []


def test_model_runs_belong_to_the_revision_with_which_they_were_made(any_store: Store, small_study: Study) -> None:
    any_store.register_study(small_study)
    Person(any_store, small_study)
    battery = Battery(**(small_study.battery.model_dump() | {"version": "1.0.1"}))
    revised = dataclasses.replace(small_study, battery=battery)
    any_store.add_runs(small_study, [run_baseline(small_study, "baseline/tracer")])
    with pytest.raises(InputError, match="only the wording of the name, version or noise-free texts of the battery"):
        any_store.add_runs(revised, [run_baseline(revised, "baseline/tracer")])
    any_store.revise_study(revised, "a number for what was reworded")
    any_store.add_runs(revised, [run_baseline(revised, "baseline/tracer")])
    of_models = {(row["study_revision"], row["battery"]) for row in any_store.trials() if row["kind"] == "model"}
    assert of_models == {(1, small_study.battery.digest), (2, battery.digest)}
    assert problems(any_store) == []


def test_a_change_of_unreadable_content_is_reported_without_details(any_store: Store, study: Study) -> None:
    any_store.register_study(study)
    Person(any_store, study)
    execute_sql(any_store, "UPDATE studies SET definition = '{}'")
    changed = dataclasses.replace(
        study, battery=Battery(**(study.battery.model_dump() | {"items": study.battery.items[1:]}))
    )
    assert any_store.changed_since(changed) == "something"
    with pytest.raises(
        InputError,
        match=r"its definition, battery or texts changed after the first session\. Fix: give the study a new",
    ):
        any_store.register_study(changed)


def test_reading_registers_nothing(any_store: Store, study: Study) -> None:
    any_store.register_study(study)
    Person(any_store, study)
    for changed in (REWORDINGS["title"][0](study), SUBSTANCE["timing"][0](study)):
        before = rows(any_store, "SELECT COUNT(*) FROM studies")
        assert any_store.progress(changed) == any_store.progress(study)
        assert any_store.events(changed) == any_store.events(study)
        assert any_store.sessions(changed) == any_store.sessions(study)
        assert any_store.changed_since(changed)
        assert rows(any_store, "SELECT COUNT(*) FROM studies") == before
    unserved = version_of(study, "2.0")
    assert any_store.changed_since(unserved) is None
    assert {one.n_begun for one in any_store.progress(unserved)} == {0}
    assert any_store.events(unserved) == []
