"""Skip tests that need inspect-ai, if this package is not installed."""

import importlib.util

from tests.missing import skip_but_never_in_ci


def need_inspect() -> None:
    """Skip the test if inspect-ai or a package of its providers is not installed."""
    for package in ("inspect_ai", "openai", "anthropic"):
        if importlib.util.find_spec(package) is None:
            skip_but_never_in_ci(f"{package} is not installed: pip install -e '.[models]'")
