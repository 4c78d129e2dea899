"""Every command of the documentation runs, page by page, in the order of the page."""

import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import equipoise as eq
from experiment.load_study import load_study
from tests.docs.pages import FENCE, Reader, blocks_of, commands_of, shows
from tests.docs.test_docs import DOCS, PAGES, name_of, text_of
from tests.equipoise.commands.coding.coding_studies import make_study
from tests.equipoise.commands.store.commands import answer, make_small_study, on_a_file
from tests.experiment.models.imports.fabricated import ids_of, openai_failure, openai_line, right, write_lines
from tests.experiment.models.imports.planted_tokens import planted_tokens
from tests.experiment.models.imports.test_formats import sample
from tests.experiment.models.imports.test_logprob_choice import chat_line
from tests.experiment.models.runs.inspect_needed import need_inspect
from tests.paths import ROOT

RUN_ELSEWHERE = {
    "gallery/published-tables.md": "tests/docs/test_gallery.py",
    "how-to/audit-published-numbers.md": "tests/equipoise/commands/test_audit.py",
    "how-to/build-a-vignette-battery.md": "tests/docs/test_docs.py",
    "how-to/export-data.md": "tests/docs/test_exports_and_imports.py",
    "how-to/find-the-number-of-participants.md": "tests/docs/test_docs.py",
    "how-to/import-data.md": "tests/docs/test_exports_and_imports.py",
    "how-to/recruit-through-prolific.md": "tests/docs/test_recruit_through_prolific.py",
    "reference/command-line.md": "tests/docs/test_docs.py",
    "how-to/survive-a-database-failure.md": "tests/end_to_end/test_database_failover.py",
}
"""Pages whose commands run in another file of tests, which compares their output or their effect.

The examples of the command line are only parsed there, and each command of the reference is on another page too. On
the page on power, commands without a printed output are only parsed, because each takes up to some minutes. On the page
on Prolific, the commands without a printed output run in tests/equipoise/commands/recruit.
"""

NOT_RUN = {
    r"(pip|pipx) install .*|uvx .*": "The tests have all extras installed, and no test changes its own environment.",
    r"(\. )?\.venv.*|py -m venv .*|make (demo|test)": "It prepares the environment in which the tests run.",
    r"curl https://api\..*": "It sends requests to a provider and needs an access key.",
    r"(equipoise models run|inspect eval) .*--model openai/.*": "It needs an access key; tests/experiment/models/runs "
    "run the same command with mock models and with a server that replies like OpenAI.",
    r"equipoise models import my-study logs/\*\.eval": "tests/equipoise/test_inspect_tasks.py makes and imports logs.",
    r"inspect view .*": "It opens a viewer and does not end.",
    r"equipoise lab my-study": "It needs an experimenter; tests/experiment/lab/visits/test_start_dialog.py has one.",
    r"equipoise lab tilts .*": "It needs PsychoPy and a screen; tests/psychopy_study.py draws the class of the page.",
    r"equipoise lab check .*": "It needs a screen; tests/experiment/lab run the machine check in a window.",
    r"equipoise lab (flashes|photodiode) .*": "It needs a screen and a recording; tests/experiment/lab/photodiode run "
    "these commands.",
    r"equipoise lab codes .*--trigger .*": "It needs a serial port; tests/equipoise/commands/test_lab_codes.py "
    "sends the codes to a file.",
    r"equipoise lab .*--eye-tracker .*": "It needs ioHub of PsychoPy, and a screen; "
    "tests/experiment/lab/test_eye_tracker_sessions.py runs a session in a window.",
    r"equipoise lab .*--server https://.*": "It needs a server at this address; tests/experiment/lab/visits upload to "
    "a server.",
    r"equipoise serve .*--store '?postgresql://.*|createdb .*": "It needs a database server at this address; "
    "tests/server/store/postgres and tests/end_to_end/test_database_failover.py serve from PostgreSQL.",
    r"equipoise store copy .* postgresql://.*": "It needs a database server; the tests of the command have one.",
    r"(sudo|useradd|python3 -m venv|/opt/equipoise/bin/pip|cp|systemctl|install|cd|rm|chmod) .*": "It changes a server "
    "as root; tests/deploy check the unit, the proxies and the image's files.",
    r"docker .*": "The tests have no Docker; tests/deploy/test_container.py checks the Dockerfile.",
    r"printf .*openssl .*": "It is a shell line; tests/server/security read files with several keys.",
    r"equipoise power .*": "It takes 20 s; tests/docs/test_docs.py runs the page on power.",
    r"(EQUIPOISE_\w+=\S+ )*equipoise check my-study": "It takes a minute in a browser; "
    "tests/equipoise/commands/check check smaller studies in a browser, and the settings.",
    r"equipoise researchers .*": "It asks for a password on a terminal; "
    "tests/equipoise/commands/store/test_researchers.py runs these commands.",
    r"equipoise demo.*": "tests/equipoise/test_command_line.py runs the whole demo.",
}
"""Commands that no test of this file runs, as patterns, with the reason."""

