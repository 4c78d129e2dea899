"""Reading and checking a study folder: `study.yaml`, the battery and the texts."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path

from batteries.design import LatinSquare, assign_groups, levels_of
from batteries.errors import InputError, input_error_about
from batteries.files.file_reading import line_of, parse_yaml, read_text, read_yaml
from batteries.items import Battery, Item, load_battery
from batteries.stimulus.asset_files import asset_file, read_asset
from batteries.tasks.jspsych_plugin import JsPsychPlugin
from batteries.tasks.psychopy_trial import PsychoPyTask
from experiment.plan import plan_session, sequences_of
from experiment.study.analysis_plan import OF_RUNS
from experiment.study.answer_coding import items_of_codings
from experiment.study.blackbox_diagrams import check_diagrams
from experiment.study.definition import Study, StudyDefinition
from experiment.study.demographics import DemographicQuestion, Questionnaire
from experiment.study.event_codes import check_names
from experiment.study.pages_by_source import check_sections
from experiment.study.published_files import files_named_in, is_in_folder, may_be_published
from experiment.study.response_keys import check_response_keys
from experiment.study.revision import listed
from experiment.texts import check_own

MOST_GROUPS = 1_000
"""Largest number of groups, as in `design.groups`."""
MOST_LOGO_KB = 300
"""Largest size of a logo, in kB of 1,000 bytes, because participants load it before the first page."""


def load_study(folder: Path) -> Study:
    """Read and check a study.

    Parameters
    ----------
    folder
        The folder with `study.yaml`.

    Raises
    ------
    InputError
        If the study has an error. The message names the file, the line or item, the error and the fix.
    """
    path = folder / "study.yaml"
    if not folder.is_dir():
        is_inside = Path("study.yaml").is_file()
        fix = "write `.` instead: the current folder is a study" if is_inside else "correct the name or the path"
        where = "" if folder.is_absolute() else f" in {Path.cwd()}"
        raise InputError(f"{folder}: there is no such folder{where}. Fix: {fix}.")
    if not path.is_file():
        raise InputError(
            f"{folder}: this folder has no file study.yaml. Fix: use the folder of a study, or make a study with "
            "`equipoise new`."
        )
    definition = read_yaml(path, StudyDefinition)
    for location, name in files_named_in(definition):
        if not may_be_published(folder, name):
            raise InputError(
                f"{path}, line {line_of(path, location)}: `{'.'.join(map(str, location))}` names the file `{name}`, "
                "which is outside the study's folder, or in its folder `data`. Fix: copy the file into the study's "
                "folder, and write the name of the copy."
            )
    ids = definition.recruitment.panel_ids
    if ids is not None and not is_in_folder(folder, ids):
        raise InputError(
            f"{path}, line {line_of(path, ('recruitment', 'panel_ids'))}: `recruitment.panel_ids` names the file "
            f"`{ids}`, which is outside the study's folder. Fix: copy the file into the study's folder `data`, and "
            "write the name of the copy."
        )
    definition = _with_logo(path, definition)
    battery_path = folder / definition.battery
    if not battery_path.is_file():
        raise InputError(
            f"{path}: the battery `{definition.battery}` is not in the study's folder. Fix: add the file or correct "
            "`battery`."
        )
    battery = load_battery(battery_path)
    timeline = definition.timeline
    texts = {name: read_text(folder / name) for name in definition.pages}
    for name, text in texts.items():
        check_sections(text, folder / name)
        check_diagrams(text, folder / name)
    demographics: tuple[DemographicQuestion, ...] = ()
    if timeline.demographics is not None:
        path_of_questions = folder / timeline.demographics
        texts[timeline.demographics] = read_text(path_of_questions)
        demographics = parse_yaml(texts[timeline.demographics], path_of_questions, Questionnaire).questions
    texts |= {name: read_text(folder / name) for name in sorted(definition.code_files)}  # Python runs only in the lab.
    with input_error_about(str(path)):
        check_own(definition.texts, path)
        test_items = _test_items(definition, battery)
    for field, factors in _named_factors(definition).items():
        _check_factors(path, field, factors, test_items)
    with input_error_about(str(path)):
        _check_practice(definition)
        _check_keys(definition, battery)
        _check_plugins(definition, battery, texts)
        _check_psychopy_trials(definition, battery)
        items_of_codings(definition.analysis.coding, test_items)
        groups = _groups(test_items, definition)
        study = Study(folder, definition, battery, groups, texts, demographics, _panel_ids(folder, definition))
        check_response_keys(definition.response_keys, battery.items)
        _check_number_of_groups(study)
        _check_sequences(study)
        _check_blocks(study)
        check_names(definition.event_codes, battery.items, test_items)
        study.event_code_meanings  # noqa: B018 - listing the codes finds equal codes
        for group in study.test_items_by_group:
            plan_session(study, group, seed=0)
        study.digest  # noqa: B018 - computing the digest finds a definition that cannot be registered
    return study


def _panel_ids(folder: Path, definition: StudyDefinition) -> frozenset[str] | None:
    """Return the accepted panel ids, or None if the study has no list of ids."""
    recruitment = definition.recruitment
    if recruitment.panel_ids is None:
        return None
    name, first_lines = recruitment.panel_ids, dict[str, int]()
    for number, line in enumerate(read_text(folder / name).splitlines(), start=1):
        panel_id = line.strip()
        if not panel_id:
            continue
        if not recruitment.id_pattern.fullmatch(panel_id):
            raise InputError(
                f"`recruitment.panel_ids`: {name}, line {number}: `{panel_id[:40]}` is not a panel id of the form "
                f"`{recruitment.id_pattern.pattern}`. Fix: write one id on each line and nothing else, or change "
                "`panel_id_pattern`."
            )
        if panel_id in first_lines:
            raise InputError(
                f"`recruitment.panel_ids`: {name}: duplicate id `{panel_id}` (lines {first_lines[panel_id]} and "
                f"{number}). Fix: delete one of the two lines."
            )
        first_lines[panel_id] = number
    if not first_lines:
        raise InputError(
            f"`recruitment.panel_ids`: {name}: the file has no ids. Fix: write one id on each line, or delete "
            "`panel_ids`."
        )
    return frozenset(first_lines)


def _with_logo(path: Path, definition: StudyDefinition) -> StudyDefinition:
    """Check the file of the study's logo, and return the definition with the SHA-256 of this file."""
    look = definition.look
    if look.logo is None:
        return definition
    with input_error_about(f"{path}, line {line_of(path, ('look', 'logo'))}"):
        sha256 = read_asset(path.parent, look.logo, "image")["sha256"]
        size_kb = asset_file(path.parent, look.logo).stat().st_size / 1000
        if size_kb > MOST_LOGO_KB:
            raise InputError(
                f"{look.logo}: the logo has {size_kb:,.0f} kB; the limit is {MOST_LOGO_KB} kB. Fix: save the logo with "
                "fewer pixels, or as SVG."
            )
        if look.logo_sha256 not in {None, sha256}:
            raise InputError(
                f"{look.logo}: the logo is not the file that `look.logo_sha256` names (its SHA-256 is {sha256}). Fix: "
                "restore the file, or delete `logo_sha256`."
            )
    return definition.model_copy(update={"look": look.model_copy(update={"logo_sha256": sha256})})


