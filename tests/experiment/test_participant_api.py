"""The participant API's fields are the same in Python and in TypeScript."""

import re
from typing import is_typeddict

import pytest
from pydantic import BaseModel

from experiment import lab_api, participant_api, records
from experiment.study.demographics import DemographicQuestion
from experiment.study.timeline import Device
from tests.paths import ROOT

TYPESCRIPT = (ROOT / "experiment" / "web" / "src" / "saving" / "server-api.ts").read_text(encoding="utf-8")
SAME = {
    "Study": participant_api.StudyReply,
    "Exit": participant_api.ExitReply,
    "DeviceNeeds": Device,
    "DeviceFound": records.FoundDevice,
    "SessionTrial": participant_api.TrialReply,
    "Question": DemographicQuestion,
    "Completion": participant_api.CompletionReply,
    "Ended": participant_api.EndedReply,
    "Session": participant_api.SessionReply,
    "FinishedTrial": records.Response,
    "Feedback": participant_api.FeedbackReply,
    "Practice": participant_api.PracticeReply,
    "StoredResponse": participant_api.StoredResponseReply,
    "Start": participant_api.StartRequest,
}
"""TypeScript's name of a type, and the same type in Python."""


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)


def top_level(text: str) -> str:
    """Return a text without what is in brackets inside it."""
    depth, kept = 0, []
    for character in text:
        depth -= character in "})]"
        if depth == 0:
            kept.append(character)
        depth += character in "{(["
    return "".join(kept)


def fields_in_typescript(name: str) -> set[str]:
    """Return the fields of an exported interface or object type, with those that it inherits."""
    text = without_comments(TYPESCRIPT)
    found = re.search(rf"(?:interface|type) {name}\b(?:<[^>]*>)?(?: extends ([^{{]+))? ?=? ?\{{", text)
    assert found is not None, f"server-api.ts has no type {name}"
    body = text[found.end() :]
    end = next(end for end in range(len(body)) if body.count("{", 0, end) < body.count("}", 0, end)) - 1
    fields = set(re.findall(r"(\w+)\??:", top_level(body[:end])))
    union = body[end:].partition("\n\n")[0]
    fields |= set(re.findall(r"(\w+)\??:", union))
    for parent in re.findall(r"\w+", re.sub(r"<[^>]*>", "", found[1] or "")):
        fields |= fields_in_typescript(parent)
    return fields


def fields_in_python(form: type) -> set[str]:
    if is_typeddict(form):
        return set(form.__annotations__)
    assert issubclass(form, BaseModel)
    return set(form.model_fields)


@pytest.mark.parametrize("name", SAME)
def test_a_type_has_the_same_fields_in_python_and_in_typescript(name: str) -> None:
    assert fields_in_typescript(name) == fields_in_python(SAME[name])


@pytest.mark.parametrize(
    ("address", "form"),
    [
        ("/api/visit", participant_api.VisitRequest),
        ("/api/demographics", participant_api.DemographicsRequest),
        ("/api/responses", participant_api.ResponsesRequest),
    ],
)
def test_a_body_that_the_page_sends_has_the_fields_of_the_request(address: str, form: type[BaseModel]) -> None:
    bodies = re.findall(rf'"{address}", {{([^}}]+)}}', without_comments(TYPESCRIPT))
    assert [set(re.findall(r"\w+", body)) for body in bodies] == [set(form.model_fields)]


@pytest.mark.parametrize(
    ("read", "sent"),
    [
        (lab_api.Completion, participant_api.CompletionReply),
        (lab_api.Ended, participant_api.EndedReply),
        (lab_api.PracticeResult, participant_api.PracticeReply),
        (lab_api.TrialFeedback, participant_api.FeedbackReply),
        (lab_api.PlannedTrial, participant_api.TrialReply),
    ],
)
def test_the_laboratory_reads_only_fields_that_the_server_sends(read: type[BaseModel], sent: type) -> None:
    assert set(read.model_fields) <= fields_in_python(sent)


def test_an_open_session_of_the_laboratory_has_the_fields_of_a_session() -> None:
    sent = fields_in_python(participant_api.SessionReply) | fields_in_python(participant_api.EndedReply)
    assert set(lab_api.OpenSession.model_fields) - set(lab_api.LabFields.model_fields) <= sent
