"""Event loops of our own, in a process in which inspect-ai has replaced `asyncio.run`."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from experiment.models.event_loops import calls_outside_loops, run_in_new_loop


async def this_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def leave_open(main: Coroutine[Any, Any, Any], **_: Any) -> Any:
    """Run as inspect-ai's `asyncio.run`: in the loop of the thread, which stays open."""
    return asyncio.get_event_loop().run_until_complete(main)


def test_the_loop_is_new_and_closed_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncio, "run", leave_open)
    with calls_outside_loops() as call:
        one, other = call(run_in_new_loop, this_loop()), call(run_in_new_loop, this_loop())
    assert one is not other
    assert one.is_closed()
    assert other.is_closed()


def test_an_error_closes_the_loop_and_is_raised() -> None:
    loops = []

    async def fail() -> None:
        loops.append(asyncio.get_running_loop())
        raise ValueError("no")

    with calls_outside_loops() as call, pytest.raises(ValueError, match="no"):
        call(run_in_new_loop, fail())
    assert loops[0].is_closed()
