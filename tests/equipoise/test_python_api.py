"""The public functions: each accepts texts only, has its command's options and defaults, and does the same."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

import equipoise as eq
from batteries.errors import InputError
from equipoise.cli.main import main
from equipoise.commands import server_process
from tests.equipoise.commands.coding.coding_studies import ANSWERS, collect, let_code
from tests.equipoise.commands.coding.coding_studies import make_study as make_coded_study
from tests.equipoise.commands.recruit.panel_study import id_of, make_panel_study, take
from tests.equipoise.commands.store.commands import StoredStudy, answer, copied, done, make_small_study, on_a_file

LABORATORY = {"lab_check", "lab_codes", "lab_flashes", "lab_photodiode", "lab_run", "lab_upload"}
"""These functions need a window, a server, a device or a recording. They have their own tests."""
OTHER_NAMES = {("demo", "no_serve"): "keep_serving"}
OTHER_FUNCTIONS = {"import": "import_data"}
"""Commands whose name is a word of Python, with their functions."""
OTHER_NAMES = {
    ("demo", "no_serve"): "keep_serving",
    ("researchers_add", "password_file"): "password",
    ("researchers_password", "password_file"): "password",
}
TEMPLATES = "intuition"
TABLE = "group,n,women\na,20,11\nb,22,9\nTotal,42,20\n"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> StoredStudy:
    template = on_a_file(tmp_path_factory.mktemp("template") / "study")
    make_small_study(template.folder, "panel")
    answer(template, "anna", n_answers=100, then="complete")
    answer(template, "bert", n_answers=2)
    return template


@pytest.fixture
def stored(template: StoredStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoredStudy:
    """Return a copy of a study with two participants. Texts such as `out.csv` name files in a new current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PROLIFIC_TOKEN", raising=False)
    stored = copied(template, tmp_path / "study")
    Path("table.csv").write_text(TABLE, encoding="utf-8")
    Path("spec.yaml").write_text("inference_levels: [0]\nvariants: 1\n", encoding="utf-8")
    return stored


def _revised(stored: StoredStudy) -> Any:
    consent = stored.folder / "consent.md"
    consent.write_text(consent.read_text(encoding="utf-8") + "\nThank you.\n", encoding="utf-8")
    return eq.revise("study", reason="politeness")


def _linked(_: StoredStudy) -> None:
    make_small_study(Path("by-link"), "link")
    eq.links("by-link", 2, "https://study.example.org", "out.csv")


def _exported(_: StoredStudy) -> int | None:
    eq.battery_build(TEMPLATES, "battery.jsonl", spec="spec.yaml")
    eq.battery_export("battery.jsonl", "gorilla", "gorilla")
    return eq.battery_export("battery.jsonl", "csv", "out.csv")


def _imported(stored: StoredStudy) -> Any:
    _exported(stored)
    return eq.battery_import("out.csv", "imported.jsonl")


def _previewed(stored: StoredStudy) -> None:
    _exported(stored)
    eq.battery_preview("battery.jsonl", "out.html")


def _varied(stored: StoredStudy) -> Any:
    _exported(stored)
    return eq.battery_variants("battery.jsonl", "variants.jsonl", orders="2")


def _panel_study() -> StoredStudy:
    """Return a new study at Prolific with one participant, and write Prolific's export."""
    stored = make_panel_study(Path("by-panel"))
    take(stored, "anna")
    lines = ["Submission id,Participant id,Status,Completion code", f"sub-anna,{id_of('anna')},AWAITING REVIEW,DONE1"]
    Path("export.csv").write_text("\n".join(lines), encoding="utf-8")
    Path("bonuses.csv").write_text(f"{id_of('anna')},0.50\n", encoding="utf-8")
    return stored


