"""Headline decisions on random plans and random data, beside R's afex, emmeans, lme4 and brglm2.

    .venv/bin/python benchmarks/decisions.py

Each plan has one statistical model: linear or logistic, with or without random effects, of one or two factors and
perhaps a covariate. Effects are random, and often zero. Logistic models without random effects have a level at which
every response is right (separation); R fits these models with brglm2. The decisions are those of the report's summary:
the terms that it calls significant at .05. Needs R with afex, emmeans and brglm2. The last line is JSON.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.planned.results import run_planned
from analysis.report.summary import summary_sentences
from experiment.study.planned_analyses import PlannedAnalyses

N_PLANS = 20
ALPHA = 0.05
PEER = Path(__file__).parent / "peers" / "decisions.R"


def main() -> None:
    """Print a line for each plan, and one JSON line last."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        sys.exit("R is missing. Fix: install R and its packages afex, emmeans and brglm2")
    generator = np.random.default_rng(20261125)
    n_terms = n_same = n_same_plans = 0
    largest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(N_PLANS):
            data, formula, family = random_case(generator, number)
            ours, headline = decided(data, formula, family)
            theirs = of_r(rscript, Path(folder) / "data.csv", data, formula, family)
            same = {term: (ours[term] < ALPHA) == (theirs[term] < ALPHA) for term in theirs}
            apart = max(abs(ours[term] - theirs[term]) for term in theirs)
            n_terms, n_same = n_terms + len(same), n_same + sum(same.values())
            significant = [term for term in theirs if theirs[term] < ALPHA]
            said = f"significant: {', '.join(significant)} (" if significant else "no significant term ("
            n_same_plans += said in headline
            largest = max(largest, apart)
            print(f"{number + 1:2}. {family}, {formula}: {headline} R: {said[:-2]}; p values differ by {apart:.2g}")  # noqa: T201
    result = {"plans": N_PLANS, "same_headlines": n_same_plans, "terms": n_terms, "same_decisions": n_same}
    print(json.dumps(result | {"largest_difference_of_p": round(largest, 6)}))  # noqa: T201


def random_case(generator: np.random.Generator, number: int) -> tuple[pd.DataFrame, str, str]:
    """Return random data, a formula and a family."""
    n_people, n_items = int(generator.integers(6, 31)), int(generator.integers(8, 25))
    person, item = (axis.ravel() for axis in np.meshgrid(np.arange(n_people), np.arange(n_items), indexing="ij"))
    levels = {"condition": int(generator.integers(2, 4)), "prompt": int(generator.integers(2, 4))}
    codes = {"condition": (item + person) % levels["condition"], "prompt": person % levels["prompt"]}
    data = pd.DataFrame({"participant": person, "item_id": item}).map(lambda value: f"n{value:02d}")
    effect = 0.7 * generator.normal(size=n_people)[person] + 0.5 * generator.normal(size=n_items)[item]
    for name, n_levels in levels.items():
        data[name] = np.array(list("abc"))[codes[name]]
        effect += (generator.random() < 0.5) * generator.normal(0, 0.6, n_levels)[codes[name]]
    data["load"] = generator.normal(3, 1, len(data)).round(3)
    effect += (generator.random() < 0.5) * 0.2 * data["load"]
    terms = ["condition * prompt", "condition + prompt", "condition * prompt + load", "condition * load"][number % 4]
    family = ["gaussian", "binomial"][number // 4 % 2]
    is_mixed = number % 5 < 4
    if family == "gaussian":
        data["y"] = (effect + generator.normal(size=len(data))).round(4)
    else:
        data["y"] = (generator.random(len(data)) < 1 / (1 + np.exp(-effect))).astype(int)
        if not is_mixed:
            data.loc[data["condition"] == "b", "y"] = 1
    groups = " + (1 | participant) + (1 | item_id)" if is_mixed else ""
    return data, f"y ~ {terms}{groups}", family


def decided(data: pd.DataFrame, formula: str, family: str) -> tuple[dict[str, float], str]:
    """Return the p value of each term, and the sentence in the summary of the report."""
    plan = PlannedAnalyses.model_validate({"models": {"m": {"formula": formula, "family": family}}})
    results = run_planned(lambda _: data, plan)
    terms = results.models["m"].model.anova
    (headline,) = summary_sentences(results, plan)
    return dict(zip(terms["term"], terms["p_value"], strict=True)), headline


def of_r(rscript: str, path: Path, data: pd.DataFrame, formula: str, family: str) -> dict[str, float]:
    """Return R's p value of each term."""
    data.to_csv(path, index=False)
    command = [rscript, str(PEER), str(path), formula, family]
    said = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()[-1])
    return dict(zip(said["term"], said["p"], strict=True))


if __name__ == "__main__":
    main()
