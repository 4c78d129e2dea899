"""Figures drawn in two processes."""

import os
import stat
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from analysis.figures.drawing.second_process import second_process


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


def test_the_second_process_draws_figures_of_tables_and_this_process_draws_figures_of_all_trials(tmp_path: Path):
    written = tmp_path / "written"
    with second_process() as draw_all:
        of_tables = [partial(pid_after_writing, written), *[partial(time.sleep, 0.2)] * 3]
        first, *_, last = draw_all(of_tables, [partial(pid_after_reading, written)])
    assert first != os.getpid()
    assert last == os.getpid()


def test_figures_come_in_the_order_of_the_tasks():
    with second_process() as draw_all:
        assert draw_all([partial(int, n) for n in range(50)], [partial(int, n) for n in (50, 51)]) == [*range(52)]


@pytest.mark.parametrize("n_tables", [0, 1])
def test_few_or_no_figures_of_tables_are_drawn_too(n_tables: int):
    with second_process() as draw_all:
        assert draw_all([partial(int, 7)] * n_tables, [partial(int, 8)]) == [7] * n_tables + [8]


def test_an_error_of_a_figure_is_raised():
    with second_process() as draw_all, pytest.raises(ValueError, match="no such level"):
        draw_all([partial(raises)], [partial(time.sleep, 0.5)])


@pytest.mark.parametrize("program", [None, "exit 1", "exec sleep 600", "while :; do echo noise; done"])
def test_a_second_process_that_cannot_draw_changes_no_figure(
    program: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    python = tmp_path / "python"
    if program is not None:
        python.write_text(f"#!/bin/sh\n{program}\n")
        python.chmod(stat.S_IRWXU)
    monkeypatch.setattr(sys, "executable", str(python))
    with second_process() as draw_all:
        time.sleep(0.2)
        assert draw_all([partial(int, n) for n in range(5)], [partial(int, 5)]) == [*range(6)]
