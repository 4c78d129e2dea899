"""The selection by a spec, metadata, and perturbations."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from batteries.items import Battery, Item
from tests.batteries.vignettes import published_format as published
from tests.batteries.vignettes.building import assert_refused, battery_of, by, code, question, run, texts, write_spec

# --- selection by the spec --------------------------------------------------------------------------------------------


def test_ids_select_questions(templates: Path) -> None:
    battery = battery_of(templates, {"ids": ["3.2.0.0.a", "1.0.2.0.b"], "variants": 2})
    assert len(battery.items) == (4 + 2) * 4 * 2
    assert {item.factors["template_id"] for item in battery.items} == {"3.2.0.0.a", "1.0.2.0.b"}


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ({"social": True, "beliefs": True, "feelings": False}, ["2.1.0.0", "3.2.0.0"]),
        ({"social": True}, ["2.1.0.0", "2.2.0.0", "3.1.0.0", "3.2.0.0"]),
        ({"constitutional": True}, ["1.1.0.0", "1.2.0.0"]),
        ({"constitutional": True, "functional": True}, ["1.2.0.0"]),
        ({"constitutional": True, "functional": False}, ["1.1.0.0"]),
        ({"feelings": True, "beliefs": True}, ["2.2.0.0"]),
        ({"intentions": True, "beliefs": False}, ["3.1.0.0"]),
        ({"social": False}, ["1.1.0.0", "1.2.0.0"]),
        ({"beliefs": False, "intentions": False, "functional": False}, ["1.1.0.0"]),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else str(sorted(value)),
)
def test_a_demand_profile_selects_questions(templates: Path, profile: dict[str, bool], expected: list[str]) -> None:
    spec = {"demands": profile, "capability_types": ["single", "double"], "variants": 1, "inference_levels": [2]}
    battery = battery_of(templates, spec)
    found = {str(item.factors["template_id"]) for item in battery.items}
    assert found == {f"{qa_id}.{version}" for qa_id in expected for version in "ab"}
    said = {str(item.factors["target_demand"]) for item in battery.items}.pop()
    assert all(name in said for name in profile)


def test_a_profile_that_fits_no_question_is_refused(templates: Path, tmp_path: Path) -> None:
    spec = write_spec(tmp_path, {"demands": {"feelings": True, "functional": True}})
    assert_refused(run("build", templates, "--spec", spec, "-o", tmp_path / "battery.jsonl"), "select")


@pytest.mark.parametrize(
    ("spec", "n"),
    [
        ({"conditions": ["A"]}, 30 * 4 * 5),
        ({"conditions": ["C", "D"]}, 6 * 2 * 4 * 5),
        ({"conditions": ["B"], "capability_types": ["single"]}, 6 * 4 * 5),
        ({"inference_levels": [3, 0]}, 72 * 2 * 5),
        ({"pov": ["third"]}, 72 * 4 * 5),
        ({"variants": 1, "pov": ["third", "first"]}, 72 * 4 * 2),
        ({"variants": 3, "inference_levels": [2]}, 72 * 3),
        ({"variants": 1, "inference_levels": [2], "perturbations": [{}, {"spacing_proportion": 0.25}]}, 72 * 2),
        ({"variants": 1, "inference_levels": [1], "perturbations": [{"spelling_letters": 5}]}, 72),
    ],
    ids=str,
)
def test_the_number_of_instances_is_the_product(templates: Path, spec: dict[str, Any], n: int) -> None:
    battery = battery_of(templates, spec)
    assert len(battery.items) == len({item.item_id for item in battery.items}) == n
    for key, factor in (("conditions", "condition"), ("inference_levels", "inference_level"), ("pov", "pov")):
        if key in spec:
            assert {item.factors[factor] for item in battery.items} == set(spec[key])


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"ids": ["1.1.0.0.a", "9.9.9.9.z"]}, "9.9.9.9.z"),
        ({"demands": {"belief": True}}, "belief"),
        ({"demands": {"social": True, "telepathy": False}}, "telepathy"),
        ({"inference_level": [1]}, "inference_level"),
        ({"inference_levels": [4]}, "4"),
        ({"conditions": ["E"]}, "E"),
        ({"conditions": ["A", "Q"]}, "Q"),
        ({"conditions": ["01"]}, "01"),
        ({"pov": ["second"]}, "second"),
        ({"variants": 0}, "variants"),
        ({"variants": "five"}, "variants"),
        ({"capability_types": ["triple"]}, "triple"),
        ({"perturbations": [{"spacing": 0.5}]}, "spacing"),
        ({"perturbations": [{"spacing_proportion": 2}]}, "spacing_proportion"),
        ({"matched": "perhaps"}, "matched"),
        ({"demands": {"social": "much"}}, "social"),
    ],
    ids=str,
)
def test_unknown_names_in_a_spec_are_named(templates: Path, tmp_path: Path, spec: dict[str, Any], named: str) -> None:
    output = tmp_path / "battery.jsonl"
    for command in (["build", templates, "-o", output], ["check", templates]):
        result = run(*command, "--spec", write_spec(tmp_path, spec))
        assert_refused(result, named, "spec.yaml")
    assert not output.exists()


# --- metadata ---------------------------------------------------------------------------------------------------------


def demands_in(item: Item) -> list[str]:
    """The demands of an item's condition: c0, with c1 where the first digit is 1, and c2 where the second is."""
    listed, digits = question(item)["demands"], code(item)
    names = [*listed["c0"], *(listed["c1"] if digits[0] == "1" else []), *(listed["c2"] if digits[1:] == "1" else [])]
    table = {name.replace(" ", "_"): dims for name, dims in published.DEMANDS.items()}
    return [table[name.replace(" ", "_")] for name in names]


