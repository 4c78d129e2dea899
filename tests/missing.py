"""Programs and data that a test needs and this machine lacks."""

import os
from typing import NoReturn

import pytest


def skip_but_never_in_ci(reason: str) -> NoReturn:
    """Skip the test with a reason; with `CI=true` the test fails, so that no test is skipped silently."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
