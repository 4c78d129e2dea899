"""Batch results are imported by the command into a real store, with the planted scores and counts."""

import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from batteries.errors import InputError
from equipoise.cli.main import main
from equipoise.commands.models.imports import models_import
from experiment.load_study import load_study
from experiment.study.definition import Study
from server.store import SqliteStore
from server.store.verify import verify
from tests.experiment.models.imports.fabricated import (
    Line,
    Planted,
    anthropic_failure,
    anthropic_line,
    ids_of,
    openai_failure,
    openai_line,
    planted,
    responses_line,
    right,
    write_lines,
    wrong,
)  # fmt: skip

APIS = {
    "chat": (openai_line, openai_failure),
    "responses": (responses_line, openai_failure),
    "anthropic": (anthropic_line, anthropic_failure),
}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


def import_files(study: Path, *files: Path) -> Result:
    return run("models", "import", study, *files)


def stored(study: Path) -> list[dict[str, Any]]:
    store = SqliteStore(study / "data" / "equipoise.db")
    try:
        with store.snapshot() as db:
            assert list(verify(db).problems) == []
            texts = dict(db.execute("SELECT session || '/' || trial_index, text FROM responses").fetchall())
        rows = store.trials(load_study(study))
        return [row | {"text": texts[f"{row['session']}/{row['trial_index']}"]} for row in rows]
    finally:
        store.close()


def check(printed: str, batch: Planted) -> None:
    first = printed.splitlines()[0]
    assert f"{batch.n} responses, {batch.n_correct} correct" in first
    if batch.n_invalid:
        assert f"{batch.n_invalid} invalid (" in first
    if batch.n_truncated:
        assert f"{batch.n_truncated} truncated" in first
    assert f"{len(batch.missing)} of 144 items are missing ({batch.n_failed} failed): `{batch.missing[0]}`" in first
    assert f": {batch.n_failed + 2} lines failed (line " in printed
    assert f": {batch.n_foreign} lines belong to no request of this study (line " in printed
    assert f": {batch.n_unreadable} lines are unreadable (line " in printed
    assert f": {batch.n_different} lines are a second, different reply (line " in printed
    assert f": {batch.n_repeated} lines repeat the same reply." in printed


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("api", APIS)
def test_a_batch_in_random_order_is_imported_with_its_planted_scores(
    vignettes_folder: Path, vignettes: Study, tmp_path: Path, api: str, seed: int
) -> None:
    line, failure = APIS[api]
    batch = planted(vignettes, line, failure, seed)
    done = import_files(vignettes_folder, write_lines(tmp_path / "results", batch.lines))
    assert done.exit_code == 0, done.output
    check(done.stdout, batch)
    rows = stored(vignettes_folder)
    assert {row["item_id"]: row["text"] for row in rows} == batch.expected
    assert [row["valid"] for row in rows].count(0) == batch.n_invalid
    assert {row["temperature"] for row in rows} == {0.7}
    assert {row["source"] for row in rows} == {"import"}
    assert all(row["response"] == json.dumps(row["text"]) for row in rows if not row["valid"])


@pytest.mark.parametrize("api", APIS)
def test_a_second_import_adds_nothing_whatever_the_order_and_the_names_of_the_files(
    vignettes_folder: Path, vignettes: Study, tmp_path: Path, api: str
) -> None:
    batch = planted(vignettes, *APIS[api], seed=5)
    import_files(vignettes_folder, write_lines(tmp_path / "results.jsonl", batch.lines))
    before = stored(vignettes_folder)
    first = batch.lines[: -batch.n_different]
    random.Random(1).shuffle(first)
    shuffled = [*first, *batch.lines[-batch.n_different :]]
    parts = [write_lines(tmp_path / "b.txt", shuffled[:40]), write_lines(tmp_path / "a.csv", shuffled[40:])]
    again = import_files(vignettes_folder, *parts)
    assert again.exit_code == 0, again.output
    assert again.stdout.splitlines()[0].endswith(": already in the store.")
    assert stored(vignettes_folder) == before


def test_models_temperatures_and_epochs_are_separate_runs(
    vignettes_folder: Path, vignettes: Study, tmp_path: Path
) -> None:
    lines = [
        json.dumps(make(request, right(item)))
        for make in (openai_line, anthropic_line)
        for temperature in (0.1, None)
        for epoch in (1, 2)
        for item, request in zip(vignettes.test_items, ids_of(vignettes, temperature, epoch).values(), strict=True)
    ]
    random.Random(3).shuffle(lines)
    openai, anthropic = ([line for line in lines if ('"result"' in line) is is_other] for is_other in (False, True))
    done = import_files(vignettes_folder, write_lines(tmp_path / "o", openai), write_lines(tmp_path / "a", anthropic))
    assert done.stdout.count("144 responses, 144 correct (100.0%).\n") == 8
    assert "gpt-4o-2024-08-06, template 9f8e7d6c, temperature 0.1, epoch 2: " in done.stdout
    assert "claude-sonnet-4-5-20250929, template 9f8e7d6c, epoch 1: " in done.stdout
    assert len({row["run"] for row in stored(vignettes_folder)}) == 8


