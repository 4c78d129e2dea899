import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from batteries.errors import InputError
from experiment.load_study import load_study

Edit = Callable[[Path, str, str], None]


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("study.yaml", "title:", "titel:", r"line \d+: `titel` is an unknown field"),
        ("study.yaml", "battery: battery.jsonl", "battery: other.jsonl", r"`other.jsonl` is not in the study's folder"),
        ("study.yaml", "groups: 10", "groups: 0", r"line 29: `design.groups` must be at least 1"),
        ("study.yaml", "method: deal", "method: dale", r"'dale' is unknown. Fix: write one of"),
        (
            "study.yaml",
            "[outcome, configuration",
            "[colour, configuration",
            r"yaml, line 30: `design.balance` names the factor `colour`, which no test item has",
        ),
        ("study.yaml", "by: [outcome]", "by: [colour]", r"yaml, line 89: `analysis.by` names the factor `colour`"),
        ("study.yaml", "practice: [practice-1]", "practice: [practice-9]", r"the item `practice-9`.* is not in the"),
        ("study.yaml", "practice: [practice-1]", "practice: [attention-1]", r"`attention-1` more than once"),
        (
            "study.yaml",
            "of: [outcome]",
            "of: [mood]",
            r"`order.max_run.of` names the factor `mood`, which no test item has",
        ),
        ("study.yaml", "attention_check_spacing: 5", "attention_check_spacing: 50", r"lower attention_check_spacing"),
        ("study.yaml", "min_ms: 500", "min_ms: 500000", r"line \d+: .*min_ms \(500000\) is not less than max_ms"),
        ("study.yaml", "rule: trial_rt", "rule: median_rt", r"duplicate rule median_rt .2 times."),
        ("study.yaml", "fixation_ms: 200", "fixation_ms: fast", r"line \d+: `timing.fixation_ms`.*\(it is 'fast'\)"),
        ("study.yaml", "debrief: debrief.md", "debrief: thanks.md", r"thanks.md: this file does not exist"),
        ("battery.jsonl", '"key":"west-5"', '"key":"west-6"', r"line 2, item `config-0.north-1`: the key is"),
    ],
)
def test_an_error_in_a_study_names_its_file_and_line(
    study_folder: Path, edit: Edit, file: str, old: str, new: str, message: str
) -> None:
    edit(study_folder / file, old, new)
    with pytest.raises(InputError, match=message) as error:
        load_study(study_folder)
    assert str(study_folder) in str(error.value)


def test_the_settings_of_runs_are_factors_of_the_plan(study_folder: Path, edit: Edit) -> None:
    edit(study_folder / "study.yaml", "by: [outcome]", "by: [outcome, prompt, temperature]")
    assert load_study(study_folder).definition.analysis.by == ("outcome", "prompt", "temperature")


def test_a_folder_without_a_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"this folder has no file study.yaml"):
        load_study(tmp_path)


def test_a_missing_folder_is_named_with_the_folder_in_which_it_was_searched(
    study_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study_folder.parent)
    with pytest.raises(InputError) as error:
        load_study(Path("mystudy"))
    assert str(error.value) == (
        f"mystudy: there is no such folder in {study_folder.parent}. Fix: correct the name or the path."
    )
    monkeypatch.chdir(study_folder)
    with pytest.raises(InputError, match=r"Fix: write `\.` instead: the current folder is a study\."):
        load_study(Path(study_folder.name))


def test_the_digest_depends_on_the_shown_content_and_the_attention_check_rule(study_folder: Path, edit: Edit) -> None:
    digests = {load_study(study_folder).digest}
    for file, old, new in [
        ("consent.md", "ten minutes", "twenty minutes"),
        ("study.yaml", "max_failed: 0", "max_failed: 1"),
        ("battery.jsonl", '"version":"1.2"', '"version":"1.3"'),
    ]:
        edit(study_folder / file, old, new)
        digests.add(load_study(study_folder).digest)
    assert len(digests) == 4


