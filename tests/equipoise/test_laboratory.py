"""Whole sessions of the laboratory over the server's own application and a real store; only the window is not there."""

import time
import uuid
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import httpx
import pandas as pd
import pytest
from click.testing import CliRunner

from analysis.data import read_trials
from batteries.errors import InputError
from equipoise.cli import main
from equipoise.handing_on import Relay
from equipoise.lab_files import LabFiles, delete_withdrawn
from equipoise.laboratory import local_desk, remote_desk, send_sessions
from equipoise.results import analyze_study
from experiment.lab.desk import Desk, NotNow
from experiment.lab.pictures.sheet import Sheet
from experiment.lab.presentation import Onset
from experiment.lab.session import LabSession, Outcome, Visitor, check_device, check_tasks, sheet_for
from experiment.loading import load_study
from experiment.plan import plan_session
from experiment.records import Kind, LabDevice
from server.store.taken import trials_of

SIZE_PX = (1024, 768)
DEVICE = LabDevice(
    width_px=1024, height_px=768, full_screen=True, screen=0, nominal_hz=60, measured_hz=59.9, frame_ms=16.7,
    is_synchronised=True, pacing="frames", keyboard="ptb", psychopy_version="2026.2", python_version="3.11",
    platform="test", text_font="DejaVuSans",
)  # fmt: skip
ESCAPE = "escape"


def press(name, rt_ms=1200.0):
    return SimpleNamespace(name=name, rt_ms=rt_ms, input="key")


def careful(stage):
    """Press whatever goes on: agree, go on, and on a trial the first possible answer."""
    names = {region.name for region in stage.picture.regions}
    for name, key in (("agree", "1"), ("next", "right"), ("stay", "1")):
        if name in names:
            return press(key)
    if "absorbed" in names:
        return press("return" if "Your answer" in stage.seen[-1] else "a")
    return press("1")


@dataclass
class FakeStage:
    """A stage without a window: `person` says what is pressed on each screen; None lets the time pass."""

    person: Callable = careful
    device: LabDevice = DEVICE
    picture: object = None
    seen: list = field(default_factory=list)
    trials: list = field(default_factory=list)
    codes: list = field(default_factory=list)
    keys: tuple = ()
    until_ms: float | None = None
    early: int = 0
    n_focus_lost: int = 0

    def take_early(self, picture, keys):
        return self.early

    def show(self, picture):
        self.picture = picture
        self.seen.append(" ".join(written.text for written in picture.written))

    redraw = show

    def press(self, picture, keys, until_ms=None):
        assert picture is self.picture, "presses are waited for on what is on the screen"
        self.keys, self.until_ms = tuple(keys), until_ms
        return self.person(self)

    def typing(self, picture):
        assert picture is self.picture
        return self.person(self)

    def fixate(self, fixation, stimulus, fixation_ms, phase):
        self.show(stimulus)
        self.trials.append(phase.value)
        return Onset(
            onset_ns=1, shown_at=datetime.now(UTC), fixation_ms=200.4, fixation_frames=12,
            fixation_frames_intended=12, frame_ms=16.7, frames_dropped=0, frame_intervals_ms=(16.7,) * 12,
        )  # fmt: skip

    def mark_response(self, phase):
        self.codes.append(phase.value)


@pytest.fixture
def lab(tmp_path):
    """Return a function that takes a visit, on the store of the study's folder or another one."""

    def visit(study, person=careful, participant="P01", occasion=1, group=None, kind=Kind.HUMAN, wrap=None, store=None):
        stage = FakeStage(person)
        stored = []
        with local_desk(study, store) as (desk, opened):
            visitor = Visitor(participant, occasion, group, kind)
            files = LabFiles(study, opened, visitor, DEVICE)

            def on_stored(session):
                stored.append(session)
                files.write_table(session)

            session = LabSession(
                study, wrap(desk, opened) if wrap else desk, stage, Sheet.of(study, SIZE_PX), visitor,
                files.notes_of, on_stored, files.delete,
            )  # fmt: skip
            outcome = session.run()
        return SimpleNamespace(
            outcome=outcome,
            stage=stage,
            session=stored[-1] if stored else None,
            table=files.table,
            problem=files.problem,
        )

    return visit


@pytest.fixture
def small(study_folder, edit):
    """A study of a few questions with practice, and one attention check."""
    edit(study_folder / "study.yaml", "groups: 10", "groups: 58")
    edit(study_folder / "study.yaml", "attention_check_spacing: 5", "attention_check_spacing: 1")
    edit(study_folder / "study.yaml", "max_run: {of: [outcome], length: 4}", "max_run: {of: [outcome], length: 5}")
    return study_folder


def rows(study, session):
    with local_desk(study, None) as (_, store):
        return trials_of(store, session.session)


