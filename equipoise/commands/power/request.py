"""The request of `equipoise power`: effects, population, analysis and numbers of participants, with checks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.power.simulated_responses import Effect, Population
from batteries.errors import InputError
from experiment.study.planned_analyses import Level

LIMITS_OF_N = (2, 10_000)
"""Smallest and largest number of participants."""


@dataclass(frozen=True)
class Request:
    """Design, population and analysis of the simulated studies."""

    effects: tuple[Effect, ...]
    accuracy: float | None
    """People's accuracy in the population before the effects are added. None for the default of `power`."""
    population: Population
    ns: tuple[int, ...]
    """Numbers of participants to try. If empty, the smallest number for each power is searched."""
    powers: tuple[float, ...]
    largest_n: int
    simulations: int
    alpha: float
    seed: int
    test: str | None = None
    model: str | None = None
    term: str | None = None
    comparison: str | None = None
    against_model: float | str | None = None
    equivalence: bool = False


def parse_effect(text: str) -> Effect:
    """Return the effect that `text` describes, such as `condition=B,inference_level=3:-0.15`.

    Raises
    ------
    InputError
        If the text does not have this form.

    Examples
    --------
    >>> parse_effect("condition=B,inference_level=3:-0.15")
    Effect(levels={'condition': 'B', 'inference_level': '3'}, difference=-0.15)
    """
    written_levels, _, number = text.rpartition(":")
    levels = parse_levels(written_levels)
    try:
        difference = float(number)
    except ValueError:
        difference = math.nan
    if levels is None or not math.isfinite(difference):
        raise InputError(
            f"the effect `{text}` cannot be read. Fix: write the levels and the difference in accuracy, such as "
            "`condition=B:-0.10` or `condition=B,inference_level=3:-0.15`."
        )
    return Effect(levels, difference)


def parse_levels(text: str) -> dict[str, Level] | None:
    """Return the levels in a text such as `condition=B,inference_level=3`, or None if the text has another form."""
    levels: dict[str, Level] = {}
    for written in text.split(","):
        factor, equals, level = (part.strip() for part in written.partition("="))
        if not (factor and equals and level) or factor in levels:
            return None
        levels[factor] = level
    return levels


def parsed_effects(effects: Sequence[str | Effect] | str | Effect) -> tuple[Effect, ...]:
    """Return effects as a tuple. An effect that is given as text is parsed."""
    given = [effects] if isinstance(effects, (str, Effect)) else effects
    return tuple(parse_effect(effect) if isinstance(effect, str) else effect for effect in given)


def parsed_model(model: float | str | None) -> float | str | None:
    """Return the accuracy of a model as a number. A text that is not a number is the name of a stored model.

    Raises
    ------
    InputError
        If the number is not an accuracy.

    Examples
    --------
    >>> parsed_model("0.75"), parsed_model("gpt-4.1, temperature 0")
    (0.75, 'gpt-4.1, temperature 0')
    """
    if isinstance(model, str):
        try:
            model = float(model)
        except ValueError:
            return model
    if model is not None and not 0 < model <= 1:
        raise InputError(
            f"the accuracy of the model is {model:g}. Fix: give a number of more than 0 and at most 1, or the name of "
            "a model in the report."
        )
    return model


def checked_ns(ns: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of participants in ascending order, each number once.

    Raises
    ------
    InputError
        If a number is outside the limits.
    """
    smallest, largest = LIMITS_OF_N
    for n in ns:
        if not smallest <= n <= largest:
            raise InputError(
                f"{n:,} {'participant' if n == 1 else 'participants'}: a study cannot be simulated with this number. "
                f"Fix: give numbers from {smallest} to {largest:,}."
            )
    return tuple(sorted(set(ns)))


def refuse_invalid(request: Request) -> None:
    """Raise InputError if a number of the request is outside its limits, or if options exclude each other."""
    population, accuracy, largest_alpha = request.population, request.accuracy, 0.5 if request.equivalence else 1
    for name, value, is_valid, limits in (
        ("accuracy", accuracy, accuracy is None or 0 < accuracy < 1, "more than 0 and less than 1"),
        ("participant_sd", population.participant_sd, 0 <= population.participant_sd <= 5, "from 0 to 5"),
        ("item_sd", population.item_sd, 0 <= population.item_sd <= 5, "from 0 to 5"),
        ("simulations", request.simulations, 20 <= request.simulations <= 1_000_000, "from 20 to 1,000,000"),
        ("alpha", request.alpha, 0 < request.alpha < largest_alpha, f"more than 0 and less than {largest_alpha:g}"),
        ("excluded", population.excluded, 0 <= population.excluded < 1, "of 0 or more and less than 1"),
        ("seed", request.seed, request.seed >= 0, "of 0 or more"),
        *(("power", power, request.alpha < power < 1, "more than alpha and less than 1") for power in request.powers),
    ):  # fmt: skip
        if not is_valid:
            raise InputError(f"{name} {value}: this value is outside the limits. Fix: write a number {limits}.")
    if not request.powers:
        raise InputError("there is no power. Fix: give at least one power, such as 0.8.")
    if request.test is not None and request.model is not None:
        raise InputError("both a test and a mixed model are named. Fix: omit the test or the mixed model.")
    if request.against_model is not None and (request.test is not None or request.model is not None):
        raise InputError(
            "people are compared with a model, and a test or a mixed model is named too. Fix: omit --against-model, or "
            "omit --test and --model."
        )
    if request.comparison is not None and request.against_model is None:
        raise InputError(
            "a comparison is named, but no model. Fix: give the model's accuracy with --against-model, such as 0.75."
        )
    if request.term is not None and request.model is None and request.against_model is None:
        raise InputError("a term is named, but no mixed model is named. Fix: name the mixed model with --model.")
    if request.equivalence and request.test is None and request.comparison is None:
        raise InputError(
            "equivalence needs a margin. Fix: name a test with `equivalence_margin` with --test, or a comparison with "
            "`equivalence_margin` with --comparison."
        )