def test_demand_vectors_are_those_of_the_table(plain: Battery) -> None:
    for item in plain.items:
        touching = [dims.split() for dims in demands_in(item)]
        for dimension in published.DIMENSIONS:
            n = sum(dimension in dims for dims in touching)
            # The format does not say if two demands on a dimension give 1 or 2, only that the value is not 0.
            assert item.factors[dimension] in ({0} if n == 0 else {1, n}), (item.item_id, dimension)


def test_metadata_become_factors(plain: Battery) -> None:
    for item in plain.items:
        factors, said = item.factors, published.SCENARIOS[str(item.factors["scenario"])]["metadata"]
        qa = question(item)
        assert factors["novelty"] == said["novelty"]
        assert factors["causal_type"] == said["causal_type"]
        assert factors["causal_direction"] == said["causal_direction"]
        for key in ("provided", "required"):
            listed = [name.strip().replace(" ", "_") for name in re.split("[;,]", str(factors[key])) if name.strip()]
            assert listed == [name.replace(" ", "_") for name in said[key]]
        assert factors["capability_type"] == qa["capability_type"]
        assert factors["scenario"] == qa["base_context"]
        assert factors["version"] == qa["base_context_version"]
        digits = code(item)
        expected = ["c0", *(["c1"] if digits[0] == "1" else []), *(["c2"] if digits[1:] == "1" else [])]
        assert str(factors["demand_condition"]).replace(" ", "").split("+") == expected


# --- perturbations ----------------------------------------------------------------------------------------------------


def test_perturbed_instances_keep_the_clean_text(perturbed: Battery) -> None:
    groups = by(perturbed.items, "template_id", "condition", "inference_level", "variant")
    assert all(len(items) == 4 for items in groups.values())
    for items in groups.values():
        (clean,) = (item for item in items if item.clean is None)
        for item in items:
            if item is not clean:
                assert item.clean is not None
                assert json.dumps(item.clean, sort_keys=True) == json.dumps(clean.content, sort_keys=True)
                assert texts(item)[:2] != texts(clean)[:2]
                assert texts(item)[2] == texts(clean)[2]  # options are perturbed only on request
                assert item.key == clean.key


def test_options_are_perturbed_on_request(templates: Path) -> None:
    noise = [{"capitalisation_letters": 15}]
    spec = {
        "variants": 1,
        "inference_levels": [2],
        "perturbations": noise,
        "perturb_options": True,
        "ids": ["1.1.0.0.a"],
    }
    for item in battery_of(templates, spec).items:
        assert item.clean is not None
        clean: Any = item.clean
        assert texts(item)[2] != list(clean["options"])
        assert [option.casefold() for option in texts(item)[2]] == [option.casefold() for option in clean["options"]]


def test_degrees_of_perturbation_become_factors(perturbed: Battery) -> None:
    seen = {
        (
            item.factors["spacing_noise_proportion"],
            item.factors["character_noise_number"],
            item.factors["capitalisation_number"],
        )
        for item in perturbed.items
    }
    assert seen == {(0, 0, 0), (0.5, 0, 0), (0, 5, 0), (0, 0, 10)}
