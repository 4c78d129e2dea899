"""The options of a run of a language model."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from batteries.canonical_json import digest
from batteries.errors import InputError
from experiment.models.prompts.batch_files import default_max_tokens
from experiment.models.prompts.requests import Requests
from experiment.models.runs.budget import Prices
from experiment.study.definition import Study

MAX_RETRIES = 8
"""Default number of times that a failed request is sent again. Inspect waits longer before each attempt."""


@dataclass(frozen=True)
class RunSettings:
    """A model, its requests, and how the requests are sent."""

    model: str
    """Name of the model in inspect-ai: provider and model, such as `openai/gpt-4.1`."""
    requests: Requests
    folder: Path
    """Folder for this model's replies and logs, within the study's data."""
    max_tokens: int | None = None
    group: int | None = None
    seed: int | None = None
    n_all_items: int | None = None
    """Number of items of a whole run, if `--limit` asks only the first items. None if `requests` has all items."""
    max_connections: int | None = None
    max_retries: int = MAX_RETRIES
    prices: Prices | None = None
    max_cost: float | None = None

    @property
    def study(self) -> Study:
        """The study."""
        return self.requests.study

    @property
    def provider(self) -> str:
        """Name of the provider in inspect-ai, such as `openai`."""
        return self.model.partition("/")[0]

    @property
    def longest_reply(self) -> int:
        """Limit of a reply, in tokens."""
        if self.max_tokens is not None:
            return self.max_tokens
        return default_max_tokens(self.requests, self.model.rpartition("/")[2])

    @cached_property
    def prompt_digest(self) -> str:
        """SHA-256 of the templates of the prompts, with the texts that are the same in all prompts."""
        digests = {task: prompts.digest for task, prompts in self.requests.by_task.items()}
        return next(iter(digests.values())) if len(digests) == 1 else digest(digests)

    @property
    def styles(self) -> str:
        """Names of the styles of prompts, and the form of pictures, sounds and videos if the items have some."""
        names = dict.fromkeys(prompts.style.name for prompts in self.requests.by_task.values())
        pictures = self.requests.pictures
        return ", ".join([*names, *([f"pictures {pictures}"] if pictures else [])])

    def condition(self, temperature: float | None) -> str:
        """Return a digest of the condition: all settings that change the replies.

        All items and epochs at one temperature have the same digest.
        """
        return condition_digest(
            self.study.battery.digest,
            self.model,
            self.prompt_digest,
            temperature,
            self.longest_reply,
            self.group,
            self.seed,
            self.requests.session_order,
        )

    def label(self, temperature: float | None) -> str:
        """Return the label of the runs at one temperature, without the epoch."""
        parts = [
            self.model,
            self.styles,
            "whole session" if self.requests.session_order is not None else "",
            f"temperature {temperature:g}" if temperature is not None else "",
            f"group {self.group}, seed {self.seed}" if self.group is not None else "",
        ]
        return ", ".join(part for part in parts if part)


def condition_digest(
    battery_digest: str,
    model: str,
    prompt_digest: str | None,
    temperature: float | None,
    max_tokens: int,
    group: int | None,
    seed: int | None,
    session_order: str | None,
) -> str:
    """Return the digest of a condition. All replies under the same condition have this digest.

    A `session_order` of None is left out, so that replies from before this setting existed keep their digest.
    """
    return digest({
        "battery": battery_digest,
        "model": model,
        "prompt": prompt_digest,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "group": group,
        "seed": seed,
        **({} if session_order is None else {"session_order": session_order}),
    })  # fmt: skip


def folder_of(data: Path, model: str) -> Path:
    """Return the folder for a model's replies and logs in the study's data. Different models have different folders."""
    return data / "model-runs" / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', model)[:60].strip('.')}-{digest(model)[:6]}"


def checked_prices(price_in: float | None, price_out: float | None, max_cost: float | None) -> Prices | None:
    """Return the prices, or None if there are none.

    Raises
    ------
    InputError
        If only one price is given, if a limit is given without prices, or if a number is not a price.
    """
    given: dict[str, Any] = {"--price-in": price_in, "--price-out": price_out, "--max-cost": max_cost}
    for option, value in given.items():
        if value is not None and not 0 <= value < 1e9:
            raise InputError(f"{option} {value}: this is not a price in USD. Fix: write a number such as 2.50.")
    missing = [option for option in ("--price-in", "--price-out") if given[option] is None]
    if not missing:
        assert price_in is not None
        assert price_out is not None
        return Prices(price_in, price_out)
    if len(missing) == 2 and max_cost is None:
        return None
    reason = "--max-cost needs the model's prices" if max_cost is not None else "both prices are needed"
    raise InputError(
        f"{reason}, because providers do not send prices. Fix: add {' and '.join(missing)}, in USD per million tokens."
    )
