"""Speed and memory of importing 20,000 and 100,000 stored replies of language models.

    .venv/bin/python benchmarks/models_import.py

The command line imports batch results in random order into a new store, in a separate process for each size. The items
are those of a battery of 1,152 vignettes, and each run has one reply for each item. The replies have the strict form of
the standard prompt. In a third import, of 20,000 replies, each explanation also names an option, so that all steps of
the reader are needed.

The last line is JSON: `seconds` and `peak_mb` are those of the larger import. `growth_mb` is the memory that the larger
import needs in addition. `ms_of_wordy` is the time for each reply of the third import.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from batteries import intuition
from experiment.load_study import load_study
from experiment.models.request_ids import RequestId
from experiment.study.definition import Study

SIZES = (20_000, 100_000)
TEMPLATE = "9f8e7d6c" + "0" * 56
LIMIT_S = 30
REASONS = {
    "strict": "Because of what happened in the story before. " * 6,
    "wordy": "I think that option {option} is right because of what happened in the story before. " * 4,
}
"""Explanations of the replies, with 288 and about 330 characters."""
STUDY = """study: benchmark
version: "1.0"
title: Import
language: en
battery: battery.jsonl
design: {method: deal, groups: 1, balance: [condition]}
timeline: {consent: consent.md, instructions: [consent.md], debrief: consent.md}
"""


def main() -> None:
    """Print a line for each size, and one JSON line last."""
    if len(sys.argv) > 1:
        write_results(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
        return
    with tempfile.TemporaryDirectory() as folder:
        study = load_study(made_study(Path(folder) / "study"))
        (_, small_mb), (seconds, peak_mb) = (imported(study, n, "strict", Path(folder)) for n in SIZES)
        wordy_s, _ = imported(study, SIZES[0], "wordy", Path(folder))
    result = {"replies": SIZES[-1], "seconds": seconds, "peak_mb": peak_mb, "growth_mb": round(peak_mb - small_mb, 1)}
    result["ms_of_wordy"] = round(1000 * wordy_s / SIZES[0], 2)
    print(json.dumps(result | {"limit_s": LIMIT_S}))  # noqa: T201


@dataclass(frozen=True)
class Used:
    """The resources that a command used."""

    seconds: float
    cpu_s: float
    peak_mb: float
    """Peak of the resident memory."""


def made_study(folder: Path, variants: int = 1) -> Path:
    """Build the battery of some variants of each instance, and a study of its items. Return the study's folder."""
    folder.mkdir()
    (folder / "spec.yaml").write_text(f"variants: {variants}\n", encoding="utf-8")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    (folder / "consent.md").write_text("# Consent\n\nYes.\n", encoding="utf-8")
    run("battery", "build", intuition.FOLDER, "--spec", folder / "spec.yaml", "-o", folder / "battery.jsonl")
    return folder


def imported(study: Study, n: int, kind: str, folder: Path) -> tuple[float, float]:
    """Import `n` replies of a kind; return the seconds and the peak of memory in MB."""
    results = folder / f"results-{kind}-{n}.jsonl"
    # In a process of its own: Linux counts the memory of the process that starts a command as memory of the command.
    subprocess.run([sys.executable, __file__, study.folder, str(n), kind, results], check=True)
    mb = results.stat().st_size / 1e6
    used = run("models", "import", study.folder, results, "--store", folder / f"{kind}-{n}.db")
    print(f"{n:,} {kind} replies ({mb:.0f} MB): {used.seconds:.1f} s, peak {used.peak_mb:.0f} MB")  # noqa: T201
    return used.seconds, used.peak_mb


def write_results(study: Path, n: int, kind: str, path: Path) -> None:
    """Write batch results in random order."""
    lines = list(batch(load_study(study), n, kind))
    random.Random(1).shuffle(lines)
    path.write_text("".join(lines), encoding="utf-8")


def batch(study: Study, n: int, kind: str) -> Iterator[str]:
    """Yield the lines of batch results: one run after the other, with one reply for each item."""
    items = study.test_items
    positions = {item.item_id: index for index, item in enumerate(study.battery.items)}
    for number in range(n):
        epoch, position = divmod(number, len(items))
        item = items[position]
        index = positions[item.item_id]
        request = str(RequestId(study.battery.digest[:8], index, TEMPLATE[:8], 0.7, epoch + 1))
        option = number % 4 + 1
        options = item.content["options"]
        assert isinstance(options, list)
        reply = f"{option}\n{options[option - 1]}\n{REASONS[kind].format(option=option)}"
        message = {"role": "assistant", "content": reply, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        usage = {"prompt_tokens": 400, "completion_tokens": 80, "total_tokens": 480}
        body = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1_760_000_000 + number,
                "model": "gpt-4o-2024-08-06", "choices": [choice], "usage": usage}  # fmt: skip
        response = {"status_code": 200, "request_id": "", "body": body}
        yield json.dumps({"id": f"batch_{number}", "custom_id": request, "response": response, "error": None}) + "\n"


def run(*arguments: object) -> Used:
    """Run a command in a process of its own, and return the resources that it used."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "equipoise", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(process.returncode)
    seconds = time.perf_counter() - started
    return Used(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


if __name__ == "__main__":
    main()