def _test_items(definition: StudyDefinition, battery: Battery) -> list[Item]:
    apart = [*definition.practice, *definition.attention_checks]
    for item_id in apart:
        if item_id not in battery.by_id:
            raise InputError(
                f"the item `{item_id}`, named under practice or attention_checks, is not in the battery. Fix: "
                "correct the item id, or add the item."
            )
        if apart.count(item_id) > 1:
            raise InputError(
                f"practice and attention_checks name the item `{item_id}` more than once. Fix: name the item once."
            )
    return [item for item in battery.items if item.item_id not in apart]


def _check_practice(definition: StudyDefinition) -> None:
    criterion, n_practice = definition.practice_criterion, len(definition.practice)
    if criterion and criterion.correct > n_practice:
        answers = "right answer" if criterion.correct == 1 else "right answers"
        items = "is 1 practice item" if n_practice == 1 else f"are {n_practice} practice items"
        raise InputError(
            f"`practice_criterion` asks for {criterion.correct} {answers} in one round of the practice trials, but "
            f"there {items}. Fix: lower `correct` or name more items under `practice`."
        )


def _check_keys(definition: StudyDefinition, battery: Battery) -> None:
    """Raise InputError if an item whose responses must be right or wrong is ungraded."""
    needed = [(item_id, "is an attention check") for item_id in definition.attention_checks]
    if definition.practice_criterion is not None:
        needed += [(item_id, "is practice with a `practice_criterion`") for item_id in definition.practice]
    for item_id, what in needed:
        if not battery.by_id[item_id].is_graded:
            raise InputError(
                f"the item `{item_id}` {what}, but the item is ungraded (`key: null`). Fix: write the right answer as "
                "`key`, or name another item."
            )


def _check_plugins(definition: StudyDefinition, battery: Battery, texts: Mapping[str, str]) -> None:
    for name, plugin in definition.plugins.items():
        if plugin.variable not in texts[plugin.file]:
            raise InputError(
                f"`plugins.{name}`: `{plugin.file}` does not define the variable `{plugin.variable}`. Fix: use the "
                "plugin's file for web pages (index.browser.min.js in the npm package of the plugin), and the "
                "variable that the plugin's documentation names."
            )
    for item in battery.items:
        if item.task == JsPsychPlugin.name and item.content["plugin"] not in definition.plugins:
            raise InputError(
                f"the item `{item.item_id}` is a trial of the plugin `{item.content['plugin']}`, which is not under "
                "`plugins`. Fix: add the plugin under `plugins`, or correct the item."
            )


def _check_psychopy_trials(definition: StudyDefinition, battery: Battery) -> None:
    for item in battery.items:
        if item.task == PsychoPyTask.name and item.content["trial"] not in definition.psychopy_trials:
            raise InputError(
                f"the item `{item.item_id}` is a trial of the class `{item.content['trial']}`, which is not under "
                "`psychopy_trials`. Fix: add the class under `psychopy_trials`, or correct the item."
            )