def _recruited(name: str) -> Any:
    _panel_study()
    calls: dict[str, Callable[[], Any]] = {
        "approve": lambda: eq.recruit_approve("by-panel", export="export.csv", output="out.csv"),
        "bonus": lambda: eq.recruit_bonus("by-panel", "bonuses.csv", label="accuracy", output="out.csv"),
        "prolific": lambda: eq.recruit_prolific("by-panel", draft=True, output="out.json"),
        "reconcile": lambda: eq.recruit_reconcile(
            "by-panel", "export.csv", output="out.csv", column="id=Participant id"
        ),
        "reject": lambda: eq.recruit_reject("by-panel", export="export.csv", output="out.csv"),
    }
    return calls[name]()


def _coded(name: str) -> Any:
    folder = make_coded_study(Path("glass"))
    collect(folder, {"P1": ANSWERS["P1"]})
    if name != "new":
        eq.coding_new("glass", "reasons")
    if name == "agreement":
        let_code(folder)
    return getattr(eq, f"coding_{name}")("glass", "reasons")


def _read_back() -> Any:
    eq.export("study", "export")
    return eq.import_data("export", "trials.csv")


OTHER_PASSWORD = "nine green doors hum"


def _extended() -> None:
    path = Path("study/study.yaml")
    path.write_text(path.read_text(encoding="utf-8").replace("{entry: panel", "{quota: 5, entry: panel"), "utf-8")
    eq.assignment_extend("study", 1, 2)


def _with_account() -> str:
    eq.researchers_add("study", "anna", "seven blue chairs sing", role="owner")
    return "anna"