@pytest.mark.parametrize("name", ["blackbox-predict", "intuition-single"])
def test_a_session_of_each_task_is_the_plan_of_its_group_and_seed(lab, tmp_path, name):
    from equipoise.studies import copy_sample_study

    copy_sample_study(name, tmp_path / "study")
    study = load_study(tmp_path / "study")
    visit = lab(study, group=3)
    assert visit.outcome is Outcome.COMPLETED
    trials = rows(study, visit.session)
    plan = plan_session(study, 3, visit.session.seed)
    assert [(t["trial_index"], t["phase"], t["item_id"]) for t in trials] == [
        (trial.trial_index, trial.phase.value, trial.item_id) for trial in plan.trials
    ]
    assert visit.stage.trials == [trial.phase.value for trial in plan.trials]
    assert visit.stage.codes == visit.stage.trials
    for trial in trials:
        assert (trial["source"], trial["group"], trial["status"], trial["onset_source"]) == (
            "lab",
            3,
            "completed",
            "flip",
        )
        assert trial["rt_ms"] == 1200 and trial["fixation_ms"] == 200.4 and trial["attempt"] == 1
    scored = read_trials(study.store_path)
    assert scored["correct"].notna().all()


def test_the_same_group_and_seed_give_the_same_trials_in_laboratory_and_web(lab, small, tmp_path):
    study = load_study(small)
    lab(study)
    web = str(tmp_path / "web.db")
    with local_desk(study, web) as (desk, _):
        take_on_the_web(desk._client)
    in_lab, on_web = (read_trials(path).sort_values("trial_index") for path in (study.store_path, Path(web)))
    same = ["group", "seed", "trial_index", "phase", "item_id", "task", "content", "key"]
    assert in_lab[same].values.tolist() == on_web[same].values.tolist()
    assert set(in_lab["seed"]) == {1}


def test_without_consent_nothing_is_stored(lab, small):
    study = load_study(small)
    visit = lab(study, lambda stage: press("2" if "agree" in {r.name for r in stage.picture.regions} else "right"))
    assert visit.outcome is Outcome.DECLINED and visit.session is None
    assert "Nothing was stored" in visit.stage.seen[-1]
    with local_desk(study, None) as (_, store):
        assert store.trials() == [] and store.identities(study) == []


def leaving_at(n_trials, menu):
    """Be careful, but press escape on a trial, and then what the menus get."""
    menu = list(menu)

    def person(stage):
        names = {region.name for region in stage.picture.regions}
        if len(stage.trials) == n_trials and menu:
            return press(menu.pop(0)) if "stay" in names else press(ESCAPE)
        return careful(stage)

    return person


def test_who_stops_for_now_goes_on_with_the_same_trial_and_nothing_comes_twice(lab, small):
    study = load_study(small)
    first = lab(study, leaving_at(3, ["2"]))
    assert first.outcome is Outcome.LEFT
    answered = [t for t in rows(study, first.session) if t["received_at"]]
    assert len(answered) == 2
    second = lab(study)
    assert second.outcome is Outcome.COMPLETED and second.session.session == first.session.session
    assert "Welcome back" in second.stage.seen[0]
    trials = rows(study, second.session)
    assert [t["attempt"] for t in trials] == [2 if t["trial_index"] == 2 else 1 for t in trials]
    assert [t["visit"] for t in trials] == [1 if t["trial_index"] < 2 else 2 for t in trials]
    with pytest.raises(InputError, match=r"P01.*completed.*--session 2"):
        lab(study)


def test_who_thinks_of_leaving_and_stays_sees_the_trial_again(lab, small):
    study = load_study(small)
    visit = lab(study, leaving_at(2, ["1"]))
    assert visit.outcome is Outcome.COMPLETED
    assert [t["attempt"] for t in rows(study, visit.session)][:3] == [1, 2, 1]


def test_who_leaves_and_wants_the_answers_deleted_is_asked_once_more(lab, small):
    study = load_study(small)
    stays = lab(study, leaving_at(3, ["3", "1"]), participant="P01")
    assert stays.outcome is Outcome.COMPLETED
    leaves = lab(study, leaving_at(3, ["3", "2"]), participant="P02")
    assert leaves.outcome is Outcome.WITHDRAWN
    assert all(t["received_at"] is None and t["status"] == "withdrawn" for t in rows(study, leaves.session))
    kept = {path.name.partition("_")[0] for path in (study.folder / "data" / "lab").iterdir()}
    assert kept == {"P01"}, "no file holds what was to be deleted"
    assert leaves.table is None


def test_who_asks_for_the_way_out_before_the_consent_has_chosen_nothing_yet(lab, small):
    pressed = iter([ESCAPE, "2"])
    visit = lab(load_study(small), lambda _: press(next(pressed, "right")))
    assert "Nothing has been stored so far." in visit.stage.seen[1]
    assert visit.outcome is Outcome.DECLINED


def test_a_participant_who_cannot_go_on_is_told_before_the_window_closes(lab, small):
    study, seen = load_study(small), []
    lab(study)

    def person(stage):
        seen.append(stage.seen[-1])
        return careful(stage)

    with pytest.raises(InputError, match="has completed session 1"):
        lab(study, person)
    assert "Please tell the experimenter" in seen[-1]


