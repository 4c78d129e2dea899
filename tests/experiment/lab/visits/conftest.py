"""What tests of the laboratory begin with."""

from types import SimpleNamespace

import pytest

from equipoise.commands.lab import local_client
from equipoise.commands.lab_files import LabFiles
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.session import LabSession, Visitor
from experiment.records import Kind
from tests.experiment.lab.visits.lab_visits import DEVICE, SIZE_PX, FakeDisplay, careful


@pytest.fixture
def lab(tmp_path):
    """Return a function that takes a visit, on the store of the study's folder or another one."""

    def visit(
        study, person=careful, participant="P01", session_number=1, group=None, kind=Kind.HUMAN, wrap=None, store=None,
        device=DEVICE,
    ):  # fmt: skip
        display = FakeDisplay(person, device)
        stored = []
        with local_client(study, store) as (lab_client, opened):
            visitor = Visitor(participant, session_number, group, kind)
            files = LabFiles(study, opened, visitor)

            def on_stored(session):
                stored.append(session)
                files.write_table(session)

            session = LabSession(
                study, wrap(lab_client, opened) if wrap else lab_client, display, Sheet.of(study, SIZE_PX), visitor,
                files.open_attempt_log, on_stored, files.delete,
            )  # fmt: skip
            outcome = session.run()
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
