"""False positives of tests of terms: data without an effect, analysed in different ways.

    .venv/bin/python benchmarks/false_positives.py

Six participants respond to 12 items in three conditions, or two groups of six participants respond to 12 items. The
shares of simulated studies with p < .05 should be .05. The last line is JSON.
"""

import json
import os
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pandas as pd

from analysis.statistics.mixed_models.fit import TermTests, fit_mixed_model

N_STUDIES = 2_000
N_PEOPLE, N_ITEMS = 6, 12
BOTH = "(1 | participant) + (1 | item_id)"
Case = tuple[str, str, str, str, TermTests]
CASES: tuple[Case, ...] = (
    (
        "F, Satterthwaite",
        "condition",
        "gaussian",
        "y ~ condition + (1 + condition | participant) + (1 | item_id)",
        "joint",
    ),
    ("χ²", "condition", "gaussian", "y ~ condition + (1 + condition | participant) + (1 | item_id)", "treatment"),
    ("F, Satterthwaite", "group", "gaussian", f"y ~ group + {BOTH}", "joint"),
    ("χ²", "group", "gaussian", f"y ~ group + {BOTH}", "treatment"),
    ("χ², with participants", "group", "binomial", f"y ~ group + {BOTH}", "joint"),
    ("χ², without participants", "group", "binomial", "y ~ group + (1 | item_id)", "joint"),
)


def main() -> None:
    """Print a line for each kind of analysis, and one JSON line last."""
    rates = {}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for case in CASES:
            significant = list(pool.map(is_significant, [case] * N_STUDIES, range(N_STUDIES), chunksize=50))
            name, term, family, formula, _ = case
            rates[f"{name}; {formula}"] = sum(significant) / N_STUDIES
            print(f"{name}; {family}, {formula}: {term} significant in {sum(significant)} of {N_STUDIES:,} studies")  # noqa: T201
    print(json.dumps(rates))  # noqa: T201


def is_significant(case: Case, seed: int) -> bool:
    """Return True if the term is significant in one simulated study."""
    _, term, family, formula, term_tests = case
    generator = np.random.default_rng(seed)
    n_people = N_PEOPLE if term == "condition" else 2 * N_PEOPLE
    person, item = (axis.ravel() for axis in np.meshgrid(np.arange(n_people), np.arange(N_ITEMS), indexing="ij"))
    condition = (person + item) % 3
    eta = generator.normal(0, 0.8, n_people)[person] + generator.normal(0, 0.5, N_ITEMS)[item]
    if term == "condition":
        eta += generator.normal(0, 0.7, (n_people, 3))[person, condition]
    y = (
        eta + generator.normal(size=len(eta))
        if family == "gaussian"
        else generator.random(len(eta)) < 1 / (1 + np.exp(-eta))
    )
    data = pd.DataFrame({"participant": person.astype(str), "item_id": item.astype(str), "y": y.astype(float)})
    data["condition"] = np.array(list("abc"))[condition]
    data["group"] = np.where(person % 2, "one", "two")
    model = fit_mixed_model(data, formula, family=family, term_tests=term_tests)
    return bool(model.anova.set_index("term")["p_value"][term] < 0.05)


if __name__ == "__main__":
    main()
