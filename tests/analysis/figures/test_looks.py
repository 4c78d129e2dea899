from matplotlib.figure import Figure

from analysis.figures.drawing.sheet import INK, PAPER, SOFT
from analysis.figures.drawing.subject_styles import draw_marker, kind_of, looks
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