def test_who_stopped_during_practice_reads_the_instructions_again(lab, small, edit):
    edit(
        small / "study.yaml",
        "practice: [practice-1]",
        "practice: [practice-1]\npractice_criterion: {correct: 1, rounds: 3}",
    )
    study = load_study(small)
    lab(study, leaving_at(2, ["2"]))
    visit = lab(study)
    back = next(number for number, screen in enumerate(visit.stage.seen) if "Welcome back" in screen)
    assert "absorbed" in visit.stage.seen[back + 1], "the instructions"
    assert not visit.stage.trials or visit.outcome is not None


def test_who_to_turn_to_is_there_at_the_end_too(lab, small):
    (small / "contact.md").write_text("Write to Ada, ada@example.org.")
    asked = []

    def person(stage):
        names = {region.name for region in stage.picture.regions}
        if {"next", "contact"} <= names and not asked:
            asked.append(stage.seen[-1])
            return press("1")
        return careful(stage)

    visit = lab(load_study(small), person)
    assert "Write this code down" in asked[0]
    assert "Write to Ada" in visit.stage.seen[-2]
    assert visit.stage.seen[-1] == asked[0]


def test_who_to_turn_to_can_be_read_at_any_moment(lab, small):
    (small / "contact.md").write_text("Write to Ada, ada@example.org.")
    study = load_study(small)
    read = []

    def person(stage):
        names = {region.name for region in stage.picture.regions}
        if "Write to Ada" in stage.seen[-1]:
            read.append(len(stage.trials))
            return press("right")
        if {"stay", "contact"} <= names:
            return press("4") if len(read) == 0 else press("1")
        return press(ESCAPE) if len(stage.trials) == 2 and not read else careful(stage)

    assert lab(study, person).outcome is Outcome.COMPLETED
    assert read == [2]


@pytest.mark.parametrize(
    ("needs", "here", "sentence"),
    [
        ("width_px: 1025", {}, "a window of at least 1025 x 768 pixels"),
        ("height_px: 900", {}, "and this one has 1024 x 768; run it on a larger screen"),
        ("refresh_hz: 100", {}, "a screen of 100 Hz, and this one has 59.9"),
        ("refresh_hz: 100", {"is_synchronised": False, "measured_hz": 900.0}, "and this one has 60.0"),
        ("width_px: 1024\n  height_px: 768\n  refresh_hz: 60", {}, None),
        ("refresh_hz: 100", {"is_synchronised": False, "nominal_hz": None}, None),
    ],
)
def test_a_machine_must_have_what_the_study_asks_of_every_device(small, edit, needs, here, sentence):
    edit(small / "study.yaml", "\ndevice:\n", f"\ndevice:\n  {needs}\n")
    study = load_study(small)
    device = DEVICE.model_copy(update=here)
    with pytest.raises(InputError, match=f"study.yaml, device: .*{sentence}") if sentence else nullcontext():
        check_device(study, device)


def test_a_further_occasion_is_another_session_of_the_same_participant(lab, small):
    study = load_study(small)
    first, second = lab(study, occasion=1), lab(study, occasion=2)
    assert first.session.session != second.session.session
    assert first.session.participant == second.session.participant


def test_who_withdraws_later_is_deleted_from_store_and_files_by_the_laboratorys_code(lab, small):
    study = load_study(small)
    for occasion in (1, 2):
        lab(study, occasion=occasion)
    stays = lab(study, participant="P1")
    result = CliRunner().invoke(main, ["withdraw", str(small), "--participant", "P01"])
    assert result.exit_code == 0, result.stderr
    trials = read_trials(study.store_path)
    assert set(trials[trials["session"] != stays.session.session]["status"]) == {"withdrawn"}
    assert set(trials[trials["response"].notna()]["session"]) == {stays.session.session}
    kept = {path.name.partition("_")[0] for path in (small / "data" / "lab").iterdir()}
    assert kept == {"P1"}


def test_files_of_who_withdrew_elsewhere_go_with_the_next_visit(lab, small):
    study = load_study(small)
    leaves = lab(study, participant="P01", kind=Kind.SIMULATED)
    stays = lab(study, participant="P02")
    with local_desk(study, None) as (_, store):
        store.withdraw_session(leaves.session.session)
        delete_withdrawn(study, store)
    assert stays.table.exists() and not leaves.table.exists()


def test_what_was_withdrawn_where_it_was_handed_on_to_is_deleted_here_too(lab, small, tmp_path):
    study = load_study(small)
    leaves, stays = lab(study, participant="P01"), lab(study, participant="P02")
    into = other_store(tmp_path)
    sent(study, into)
    with local_desk(study, into) as (_, store):
        store.withdraw_session(leaves.session.session)
    result = CliRunner().invoke(main, ["lab", "send", str(small), "--into", into])
    assert "Withdrawn there, and so deleted here too: 1." in result.stdout
    trials = read_trials(study.store_path)
    assert set(trials[trials["response"].notna()]["session"]) == {stays.session.session}
    assert stays.table.exists() and not leaves.table.exists()
    assert "Withdrawn" not in CliRunner().invoke(main, ["lab", "send", str(small), "--into", into]).stdout


