"""The parts of PsychoPy and pyglet that are not public still exist, and only one module uses them."""

import re
from pathlib import Path

import pytest

import experiment.lab

FOREIGN_PRIVATE = re.compile(r"(?<![\w.])(?!self\b|cls\b)[A-Za-z_]\w*(?:\.\w+)*?\._[a-z]\w*")


def test_no_other_module_uses_private_parts():
    folder = Path(experiment.lab.__file__).parent
    users = {
        path.name: found
        for path in folder.rglob("*.py")
        if path.name != "psychopy_internals.py"
        and (found := FOREIGN_PRIVATE.findall(re.sub(r'"""(?s:.*?)"""', "", path.read_text(encoding="utf-8"))))
    }
    assert users == {}


@pytest.mark.usefixtures("psychtoolbox")
def test_the_private_parts_exist(screen):
    with screen.start("internals") as program:
        assert program.reply() == {"image": True, "handlers": True, "responses": True}
