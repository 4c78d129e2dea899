"""Locked plans: a lock has the plan and its time, and a changed lock is detected."""

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from analysis.preregistration.deviations import deviations
from analysis.preregistration.lock import Lock, add_lock, plan_content, read_locks
from batteries.canonical_json import digest
from batteries.errors import InputError
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import Name, PlannedAnalyses, PlannedTest

AT = datetime(2026, 1, 2, 10, 0, 0, tzinfo=UTC)
OF = {"battery": "b" * 64}


def plan(**changes: Any) -> AnalysisPlan:
    content = {
        "by": ["condition"],
        "exclusions": [{"rule": "trial_rt", "min_ms": 200}, {"rule": "missing"}],
        "flags": {"perfect": {"atoms": [3, 4]}},
        "tables": {"means": {"by": ["condition"], "of": ["rt_ms"]}},
        "tests": {"main": {"test": "t", "of": "correct", "per": "participant", "within": "condition",
                           "where": {"one_shot": 0, "scene": "Köln"}}},
    }  # fmt: skip
    return AnalysisPlan.model_validate(content | changes)


def lock(path, planned=None, **changes):
    settings = {"of": OF, "n_sessions": 0, "software": "equipoise 1", "now": AT} | changes
    return add_lock(path, planned or plan(), **settings)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "analysis.lock.json"


@pytest.fixture
def two(path):
    lock(path)
    lock(path, plan(confidence=0.9), now=AT + timedelta(days=1), n_sessions=12)
    return path


# Writing and reading


def test_a_lock_is_read_as_it_was_written(path):
    written = lock(path)
    assert read_locks(path) == [written]
    assert written.plan == plan_content(plan())
    assert AnalysisPlan.model_validate(written.plan) == plan()
    assert (written.of, written.n_sessions, written.software, written.previous) == (OF, 0, "equipoise 1", "")


def test_without_a_file_there_is_no_lock(path):
    assert read_locks(path) == []


def test_each_lock_has_the_digest_of_the_previous_lock(two):
    first, second = read_locks(two)
    assert (first.previous, second.previous) == ("", first.digest)
    assert (first.plan.get("confidence"), second.plan["confidence"]) == (None, 0.9)


def test_the_digest_in_the_file_is_the_sha256_of_the_content_of_the_lock(path):
    """The digest can be checked without Equipoise: it is the SHA-256 of the lock as canonical JSON (RFC 8785)."""
    lock(path)
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["digest"] == digest(found["locks"][-1])


def test_the_file_can_be_read_by_people(path):
    lock(path)
    text = path.read_text(encoding="utf-8")
    assert text.endswith("}\n")
    assert "Köln" in text
    assert '"locked_at": "2026-01-02T10:00:00+00:00"' in text


@pytest.mark.parametrize(
    "now",
    [
        datetime(2026, 1, 2, 10, tzinfo=UTC),
        datetime(2026, 1, 2, 15, 30, tzinfo=timezone(timedelta(hours=5, minutes=30))),
        datetime(2026, 1, 1, 23, 0, 0, 999_999, tzinfo=timezone(-timedelta(hours=11))),
    ],
)
def test_the_time_is_in_utc_for_any_clock(path, now):
    assert lock(path, now=now).locked_at == "2026-01-02T10:00:00+00:00"


def test_a_lock_without_a_given_time_has_the_present_time(path):
    before = datetime.now(UTC).replace(microsecond=0)
    locked_at = datetime.fromisoformat(lock(path, now=None).locked_at)
    assert before <= locked_at <= datetime.now(UTC)


def test_the_same_plan_is_not_locked_twice(path):
    first = lock(path)
    text = path.read_bytes()
    with pytest.raises(InputError, match=f"was already locked at 2026-01-02T10:00:00.*{first.digest}") as error:
        lock(path, plan(), now=AT + timedelta(days=3), n_sessions=40)
    assert "only after you have changed the plan" in str(error.value)
    assert path.read_bytes() == text


def test_a_plan_that_only_states_a_default_is_the_same_plan(path):
    lock(path)
    with pytest.raises(InputError, match="was already locked at"):
        lock(path, plan(confidence=0.95, correction="holm", models={}))


