"""A virtual display for tests with a real window, and visits for tests without a window."""

from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from equipoise.commands.lab.clients import local_client
from equipoise.commands.lab.files import LabFiles
from experiment.lab.hardware.keyboard_backends import has_real_time_privileges
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.session import LabSession
from experiment.lab.visitor import Visitor
from experiment.records import Kind
from tests.experiment.lab.sound_server import is_missing, sound_server
from tests.experiment.lab.visits.lab_visits import DEVICE, SIZE_PX, FakeDisplay, careful
from tests.experiment.lab.xvfb import Fingers, missing, virtual_screen
from tests.missing import skip_but_never_in_ci

NEEDS_EXTRA = {"lab_extra", "_virtual_screens_work"}
"""Fixtures that need the extra `lab`; `make test` runs tests with these fixtures in a separate environment."""


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
    """Skip the test if the packages of the extra `lab` are missing."""
    if not all(map(find_spec, ("psychopy", "serial", "arabic_reshaper", "bidi"))):
        skip_but_never_in_ci("the extra `lab` is not installed")


@pytest.fixture(scope="session")
def psychtoolbox(_virtual_screens_work):
    """Skip the test if psychtoolbox cannot read keyboards on this machine."""
    if not has_real_time_privileges():
        skip_but_never_in_ci("psychtoolbox needs real-time privileges, such as root's")


@pytest.fixture(scope="module")
def make_screen(_virtual_screens_work, tmp_path_factory):
    """Return a function that makes a screen of a size; everything that ran on it ends with the screen."""
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


@pytest.fixture(scope="module")
def sound():
    """Return the environment of programs that play sounds."""
    if is_missing():
        skip_but_never_in_ci("a sound output needs jackd; tests/prerequisites.sh installs it")
    with sound_server() as environment:
        yield environment


@pytest.fixture
def lab(tmp_path):
    """Return a function that runs a visit; the store is that of the study's folder, or another store."""

    def visit(
        study, person=careful, participant="P01", session_number=1, group=None, kind=Kind.HUMAN, wrap=None, store=None,
        device=DEVICE, **others,
    ):  # fmt: skip
        display = FakeDisplay(person, device, codes_of=study.definition.event_codes, **others)
        stored = []
        with local_client(study, store) as (lab_client, opened):
            visitor = Visitor(participant, session_number, group, kind)
            files = LabFiles(study, opened, visitor, display.events, display.log)

            def on_stored(session):
                stored.append(session)
                files.write(session)

            session = LabSession(
                study, wrap(lab_client, opened) if wrap else lab_client, display, Sheet.of(study, SIZE_PX), visitor,
                files.open_attempt_log, on_stored, files.delete, files.eye_file,
            )  # fmt: skip
            try:
                outcome = session.run()
            finally:
                files.write_events_and_log()
        return SimpleNamespace(
            outcome=outcome,
            display=display,
            session=stored[-1] if stored else None,
            table=files.table,
            problem=files.problem,
        )

    return visit


@pytest.fixture
def small(study_folder, edit):
    """A study of a few questions with practice, and one attention check."""
    edit(study_folder / "study.yaml", "groups: 10", "groups: 58")
    edit(study_folder / "study.yaml", "attention_check_spacing: 5", "attention_check_spacing: 1")
    edit(study_folder / "study.yaml", "max_run: {of: [outcome], length: 4}", "max_run: {of: [outcome], length: 5}")
    return study_folder
