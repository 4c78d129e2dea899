"""Points on the battery: it builds from its templates, and its answer keys are balanced."""

import math
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from batteries import intuition
from batteries.errors import InputError
from batteries.items import Battery, Item, copy_assets, load_battery
from batteries.tasks import task_named
from batteries.vignettes.battery_writer import write_battery
from batteries.vignettes.build import BatteryBuilder
from batteries.vignettes.spec import read_spec
from equipoise.commands.check.checklist import Point, failed, listed, needs_attention, passed, problem_and_fix
from experiment.study.definition import Study

SPEC = "spec.yaml"
"""File with the specification from which the battery was built, in the study's folder."""
TEMPLATES = "templates"
"""Folder with the templates of the battery, in the study's folder. Without this folder, Equipoise's templates are used.
"""
MOST_ABOVE_CHANCE = 0.10
"""Largest advantage over chance of a participant who always chooses the same position."""
MOST_ITEMS_APART = 2
"""Largest difference from an equal number of items that a careful design leaves in a group."""


def battery_point(study: Study) -> Point:
    """Check that the battery has the items that its specification builds, if it has a specification."""
    subject, spec = "Battery", study.folder / SPEC
    about = f"{len(study.battery.items)} items, digest {study.battery.digest[:12]}"
    if not spec.is_file():
        return passed(subject, f"{about}. Each item was read, and its answer key is a possible response.")
    try:
        built = _build(study.folder)
    except InputError as error:
        problem, fix = problem_and_fix(error)
        return failed(subject, f"{SPEC} does not build: {problem}", fix)
    if _questions(built) != _questions(study.battery):
        return needs_attention(
            subject,
            f"{study.definition.battery} differs from the battery that {SPEC} builds with seed 1.",
            f"build the battery again (`equipoise battery build`), or delete {SPEC} if the battery was edited or built "
            "with another seed.",
        )
    return passed(subject, f"{about}; {SPEC} builds the same items.")


def _build(folder: Path) -> Battery:
    templates = folder / TEMPLATES if (folder / TEMPLATES).is_dir() else intuition.FOLDER
    spec = folder / SPEC
    builder = BatteryBuilder(templates, None, read_spec(spec), 1, spec)
    with TemporaryDirectory(prefix="equipoise-check-") as temporary:
        output = Path(temporary) / "battery.jsonl"
        write_battery(builder.header, builder.items(), builder.dimensions, output, lambda: None)
        copy_assets(builder.added, folder, output.parent)
        return load_battery(output)


def _questions(battery: Battery) -> list[Item]:
    return sorted(battery.items, key=lambda item: item.item_id)


def answer_keys_point(study: Study) -> Point:
    """Check that the right answer is in each position equally often, in the battery and in each group."""
    subject = "Answer keys"
    if not any(item.is_graded for item in study.test_items):
        return passed(subject, "no test item has a right answer (`key: null`), so no accuracy will be computed.")
    graded = [item for item in study.test_items if _is_choice(item)]
    if not graded:
        return passed(subject, "no test item has options, so right answers have no positions.")
    by_group = {
        group: Counter(_right(item) for item in items if _is_choice(item))
        for group, items in sorted(study.test_items_by_group.items())
    }
    total = sum(by_group.values(), Counter[str]())
    most_often, n_most = total.most_common(1)[0]
    n_items = total.total()
    n_ungraded = sum(not item.is_graded for item in study.test_items)
    items = f"{n_items} graded test items with options" if n_items < len(study.test_items) else f"{n_items} test items"
    habit = f"always answering {most_often} is right in {n_most} of {items} ({n_most / n_items:.0%})"
    if n_ungraded:
        habit = f"{n_ungraded} of {len(study.test_items)} test items are ungraded (`key: null`); {habit}"
    if any(task_named(item.task).categories for item in graded):
        return _over_groups(subject, by_group, habit)
    chance = sum(task_named(item.task).chance(item.content) for item in graded) / n_items
    if n_most / n_items > chance + MOST_ABOVE_CHANCE:
        return needs_attention(
            subject,
            f"{habit}; chance is {chance:.0%}.",
            "change the order of options in some items (`equipoise battery variants` does this).",
        )
    for group, counts in by_group.items():
        position, n_here = counts.most_common(1)[0] if counts else ("", 0)
        if n_here - math.ceil(counts.total() * chance) > MOST_ITEMS_APART:
            return needs_attention(
                subject,
                f"in group {group}, the right answer is {position} in {n_here} of {counts.total()} items.",
                "give the items a factor with the position of the right answer, and add this factor to "
                "`design.balance`; or change the order of options.",
            )
    return passed(subject, f"{habit}; chance is {chance:.0%}. The groups are balanced too.")


def _over_groups(subject: str, by_group: dict[int, Counter[str]], habit: str) -> Point:
    answers = sorted({answer for counts in by_group.values() for answer in counts})
    numbers = {answer: [counts[answer] for counts in by_group.values()] for answer in answers}
    apart = {answer: (min(each), max(each)) for answer, each in numbers.items()}
    spans = listed([f"{answer} {low}" + (f" to {high}" if high > low else "") for answer, (low, high) in apart.items()])
    found = f"right answers in a group: {spans}. In the battery, {habit}."
    if any(high - low > MOST_ITEMS_APART for low, high in apart.values()):
        return needs_attention(subject, found, "add a factor with the right answer to `design.balance`.")
    return passed(subject, found)


def _is_choice(item: Item) -> bool:
    """Return True if an item has options and one right one among them, such as the ports of a Black Box."""
    task = task_named(item.task)
    return (
        item.is_graded
        and not item.content.get("several")
        and bool(task.categories or task.choice(item.content, item.key) is not None)
    )


def _right(item: Item) -> str:
    """Return the name of an item's right answer: its category, or its position."""
    task = task_named(item.task)
    if task.categories:
        return f"`{task.category(item.content, item.key)}`"
    return f"position {task.responses(item.content).index(item.key) + 1}"
