"""Point on the consent: it must say who, what, how long, which rights, which data, and whom to ask.

The check searches for words, so it finds a missing subject, but it cannot judge a text. An ethics board does that.
"""

import re

from equipoise.commands.check.checklist import Point, failed, listed, needs_attention, not_checked, passed
from experiment.study.definition import Study
from experiment.study.pages_by_source import PAGE_SOURCES
from experiment.study.unfinished_texts import GAP

ELEMENTS: dict[str, dict[str, str]] = {
    "en": {
        "who is responsible": r"universit|institut|department|laborator|professor|\bdr\b|funded by|conducted by",
        "what participants do": r"you will|your task|we ask you|you are asked",
        "how long it takes": r"minute|hour",
        "the right to leave": r"voluntar|your choice|withdraw|can leave|can stop|at any (?:time|moment)",
        "which data are kept": r"\bdata\b|we (?:keep|store|record|collect)|\b(?:kept|stored|recorded|collected)\b",
    },
    "de": {
        "who is responsible": r"universität|hochschule|institut|fachbereich|professor|\bdr\b|verantwortlich ist",
        "what participants do": r"sie werden|ihre aufgabe|wir bitten sie|sie sehen|sie lesen|du wirst|deine aufgabe",
        "how long it takes": r"minute|stunde",
        "the right to leave": r"freiwillig|jederzeit|abbrechen|widerruf|zurückziehen",
        "which data are kept": r"daten|speicher|gespeichert|aufgezeichnet",
    },
    "es": {
        "who is responsible": r"universidad|instituto|departamento|laboratorio|profesor|\bdra?\b|responsable es",
        "what participants do": r"usted (?:verá|leerá)|verá|leerá|su tarea|le pedi|tu tarea",
        "how long it takes": r"minuto|hora",
        "the right to leave": r"voluntari|en cualquier momento|abandonar|retirar",
        "which data are kept": r"datos|guarda|almacena|registra",
    },
}
"""For each language, the elements of a consent, and words of which one must be in the texts."""
ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.\w|https?://\S+\.\w|\+?\d[\d ()/-]{6,}\d")
"""An e-mail address, a web address or a telephone number."""


def consent_point(study: Study) -> Point:
    """Check the consent, with the information before the consent and the contact page."""
    subject, timeline = "Consent", study.definition.timeline
    if timeline.consent is None:
        return needs_attention(
            subject,
            "the study has no consent page.",
            "add `consent` to `timeline`, unless participants give consent by other means, such as on paper.",
        )
    names = [*timeline.information, timeline.consent, *([timeline.contact] if timeline.contact else [])]
    texts = _texts(study, names)
    for where, text in texts.items():
        if not ADDRESS.search(text):
            return failed(
                subject,
                f"{listed(names)} have no address of a person{where}: no e-mail address, web address or telephone "
                "number.",
                f"write the address of the person responsible and of your ethics board into {names[-1]}.",
            )
    words = ELEMENTS.get(study.definition.language.partition("-")[0])
    if words is None:
        return not_checked(
            subject,
            f"an address is there, but the other parts are checked only in {listed(sorted(ELEMENTS))}.",
            "compare the consent with the list of your ethics board.",
        )
    for where, text in texts.items():
        missing = [element for element, pattern in words.items() if not re.search(pattern, text, re.IGNORECASE)]
        if missing:
            return needs_attention(
                subject,
                f"no words were found on {listed(missing)}{where}.",
                "add the missing part, or check that the text says it in other words.",
            )
    if timeline.consent_version is None:
        return needs_attention(
            subject,
            "all parts are there, but `timeline.consent_version` is missing. Without it, the data do not say to which "
            "version of the text a participant agreed.",
            'write the version of your ethics board, such as `consent_version: "2026-11"`.',
        )
    return passed(subject, f"{listed(names)} have words on {listed([*words, 'whom to ask'], most=9)}.")


def _texts(study: Study, names: list[str]) -> dict[str, str]:
    """Return the words of pages together. The keys say where participants read them.

    If the browser and the laboratory show the same words, there is one text, with an empty key.
    """
    texts = {
        f" {where}": "\n\n".join(_without_gaps(study.page(name, source)) for name in names)
        for source, where in PAGE_SOURCES.items()
    }
    return texts if len(set(texts.values())) > 1 else {"": next(iter(texts.values()))}


def _without_gaps(markdown: str) -> str:
    """Return a page without its gaps, such as TODO. A gap ends with its line."""
    return "\n".join(GAP.split(line, maxsplit=1)[0] for line in markdown.splitlines())
