import csv
from collections import defaultdict
from pathlib import Path

import pytest

from batteries.tasks import task_named
from equipoise.studies import sample_study_folder
from experiment.load_study import load_study
from experiment.models.mock_replies import MOCK_MODELS, MockModel, write_mock_replies
from experiment.models.prompts.requests import requests_for
from experiment.models.request_ids import RequestId
from experiment.study.definition import Study

STRONG, WEAK = MOCK_MODELS
TEMPERATURES = (0.0, 1.0)


@pytest.fixture(scope="module", params=["blackbox-predict", "intuition-single"])
def study(request: pytest.FixtureRequest) -> Study:
    return load_study(sample_study_folder(request.param))


def replies(study: Study, model: MockModel, path: Path, seed: int = 1) -> list[dict[str, str]]:
    write_mock_replies(requests_for(study, temperatures=TEMPERATURES, epochs=2), model, path, seed)
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_replies_depend_only_on_the_seed(study: Study, tmp_path: Path) -> None:
    first, again = (replies(study, STRONG, tmp_path / f"{number}.csv") for number in (1, 2))
    assert first == again
    assert first != replies(study, STRONG, tmp_path / "other.csv", seed=2)


def test_the_parser_reads_each_reply_and_the_models_differ_as_planned(study: Study, tmp_path: Path) -> None:
    correct, valid, n = defaultdict(int), defaultdict(int), len(study.test_items) * 2
    for model in MOCK_MODELS:
        for row in replies(study, model, tmp_path / f"{model.name}.csv"):
            request = RequestId.parse(row["request_id"])
            item = study.battery.items[request.item_index]
            task = task_named(item.task)
            reading = task.read_reply(item.content, row["reply"])
            of = (row["model"], request.temperature)
            valid[of] += reading.is_valid
            correct[of] += reading.is_valid and task.score(item.content, item.key, reading.response).correct
    assert valid["mock-strong", 0.0] == valid["mock-strong", 1.0] == n
    assert 0.85 * n < valid["mock-weak", 0.0] < n
    assert correct["mock-strong", 0.0] > 0.8 * n > 0.6 * n > correct["mock-weak", 0.0] > 0.3 * n
    assert correct["mock-strong", 1.0] < correct["mock-strong", 0.0]


def test_a_temperature_makes_the_replies_of_the_epochs_differ(study: Study, tmp_path: Path) -> None:
    by_item: dict[tuple[float | None, int], set[str]] = defaultdict(set)
    for row in replies(study, WEAK, tmp_path / "weak.csv"):
        request = RequestId.parse(row["request_id"])
        by_item[request.temperature, request.item_index].add(row["reply"])
    n_different = {
        temperature: sum(len(texts) > 1 for (of, _), texts in by_item.items() if of == temperature)
        for temperature in TEMPERATURES
    }
    assert n_different[0.0] == 0 < n_different[1.0]
