import csv
import hashlib
import html
import io
import json
import re
import shutil
from datetime import UTC, datetime

import pandas as pd
import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.study import analyze_trials
from batteries.errors import InputError
from experiment.study.analysis_plan import AnalysisPlan

PLAN = AnalysisPlan(
    by=["condition"], resamples=1000,
    exclusions=[
        {"rule": "attention_check"}, {"rule": "median_rt", "min_ms": 1000}, {"rule": "trial_rt", "min_ms": 200}
    ],
)  # fmt: skip
MADE = datetime(2026, 1, 3, 12, 0, tzinfo=UTC)
TABLES = {"accuracy", "accuracy_overall", "differences", "differences_overall", "error_agreement", "exclusions",
          "exclusions_by_group", "invalid", "item_agreement", "items", "models", "participants", "regraded",
          "sensitivity_accuracy", "sensitivity_differences", "sensitivity_rules", "stored_scoring",
          "timing", "trials"}  # fmt: skip
FIGURES = {"accuracy", "accuracy_by_condition", "accuracy_by_condition_cells", "counterbalance", "differences",
           "exclusion_flow_human", "items", "response_times", "rt_distributions"}  # fmt: skip


def run(rows, out, plan=PLAN, **changes):
    settings = {"title": "A <study>", "software_version": "0.1.0", "made_at": MADE, **changes}
    return analyze_trials(tidy_trials(rows), plan, out, **settings)


def files_in(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def rows(view, session, row):
    return view(
        [session(participant=f"P{n}", n_correct=n % 5, factors={"condition": f"0{n % 2}"}) for n in range(6)],
        session(participant="slow", status="active", factors={"condition": "00"}),
        session(kind="model", run="=Model", n_correct=3, factors={"condition": "00"}, imported_correct=1),
        row(
            kind="model",
            run="=Model",
            trial_index=8,
            item_id="i8",
            response="-1?",
            valid=0,
            factors={"condition": "00"},
        ),
    )


@pytest.fixture(scope="module")
def analyzed(rows, tmp_path_factory):
    """The result of one analysis and its folder `out`, for tests that only read them."""
    out = tmp_path_factory.mktemp("analyzed") / "out"
    return run(rows, out), out


def test_all_tables_figures_and_the_report_are_written(analyzed):
    result, out = analyzed
    written = files_in(out)
    assert set(written) == {
        *(f"tables/{name}.csv" for name in TABLES), "report.html", "provenance.json",
        *(f"figures/{name}.{form}" for name in FIGURES for form in ("svg", "pdf", "csv")),
    }  # fmt: skip
    pd.testing.assert_frame_equal(
        pd.read_csv(out / "tables/exclusions.csv"), result.tables["exclusions"], check_dtype=False
    )
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_the_same_data_in_any_order_give_the_same_bytes(rows, analyzed, tmp_path):
    run(rows.sample(frac=1, random_state=2), tmp_path / "out")
    assert files_in(tmp_path / "out") == files_in(analyzed[1])


def test_the_manifest_names_every_file_and_the_provenance(analyzed):
    written = files_in(analyzed[1])
    manifest = json.loads(written.pop("provenance.json"))
    assert manifest["files"] == {name: hashlib.sha256(content).hexdigest() for name, content in written.items()}
    assert manifest["software"] == "equipoise 0.1.0"
    assert manifest["made_at"] == "2026-01-03T12:00:00+00:00"
    assert [rule["rule"] for rule in manifest["plan"]["exclusions"]] == ["attention_check", "median_rt", "trial_rt"]
    for value in (manifest["data_digest"], *manifest["batteries"]):
        assert value in written["report.html"].decode()


def test_text_cells_are_guarded_and_numbers_are_not(analyzed):
    tables = analyzed[1] / "tables"
    for name in TABLES:
        for cells in csv.reader(io.StringIO((tables / f"{name}.csv").read_text(encoding="utf-8"))):
            for cell in cells:
                assert not re.match(r"[=+@\t]|-(?![\d.])", cell), (name, cell)
    trials = pd.read_csv(tables / "trials.csv", dtype=str, keep_default_na=False)
    assert "'=Model" in set(trials["run"])
    assert "'-1?" in set(trials["response"])
    assert set(trials["condition"]) == {"00", "01"}
    differences = pd.read_csv(tables / "differences_overall.csv")
    assert (differences["ci_low"] < 0).all()


def test_the_trials_table_counts_as_the_flow_does(analyzed):
    result, out = analyzed
    trials = pd.read_csv(out / "tables/trials.csv")
    included = result.tables["exclusions"].query("step == 'included'")
    assert trials["excluded_by"].isna().sum() == included["n_trials"].sum()
    assert result.tables["accuracy"]["n_trials"].sum() == included["n_trials"].sum()


def test_the_report_loads_nothing_from_the_network_and_escapes_text(analyzed):
    page = (analyzed[1] / "report.html").read_text(encoding="utf-8")
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert not re.search(r"<script|<link|<img|<iframe|@import|src=", page)
    assert "<study>" not in page
    assert "A &lt;study&gt;" in page


def test_the_report_has_the_numbers_of_the_tables(analyzed):
    result, out = analyzed
    page = html.unescape((out / "report.html").read_text(encoding="utf-8")).replace("\u00a0", " ")
    people = result.tables["accuracy_overall"].iloc[0]
    assert f"People: {100 * people['accuracy']:.1f} % correct" in page
    assert "Of 5 trials of =Model, 1 invalid response and 0 unanswered trials count as not correct." in page
    assert "Simulated participants are in this report" not in page
    assert "The two scorings differ in 1 response" in page


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (["web"], "A program made their responses and response times to test the study. These data say nothing"),
        (
            ["lab"],
            "Their sessions are rehearsals in the laboratory, in which a person",
        ),
        (
            ["lab", "web"],
            "Sessions with the source lab are rehearsals in the laboratory, in which a person pressed keys",
        ),
    ],
)
def test_the_report_names_simulated_participants_and_distinguishes_rehearsals(
    view, session, tmp_path, sources, expected
):
    rows = view([session(kind="simulated", participant=source, source=source) for source in sources])
    run(rows, tmp_path / "out", AnalysisPlan(resamples=1000))
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert "Simulated participants are in this report" in page
    assert "There are no model runs in the data" in page
    assert expected in page
    assert (" program made the" in page) == ("web" in sources)
    assert ("lab (rehearsals)" in page) == ("lab" in sources)


