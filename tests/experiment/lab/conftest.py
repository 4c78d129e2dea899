"""A screen without a screen, for tests that need a real window."""

from importlib.util import find_spec

import pytest

from experiment.lab.hardware.keyboard_backends import has_real_time_privileges
from tests.experiment.lab.xvfb import Fingers, missing, virtual_screen
from tests.missing import skip_but_never_in_ci

NEEDS_EXTRA = {"lab_extra", "_virtual_screens_work"}
"""Fixtures without which a test runs everywhere; `make test` runs those with them in an environment of their own."""


def pytest_collection_modifyitems(items):
    for item in items:
        if NEEDS_EXTRA & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.lab)


@pytest.fixture(scope="session")
def _virtual_screens_work():
    if lacking := missing():
        skip_but_never_in_ci(f"a window needs {lacking}; tests/prerequisites.sh and the extra `lab` install it")


@pytest.fixture(scope="session")
def lab_extra():
    """See that what the extra `lab` brings is here."""
    if not all(map(find_spec, ("psychopy", "serial", "arabic_reshaper", "bidi"))):
        skip_but_never_in_ci("the extra `lab` is not installed")


@pytest.fixture(scope="session")
def psychtoolbox(_virtual_screens_work):
    """See that psychtoolbox can read keyboards here."""
    if not has_real_time_privileges():
        skip_but_never_in_ci("psychtoolbox needs real-time privileges, such as root's")


@pytest.fixture(scope="module")
def make_screen(_virtual_screens_work, tmp_path_factory):
    """Make a screen of a size; what ran on it is ended with the block."""
    return lambda size_px=(1024, 768): virtual_screen(tmp_path_factory.mktemp("home"), size_px)


@pytest.fixture(scope="module")
def screen(make_screen):
    with make_screen() as made:
        yield made


@pytest.fixture(scope="module")
def fingers(screen):
    hands = Fingers(screen.display)
    yield hands
    hands.close()