def test_a_table_that_cannot_be_written_stops_no_session(lab, small):
    study = load_study(small)
    first = lab(study, leaving_at(3, ["2"]))
    first.table.unlink()
    first.table.mkdir()  # stands for a table that is open in Excel
    second = lab(study)
    assert second.outcome is Outcome.COMPLETED
    assert "could not be written" in second.problem
    assert all(t["received_at"] for t in rows(study, second.session))
    first.table.rmdir()
    with local_desk(study, None) as (_, store):
        files = LabFiles(study, store, Visitor("P01", 1, None), DEVICE)
        files.write_table(second.session)
    assert files.problem is None and first.table.is_file()


def test_the_table_of_a_rehearsal_says_that_it_is_one(lab, small):
    study = load_study(small)
    rehearsal, real = lab(study, kind=Kind.SIMULATED), lab(study)
    assert "rehearsal" in rehearsal.table.name and "rehearsal" not in real.table.name
    kinds = [set(pd.read_csv(each.table)["kind"]) for each in (rehearsal, real)]
    assert kinds == [{"simulated"}, {"human"}]


def test_a_session_keeps_its_files_whatever_the_clock_says(lab, small, monkeypatch):
    study = load_study(small)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    first = lab(study, leaving_at(3, ["2"]))
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    second = lab(study)
    assert second.table == first.table
    assert [t["attempt"] for t in rows(study, second.session)][:4] == [1, 1, 2, 1]
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("damage", [b"\xff\xfe\n", b"5\n", b"null\n", b'{"trial_index": "x"}\n', b"{\n"])
def test_damaged_notes_stop_no_session(lab, small, damage):
    study = load_study(small)
    first = lab(study, leaving_at(3, ["2"]))
    (begun,) = first.table.parent.glob("*_begun.jsonl")
    begun.write_bytes(begun.read_bytes() + b"\n" + damage)
    second = lab(study)
    assert [t["attempt"] for t in rows(study, second.session)][:4] == [1, 1, 2, 1]


def test_an_answer_that_cannot_be_stored_at_the_moment_is_handed_in_again(lab, small):
    study, refused = load_study(small), []

    class Full(Desk):
        """As a server whose disk is full for a while."""

        def __init__(self, desk):
            self.__dict__.update(desk.__dict__)

        def respond(self, session, responses):
            if responses[0].trial_index == 2 and len(refused) < 2:
                refused.append(responses[0])
                raise NotNow("the disk is full")
            assert responses[0].trial_index != 2 or responses == refused[:1], "the same answer"
            return super().respond(session, responses)

    def person(stage):
        return press("1") if "could not be saved yet" in stage.seen[-1] else careful(stage)

    visit = lab(study, person, wrap=lambda desk, store: Full(desk))
    assert visit.outcome is Outcome.COMPLETED and len(refused) == 2
    assert [t["attempt"] for t in rows(study, visit.session)][2] == 1


def test_sessions_that_begun_with_another_version_are_told_of_and_not_shown_other_items(lab, small, edit, tmp_path):
    lab(load_study(small), leaving_at(3, ["2"]))
    edit(small / "study.yaml", 'version: "1.0"', 'version: "1.1"')
    newer = load_study(small)
    with pytest.raises(InputError, match=r"begun session 1 with version 1\.0"):
        lab(newer)
    lab(newer, occasion=2)
    result = CliRunner().invoke(main, ["lab", "send", str(small), "--into", other_store(tmp_path)])
    assert result.exit_code == 1
    assert "Laboratory sessions there: 1;" in result.stdout
    assert "1 sessions of version 1.0 of this study; hand them on from the folder of that version" in result.stderr


def test_two_laboratories_with_the_same_codes_are_told_and_can_be_told_apart(lab, small, tmp_path):
    study, into = load_study(small), other_store(tmp_path)
    lab(study, store=into)
    lab(study)
    send = ["lab", "send", str(small), "--into", into]
    refused = CliRunner().invoke(main, send)
    assert refused.exit_code == 1 and "another session 1 of a participant P01" in refused.stderr
    for _ in range(2):
        assert CliRunner().invoke(main, [*send, "--prefix", "B-"]).exit_code == 0
    with local_desk(study, into) as (_, store):
        assert sorted(one["external_id"] for one in store.identities(study)) == ["B-P01", "P01"]


def test_a_store_is_not_handed_on_to_itself(lab, small):
    study = load_study(small)
    lab(study)
    with pytest.raises(InputError, match="this is the store where the sessions are"):
        send_sessions(study, None, None, str(study.store_path))


def test_answers_that_were_given_elsewhere_in_place_of_ours_are_told_of(lab, small, tmp_path):
    """Two machines that went on with one session while the network was cut."""
    study, into = load_study(small), other_store(tmp_path)
    lab(study, leaving_at(3, ["2"]))
    assert sent(study, into) == (1, 2)
    lab(study, store=into)
    lab(study)
    told = send_sessions(study, None, None, into)
    assert told.n_new == 0 and len(told.refused) == 1


