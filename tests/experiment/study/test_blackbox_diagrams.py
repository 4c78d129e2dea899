"""Diagrams of rays: each step follows from the rules, and an error names the file and the line."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.blackbox import Effect, Port, all_ports, trace
from batteries.errors import InputError
from equipoise.studies import sample_study_folder
from experiment.load_study import load_study
from experiment.study.blackbox_diagrams import Diagram, check_diagrams, steps_of, with_diagrams_in_words
from experiment.texts import languages, texts_in

ENGLISH = texts_in("en", {})
BLOCK = """# Rules

A ray.

```blackbox
entry: west-3
atoms: [[4, 4]]
caption: The ray turns.
```

The end.
"""


@st.composite
def diagrams(draw: st.DrawFn) -> Diagram:
    """Return boards of every size, with and without atoms, and every port."""
    size = draw(st.integers(3, 8))
    cell = st.tuples(st.integers(1, size), st.integers(1, size))
    atoms = draw(st.lists(cell, max_size=6, unique=True))
    return Diagram(size=size, atoms=tuple(atoms), entry=str(draw(st.sampled_from(all_ports(size)))), caption="A ray.")


@given(diagrams(), st.sampled_from(languages()))
def test_the_steps_of_a_diagram_are_the_path_of_the_rules(diagram: Diagram, language: str) -> None:
    ray = trace(frozenset(diagram.atoms), Port.parse(diagram.entry, diagram.size), diagram.size)
    steps = steps_of(diagram, texts_in(language, {}))
    assert tuple(cell for step in steps for cell in step.cells) == ray.path
    assert tuple(step.encounter for step in steps if step.encounter) == ray.encounters
    exits = [str(step.exit) for step in steps if step.exit]
    assert exits == {"absorbed": [], "reflected": [diagram.entry]}.get(ray.outcome, [ray.outcome])
    n_passed = 0
    for step in steps:
        if step.encounter:
            assert step.encounter.n_cells == n_passed, "the atom is named when the ray is beside it"
            for row, column in step.encounter.atoms:
                assert {str(row), str(column)} <= set(re.findall(r"\d+", step.sentence))
        n_passed += len(step.cells)
    assert all(step.sentence for step in steps)


def test_the_sample_study_shows_every_rule() -> None:
    study = load_study(sample_study_folder("blackbox-predict"))
    page = study.texts["instructions-1.md"]
    blocks = re.findall(r"```blackbox\n(.*?)```", page, flags=re.DOTALL)
    lines = [dict(line.split(": ", 1) for line in block.splitlines()) for block in blocks]
    found = [Diagram(entry=one["entry"], atoms=eval(one["atoms"]), caption=one["caption"]) for one in lines]
    effects = [{encounter.effect for encounter in diagram.ray.encounters} for diagram in found]
    assert effects == [set(), {Effect.ABSORBED}, {Effect.TURNED}, {Effect.SENT_BACK}, {Effect.KEPT_OUT}]
    practised = [study.battery.by_id[item_id] for item_id in study.definition.practice]
    rays = [
        trace(frozenset(map(tuple, item.content["atoms"])), Port.parse(item.content["entry"])) for item in practised
    ]
    assert {encounter.effect for ray in rays for encounter in ray.encounters} == set(Effect)
    assert any(not ray.encounters for ray in rays), "one practice ray goes straight on"


@pytest.mark.parametrize(
    ("line", "broken", "sentence"),
    [
        ("entry: west-3", "entry: west-6", r"page.md, line \d+: .*'west-6' is not a port.*from 1 to 5"),
        ("atoms: [[4, 4]]", "atoms: [[4, 6]]", r"page.md, line \d+: .*\[4, 6\] is off the board"),
        ("caption: The ray turns.", "captoin: The ray turns.", r"page.md, line 8: `captoin` is an unknown field"),
        ("entry: west-3\n", "", r"page.md, line \d+: `entry` is missing"),
        ("entry: west-3", "entry: [west-3", r"page.md, line \d+: this is not valid YAML"),
        (
            "entry: west-3\natoms: [[4, 4]]\ncaption: The ray turns.\n",
            "",
            r"page.md, line 5: this diagram has no board",
        ),
    ],
)
def test_an_error_in_a_diagram_names_the_file_and_the_line(line: str, broken: str, sentence: str) -> None:
    assert line in BLOCK
    with pytest.raises(InputError, match=sentence) as error:
        check_diagrams(BLOCK.replace(line, broken), Path("page.md"))
    numbers = [int(number) for number in re.findall(r"line (\d+)", str(error.value))]
    assert all(5 <= number <= 10 for number in numbers), "the line is in the block"
    assert "Fix: " in str(error.value)


def test_a_study_with_an_error_in_a_diagram_is_refused(
    study_folder: Path, edit: Callable[[Path, str, str], None]
) -> None:
    edit(study_folder / "instructions-1.md", "entry: west-3", "entry: up-3")
    with pytest.raises(InputError, match=r"instructions-1\.md, line \d+: .*'up-3' is not a port"):
        load_study(study_folder)


def test_language_models_get_a_diagram_in_words() -> None:
    told = with_diagrams_in_words(BLOCK, ENGLISH)
    assert "```" not in told and told.startswith("# Rules\n\nA ray.\n") and told.rstrip().endswith("The end.")
    assert "The ray turns. Atoms at row 4 column 4.\n" in told
    assert "\n1. The ray comes to WEST 3.\n" in told
    assert "\n3. The atom at row 4, column 4 turns the ray.\n" in told
    assert "\n5. The ray leaves at NORTH 3.\n" in told
    assert with_diagrams_in_words("# No diagram\n\n```\ncode\n```", ENGLISH) == "# No diagram\n\n```\ncode\n```"
