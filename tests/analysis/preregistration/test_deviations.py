"""Deviations from a locked plan: every change since the lock is reported and marked."""

from datetime import UTC, datetime, timedelta

import pytest

from analysis.preregistration.deviations import (
    NAMED,
    RegisteredPlan,
    deviations,
    lock_that_counts,
    registration_of,
    with_exploratory_marked,
)
from analysis.preregistration.lock import add_lock, plan_content, read_locks
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import PlannedAnalyses

AT = datetime(2026, 1, 2, 10, tzinfo=UTC)
OF = {"battery": "b" * 64}
CONTENT = {
    "subject": "who",
    "by": ["condition"],
    "exclusions": [{"rule": "trial_rt", "min_ms": 200}],
    "flags": {"perfect": {"atoms": 4}},
    "tables": {"means": {"by": ["condition"], "of": ["perfect"]}},
    "models": {"accuracy": {"formula": "correct ~ condition + (1 | item_id)", "family": "binomial"}},
    "tests": {"main": {"test": "t", "of": "score", "per": "participant", "within": "condition"}},
    "confidence_ratings": {"sure": {"rating": "confidence"}},
    "comparisons": {"overall": {}},
    "coding": {"why": {"coders": 2, "codes": [{"name": "a", "definition": "A."}, {"name": "b", "definition": "B."}]}},
    "demands": ["beliefs"],
    "item_cluster": "scenario",
    "items": "random",
    "invalid": "left_out",
    "difficulty": "level",
    "signals": {"unsure": {"signal": {"kind": "metacognition"}, "response": "Not enough information."}},
    "correction": "bh",
    "confidence": 0.9,
    "resamples": 2000,
    "seed": 7,
}
CHANGES = {
    "subject": "model",
    "by": [],
    "exclusions": [{"rule": "trial_rt", "min_ms": 300}],
    "flags": {"perfect": {"atoms": [3, 4]}},
    "tables": {"means": {"by": ["condition"], "of": ["perfect"], "first": 1}},
    "models": {"accuracy": {"formula": "correct ~ condition + (1 | participant)", "family": "binomial"}},
    "tests": {"main": {"test": "t", "of": "score", "per": "participant", "within": "condition", "where": {"a": 1}}},
    "confidence_ratings": {"sure": {"rating": "confidence", "bins": 5}},
    "comparisons": {"overall": {"equivalence_margin": 0.1}},
    "coding": {"why": {"coders": 3, "codes": [{"name": "a", "definition": "A."}, {"name": "b", "definition": "B."}]}},
    "demands": ["beliefs", "feelings"],
    "item_cluster": "version",
    "items": "fixed",
    "invalid": "chance",
    "difficulty": "condition",
    "signals": {"unsure": {"signal": {"kind": "metacognition"}, "response": ["Not enough information.", "Unsure"]}},
    "correction": "holm",
    "confidence": 0.95,
    "resamples": 10_000,
    "seed": 1,
}


def plan(**changes):
    return AnalysisPlan.model_validate(CONTENT | changes)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "analysis.lock.json"


@pytest.fixture
def locks(path):
    add_lock(path, plan(), of=OF, n_sessions=0, software="equipoise 1", now=AT)
    return read_locks(path)


def exploratory(marked):
    return {(part, name) for part in NAMED for name, one in getattr(marked, part, {}).items() if one.exploratory}


# Deviations


def test_the_locked_plan_has_no_deviations(locks):
    assert deviations(locks[-1], plan(), OF) == []
    assert deviations(locks[-1], AnalysisPlan.model_validate(dict(reversed(CONTENT.items()))), OF) == []
    assert (
        deviations(locks[-1], plan(models={"accuracy": CONTENT["models"]["accuracy"] | {"exploratory": False}}), OF)
        == []
    )


def test_every_part_of_a_plan_is_in_these_tests():
    assert set(CONTENT) == set(CHANGES) == set(AnalysisPlan.model_fields)


@pytest.mark.parametrize("part", CHANGES)
def test_a_change_of_any_part_is_one_sentence_with_the_old_and_the_new_value(locks, part):
    (sentence,) = deviations(locks[-1], plan(**{part: CHANGES[part]}), OF)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert "was" in sentence
    if part in NAMED:
        what = part.removesuffix("s").replace("_", " ")
        assert sentence.startswith(f"The {what} `{next(iter(CHANGES[part]))}` was locked as ")
        assert sentence.endswith("it is exploratory.")
    else:
        assert sentence.startswith(f"`{part}` was ")