def test_a_session_that_went_on_at_another_machine_is_not_gone_on_with_here(lab, small, tmp_path):
    study, into = load_study(small), other_store(tmp_path)
    lab(study, leaving_at(3, ["2"]))
    sent(study, into)
    lab(study, leaving_at(3, ["2"]), store=into)
    with (
        server_elsewhere(study, into) as (there, _),
        pytest.raises(InputError, match="was taken at another machine, and its answers are there"),
    ):
        lab(study, wrap=lambda desk, store: Relay(study, store, desk, there))


def test_a_session_that_was_begun_goes_on_whatever_the_server_says(lab, small, edit, tmp_path):
    edit(small / "study.yaml", "\ntimeline:", "\nrecruitment:\n  quota: 1\ntimeline:")
    study, into = load_study(small), other_store(tmp_path)
    lab(study, leaving_at(3, ["2"]), participant="P01")
    lab(study, leaving_at(3, ["2"]), participant="P02", store=into)  # takes the server's only place
    with server_elsewhere(study, into) as (there, elsewhere):
        relays = []

        def wrap(desk, store):
            relays.append(Relay(study, store, desk, there))
            return relays[-1]

        assert lab(study, wrap=wrap).outcome is Outcome.COMPLETED
        assert relays[-1].finish()
        assert sorted(row["status"] for row in elsewhere.sessions(study)) == ["active", "completed"]


def test_what_was_not_handed_on_at_the_end_is_by_the_same_command(lab, small, tmp_path):
    study, into = load_study(small), other_store(tmp_path)
    lab(study)
    with server_elsewhere(study, into) as (there, elsewhere):
        with pytest.raises(InputError, match="has completed session 1"):
            lab(study, wrap=lambda desk, store: Relay(study, store, desk, there))
        assert {row["status"] for row in elsewhere.sessions(study)} == {"completed"}


def test_a_login_page_in_place_of_the_server_is_told_of(small):
    page = httpx.MockTransport(lambda request: httpx.Response(200, text="<html>Please log in</html>"))
    desk = Desk(httpx.Client(transport=page, base_url="https://study.example.org"), "token")
    with pytest.raises(InputError, match=r"answers at study\.example\.org is no server of Equipoise"):
        desk.find("P01", 1)


def test_options_may_stand_before_the_study(small):
    result = CliRunner().invoke(main, ["lab", "--group", "0", str(small), "--participant", "P01"])
    assert "Invalid value for '--group'" in result.stderr
    assert "Commands:" in CliRunner().invoke(main, ["lab", "--help"]).stdout


def test_nobody_is_asked_for_consent_where_there_is_no_place(lab, small, edit):
    edit(small / "study.yaml", "\ntimeline:", "\nrecruitment:\n  quota: 1\ntimeline:")
    study = load_study(small)
    lab(study, leaving_at(3, ["2"]))
    seen = []

    def person(stage):
        seen.append(stage.seen[-1])
        return careful(stage)

    with pytest.raises(InputError, match="The study has no place for P02"):
        lab(study, person, participant="P02")
    assert len(seen) == 1 and "Please tell the experimenter" in seen[0]


def test_a_laboratorys_code_names_nobody_elsewhere(lab, small):
    lab(load_study(small), leaving_at(3, ["2"]))
    for arguments in (["withdraw"], ["assignment", "release", "--reason", "return"], ["identities", "delete"]):
        refused = CliRunner().invoke(main, [*arguments, str(small), "--panel-id", "P01"])
        assert refused.exit_code == 2 and "nobody with this id has begun this study" in refused.stderr
    released = ["assignment", "release", str(small), "--participant", "P01", "--reason", "return"]
    assert CliRunner().invoke(main, released).exit_code == 0
    deleted = CliRunner().invoke(main, ["identities", "delete", str(small), "--participant", "P01"])
    assert deleted.stdout == "Deleted ids and codes: 1.\n"
    assert "nobody with this code" in CliRunner().invoke(main, released).stderr


def test_all_occasions_of_a_participant_are_in_the_analysis_and_it_says_so(lab, small, tmp_path, edit):
    for rule in ("attention_check, max_failed: 0", "median_rt, min_ms: 2000"):
        edit(small / "study.yaml", f"    - {{rule: {rule}}}\n", "")
    edit(
        small / "study.yaml",
        "analysis:\n",
        "analysis:\n  tables: {retest: {by: [occasion], of: [correct]}}\n",
    )
    study = load_study(small)
    for participant in ("P01", "P02", "P03"):
        for occasion in (1, 2):
            lab(study, participant=participant, occasion=occasion)
    analyze_study(study, tmp_path / "results")
    results = tmp_path / "results"
    assert "3 participants completed the study on several occasions" in (results / "report.html").read_text()
    retest = pd.read_csv(results / "tables" / "retest.csv")
    assert retest["occasion"].tolist() == [1, 2] and retest["n"].nunique() == 1
    flow = pd.read_csv(results / "tables" / "exclusions.csv").query("step == 'included'")
    assert flow["n_participants"].tolist() == [3]


