"""The subjects of the analysis: people, simulated participants, and each model under one condition.

The condition of a model is its prompt and settings. Runs that differ only in the epoch (the number of the repetition)
are one subject. The name of a subject contains the template of the requests only if there are several templates.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from batteries.canonical_json import canonical_json

_NOT_A_CONDITION = {"epoch", "totals", "training_cutoff"}
"""Parameters of a run that may differ between repetitions of one subject."""
_TEMPERATURE_IN_LABEL = re.compile(r", temperature [0-9.e+-]+(?=$|, | \([0-9]+\)$)")
_TEMPLATE_IN_LABEL = re.compile(r", template ([0-9a-f]{8})(?=$|, | \([0-9]+\)$)")
_EPOCH_IN_LABEL = re.compile(r", epoch [0-9]+(?=$| \([0-9]+\)$)")
"""The epoch at the end of a label. The store adds a number in parentheses if another run has the same label."""
_THINKING = re.compile(r"thinking(?: ([0-9]+))?")
"""The word for thinking in the parameter `condition` of a run, such as `thinking 4000`. The number is the limit in
tokens.
"""


@dataclass(frozen=True)
class DescribedRun:
    """The stored description of one run of a model."""

    run: str
    """The label of the run."""
    source: str
    model: str | None
    model_version: str | None
    temperature: float | None
    prompt_digest: str | None
    parameters: dict[str, Any]

    @property
    def epoch(self) -> int | None:
        """The number of the repetition, from 1; None if the run was not repeated."""
        epoch = self.parameters.get("epoch")
        return epoch if isinstance(epoch, int) and not isinstance(epoch, bool) else None

    @property
    def prompt(self) -> str | None:
        """The name of the prompt, or of the prompts of all tasks; None if it was not recorded.

        Some Black Box runs have a parameter `condition` instead: a list with the prompt, its options and the word for
        thinking.
        """
        words = [word for word in self._words_of_condition if not _THINKING.fullmatch(word)]
        prompt = self.parameters.get("prompt", ", ".join(words))
        return prompt if isinstance(prompt, str) and prompt else None

    @property
    def thinking(self) -> bool | None:
        """True if the model was asked to think before its reply; None if this was not recorded."""
        thinking = self.parameters.get("thinking")
        if isinstance(thinking, bool):
            return thinking
        words = self._words_of_condition
        return any(_THINKING.fullmatch(word) for word in words) if words else None

    @property
    def thinking_budget(self) -> int | None:
        """The largest number of tokens for thinking.

        None if the model was not asked to think, or if no limit was recorded.
        """
        matches = [_THINKING.fullmatch(word) for word in self._words_of_condition]
        budgets = [int(match[1]) for match in matches if match and match[1]]
        budget = self.parameters.get("thinking_budget", *budgets[:1])
        is_number = isinstance(budget, int) and not isinstance(budget, bool)
        return budget if is_number and self.thinking else None

    @property
    def _words_of_condition(self) -> list[str]:
        words = self.parameters.get("condition")
        return [word for word in words if isinstance(word, str)] if isinstance(words, list) else []

    @property
    def label_of_condition(self) -> str:
        """The label without the epoch."""
        return self.run if self.epoch is None else _EPOCH_IN_LABEL.sub("", self.run)

    @property
    def condition(self) -> bytes:
        """All values that are equal in repetitions of one subject, as one key.

        Runs without an epoch are never repetitions.
        """
        shared = {name: value for name, value in self.parameters.items() if name not in _NOT_A_CONDITION}
        described = (self.source, self.model, self.model_version, self.temperature, self.prompt_digest)
        return canonical_json([self.label_of_condition, self.epoch is None, *described, shared])


def models_of_subjects(models: pd.DataFrame) -> dict[str, str]:
    """Return the name of the model of each subject, from the table `models`; a subject without a model names itself."""
    names = models["model"].fillna(models["subject"])
    return {str(subject): str(model) for subject, model in zip(models["subject"], names, strict=True)}


PROGRAMS = {
    "mock": ("mock-strong", "mock-weak"),
    "baseline": ("baseline/straight-line", "baseline/nearest-atom", "baseline/tracer"),
}
"""Names of programs that respond like a language model: the mock models of the demo, and the computational baselines.
A language model with a similar name, such as `mock-7b`, is not a program.
"""
_MOCK_PROVIDER = "mockllm/"
"""Beginning of the names of the mock models of `equipoise models run`."""


def names_of_models(trials: pd.DataFrame) -> list[str]:
    """Return the models in the tidy table, by the column `model`.

    If a run has no value in this column, its subject is used.
    """
    runs = trials.loc[trials["kind"] == "model", ["model", "subject"]].drop_duplicates().astype(object)
    return sorted(set(runs["model"].fillna(runs["subject"])))


def programs_among(models: Iterable[str]) -> dict[str, list[str]]:
    """Return the names of models that are programs, for each kind of program in `PROGRAMS`. Leave out other models.

    Examples
    --------
    >>> programs_among(["mock-weak", "mock-7b", "gpt-4.1", "baseline/tracer", "mockllm/model"])
    {'mock': ['mock-weak', 'mockllm/model'], 'baseline': ['baseline/tracer']}
    """
    names = list(models)
    found = {kind: [name for name in names if name in programs] for kind, programs in PROGRAMS.items()}
    found["mock"] += [name for name in names if name.startswith(_MOCK_PROVIDER)]
    return {kind: programs for kind, programs in found.items() if programs}


def without_temperature(subject: str) -> str:
    """Return the name of a subject, without the temperature in this name.

    Examples
    --------
    >>> without_temperature("gpt, three-lines, temperature 0.7")
    'gpt, three-lines'
    """
    return _TEMPERATURE_IN_LABEL.sub("", subject)


def shared_template(labels: Iterable[str]) -> str | None:
    """Return the template in the labels of runs if all labels with a template have the same template; otherwise None.

    Examples
    --------
    >>> shared_template(["gpt, template 9f8e7d6c", "haiku, template 9f8e7d6c, epoch 1", "baseline/tracer"])
    '9f8e7d6c'
    >>> shared_template(["gpt, template 9f8e7d6c", "gpt, template 1a2b3c4d"]) is None
    True
    """
    found = {match[1] for label in labels if (match := _TEMPLATE_IN_LABEL.search(label))}
    return found.pop() if len(found) == 1 else None


def subjects_of_runs(runs: Sequence[DescribedRun]) -> list[str]:
    """Return the subject of each run: the label without the epoch, and without the template if there is only one.

    Runs that differ only in the epoch have the same subject. Without these parts, runs of different conditions may
    have the same label. Then the subject of each condition is the full label of its first run, so different conditions
    are never pooled.

    Examples
    --------
    >>> runs = [DescribedRun(f"gpt, epoch {n}", "api", "gpt", "gpt", None, None, {"epoch": n}) for n in (1, 2)]
    >>> subjects_of_runs(runs)
    ['gpt', 'gpt']
    """
    first_run: dict[bytes, DescribedRun] = {}
    for run in sorted(runs, key=lambda run: (run.epoch or 0, run.run)):
        first_run.setdefault(run.condition, run)
    is_shared = shared_template(run.run for run in runs) is not None
    names = {
        condition: _TEMPLATE_IN_LABEL.sub("", run.label_of_condition) if is_shared else run.label_of_condition
        for condition, run in first_run.items()
    }
    n_conditions = Counter(names.values())
    return [
        name if n_conditions[name := names[run.condition]] == 1 else first_run[run.condition].run for run in runs
    ]  # fmt: skip
