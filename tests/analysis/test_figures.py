import re
from xml.etree import ElementTree

import pytest

from analysis.accuracy import accuracy
from analysis.data import tidy_trials
from analysis.exclusions import apply_exclusions
from analysis.figures import accuracy_figure, looks, response_times_figure
from analysis.svg import inline
from experiment.preregistration import AnalysisPlan

PLAN = AnalysisPlan(
    bootstrap_resamples=1000,
    exclusions=[
        {"rule": "median_rt", "min_ms": 1000, "max_ms": 30_000}, {"rule": "trial_rt", "min_ms": 200, "max_ms": 60_000}
    ],
)  # fmt: skip


@pytest.fixture(scope="module")
def trials(view, session):
    return apply_exclusions(
        tidy_trials(
            view(
                [session(participant=f"P{n}", n_correct=n % 5, factors={"condition": f"0{n % 2}"}) for n in range(6)],
                [
                    session(participant=f"S{n}", kind="simulated", n_correct=2, factors={"condition": "00"})
                    for n in range(3)
                ],
                session(kind="model", run="<b>Model $x^2$ & co</b>", factors={"condition": "01"}),
            )
        ),
        PLAN,
    ).trials


def texts(svg):
    return [node.text for node in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_the_accuracy_figure_holds_its_words_as_text(trials):
    svg = accuracy_figure(accuracy(trials, ["condition"], PLAN), "condition", 0.25, 0.95, "by_condition")
    words = texts(svg)
    assert {"condition: 00", "condition: 01", "people", "simulated participants"} <= set(words)
    assert "<b>Model $x^2$ & co</b>" in words
    assert any("chance 25.0" in word for word in words)


def test_a_figure_has_a_title_and_alternative_text_with_the_numbers(trials):
    svg = accuracy_figure(accuracy(trials, [], PLAN), None, 0.25, 0.95, "overall")
    root = ElementTree.fromstring(svg)
    title, description = (root.find(f"{{http://www.w3.org/2000/svg}}{tag}") for tag in ("title", "desc"))
    assert title.text == "Accuracy by subject"
    assert "people: 41.7\u00a0%" in description.text
    assert root.get("aria-labelledby").split() == [title.get("id"), description.get("id")]


def test_the_same_data_give_the_same_bytes_and_no_date(trials):
    def draw():
        return accuracy_figure(
            accuracy(trials, ["condition"], PLAN), "condition", 0.25, 0.95, "a"
        ), response_times_figure(trials, PLAN, "rt")

    assert draw() == draw()
    assert not re.search(r"<metadata|20\d\d-\d\d-\d\d", "".join(draw()))


def test_ids_of_two_figures_never_meet_in_one_page(trials):
    table = accuracy(trials, [], PLAN)
    ids = [set(re.findall(r'\bid="([^"]+)"', accuracy_figure(table, None, 0.25, 0.95, name))) for name in ("a", "b")]
    assert not ids[0] & ids[1]
    svg = accuracy_figure(table, None, 0.25, 0.95, "a")
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg)) <= ids[0]


def test_response_times_are_drawn_a_kind_with_every_threshold(trials):
    words = texts(response_times_figure(trials, PLAN, "rt"))
    assert "people: 24 test trials" in words
    assert "simulated participants: 12 test trials" in words
    for threshold in ("excluded under 200", "excluded over 60", "excluded under 1", "excluded over 30"):
        assert sum(word.startswith(threshold) for word in words if word) == 2, threshold


def test_without_response_times_there_is_no_figure_of_them(view, session):
    trials = apply_exclusions(tidy_trials(view(session(rt_ms=None), session(kind="model"))), PLAN).trials
    assert response_times_figure(trials, PLAN, "rt") is None


def test_ten_subjects_have_ten_different_looks():
    subjects = [("human", "people"), ("simulated", "simulated participants"), *(("model", f"M{n}") for n in range(8))]
    chosen = looks(subjects)
    assert len(set(chosen.values())) == 10
    assert len({marker for marker, _, _ in chosen.values()}) >= 9


def test_an_inlined_figure_follows_the_colours_of_the_page(trials):
    page = inline(accuracy_figure(accuracy(trials, [], PLAN), None, 0.25, 0.95, "a"))
    assert "var(--ink)" in page
    assert "#ffffff" not in page
