"""A study with every part that a study can have: two practice questions, an attention check, six stories per group."""

from pathlib import Path

from equipoise.studies import copy_sample_study

STUDY = """
study: whole
version: "1.0"
title: Every part
language: {language}
battery: battery.yaml
practice: [practice-1, practice-2]
practice_criterion: {{correct: 2, rounds: 2, otherwise: end}}
attention_checks: [attention-1]
design: {{method: deal, groups: 2, balance: [side]}}
order: {{attention_check_spacing: 1}}
timing: {timing}
timeline:
  information: [information.md]
  consent: consent.md
  consent_version: "2026-11"
  demographics: demographics.yaml
  fullscreen: true
  instructions: [instructions.md]
  breaks: {{every: 3, page: break.md}}
  debrief: debrief.md
  contact: contact.md
device: {{phones: true, width_px: 320, height_px: 200}}
resume: {resume}
recruitment:
  exits:
    completed: {{code: DONE2026, link: "https://panel.example.org/complete?cc={{code}}"}}
    failed_checks: {{code: CHECKS26, link: "https://panel.example.org/complete?cc={{code}}"}}
    practice_not_passed: {{code: PRACTI26, link: "https://panel.example.org/complete?cc={{code}}"}}
    no_consent: {{code: NOCONS26, link: "https://panel.example.org/complete?cc={{code}}"}}
    incompatible_device: {{code: DEVICE26, link: "https://panel.example.org/complete?cc={{code}}"}}
analysis: {{exclusions: [{{rule: attention_check, max_failed: 0}}], by: [side]}}
"""
DEMOGRAPHICS = """
questions:
  - {name: age, ask: How old are you?, answer: number, low: 18, high: 120}
  - {name: gender, ask: What is your gender?, answer: choice, options: [woman, man, other]}
  - name: country
    ask: Where do you live?
    answer: choice
    options: [Chad, Chile, China, Cuba, Cyprus, Egypt, Fiji, France, Gabon, Ghana]
  - {name: remarks, ask: Is there anything else that we should know?, answer: text}
"""
PRACTICE = {"Which number comes after three?": 1, "Which number comes before three?": 2}
"""The practice questions, each with the number of its right option."""
CHECK = "Please choose the second answer."
N_STORIES = 6


def make_whole_study(
    folder: Path, language: str = "en", timing: str = "{fixation_ms: 100}", resume: str = "{}"
) -> Path:
    """Make the study in a new folder.

    Parameters
    ----------
    folder
        The folder to make.
    language
        The language of our texts. The study's own pages are English.
    timing, resume
        The content of these entries of study.yaml.
    """
    copy_sample_study("intuition-single", folder)
    files = {
        "study.yaml": STUDY.format(language=language, timing=timing, resume=resume),
        "demographics.yaml": DEMOGRAPHICS,
        "battery.yaml": battery(),
        "information.md": "# About this study\n\nWhat it is for, and who pays.\n",
        "break.md": "# A short rest\n\nLook out of the window for a while.\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def battery() -> str:
    """Return the text of the battery file. Each participant reads half of the stories."""
    (after, first), (before, second) = PRACTICE.items()
    items = [
        item("practice-1", after, ["four", "five", "two"], first),
        item("practice-2", before, ["four", "two", "five"], second),
        item("attention-1", CHECK, ["the first", "the second", "the third"], 2),
    ]
    for number in range(2 * N_STORIES):
        prompt = f"Which colour has ball {number}?"
        items.append(item(f"story-{number}", prompt, ["red", "blue", "green"], 1 + number % 3, side=number % 2))
    return 'battery: short\nversion: "1"\nitems:\n' + "".join(items)


def item(item_id: str, prompt: str, options: list[str], key: int, **factors: int) -> str:
    """Return an item as the text of a battery file."""
    return (
        f"  - item_id: {item_id}\n    task: multiple_choice\n    factors: {factors}\n"
        f"    content: {{text: A ball lies on the table., prompt: '{prompt}', options: {options}}}\n    key: {key}\n"
    )