def test_another_battery_another_plan_and_then_the_first_plan_can_be_locked(path):
    lock(path)
    lock(path, of={"battery": "c" * 64})
    lock(path, plan(by=[]), of={"battery": "c" * 64})
    lock(path, now=AT + timedelta(days=1))
    assert len(read_locks(path)) == 4


@pytest.mark.parametrize(("one", "other"), [(0, False), (1, True), (1, "1"), ("true", True)])
def test_levels_of_another_kind_make_another_plan(path, one, other):
    """In YAML, `0` and `false` are different levels that select different rows. In Python, they are equal."""
    asked = {"test": "chi_square", "of": "correct", "between": "condition"}
    first = lock(path, plan(tests={"main": asked | {"where": {"shot": one}}}))
    second = lock(path, plan(tests={"main": asked | {"where": {"shot": other}}}))
    assert second.digest != first.digest


# Changes outside Equipoise


def assert_unseen_is_unchanged(path, text, locks):
    """After any change of the file, the file is refused or has the same content."""
    path.write_bytes(text)
    try:
        found = read_locks(path)
    except InputError:
        return
    assert found == locks
    assert [one.digest for one in found] == [one.digest for one in locks]


def test_a_change_of_any_byte_is_detected_or_changes_no_content(two):
    text, locks = two.read_bytes(), read_locks(two)
    for index, byte in enumerate(text):
        put = [bytes([byte ^ 1]), b"7", bytes([byte ^ 128]), b"", b'"', b" ", bytes([byte, byte])][index % 7]
        assert_unseen_is_unchanged(two, text[:index] + put + text[index + 1 :], locks)


def test_a_truncated_file_is_refused(two):
    text = two.read_bytes().rstrip()
    for length in range(0, len(text), 7):
        two.write_bytes(text[:length])
        with pytest.raises(InputError, match="restore the file from a backup"):
            read_locks(two)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file["locks"].pop(0),
        lambda file: file["locks"].pop(),
        lambda file: file["locks"].reverse(),
        lambda file: file["locks"].append(file["locks"][0]),
        lambda file: file["locks"][0].update(n_sessions=1),
        lambda file: file["locks"][1].update(n_sessions=0),
        lambda file: file["locks"][0].update(locked_at="2025-01-02T10:00:00+00:00"),
        lambda file: file["locks"][1].update(previous=""),
        lambda file: file["locks"][0]["of"].update(battery="c" * 64),
        lambda file: file["locks"][0]["plan"]["tests"].pop("main"),
        lambda file: file["locks"][1]["plan"].pop("confidence"),
        lambda file: file["locks"][0]["plan"].update(confidence=0.95),
        lambda file: file["locks"][0].update(note="harmless"),
        lambda file: file.update(digest=""),
        lambda file: file.update(locks=[]),
        lambda file: file.pop("digest"),
    ],
)
def test_a_changed_moved_added_or_removed_lock_is_refused(two, spoil):
    file = json.loads(two.read_text(encoding="utf-8"))
    spoil(file)
    two.write_text(json.dumps(file), encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_locks(two)
    assert str(error.value).startswith(f"{two}: ")
    assert "restore the file from a backup" in str(error.value)


def test_no_lock_is_added_to_a_changed_file(two):
    two.write_bytes(two.read_bytes().replace(b"condition", b"kondition", 1))
    spoilt = two.read_bytes()
    with pytest.raises(InputError, match="restore"):
        lock(two, plan(by=[]))
    assert two.read_bytes() == spoilt


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"null", b"\xff\xfe{}", b"locks", b'{"locks": 3, "digest": ""}']
)
def test_a_file_that_is_not_a_lock_file_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_locks(path)
    assert "\n" not in str(error.value)
    assert "Error" not in str(error.value), "the name of an exception does not help a scientist"


def test_a_file_without_locks_is_not_a_lock_file(path):
    """An emptied file must not mean that the plan was never locked."""
    path.write_text('{"locks": [], "digest": ""}', encoding="utf-8")
    with pytest.raises(InputError):
        read_locks(path)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "9007199254740993", "1e999"])
