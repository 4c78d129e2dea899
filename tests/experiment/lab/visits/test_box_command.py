"""The option `--box`: mistakes are refused before the window opens, and the check waits for each button."""

from types import SimpleNamespace

import pytest

from batteries.errors import InputError
from experiment.lab.hardware.response_box.box_check import BOX_PATIENCE_S, finding_on_buttons
from experiment.lab.hardware.response_box.box_text import read_box
from experiment.lab.requirements import check_box
from experiment.load_study import load_study
from tests.timed_study import CONFIDENCE, choice, keypress, make_timed_study


@pytest.mark.parametrize(
    ("box", "words"),
    [
        ("keys", "--box keys: this is not a response box. Fix: write keys:a=1,b=2"),
        ("keys:a=9", "`a=9` names the key `9`, which this study does not use. Fix: write a key of the study: "),
        ("serial:/dev/ttyUSB0,a=1,b=escape", "`0x62=escape` names the key `escape`"),
    ],
)
def test_a_wrong_box_is_refused_before_the_window_opens(command, box, words):
    result = command("--box", box)
    assert (result.exit_code, result.was_opened) == (2, False)
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_a_right_box_opens_the_window(command):
    assert command("--box", "keys:q=1,z=2").was_opened


def test_the_keys_of_a_study_are_those_of_its_items_its_confidence_its_pages_and_its_scanner(tmp_path):
    keys = "response_keys: {options: [f, j]}\n"
    items = [choice("q"), keypress("w", None, keys={"v": "word", "n": "nonword"})]
    plain = load_study(make_timed_study(tmp_path / "plain", items, keys))
    sure = load_study(make_timed_study(tmp_path / "sure", items, keys + CONFIDENCE))
    for text in ("keys:a=f,b=j", "keys:a=v,b=n", "keys:a=space,b=right"):
        check_box(plain, read_box(text), None)
    for study, text, scanner in ((plain, "keys:a=1", None), (sure, "keys:a=6", None), (sure, "keys:a=t", "5")):
        with pytest.raises(InputError, match=r"which this study does not use. Fix: write a key of the study: "):
            check_box(study, read_box(text), scanner)
    check_box(sure, read_box("keys:a=1"), None)
    check_box(plain, read_box("serial:COM3,t=5"), "5")  # A box can send the pulses of the scanner.
    with pytest.raises(InputError, match="the study uses the key `v` itself"):
        check_box(plain, read_box("keys:v=f"), None)


def pressing(*presses):
    """Return input devices that receive these presses, and then nothing."""
    waiting = [SimpleNamespace(name=name, key=name, input=device, rt_ms=1234.56) for name, device in presses]

    def wait(until_ms):
        assert until_ms == BOX_PATIENCE_S * 1000
        return waiting.pop(0) if waiting else None

    return SimpleNamespace(wait=wait)


def test_the_check_reports_each_press_and_is_good_when_each_button_was_received():
    said, box = [], read_box("keys:a=1,b=2")
    inputs = pressing(("2", "box"), ("q", "key"), ("2", "box"), ("1", "box"))
    finding = finding_on_buttons(inputs, box, "times of the keyboard", said.append)
    assert said == [
        "Response box: key `2` at 1234.6 ms.",
        "Not a button of the box: key `q`.",
        "Response box: key `2` at 1234.6 ms.",
        "Response box: key `1` at 1234.6 ms.",
    ]
    assert (finding.verdict, finding.found) == (
        "good",
        "presses of the keys `1`, `2` were received; times of the keyboard",
    )


@pytest.mark.parametrize("end", [[], [("escape", "key")]])
def test_the_check_names_the_buttons_that_were_not_received(end):
    finding = finding_on_buttons(pressing(("1", "box"), *end), read_box("keys:a=1,b=2"), "", lambda _: None)
    assert (finding.verdict, finding.found) == ("bad", "no press was received for the keys `2`")
