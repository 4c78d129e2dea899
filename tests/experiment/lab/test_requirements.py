"""Which studies and machines the laboratory takes, and what it is asked."""

from contextlib import nullcontext

import pytest
from click.testing import CliRunner

from batteries.errors import InputError
from equipoise.cli.main import main
from experiment.lab.requirements import check_device, check_tasks, sheet_for
from experiment.load_study import load_study
from tests.experiment.lab.visits.lab_visits import DEVICE, SIZE_PX


@pytest.mark.parametrize(
    ("needs", "here", "sentence"),
    [
        ("width_px: 1025", {}, "a window of at least 1025 x 768 pixels"),
        ("height_px: 900", {}, "and this one has 1024 x 768. Fix: run it on a larger screen"),
        ("refresh_hz: 100", {}, "a screen of 100 Hz, and this one has 59.9"),
        ("refresh_hz: 100", {"is_synchronised": False, "measured_hz": 900.0}, "and this one has 60.0"),
        ("width_px: 1024\n  height_px: 768\n  refresh_hz: 60", {}, None),
        ("refresh_hz: 100", {"is_synchronised": False, "nominal_hz": None}, None),
    ],
)
def test_a_machine_must_have_what_the_study_asks_of_every_device(small, edit, needs, here, sentence):
    edit(small / "study.yaml", "\ndevice:\n", f"\ndevice:\n  {needs}\n")
    study = load_study(small)
    device = DEVICE.model_copy(update=here)
    with pytest.raises(InputError, match=f"study.yaml, device: .*{sentence}") if sentence else nullcontext():
        check_device(study, device)


def test_items_that_only_a_browser_can_show_are_refused(small):
    study = load_study(small)
    study.battery.items[0].__dict__["task"] = "jspsych"
    with pytest.raises(InputError, match=r"study\.yaml: the item .* only a browser can show"):
        check_tasks(study)


def test_items_of_a_study_are_not_written_in_letters_of_several_sizes(small):
    assert sheet_for(load_study(small), SIZE_PX).item_px is not None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--participant", "P01", "--rehearsal", "--server", "http://127.0.0.1:9"],
            "a rehearsal stays on this machine",
        ),
        (["--participant", "P01", "--group", "0"], "Invalid value for '--group'"),
        (
            ["--participant", "P01", "--group", "59"],
            "--group 59: this group does not exist. Fix: name one from 1 to 58.",
        ),
        ([], "Missing option '--participant'"),
    ],
)
def test_a_session_that_cannot_be_asked_for_is_refused_in_a_sentence(small, arguments, sentence):
    result = CliRunner().invoke(main, ["lab", str(small), *arguments])
    assert result.exit_code == 2 and sentence in result.stderr
    assert not (small / "data").exists()


def test_options_may_stand_before_the_study(small):
    result = CliRunner().invoke(main, ["lab", "--group", "0", str(small), "--participant", "P01"])
    assert "Invalid value for '--group'" in result.stderr
    assert "Commands:" in CliRunner().invoke(main, ["lab", "--help"]).stdout