def _groups(test_items: list[Item], definition: StudyDefinition) -> dict[str, int]:
    """Return the group of each test item. The method `deal` deals whole sequences, by the levels of their first items.

    The rows and cells of a Latin square determine the group of every single item.
    """
    design, sequence = definition.design, definition.order.sequence
    if sequence is None or isinstance(design, LatinSquare):
        return assign_groups(test_items, design)
    sequences = sequences_of(sorted(test_items, key=lambda item: item.item_id), sequence)
    dealt = assign_groups([first for first, *_ in sequences], design)
    return {item.item_id: dealt[items[0].item_id] for items in sequences for item in items}


def _check_sequences(study: Study) -> None:
    """Raise InputError if a sequence is in several groups or blocks, or if its order is ambiguous."""
    rule, blocks = study.definition.order.sequence, study.definition.blocks
    if rule is None:
        return
    for items in sequences_of(study.test_items, rule):
        names = listed([f"`{item.item_id}`" for item in items])
        if len({study.groups[item.item_id] for item in items}) > 1:
            raise InputError(
                f"`order.sequence`: {names} are one sequence, but they are in different groups. Fix: write `versions: "
                f"{rule.by}` and `offset_versions: false` under `design`."
            )
        for before, after in pairwise(items):
            if levels_of(before, [rule.by]) == levels_of(after, [rule.by]):
                raise InputError(
                    f"`order.sequence`: `{before.item_id}` and `{after.item_id}` are in one sequence and have the same "
                    f"level of `{rule.by}`, {after.factors[rule.by]!r}, so their order is not defined. Fix: give each "
                    "item of a sequence another level."
                )
        if blocks and len({levels_of(item, [blocks.of]) for item in items}) > 1:
            raise InputError(
                f"`order.sequence`: {names} are one sequence, but they are in different blocks. Fix: give them the "
                f"same level of `{blocks.of}`."
            )


def _check_number_of_groups(study: Study) -> None:
    definition = study.definition
    n_groups, n_orders, n_mappings = definition.n_groups, definition.n_block_orders, definition.response_keys.mappings
    if n_groups <= MOST_GROUPS:
        return
    settings, factors, fixes = [], [f"{definition.design.groups} groups"], []
    if n_orders > 1:
        settings.append("`blocks`")
        factors.append(f"{n_orders} orders of blocks each")
        fixes.append("write `order: random` under `blocks`")
    if n_mappings > 1:
        settings.append("`response_keys`")
        factors.append(f"{n_mappings} mappings of response keys each")
        fixes.append("lower `response_keys.mappings`")
    found = f"{' with '.join(factors)} are {n_groups:,} groups"
    raise InputError(
        f"{' and '.join(settings)}: {found}, but at most {MOST_GROUPS:,} are possible. Fix: {' or '.join(fixes)}."
    )


def _check_blocks(study: Study) -> None:
    """Raise InputError if a test item has no block, or if a block has no items in a group."""
    blocks = study.definition.blocks
    if blocks is None:
        return
    levels = [block.level for block in blocks.levels]
    for item in study.test_items:
        (level,) = levels_of(item, [blocks.of])
        if level not in levels:
            raise InputError(
                f"`blocks.levels` does not name the level {level!r} of `{blocks.of}`, which the test item "
                f"`{item.item_id}` has. Fix: add this level under `levels`, or correct the item."
            )
    for group, items in study.test_items_by_group.items():
        for level in levels:
            if all(item.factors[blocks.of] != level for item in items):
                raise InputError(
                    f"`blocks.levels` names the level {level!r}, but group {group} has no test item with this level "
                    f"of `{blocks.of}`. Fix: delete this level, or change `design` so that every group has such items."
                )


def _named_factors(definition: StudyDefinition) -> dict[str, tuple[str, ...]]:
    """Return the names of factors that `study.yaml` contains, by the field that contains them."""
    design, max_run, sequence = definition.design, definition.order.max_run, definition.order.sequence
    of_items = tuple(factor for factor in definition.analysis.by if factor not in OF_RUNS)
    named = {
        "analysis.by": of_items,
        "order.max_run.of": max_run.of if max_run else (),
        "order.sequence.of": sequence.of if sequence else (),
        "order.sequence.by": (sequence.by,) if sequence else (),
        "blocks.of": (definition.blocks.of,) if definition.blocks else (),
    }
    if isinstance(design, LatinSquare):
        versions = (design.versions,) if design.versions else ()
        return named | {"design.rows": design.rows, "design.cells": design.cells, "design.versions": versions}
    return named | {"design.balance": design.balance}


def _check_factors(path: Path, field: str, factors: Iterable[str], test_items: list[Item]) -> None:
    known = {factor for item in test_items for factor in item.factors}
    for factor in factors:
        if factor not in known:
            line = line_of(path, tuple(field.split(".")))
            raise InputError(
                f"{path}, line {line}: `{field}` names the factor `{factor}`, which no test item has. Fix: use a "
                f"factor of the test items: {', '.join(sorted(known)) or 'none'}."
            )
