"""The pages of one study in the laboratory and in the browser: each shows its own words, also in the stored consent."""

import hashlib

import pytest

from equipoise.commands.lab.clients import local_client
from equipoise.commands.store_access import store_of
from experiment.lab.screens.layout.screen_image import ESCAPE, RULES
from experiment.lab.visitor import VisitOutcome
from experiment.load_study import load_study
from tests.block_study import make_block_study
from tests.experiment.lab.visits.lab_visits import careful, is_asked, press, take_on_the_web, upload_all_to

PAGES = {
    "information": ["information.md"],
    "consent": "consent.md",
    "instructions": ["instructions.md"],
    "rules": ["rules.md"],
    "breaks": {"every": 3, "page": "break.md"},
    "debrief": "debrief.md",
    "contact": "contact.md",
}
FILES = ["information", "consent", "instructions", "rules", "break", "debrief", "contact", "pictures", "words"]


def page(name):
    """Return a page with words of the browser, of the laboratory and of both."""
    return f"# The {name}\n\nboth-{name}\n::: web\nweb-{name}\n:::\n::: lab\nlab-{name}\n:::\n"


@pytest.fixture
def study(tmp_path):
    folder = make_block_study(tmp_path / "blocks", lambda content: content.update(timeline=PAGES))
    for name in FILES:
        (folder / f"{name}.md").write_text(page(name), encoding="utf-8")
    return load_study(folder)


def curious():
    """Return a person who opens the rules and the contact page once, in the first question of the test."""
    steps = [RULES, "right", ESCAPE, "4", "right", "1"]

    def person(display):
        if len(display.trials) == 2 and steps and (is_asked(display) or len(steps) < 6):
            return press(steps.pop(0))
        return careful(display)

    return person


def test_the_laboratory_shows_its_words_on_every_page(lab, study):
    visit = lab(study, curious())
    assert visit.outcome is VisitOutcome.COMPLETED
    seen = " ".join(visit.display.seen)
    for name in FILES:
        assert f"both-{name} lab-{name}" in seen, name
    assert "web-" not in seen and ":::" not in seen


def test_the_browser_gets_its_words_on_every_page_and_no_others(study):
    replies = []
    with local_client(study, None) as (lab_client, _):
        client = lab_client._client
        client.event_hooks["response"].append(lambda reply: replies.append(reply.read().decode()))
        take_on_the_web(client)
        client.get("/api/session")
        client.get("/withdraw")
        client.get("/nowhere", headers={"Accept": "text/html"})
    everything = "\n".join(replies)
    for name in FILES:
        assert f"both-{name}\\nweb-{name}" in everything, name
    contact_pages = [reply for reply in replies if reply.startswith("<!") and "both-contact\nweb-contact" in reply]
    assert len(contact_pages) == 2, "the page of withdrawal, and the page of an error"
    assert "lab-" not in everything.replace("lab-study", "") and ":::" not in everything


def test_each_session_stores_the_digest_of_the_consent_that_was_shown(lab, study, tmp_path):
    lab(study)
    with local_client(study, None) as (lab_client, store):
        shown = lab_client._client.get("/api/study").json()
        take_on_the_web(lab_client._client)
        stored = {row["source"]: row["consent_digest"] for row in store.sessions(study)}
        versions = {row["content_digest"] for row in store.sessions(study)}
    of_words = {
        source: hashlib.sha256(f"# The consent\n\nboth-consent\n{source}-consent\n".encode()).hexdigest()
        for source in ("lab", "web")
    }
    assert stored == of_words and shown["consent_digest"] == of_words["web"]
    assert versions == {study.digest}, "both belong to the same version"
    into = str(tmp_path / "elsewhere.db")
    assert upload_all_to(study, into)[0] == 1
    with local_client(study, into) as (_, store):
        assert [row["consent_digest"] for row in store.sessions(study)] == [of_words["lab"]]


def test_a_session_from_before_a_revision_is_uploaded_with_the_consent_of_its_time(lab, study, tmp_path):
    into = str(tmp_path / "elsewhere.db")
    lab(study, participant="P01")
    upload_all_to(study, into)
    lab(study, participant="P02")
    (study.folder / "consent.md").write_text(page("consent").replace("lab-consent", "lab-consent, corrected"))
    revised = load_study(study.folder)
    for location in (None, into):
        with store_of(revised, location) as store:
            store.revise_study(revised, "correction")
    lab(revised, participant="P03")
    assert upload_all_to(revised, into)[0] == 3
    with store_of(revised, into) as store:
        digests = [row["consent_digest"] for row in store.sessions(revised)]
    assert len(digests) == 3 and len(set(digests)) == 2
