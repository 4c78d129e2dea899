"""Calls of inspect-ai from a program that may already run an event loop, such as a Jupyter notebook.

inspect-ai starts its own event loop, and a thread cannot run two event loops at the same time.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")


@contextmanager
def calls_outside_loops() -> Iterator[Callable[..., Any]]:
    """Yield a function `call`: `call(f, x)` returns `f(x)`, and calls `f` in a thread without a running event loop.

    If the caller's thread is running a loop, all calls are made in one other thread. Otherwise they are made in the
    caller's thread.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        yield lambda function, *arguments, **options: function(*arguments, **options)
        return
    with ThreadPoolExecutor(1) as pool:
        yield lambda function, *arguments, **options: pool.submit(function, *arguments, **options).result()


def run_in_new_loop(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in a new event loop, and close the loop.

    inspect-ai replaces `asyncio.run` by a function that leaves the loop open.
    """
    with asyncio.Runner() as runner:
        return runner.run(coroutine)
