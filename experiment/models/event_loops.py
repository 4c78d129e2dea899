"""Calls of Inspect, which starts an event loop of its own, also within a running loop, as in a Jupyter notebook."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any


@contextmanager
def calls_outside_loops() -> Iterator[Callable[..., Any]]:
    """Yield a function that calls another function with arguments, where no event loop is running.

    If a loop is running in this thread, the calls are made in one other thread. Otherwise they are made directly.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        yield lambda function, *arguments, **options: function(*arguments, **options)
        return
    with ThreadPoolExecutor(1) as pool:
        yield lambda function, *arguments, **options: pool.submit(function, *arguments, **options).result()
