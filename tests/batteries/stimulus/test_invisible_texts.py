"""A text of which Markdown shows nothing is refused, such as a mask of number signs."""

from pathlib import Path

import pytest

from batteries.errors import InputError
from experiment.load_study import load_study
from tests.timed_study import keypress, make_timed_study


@pytest.mark.parametrize("text", ["# #####", "#####", "#", ">", "[a]: b"])
def test_a_text_that_would_be_invisible_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    item = keypress("word", None, stimulus_ms=100, mask=[{"text": text}], mask_ms=100)
    with pytest.raises(InputError) as error:
        load_study(make_timed_study(tmp_path / "study", [item]))
    assert f"the text `{text}` shows nothing" in str(error.value)
    assert "battery.jsonl" in str(error.value) and "backslash" in str(error.value)


@pytest.mark.parametrize("text", [r"\#\#\#\#\#", r"# \#\#\#", "XXXXX", "&nbsp;", " ", "---", "-", "<b></b>"])
def test_other_texts_are_accepted(tmp_path: Path, text: str) -> None:
    item = keypress("word", None, stimulus_ms=100, mask=[{"text": text}], mask_ms=100)
    (loaded,) = load_study(make_timed_study(tmp_path / "study", [item])).battery.items
    assert loaded.content["mask"] == [{"text": text}]
