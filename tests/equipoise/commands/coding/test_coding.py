"""`equipoise coding`: a real server, participants, a model, and two coders whose disagreements are known."""

import csv
import json
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import equipoise as eq
from analysis.result import Analysis
from batteries.errors import InputError
from equipoise.cli.main import main
from tests.equipoise.commands.coding.coding_studies import (
    ANSWERS,
    CODERS,
    MODEL,
    RULE,
    STORIES,
    add_model,
    answer_in,
    coder_ids,
    coding_server,
    collect,
    first_coder,
    let_code,
    make_study,
    respond,
    second_coder,
)

PLAN = """
  tests:
    causes: {test: t, of: code_physical, per: participant, within: condition}
  tables:
    causes: {by: [condition], of: [code_physical]}
"""


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A study with the answers of five participants and a model, and the participants' withdrawal codes."""
    folder = make_study(tmp_path_factory.mktemp("answered") / "glass", analysis=PLAN.lstrip("\n"))
    codes = collect(folder)
    add_model(folder)
    return folder, codes


@pytest.fixture(scope="module")
def coded(answered: tuple[Path, dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """The study after two coders coded all answers, and all that the server sent to each coder."""
    folder = tmp_path_factory.mktemp("coded") / "glass"
    shutil.copytree(answered[0], folder)
    eq.coding_new(folder)
    return folder, let_code(folder)


@pytest.fixture
def study(answered: tuple[Path, dict[str, str]], tmp_path: Path) -> Path:
    """A copy of the study with answers."""
    return Path(shutil.copytree(answered[0], tmp_path / "glass"))


@pytest.fixture
def coded_study(coded: tuple[Path, list[Any]], tmp_path: Path) -> Path:
    """A copy of the study with codes."""
    return Path(shutil.copytree(coded[0], tmp_path / "glass"))


def coding_of(study: Path) -> Path:
    return study / "data" / "coding" / "reasons"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def texts_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def replace(study: Path, old: str, new: str) -> None:
    path = study / "study.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def resolve(study: Path, codes: dict[str, str]) -> None:
    """Write codes into the list of disagreements, by a word of the answer."""
    path = coding_of(study) / "disagreements.csv"
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    for row in rows:
        row[-1] = next((code for word, code in codes.items() if word in row[2]), row[-1])
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


# The coding study


def test_equal_answers_are_coded_once_and_people_and_models_are_mixed(study: Path) -> None:
    made = eq.coding_new(study)
    assert (made.n_answers, made.n_items) == (12, 10)  # Two answers are equal to another answer.
    battery = eq.load_battery(made.folder / "battery.jsonl")
    answers = {answer_in(item.content) for item in battery.items}
    assert answers == {answer for own in ANSWERS.values() for answer in own} | {"Glass is brittle."}
    assert all(item.key is None and item.task == "multiple_choice" for item in battery.items)


def test_only_the_owner_can_read_the_files_of_a_coding_study(coded: tuple[Path, list[Any]]) -> None:
    folder = coding_of(coded[0])
    eq.coding_agreement(coded[0])
    for path in (folder, *folder.rglob("*")):
        assert not path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO), path


def test_coders_get_nothing_of_participant_condition_model_time_or_order(coded: tuple[Path, list[Any]]) -> None:
    study, replies = coded
    trials = eq.read_trials(study / "data" / "equipoise.db")
    secret = {*trials["session"], *trials["participant"], *trials["run"].dropna(), *STORIES, MODEL, "model-x", "Oslo"}
    secret |= {*trials["item_id"], *trials["received_at"].astype("str")}
    secret |= {str(at) for at in trials["started_at"].dropna()}
    for sent in replies:
        text = json.dumps(sent, ensure_ascii=False)
        assert "She was careless." in text
        assert not [word for word in secret if str(word) in text]


def test_each_coder_has_a_different_order(coded: tuple[Path, list[Any]]) -> None:
    one, two = ([answer_in(trial["content"]) for trial in sent["session"]["trials"]] for sent in coded[1])
    assert sorted(one) == sorted(two)
    assert one != two


def test_the_server_does_not_serve_the_private_files(study: Path) -> None:
    eq.coding_new(study)
    ids = [json.loads((coding_of(study) / "data" / "coding.json").read_text())["salt"], *coder_ids(study)]
    with coding_server(study) as url, httpx.Client(base_url=url) as http:
        for path in ("/data/coding.json", "/coding.json", "/static/../data/coding.json", "/assets/coding.json",
                     "/battery.jsonl", "/data/coders.txt", "/static/%2e%2e/data/coding.json"):  # fmt: skip
            reply = http.get(path)
            assert reply.status_code == 404, path
            assert not [one for one in ids if one in reply.text]


def test_nobody_codes_without_a_coders_address(study: Path) -> None:
    eq.coding_new(study)
    with coding_server(study) as url, pytest.raises(httpx.HTTPStatusError):
        respond(url, first_coder, coder="coder-1")


def test_a_coder_continues_in_another_browser(study: Path) -> None:
    made = eq.coding_new(study)
    with coding_server(study) as url:
        first = respond(url, first_coder, at_most=3, coder=coder_ids(study)[0], SESSION_ID="1")
        with httpx.Client(base_url=url, follow_redirects=True) as http:
            http.get(made.addresses[0])
            started = http.get("/api/study").json()
            assert started["begun_before"]
            body = {"start_id": "4dd5e2fe-58f6-41ff-8d2c-c9e38a8c3bf0", "consent_digest": None, "kind": "human"}
            again = http.post("/api/session", json=body).json()
    assert again["session"] == first["session"]["session"]


@pytest.mark.parametrize(("show", "text"), [
    ("item", "Anna lives in Oslo. A glass falls.\n\nQuestion: Why did the glass break?\n\nAnswer: Gravity."),
    ("question", "Question: Why did the glass break?\n\nAnswer: Gravity."),
    ("answer", "Answer: Gravity."),
])  # fmt: skip
def test_the_plan_says_what_coders_see_besides_the_answer(study: Path, show: str, text: str) -> None:
    replace(study, "coders: 2", f"coders: 2\n      show: {show}")
    items = eq.load_battery(eq.coding_new(study).folder / "battery.jsonl").items
    assert text in {str(item.content["text"]) for item in items}
    if show == "item":
        assert len(items) == 11  # The same answer to another item is another answer.


# Agreement


def test_kappa_of_known_disagreements_is_that_of_a_calculation_on_paper(coded: tuple[Path, list[Any]]) -> None:
    # Ten answers; each coder gives each code to five; the coders agree on eight. (0.8 - 0.5) / (1 - 0.5) = 0.6.
    found = eq.coding_agreement(coded[0])
    table = pd.read_csv(coding_of(coded[0]) / "agreement.csv").set_index("measure")
    assert table.loc["percent agreement", "estimate"] == pytest.approx(0.8)
    assert table.loc["Cohen's kappa", "estimate"] == pytest.approx(0.6)
    # 1 - (observed disagreement) / (expected: 2 * 10 * 10 pairs of 20 * 19) = 1 - 0.2 / (200 / 380).
    assert table.loc["Krippendorff's alpha", "estimate"] == pytest.approx(1 - 0.2 / (200 / 380))
    assert (table["ci_low"] < table["estimate"]).all()
    assert any(sentence.startswith("Cohen's kappa: 0.60, 95\u00a0% CI") for sentence in found.sentences)
    by_code = pd.read_csv(coding_of(coded[0]) / "agreement_by_code.csv").set_index("code")
    assert by_code["n_chosen"].to_dict() == {"physical": 10, "mental": 10}


def test_the_list_of_disagreements_has_the_answers_and_keeps_the_codes_that_are_resolved(coded_study: Path) -> None:
    eq.coding_agreement(coded_study)
    resolve(coded_study, {"Gravity": "physical"})
    eq.coding_agreement(coded_study)
    with (coding_of(coded_study) / "disagreements.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["text"]: row for row in csv.DictReader(file)}
    assert set(rows) == {"Gravity.", "She was angry."}
    assert (rows["Gravity."]["coder-1"], rows["Gravity."]["coder-2"]) == ("physical", "mental")
    assert (rows["Gravity."]["resolved"], rows["She was angry."]["resolved"]) == ("physical", "")


def test_an_unknown_resolved_code_is_refused_with_its_line(coded_study: Path) -> None:
    eq.coding_agreement(coded_study)
    resolve(coded_study, {"Gravity": "fysical"})
    with pytest.raises(InputError, match=r"disagreements.csv, line \d: `fysical` is not a code. Fix: write one of"):
        eq.coding_agreement(coded_study)


def test_a_coder_who_stops_early_counts_with_the_answers_that_are_coded(study: Path) -> None:
    eq.coding_new(study)
    one, two = coder_ids(study)
    with coding_server(study) as url:
        respond(url, first_coder, coder=one)
        respond(url, second_coder, at_most=6, coder=two)
    found = eq.coding_agreement(study)
    assert found.coded.n_of_coders == {"coder-1": 10, "coder-2": 6}
    assert set(found.coded.agreement["n_answers"]) == {6}


def test_three_coders_have_fleiss_kappa(study: Path) -> None:
    replace(study, "coders: 2", "coders: 3\n      resolve: majority")
    eq.coding_new(study)
    with coding_server(study) as url:
        for coder, codes in zip(coder_ids(study), (first_coder, second_coder, first_coder), strict=True):
            respond(url, codes, coder=coder)
    found = eq.coding_agreement(study)
    # Eight answers with complete agreement, and two with one of three pairs; each code has half of the codes.
    observed = (8 + 2 / 3) / 10
    assert found.coded.agreement.set_index("measure").loc["Fleiss's kappa", "estimate"] == pytest.approx(
        (observed - 0.5) / 0.5
    )
    assert found.coded.n_coded == 12  # Two of three coders are a majority.


# The analysis


def rows_of(output: Path) -> pd.DataFrame:
    return pd.read_csv(output / "tables" / "trials.csv").set_index("response")


def test_the_analysis_uses_the_codes_and_reports_coders_kappa_and_answers_without_a_code(
    coded_study: Path, tmp_path: Path
) -> None:
    eq.coding_agreement(coded_study)
    resolve(coded_study, {"Gravity": "physical"})
    analysis = eq.analyze(coded_study, tmp_path / "results")
    assert isinstance(analysis, Analysis)
    rows = rows_of(tmp_path / "results")
    assert rows.loc["Gravity.", "coded_as"] == "physical"
    assert pd.isna(rows.loc["She was angry.", "coded_as"])
    assert rows.loc["Glass is brittle.", "coded_as"] == "physical"
    assert rows.loc["She did not look.", "coded_as"].tolist() == ["mental", "mental"]  # A participant and the model.
    assert not analysis.planned.not_computed
    shares = analysis.tables["responses_by_condition"].set_index(["subject", "condition", "choice"])["share"]
    assert shares["people", "northern", "physical"] == pytest.approx(4 / 5)
    assert shares["people", "southern", "physical"] == 0
    assert shares[MODEL, "northern", "physical"] == 1
    report = (tmp_path / "results" / "report.html").read_text(encoding="utf-8")
    for words in ("10\u00a0distinct answers; coded by coder-1: 10, coder-2: 10",
                  "Cohen&#39;s kappa: 0.60, 95\u00a0% CI",
                  "The coders disagreed on 2\u00a0distinct answers: 1 of them have a final code, 1 do not.",
                  "11 of 12\u00a0answers have a code. 1\u00a0answer without a code is left out"):  # fmt: skip
        assert words in report
    provenance = json.loads((tmp_path / "results" / "provenance.json").read_text(encoding="utf-8"))
    assert len(provenance["codes"]["reasons"]) == 64


def test_the_data_digest_does_not_depend_on_the_codes_but_the_digest_of_the_codes_does(
    coded_study: Path, tmp_path: Path
) -> None:
    before = eq.analyze(coded_study, tmp_path / "before").provenance  # type: ignore[union-attr]
    eq.coding_agreement(coded_study)
    resolve(coded_study, {"Gravity": "physical"})
    after = eq.analyze(coded_study, tmp_path / "after").provenance  # type: ignore[union-attr]
    assert before.data_digest == after.data_digest
    assert before.codes != after.codes


@pytest.mark.parametrize(("resolve_by", "gravity", "angry"), [
    ("consensus", None, None), ("first", "physical", "mental"), ("majority", None, None),
])  # fmt: skip
def test_the_plan_says_how_the_codes_become_one(
    coded_study: Path, tmp_path: Path, resolve_by: str, gravity: str | None, angry: str | None
) -> None:
    replace(coded_study, "coders: 2", f"coders: 2\n      resolve: {resolve_by}")
    eq.analyze(coded_study, tmp_path / "results")
    rows = rows_of(tmp_path / "results")["coded_as"].astype(object).where(lambda codes: codes.notna(), None)
    assert (rows["Gravity."], rows["She was angry."]) == (gravity, angry)


def test_right_codes_give_accuracies(coded_study: Path, tmp_path: Path) -> None:
    replace(coded_study, "coders: 2", "coders: 2\n      right: [physical]")
    replace(coded_study, "of: code_physical, per", "of: correct, per")
    analysis = eq.analyze(coded_study, tmp_path / "results")
    rows = rows_of(tmp_path / "results")
    assert rows.loc["It is fragile.", ["correct", "score", "chance"]].tolist() == [True, 1, 0]
    assert rows.loc["She wanted it.", ["correct", "score"]].tolist() == [False, 0]
    assert pd.isna(rows.loc["She was angry.", "correct"])  # Without a code, an answer is not graded.
    overall = analysis.tables["accuracy_overall"].set_index("subject")  # type: ignore[union-attr]
    assert overall.loc["people", "accuracy"] == pytest.approx(3 / 8)
    assert overall.loc[MODEL, "accuracy"] == pytest.approx(1 / 2)


def test_without_codes_the_other_results_are_computed_and_one_sentence_says_what_to_do(
    study: Path, tmp_path: Path
) -> None:
    result = run("analyze", study, "-o", tmp_path / "results")
    assert result.exit_code == 0, result.output
    assert "`code_physical` has no values, because no answer has a code. Fix: code the answers first" in result.stderr
    report = (tmp_path / "results" / "report.html").read_text(encoding="utf-8")
    assert "No answer has a code, so there are no results on codes. Fix: let the coders code the answers" in report


def test_a_table_of_trials_has_no_codes_of_coders(coded_study: Path, tmp_path: Path) -> None:
    data = tmp_path / "trials.csv"
    with closing(sqlite3.connect(coded_study / "data" / "equipoise.db")) as db:
        pd.read_sql("SELECT * FROM trials", db).to_csv(data, index=False)
    plan = tmp_path / "plan.yaml"
    plan.write_text("coding:\n  reasons:\n" + "".join(f"    {line}\n" for line in CODERS.strip().splitlines()))
    with pytest.raises(InputError, match="the coding `reasons` is by coders"):
        eq.analyze(data=data, plan=plan, output=tmp_path / "results")


# By rule


def test_a_rule_codes_the_answers_without_coders(answered: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    folder = tmp_path / "glass"
    shutil.copytree(answered[0], folder)
    ruled = make_study(tmp_path / "ruled", RULE)
    shutil.copy(ruled / "study.yaml", folder / "study.yaml")
    eq.analyze(folder, tmp_path / "results")
    rows = rows_of(tmp_path / "results")["coded_as"]
    assert rows["It fell from a height."] == "physical"
    assert rows["She was careless."] == "mental"
    assert rows["I do not know"].isna().all()
    report = (tmp_path / "results" / "report.html").read_text(encoding="utf-8")
    assert "coded by rule: an answer has the first code with a matching word" in report
    assert "10 of 12\u00a0answers have a code" in report
    with pytest.raises(InputError, match=r"there is no coding by coders. Fix: add an entry"):
        eq.coding_new(folder)


# Withdrawal


def test_withdrawn_answers_are_not_used_and_a_refresh_deletes_their_texts_and_codes(
    coded_study: Path, answered: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    eq.coding_agreement(coded_study)
    assert b"Gravity." in texts_below(coding_of(coded_study))
    kept = eq.withdraw(coded_study, answered[1]["P4"])
    refresh = f"Fix: stop its server, and run `equipoise coding refresh {coded_study} reasons`"
    assert any(refresh in sentence for sentence in kept)
    result = run("analyze", coded_study, "-o", tmp_path / "results")
    assert refresh in result.stderr
    assert "Gravity." not in rows_of(tmp_path / "results").index
    assert eq.coding_agreement(coded_study).coded.n_disagreements == 0  # Both were answers of this participant.
    done = eq.coding_refresh(coded_study)
    assert (done.n_deleted, done.study.n_items) == (2, 0)
    after = texts_below(coding_of(coded_study))
    session = next(iter(set_of_sessions(answered[0]) - set_of_sessions(coded_study)))
    for trace in (b"Gravity", b"angry", session.encode()):
        assert trace not in after
    assert eq.coding_agreement(coded_study).coded.n_coded == 10  # The codes of the other answers are kept.


def set_of_sessions(study: Path) -> set[str]:
    trials = eq.read_trials(study / "data" / "equipoise.db")
    return set(trials.loc[trials["response"].notna(), "session"])


def test_an_answer_that_another_session_gave_too_stays(study: Path, answered: tuple[Path, dict[str, str]]) -> None:
    eq.coding_new(study)
    eq.withdraw(study, answered[1]["P2"])  # P3 gave the answer "I do not know" too.
    done = eq.coding_refresh(study)
    assert (done.n_deleted, done.study.n_items) == (1, 9)
    assert b"I do not know" in texts_below(coding_of(study))
    assert b"She wanted it" not in texts_below(coding_of(study))


def test_a_refresh_in_the_middle_keeps_the_codes_and_asks_only_for_the_others(
    study: Path, answered: tuple[Path, dict[str, str]]
) -> None:
    eq.coding_new(study)
    one, two = coder_ids(study)
    with coding_server(study) as url:
        respond(url, first_coder, coder=one)
        half = respond(url, second_coder, at_most=5, coder=two)
    withdrawn = answered[1]["P4"]
    done_before = {answer_in(trial["content"]) for trial in half["session"]["trials"][:5]} - {
        "Gravity.",
        "She was angry.",
    }
    eq.withdraw(study, withdrawn)
    done = eq.coding_refresh(study)
    assert done.study.n_items == 8 - len(done_before)
    with coding_server(study) as url:
        rest = respond(url, second_coder, coder=two)
    assert not done_before & {answer_in(trial["content"]) for trial in rest["session"]["trials"]}
    found = eq.coding_agreement(study)
    assert found.coded.n_of_coders == {"coder-1": 8, "coder-2": 8}
    assert found.coded.n_coded == 10


def test_a_refresh_is_refused_while_the_server_runs_and_changes_nothing(
    study: Path, answered: tuple[Path, dict[str, str]]
) -> None:
    eq.coding_new(study)
    eq.withdraw(study, answered[1]["P4"])
    with coding_server(study) as url:
        respond(url, first_coder, coder=coder_ids(study)[0])
        with pytest.raises(InputError, match=r"nothing was changed. Fix: stop the server of the coding study"):
            eq.coding_refresh(study)
    assert eq.coding_agreement(study).coded.n_of_coders == {"coder-1": 8}
    eq.coding_refresh(study)
    assert eq.coding_agreement(study).coded.n_of_coders == {"coder-1": 8}


def test_a_refresh_without_changes_lets_the_coders_continue(study: Path) -> None:
    eq.coding_new(study)
    before = texts_below(coding_of(study))
    assert not eq.coding_refresh(study).is_changed
    assert texts_below(coding_of(study)) == before


def test_when_all_is_coded_and_resolved_no_text_stays(coded_study: Path) -> None:
    done = eq.coding_refresh(coded_study)
    assert (done.study.n_items, done.n_disagreements) == (0, 2)
    after = texts_below(coding_of(coded_study))
    assert b"Gravity" in after  # Only the list of disagreements has texts.
    assert b"careless" not in after
    resolve(coded_study, {"Gravity": "physical", "angry": "mental"})
    assert eq.coding_refresh(coded_study).n_disagreements == 0
    assert b"Gravity" not in texts_below(coding_of(coded_study))
    assert eq.coding_agreement(coded_study).coded.n_coded == 12


def test_a_third_coder_can_be_added_later(coded_study: Path) -> None:
    eq.coding_refresh(coded_study)
    replace(coded_study, "coders: 2", "coders: 3")
    done = eq.coding_refresh(coded_study)
    assert (done.study.n_items, len(done.study.addresses)) == (10, 3)
    with coding_server(coded_study) as url:
        respond(url, first_coder, coder=coder_ids(coded_study)[2])
    assert eq.coding_agreement(coded_study).coded.n_of_coders == {"coder-1": 10, "coder-2": 10, "coder-3": 10}


# Errors


def test_commands_without_a_coding_study_say_what_to_do(study: Path) -> None:
    for command in (eq.coding_agreement, eq.coding_refresh):
        with pytest.raises(InputError, match=r"has no coding study yet. Fix: make it with `equipoise coding new"):
            command(study)
    eq.coding_new(study)
    with pytest.raises(InputError, match=r"no coder has coded an answer yet. Fix: start the coding study"):
        eq.coding_agreement(study)
    with pytest.raises(InputError, match=r"exists already. Fix: to add new answers, run `equipoise coding refresh"):
        eq.coding_new(study)
    with pytest.raises(InputError, match=r"the coding `reason` does not exist. Fix: name one of reasons"):
        eq.coding_new(study, "reason")


def test_a_study_without_answers_has_nothing_to_code(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are no responses yet"):
        eq.coding_new(make_study(tmp_path / "glass"))


def test_other_codes_than_those_of_the_coders_are_refused(coded_study: Path, tmp_path: Path) -> None:
    replace(coded_study, "name: mental", "name: psychic")
    for command in (eq.coding_agreement, eq.coding_refresh, lambda study: eq.analyze(study, tmp_path / "results")):
        with pytest.raises(InputError, match="differ from those that coders use"):
            command(coded_study)


def test_the_command_line_prints_the_addresses_of_coders_and_the_agreement(study: Path) -> None:
    made = run("coding", "new", study)
    assert made.exit_code == 0, made.output
    assert "10 distinct answers to code, of 12 answers." in made.stdout
    assert all(f"/?coder={one}" in made.stdout for one in coder_ids(study))
    let_code(study)
    found = run("coding", "agreement", study)
    assert "Cohen's kappa: 0.60" in found.stdout
    assert run("coding", "refresh", study).stdout.startswith("Deleted 0 and added 0 distinct answers.")
