"""`equipoise lab STUDY` as a command, without a window."""

import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, _NamedTextIOWrapper

from equipoise.cli.main import main
from equipoise.commands.lab import run
from experiment.lab.screens.layout.sheet import Sheet
from experiment.load_study import load_study
from tests.experiment.lab.visits.lab_visits import SIZE_PX, PunctualDisplay, careful, other_server, other_store


@pytest.fixture
def command(monkeypatch, small):
    """Return a function that runs the command with options. `machine` has further fields of the display.

    Without a participant, the command opens its dialog. With `typed`, the command runs on a terminal, and the
    experimenter types this text.
    """

    def give(*options, person=careful, participant="P01", typed=None, **machine):
        displays = []

        @contextmanager
        def open_display(study, *_setup):
            displays.append(PunctualDisplay(person, **machine))
            yield displays[-1], Sheet.of(study, SIZE_PX)

        monkeypatch.setattr(run, "require_psychopy", lambda: None)
        monkeypatch.setitem(sys.modules, "experiment.lab.psychopy_display", SimpleNamespace(open_display=open_display))
        runner = CliRunner()
        with monkeypatch.context() as patched:
            if typed is not None:
                patched.setattr(_NamedTextIOWrapper, "isatty", lambda _: True)
            who = [] if participant is None else ["--participant", participant]
            result = runner.invoke(main, ["lab", str(small), *who, *options], input=typed)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
        return SimpleNamespace(
            exit_code=result.exit_code,
            stdout=result.stdout,
            stderr=result.stderr,
            was_opened=bool(displays),
            seen=[screen for display in displays for screen in display.seen],
        )

    return give


@pytest.fixture
def server(monkeypatch, small, tmp_path):
    """Return a context manager of a server for the command; its network is cut after `n_requests` requests."""

    @contextmanager
    def lend(n_requests=10**9):
        with other_server(load_study(small), other_store(tmp_path), n_requests) as (there, store):

            @contextmanager
            def remote_client(_address):
                yield there

            monkeypatch.setattr(run, "remote_client", remote_client)
            yield there, store

    return lend