CALLS: dict[str, Callable[[StoredStudy, str], Any]] = {
    "assignment_close": lambda _, __: eq.assignment_close("study", 1),
    "assignment_extend": lambda _, __: _extended(),
    "assignment_log": lambda _, __: eq.assignment_log("study", "out.csv"),
    "assignment_open": lambda _, __: eq.assignment_open("study", 1),
    "assignment_release": lambda _, __: eq.assignment_release("study", "return", panel_id="anna"),
    "assignment_show": lambda _, __: eq.assignment_show("study"),
    "audit": lambda _, __: eq.audit("table.csv", output="out.csv"),
    "battery_build": lambda _, __: eq.battery_build(TEMPLATES, "battery.jsonl", spec="spec.yaml"),
    "battery_check": lambda _, __: eq.battery_check(TEMPLATES, spec="spec.yaml"),
    "battery_export": lambda stored, _: _exported(stored),
    "battery_import": lambda stored, _: _imported(stored),
    "battery_preview": lambda stored, _: _previewed(stored),
    "battery_variants": lambda stored, _: _varied(stored),
    "check": lambda _, __: eq.check("study", browser=False),
    "coding_agreement": lambda _, __: _coded("agreement"),
    "coding_new": lambda _, __: _coded("new"),
    "coding_refresh": lambda _, __: _coded("refresh"),
    "demo": lambda _, __: eq.demo("demo", n_participants=4, keep_serving=False),
    "exclude": lambda _, __: eq.exclude("study", "fire alarm", panel_id="anna"),
    "export": lambda _, __: eq.export("study", "export"),
    "identities_delete": lambda _, __: eq.identities_delete("study", everybody=True),
    "identities_export": lambda _, __: eq.identities_export("study", "out.csv"),
    "import_data": lambda _, __: _read_back(),
    "jspsych_plugins": lambda _, __: eq.jspsych_plugins("plugins"),
    "links": lambda stored, _: _linked(stored),
    "models_import": lambda _, runs: eq.models_import("study", runs),
    "models_list": lambda _, __: eq.models_list("study", output="out.csv"),
    "models_prompts": lambda _, __: eq.models_prompts("study", "openai-batch", "batch.jsonl", "gpt-4.1", 0.7),
    "models_run": lambda _, __: eq.models_run("study", "baseline/tracer"),
    "new": lambda _, __: eq.new("new"),
    "power": lambda _, __: eq.power("study", "outcome=absorbed:-0.1", ns=[6], simulations=20, output="power"),
    "recruit_approve": lambda _, __: _recruited("approve"),
    "recruit_bonus": lambda _, __: _recruited("bonus"),
    "recruit_prolific": lambda _, __: _recruited("prolific"),
    "recruit_reconcile": lambda _, __: _recruited("reconcile"),
    "recruit_reject": lambda _, __: _recruited("reject"),
    "researchers_add": lambda _, __: _with_account(),
    "researchers_disable": lambda _, __: eq.researchers_disable("study", _with_account()),
    "researchers_enable": lambda _, __: eq.researchers_enable("study", _with_account()),
    "researchers_list": lambda _, __: eq.researchers_list("study"),
    "researchers_password": lambda _, __: eq.researchers_password("study", _with_account(), OTHER_PASSWORD),
    "researchers_remove": lambda _, __: eq.researchers_remove("study", _with_account()),
    "researchers_role": lambda _, __: eq.researchers_role("study", _with_account(), "viewer"),
    "researchers_second_factor": lambda _, __: eq.researchers_second_factor("study", _with_account()),
    "revise": lambda stored, _: _revised(stored),
    "schema": lambda _, __: eq.schema("study"),
    "serve": lambda _, __: eq.serve("study", store="study/data/equipoise.db"),
    "simulate": lambda _, __: eq.simulate("study", 2),
    "store_backup": lambda _, __: eq.store_backup("study", "backup.db"),
    "store_copy": lambda _, __: eq.store_copy("study/data/equipoise.db", "copy.db"),
    "store_sessions": lambda _, __: eq.store_sessions("study", "out.csv"),
    "store_verify": lambda _, __: eq.store_verify("study"),
    "withdraw": lambda _, __: eq.withdraw("study", panel_id="anna"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(eq._COMMANDS.keys() - LABORATORY - {"analyze"}))
def test_every_function_accepts_texts_only(
    stored: StoredStudy, name: str, stored_runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = []
    monkeypatch.setattr(server_process, "serve_until_stopped", lambda folder, *_, **__: served.append(folder))
    if name == "models_import":
        make_whole_study(stored)
    if name == "demo":  # The analyses take long, and `eq.analyze` has its own case.
        monkeypatch.setattr("equipoise.commands.demo.analyze", lambda *_: None)
    CALLS[name](stored, str(stored_runs))
    assert served == ([Path("study")] if name == "serve" else [])


def make_whole_study(stored: StoredStudy) -> None:
    """Replace the study by the whole sample, because stored runs have responses to all its items."""
    stored.folder.rename("small")
    eq.new("study")


def test_a_path_names_a_store_and_a_file_too(stored: StoredStudy) -> None:
    store = stored.folder / "data" / "equipoise.db"
    assert eq.store_sessions(stored.folder, Path("out.csv"), store=store) == 2
    assert eq.store_copy(store, Path("copy.db")).n_sessions == 2


def functions() -> list[tuple[str, click.Command]]:
    """Return every command outside the laboratory with the name of its function."""

    def below(group: click.Group, path: tuple[str, ...] = ()) -> list[tuple[str, click.Command]]:
        found = []
        for name, command in group.commands.items():
            inner = (*path, name)
            found += (
                below(command, inner)
                if isinstance(command, click.Group)
                else [("_".join(inner).replace("-", "_"), command)]
            )
        return found

    return [
        (OTHER_FUNCTIONS.get(name, name), command)
        for name, command in below(main)
        if not command.hidden and not name.startswith("lab_")
    ]


@pytest.mark.parametrize(("name", "command"), functions())
def test_a_function_has_the_parameters_and_defaults_of_its_command(name: str, command: click.Command) -> None:
    parameters = inspect.signature(getattr(eq, name)).parameters
    assert {OTHER_NAMES.get((name, str(each.name)), each.name) for each in command.params} == set(parameters)
    for each in command.params:
        if (name, each.name) in OTHER_NAMES:
            continue
        default = parameters[str(each.name)].default
        if each.required:
            assert default is inspect.Parameter.empty or name == "models_import", each.name
        elif each.to_info_dict().get("default") is not None and not each.multiple:
            assert default == each.to_info_dict()["default"], each.name


@pytest.mark.parametrize("reason", ["exclusion", "time-out", "nonsense", ""])
def test_a_slot_is_released_only_for_a_return(stored: StoredStudy, reason: str) -> None:
    with pytest.raises(InputError, match="Fix: ") as refused:
        eq.assignment_release("study", reason, panel_id="anna")
    assert ("equipoise exclude" in str(refused.value)) == (reason == "exclusion")
    assert [row[4] for row in eq.assignment_show("study")][-1] == "0"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: eq.power("study", "outcome=absorbed:-0.1", accuracy=1.5), "accuracy 1.5"),
        (lambda: eq.power("study", "outcome=absorbed:-0.1", ns=[1]), "1 participant"),
        (lambda: eq.power("study", "outcome=absorbed:-0.1", powers=[]), "no power"),
        (lambda: eq.power("study", "outcome=absorbed:-0.1", powers=[1]), "power 1"),
        (lambda: eq.power("study", "outcome=absorbed:-0.1", largest_n=1), "1 participant"),
        (lambda: eq.power("study", against_model=1.5), "accuracy of the model is 1.5"),
        (lambda: eq.power("study", []), "no effect"),
        (lambda: eq.power("study", "outcome=absorbed:-0.1", simulations=0), "simulations"),
        (lambda: eq.power("study", "outcome=absorbed:-0.1", alpha=0), "alpha 0"),
        (lambda: eq.power("study", "outcome=absorbed:-0.1", excluded=1), "excluded 1"),
        (lambda: eq.power("study", "outcome=absorbed:-0.1", seed=-1), "seed -1"),
        (lambda: eq.battery_export("study", "xml", "out"), "`xml`"),
        (lambda: eq.models_prompts("study", "xml", "out"), "`xml`"),
        (lambda: eq.models_prompts("study", "csv", "out", epochs=0), "epochs is 0"),
        (lambda: eq.models_prompts("study", "csv", "out", shots=-1), "shots is -1"),
        (lambda: eq.models_prompts("study", "csv", "out", max_tokens=0), "--max-tokens 0"),
        (lambda: eq.models_prompts("study", "csv", "out", group=0, seed=1), "no group 0"),
        (lambda: eq.models_prompts("study", "csv", "out", group=1, seed=-1), "--seed -1"),
        (lambda: eq.models_run("study", "mockllm/model", training_cutoff="2024-13"), "--training-cutoff 2024-13"),
        (lambda: eq.models_import("study", "runs.json", training_cutoff="20240601"), "--training-cutoff 20240601"),
        (lambda: eq.schema("dance"), "`dance`"),
        (lambda: eq.simulate("study", 0), "0"),
        (lambda: eq.links("study", 0, "https://study.example.org", "out.csv"), "0"),
    ],
)
def test_a_value_that_the_command_line_refuses_is_refused_with_a_fix(
    stored: StoredStudy, call: Callable[[], object], message: str
) -> None:
    with pytest.raises(InputError, match="Fix: ") as refused:
        call()
    assert message in str(refused.value)