def test_a_deadline_passes_a_question_unanswered_but_never_practice(lab, small, edit):
    edit(small / "study.yaml", "fixation_ms: 200", "fixation_ms: 200\n  deadline_ms: 5000")
    study = load_study(small)

    def slow(stage):
        if stage.until_ms is not None:
            assert stage.until_ms == 5000
            return None
        return careful(stage)

    trials = rows(study, lab(study, slow).session)
    assert [t["missing"] for t in trials] == [None if t["phase"] == "practice" else "deadline" for t in trials]
    assert all(t["response"] == "null" and t["rt_ms"] is None for t in trials if t["phase"] != "practice")


def test_answers_within_the_time_for_reading_are_not_taken_and_counted(lab, small, edit):
    edit(small / "study.yaml", "fixation_ms: 200", "fixation_ms: 200\n  reading_ms: 3000")
    study = load_study(small)
    early = []

    def hasty(stage):
        if stage.until_ms == 3000:
            early.append(len(stage.trials))
            return press("a") if early.count(len(stage.trials)) < 3 else None
        return careful(stage)

    trials = rows(study, lab(study, hasty).session)
    assert {t["signals"] for t in trials} == {'{"too_early":2}'}


def test_presses_during_the_fixation_and_losses_of_the_focus_are_in_the_data(lab, small):
    study = load_study(small)

    def hasty(stage):
        stage.early = 3 if len(stage.trials) == 1 else 0  # looked at when the next one begins
        stage.n_focus_lost = int(len(stage.trials) == 2)
        return careful(stage)

    lab(study, hasty)
    trials = read_trials(study.store_path).sort_values("trial_index")
    assert trials["signal_too_early"].tolist() == [0, 3, *[0] * (len(trials) - 2)]
    assert trials["focus_lost"].tolist() == [0, 1, *[0] * (len(trials) - 2)]
    assert trials["signal_pasted"].isna().all()


def test_practice_that_is_not_passed_ends_the_study_where_it_says_so(lab, small, edit):
    edit(
        small / "study.yaml",
        "practice: [practice-1]",
        "practice: [practice-1]\npractice_criterion: {correct: 1, rounds: 2, otherwise: end}",
    )
    study = load_study(small)
    visit = lab(study)
    assert visit.outcome is Outcome.ENDED
    assert visit.stage.trials == ["practice", "practice"]
    assert any("Practise once more" in seen for seen in visit.stage.seen)
    assert "too few right answers" in visit.stage.seen[-1]


def test_breaks_come_after_so_many_questions(lab, small, edit):
    edit(small / "study.yaml", "debrief: debrief.md", "debrief: debrief.md\n  breaks: {every: 2}")
    study = load_study(small)
    visit = lab(study)
    n_questions = visit.stage.trials.count("test") + visit.stage.trials.count("attention_check")
    assert sum("Time for a break" in seen for seen in visit.stage.seen) == (n_questions - 1) // 2


def test_an_interrupted_trial_is_passed_over_where_the_study_says_so(lab, small, edit):
    edit(small / "study.yaml", "timing:", "resume: {interrupted_trial: skip}\n\ntiming:")
    study = load_study(small)

    class Killed(BaseException):
        pass

    def killed(stage):
        if len(stage.trials) == 3:
            raise Killed
        return careful(stage)

    with pytest.raises(Killed):
        lab(study, killed)
    visit = lab(study)
    assert visit.outcome is Outcome.COMPLETED
    trials = rows(study, visit.session)
    assert [t["missing"] for t in trials][:4] == [None, None, "interrupted", None]
    assert any("passed over" in seen for seen in visit.stage.seen)


def test_questions_about_the_person_may_be_answered_or_left_out(lab, small, edit):
    edit(small / "study.yaml", "debrief: debrief.md", "debrief: debrief.md\n  demographics: about.yaml")
    (small / "about.yaml").write_text(
        "questions:\n- {name: age, ask: How old are you?, answer: number, low: 18, high: 99}\n"
        "- {name: hand, ask: Which hand?, answer: choice, options: [left, right]}\n"
        "- {name: remark, ask: Anything else?, answer: text}\n"
    )
    study = load_study(small)
    typed = ["1", "2", "return", "backspace", "backspace", "4", "2", "return", "2", "return", "return"]

    def person(stage):
        return press(typed.pop(0)) if typed and "About you" in stage.seen[-1] else careful(stage)

    visit = lab(study, person)
    with local_desk(study, None) as (_, store):
        (session,) = store.sessions(study)
    said = {name: session[f"demographics_{name}"] for name in ("age", "hand", "remark")}
    assert said == {"age": 42, "hand": "right", "remark": None}
    assert visit.outcome is Outcome.COMPLETED


def test_a_rehearsal_is_no_persons_data(lab, small):
    study = load_study(small)
    lab(study, kind=Kind.SIMULATED)
    assert set(read_trials(study.store_path)["kind"]) == {"simulated"}
    with local_desk(study, None) as (_, store):
        assert store.identities(study) == []


def test_items_that_only_a_browser_can_show_are_refused(small):
    study = load_study(small)
    study.battery.items[0].__dict__["task"] = "jspsych"
    with pytest.raises(InputError, match=r"study\.yaml: the item .* only a browser can show"):
        check_tasks(study)


