"""`equipoise export --format inspect`: people in Inspect's own reader. The former name of the command still works."""

import gc
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import equipoise as eq
from experiment.models.prompts.item_text import shown_item
from tests.equipoise.commands.store.commands import (
    StoredStudy,
    answer,
    done,
    make_small_study,
    mode,
    on_a_file,
    posix,
    refused,
    run,
)
from tests.experiment.models.runs.inspect_needed import need_inspect

# Inspect leaves streams open, and its libraries use deprecated functions.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(autouse=True)
def _inspect() -> Iterator[None]:
    need_inspect()
    yield
    gc.collect()


@pytest.fixture
def small(tmp_path: Path) -> StoredStudy:
    """Return a study of a panel, without sessions."""
    make_small_study(tmp_path / "study", "panel")
    return on_a_file(tmp_path / "study")


def test_the_log_has_the_accuracy_of_the_analysis(tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries
    from inspect_ai.scorer import SampleScore, stderr

    folder, results = tmp_path / "study", tmp_path / "results"
    path = tmp_path / "out" / "trials-simulated.eval"
    make_small_study(folder, "open")
    eq.simulate(folder, 6, seed=3)
    done("export", folder, "--format", "inspect", "-o", tmp_path / "out")
    eq.analyze(folder, results)
    trials = pd.read_csv(results / "tables" / "trials.csv")
    tested = trials[trials["phase"] == "test"].set_index(["session", "item_id"])
    kept = tested[tested["excluded_by"].isna()]

    log = read_eval_log(str(path))
    assert (log.status, log.eval.task, log.eval.model) == ("success", "blackbox-predict", "equipoise/simulated")
    (score,) = log.results.scores
    assert score.metrics["accuracy"].value == pytest.approx(kept["correct"].astype(float).mean())
    scored = [
        SampleScore(score=mark, sample_metadata=sample.metadata)
        for sample in log.samples
        for mark in (sample.scores or {}).values()
    ]
    assert score.metrics["stderr"].value == pytest.approx(stderr(cluster="participant")(scored))
    assert score.scored_samples == len(scored) == len(kept)

    items = eq.load_study(folder).battery.by_id
    words = eq.load_study(folder).words
    assert len({(sample.id, sample.epoch) for sample in log.samples}) == len(log.samples) == len(tested)
    for sample in log.samples:
        row, item = tested.loc[(sample.metadata["session"], sample.id)], items[sample.id]
        assert sample.input == shown_item(item.task, item.content, words)
        assert sample.target == item.key
        assert sample.output.completion == row["response"].strip('"')
        assert sample.metadata["rt_ms"] == row["rt_ms"]
        assert sample.working_time == pytest.approx(row["rt_ms"] / 1000)
        assert {name: sample.metadata[name] for name in item.factors} == item.factors
        assert {mark.value for mark in (sample.scores or {}).values()} <= {"C" if row["correct"] else "I"}
    assert {sample.epoch for sample in log.samples} == set(range(1, 7))
    assert len({(sample.epoch, sample.metadata["session"]) for sample in log.samples}) == 6
    summaries = read_eval_log_sample_summaries(str(path))
    assert {(each.id, each.epoch) for each in summaries} == {(each.id, each.epoch) for each in log.samples}


@posix
def test_the_log_marks_excluded_trials_and_names_nobody(empty: StoredStudy, tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log

    answer(empty, "anna-of-the-panel", n_answers=100, then="complete")
    answer(empty, "bert-of-the-panel", n_answers=12)  # more than the practice trials
    answer(empty, "carl-of-the-panel", n_answers=12, then="withdraw")
    path = tmp_path / "out" / "trials-human.eval"
    done("export", empty.folder, *empty.option, "--format", "inspect", "-o", tmp_path / "out")
    log = read_eval_log(str(path))
    assert set(log.results.scores[0].metrics) == {"accuracy"}  # One participant has no standard error.
    samples = log.samples
    by_session = {sample.metadata["session"]: sample for sample in samples}
    assert by_session.keys() == {empty.sessions["anna-of-the-panel"], empty.sessions["bert-of-the-panel"]}
    bert = by_session[empty.sessions["bert-of-the-panel"]]
    assert bert.metadata["excluded_by"] == "not_completed"
    assert bert.scores is None
    assert {sample.metadata["participant"][:2] for sample in samples} == {"p-"}

    with zipfile.ZipFile(path) as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
    assert b"of-the-panel" not in content
    assert b"p-" in content
    assert mode(path) == 0o600
    said = refused("models", "import", empty.folder, path)
    assert "this log contains responses of people" in said
    assert "Fix: give the log of a language model." in said


def test_a_log_without_responses_is_refused(small: StoredStudy, tmp_path: Path) -> None:
    with small.opened() as store:
        store.register_study(eq.load_study(small.folder))
    out = tmp_path / "out"
    assert "there are no responses yet. Fix: collect responses" in refused(
        "export", small.folder, "--format", "inspect", "-o", out
    )
    answer(small, "anna", n_answers=0)
    assert "there are no responses of people. Fix: collect responses first" in refused(
        "export", small.folder, "--format", "inspect", "-o", out
    )
    assert not out.exists()


def test_the_former_name_writes_the_log_of_people_and_names_the_new_command(small: StoredStudy, tmp_path: Path) -> None:
    answer(small, "anna", n_answers=100, then="complete")
    path = tmp_path / "people.eval"
    result = run("store", "inspect-log", small.folder, "-o", path)
    assert result.stdout == f"Made {path} with 10 responses.\n"
    assert result.stderr == (
        "Warning: `store inspect-log` is now `export --format inspect`. Fix: use the new name, which writes a folder.\n"
    )
    assert path.exists()
