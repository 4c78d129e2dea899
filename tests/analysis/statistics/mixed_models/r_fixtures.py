"""R's results for the models in fixtures/mixed_models.json, and the data of these models."""

import json
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from analysis.statistics.mixed_models.fit import MixedModel, TermTests, fit_mixed_model
from tests.paths import FIXTURES

CASES = {case["name"]: case for case in json.loads((FIXTURES / "mixed_models.json").read_text(encoding="utf-8"))}


@cache
def data_of(name: str) -> pd.DataFrame:
    if name == "gap":
        trials = data_of("trials")
        return trials[(trials["condition"] != "neutral") | (trials["prompt"] != "plus")]
    return pd.read_csv(FIXTURES / f"mixed_models_{name}.csv")


@cache
def fitted(name: str, term_tests: TermTests = "joint") -> MixedModel:
    case = CASES[name]
    return fit_mixed_model(
        data_of(case["data"]),
        case["formula"],
        family=case["family"],
        reml=case["reml"],
        reference=case["reference"],
        term_tests=term_tests,
    )


def numbers(values: Any) -> np.ndarray:
    """Return R's numbers; in the fixture a single number is not a list, and a missing number is null."""
    return np.array([np.nan if value is None else value for value in np.atleast_1d(values)], dtype=float)
