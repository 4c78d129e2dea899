"""Points on the participants' texts: files, pages, reading age and translation."""

from equipoise.commands.check.checklist import Point, failed, listed, needs_attention, not_checked, passed
from equipoise.commands.check.reading_age import WORD, formula_for, paragraphs_of, reading_age
from experiment.study.definition import Study
from experiment.study.pages_by_source import PAGE_SOURCES
from experiment.study.unfinished_texts import find_gaps
from experiment.texts import FORMER_NAMES, catalogue, languages

HIGHEST_READING_AGE = 13
"""Age at the eighth grade. Ethics boards in the USA recommend at most this grade for consent texts (Paasche-Orlow,
Taylor & Brancati, 2003, New England Journal of Medicine 348, 721-726).
"""
ADULT_AGE = 18
"""Age at the end of school. The formulas say nothing about higher ages."""
LEAST_WORDS = 50
"""In a shorter text, a single long word or sentence changes the reading age by several years."""


def files_point(study: Study) -> Point:
    """Name the files that were read. `load_study` has checked them."""
    n_pages = len(study.definition.pages)
    return passed("Files", f"study.yaml is valid, and its battery and {n_pages} pages are there.")


def pages_point(study: Study) -> Point:
    """Check that every page has a text, and that no page has a gap."""
    timeline = study.definition.timeline
    if empty := [name for name in study.definition.pages if not study.texts[name].strip()]:
        return failed("Pages", f"{listed(empty)} has no text.", "write the text, or delete the page from study.yaml.")
    if gaps := find_gaps(study):
        return failed("Pages", f"these texts have a gap: {listed(gaps)}.", "replace the mark with your own text.")
    missing = [name for name in ("instructions", "debrief", "contact") if not getattr(timeline, name)]
    if missing:
        return needs_attention(
            "Pages",
            f"the study has no page for {listed(missing)}.",
            f"add {listed([f'`{name}`' for name in missing])} to `timeline`, or decide that participants do not need "
            "it.",
        )
    return passed("Pages", "no page is empty, and no page has a mark such as TODO.")


def reading_age_point(study: Study) -> Point:
    """Check that the pages and the items are easy to read."""
    subject, language = "Reading age", study.definition.language
    formula = formula_for(language)
    if formula is None:
        return not_checked(
            subject,
            f"no formula is known for the language `{language}`.",
            "let two people from outside your field read the texts.",
        )
    texts = {name: paragraphs_of(text) for name, text in _pages(study).items()}
    texts["items"] = [
        str(item.content[part])
        for item in study.test_items
        if item.task == "multiple_choice"
        for part in ("text", "prompt")
        if item.content.get(part)
    ]
    long_enough = {name: blocks for name, blocks in texts.items() if _n_words(blocks) >= LEAST_WORDS}
    if not long_enough:
        return not_checked(subject, f"no text has {LEAST_WORDS} words or more.")
    ages = {name: reading_age(blocks, formula) for name, blocks in long_enough.items()}
    hard = {name: age for name, age in ages.items() if round(age) > HIGHEST_READING_AGE}
    if hard:
        return needs_attention(
            subject,
            f"{listed([f'{name} needs a reading age of {_years(age)}' for name, age in hard.items()])}. At most "
            f"{HIGHEST_READING_AGE} years are recommended for consent texts. By the {formula.name}.",
            "shorten sentences, and replace long words.",
        )
    hardest = max(ages, key=lambda name: ages[name])
    return passed(
        subject,
        f"the hardest text is {hardest}, which needs a reading age of {_years(ages[hardest])}. At most "
        f"{HIGHEST_READING_AGE} years are recommended. By the {formula.name}.",
    )


def _pages(study: Study) -> dict[str, str]:
    """Return the words of the pages by name. If a page has sections, it is there once for each source."""
    pages: dict[str, str] = {}
    for name in study.definition.pages:
        by_source = {f"{name} {where}": study.page(name, source) for source, where in PAGE_SOURCES.items()}
        pages |= by_source if len(set(by_source.values())) > 1 else {name: study.texts[name]}
    return pages


def _years(age: float) -> str:
    return f"{age:.0f} years" if age <= ADULT_AGE else f"more than {ADULT_AGE} years"


def _n_words(blocks: list[str]) -> int:
    return sum(len(WORD.findall(block)) for block in blocks)


def translation_point(study: Study) -> Point:
    """Check that buttons and messages are in the study's language."""
    subject, language = "Translation", study.definition.language
    own = {FORMER_NAMES.get(name, name) for name in study.definition.texts}
    if language.partition("-")[0] in languages():
        return passed(
            subject, f"all {len(catalogue('en'))} buttons and messages exist in the study's language, `{language}`."
        )
    if missing := sorted(catalogue("en").keys() - own):
        return failed(
            subject,
            f"{len(missing)} buttons and messages have no translation into `{language}`, such as "
            f"{listed([f'`{name}`' for name in missing], most=2)}. Participants would see them in English.",
            "translate each name of docs/reference/texts.md under `texts` in study.yaml.",
        )
    return passed(subject, f"`texts` in study.yaml translates all buttons and messages into `{language}`.")