@pytest.mark.parametrize("part", CHANGES)
def test_a_removed_part_is_a_deviation(locks, part):
    without = AnalysisPlan.model_validate({name: value for name, value in CONTENT.items() if name != part})
    (sentence,) = deviations(locks[-1], without, OF)
    assert ("but not in the plan of this analysis" if part in NAMED else "is the default in this analysis") in sentence


@pytest.mark.parametrize("part", CHANGES)
def test_an_added_part_is_a_deviation(path, part):
    without = AnalysisPlan.model_validate({name: value for name, value in CONTENT.items() if name != part})
    lock = add_lock(path, without, of=OF, n_sessions=0, software="e", now=AT)
    (sentence,) = deviations(lock, plan(), OF)
    assert ("was not locked, so it is exploratory" if part in NAMED else "was the default") in sentence


def test_a_renamed_test_is_one_removed_test_and_one_added_test(locks):
    sentences = deviations(locks[-1], plan(tests={"renamed": CONTENT["tests"]["main"]}), OF)
    assert sentences == [
        "The test `main` is in the locked plan, but not in the plan of this analysis.",
        "The test `renamed` was not locked, so it is exploratory.",
    ]


def test_another_battery_is_a_deviation(locks):
    assert deviations(locks[-1], plan(), {"battery": "c" * 64}) == [
        "The battery differs from the battery at the time of the lock."
    ]
    assert len(deviations(locks[-1], plan(), {})) == 1


def test_another_order_of_exclusions_is_a_deviation(path):
    rules = [{"rule": "missing"}, {"rule": "trial_rt", "min_ms": 200}]
    lock = add_lock(path, plan(exclusions=rules), of=OF, n_sessions=0, software="e", now=AT)
    assert len(deviations(lock, plan(exclusions=rules[::-1]), OF)) == 1


@pytest.mark.parametrize(("locked", "run"), [(1, True), (0, False), (True, 1), (1, "1"), ("true", True)])
def test_a_level_of_another_type_is_a_deviation(path, locked, run):
    def with_level(level):
        return plan(tests={"main": CONTENT["tests"]["main"] | {"where": {"shot": level}}})

    lock = add_lock(path, with_level(locked), of=OF, n_sessions=0, software="e", now=AT)
    assert len(deviations(lock, with_level(run), OF)) == 1


@pytest.mark.parametrize("number", [(1, 1.0), (200, 200.0)])
def test_a_number_written_in_another_way_is_the_same(path, number):
    plans = [plan(exclusions=[{"rule": "trial_rt", "min_ms": one}], flags={"a": {"b": one}}) for one in number]
    lock = add_lock(path, plans[0], of=OF, n_sessions=0, software="e", now=AT)
    assert deviations(lock, plans[1], OF) == []


def test_letters_of_other_languages_are_shown_unchanged(locks):
    (sentence,) = deviations(locks[-1], plan(by=["Bedingung-Ä"]), OF)
    assert "Bedingung-Ä" in sentence


# Exploratory analyses


def test_the_parts_of_an_unchanged_plan_keep_their_marks(locks):
    assert with_exploratory_marked(plan(), lock_that_counts(locks)) == plan()


def test_without_a_lock_nothing_is_marked():
    assert with_exploratory_marked(plan(), None) == plan()


@pytest.mark.parametrize("part", NAMED)
def test_only_changed_or_added_parts_are_marked(locks, part):
    changed = with_exploratory_marked(plan(**{part: CHANGES[part]}), lock_that_counts(locks))
    (name,) = CHANGES[part]
    assert exploratory(changed) == {(part, name)}
    added = with_exploratory_marked(
        plan(**{part: CONTENT[part] | {"new": CONTENT[part][name]}}), lock_that_counts(locks)
    )
    assert exploratory(added) == {(part, "new")}


@pytest.mark.parametrize("part", NAMED)
def test_marking_changes_the_mark_only(locks, part):
    (name,) = CHANGES[part]
    asked = plan(**{part: CHANGES[part]})
    marked = with_exploratory_marked(asked, lock_that_counts(locks))
    assert getattr(marked, part)[name].model_copy(update={"exploratory": False}) == getattr(asked, part)[name]
    assert marked.model_copy(update={part: getattr(asked, part)}) == asked


