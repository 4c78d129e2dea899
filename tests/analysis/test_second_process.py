"""Figures drawn in two processes."""

import os
import stat
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from analysis.second_process import second_process


def pid_after_writing(file: Path) -> int:
    file.touch()
    return os.getpid()


def pid_after_reading(file: Path) -> int:
    end = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < end, "the second process drew nothing"
        time.sleep(0.01)
    return os.getpid()


def raises() -> None:
    raise ValueError("no such level")


def test_the_second_process_draws_while_this_process_computes(tmp_path: Path):
    written = tmp_path / "written"
    with second_process() as drawer:
        drawer.add([partial(pid_after_writing, written)])
        assert pid_after_reading(written) == os.getpid()
        drawer.add([partial(time.sleep, 0.2)] * 3)
        assert drawer.drawn()[0] != os.getpid()


def test_this_process_draws_the_last_figure_while_the_second_process_draws_the_first(tmp_path: Path):
    written = tmp_path / "written"
    started = tmp_path / "started"
    with second_process() as drawer:
        drawer.add([partial(pid_after_writing, started), partial(pid_after_reading, written)])
        pid_after_reading(started)
        drawer.add([*[partial(time.sleep, 0.2)] * 3, partial(pid_after_writing, written)])
        _, first, *_, last = drawer.drawn()
    assert first != os.getpid()
    assert last == os.getpid()


def test_figures_come_in_the_order_in_which_they_were_added():
    with second_process() as drawer:
        drawer.add([partial(int, n) for n in range(50)])
        drawer.add([partial(int, n) for n in (50, 51)])
        assert drawer.drawn() == [*range(52)]


@pytest.mark.parametrize("n_figures", [0, 1])
def test_few_or_no_figures_are_drawn_too(n_figures: int):
    with second_process() as drawer:
        drawer.add([partial(int, 7)] * n_figures)
        assert drawer.drawn() == [7] * n_figures


def test_an_error_of_a_figure_is_raised():
    with second_process() as drawer:
        drawer.add([partial(raises), partial(time.sleep, 0.5)])
        with pytest.raises(ValueError, match="no such level"):
            drawer.drawn()


@pytest.mark.parametrize("program", [None, "exit 1", "exec sleep 600", "while :; do echo noise; done"])
def test_a_second_process_that_cannot_draw_changes_no_figure(
    program: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    python = tmp_path / "python"
    if program is not None:
        python.write_text(f"#!/bin/sh\n{program}\n")
        python.chmod(stat.S_IRWXU)
    monkeypatch.setattr(sys, "executable", str(python))
    with second_process() as drawer:
        drawer.add([partial(int, n) for n in range(3)])
        time.sleep(0.2)
        drawer.add([partial(int, n) for n in range(3, 6)])
        assert drawer.drawn() == [*range(6)]