def test_the_digest_does_not_depend_on_the_folder(study_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(study_folder, tmp_path / "elsewhere")
    assert load_study(tmp_path / "elsewhere").digest == load_study(study_folder).digest


# Parts of a session: pages, timing, device, practice, resuming, exits


PARTS = {
    "timeline": "timeline:\n",
    "timing": "  fixation_ms: 200\n",
    "device": "device:\n",
}
"""The line of the sample study after which a line of this part is added. Other parts are added at the end."""


def with_line(study_folder: Path, edit: Edit, part: str, line: str) -> Path:
    path = study_folder / "study.yaml"
    if part in PARTS:
        edit(path, PARTS[part], f"{PARTS[part]}  {line}\n")
    else:
        path.write_text(f"{path.read_text(encoding='utf-8')}\n{part}: {line}\n", encoding="utf-8")
    return study_folder


@pytest.mark.parametrize(
    ("part", "line", "message"),
    [
        ("practice_criterion", "{}", "`practice_criterion.correct` is missing. Fix: add it"),
        ("practice_criterion", "{correct: 0}", "`practice_criterion.correct` must be at least 1 .*0"),
        ("practice_criterion", "{correct: 2}", "asks for 2 right answers.* 1 practice.*lower `correct` or name more"),
        ("practice_criterion", "{correct: all}", "`practice_criterion.correct` must be a whole number"),
        ("practice_criterion", "{correct: 1, rounds: 0}", "`practice_criterion.rounds` must .* 1 .*0"),
        ("practice_criterion", "{correct: 1, rounds: 21}", "`practice_criterion.rounds` must .* 20 .*21"),
        (
            "practice_criterion",
            "{correct: 1, otherwise: stop}",
            "`.*criterion.otherwise` must .*`continue` or `end`",
        ),
        (
            "practice_criterion",
            "{correct: 1, round: 2}",
            "`practice_criterion.round` is an unknown field.*did you mean",
        ),
        ("practice_criterion", "1", "`practice_criterion` must have `name: value` fields"),
        ("resume", "{max_age_min: 0}", "`resume.max_age_min` must .*greater than 0"),
        ("resume", "{max_age_min: -5}", "`resume.max_age_min` must .*greater than 0"),
        ("resume", "{max_age_min: .inf}", "`resume.max_age_min` must .*finite"),
        ("resume", "{max_age_min: .nan}", "`resume.max_age_min` must .*finite"),
        ("resume", "{max_age_min: an hour}", "`resume.max_age_min` must .*number.*'an hour'"),
        ("resume", "{max_reloads: -1}", "`resume.max_reloads` must .* 0 .*-1"),
        ("resume", "{max_reloads: 1.5}", "`resume.max_reloads` must be a whole number"),
        ("resume", "{otherwise: again}", "`resume.otherwise` must .*`end` or `restart`"),
        ("resume", "{interrupted_trial: omit}", "`resume.interrupted_trial` must .*`repeat` or `skip`"),
        ("resume", "{max_reload: 1}", "`resume.max_reload` is an unknown field.*did you mean `max_reloads`"),
        ("resume", "end", "`resume` must have `name: value` fields"),
        ("device", "width_px: 199", "`device.width_px` must .* 200 .*199"),
        ("device", "height_px: 10001", "`device.height_px` must .* 10000 .*10001"),
        ("device", "refresh_hz: 5", "`device.refresh_hz` must .* 10 .*5"),
        ("device", "width_px: wide", "`device.width_px` must be a whole number"),
        ("device", "keyboard: perhaps", "`device.keyboard` must .*'perhaps'"),
        ("device", "tablets: true", "`device.tablets` is an unknown field"),
        ("timing", "reading_ms: -1", "`timing.reading_ms` must .* 0 .*-1"),
        ("timing", "reading_ms: 600001", "`timing.reading_ms` must .* 600000 .*600001"),
        ("timing", "deadline_ms: 99", "`timing.deadline_ms` must .* 100 .*99"),
        ("timing", "deadline_ms: 3600001", "`timing.deadline_ms` must .* 3600000 .*3600001"),
        ("timing", "deadline_ms: 2 s", "`timing.deadline_ms` must be a whole number"),
        ("timing", "deadline: 2000", "`timing.deadline` is an unknown field.*did you mean `deadline_ms`"),
        ("timing", "{deadline_ms: 1000, reading_ms: 1000}", "`deadline_ms`.*`reading_ms`"),
        ("timeline", "information: info.md", "`timeline.information` must be a list. Fix: write .info.md."),
        ("timeline", "information: [info.md]", "info.md: this file does not exist"),
        ("timeline", "breaks: {}", "`timeline.breaks.every` is missing. Fix: add it"),
        ("timeline", "breaks: {every: 0}", "`timeline.breaks.every` must .* 1 .*0"),
        ("timeline", "breaks: 5", "`timeline.breaks` must have `name: value` fields"),
        ("timeline", "breaks: {every: 5, page: pause.md}", "pause.md: this file does not exist"),
        ("timeline", "breaks: {every: 5, text: Rest}", "`timeline.breaks.text` is an unknown field"),
        ("timeline", "fullscreen: perhaps", "`timeline.fullscreen` must .*'perhaps'"),
        ("timeline", "consent_version: 1.0", '`timeline.consent_version` must be a text. Fix: put it in quotes: "1.0"'),
        ("timeline", 'consent_version: ""', "`timeline.consent_version` is empty. Fix: write a text"),
        ("timeline", "demographics: about.yaml", "about.yaml: this file does not exist"),
        ("timeline", "demographics: [age]", "`timeline.demographics` must be a text"),
        ("timeline", "instruction: [x.md]", "`timeline.instruction` is an unknown field.*did you mean `instructions`"),
        ("recruitment", "{panel_ids: ids.txt}", "`panel_ids` needs `entry: panel`.*Fix: set `entry: panel`"),
        ("recruitment", "{panel_id_pattern: '[0-9]'}", "`panel_id_pattern` needs `entry: panel`"),
        ("recruitment", "{entry: link, prolific_secured_url: 'https://x.org/'}", "`prolific_secured_url` needs"),
        ("recruitment", "{entry: panel, panel_ids: ids.txt}", "ids.txt: this file does not exist"),
        ("recruitment", "{entry: panel, panel_id_pattern: '[0-9'}", "not a regular expression.*Fix: write"),
        ("recruitment", "{entry: panel, panel_id_pattern: 'a{99999999999}'}", "not a regular expression.*Fix: write"),
        ("recruitment", "{entry: panel, panel_id_pattern: '[[a]]'}", r"ambiguous .*nested set.*Fix: .*`\\\["),
        ("recruitment", "{entry: panel, panel_id_pattern: '[a--b]'}", "ambiguous .*set difference.*Fix:"),
        ("recruitment", "{entry: panel, panel_ids: ../ids.txt}", "outside the study's folder.*Fix: copy the file"),
        ("recruitment", "{entry: panel, prolific_secured_url: 'http://x.org/'}", "not an address of a study.*Fix:"),
        ("recruitment", "{entry: panel, prolific_secured_url: x.org}", "not an address of a study.*Fix:"),
        ("recruitment", "{entry: panel, prolific_secured_url: 'https://x.org/?a=b'}", "not an address of a study"),
        (
            "recruitment",
            "{entry: panel, panel_parameter: id, prolific_secured_url: 'https://x.org/'}",
            "with `prolific_secured_url`, `panel_parameter` must be PROLIFIC_PID.*Fix: delete the line `panel",
        ),
        ("recruitment", "{exits: {completed: {code: abc}}}", "`recruitment.exits.completed.code` must .*at least 4"),
        (
            "recruitment",
            "{exits: {completed: {code: 12345}}}",
            "`.*completed.code` must be a text. Fix: put it in quotes",
        ),
        ("recruitment", "{exits: {completed: DONE1}}", "`recruitment.exits.completed` must have `name: value`"),
        ("recruitment", "{exits: {finished: {code: DONE1}}}", "`recruitment.exits.finished` is an unknown field"),
        ("recruitment", "{exits: {no_consent: {url: x}}}", "`recruitment.exits.no_consent.url` is an unknown field"),
        ("recruitment", "{exits: {completed: {link: 'http://x.org/'}}}", "`recruitment.exits.completed.link`"),
        ("recruitment", "{exits: {completed: {link: 'https://{id}.x.org/'}}}", "`recruitment.exits.completed.link`"),
        ("recruitment", "{exits: {completed: {link: 'https://x.org/{Code}'}}}", "`recruitment.exits.completed.link`"),
        ("recruitment", "{exits: {completed: {link: 'https://x.org/a b'}}}", "`recruitment.exits.completed.link`"),
        ("recruitment", "{exits: {completed: {link: 'javascript:alert(1)'}}}", "`recruitment.exits.completed.link`"),
    ],
)
def test_an_error_in_a_part_of_the_session_is_one_sentence_with_file_and_line(
    study_folder: Path, edit: Edit, part: str, line: str, message: str
) -> None:
    if line.startswith("{deadline_ms"):
        edit(study_folder / "study.yaml", "timing:\n  fixation_ms: 200", f"timing: {line}")
    else:
        with_line(study_folder, edit, part, line)
    with pytest.raises(InputError, match=message) as error:
        load_study(study_folder)
    sentence = str(error.value)
    assert "\n" not in sentence and sentence.endswith(".")
    assert str(study_folder) in sentence
    is_about_a_missing_file = "does not exist" in sentence
    assert is_about_a_missing_file or "study.yaml" in sentence
    assert is_about_a_missing_file or ", line " in sentence or "practice trials" in sentence


LINKS = ["http://x.org/", "https://{id}.x.org/", "https://x.org/{Code}", "https://x.org?cc={code}", "x.org"]


@pytest.mark.parametrize("link", LINKS)
def test_an_invalid_return_link_is_explained_in_words_and_not_as_a_pattern(
    study_folder: Path, edit: Edit, link: str
) -> None:
    with_line(study_folder, edit, "recruitment", f"{{exits: {{completed: {{link: '{link}'}}}}}}")
    with pytest.raises(InputError, match=r"https://") as error:
        load_study(study_folder)
    assert "[^" not in str(error.value), "the message must not contain a regular expression"


@pytest.mark.parametrize(
    "exits",
    [
        "{no_consent: {link: 'https://x.org/?cc={code}'}}",
        "{incompatible_device: {link: 'https://x.org/?cc={code}'}}",
        "{practice_not_passed: {link: 'https://x.org/?cc={code}'}}",
        "{completed: {link: 'https://x.org/?pid={id}'}}",
        "{completed: {code: '    '}}",
    ],
)
def test_an_exit_link_with_an_empty_placeholder_is_refused(study_folder: Path, edit: Edit, exits: str) -> None:
    """A placeholder for a code without a code, for a panel id without a panel, and a code of spaces."""
    with_line(study_folder, edit, "recruitment", f"{{exits: {exits}}}")
    with pytest.raises(InputError, match=r"`recruitment"):
        load_study(study_folder)


@pytest.mark.parametrize(
    ("part", "line"),
    [
        ("practice_criterion", "{correct: 1}"),
        ("practice_criterion", "{correct: 1, rounds: 20, otherwise: end}"),
        ("resume", "{max_age_min: 0.5, max_reloads: 0, otherwise: restart, interrupted_trial: skip}"),
        ("device", "width_px: 200"),
        ("device", "refresh_hz: 1000"),
        ("timing", "reading_ms: 600000"),
        ("timing", "deadline_ms: 100"),
        ("timeline", "breaks: {every: 1}"),
        ("timeline", "fullscreen: true"),
        ("timeline", 'consent_version: "1.0"'),
        ("timeline", "information: [instructions-1.md]"),
        ("recruitment", "{exits: {completed: {code: DONE, link: 'https://x.org'}}}"),
        ("recruitment", "{exits: {completed: {code: DONE-1, link: 'https://app.prolific.com/s/complete?cc={code}'}}}"),
        ("recruitment", "{entry: panel, exits: {completed: {link: 'https://x.org/{id}/?a=%20&pid={id}#end'}}}"),
    ],
)
def test_values_that_the_reference_allows_are_accepted(study_folder: Path, edit: Edit, part: str, line: str) -> None:
    load_study(with_line(study_folder, edit, part, line))


def test_session_rules_change_the_digest_and_exit_links_do_not(study_folder: Path, edit: Edit) -> None:
    digests = [load_study(study_folder).digest]
    for part, line in [
        ("timing", "deadline_ms: 5000"),
        ("timeline", "breaks: {every: 5}"),
        ("device", "keyboard: true"),
        ("resume", "{max_reloads: 3}"),
        ("practice_criterion", "{correct: 1}"),
    ]:
        digests.append(load_study(with_line(study_folder, edit, part, line)).digest)
    assert len(set(digests)) == len(digests)
    exits = "{exits: {completed: {code: DONE-1234}}}"
    assert load_study(with_line(study_folder, edit, "recruitment", exits)).digest == digests[-1]


# Files outside the study's folder


def names(study_folder: Path, field: str, name: str) -> str:
    """Make a field of study.yaml name a file, and return the field's name in errors."""
    path = study_folder / "study.yaml"
    quoted = json.dumps(name)
    lines = {
        "battery": (f"battery: {quoted}", r"(?m)^battery: .*$"),
        "timeline.consent": (f"  consent: {quoted}", r"(?m)^  consent: .*$"),
        "timeline.debrief": (f"  debrief: {quoted}", r"(?m)^  debrief: .*$"),
        "timeline.information.0": (f"timeline:\n  information: [{quoted}]", r"(?m)^timeline:$"),
        "timeline.instructions.0": (f"  instructions: [{quoted}]", r"(?m)^  instructions: .*$"),
        "timeline.demographics": (f"timeline:\n  demographics: {quoted}", r"(?m)^timeline:$"),
        "timeline.contact": (f"  contact: {quoted}", r"(?m)^  contact: .*$"),
        "timeline.breaks.page": (f"timeline:\n  breaks: {{every: 5, page: {quoted}}}", r"(?m)^timeline:$"),
        "plugins.slider.file": (
            f"plugins:\n  slider: {{file: {json.dumps(name + '.js')}, variable: x}}\ntimeline:",
            r"(?m)^timeline:$",
        ),
        "psychopy_trials.gabor.file": (
            f"psychopy_trials:\n  gabor: {{file: {json.dumps(name + '.py')}, class_name: Gabor}}\ntimeline:",
            r"(?m)^timeline:$",
        ),
    }
    new, old = lines[field]
    text, n_changed = re.subn(old, lambda _: new, path.read_text(encoding="utf-8"), count=1)
    assert n_changed == 1
    path.write_text(text, encoding="utf-8")
    return field


FIELDS_WITH_FILES = [
    "battery", "timeline.consent", "timeline.debrief", "timeline.information.0", "timeline.instructions.0",
    "timeline.demographics", "timeline.contact", "timeline.breaks.page", "plugins.slider.file",
    "psychopy_trials.gabor.file",
]  # fmt: skip


@pytest.mark.parametrize("field", FIELDS_WITH_FILES)
def test_no_field_of_a_study_publishes_a_file_outside_its_folder(study_folder: Path, field: str) -> None:
    for name in ("secret.md", "secret.md.js", "secret.md.py"):
        (study_folder.parent / name).write_text("a secret that is not the study's", encoding="utf-8")
    names(study_folder, field, "../secret.md")
    with pytest.raises(InputError) as refused:
        load_study(study_folder)
    sentence = str(refused.value)
    assert re.search(rf"study\.yaml, line \d+: `{re.escape(field)}` names the file `\.\./secret\.md", sentence), (
        sentence
    )
    line = int(re.search(r"line (\d+)", sentence)[1])  # type: ignore[index]
    lines = (study_folder / "study.yaml").read_text(encoding="utf-8").splitlines()
    assert "secret.md" in lines[line - 1]
    assert "outside the study's folder" in sentence and "Fix: " in sentence
    assert "a secret that" not in sentence


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "..", "sub/../../secret.md", "..\\secret.md", "C:\\secret.md", "\\\\server\\share\\secret.md",
     "link.md", "linked/secret.md", "data/researcher-token", "DATA/signing-key", "./data/signing-key", "data-link",
     "round.md"],
)  # fmt: skip
def test_no_path_leads_out_of_a_studys_folder_or_into_its_data(study_folder: Path, name: str) -> None:
    outside = study_folder.parent / "elsewhere"
    outside.mkdir()
    (outside / "secret.md").write_text("a secret", encoding="utf-8")
    (study_folder.parent / "secret.md").write_text("a secret", encoding="utf-8")
    (study_folder / "sub").mkdir()
    (study_folder / "data").mkdir(exist_ok=True)
    for secret in ("researcher-token", "signing-key"):
        (study_folder / "data" / secret).write_text("a secret", encoding="utf-8")
    (study_folder / "link.md").symlink_to(outside / "secret.md")
    (study_folder / "linked").symlink_to(outside)
    (study_folder / "data-link").symlink_to(study_folder / "data" / "signing-key")
    (study_folder / "round.md").symlink_to(study_folder / "round.md")
    names(study_folder, "timeline.consent", name)
    with pytest.raises(InputError, match=r"line \d+: `timeline.consent` names the file"):
        load_study(study_folder)


