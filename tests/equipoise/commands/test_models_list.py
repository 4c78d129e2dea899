"""`equipoise models list`."""

import csv
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import equipoise as eq
from equipoise.cli.main import main
from experiment.models.prompts.requests import requests_for
from experiment.models.runs.finished_runs import finished_run
from experiment.models.runs.kept_replies import KeptCondition, KeptReply, kept_replies
from experiment.models.runs.settings import RunSettings, folder_of
from server.store import SqliteStore

MODEL = "openai/gpt-4.1"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    eq.new(tmp_path / "study", "intuition-single")
    return tmp_path / "study"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def lines(study: Path, *options: object) -> list[str]:
    result = run("models", "list", study, *options)
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def import_replies(study: Path, replies: dict[str, str], model: str) -> None:
    file = study / "replies.csv"
    with file.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened).writerows([("id", "reply"), *replies.items()])
    eq.models_import(study, file, map=f"item=id,reply=reply,model=={model}", training_cutoff="2024-06")


def keep_replies(folder: Path, n_of_epoch: dict[int, int]) -> None:
    """Keep replies as `models run` does, and store the runs that are complete."""
    study = eq.load_study(folder)
    requests = requests_for(study, temperatures=[0.7], epochs=len(n_of_epoch))
    settings = RunSettings(MODEL, requests, folder_of(folder / "data", MODEL))
    condition = settings.condition(0.7)
    with kept_replies(settings.folder) as replies:
        n_items = len(requests.items)
        replies.describe([KeptCondition(condition, settings.label(0.7), MODEL, 0.7, study.battery.digest, n_items)])
        for epoch, n in n_of_epoch.items():
            for item in requests.items[:n]:
                replies.add(
                    KeptReply(condition, item.item_id, epoch, "r", "1", "", "gpt-4.1-2025-04-14", "stop", 300, 2, 1.5,
                              "2026-03-01T10:00:00+00:00")
                )  # fmt: skip
        found = [finished_run(settings, replies, 0.7, epoch) for epoch in n_of_epoch]
    store = SqliteStore(study.store_path)
    store.add_runs(study, [one for one in found if one is not None])
    store.close()


def test_each_run_is_listed_with_its_numbers_and_the_canary_is_named(study: Path, tmp_path: Path) -> None:
    loaded = eq.load_study(study)
    first, second, *_ = (item.item_id for item in loaded.test_items)
    assert loaded.battery.canary is not None
    import_replies(study, {first: "1", second: "no idea"}, "clean")
    import_replies(study, {first: f"1\n\nCanary {loaded.battery.canary.upper()}", second: "2"}, "seen")
    said = lines(study, "-o", tmp_path / "runs.csv")
    assert said[0].startswith("clean: 2 of 144 responses, 142 missing, 1 invalid. clean, imported (table) on ")
    assert said[0].endswith(", training cutoff 2024-06.")
    canary = "The battery's canary is in replies of 1 run, so the model may have seen the battery: seen (1 reply)."
    assert said[2:] == [canary]
    with (tmp_path / "runs.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["run"], row["n_missing"], row["n_with_canary"]) for row in rows] == [
        ("clean", "142", "0"), ("seen", "142", "1"),
    ]  # fmt: skip


def test_a_run_that_is_not_finished_is_listed_without_and_with_a_store(study: Path) -> None:
    keep_replies(study, {1: 144, 2: 40})
    stored, unfinished, *rest = lines(study)
    label = f"{MODEL}, three-lines, temperature 0.7, epoch"
    version = "gpt-4.1-2025-04-14 (openai), run with Equipoise on 2026-03-01"
    assert stored == (
        f"{label} 1: 144 of 144 responses, 43,200 tokens in, 288 tokens out. {version}, training cutoff unknown."
    )
    assert unfinished == (
        f"{label} 2: 40 of 144 replies, 104 missing, 12,000 tokens in, 80 tokens out. {version}; not in the store."
    )
    assert rest == [
        "The battery's canary is in no reply.",
        "To continue a run that is not in the store, repeat its command `equipoise models run`.",
    ]
    assert [one.epoch for one in eq.models_list(study, study / "data" / "other.db")] == [1, 2]
    assert not (study / "data" / "other.db").exists()
    with kept_replies(folder_of(study / "data", MODEL)):  # As while the model is asked.
        result = run("models", "list", study)
    assert result.stdout.splitlines()[0] == stored
    assert "another command asks this model now" in result.stderr


def test_a_study_without_runs_has_an_empty_list_and_a_missing_store_is_an_error(study: Path) -> None:
    missing = run("models", "list", study)
    assert missing.exit_code == 2
    assert "equipoise.db: this file does not exist" in missing.stderr
    SqliteStore(study / "data" / "equipoise.db").close()
    assert lines(study) == ["The store has no runs of models for this study."]