def test_models_alone_and_people_alone_can_be_analysed(view, session, tmp_path):
    assert run(view(session(kind="model")), tmp_path / "m", AnalysisPlan()).tables["differences"].empty
    people = run(view(session()), tmp_path / "p", AnalysisPlan(comparisons={"overall": {}}))
    assert people.tables["differences_overall"].empty
    (sentence,) = people.planned.not_computed
    assert sentence.startswith("the comparison `overall`: there is no item that both people and a model answered.")
    header = (tmp_path / "p/tables/differences.csv").read_text(encoding="utf-8")
    assert header.startswith("kind,people,model,n_items,accuracy_people,accuracy_model,difference,ci_low,ci_high,")
    assert header.count("\n") == 1


def test_without_remaining_trials_the_error_names_the_steps_that_excluded_the_participants(view, session, tmp_path):
    with pytest.raises(
        InputError, match="no trial remains for the analysis: 2 of kind human excluded at `not_completed`"
    ):
        run(view(session(status="active"), session(participant="B", status="active")), tmp_path / "out", AnalysisPlan())
    assert not list(tmp_path.iterdir())


def test_people_without_a_completed_session_are_in_the_notes_of_a_report_on_models(view, session, tmp_path):
    result = run(view(session(status="active"), session(kind="model")), tmp_path / "out", AnalysisPlan())
    assert result.tables["accuracy_overall"]["kind"].tolist() == ["model"]
    assert any("No people are in the analysis" in note for note in result.notes)


def test_a_missing_factor_is_refused_before_anything_is_written(rows, tmp_path):
    with pytest.raises(
        InputError,
        match=r"factor `colour`, but no item has a factor with this name. Fix: choose one of the factors condition",
    ):
        run(rows, tmp_path / "out", AnalysisPlan(by=["colour"]))
    assert not list(tmp_path.iterdir())