PAGES_WITH_COMMANDS = [
    *(page for page in PAGES if name_of(page) not in RUN_ELSEWHERE and "```console" in text_of(page)),
    ROOT / "README.md",
]


def is_not_run(command: str) -> bool:
    return any(re.fullmatch(pattern, command) for pattern in NOT_RUN)


def with_real_names(command: str) -> str:
    """Replace the session and the withdrawal code of the pages by those of a participant in the store."""
    store = Path("my-study/data/equipoise.db")
    if not re.search("3f0a91bc7d254e68|3F0A91BC7D", command):
        return command
    with closing(sqlite3.connect(store)) as db:
        completed = "SELECT session, withdrawal_code FROM sessions WHERE status = 'completed'"
        session, code = db.execute(completed).fetchone()
    return command.replace("3f0a91bc7d254e68", session).replace("3F0A91BC7D", code)


def example(page: str, words: str, place: int = 0) -> str:
    """Return an example of a page, by the words behind its fence."""
    return [fence["text"] for fence in FENCE.finditer(text_of(DOCS / page)) if fence["words"] == words][place]


def new_study() -> None:
    eq.new("my-study")


def simulated_study() -> None:
    eq.new("my-study")
    eq.simulate("my-study", n_participants=4, seed=3)


def story_study() -> None:
    eq.new("my-study", "intuition-single")


def panel_study() -> None:
    """Make a study that people entered from a panel. The ids are those of the pages."""
    eq.new("my-study")
    definition = Path("my-study/study.yaml")
    recruitment = "\nrecruitment: {entry: panel, panel_parameter: pid}\n"
    definition.write_text(definition.read_text(encoding="utf-8") + recruitment, encoding="utf-8")
    stored = on_a_file(Path("my-study"))
    answer(stored, "5f3a9c0d12ab34cd56ef7890", n_answers=2)
    for panel_id in ("anna", "bert"):
        answer(stored, panel_id, n_answers=100, then="complete")


def quota() -> None:
    definition = Path("my-study/study.yaml")
    text = definition.read_text(encoding="utf-8")
    definition.write_text(text.replace("{entry: panel", "{quota_per_group: 6, entry: panel"), encoding="utf-8")


def link_study() -> None:
    shutil.rmtree("my-study")
    make_small_study(Path("my-study"), "link")


def panel_study_again() -> None:
    shutil.rmtree("my-study")
    panel_study()


def change_of_wording() -> None:
    panel_study_again()
    consent = Path("my-study/consent.md")
    consent.write_text(consent.read_text(encoding="utf-8") + "\nThank you.\n", encoding="utf-8")


def contact_of_the_tutorial() -> None:
    """Write the two sentences of the tutorial into the gaps of the contact page."""
    contact = Path("my-study/contact.md")
    address, duration = re.findall(r"`(Anna Bauer.*?|We keep.*?)`", text_of(DOCS / "tutorials/first-study.md"))
    text = re.sub("TODO: write the name.*", address, contact.read_text(encoding="utf-8"))
    contact.write_text(re.sub("TODO: write here how long.*", duration, text), encoding="utf-8")


def recruitment_of_the_tutorial() -> None:
    """Switch on the part `recruitment` of the study, and write codes, as the tutorial says."""
    definition = Path("my-study/study.yaml")
    before, rest = definition.read_text(encoding="utf-8").split("#recruitment:\n")
    part, after = rest.split("\n\n", 1)
    part = re.sub("^#", "", part, flags=re.MULTILINE).replace("TODO-", "RAY7K2Q")
    definition.write_text(f"{before}recruitment:\n{part}\n\n{after}", encoding="utf-8")


