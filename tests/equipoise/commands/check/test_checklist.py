"""The text of a checklist."""

import pytest

from equipoise.commands.check.checklist import Checklist, failed, listed, needs_attention, not_checked, passed

PASSED = passed("Groups", "6 groups with 24 test items each.")
ATTENTION = needs_attention("Quotas", "the study has no quota.", "write `quota`.")
FAILED = failed("Consent", "consent.md has no address.", "write an address. " + "Ask your ethics board for it. " * 3)
NOT_CHECKED = not_checked("HTTPS", "no public name is set.")


def test_each_point_has_its_verdict_its_subject_and_its_fix_in_80_columns() -> None:
    text = Checklist("Check of my study", (PASSED, ATTENTION, FAILED, NOT_CHECKED)).text(80)
    lines = text.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[:5] == [
        "Check of my study",
        "",
        "passed           Groups: 6 groups with 24 test items each.",
        "needs attention  Quotas: the study has no quota.",
        "                 Fix: write `quota`.",
    ]
    assert "failed           Consent: consent.md has no address." in lines
    assert "not checked      HTTPS: no public name is set." in lines


@pytest.mark.parametrize(
    ("points", "has_failed", "summary"),
    [
        ((PASSED,), False, "1 passed, 0 need attention, 0 failed, 0 not checked. Take the study once yourself"),
        ((PASSED, ATTENTION), False, "1 passed, 1 needs attention, 0 failed, 0 not checked. No point failed."),
        ((NOT_CHECKED,), False, "0 passed, 0 need attention, 0 failed, 1 not checked. No point failed."),
        ((ATTENTION, ATTENTION, FAILED), True, "0 passed, 2 need attention, 1 failed, 0 not checked. Correct"),
    ],
)
def test_the_last_line_counts_the_verdicts_and_says_what_follows(points: tuple, has_failed: bool, summary: str) -> None:  # type: ignore[type-arg]
    checklist = Checklist("Check", points)
    assert checklist.has_failed is has_failed
    assert checklist.text(400).splitlines()[-1].startswith(summary)


def test_a_list_of_names_is_a_phrase_of_limited_length() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed("abcdefg", most=2) == "a, b and 5 more"