def _lines(printed: str) -> list[str]:
    return [line.rstrip() for line in printed.splitlines()]


def test_battery_build_does_the_same(stored: StoredStudy) -> None:
    printed = done("battery", "build", TEMPLATES, "--spec", "spec.yaml", "--seed", 3, "-o", "by-command.jsonl")
    n_items = eq.battery_build(TEMPLATES, "by-function.jsonl", spec="spec.yaml", seed=3)
    assert printed == f"Made by-command.jsonl with {n_items} items.\n"
    assert Path("by-command.jsonl").read_bytes() == Path("by-function.jsonl").read_bytes()


def test_store_sessions_and_verify_do_the_same(stored: StoredStudy) -> None:
    done("store", "sessions", "study", "-o", "by-command.csv")
    assert eq.store_sessions("study", "by-function.csv") == 2
    assert Path("by-command.csv").read_bytes() == Path("by-function.csv").read_bytes()
    assert eq.store_verify("study").digest in done("store", "verify", "study")


def test_assignment_show_does_the_same(stored: StoredStudy) -> None:
    printed = [line.split() for line in done("assignment", "show", "study").splitlines()]
    assert printed == [" ".join(row).split() for row in eq.assignment_show("study")]


def test_identities_export_does_the_same(stored: StoredStudy) -> None:
    printed = done("identities", "export", "study", "-o", "by-command.csv")
    assert printed.startswith(f"Made by-command.csv with {eq.identities_export('study', 'by-function.csv')} ")
    assert Path("by-command.csv").read_bytes() == Path("by-function.csv").read_bytes()


