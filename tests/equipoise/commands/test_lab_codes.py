"""`equipoise lab codes`: the list of a study's event codes, and their rehearsal."""

import csv
import io

import pytest
from click.testing import CliRunner

from equipoise.cli.main import main
from equipoise.commands.lab import codes
from experiment.load_study import load_study


def invoke(*arguments):
    return CliRunner().invoke(main, ["lab", "codes", *map(str, arguments)])


def coded(folder, text):
    path = folder / "study.yaml"
    path.write_text(f"{path.read_text()}\nevent_codes:\n{text}")
    return folder


def test_the_list_has_every_code_with_its_meaning(study_folder):
    study = load_study(study_folder)
    first = study.test_items[0].item_id
    coded(study_folder, f"  events: {{stimulus: 2, break: 7}}\n  items: {{{first}: 100}}\n")
    result = invoke(study_folder)
    assert result.exit_code == 0
    assert list(csv.reader(io.StringIO(result.stdout))) == [
        ["code", "event", "phase", "item_id"],
        ["7", "break", "", ""],
        ["12", "stimulus", "practice", ""],
        ["22", "stimulus", "test", ""],
        ["32", "stimulus", "attention_check", ""],
        ["122", "stimulus", "test", first],
    ]


def test_a_rehearsal_sends_every_code_once_in_order(study_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(codes, "INTERVAL_S", 0.001)
    log = tmp_path / "codes.csv"
    result = invoke(study_folder, "--trigger", f"log:{log}")
    assert result.exit_code == 0
    sent = [int(line.split(",")[1]) for line in log.read_text().splitlines()[1:]]
    assert sent == sorted({meaning.code for meaning in load_study(study_folder).event_code_meanings})
    lines = result.stdout.splitlines()
    assert lines[-1] == f"Codes sent: {len(sent)}. Compare them with the recording."
    assert [int(line.split(":")[0]) for line in lines[:-1]] == sent
    assert "22: stimulus, test" in lines


@pytest.mark.parametrize(
    ("text", "trigger", "sentence"),
    [
        ("  events: {}\n", "log:codes.csv", "the study sends no event codes. Fix: name events"),
        ("  events: {stimulus: 1000}\n", "serial:loop://", "cannot send the code 1030, because its codes are from 1"),
        (
            "  events: {stimulus: 0}\n  phases: {}\n",
            "log:codes.csv",
            "is 0, but codes are from 1 to 65,535. Fix: ",
        ),
    ],
)
def test_codes_that_cannot_be_sent_are_refused_with_one_sentence(
    study_folder, tmp_path, monkeypatch, text, trigger, sentence
):
    if trigger.startswith("serial"):
        pytest.importorskip("serial", reason="pyserial comes with the extra `lab`")
    monkeypatch.chdir(tmp_path)
    result = invoke(coded(study_folder, text), "--trigger", trigger)
    assert result.exit_code == 2
    assert sentence in result.stderr and "Traceback" not in result.stderr