def test_a_test_that_was_locked_as_exploratory_does_not_become_confirmatory(path):
    test = CONTENT["tests"]["main"]
    add_lock(path, plan(tests={"main": test | {"exploratory": True}}), of=OF, n_sessions=0, software="e", now=AT)
    assert exploratory(with_exploratory_marked(plan(), lock_that_counts(read_locks(path)))) == {("tests", "main")}
    assert len(deviations(read_locks(path)[-1], plan(), OF)) == 1


def test_a_plan_of_a_table_has_no_comparisons_to_mark(path):
    asked = PlannedAnalyses.model_validate({"tests": CONTENT["tests"]})
    add_lock(path, asked, of={}, n_sessions=None, software="e", now=AT)
    assert with_exploratory_marked(asked, lock_that_counts(read_locks(path))) == asked


@pytest.mark.parametrize(
    ("part", "asked"),
    [
        ("tables", {"by": ["condition"], "of": ["perfect"]}),
        ("tables", {"by": ["perfect"], "of": ["score"]}),
        ("tests", {"test": "chi_square", "of": "perfect", "between": "condition"}),
        ("tests", {"test": "t", "of": "score", "per": "participant", "between": "perfect"}),
        (
            "tests",
            {"test": "t", "of": "score", "per": "participant", "within": "condition", "where": {"perfect": True}},
        ),
        ("models", {"formula": "perfect ~ condition + (1 | item_id)", "family": "binomial"}),
    ],
)
def test_an_analysis_that_uses_a_changed_flag_counts_as_changed(path, part, asked):
    """`perfect` meant four atoms and now means three atoms, so a test with the same words is a different test."""
    add_lock(path, plan(**{part: {"it": asked}}), of=OF, n_sessions=0, software="e", now=AT)
    marked = with_exploratory_marked(
        plan(**{part: {"it": asked}, "flags": CHANGES["flags"]}), lock_that_counts(read_locks(path))
    )
    assert (part, "it") in exploratory(marked)


# Statement in the report


def test_without_a_lock_the_report_says_so_and_how_to_do_better():
    found = registration_of([], None, plan(), OF, "2026-01-02T10:00:00+00:00")
    assert found.words.startswith("No plan was locked")
    assert "--lock" in found.words
    assert found.deviations == []


@pytest.mark.parametrize(
    ("first_at", "words"),
    [
        ("2026-01-02T10:00:01+00:00", ", before the start of the first session. "),
        ("2026-01-02T10:00:00.001+00:00", ", before the start of the first session. "),
        ("2026-01-02T10:00:00+00:00", ", before the start of the first session. "),
        ("2026-01-02T09:59:59+00:00", ", after the start of the first session. "),
        ("2026-01-02T09:59:59.999+00:00", ", after the start of the first session. "),
        ("2025-12-31T23:59:59Z", ", after the start of the first session. "),
        ("2026-01-02T10:00:01Z", ", before the start of the first session. "),
        (None, "). "),
    ],
)
def test_the_report_says_whether_the_lock_came_before_the_first_session(locks, first_at, words):
    found = registration_of(locks, None, plan(), OF, first_at)
    assert found.words.startswith(f"The plan was locked on 2026-01-02 10:00 UTC (digest {locks[-1].digest})")
    assert words in found.words
    assert found.words.endswith("The plan of this analysis is identical to the locked plan.")


@pytest.mark.parametrize(("n_sessions", "words"), [(1, "1 session had already"), (1200, "1,200 sessions had already")])
def test_sessions_before_the_lock_are_counted(path, n_sessions, words):
    add_lock(path, plan(), of=OF, n_sessions=n_sessions, software="e", now=AT)
    statement = registration_of(read_locks(path), None, plan(), OF, "2026-01-02T09:00:00+00:00").words.replace(
        "\xa0", " "
    )
    assert words in statement
    assert "before the start of the first session" not in statement


def test_deviations_are_in_the_registration_and_in_its_json(locks):
    found = registration_of(locks, None, plan(by=[]), OF, None)
    assert found.deviations == deviations(locks[-1], plan(by=[]), OF)
    assert "The plan of this analysis is identical to the locked plan" not in found.words
    assert found.as_json() == {"words": found.words, "deviations": found.deviations}