def test_figures_that_many_models_leave_out_are_in_the_notes(view, row, tmp_path):
    def answers(**who):
        return [
            row(**who, trial_index=n, item_id=f"i{n}", response=1 + n % 2, factors={"level": n // 2}) for n in range(4)
        ]

    rows = view(answers(participant="A"), *(answers(kind="model", run=f"M{n}") for n in range(13)))
    result = run(rows, tmp_path / "out", AnalysisPlan(difficulty="level"))
    assert "difficulty" not in result.figures
    assert result.figures["items"].data["model"].nunique() == 12
    assert any("accuracy by level has a table, but no figure" in note for note in result.notes)
    assert any("shows the first 12 of 13 models" in note for note in result.notes)


def test_a_missing_cluster_is_refused_before_anything_is_written(rows, tmp_path):
    with pytest.raises(InputError, match="`item_cluster` is `colour`, but no item has a factor with this name"):
        run(rows, tmp_path / "out", AnalysisPlan(item_cluster="colour"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "change",
    [{"content": {"text": "", "prompt": "New?", "options": ["a", "b"]}}, {"factors": {"condition": "other"}}],
)
def test_an_item_that_changed_between_sessions_is_refused(view, session, row, tmp_path, change):
    changed = row(participant="B", battery="c" * 64, **change)
    with pytest.raises(InputError, match="item `i1` does not have the same text, answer key and levels"):
        run(view(session(), changed), tmp_path / "out", AnalysisPlan())


def test_an_earlier_analysis_is_replaced_and_other_files_are_kept(rows, analyzed, tmp_path):
    out = shutil.copytree(analyzed[1], tmp_path / "out")
    assert (out / "figures/accuracy_by_condition.svg").exists()
    (out / "notes.txt").write_text("mine")
    (out / "tables" / "mine.csv").write_text("mine")
    run(rows, out, AnalysisPlan(resamples=1000))
    written = files_in(out)
    assert "figures/accuracy_by_condition.svg" not in written, "a figure that the new plan lacks is removed"
    assert written["notes.txt"] == written["tables/mine.csv"] == b"mine"


def test_remarks_of_the_caller_come_first_in_report_and_provenance(analyzed, view, session, tmp_path):
    remark = "The plan is not the one that was registered when the sessions began."
    rows = view(session(participant="A"), session(participant="B", status="active", n_test=2))
    result = run(rows, tmp_path / "out", AnalysisPlan(resamples=1000), notes=[remark])
    assert result.notes[0] == remark
    assert len(result.notes) > 1
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert page.index(remark) < page.index("are based on fewer than 10 participants")
    assert json.loads((tmp_path / "out/provenance.json").read_text(encoding="utf-8"))["notes"] == [remark]
    without = json.loads((analyzed[1] / "provenance.json").read_text(encoding="utf-8"))
    assert without["notes"] == [], "without remarks of the caller"


def test_days_in_the_report_are_days_in_utc(view, session, tmp_path):
    rows = view(
        session(participant="A", started_at="2026-01-03T00:30:00+02:00"),
        session(participant="B", started_at="2026-01-03T20:00:00-06:00"),
        session(kind="model", started_at="2026-01-05T10:00:00.123Z"),
        session(kind="model", run="Undated", started_at=None),
    )
    run(rows, tmp_path / "out", AnalysisPlan())
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert ">2026-01-02 to 2026-01-04</td>" in page
    assert ">2026-01-05</td>" in page


def test_factors_with_awkward_names_get_separate_files(view, session, tmp_path):
    factors = {"a/b": "x", "a b": "y", "=Größe": "z", "../up": "w"}
    result = run(view(session(factors=factors), session(kind="model", factors=factors)), tmp_path / "deep" / "out",
                 AnalysisPlan(by=list(factors), resamples=1000))  # fmt: skip
    assert {f"accuracy_by_{name}" for name in ("a_b_1", "a_b_2", "gr_e_3", "up_4")} <= set(result.figures)
    assert {path.name for path in tmp_path.iterdir()} == {"deep"}


def test_unequal_items_and_missing_levels_are_noted(view, session, row, tmp_path):
    rows = view(
        session(participant="A", factors={"condition": "a"}),
        session(participant="B", n_test=2, n_correct=0, factors={"condition": "a"}),
        row(participant="A", trial_index=9, item_id="i9"),
    )
    notes = " ".join(run(rows, tmp_path / "out").notes)
    assert (
        "Each item has 1 to 2 responses of people. Accuracy: 71.4 % over all responses, 80.0 % with equal weights"
        in notes
    )
    assert "1\u00a0test item does not have the factor condition" in notes
    assert "fewer than 10 participants" in notes


@pytest.mark.parametrize("n_models", [2, 18])
def test_the_summary_has_at_most_seven_lines(view, session, tmp_path, n_models):
    models = [session(kind="model", run=f"M{n:02}", n_correct=n % 5) for n in range(n_models)]
    people = [session(participant=f"P{n}", n_correct=n % 5, rt_ms=1000.0 + 50 * n) for n in range(6)]
    simulated = [session(participant=f"S{n}", kind="simulated", n_correct=3) for n in range(3)]
    formula = {"formula": "rt_ms ~ item_id + (1 | participant)", "who": "people"}
    plan = PLAN.model_copy(update={"exclusions": (), "by": ()}).model_copy(
        update={"models": AnalysisPlan(models=dict.fromkeys("abc", formula)).models}
    )
    run(view(people, simulated, models), tmp_path / "out", plan)
    page = html.unescape((tmp_path / "out" / "report.html").read_text(encoding="utf-8")).replace("\u00a0", " ")
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(set(ids)) == len(ids)
    summary = page.split('id="summary"')[1].split("</section>")[0]
    assert summary.count("<li>") <= 7
    assert "People: " in summary
    assert "Simulated participants: " in summary
    if n_models == 18:
        assert "18 models: from 0.0 % correct (M00) to 100.0 % correct (M04)." in summary
        # Every model is in the table, not in a list of sentences.
        differences = page.split('id="differences"')[1].split("</section>")[0]
        assert all(f"{100 * (n % 5) / 4:.1f} %" in differences for n in range(5))
        assert "percentage points above M" not in differences
    else:
        assert "M00: 0.0 % correct" in summary


def test_a_factor_of_a_formula_is_not_called_unused(view, session, tmp_path):
    factors = {"condition": "A", "level": 1, "side": "left"}
    people = [
        session(participant=f"P{n}", n_correct=n, rt_ms=1000.0 + 70 * n, factors=factors | {"level": n % 2})
        for n in range(5)
    ]
    plan = AnalysisPlan(models={"m": {"formula": "rt_ms ~ factor(level)", "who": "people"}})
    result = run(view(people), tmp_path / "out", plan)
    (note,) = [note for note in result.notes if note.startswith("Item factors that the plan does not use")]
    assert note == "Item factors that the plan does not use: condition, side."