def test_subfolders_and_links_within_a_studys_folder_are_accepted(study_folder: Path, tmp_path: Path) -> None:
    (study_folder / "pages").mkdir()
    (study_folder / "pages" / "consent.md").write_text("I agree.", encoding="utf-8")
    (study_folder / "agreed.md").symlink_to(study_folder / "pages" / "consent.md")
    for name in ("pages/consent.md", "./pages/consent.md", "agreed.md"):
        names(study_folder, "timeline.consent", name)
        assert load_study(study_folder).texts[name] == "I agree."
    link = tmp_path / "study-link"
    link.symlink_to(study_folder)
    assert load_study(link).name == load_study(study_folder).name


# The list of panel ids


IDS = ("5f3a9c0d12ab34cd56ef7890", "66aa77bb88cc99dd00ee11ff")


def with_ids(study_folder: Path, content: str, more: str = "") -> Path:
    """Give a study a list of panel ids."""
    (study_folder / "ids.txt").write_text(content, encoding="utf-8")
    with (study_folder / "study.yaml").open("a", encoding="utf-8") as file:
        file.write(f"\nrecruitment: {{entry: panel, panel_ids: ids.txt{more}}}\n")
    return study_folder


def test_the_list_of_panel_ids_is_read_and_does_not_change_the_digest(study_folder: Path) -> None:
    before = load_study(study_folder)
    assert before.panel_ids is None
    study = load_study(with_ids(study_folder, f"\ufeff{IDS[0]}\r\n\n  {IDS[1]}  \n"))
    assert study.panel_ids == frozenset(IDS)
    assert study.digest == before.digest


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "the file has no ids. Fix: write one id on each line"),
        ("\n \n", "the file has no ids"),
        (f"{IDS[0]}\njane\n", r"line 2: `jane` is not a panel id of the form `\[0-9a-f\]\{24\}`. Fix:"),
        (f"participant,code\n{IDS[0]},1\n", "line 1: `participant,code` is not a panel id"),
        (
            f"{IDS[0]}\n{IDS[1]}\n{IDS[0]}\n",
            rf"duplicate id `{IDS[0]}` \(lines 1 and 3\). Fix: delete one of the two lines",
        ),
    ],
)
def test_an_error_in_the_list_of_panel_ids_names_its_line(study_folder: Path, content: str, expected: str) -> None:
    with pytest.raises(InputError, match=expected) as error:
        load_study(with_ids(study_folder, content))
    assert "ids.txt" in str(error.value)