def one_batch(study: Study, n: int, line: Line = openai_line) -> list[str]:
    ids = ids_of(study)
    return [json.dumps(line(ids[item.item_id], right(item))) for item in study.test_items[:n]]


@pytest.mark.parametrize("part", [slice(0, 144), slice(100, 144)])
def test_a_later_import_of_the_same_run_is_refused(
    vignettes_folder: Path, vignettes: Study, tmp_path: Path, part: slice
) -> None:
    lines = one_batch(vignettes, 144)
    assert import_files(vignettes_folder, write_lines(tmp_path / "first", lines[:100])).exit_code == 0
    refused = import_files(vignettes_folder, write_lines(tmp_path / "later", lines[part]))
    assert refused.exit_code == 2
    assert "of the same model under the same condition is in the store already, with 100 responses" in refused.stderr
    assert "Fix: import all files of this run together" in refused.stderr
    assert len(stored(vignettes_folder)) == 100


def test_all_files_of_a_run_are_one_run(vignettes_folder: Path, vignettes: Study, tmp_path: Path) -> None:
    lines = one_batch(vignettes, 144)
    failures = [json.dumps(openai_failure(request)) for request in list(ids_of(vignettes).values())[100:]]
    done = import_files(
        vignettes_folder,
        write_lines(tmp_path / "first", lines[:100]),
        write_lines(tmp_path / "errors", failures),
        write_lines(tmp_path / "later", lines[100:]),
    )
    assert "144 responses, 144 correct (100.0%).\n" in done.stdout
    assert f"{tmp_path / 'errors'}: 44 lines failed (line 1, `" in done.stdout


def test_the_earlier_of_two_different_replies_is_kept(vignettes_folder: Path, vignettes: Study, tmp_path: Path) -> None:
    item, request = vignettes.test_items[0], next(iter(ids_of(vignettes).values()))
    lines = [
        json.dumps(openai_line(request, wrong(item), created=1_770_000_000)),
        json.dumps(openai_line(request, right(item), created=1_760_000_000)),
    ]
    done = import_files(vignettes_folder, write_lines(tmp_path / "results", lines))
    assert "1 responses, 1 correct" in done.stdout
    assert "1 line is a second, different reply (line 2, `" in done.stdout


def test_a_run_of_another_battery_is_refused_with_the_differences_of_the_items(
    vignettes_folder: Path, vignettes: Study, tmp_path: Path
) -> None:
    lines = one_batch(vignettes, 10)
    import_files(vignettes_folder, write_lines(tmp_path / "first", lines))
    battery = vignettes_folder / "battery.jsonl"
    rows = battery.read_text(encoding="utf-8").splitlines()
    changed = json.loads(rows[3])
    changed["content"]["prompt"] += " Why?"
    battery.write_text("\n".join([*rows[:3], json.dumps(changed), *rows[4:]]) + "\n", encoding="utf-8")
    study = vignettes_folder / "study.yaml"
    study.write_text(study.read_text(encoding="utf-8").replace('"1.0"', '"2.0"', 1), encoding="utf-8")
    refused = import_files(vignettes_folder, write_lines(tmp_path / "again", lines))
    assert refused.exit_code == 2
    assert f"10 lines belong to the battery with the digest {vignettes.battery.digest[:8]}..." in refused.stderr
    assert f"Items with another content or key: 1 (`{changed['item_id']}`)." in refused.stderr
    assert "Fix: use the version of the study" in refused.stderr


def test_a_battery_that_the_store_does_not_know_is_named_by_its_digest(
    vignettes_folder: Path, vignettes: Study, tmp_path: Path
) -> None:
    lines = [line.replace(vignettes.battery.digest[:8], "0a0a0a0a") for line in one_batch(vignettes, 3)]
    refused = import_files(vignettes_folder, write_lines(tmp_path / "results", lines))
    assert refused.exit_code == 2
    assert "3 lines belong to the battery with the digest 0a0a0a0a..." in refused.stderr
    assert "are not in the store" in refused.stderr
    assert not (vignettes_folder / "data").exists()
    both = import_files(vignettes_folder, write_lines(tmp_path / "both", [*lines, *one_batch(vignettes, 144)]))
    assert both.exit_code == 0
    assert "144 responses, 144 correct" in both.stdout
    assert "3 lines belong to another battery (line 1, `0a0a0a0a-" in both.stdout


