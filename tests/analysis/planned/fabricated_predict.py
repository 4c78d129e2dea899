"""Fabricated files of the Black Box study (mode Predict) with planted effects: 3 models, 8 conditions, 235 rays."""

import json
import random
from itertools import product
from math import exp
from pathlib import Path
from statistics import NormalDist
from typing import Any

from experiment.study.definition import Study

MODELS = {"Haiku 4.5": 0.0, "Sonnet 4.5": 0.1, "Opus 4.5": 0.05}
PLANTED = {"intercept": 1.6, "augmented": 1.0, "thinking": 0.4, "ray_trace": 0.2, "path_length": -0.35,
           "atoms_near_path": -0.5, "thinking:path_length": 0.12}  # fmt: skip
"""Log-odds. Only the effect of thinking depends on the path length."""


def write_exports(study: Study, folder: Path, seed: int = 14) -> list[Path]:
    """Write one file for each condition, as the study's program did, with the fields that the import reads."""
    rng = random.Random(seed)  # `random()` gives the same numbers in every version of Python.
    of_board = {board: NormalDist(0, 0.8).inv_cdf(rng.random()) for board in range(10)}
    of_ray = {item.item_id: NormalDist(0, 0.6).inv_cdf(rng.random()) for item in study.test_items}
    paths = []
    for augmented, thinking, ray_trace in product((False, True), repeat=3):
        results = []
        for (model, effect), board in product(MODELS.items(), range(10)):
            items = [item for item in study.test_items if item.factors["configuration"] == board]
            result: dict[str, Any] = {
                "experimentId": f"exp_{augmented}_{thinking}_{ray_trace}_{model}_{board}", "mode": "predict",
                "model": f"claude-{model}", "modelName": model, "enableThinking": thinking, "thinkingBudget": 10000,
                "promptCondition": "augmented+viz" if augmented else "baseline+viz", "votGridState": False,
                "votRayTrace": ray_trace, "votHypothesis": False, "configIndex": board, "systemPrompt": "Predict.",
                "atomConfig": items[0].content["atoms"], "startTime": "2026-01-12T18:00:00Z",
                "endTime": "2026-01-12T19:00:00Z", "predictions": [],
            }  # fmt: skip
            for item in items:
                factors, (side, position) = item.factors, str(item.content["entry"]).split("-")
                length, near = float(factors["path_length"]), float(factors["atoms_near_path"])
                odds = effect + of_board[board] + of_ray[item.item_id] + sum((
                    PLANTED["intercept"],
                    PLANTED["augmented"] * augmented,
                    PLANTED["thinking"] * thinking,
                    PLANTED["ray_trace"] * ray_trace,
                    PLANTED["path_length"] * length,
                    PLANTED["atoms_near_path"] * near,
                    PLANTED["thinking:path_length"] * thinking * length,
                ))  # fmt: skip
                is_right = rng.random() < 1 / (1 + exp(-odds))
                wrong = [
                    port for port in ("absorbed", "south-8", "west-1") if port not in (item.key, item.content["entry"])
                ]
                predicted = item.key if is_right else wrong[int(rng.random() * len(wrong))]
                result["predictions"].append({
                    "rayEntry": {"side": side, "pos": int(position)}, "predicted": predicted,
                    "correct": bool(is_right), "reasoning": "Traced.", "thinking": "Long." if thinking else "",
                    "responseTimeMs": 1000.0, "inputTokens": 100, "outputTokens": 10,
                })  # fmt: skip
            results.append(result)
        path = folder / f"{'augmented' if augmented else 'baseline'}_{thinking}_{ray_trace}.json"
        path.write_text(json.dumps({"results": results}), encoding="utf-8")
        paths.append(path)
    return paths