@pytest.mark.parametrize("name", ["ids.txt", "data/ids.txt", "./data/ids.txt", "lists/ids.txt"])
def test_the_list_of_panel_ids_can_be_in_the_studys_folder_or_in_its_data(study_folder: Path, name: str) -> None:
    (study_folder / name).parent.mkdir(exist_ok=True)
    (study_folder / name).write_text(IDS[0], encoding="utf-8")
    with (study_folder / "study.yaml").open("a", encoding="utf-8") as file:
        file.write(f"\nrecruitment: {{entry: panel, panel_ids: {name}}}\n")
    assert load_study(study_folder).panel_ids == frozenset({IDS[0]})


@pytest.mark.parametrize(
    "name", ["../ids.txt", "data/../../ids.txt", "/etc/passwd", "..\\ids.txt", "C:\\ids.txt", "link.txt", "round.txt"]
)
def test_a_list_of_panel_ids_outside_the_studys_folder_is_refused(study_folder: Path, name: str) -> None:
    outside = study_folder.parent / "ids.txt"
    outside.write_text(IDS[0], encoding="utf-8")
    (study_folder / "data").mkdir(exist_ok=True)
    (study_folder / "link.txt").symlink_to(outside)
    (study_folder / "round.txt").symlink_to(study_folder / "round.txt")
    with (study_folder / "study.yaml").open("a", encoding="utf-8") as file:
        file.write(f"\nrecruitment: {{entry: panel, panel_ids: '{name}'}}\n")
    with pytest.raises(InputError, match=r"line \d+: `recruitment.panel_ids` names the file .* Fix: ") as refused:
        load_study(study_folder)
    assert name in str(refused.value) and "outside the study's folder" in str(refused.value)


def test_the_list_can_have_ids_of_another_panel(study_folder: Path) -> None:
    more = ", panel_parameter: sona, panel_id_pattern: '[0-9]{5}'"
    assert load_study(with_ids(study_folder, "12345\n54321\n", more)).panel_ids == {"12345", "54321"}
