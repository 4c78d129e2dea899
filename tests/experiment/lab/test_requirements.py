"""Requirements of the laboratory on studies, machines and options."""

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
        ("height_px: 900", {}, "and this window has 1024 x 768. Fix: run the session on a larger screen"),
        ("refresh_hz: 100", {}, "a screen of 100 Hz, and this screen has 59.9"),
        ("refresh_hz: 100", {"is_synchronised": False, "measured_hz": 900.0}, "and this screen has 60.0"),
        ("width_px: 1024\n  height_px: 768\n  refresh_hz: 60", {}, None),
        ("refresh_hz: 100", {"is_synchronised": False, "nominal_hz": None}, None),
    ],
)
def test_a_machine_that_does_not_meet_the_studys_requirements_is_refused(small, edit, needs, here, sentence):
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


def test_all_items_of_a_study_have_letters_of_one_size(small):
    assert sheet_for(load_study(small), SIZE_PX).item_px is not None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--participant", "P01", "--rehearsal", "--server", "http://127.0.0.1:9"],
            "a rehearsal is not uploaded",
        ),
        (["--participant", "P01", "--group", "0"], "Invalid value for '--group'"),
        (
            ["--participant", "P01", "--group", "59"],
            "--group 59: this group does not exist. Fix: choose a group from 1 to 58.",
        ),
        (["--group", "1"], "need a participant. Fix: add --participant"),
    ],
)
def test_invalid_options_are_refused_with_one_sentence(small, arguments, sentence):
    result = CliRunner().invoke(main, ["lab", str(small), *arguments])
    assert result.exit_code == 2 and sentence in result.stderr
    assert not (small / "data").exists()


def test_options_may_precede_the_study(small):
    result = CliRunner().invoke(main, ["lab", "--group", "0", str(small), "--participant", "P01"])
    assert "Invalid value for '--group'" in result.stderr
    assert "Commands:" in CliRunner().invoke(main, ["lab", "--help"]).stdout