def sent(study, into):
    """Hand everything on that is in the study's store; return how many sessions and new answers there are."""
    handed_on = send_sessions(study, None, None, into)
    assert handed_on.refused == ()
    return handed_on.n_sessions, handed_on.n_new


def other_store(tmp_path):
    return str(tmp_path / "elsewhere.db")


def test_sessions_are_handed_on_to_another_store_whole_and_never_twice(lab, small, tmp_path):
    study = load_study(small)
    done = lab(study, participant="P01", group=5)
    lab(study, leaving_at(4, ["2"]), participant="P02")
    lab(study, leaving_at(4, ["3", "2"]), participant="P03")
    lab(study, kind=Kind.SIMULATED)
    into = other_store(tmp_path)
    n_trials = len(rows(study, done.session))
    assert sent(study, into) == (3, n_trials + 3)
    assert sent(study, into) == (3, 0)
    with local_desk(study, into) as (_, store):
        there = trials_of(store, done.session.session)
        sessions = {row["session"]: row["status"] for row in store.sessions(study)}
    here = rows(study, done.session)
    same = set(here[0]) - {"received_at"}
    assert [{name: row[name] for name in same} for row in there] == [{name: row[name] for name in same} for row in here]
    assert sorted(sessions.values()) == ["active", "completed", "withdrawn"]
    gone_on = lab(study, participant="P02")
    assert sent(study, into) == (3, len(rows(study, gone_on.session)) - 3)
    with local_desk(study, into) as (_, store):
        assert {row["status"] for row in store.sessions(study)} == {"completed", "withdrawn"}


def test_two_laboratories_without_a_connection_come_together_in_one_store(lab, small, tmp_path):
    study = load_study(small)
    stores = [str(tmp_path / f"lab-{name}.db") for name in "ab"]
    for store, participant in zip(stores, ("A01", "B01"), strict=True):
        lab(study, participant=participant, store=store)
    for store in stores:
        send_sessions(study, store, None, None)
    trials = read_trials(study.store_path)
    assert trials["participant"].nunique() == trials["session"].nunique() == 2
    assert (trials["status"] == "completed").all()


class Broken(httpx.BaseTransport):
    """A network that is cut after so many requests."""

    def __init__(self, transport, n_requests):
        self.transport, self.n_left = transport, n_requests

    def handle_request(self, request):
        self.n_left -= 1
        if self.n_left < 0:
            raise httpx.ConnectError("the cable is out")
        return self.transport.handle_request(request)


@contextmanager
def server_elsewhere(study, location, n_requests=10**9):
    """Lend a desk of another server, whose network is cut after so many requests."""
    with local_desk(study, location) as (desk, store):
        desk._client._transport = Broken(desk._client._transport, n_requests)
        yield desk, store


def test_with_a_server_the_place_is_the_servers_and_all_is_there_at_the_end(lab, small, tmp_path):
    study = load_study(small)
    into = other_store(tmp_path)
    for participant in ("W01", "W02"):
        lab(study, participant=participant, store=into)
    relays = []
    with server_elsewhere(study, into) as (there, elsewhere):

        def wrap(desk, store):
            relays.append(Relay(study, store, desk, there))
            return relays[-1]

        visit = lab(study, wrap=wrap)
        assert relays[-1].finish()
        assert (visit.session.group, visit.session.seed) == (1, 3), "two were begun at the server, and failed the check"
        assert [t["response"] for t in trials_of(elsewhere, visit.session.session)] == [
            t["response"] for t in rows(study, visit.session)
        ]
        assert {row["status"] for row in elsewhere.sessions(study)} == {"completed"}


def test_when_the_network_is_cut_the_session_goes_on_and_is_handed_on_later(lab, small, tmp_path, monkeypatch):
    study = load_study(small)
    into = other_store(tmp_path)
    relays = []
    with server_elsewhere(study, into, n_requests=6) as (there, elsewhere):

        def wrap(desk, store):
            relays.append(Relay(study, store, desk, there))
            return relays[-1]

        visit = lab(study, wrap=wrap)
        assert visit.outcome is Outcome.COMPLETED
        assert not relays[-1].finish()
        assert relays[-1].problem == "the cable is out"
        n_waiting = sum(t["received_at"] is None for t in trials_of(elsewhere, visit.session.session))
    assert n_waiting > 0 and sent(study, into)[1] == n_waiting
    with local_desk(study, into) as (_, elsewhere):
        assert {row["status"] for row in elsewhere.sessions(study)} == {"completed"}


def test_a_server_that_cannot_be_reached_begins_nothing(lab, small, tmp_path):
    study = load_study(small)
    with (
        server_elsewhere(study, other_store(tmp_path), n_requests=0) as (there, _),
        pytest.raises(InputError, match=r"cannot be reached .* nothing was begun"),
    ):
        lab(study, wrap=lambda desk, store: Relay(study, store, desk, there))
    with local_desk(study, None) as (_, store):
        assert store.sessions(study) == []