def test_the_canary_of_the_battery_is_found_in_replies(
    vignettes_folder: Path, vignettes: Study, tmp_path: Path
) -> None:
    canary = vignettes.battery.canary
    assert canary
    ids = ids_of(vignettes)
    first, second = vignettes.test_items[:2]
    lines = [
        json.dumps(openai_line(ids[first.item_id], f"{right(first)}\nGUID {canary.upper()}")),
        json.dumps(openai_line(ids[second.item_id], right(second))),
    ]
    done = import_files(vignettes_folder, write_lines(tmp_path / "results", lines))
    assert f"The battery's canary is in 1 reply (`{first.item_id}`)" in done.stdout


@pytest.mark.parametrize("reply", ["", "\x00", "half of an emoji \ud83d", "\u2028 2", "'; DROP TABLE runs; --", "١"])
def test_an_unusual_reply_is_stored_and_loses_no_other_reply(
    vignettes_folder: Path, vignettes: Study, tmp_path: Path, reply: str
) -> None:
    lines = one_batch(vignettes, 144)
    lines[7] = json.dumps(openai_line(list(ids_of(vignettes).values())[7], reply))
    done = import_files(vignettes_folder, write_lines(tmp_path / "results", lines))
    assert done.exit_code == 0, done.output
    assert "144 responses, " in done.stdout
    again = import_files(vignettes_folder, write_lines(tmp_path / "results", lines))
    assert "already in the store" in again.stdout


def test_bytes_that_are_not_text_damage_only_their_line(
    vignettes_folder: Path, vignettes: Study, tmp_path: Path
) -> None:
    path = tmp_path / "results"
    lines = [line.encode() for line in one_batch(vignettes, 5)]
    path.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join([*lines[:2], b'{"custom_id": "\xff"}', b"9" * 5000, *lines[2:]]))
    done = import_files(vignettes_folder, path)
    assert "5 responses, 5 correct" in done.stdout
    assert "2 lines are unreadable (line 3: not UTF-8 text; line 4: " in done.stdout


def test_practice_items_and_items_beyond_the_battery_are_unknown_items(
    vignettes_folder: Path, vignettes: Study, tmp_path: Path
) -> None:
    items = vignettes.battery.items
    practice = next(number for number, item in enumerate(items) if item.item_id == "practice-1")
    prefix = vignettes.battery.digest[:8]
    lines = [
        json.dumps(openai_line(f"{prefix}-{number:05d}-9f8e7d6c-t070-e1", "1")) for number in (practice, len(items))
    ]
    refused = import_files(vignettes_folder, write_lines(tmp_path / "results", lines))
    assert refused.exit_code == 2
    assert "2 lines have an unknown item (line 1, " in refused.stderr
    assert "`practice-1` is not a test item" in refused.stderr
    assert "Fix: import the results of requests for this study." in refused.stderr


def test_the_function_does_the_same_as_the_command(vignettes_folder: Path, vignettes: Study, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "results", planted(vignettes, *APIS["chat"], seed=9).lines)
    by_function = models_import(vignettes, [str(path)], tmp_path / "other.db")
    assert import_files(vignettes_folder, path).stdout.splitlines() == by_function
    with pytest.raises(InputError, match="does not exist"):
        models_import(vignettes, tmp_path / "nothing")


def test_the_totals_of_tokens_and_the_condition_are_stored(
    vignettes_folder: Path, vignettes: Study, tmp_path: Path
) -> None:
    import_files(vignettes_folder, write_lines(tmp_path / "results", one_batch(vignettes, 20, responses_line)))
    db = sqlite3.connect(vignettes_folder / "data" / "equipoise.db")
    (parameters,) = db.execute("SELECT parameters FROM runs").fetchone()
    db.close()
    assert json.loads(parameters) == {
        "format": "openai-batch",
        "provider": "openai",
        "template": "9f8e7d6c",
        "epoch": 1,
        "max_tokens": 512,
        "totals": {"tokens_in": 2000, "tokens_out": 200},
    }


def test_a_file_of_failures_only_is_refused(vignettes_folder: Path, vignettes: Study, tmp_path: Path) -> None:
    failures = [json.dumps(openai_failure(request)) for request in ids_of(vignettes).values()]
    refused = import_files(vignettes_folder, write_lines(tmp_path / "errors", failures))
    assert refused.exit_code == 2
    assert "144 lines failed (line 1, `" in refused.stderr
    assert "No reply was imported. Fix: send the failed requests again." in refused.stderr
    assert not (vignettes_folder / "data").exists()