def test_a_plan_with_a_second_lock_before_the_data_is_compared_with_the_newest_lock(path):
    add_lock(path, plan(by=[]), of=OF, n_sessions=0, software="e", now=AT)
    add_lock(path, plan(), of=OF, n_sessions=0, software="e", now=AT + timedelta(days=1))
    found = registration_of(read_locks(path), None, plan(), OF, "2026-01-09T10:00:00+00:00")
    assert found.deviations == []
    assert "this is lock 2 of 2 (first lock: 2026-01-02 10:00 UTC)" in found.words
    assert "The plan of this analysis is identical to the locked plan." in found.words


def test_a_second_lock_after_the_data_does_not_hide_a_change(path):
    """The plan was locked, forty people took part, and then a second plan with another test was locked."""
    other = plan(tests={"main": CHANGES["tests"]["main"]})
    add_lock(path, plan(), of=OF, n_sessions=0, software="e", now=AT)
    add_lock(path, other, of=OF, n_sessions=40, software="e", now=AT + timedelta(days=9))
    found = registration_of(read_locks(path), None, other, OF, "2026-01-05T10:00:00+00:00")
    assert "The plan of this analysis is identical to the locked plan." not in found.words
    assert any("`main`" in sentence for sentence in found.deviations)
    assert exploratory(with_exploratory_marked(other, lock_that_counts(read_locks(path)))) == {("tests", "main")}


# The plan that the store registered


def registered(earlier):
    return RegisteredPlan(plan_content(earlier), OF, version="1.0", registered_at="2026-01-02T10:00:00Z", n_sessions=40)


def test_without_a_lock_the_registered_plan_is_compared():
    found = registration_of([], registered(plan()), plan(), OF, "2026-01-02T10:00:01+00:00")
    assert found.words.startswith(
        "No plan was locked. The store registered a plan with version 1.0 of the study on 2026-01-02 10:00 UTC, before "
        "the 40 sessions of participants with this version began. The plan of this analysis is identical to the "
        "registered plan."
    )
    assert "--lock" in found.words
    assert (found.deviations, found.earlier_rules) == ([], {})


@pytest.mark.parametrize("part", CHANGES)
def test_a_change_since_the_registration_is_a_deviation_and_exploratory(part):
    changed = plan(**{part: CHANGES[part]})
    found = registration_of([], registered(plan()), changed, OF, None)
    (sentence,) = found.deviations
    assert "identical" not in found.words
    assert "lock" not in sentence
    assert "registered" in sentence
    marked = exploratory(with_exploratory_marked(changed, registered(plan())))
    assert marked == ({(part, next(iter(CHANGES[part])))} if part in NAMED else set()) | (
        {("tables", "means")} if part == "flags" else set()
    )


def test_a_lock_counts_more_than_a_registration(locks):
    found = registration_of(locks, registered(plan(by=[])), plan(), OF, None)
    assert found.words.startswith("The plan was locked on ")
    assert found.deviations == []


def test_confirmatory_tests_that_changed_or_are_missing_are_kept_for_the_size_of_their_family(path):
    t_test = CONTENT["tests"]["main"]
    before = {
        "same": t_test, "changed": t_test, "left_out": t_test, "of_flag": t_test | {"of": "perfect"},
        "free": t_test | {"exploratory": True},
    }  # fmt: skip
    now = {"same": t_test, "changed": t_test | {"of": "correct"}, "of_flag": before["of_flag"], "new": t_test}
    add_lock(path, plan(tests=before), of=OF, n_sessions=0, software="e", now=AT)
    found = registration_of(read_locks(path), None, plan(tests=now, flags=CHANGES["flags"]), OF, None).changed_tests
    assert [*found] == ["changed", "left_out", "of_flag"]
    assert found["changed"].of == "score"
    assert registration_of(read_locks(path), None, plan(tests=before), OF, None).changed_tests == {}


@pytest.mark.parametrize(("of", "name"), [("lock", "as locked"), ("store", "as registered")])
def test_changed_exclusion_rules_are_kept_for_the_sensitivity(path, of, name):
    add_lock(path, plan(), of=OF, n_sessions=0, software="e", now=AT)
    locks = read_locks(path) if of == "lock" else []
    changed = plan(exclusions=CHANGES["exclusions"])
    found = registration_of(locks, registered(plan()), changed, OF, None)
    assert found.earlier_rules == {name: plan().exclusions}
    assert registration_of(locks, registered(plan()), plan(by=[]), OF, None).earlier_rules == {}
    assert registration_of([], registered(plan(exclusions=[])), plan(), OF, None).earlier_rules == {"as registered": ()}