def test_people_in_the_laboratory_and_on_the_web_stand_in_one_analysis(lab, small, tmp_path, edit):
    for rule in ("attention_check, max_failed: 0", "median_rt, min_ms: 2000"):
        edit(small / "study.yaml", f"    - {{rule: {rule}}}\n", "")
    study = load_study(small)
    lab(study, group=1)
    with local_desk(study, None) as (desk, _):
        take_on_the_web(desk._client)
    trials = read_trials(study.store_path)
    assert set(trials["source"]) == {"lab", "web"}
    in_lab, on_web = (trials[trials["source"] == source].sort_values("trial_index") for source in ("lab", "web"))
    assert set(in_lab["group"]) == {1} and set(on_web["group"]) == {2}, "they share the places of the groups"
    analyze_study(study, tmp_path / "results")
    people = pd.read_csv(tmp_path / "results" / "tables" / "participants.csv")
    assert sorted(people["source"]) == ["lab", "web"]


def take_on_the_web(client):
    """Answer a whole session as a browser would."""
    consent_digest = client.get("/api/study").json()["consent_digest"]
    start = {"start_id": str(uuid.uuid4()), "consent_digest": consent_digest, "kind": "human"}
    answers = {"blackbox_predict": "absorbed", "multiple_choice": 1}
    session = client.post("/api/session", json=start).raise_for_status().json()
    for trial in session["trials"]:
        answer = {
            "response_id": str(uuid.uuid4()),
            "trial_index": trial["trial_index"],
            "response": answers[trial["task"]],
        }
        reply = client.post("/api/responses", json={"session": session["session"], "responses": [answer]})
        assert reply.is_success, reply.text
    client.post("/api/complete", json={}).raise_for_status()


def test_a_session_that_is_refused_does_not_keep_the_others_back(lab, small, tmp_path):
    study = load_study(small)
    into = other_store(tmp_path)
    lab(study, leaving_at(3, ["3", "2"]), participant="P01", store=into)
    for participant in ("P01", "P02"):
        lab(study, participant=participant)
    handed_on = send_sessions(study, None, None, into)
    assert handed_on.n_sessions == 1 and len(handed_on.refused) == 1
    assert handed_on.refused[0].startswith("P01, session 1: ")
    assert send_sessions(study, None, None, into).n_new == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--participant", "P01", "--rehearsal", "--server", "http://127.0.0.1:9"],
            "a rehearsal stays on this machine",
        ),
        (["--participant", "P01", "--group", "0"], "Invalid value for '--group'"),
        ([], "Missing option '--participant'"),
    ],
)
def test_a_session_that_cannot_be_asked_for_is_refused_in_a_sentence(small, arguments, sentence):
    result = CliRunner().invoke(main, ["lab", str(small), *arguments])
    assert result.exit_code == 2 and sentence in result.stderr
    assert not (small / "data").exists()


def test_handing_on_needs_one_place_to_go_to(lab, small, tmp_path):
    for arguments in ([], ["--server", "http://127.0.0.1:9", "--into", "other.db"]):
        result = CliRunner().invoke(main, ["lab", "send", str(small), *arguments])
        assert result.exit_code == 2 and "with --server or with --into" in result.stderr
    study = load_study(small)
    lab(study)
    into = other_store(tmp_path)
    result = CliRunner().invoke(main, ["lab", "send", str(small), "--into", into])
    assert result.exit_code == 0
    assert result.stdout == f"Laboratory sessions there: 1; answers that were new: {len(read_trials(Path(into)))}.\n"


def test_a_server_that_is_not_there_or_whose_token_is_not_known_is_told_of(lab, small, monkeypatch):
    lab(load_study(small))
    send = ["lab", "send", str(small), "--server", "http://127.0.0.1:9"]
    monkeypatch.delenv("EQUIPOISE_RESEARCHER_TOKEN", raising=False)
    assert "set the environment variable EQUIPOISE_RESEARCHER_TOKEN" in CliRunner().invoke(main, send).stderr
    monkeypatch.setenv("EQUIPOISE_RESEARCHER_TOKEN", "token")
    assert "cannot be reached" in CliRunner().invoke(main, send).stderr


@pytest.mark.parametrize(
    ("server", "sentence"),
    [
        ("http://study.example.org", "anybody on the way could read the researcher's token"),
        ("http://192.168.1.5:8000", "anybody on the way could read the researcher's token"),
        ("study.example.org", "no address of a server; write https://"),
        ("ftp://localhost", "no address of a server; write https://"),
        ("http://", "no address of a server; write https://"),
        ("http://localhost:port", "no address of a server; write https://"),
    ],
)
def test_the_researchers_token_goes_nowhere_unencrypted(monkeypatch, server, sentence):
    monkeypatch.setenv("EQUIPOISE_RESEARCHER_TOKEN", "token")
    with pytest.raises(InputError, match=sentence), remote_desk(server):
        pass


def test_items_of_a_study_are_not_written_in_letters_of_several_sizes(small):
    assert sheet_for(load_study(small), SIZE_PX).item_px is not None