def session_of_a_page() -> None:
    eq.new("copy-of-study")


def replies() -> None:
    """Write the files with replies that the page on imports names, for the stories, with log-probabilities."""
    story_study()
    study = load_study(Path("my-study"))
    ids = ids_of(study)
    failures = [json.dumps(openai_failure(next(iter(ids.values()))))]
    lines = [
        json.dumps(chat_line(request, planted_tokens(number, study.battery.by_id[item_id])))
        for number, (item_id, request) in enumerate(ids.items())
    ]
    write_lines(Path("results.jsonl"), lines)
    write_lines(Path("errors.jsonl"), failures)
    write_lines(Path("samples.jsonl"), [sample(item.item_id, [right(item)]) for item in study.test_items])
    rows = [f"{item_id},2,0.7" for item_id in ids]
    write_lines(Path("replies.csv"), ["id,answer,t", *rows])


def files_of_the_readme() -> None:
    """Write replies for the study that the README makes, a table, a plan, data of Gorilla, and templates."""
    any_table()
    study = load_study(Path("my-study"))
    write_lines(Path("results.jsonl"), [json.dumps(openai_line(item.item_id, "absorbed")) for item in study.test_items])
    shutil.rmtree("my-study")
    group_table = "Group,N,Excluded,Final\nA,20,1,19\nB,20,2,18\nTotal,40,3,37\n"
    Path("table.csv").write_text(group_table, encoding="utf-8")
    header = "Participant Private ID,Trial Number,Spreadsheet: item_id,Response,Correct,Reaction Time"
    write_lines(Path("gorilla.csv"), [header, "901,1,q1,2,1,4000"])
    shutil.copytree(ROOT / "batteries" / "intuition", "my-templates")


def batch_results() -> None:
    """Write the results of the batch of the page on models, and its paraphrases."""
    story_study()
    study = load_study(Path("my-study"))
    lines = [json.dumps(openai_line(request, right(study.battery.by_id[item_id])))
             for item_id, request in ids_of(study).items()]  # fmt: skip
    write_lines(Path("results.jsonl"), lines)
    item = study.test_items[0].item_id
    Path("paraphrases.csv").write_text(f"item_id,prompt\n{item},What happened then?\n", encoding="utf-8")


def any_table() -> None:
    """Make a study, and write the plan of the page on plans and a table with some of the columns of the plan."""
    eq.new("my-study")
    Path("plan.yaml").write_text(example("how-to/plan-an-analysis.md", "yaml", -1), encoding="utf-8")
    header = "model,prompt,thinking,config_index,atoms_correct,score,rays_used,mean_cells_per_ray"
    games = [f"{model},{prompt},{thinking},{board},{(board * 7 + len(model)) % 5},{20 + board},5,{board % 4}"
             for model in ("Haiku 4.5", "Opus 4.5") for prompt in ("baseline", "augmented")
             for thinking in (False, True) for board in range(10)]  # fmt: skip
    write_lines(Path("games.csv"), [header, *games])


def battery_of_a_page() -> None:
    text = example("how-to/write-a-battery.md", "yaml battery")
    Path("battery.yaml").write_text(text, encoding="utf-8")


def second_laboratory() -> None:
    shutil.copy("my-study/data/equipoise.db", "lab-b.db")


def black_box_study() -> None:
    """Make the study of the examples with rays, with the page's table and map, and files of stored runs."""
    shutil.rmtree("my-study")
    eq.new("my-study")
    for name, words in (("choices.csv", "csv choices"), ("map.yaml", "yaml map")):
        Path(name).write_text(example("how-to/import-model-runs.md", words), encoding="utf-8")


def stored_black_box_runs(test_data: Path) -> None:
    """Write the published runs of each model into a file of its own."""
    whole = json.loads((test_data / "blackbox/predict/augmented_no_thinking.json").read_text(encoding="utf-8"))
    Path("runs").mkdir()
    for name in ("haiku", "sonnet", "opus"):
        results = [result for result in whole["results"] if result["modelName"].lower().startswith(name)]
        for file in (Path(f"{name}.json"), Path("runs") / f"{name}.json"):
            file.write_text(json.dumps({**whole, "results": results}), encoding="utf-8")


