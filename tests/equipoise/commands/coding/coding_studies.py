"""A study with open answers of people and of a model, and people and coders who respond over HTTP."""

import csv
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

import equipoise as eq
from tests.server_process import running_server

ANSWERS = {
    "P1": ("The stone is hard.", "She was careless."),
    "P2": ("I do not know", "She wanted it."),
    "P3": ("It is fragile.", "I do not know"),
    "P4": ("Gravity.", "She was angry."),
    "P5": ("It fell from a height.", "She did not look."),
}
"""The answers of five participants to the two items, of the conditions `northern` and `southern`."""
OF_MODEL = {"why-northern": "Glass is brittle.", "why-southern": "She did not look."}
"""The answers of the model. One of them is the answer of a participant too."""
PHYSICAL = ("stone", "fragile", "Gravity", "height", "brittle")
"""Words of the answers that the first coder gives the code `physical`."""
DISAGREED = ("Gravity", "angry")
"""Words of the answers to which the second coder gives the other code."""
STORIES = {"northern": "Anna lives in Oslo. A glass falls.", "southern": "Anna lives in Rome. A glass falls."}
MODEL = "planted/model-x"
CODERS = """
coders: 2
codes:
  - {name: physical, definition: The answer names a physical cause.}
  - {name: mental, definition: "The answer names a thought, a wish or a feeling."}
"""
RULE = """
codes:
  - {name: physical, definition: A physical cause., words: ["stone*", fragil*, gravity, "from a height", brittle]}
  - {name: mental, definition: A mental cause., words: [careless, wanted, angry, look]}
"""


def make_study(folder: Path, coding: str = CODERS, *, analysis: str = "", more: str = "") -> Path:
    """Make the study. `coding` is the entry `coding.reasons` of the plan."""
    folder.mkdir()
    items = "\n".join(
        f"  - {{item_id: why-{name}, task: free_text, factors: {{condition: {name}}}, key: null,\n"
        f"     content: {{text: {text!r}, prompt: Why did the glass break?}}}}"
        for name, text in STORIES.items()
    )
    (folder / "battery.yaml").write_text(f'battery: glass\nversion: "1"\nitems:\n{items}\n', encoding="utf-8")
    indented = "".join(f"      {line}\n" for line in coding.strip().splitlines())
    (folder / "study.yaml").write_text(
        'study: glass\nversion: "1"\ntitle: A glass\nbattery: battery.yaml\n'
        "design: {method: deal, groups: 1, balance: [condition]}\n"
        f"{more}analysis:\n  by: [condition]\n{analysis}  coding:\n    reasons:\n{indented}",
        encoding="utf-8",
    )
    return folder


def respond(url: str, response_to: Callable[[dict[str, Any]], Any], *, at_most: int | None = None, **query: str) -> Any:
    """Take a study over HTTP. Return all that the server sent: the page's text, the study and the session."""
    with httpx.Client(base_url=url, follow_redirects=True, timeout=30) as http:
        page = http.get("/", params=query).text
        study = http.get("/api/study").raise_for_status().json()
        start = {"start_id": str(uuid.uuid4()), "consent_digest": study["consent_digest"], "kind": "human"}
        session = http.post("/api/session", json=start).raise_for_status().json()
        for trial in session["trials"][:at_most]:
            body = {
                "response_id": str(uuid.uuid4()),
                "trial_index": trial["trial_index"],
                "response": response_to(trial["content"]),
                "rt_ms": 1000.0,
            }
            http.post("/api/responses", json={"session": session["session"], "responses": [body]}).raise_for_status()
        done = {}
        if at_most is None:
            done = http.post("/api/complete", json={}).raise_for_status().json()
        return {"page": page, "study": study, "session": session, "done": done}


def collect(folder: Path, answers: Mapping[str, tuple[str, str]] = ANSWERS) -> dict[str, Any]:
    """Let participants and the model answer. Return the withdrawal code of each participant."""
    codes = {}
    with running_server(folder) as url:
        for name, (northern, southern) in answers.items():
            got = respond(url, lambda content, a=northern, b=southern: a if "Oslo" in content["text"] else b)
            codes[name] = got["done"]["withdrawal_code" if "withdrawal_code" in got["done"] else "completion_code"]
    return codes


def add_model(folder: Path, replies: Mapping[str, str] = OF_MODEL) -> None:
    file = folder / "replies.csv"
    with file.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened).writerows([("id", "reply"), *replies.items()])
    eq.models_import(folder, file, map=f"item=id,reply=reply,model=={MODEL}")


def answer_in(content: dict[str, Any]) -> str:
    """Return the answer that an item of a coding study shows."""
    return str(content["text"]).rpartition("Answer: ")[2]


def first_coder(content: dict[str, Any]) -> int:
    return 1 if any(word in content["text"] for word in PHYSICAL) else 2


def second_coder(content: dict[str, Any]) -> int:
    code = first_coder(content)
    return 3 - code if any(word in content["text"] for word in DISAGREED) else code


def coder_ids(study: Path) -> list[str]:
    return (study / "data" / "coding" / "reasons" / "data" / "coders.txt").read_text(encoding="utf-8").split()


@contextmanager
def coding_server(study: Path) -> Iterator[str]:
    with running_server(study / "data" / "coding" / "reasons") as url:
        yield url


def let_code(study: Path) -> list[Any]:
    """Let both coders code all answers. Return all that the server sent to each of them."""
    one, two = coder_ids(study)
    with coding_server(study) as url:
        return [respond(url, first_coder, coder=one), respond(url, second_coder, coder=two)]
