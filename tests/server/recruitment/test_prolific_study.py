"""The request that makes the draft at Prolific: link, time, reward, places, prescreeners and completion codes."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.errors import InputError
from experiment.load_study import load_study
from experiment.study.prolific import ProlificSettings
from server.recruitment.prolific_study import completion_codes, study_request
from tests.equipoise.commands.recruit.panel_study import RECRUITMENT, make_panel_study

IDS = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_panel_study(tmp_path_factory.mktemp("draft") / "study").folder


def request_of(folder: Path, old: str = "", new: str = "", tokens: dict[int, str] | None = None) -> dict[str, Any]:
    """Return the request of the study, after one replacement in its `study.yaml`."""
    path = folder / "study.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    try:
        path.write_text(text.replace(old, new) if old else text, encoding="utf-8")
        return study_request(load_study(folder), tokens)
    finally:
        path.write_text(text, encoding="utf-8")


def test_the_request_has_the_link_time_reward_and_places(folder: Path) -> None:
    found = request_of(folder)
    assert found["external_study_url"] == f"https://study.example.org/?{IDS}"
    assert found["prolific_id_option"] == "url_parameters"
    assert found["total_available_places"] == 60
    assert found["estimated_completion_time"] == 10
    assert found["maximum_allowed_time"] == 29  # 2 + 20 + 6.32
    assert found["reward"] == 152  # 10 minutes of 9.10 per hour are 151.67 cents
    assert found["device_compatibility"] == ["desktop", "tablet", "mobile"]
    assert found["filters"] == []
    assert "is_external_study_url_secure" not in found
    assert found["internal_name"] == "blackbox-predict 1.0"


def test_each_outcome_has_a_code_of_its_type_with_its_action(folder: Path) -> None:
    codes = {
        one["code"]: (one["code_type"], one["actions"][0]["action"]) for one in request_of(folder)["completion_codes"]
    }
    assert codes == {
        "DONE1": ("COMPLETED", "MANUALLY_REVIEW"),
        "FAIL1": ("FAILED_ATTENTION_CHECK", "MANUALLY_REVIEW"),
        "NOCO1": ("NO_CONSENT", "REQUEST_RETURN"),
        "DEVI1": ("INCOMPATIBLE_DEVICE", "REQUEST_RETURN"),
    }


def test_a_request_for_a_return_has_a_reason_and_no_code_leads_to_a_rejection(folder: Path) -> None:
    actions = [
        action
        for one in request_of(folder, "failed_checks:", "practice_not_passed: {code: PRAC1}\n    failed_checks:")[
            "completion_codes"
        ]
        for action in one["actions"]
    ]
    assert len(actions) == 5
    assert all(action.get("return_reason") for action in actions if action["action"] == "REQUEST_RETURN")
    assert {action["action"] for action in actions} == {"MANUALLY_REVIEW", "REQUEST_RETURN"}


def test_prescreeners_and_a_keyboard_are_passed_to_prolific(folder: Path) -> None:
    prescreeners = (
        "wage_per_hour: 9.1\n    prescreeners:\n      - {filter_id: age, selected_range: {lower: 18, upper: 65}}\n"
        '      - {filter_id: first-language, selected_values: ["4"]}'
    )
    found = request_of(folder, "wage_per_hour: 9.1", prescreeners)
    assert found["filters"] == [
        {"filter_id": "age", "selected_range": {"lower": 18, "upper": 65}},
        {"filter_id": "first-language", "selected_values": ["4"]},
    ]
    assert request_of(folder, "phones: true", "keyboard: true")["device_compatibility"] == ["desktop"]


def test_a_secured_address_is_used_and_marked(folder: Path) -> None:
    secured = "    minutes: 10\n    wage_per_hour: 9.1\n  prolific_secured_url: https://safe.example.org/\n"
    plain = "    address: https://study.example.org/\n    minutes: 10\n    wage_per_hour: 9.1\n"
    found = request_of(folder, plain, secured)
    assert found["is_external_study_url_secure"] is True
    assert found["external_study_url"] == f"https://safe.example.org/?{IDS}"


@pytest.mark.parametrize(
    ("new", "places"),
    [("quota: 61", 61), ("quota_per_group: 7", 14), ("quota: 60\n  quota_per_group: 7", 14)],
)
def test_the_places_are_the_quota_or_the_sum_of_the_groups_whichever_is_smaller(
    folder: Path, new: str, places: int
) -> None:
    assert request_of(folder, "quota: 60", new)["total_available_places"] == places


def test_with_one_link_per_group_the_places_are_divided_without_remainder(folder: Path) -> None:
    found = request_of(folder, "quota: 60", "quota: 61", tokens={1: "1.abc", 2: "2.def"})
    assert "external_study_url" not in found
    assert found["access_details"] == [
        {"external_url": f"https://study.example.org/?{IDS}&group=1.abc", "total_allocation": 31},
        {"external_url": f"https://study.example.org/?{IDS}&group=2.def", "total_allocation": 30},
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    failed_checks: {code: FAIL1}\n", "", "no code for failed_checks.*Fix: add `failed_checks: {code: C"),
        ("    no_consent: {code: NOCO1}\n", "", "no code for no_consent.*Fix:"),
        ("    incompatible_device: {code: DEVI1}\n", "", "no code for incompatible_device.*Fix:"),
        ("code: FAIL1", "code: TODO-FAILED", "the completion code of failed_checks .* is still TODO. Fix: write codes"),
        ("code: FAIL1", "code: DONE1", "2 outcomes have the completion code DONE1.*Fix:"),
        ("app.prolific.com", "app.prolific.co", "does not lead to Prolific's completion page.*Fix:"),
        ("submissions/complete?cc={code}", "submissions/complete?cc=DONE2", "does not lead to Prolific's"),
        ("  quota: 60\n", "", "number of places at Prolific is missing.*Fix:"),
        ("minutes: 10", "minutes: 10\n    places: 61", "the quota of the study is 60.*Fix: raise the quota"),
        ("quota: 60", "quota: 60\n  prolific_secured_url: https://safe.example.org/", "differ. Fix: delete `address`"),
        ("wage_per_hour: 9.1", "wage_per_hour: 5.9", "below Prolific's minimum. Fix:"),
        ("wage_per_hour: 9.1", "wage_per_hour: 7.9\n    currency: USD", "below Prolific's minimum. Fix:"),
        ("    address: https://study.example.org/\n", "", "`prolific` has no address.*Fix:"),
        ("address: https:", "address: http:", "address"),
        ("entry: panel", "entry: panel\n  kept_parameters: []", "needs STUDY_ID and SESSION_ID.*Fix:"),
        ("entry: panel", "entry: panel\n  panel_parameter: pid", "`prolific` needs `entry: panel`.*Fix:"),
        ("wage_per_hour: 9.1", "wage_per_hour: 9.1\n    prescreeners: [{filter_id: age}]", "prescreener needs.*Fix:"),
    ],
)
def test_an_incomplete_study_is_refused_with_a_fix(folder: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        request_of(folder, old, new)


def test_a_study_without_settings_for_prolific_is_refused(tmp_path: Path) -> None:
    without = RECRUITMENT.partition("  prolific:")[0]
    study = load_study(make_panel_study(tmp_path / "study", without).folder)
    with pytest.raises(InputError, match=r"`recruitment.prolific` is missing. Fix:"):
        study_request(study)


def test_the_studys_completion_code_is_the_code_of_completed(tmp_path: Path) -> None:
    recruitment = "completion_code: WHOLE1\n" + RECRUITMENT.replace("{code: DONE1, link", "{link")
    study = load_study(make_panel_study(tmp_path / "study", recruitment).folder)
    assert completion_codes(study)[0]["code"] == "WHOLE1"


@given(st.integers(1, 1440), st.decimals(8, 40, places=2))
def test_the_formulas_agree_with_prolifics(minutes: int, wage: Any) -> None:
    settings = ProlificSettings(description="Rays.", minutes=minutes, wage_per_hour=float(wage))
    exact = Fraction(wage) * 100 * minutes / 60
    assert exact <= settings.reward_cents < exact + 1
    limit = 2 + 2 * minutes + 2 * math.sqrt(minutes)
    assert limit <= settings.maximum_allowed_min < limit + 1