def answered_study() -> None:
    """Make a study with open answers of simulated participants, and with the plan of the page."""
    make_study(Path("my-study"))
    definition = Path("my-study/study.yaml")
    text = definition.read_text(encoding="utf-8").partition("analysis:")[0]
    definition.write_text(text + example("how-to/code-open-answers.md", "yaml"), encoding="utf-8")
    eq.simulate("my-study", n_participants=4, seed=3)


def codes_of_simulated_coders() -> None:
    eq.simulate("my-study/data/coding/reasons", n_participants=2, seed=4)


PREPARED: dict[str, Callable[[], None]] = {
    "README.md": files_of_the_readme,
    "explanation/how-responses-are-stored.md": simulated_study,
    "how-to/analyze.md": simulated_study,
    "how-to/check-a-study.md": new_study,
    "how-to/code-open-answers.md": answered_study,
    "how-to/design-a-session.md": session_of_a_page,
    "how-to/import-model-runs.md": replies,
    "how-to/plan-an-analysis.md": any_table,
    "how-to/run-models.md": batch_results,
    "how-to/run-online.md": panel_study,
    "how-to/watch-a-study.md": panel_study,
    "how-to/write-a-battery.md": battery_of_a_page,
    "reference/data.md": panel_study,
}
"""The study and the files that a page takes for granted. Without an entry, the page begins in an empty folder."""

BEFORE: dict[str, Callable[[], None]] = {
    "equipoise coding agreement my-study": codes_of_simulated_coders,
    "equipoise check my-study --no-browser": contact_of_the_tutorial,
    "equipoise recruit prolific my-study --draft": recruitment_of_the_tutorial,
    "equipoise lab upload my-study --store lab-b.db --into my-study/data/equipoise.db": second_laboratory,
    "equipoise links my-study -n 30 --address https://study.example.org -o links.csv": link_study,
    "equipoise assignment show my-study": panel_study_again,
    "equipoise assignment extend my-study --group 3 --slots 2": quota,
    'equipoise revise my-study --reason "typo in item q17"': change_of_wording,
    "equipoise models import my-study choices.csv --map map.yaml": black_box_study,
}
"""Changes before a command, because a page describes several studies with the name `my-study`."""


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=lambda page: page.name)
def test_the_commands_of_a_page_run_and_print_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "inspect"))
    name = name_of(page) if page.is_relative_to(DOCS) else page.name
    text = text_of(page)
    if "mockllm/" in text or "--format inspect" in text:
        need_inspect()
    if "augmented_no_thinking.json" in text or "haiku.json" in text:
        test_data: Path = request.getfixturevalue("test_data")
        stored_black_box_runs(test_data)
        shutil.copy(test_data / "blackbox/predict/augmented_no_thinking.json", tmp_path)
    PREPARED.get(name, lambda: None)()
    reader = Reader(monkeypatch)
    for block in blocks_of(text):
        printed = ""
        for command in block.commands:
            if not is_not_run(command):
                BEFORE.get(command, lambda: None)()
                printed += reader.type(with_real_names(command))
        if name.startswith("tutorials/") and block.output is not None and "serve" not in block.commands[-1]:
            assert shows(block.output, printed), (block.commands, printed)

    for fence in FENCE.finditer(text):
        if fence["words"] == "text report":
            (report,) = tmp_path.rglob("report.html")
            words = " ".join(re.sub("<[^>]+>", " ", report.read_text(encoding="utf-8")).split())
            assert all(line in words for line in fence["text"].splitlines()), fence["text"]


def test_each_reason_for_a_command_that_is_not_run_is_needed() -> None:
    commands = [command for page in [*PAGES, ROOT / "README.md"] for fence in FENCE.finditer(text_of(page))
                if fence["words"] == "console" for command in commands_of(fence["text"])]  # fmt: skip
    for pattern, reason in NOT_RUN.items():
        assert any(re.fullmatch(pattern, command) for command in commands), reason
    for page, file in RUN_ELSEWHERE.items():
        assert (DOCS / page).is_file() and (ROOT / file).is_file()
