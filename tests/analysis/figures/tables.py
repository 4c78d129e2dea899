"""Tables for figures: realistic tables, and tables that are hard to draw."""

import itertools

import numpy as np
import pandas as pd

MODELS = ("gpt-4o", "gpt-4o-mini", "gpt-4.1-mini", "o3-mini")
LONG_NAMES = (
    "gpt-4o-2024-08-06, plain prompt, no thinking", "gpt-4o-2024-08-06, plain prompt, with thinking",
    "deepseek-r1-distill-llama-70b, temperature 0.6, chain of thought", "نموذج لغوي كبير باللغة العربية للاختبار",
    "大型語言模型測試版本二零二五年", "Llama-3.3-70B-Instruct-Turbo-Free-Together", "<b>Model $x^2$ & co</b>", "x" * 60,
    "y\n\x0bz", "random", "first option",
)  # fmt: skip
LONG_LEVELS = tuple(f"scenario {n}: a long label of a level" for n in range(24))


def accuracy_table(models=MODELS, *, simulated=False, hard=False, **factors):
    """Return a table of `accuracy`. With `hard`, accuracies are 0 or 1, and a third of the intervals are missing."""
    rng = np.random.default_rng(1)
    subjects = [("human", "people"), ("simulated", "simulated participants")][: 1 + simulated]
    rows = []
    for kind, subject in [*subjects, *(("model", model) for model in models)]:
        for cell in itertools.product(*factors.values()):
            share = float(rng.choice([0, 1, 0.5])) if hard else float(rng.uniform(0.2, 0.9))
            half = 0.5 * 1.96 / np.sqrt(rng.integers(20, 200))
            rows.append((kind, subject, *cell, share, max(0, share - half), min(1, share + half)))
    table = pd.DataFrame(rows, columns=["kind", "subject", *factors, "accuracy", "ci_low", "ci_high"])
    if hard:
        table.loc[::3, ["ci_low", "ci_high"]] = np.nan
    return table


def hard_table(**factors):
    """Return twelve subjects with long names that are always or never correct."""
    return accuracy_table(LONG_NAMES, hard=True, **factors)
