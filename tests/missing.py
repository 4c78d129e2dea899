"""What a test needs and this machine lacks."""

import os
from typing import NoReturn

import pytest


def skip_but_never_in_ci(reason: str) -> NoReturn:
    """Skip the test and say why; with `CI=true` it fails, so that nothing is left out in silence."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
