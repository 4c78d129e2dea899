"""When the eye tracker of a visit is started, calibrated and stopped, and what is done with its file."""

import csv
from itertools import pairwise

import pytest

from batteries.errors import InputError
from experiment.lab.screens.layout.screen_image import ESCAPE
from experiment.lab.visitor import VisitOutcome
from experiment.load_study import load_study
from tests.block_study import make_block_study
from tests.experiment.lab.visits.lab_visits import WITHDRAW, careful, leaving_at, names_on, press, rows

AHEAD_S = 1000
"""Difference between the clock of the imitated eye tracker and the clock of the visit."""


class ImitatedEyeTracker:
    """An eye tracker that stops after `n_messages` messages."""

    def __init__(self, n_messages=10**6):
        self.n_left = n_messages
        self.is_open = False
        self.file, self.problem = None, None
        self.done, self.messages = [], []

    def open(self, file, session):
        file.write_text("gaze")
        self.file, self.is_open = file, True
        self.done.append("open")

    def calibrate(self, display):
        self.done.append(("calibrate", len(display.trials), display.seen[-1]))

    def send(self, text, at_ns):
        if not self.is_open:
            return None
        self.n_left -= 1
        if self.n_left < 0:
            self.is_open = False
            raise InputError("The eye tracker no longer answers. Fix: check it.")
        self.messages.append(text)
        return at_ns / 1e9 + AHEAD_S

    def close(self):
        """Write the rest of the data, as ioHub does."""
        if self.is_open:
            self.is_open = False
            self.file.write_text("gaze and more gaze")
            (self.file.parent / "data").mkdir(exist_ok=True)
            (self.file.parent / "data" / f"{self.file.stem}.EDF").write_text("the file of an EyeLink")
            self.done.append("close")

    @property
    def calibrated_before(self):
        """The numbers of trials before the calibrations."""
        return [step[1] for step in self.done if step[0] == "calibrate"]


@pytest.fixture
def blocks(tmp_path):
    return load_study(make_block_study(tmp_path / "study"))


def table_of(visit, run=1):
    (path,) = (visit.table.parent / "events").glob(f"*{visit.session.session}_run-{run}_events.tsv")
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines(), delimiter="\t"))


def test_it_is_started_after_practice_and_calibrated_before_each_block_and_after_each_break(lab, blocks):
    tracker = ImitatedEyeTracker()
    visit = lab(blocks, eye_tracker=tracker)
    assert visit.outcome is VisitOutcome.COMPLETED
    assert [step for step in tracker.done if isinstance(step, str)] == ["open", "close"]
    assert tracker.calibrated_before[0] == visit.display.trials.count("practice") > 0
    kinds = {"block": "part", "break": "part", "stimulus": "trial", "calibration": "calibration"}
    course = [kinds[row["trial_type"]] for row in table_of(visit) if row["trial_type"] in kinds]
    assert course.count("calibration") == len(tracker.calibrated_before) > 2
    for before, kind in pairwise(course):
        assert (before, kind) != ("part", "trial"), "a block begins, or a break ends, without a calibration"
        assert kind != "calibration" or before == "part"


def test_it_is_calibrated_before_each_block_also_without_breaks(lab, tmp_path):
    blocks = load_study(make_block_study(tmp_path / "study", lambda content: content["timeline"].pop("breaks")))
    tracker = ImitatedEyeTracker()
    visit = lab(blocks, eye_tracker=tracker)
    parts = [row["trial_type"] for row in table_of(visit) if row["trial_type"] in {"block", "calibration"}]
    assert parts == ["block", "calibration"] * 2


