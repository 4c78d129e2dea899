"""Running one test of a plan on a table, for the tests of planned tests."""

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from analysis.planned.tests import MAIN, planned_tests
from batteries.errors import InputError
from experiment.study.planned_analyses import PlannedAnalyses

T = {"test": "t", "of": "rt", "per": "participant"}
BY_GROUP, X_Y, X_Z = {"between": "group"}, {"levels": ["x", "y"]}, {"levels": ["x", "z"]}
IN_CONDITION = {"within": "condition"}


def run(data, tests, **settings):
    """Return the table of tests of a plan; the plan is converted to JSON values first, as in a plan file."""
    plan = PlannedAnalyses.model_validate({"tests": tests, **settings})
    return planned_tests(lambda planned: data, plan)


def one(data, form=MAIN, confidence=0.95, **test):
    found = run(data, {"it": test}, confidence=confidence)
    rows = found[found["form"] == form]
    assert len(rows) == 1, found["form"].tolist()
    return rows.iloc[0]


def forms(data, **test):
    return run(data, {"it": test})["form"].tolist()


def refused(data, **test):
    with pytest.raises((InputError, ValidationError)) as error:
        run(data, {"it": test})
    return str(error.value)


def units(n=12, levels=("a", "b"), effect=1.0, seed=3, per_cell=1):
    """Return rows of units; each unit has every level of `condition`, and is in one of two groups."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"u{unit}", level, "even" if unit % 2 == 0 else "odd", effect * index + rng.normal() + unit / n)
        for unit in range(n)
        for index, level in enumerate(levels)
        for _ in range(per_cell)
    ]
    return pd.DataFrame(rows, columns=["unit", "condition", "group", "value"])
