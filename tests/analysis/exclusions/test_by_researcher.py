"""Sessions that the researcher excluded, in the flow, the notes and an export; items reworded within a version."""

import pytest

from analysis.data.tidy_table import read_trials, tidy_trials
from analysis.exclusions.by_group import exclusions_by_group
from analysis.exclusions.by_researcher import exclusion_deviations, exclusion_notes
from analysis.exclusions.flow import apply_exclusions
from analysis.provenance.changed_items import notes_on_rewording, refuse_changed_items
from analysis.provenance.record import data_digest
from analysis.provenance.study_versions import notes_on_revisions
from batteries.errors import InputError
from experiment.study.analysis_plan import AnalysisPlan

AFTER, BEFORE = "2026-01-03T09:00:00.000+00:00", "2026-01-02T10:10:00.000+00:00"


def by_researcher(reason="fire alarm", at=AFTER):
    return {"excluded_reason": reason, "excluded_at": at}


def planned(*rules):
    return AnalysisPlan.model_validate({"exclusions": list(rules)})


def dispositions(result):
    return dict(zip(result.participants["participant"], result.participants["disposition"], strict=True))


def test_an_excluded_session_is_a_step_before_the_rules_and_the_books_balance(view, session):
    rows = view(
        session(participant="A", **by_researcher()),
        session(participant="B", status="active", **by_researcher()),
        session(participant="C", status="withdrawn", response=None, **by_researcher()),
        session(participant="D", group=2),
        session(participant="E", group=2, **by_researcher("typed before she read")),
    )
    result = apply_exclusions(tidy_trials(rows), planned({"rule": "missing"}))
    assert dispositions(result) == {
        "A": "excluded_by_researcher", "B": "not_completed", "C": "withdrawn", "D": "included",
        "E": "excluded_by_researcher",
    }  # fmt: skip
    assert result.flow["step"].tolist() == [
        "withdrawn", "not_completed", "excluded_by_researcher", "missing", "unanswered", "included",
    ]  # fmt: skip
    assert result.flow["n_participants"].tolist() == [1, 1, 2, 0, 0, 1]
    assert result.flow["n_trials"].tolist() == [4, 4, 8, 0, 0, 4]
    groups = exclusions_by_group(result).set_index("group")
    assert groups.loc["2", ["recruited_participants", "excluded_participants", "final_trials"]].tolist() == [2, 1, 4]
    (note,) = [note for note in result.notes if "by name" in note]
    assert "excluded 4\u00a0sessions by name" in note
    assert "“fire alarm” (session s-A, on 2026-01-03, after the last response; session s-B" in note
    assert "not completed" in note
    assert "“typed before she read” (session s-E" in note


def test_without_an_exclusion_by_the_researcher_the_flow_has_no_such_step(view, session):
    result = apply_exclusions(tidy_trials(view(session(), session(kind="model"))), AnalysisPlan())
    assert "excluded_by_researcher" not in set(result.flow["step"])
    assert exclusion_notes(result.trials) == exclusion_deviations(result.trials) == []


def test_of_two_completed_sessions_the_researcher_chooses_by_excluding_the_other(view, session):
    first = session(participant="A", session="first", completed_at="2026-01-02T11:00:00Z", **by_researcher())
    second = session(participant="A", session="second", completed_at="2026-01-02T12:00:00Z")
    for plan in (planned(), planned({"rule": "duplicates"})):
        result = apply_exclusions(tidy_trials(view(first, second)), plan)
        assert dispositions(result) == {"A": "included"}
        assert set(result.trials["session"][result.trials["excluded_by"].isna()]) == {"second"}
    with pytest.raises(InputError, match="exclude all but one of these sessions with `equipoise exclude`"):
        apply_exclusions(tidy_trials(view(session(participant="A", session="first"), second)), planned())


def test_the_notes_state_whether_an_exclusion_was_after_the_last_response(view, session):
    trials = tidy_trials(
        view(session(participant="A", **by_researcher(at=BEFORE)), session(participant="B", **by_researcher()))
    )
    assert "before the last response" in exclusion_notes(trials)[0]
    (deviation,) = exclusion_deviations(trials)
    assert deviation.startswith("The researcher excluded 2\u00a0sessions without a rule of the plan.")
    assert deviation.endswith("before the researcher excluded them: 1.")


def test_an_export_keeps_revisions_and_exclusions_and_older_data_keep_their_digest(view, session, tmp_path):
    rows = view(
        session(participant="A", study_revision=2, **by_researcher()), session(participant="B", study_revision=1)
    )
    rows.to_csv(tmp_path / "export.csv", index=False)
    read = read_trials(tmp_path / "export.csv")
    assert data_digest(read) == data_digest(tidy_trials(rows))
    assert read.groupby("participant")["study_revision"].first().to_dict() == {"A": 2, "B": 1}
    assert set(read["excluded_reason"].dropna()) == {"fire alarm"}
    since = ["study_revision", "excluded_at", "excluded_reason"]
    older = view(session())
    assert data_digest(tidy_trials(older.assign(**dict.fromkeys(since)))) == data_digest(tidy_trials(older))
    older.drop(columns=since).to_csv(tmp_path / "older.csv", index=False)
    assert data_digest(tmp_path / "older.csv") == data_digest(tidy_trials(older))


# Wording


def content(prompt="Which?", options=("a", "b", "c", "d")):
    return {"text": "", "prompt": prompt, "options": list(options)}


def test_an_item_may_be_reworded_within_a_version_and_is_named(view, session):
    trials = tidy_trials(
        view(
            session(participant="A", study_revision=None),
            session(participant="B", battery="c" * 64, content=content("Which one?"), study_revision=2),
        )
    )
    refuse_changed_items(trials)
    assert "4\u00a0items were reworded during data collection" in notes_on_rewording(trials)[0]
    assert notes_on_revisions(trials) == [
        "Version 1 of the study was reworded during data collection: 1\u00a0session with revision 1, 1\u00a0session "
        "with revision 2."
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"content": content(options="bacd")},
        {"content": content(options="abc")},
        {"key": 2},
        {"factors": {"condition": "other"}},
        {"content": content("Which one?"), "study_version": "2"},
    ],
    ids=["options moved", "an option less", "key", "factors", "in another version"],
)
def test_more_than_a_rewording_is_refused(view, session, changes):
    trials = tidy_trials(view(session(participant="A"), session(participant="B", battery="c" * 64, **changes)))
    with pytest.raises(InputError, match="item `i1` does not have the same text, answer key and levels"):
        refuse_changed_items(trials)
