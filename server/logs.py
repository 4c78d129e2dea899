"""Logs: one line of JSON per event, without personal data and without responses."""

import logging

from pythonjsonlogger.json import JsonFormatter

logger = logging.getLogger("equipoise")


def write_json_lines(level: str) -> None:
    """Write the logs of this process to standard error, as one JSON object per line, with times in UTC."""
    handler = logging.StreamHandler()
    handler.setFormatter(
        JsonFormatter("{levelname}{name}{message}", style="{", timestamp=True, rename_fields={"levelname": "level"})
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logger.setLevel(level)
