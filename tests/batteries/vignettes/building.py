"""Building batteries from templates, through the command."""

import csv
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from batteries.items import Battery, Item, load_battery
from equipoise.cli.main import main
from tests.batteries.vignettes import published_format as published

QUESTIONS = {qa["id"]: qa for qa in published.qa_documents()}


CODES = {"A": "00", "B": "10", "C": "01", "D": "11"}


def run(*arguments: str | int | Path) -> Result:
    return CliRunner().invoke(main, ["battery", *map(str, arguments)])


def write_spec(folder: Path, spec: Mapping[str, Any]) -> Path:
    path = folder / "spec.yaml"
    path.write_text(json.dumps(spec), encoding="utf-8")  # JSON is YAML
    return path


def build(templates: Path, output: Path, spec: Mapping[str, Any] | None = None, seed: int = 1) -> Path:
    """Build a battery into a file, and return the file."""
    options = [] if spec is None else ["--spec", write_spec(output.parent, spec)]
    result = run("build", templates, *options, "--seed", seed, "-o", output)
    assert result.exit_code == 0, result.output
    return output


def battery_of(templates: Path, spec: Mapping[str, Any] | None = None, seed: int = 1) -> Battery:
    """Build and load a battery. Loading checks every item with its task."""
    with tempfile.TemporaryDirectory() as folder:
        return load_battery(build(templates, Path(folder) / "battery.jsonl", spec, seed))


def assert_refused(result: Result, *words: str) -> None:
    if not isinstance(result.exception, SystemExit):
        raise AssertionError(f"exit code {result.exit_code}: {result.output}") from result.exception
    assert result.exit_code != 0
    for word in words:
        assert word in result.stderr, result.stderr


def code(item: Item) -> str:
    """Return the condition as digits, as in the template."""
    letter = str(item.factors["condition"])
    return CODES[letter] if item.factors["capability_type"] == "double" else CODES[letter][0]


def question(item: Item) -> dict[str, Any]:
    return QUESTIONS[str(item.factors["template_id"])]


def story(item: Item) -> dict[str, Any]:
    return published.SCENARIOS[str(item.factors["scenario"])][str(item.factors["version"])]


def texts(item: Item) -> tuple[str, str, list[str]]:
    content: Any = item.content
    return content["text"], content["prompt"], list(content["options"])


_READ: dict[str, tuple[published.Labels, list[int]]] = {}


def labels_of(item: Item) -> tuple[published.Labels, list[int]]:
    """Return the labels of the texts as shown, and the index of the template's option at each position."""
    names = ("template_id", "condition", "inference_level", "pov")
    same = json.dumps([[item.factors[name] for name in names], texts(item)])
    if same not in _READ:
        _READ[same] = _read(item)
    return _READ[same]


def _read(item: Item) -> tuple[published.Labels, list[int]]:
    qa, version = question(item), story(item)
    link, level, pov = qa["links"][code(item)], int(item.factors["inference_level"]), str(item.factors["pov"])
    text, prompt, options = texts(item)

    def read(template: str, shown: str) -> published.Labels | None:
        return published.read_back(published.switched(template, version, link, level), shown, version, pov)

    found = read(version["context"], text)
    assert found is not None, f"{item.item_id} is not its template's story at this level: {text}"
    asked = read(qa["question"]["prompt"], prompt)
    assert asked is not None and found.agree(asked), f"{item.item_id}: {prompt}"
    labels, places = {**found.of, **asked.of}, []
    for shown in options:
        fits = {
            place: read_as.of
            for place, option in enumerate(qa["question"]["options"])
            if (read_as := read(option, shown)) is not None and read_as.agree(found)
        }
        assert len(fits) == 1, f"{item.item_id}: {shown!r} is not an option of the template, or more than one"
        places += fits
        labels |= fits[places[-1]]
    assert sorted(places) == [0, 1, 2, 3]
    return published.Labels(labels), places


def by(items: Iterable[Item], *names: str) -> dict[tuple[Any, ...], list[Item]]:
    groups: defaultdict[tuple[Any, ...], list[Item]] = defaultdict(list)
    for item in items:
        groups[tuple(item.factors[name] for name in names)].append(item)
    return groups


def spread(counts: Counter[int]) -> int:
    """Return the difference between the counts of the most and the least frequent position."""
    every = [counts[position] for position in (1, 2, 3, 4)]
    return max(every) - min(every)


def shown(folder: Path, context: str, **story: Any) -> list[str]:
    """Return the different stories of condition A without filler."""
    published.write_one_story(folder / "templates", context + " It {vs[switch_1]}.{vs[filler]}", **story)
    items = battery_of(folder / "templates", {"inference_levels": [2], "conditions": ["A"], "variants": 1}).items
    return [texts(item)[0].removesuffix(" It sat still.") for item in items]


def rows_of(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
        return list(reader.fieldnames or ()), rows


def rewritten(source: Path, target: Path, change: Callable[[dict[str, str]], dict[str, str]], **dialect: Any) -> Path:
    """Rewrite a CSV as a different program saves it."""
    _, rows = rows_of(source)
    changed = [change(row) for row in rows]
    with target.open("w", encoding=dialect.pop("encoding", "utf-8"), newline="") as file:
        writer = csv.DictWriter(file, list(changed[0]), **dialect)
        writer.writeheader()
        writer.writerows(changed)
    return target
