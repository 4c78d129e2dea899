"""Warnings about valid templates with texts that may be hard to read."""

import re
from collections.abc import Iterator
from itertools import pairwise

from batteries.vignettes.checks.template_checks import says_you
from batteries.vignettes.spec import BuildSpec, selected
from batteries.vignettes.templates.markup import Slot, parse_markup
from batteries.vignettes.templates.models import LEVELS, ContextVersion
from batteries.vignettes.templates.problems import Problems
from batteries.vignettes.templates.template_set import ScenarioQuestion, TemplateSet

_CLOSED_UP = re.compile(r"[.!?][”\"']?$")


def remarks(template_set: TemplateSet, spec: BuildSpec) -> Problems:
    """Return warnings about the templates that a specification selects. The templates must be without mistakes."""
    found = Problems()
    for question in selected(template_set, spec):
        assert question.story is not None
        inside = f"{question.qa.base_context_version}."
        found.add_all(question.scenario.path, _of_story(question.story, spec), inside)
        found.add_all(question.path, _of_question(question, spec))
    return found


def _of_story(story: ContextVersion, spec: BuildSpec) -> Iterator[tuple[str, str]]:
    if "third" in spec.pov and says_you(story.context):
        yield (
            "context",
            (
                "in the third person, the text still contains “you”. Fix: if “you” means the reader, write {vs[pov_1]} "
                "instead."
            ),
        )
    for level in map(str, spec.inference_levels):
        same = next((one for one in LEVELS if one < level and story.filler.get(one) == story.filler[level]), None)
        if same is not None and len(set(story.filler.values())) > 1:
            yield f"filler.{level}", f"the inference levels {same} and {level} have the same text."
    for key, texts in {"filler": list(story.filler.values()), **story.switches}.items():
        for text in texts:
            if text[:1].isalpha() and _follows_a_sentence(story.context, key):
                yield key, f"there is no space between a sentence and “{text[:20]}…”."


def _of_question(question: ScenarioQuestion, spec: BuildSpec) -> Iterator[tuple[str, str]]:
    qa = question.qa
    if qa.capability_type == "single" and len({qa.right_option(condition) for condition in qa.conditions}) == 1:
        yield (
            "answers",
            "all conditions have the same right option. So the right option does not depend on the condition.",
        )
    if not qa.is_prerequisite and not qa.demands.c1:
        yield (
            "demands.c1",
            "this list is empty, so demand profiles cannot use the primary inference of the question.",
        )
    if "third" in spec.pov:
        texts = {"question.prompt": qa.question.prompt}
        texts |= {f"question.options.{place}": text for place, text in enumerate(qa.question.options)}
        for key, text in texts.items():
            if says_you(text):
                yield (
                    key,
                    "in the third person, the text still contains “you”. Fix: if “you” means the reader, write "
                    "{vs[pov_1]} instead.",
                )


def _follows_a_sentence(context: str, key: str) -> bool:
    pieces = parse_markup(context)
    return any(
        isinstance(slot, Slot) and slot.key == key and isinstance(before, str) and _CLOSED_UP.search(before)
        for before, slot in pairwise(pieces)
    )