def test_each_event_since_the_start_has_a_message_and_its_time_on_the_clock_of_the_eye_tracker(lab, blocks):
    tracker = ImitatedEyeTracker()
    visit = lab(blocks, eye_tracker=tracker)
    table = table_of(visit)
    first = next(number for number, row in enumerate(table) if row["trial_type"] == "calibration")
    assert {row["eye_tracker_time"] for row in table[:first]} == {"n/a"}, "the eye tracker has not been started yet"
    ahead = [float(row["eye_tracker_time"]) - float(row["onset"]) for row in table[first:]]
    assert max(ahead) - min(ahead) < 2e-6
    expected = []
    for row in table[first:]:
        words = [row["trial_type"], f"onset_us={round(float(row['onset']) * 1e6)}"]
        if row["trial_index"] != "n/a":
            words += [f"trial_index={row['trial_index']}", f"phase={row['phase']}", f"item_id={row['item_id']}"]
        expected.append(" ".join(words))
    assert tracker.messages == expected
    assert table[-1]["trial_type"] == "session_end"


def test_a_participant_who_does_not_consent_is_not_recorded(lab, blocks):
    tracker = ImitatedEyeTracker()

    def person(display):
        return press("2") if "agree" in names_on(display) else careful(display)

    assert lab(blocks, person, eye_tracker=tracker).outcome is VisitOutcome.DECLINED
    assert tracker.done == []


def test_a_resumed_session_is_calibrated_again_and_has_a_file_for_each_visit(lab, blocks):
    first, second = ImitatedEyeTracker(), ImitatedEyeTracker()
    assert lab(blocks, leaving_at(4, ["2"]), eye_tracker=first).outcome is VisitOutcome.LEFT
    assert first.done[-1] == "close", "the recording stops when the participant leaves"
    visit = lab(blocks, eye_tracker=second)
    assert second.calibrated_before[0] == 0
    folder = visit.table.parent / "eye"
    names = [f"{visit.table.stem}_run-{number}.hdf5" for number in (1, 2)]
    assert sorted(path.name for path in folder.glob("*.hdf5")) == names


def test_the_experimenter_can_calibrate_within_a_block(lab, blocks):
    tracker = ImitatedEyeTracker()
    menu = [ESCAPE, "4"]

    def person(display):
        return press(menu.pop(0)) if len(display.trials) == 4 and menu else careful(display)

    assert lab(blocks, person, eye_tracker=tracker).outcome is VisitOutcome.COMPLETED
    assert 4 in tracker.calibrated_before
    without = lab(blocks, leaving_at(4, ["1"]), participant="P02")
    assert not any("for the experimenter" in screen for screen in without.display.seen)


def test_a_withdrawal_closes_and_deletes_the_file(lab, blocks):
    tracker = ImitatedEyeTracker()
    visit = lab(blocks, leaving_at(4, WITHDRAW), eye_tracker=tracker)
    assert visit.outcome is VisitOutcome.WITHDRAWN
    assert tracker.done[-1] == "close" and not tracker.file.exists()
    assert [path for path in tracker.file.parent.rglob("*") if path.is_file()] == []


def test_an_eye_tracker_that_stops_ends_the_visit_and_the_responses_are_stored(lab, blocks):
    tracker = ImitatedEyeTracker(n_messages=12)
    with pytest.raises(InputError, match=r"The eye tracker no longer answers\. Fix:"):
        lab(blocks, eye_tracker=tracker)
    visit = lab(blocks, eye_tracker=ImitatedEyeTracker())
    assert visit.outcome is VisitOutcome.COMPLETED
    stored = rows(blocks, visit.session)
    assert {row["visit"] for row in stored} == {1, 2} and all(row["response"] != "null" for row in stored)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--eye-tracker", "mouse"], "needs the size and the distance of the screen. Fix: add --monitor"),
        (["--eye-tracker", "mouse", "--monitor", "lab", "--window", "800", "600"], "omit --window and --windowed."),
        (["--eye-tracker", "missing.yaml"], "missing.yaml: this file does not exist."),
    ],
)
def test_an_invalid_eye_tracker_is_refused_before_anything_opens(command, options, problem):
    result = command(*options)
    assert result.exit_code == 2 and not result.was_opened
    assert problem in result.stderr
