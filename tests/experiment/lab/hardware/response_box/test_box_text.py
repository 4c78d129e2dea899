"""The description of a response box: its forms, and the errors before a window opens."""

import pytest

from batteries.errors import InputError
from experiment.lab.hardware.response_box.box_text import BoxText, check_box_keys, read_box


@pytest.mark.parametrize(
    ("text", "kind", "keys", "port", "baud"),
    [
        ("keys:a=1,b=2", "keys", {"a": "1", "b": "2"}, "", 115_200),
        (" keys: F9 = Space ", "keys", {"f9": "space"}, "", 115_200),
        ("serial:/dev/ttyUSB0,a=1,B=2", "serial", {"0x61": "1", "0x42": "2"}, "/dev/ttyUSB0", 115_200),
        ("serial:COM3,baud=19200,0x01=f,0X0a=j", "serial", {"0x01": "f", "0x0a": "j"}, "COM3", 19_200),
        ("cedrus,1=f,02=j", "cedrus", {"1": "f", "2": "j"}, "", 115_200),
    ],
)
def test_each_form_gives_the_keys_of_the_buttons(text, kind, keys, port, baud):
    box = read_box(text)
    assert (box.kind, box.keys, box.port, box.baud) == (kind, keys, port, baud)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "this is not a response box. Fix: write keys:a=1,b=2"),
        ("keys", "this is not a response box"),
        (
            "serial:COM3",
            "the buttons are missing. Fix: add each button with its key of the study, such as serial:COM3,",
        ),
        ("cedrus", "such as cedrus,1=f,2=j"),
        ("keys:", "this is not a response box"),
        ("keys:a", "this is not a response box"),
        ("keys:a=", "this is not a response box"),
        ("keys:a=1,a=2", "the button `a` has two keys. Fix: give each button one key."),
        ("serial:a=1", "this is not a response box"),
        ("serial:COM3,ab=1", "this is not a response box"),
        ("serial:COM3,é=1", "this is not a response box"),
        ("serial:COM3,0x100=1", "this is not a response box"),
        ("serial:COM3,a=1,0x61=2", "the button `0x61` has two keys"),
        ("serial:COM3,baud=fast,a=1", "`baud=fast` is not a baud rate. Fix: write a whole number"),
        ("serial:COM3,baud=1,baud=2,a=1", "this is not a response box"),
        ("cedrus,9=1", "this is not a response box"),
        ("cedrus:1=f", "this is not a response box"),
        ("usb:a=1", "this is not a response box"),
    ],
)
def test_other_texts_are_refused_in_one_sentence_and_a_fix(text, words):
    with pytest.raises(InputError) as refusal:
        read_box(text)
    said = str(refusal.value)
    assert words in said
    assert said.startswith(f"--box {text}: ")
    assert said.count("Fix: ") == 1


def test_buttons_must_be_keys_of_the_study_and_hide_none():
    study, pages = {"f", "j", "1", "num_1"}, {"space"}
    check_box_keys(read_box("keys:a=f,b=space"), study, pages)
    check_box_keys(read_box("keys:f=j,j=f"), study, pages)  # Both keys can still be pressed.
    check_box_keys(read_box("serial:COM3,f=j"), study, pages)  # The byte `f` is not the key `f`.
    with pytest.raises(InputError, match=r"names the key `2`, which this study does not use. Fix: .*: 1, f, j"):
        check_box_keys(read_box("keys:a=2"), study, pages)
    with pytest.raises(InputError, match="the study uses the key `f` itself"):
        check_box_keys(read_box("keys:f=j"), study, pages)
    with pytest.raises(InputError, match="it has no response keys"):
        check_box_keys(BoxText("keys:a=1", "keys", {"a": "1"}), set(), pages)
