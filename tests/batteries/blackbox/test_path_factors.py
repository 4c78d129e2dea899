"""The items of the sample study have the published measures of a ray's path as factors."""

import json
import statistics
from pathlib import Path

import numpy as np
import pytest

from batteries.blackbox import Port, trace
from experiment.study.definition import Study


@pytest.fixture(scope="module")
def factors(sample_study: Study) -> list[dict[str, int]]:
    return [dict(item.factors) for item in sample_study.test_items]


def test_the_path_length_counts_the_cells_of_the_path_and_the_cells_outside_the_board(sample_study: Study) -> None:
    for item in sample_study.test_items:
        atoms = frozenset((row, column) for row, column in item.content["atoms"])
        ray = trace(atoms, Port.parse(str(item.content["entry"])))
        leaves = ray.outcome != "absorbed"
        near = [
            atom
            for atom in atoms
            if any(max(abs(atom[0] - row), abs(atom[1] - column)) <= 1 for row, column in ray.path)
        ]
        assert item.factors["path_length"] == 1 + len(ray.path) + leaves
        assert item.factors["n_cells"] == len(ray.path)
        assert item.factors["atoms_near_path"] == len(near)
        assert item.factors["reflected_at_entry"] is (ray.path == ())


def test_the_path_factors_have_the_distributions_that_the_paper_prints(factors: list[dict[str, int]]) -> None:
    """The paper has no path length for rays that are reflected at entry, and leaves these rays out."""
    entered = [one for one in factors if not one["reflected_at_entry"]]
    assert (len(factors), len(entered)) == (235, 208)
    # The paper computes these numbers from 48 rows per item: 3 models and 8 conditions, with every row twice.
    lengths, atoms = [one["path_length"] for one in entered] * 48, [one["atoms_near_path"] for one in factors] * 48
    quartiles = {"method": "inclusive", "n": 4}  # As R's `quantile`.
    assert [min(lengths), *statistics.quantiles(lengths, **quartiles), max(lengths)] == [2, 4, 6, 9, 13]
    assert (round(statistics.mean(lengths), 2), round(statistics.stdev(lengths), 2)) == (6.49, 2.90)
    assert [min(atoms), *statistics.quantiles(atoms, **quartiles), max(atoms)] == [0, 1, 1, 1, 3]
    assert (round(statistics.mean(atoms), 2), round(statistics.stdev(atoms), 2)) == (0.97, 0.71)
    correlation = np.corrcoef(lengths, [one["atoms_near_path"] for one in entered] * 48)[0, 1]
    assert round(float(correlation), 3) == -0.213


def test_the_path_factors_are_those_of_the_stored_rays(sample_study: Study, stored_runs: Path) -> None:
    items = {(tuple(map(tuple, item.content["atoms"])), item.content["entry"]): item
             for item in sample_study.test_items}  # fmt: skip
    for result in json.loads(stored_runs.read_text(encoding="utf-8"))["results"]:
        atoms = tuple(map(tuple, result["atomConfig"]))
        for prediction in result["predictions"]:
            ray = prediction["rayResult"]
            item = items[atoms, f"{ray['entry']['side']}-{ray['entry']['pos']}"]
            cells = 1 + len(ray["path"]) + (not ray["absorbed"])
            assert item.factors["path_length"] == cells
