from matplotlib.figure import Figure

from analysis.figures.drawing.sheet import INK, PAPER, SOFT
from analysis.figures.drawing.subject_styles import draw_marker, kind_of, looks, style_of
from tests.analysis.figures.layout import contrast


def test_twelve_subjects_have_twelve_different_looks_even_in_grey():
    subjects = [("human", "people"), ("simulated", "simulated participants"), *(("model", f"M{n}") for n in range(10))]
    chosen = looks(subjects)
    assert len(set(chosen.values())) == 12
    assert len({(look.marker, look.filled, look.dashes) for look in chosen.values()}) == 12


def test_people_have_the_same_style_with_any_other_subjects():
    people = ("human", "people")
    assert looks([people])[people] == looks([("model", "A"), people])[people]
    assert contrast(looks([people])[people].colour, "#ffffff") > 4.5


def test_simulated_participants_are_rings_and_people_discs():
    chosen = looks([("human", "people"), ("simulated", "simulated participants")])
    axes = Figure().add_subplot()
    for look in chosen.values():
        draw_marker(axes, 0, 0, look)
    people, simulated = axes.get_lines()
    assert people.get_markerfacecolor() == people.get_markeredgecolor() == INK
    assert (simulated.get_markerfacecolor(), simulated.get_markeredgecolor()) == (PAPER, SOFT)


def test_a_name_shows_the_kind():
    assert [kind_of(name) for name in ("people", "simulated participants", "gpt-4o", 3)] == [
        "human", "simulated", "model", "model",
    ]  # fmt: skip


def test_colours_mean_the_model_and_markers_mean_the_condition():
    names = [f"{model}, temperature {number}" for model in ("gpt-4o", "o3-mini") for number in (0, 1)]
    chosen = looks([("human", "people"), *(("model", name) for name in names)])
    colours = [chosen["model", name].colour for name in names]
    markers = [chosen["model", name].marker for name in names]
    assert colours[0] == colours[1] != colours[2] == colours[3]
    assert markers[0] == markers[2] != markers[1] == markers[3]
    assert len({(look.marker, look.filled) for look in chosen.values()}) == 5, "even in grey"


def test_twelve_models_have_twelve_colours():
    assert len({look.colour for look in looks([("model", f"M{n}") for n in range(12)]).values()}) == 12


def test_the_style_of_a_model_without_its_temperature_is_that_of_its_first_condition():
    styles = looks([("model", "A, temperature 0"), ("model", "A, temperature 1"), ("model", "B, temperature 0")])
    assert style_of("A, temperature 1", styles) == styles["model", "A, temperature 1"]
    assert style_of("B", styles) == styles["model", "B, temperature 0"]
    assert style_of("C", styles) is None