def test_exclude_does_the_same(stored: StoredStudy) -> None:
    decided = eq.exclude("study", "fire alarm", panel_id="anna")
    eq.exclude("study", "no fire alarm", panel_id="anna", undo=True)
    printed = done("exclude", "study", "--panel-id", "anna", "--reason", "fire alarm")
    assert decided.sessions[0] in printed


def test_models_prompts_does_the_same(stored: StoredStudy) -> None:
    options = ["--format", "openai-batch", "--model", "gpt-4.1", "--temperature", 0.1, "--temperature", 0.7]
    plan = ["--epochs", 2, "--group", 2, "--seed", 3]
    printed = done("models", "prompts", "study", *options, *plan, "-o", "by-command.jsonl")
    written = eq.models_prompts(
        "study", "openai-batch", "by-function.jsonl", "gpt-4.1", (0.1, 0.7), epochs=2, group=2, seed=3
    )
    assert Path("by-command.jsonl").read_bytes() == Path("by-function.jsonl").read_bytes()
    assert printed.replace("by-command", "by-function").splitlines() == written.sentences()


def test_models_run_does_the_same(stored: StoredStudy) -> None:
    printed = done("models", "run", "study", "--model", "baseline/tracer", "--store", "by-command.db")
    assert _lines(printed) == eq.models_run("study", "baseline/tracer", store="by-function.db")


def test_analyze_accepts_texts_only_and_does_the_same(stored: StoredStudy) -> None:
    done("analyze", "study", "-o", "by-command")
    eq.analyze("study", "by-function", store="study/data/equipoise.db")
    tables = {path.name: path.read_bytes() for path in Path("by-command/tables").iterdir()}
    assert tables == {path.name: path.read_bytes() for path in Path("by-function/tables").iterdir()}


def test_power_does_the_same(stored: StoredStudy) -> None:
    effect = "outcome=absorbed:-0.1"
    printed = done("power", "study", "--effect", effect, "-n", 8, "-n", 6, "--simulations", 20, "--seed", 4)
    assert _lines(printed) == _lines(eq.power("study", [effect], ns=[6, 8], simulations=20, seed=4))
    searched = done("power", "study", "--against-model", 0.5, "--power", 0.7, "--largest-n", 20, "--simulations", 20)
    assert _lines(searched) == _lines(eq.power("study", against_model=0.5, powers=[0.7], largest_n=20, simulations=20))


def test_audit_does_the_same(stored: StoredStudy) -> None:
    printed = done("audit", "table.csv", "--participants", 42)
    found = eq.audit("table.csv", participants=42)
    assert [line.rpartition("  ")[2] for line in printed.splitlines()[1 : 1 + len(found)]] == list(found["explanation"])


def test_dir_lists_the_public_names() -> None:
    assert set(eq.__all__) <= set(dir(eq))
