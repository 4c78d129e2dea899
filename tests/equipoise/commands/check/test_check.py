"""The whole checklist, as the command prints it."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

import equipoise as eq
from equipoise.commands.check.checklist import Verdict
from tests.equipoise.commands.check.studies import CONTACT
from tests.equipoise.commands_in_processes import equipoise

SUBJECTS = [
    "Files", "Pages", "Consent", "Reading age", "Translation", "Battery", "Answer keys", "Groups", "Quotas", "Duration",
    "Pay", "Completion codes", "Analysis plan", "Browser", "Timing", "Backup", "HTTPS",
]  # fmt: skip
Edit = Callable[[Path, str, str], None]


def files_of(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_check_of_a_new_study_names_what_the_researcher_must_add_and_changes_nothing(study_folder: Path) -> None:
    before = files_of(study_folder)
    checklist = eq.check(study_folder, browser=False)
    assert [point.subject for point in checklist.points] == SUBJECTS
    verdicts = {point.subject: point.verdict for point in checklist.points}
    assert {subject for subject, verdict in verdicts.items() if verdict is Verdict.FAILED} == {"Pages", "Consent"}
    assert {subject for subject, verdict in verdicts.items() if verdict is Verdict.ATTENTION} == {"Quotas", "Backup"}
    assert files_of(study_folder) == before


def test_the_command_prints_the_checklist_and_its_exit_code_is_1_if_a_point_failed(
    study_folder: Path, edit: Edit
) -> None:
    done = equipoise("check", study_folder, "--no-browser")
    assert done.returncode == 1, done.stderr
    assert done.stdout == eq.check(study_folder, browser=False).text(80) + "\n"
    (study_folder / "contact.md").write_text(f"# Contact\n\n{CONTACT}\n", encoding="utf-8")
    ready = equipoise("check", study_folder, "--no-browser")
    assert ready.returncode == 0, ready.stdout
    assert "10 passed, 3 need attention, 0 failed, 4 not checked." in ready.stdout


@pytest.mark.parametrize("sample", ["intuition-single", "intuition-double"])
def test_every_sample_study_fails_only_for_its_contact_page(tmp_path: Path, sample: str) -> None:
    eq.new(tmp_path / "study", sample)
    failed = {p.subject for p in eq.check(tmp_path / "study", browser=False).points if p.verdict is Verdict.FAILED}
    assert failed == {"Pages", "Consent"}


def test_a_study_that_cannot_be_read_fails_with_its_mistake_and_exit_code_1(study_folder: Path, edit: Edit) -> None:
    edit(study_folder / "study.yaml", "fixation_ms: 200", "fixation: 200")
    done = equipoise("check", study_folder)
    assert done.returncode == 1
    words = " ".join(done.stdout.split())
    assert "failed Files: " in words
    assert "`timing.fixation` is an unknown field" in words
    assert "Fix: correct the spelling" in words


def test_a_missing_page_fails(study_folder: Path) -> None:
    (study_folder / "debrief.md").unlink()
    (point,) = eq.check(study_folder).points
    assert (point.verdict, "debrief.md" in point.found) == (Verdict.FAILED, True)


def test_a_folder_without_a_study_is_bad_input(tmp_path: Path) -> None:
    done = equipoise("check", tmp_path)
    assert (done.returncode, "no file study.yaml" in done.stderr) == (2, True)