def test_a_number_that_a_file_cannot_store_is_refused_with_the_name_of_the_file(two, number):
    two.write_text(two.read_text(encoding="utf-8").replace("0.9", number, 1), encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_locks(two)
    assert str(two) in str(error.value)


# Failed writing


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        lock(tmp_path / "nowhere" / "analysis.lock.json")


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(28, "No space left on device")])
def test_a_failed_write_leaves_the_locks_unchanged(two, monkeypatch, error):
    before = two.read_bytes()

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(InputError, match=f"cannot be written .{error.strerror}"):
        lock(two, plan(by=[]))
    assert two.read_bytes() == before
    assert [one.name for one in two.parent.iterdir()] == [two.name]


def test_locking_leaves_no_temporary_file(two):
    assert [one.name for one in two.parent.iterdir()] == [two.name]


def test_a_plan_that_cannot_be_stored_is_refused_before_anything_is_written(path):
    planned = plan(tests={"main": {"test": "chi_square", "of": "a", "between": "b", "where": {"id": 2**53 + 1}}})
    with pytest.raises(InputError, match="2\\^53") as error:
        lock(path, planned)
    assert not path.exists()
    assert "plan" in str(error.value), "it should say that a level of the plan is meant"


# Content of a plan


class TestOfLater(PlannedTest):
    __test__ = False
    resamples: int = Field(default=0)


class PlanOfLater(AnalysisPlan):
    tests: dict[Name, TestOfLater] = Field(default_factory=dict)  # type: ignore[assignment]
    seriation: str | None = None
    notes: tuple[str, ...] = ()


def test_a_later_version_with_new_fields_that_are_not_used_has_the_same_digest():
    content = plan().model_dump()
    later, earlier = plan_content(PlanOfLater.model_validate(content)), plan_content(plan())
    assert later == earlier
    assert digest(later) == digest(earlier)
    assert plan_content(PlanOfLater.model_validate(content | {"notes": ["a"]})) != earlier


def test_an_empty_plan_says_nothing():
    assert plan_content(PlannedAnalyses()) == plan_content(AnalysisPlan()) == {}


def test_the_order_of_rules_and_factors_is_part_of_the_plan_and_the_order_of_names_is_not(path):
    rules = [{"rule": "missing"}, {"rule": "trial_rt", "min_ms": 200}]
    first = lock(path)
    assert lock(path, plan(exclusions=rules)).plan != first.plan
    tables = {name: {"by": ["condition"], "of": ["rt_ms"]} for name in ("a", "b")}
    lock(path, plan(tables=tables))
    with pytest.raises(InputError, match="was already locked at"):
        lock(path, plan(tables=dict(reversed(tables.items()))))


def test_the_digest_of_a_lock_depends_on_its_whole_content(path):
    first = lock(path)
    content = first.model_dump()
    changes: dict[str, Any] = {
        "plan": {},
        "of": {},
        "n_sessions": None,
        "locked_at": "x",
        "software": "x",
        "previous": "x",
    }
    assert set(changes) == set(Lock.model_fields)
    digests = {Lock.model_validate(content | {name: value}).digest for name, value in changes.items()}
    assert len({first.digest, *digests}) == len(changes) + 1


def test_a_plan_that_was_locked_under_a_former_key_is_the_same_plan(tmp_path: Path) -> None:
    path = tmp_path / "analysis.lock.json"
    lock = Lock(
        plan={"calibration": "level"}, of={}, n_sessions=0, locked_at="2026-01-01T00:00:00+00:00", software="old",
        previous="",
    )  # fmt: skip
    path.write_text(json.dumps({"locks": [lock.model_dump()], "digest": lock.digest}), encoding="utf-8")
    plan = AnalysisPlan(difficulty="level")
    assert deviations(read_locks(path)[0], plan, {}) == []
    with pytest.raises(InputError, match="was already locked at"):
        add_lock(path, plan, of={}, n_sessions=0, software="new")


def test_another_order_of_codes_is_another_plan(path):
    """By rule, the first code with a matching word counts. So a lock must show a changed order."""
    codes = [{"name": name, "definition": name, "words": [name]} for name in ("fall", "wish")]
    plans = [AnalysisPlan.model_validate({"coding": {"why": {"codes": order}}}) for order in (codes, codes[::-1])]
    of = {"battery": "b"}
    lock = add_lock(path, plans[0], of=of, n_sessions=0, software="x")
    found = [deviations(lock, plan, of) for plan in plans]
    assert not found[0]
    assert found[1]
