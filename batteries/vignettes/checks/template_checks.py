"""Checks of a template set. They find mistakes before participants see the texts.

A battery can be built from a template set without mistakes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path

from batteries.store_format import RESERVED_FACTOR_NAMES
from batteries.vignettes.checks.identical_options import same_options
from batteries.vignettes.published_csv import FACTORS, OUR_COLUMNS, PUBLISHED_COLUMNS
from batteries.vignettes.spec import BuildSpec, conditions_of, selected, spec_problems
from batteries.vignettes.templates.labels import N_POV_SLOTS, NOT_DRAWN, label_slots, prefix_of, shortages
from batteries.vignettes.templates.markup import Compiler, Piece, is_well_formed, keys_in, parse_markup
from batteries.vignettes.templates.models import (
    CAPABILITY_OF_ID,
    LEVELS,
    N_OPTIONS,
    PREREQUISITES,
    ContextVersion,
    QATemplate,
    condition_letter,
    is_condition,
)
from batteries.vignettes.templates.problems import Problems
from batteries.vignettes.templates.tables import (
    ACTIVITIES,
    DEMANDS,
    ITEMS,
    VARIABLES,
    AttributeTable,
    Tables,
    attribute_value,
)
from batteries.vignettes.templates.template_set import Scenario, ScenarioQuestion, TemplateSet

EVERYTHING = BuildSpec(pov=("first", "third"))
"""The specification that `check` uses by default: all templates and levels, both points of view, five variants."""
_TAKEN = RESERVED_FACTOR_NAMES | {*PUBLISHED_COLUMNS, *OUR_COLUMNS, *FACTORS}
"""Names that a dimension of the demand table must not have, because columns or other factors have these names."""
_QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|‘[^’]*’(?!\w)|(?<!\w)'[^']*'(?!\w)")
_YOU = re.compile(r"\byou(?:r|rs|rself)?\b", re.IGNORECASE)


def check_template_set(
    template_set: TemplateSet, spec: BuildSpec, problems: Problems, spec_path: Path | None = None
) -> None:
    """Append to `problems` every mistake in the templates, the tables and `spec` (from the file `spec_path`)."""
    tables = template_set.tables
    problems.add_all(tables.folder / DEMANDS, _dimension_problems(tables))
    problems.add_all(spec_path or template_set.folder, spec_problems(template_set, spec))
    for scenario in template_set.scenarios:
        for letter, story in scenario.versions.items():
            problems.add_all(scenario.path, _story_problems(story, tables, spec), f"{letter}.")
        problems.add_all(scenario.path, _metadata_problems(scenario, tables))
    _check_numbers(template_set, problems)
    seen: dict[str, Path] = {}
    for question in template_set.questions:
        first = seen.setdefault(question.qa.id, question.path)
        if first != question.path:
            problems.add(
                question.path,
                "id",
                (f"the id `{question.qa.id}` is also the id of {first}. Fix: give each template its own id."),
            )
        problems.add_all(question.path, _question_problems(question, tables))
    asked = selected(template_set, spec)
    for question in {
        (question.scenario.name, question.qa.base_context_version): question for question in asked
    }.values():
        story_key = f"{question.qa.base_context_version}."
        problems.add_all(question.scenario.path, _shortage_problems(question, tables, spec), story_key)
    for question in asked:
        if _is_renderable(question, tables, spec):
            problems.add_all(question.path, _sameness_problems(question, tables, spec))


def _dimension_problems(tables: Tables) -> Iterator[tuple[str, str]]:
    for name in tables.dimensions:
        if name in _TAKEN:
            yield (
                "line 1",
                f"the name `{name}` is already a column of batteries or results. Fix: rename the dimension.",
            )


def _story_problems(story: ContextVersion, tables: Tables, spec: BuildSpec) -> Iterator[tuple[str, str]]:
    texts = dict(_texts(story))
    known = _known_keys(story)
    for key, text in texts.items():
        yield from _text_problems(key, text, known, tables)
    yield from _variable_problems(story, tables)
    yield from _attribute_problems("items", story.items, tables.items, tables, ITEMS)
    yield from _attribute_problems("activities", story.activities, tables.activities, tables, ACTIVITIES)
    yield from _switch_problems(story)
    yield from _filler_problems(story, spec)
    yield from _pov_problems(story, texts.values(), spec)


def _shortage_problems(question: ScenarioQuestion, tables: Tables, spec: BuildSpec) -> Iterator[tuple[str, str]]:
    story = question.story
    if story is None or not all(is_well_formed(text) for _, text in _texts(story)):
        return
    slots = label_slots(story, tables, "third" in spec.pov)
    for key, sentence in shortages(story, slots, spec.variants, spec.inference_levels).items():
        section = "items." if key in story.items else "activities." if key in story.activities else ""
        yield f"{section}{key}" if section else "variables", sentence


def _texts(story: ContextVersion) -> Iterator[tuple[str, str]]:
    yield "context", story.context
    yield from ((f"filler.{level}", text) for level, text in story.filler.items())
    yield from ((f"switches.{key}.{n}", text) for key, texts in story.switches.items() for n, text in enumerate(texts))
    yield from (
        (f"coinflips.{key}.{n}", text) for key, texts in story.coinflips.items() for n, text in enumerate(texts)
    )


def _text_problems(key: str, text: str, known: set[str], tables: Tables) -> Iterator[tuple[str, str]]:
    try:
        parse_markup(text)
    except ValueError as error:
        yield key, str(error)
    for unknown in sorted(keys_in(text) - known):
        yield key, f"the placeholder `{{vs[{unknown}]}}` is unknown. Fix: {_advice(unknown, tables, known)}"
    if key.startswith("coinflips."):
        for inner in sorted(keys_in(text)):
            if prefix_of(inner) in {"switch", "filler", "coinflip", "otherside"}:
                yield (
                    key,
                    f"a coinflip can contain only variables, but this text contains the placeholder `{inner}`. Fix: "
                    "write the text instead of the placeholder.",
                )


def _known_keys(story: ContextVersion) -> set[str]:
    listed = {key for key in story.variables if prefix_of(key) not in {"coinflip", "otherside", "switch", "pov"}}
    othersides = {f"otherside_{key.split('_')[-1]}" for key in story.coinflips}
    pov = {f"pov_{number}" for number in range(1, N_POV_SLOTS + 1)}
    own = {*story.items, *story.activities, *story.switches, *story.coinflips, "filler"}
    return listed | othersides | pov | own


def _advice(unknown: str, tables: Tables, known: set[str]) -> str:
    prefix = prefix_of(unknown)
    match prefix:
        case "pov":
            return f"use a name from pov_1 to pov_{N_POV_SLOTS}."
        case "switch" | "coinflip" | "item" | "activity":
            where = {"switch": "switches", "coinflip": "coinflips", "item": "items", "activity": "activities"}[prefix]
            return f"define this key under `{where}`, or correct the key."
        case "otherside":
            return "define the coinflip under `coinflips`, or correct the key."
        case _ if prefix in tables.pools or prefix in {"smallnumber", "bignumber", "pseudo"}:
            return "list this key under `variables`, or correct the key."
        case _:
            near = get_close_matches(unknown, known, n=1)
            return (
                f"if you mean `{near[0]}`, write `{near[0]}`."
                if near
                else "list this key under `variables`, or correct the key."
            )


def _variable_problems(story: ContextVersion, tables: Tables) -> Iterator[tuple[str, str]]:
    for key in story.variables:
        prefix = prefix_of(key)
        if story.variables.count(key) > 1:
            yield "variables", f"`{key}` is listed {story.variables.count(key)} times. Fix: list the key once."
        if key in story.items or key in story.activities or prefix in {"smallnumber", "bignumber"}:
            continue
        if prefix in {"item", "activity"}:
            where = "items" if prefix == "item" else "activities"
            yield (
                "variables",
                f"`{key}` is under `variables`, but not under `{where}`. Fix: add the attributes of `{key}` under "
                f"`{where}`.",
            )
        elif prefix == "coinflip" and key not in story.coinflips:
            yield (
                "variables",
                f"`{key}` is under `variables`, but not under `coinflips`. Fix: add the two texts of `{key}` under "
                "`coinflips`.",
            )
        elif prefix in NOT_DRAWN or VARIABLES in tables.missing:
            continue
        elif prefix not in tables.pools:
            pools = ", ".join(sorted(tables.pools))
            yield "variables", f"`{key}` needs a column `{prefix}` in {VARIABLES}. Fix: use one of the columns {pools}."
        elif not tables.pools[prefix]:
            yield (
                "variables",
                (
                    f"there is no label for `{key}`, because the column `{prefix}` of {VARIABLES} is empty. Fix: "
                    "add labels to this column."
                ),
            )
    for key, texts in story.coinflips.items():
        if len(texts) != 2 or len(set(texts)) != 2:
            yield (
                f"coinflips.{key}",
                "a coinflip needs exactly two texts, and the two texts must differ. Fix: correct the texts.",
            )


def _attribute_problems(
    section: str, labels: Mapping[str, Mapping[str, object]], table: AttributeTable, tables: Tables, file: str
) -> Iterator[tuple[str, str]]:
    if file in tables.missing:
        return
    for key, wanted in labels.items():
        unknown = [name for name in wanted if name not in table.attributes]
        for name in unknown:
            known = ", ".join(sorted(table.attributes)) or "none"
            yield (
                f"{section}.{key}",
                (f"the attribute `{name}` is not a column of {file}. Fix: use one of these columns: {known}."),
            )
        if not unknown and not table.matching({name: attribute_value(value) for name, value in wanted.items()}):
            said = " and ".join(f"{name} {value}" for name, value in wanted.items())
            yield (
                f"{section}.{key}",
                f"{file} does not contain a label with {said}. Fix: add such a label, or require fewer attributes.",
            )


def _switch_problems(story: ContextVersion) -> Iterator[tuple[str, str]]:
    for key, texts in story.switches.items():
        if not texts:
            yield f"switches.{key}", "the switch has no texts. Fix: add the texts of the switch."
    for cycle in _cycles(story):
        yield (
            cycle[0],
            (
                f"each of these texts contains the next text, in a circle: {' -> '.join(cycle)}. Fix: remove a "
                "placeholder from one of the texts."
            ),
        )


def _cycles(story: ContextVersion) -> Iterator[list[str]]:
    """Yield each circle of switches and fillers. Each text contains the next one, and the last contains the first."""
    inner = {f"switches.{key}": set().union(*map(keys_in, texts)) for key, texts in story.switches.items()}
    inner["filler"] = set().union(*map(keys_in, story.filler.values()))
    names = {key: f"switches.{key}" for key in story.switches} | {"filler": "filler"}
    graph = {node: sorted(names[key] for key in keys if key in names) for node, keys in inner.items()}
    found: set[frozenset[str]] = set()

    def walk(node: str, path: list[str]) -> Iterator[list[str]]:
        if node in path:
            cycle = path[path.index(node) :]
            if frozenset(cycle) not in found:
                found.add(frozenset(cycle))
                yield [*cycle, node]
            return
        for following in graph[node]:
            yield from walk(following, [*path, node])

    for node in sorted(graph):
        yield from walk(node, [])


def _filler_problems(story: ContextVersion, spec: BuildSpec) -> Iterator[tuple[str, str]]:
    for level in map(str, spec.inference_levels):
        if level not in story.filler:
            yield (
                f"filler.{level}",
                f"the text of inference level {level} is missing. Fix: add the text (an empty text is allowed).",
            )
    for level in story.filler:
        if level not in LEVELS:
            yield f"filler.{level}", "this inference level is unknown. Fix: use 0, 1, 2 or 3."
    if not all(is_well_formed(text) for _, text in _texts(story)):
        return  # The placeholders cannot be read.
    placed = keys_in(story.context).union(*(keys_in(text) for texts in story.switches.values() for text in texts))
    if "filler" not in placed and len(set(story.filler.values())) > 1:
        yield (
            "context",
            (
                "the story does not contain the filler, so all inference levels have the same text. Fix: add "
                "{vs[filler]} to the story."
            ),
        )


def says_you(text: str) -> bool:
    """Return True if a text contains “you” (or “your” etc.) outside direct speech."""
    return _YOU.search(_QUOTED.sub("", text)) is not None


def _pov_problems(story: ContextVersion, texts: Iterable[str], spec: BuildSpec) -> Iterator[tuple[str, str]]:
    if "third" not in spec.pov:
        return
    whole = list(texts)
    has_slots = any(prefix_of(key) == "pov" for text in whole for key in keys_in(text))
    if has_slots and not any(prefix_of(key) == "name" for key in story.variables):
        yield "variables", "the third person needs a name. Fix: add `name_1` (or the next free key) to this list."
    if not has_slots and any(says_you(text) for text in whole):
        yield (
            "context",
            "the texts contain “you”, but no placeholder for the third person. Fix: write {vs[pov_1]} etc. instead of "
            "“you”.",
        )


def _metadata_problems(scenario: Scenario, tables: Tables) -> Iterator[tuple[str, str]]:
    if scenario.metadata is not None and DEMANDS not in tables.missing:
        for key in ("provided", "required"):
            for name in getattr(scenario.metadata, key):
                if name not in tables.demands:
                    yield (
                        f"metadata.{key}",
                        (f"the demand `{name}` is not in {DEMANDS}. Fix: add a row, or correct the name."),
                    )


def _check_numbers(template_set: TemplateSet, problems: Problems) -> None:
    """Append a mistake if a scenario has two numbers, or if two scenarios have the same number.

    Counterbalancing designs use these numbers.
    """
    names: dict[int, ScenarioQuestion] = {}
    numbers: dict[str, ScenarioQuestion] = {}
    for question in template_set.questions:
        number, name = question.qa.base_context_number, question.scenario.name
        other = names.setdefault(number, question)
        if other.scenario.name != name:
            sentence = (
                f"the number {number} also belongs to the scenario {other.scenario.name}. Fix: give "
                "each scenario its own number."
            )
            problems.add(question.path, "base_context_number", sentence)
        other = numbers.setdefault(name, question)
        if other.qa.base_context_number != number:
            sentence = (
                f"the number is {number}, but in {other.path.name} of the same scenario, the number is "
                f"{other.qa.base_context_number}."
            )
            problems.add(question.path, "base_context_number", f"{sentence[:-1]}. Fix: make the two numbers equal.")


def _question_problems(question: ScenarioQuestion, tables: Tables) -> Iterator[tuple[str, str]]:
    qa, scenario = question.qa, question.scenario
    yield from _id_problems(qa)
    if qa.base_context != scenario.name:
        yield (
            "base_context",
            (f"`base_context` is `{qa.base_context}`, but the folder is `{scenario.name}`. Fix: correct one name."),
        )
    version = qa.base_context_version
    if scenario.letters and version not in scenario.letters:
        yield (
            "base_context_version",
            (
                f"{scenario.path.name} has no version {version}. Fix: add the version, or "
                "correct `base_context_version`."
            ),
        )
    yield from _demand_problems(qa, tables)
    yield from _link_problems(qa, question.story)
    yield from _answer_problems(qa)
    known = _known_keys(question.story) if question.story else None
    texts = {"question.prompt": qa.question.prompt}
    texts |= {f"question.options.{n}": text for n, text in enumerate(qa.question.options)}
    for key, text in texts.items():
        if not text.strip():
            yield key, "the text is empty. Fix: write the text."
        if "\n" in text:
            yield key, "the text has a line break. Fix: write the text on one line."
        if known is not None:
            yield from _text_problems(key, text, known, tables)
    if len(qa.question.options) != N_OPTIONS:
        yield "question.options", f"there are {len(qa.question.options)} options. Fix: write {N_OPTIONS} options."


def _id_problems(qa: QATemplate) -> Iterator[tuple[str, str]]:
    parts = qa.id.split(".")
    if not re.fullmatch(r"(?:[0-9]+\.){4}[a-z]", qa.id) or parts[1] not in CAPABILITY_OF_ID:
        yield (
            "id",
            f"the id `{qa.id}` does not have the form context.capability.subtype.qaversion.version. Fix: write an id "
            "such as 1.2.0.0.a.",
        )
        return
    expected = CAPABILITY_OF_ID[parts[1]]
    fits = qa.capability_type == expected or (
        expected == "prerequisite" and int(parts[2]) < 3 and qa.capability_type == PREREQUISITES[int(parts[2])]
    )
    if not fits:
        yield "id", f"the id `{qa.id}` is not an id of type {qa.capability_type}. Fix: correct the id or this type."
    if parts[0] != str(qa.base_context_number):
        yield (
            "id",
            f"the id `{qa.id}` must begin with the scenario's number {qa.base_context_number}. Fix: correct the id.",
        )
    if parts[4].upper() != qa.base_context_version:
        yield (
            "id",
            f"the id `{qa.id}` must end with the version {qa.base_context_version.lower()}. Fix: correct the id.",
        )


def _demand_problems(qa: QATemplate, tables: Tables) -> Iterator[tuple[str, str]]:
    if DEMANDS in tables.missing:
        return
    for key, names in (("c0", qa.demands.c0), ("c1", qa.demands.c1), ("c2", qa.demands.c2)):
        for name in names:
            if name not in tables.demands:
                yield f"demands.{key}", f"the demand `{name}` is not in {DEMANDS}. Fix: add a row, or correct the name."


def _link_problems(qa: QATemplate, story: ContextVersion | None) -> Iterator[tuple[str, str]]:
    usual = ("00", "10", "01", "11") if qa.capability_type == "double" else ("0", "1")
    for condition in usual:
        if condition not in qa.links:
            yield (
                "links",
                f"the condition {condition} is missing. Fix: add the positions of the switches in this condition.",
            )
    for condition, link in qa.links.items():
        key = f"links.{condition}"
        if not is_condition(qa.capability_type, condition):
            yield (
                key,
                f"`{condition}` is not a condition of a {qa.capability_type} question. Fix: use {', '.join(usual)}.",
            )
        if story is None:
            continue
        if len(link) != len(story.switches):
            yield (
                key,
                (
                    f"{len(link)} numbers under `links`, but the story has {len(story.switches)} keys under "
                    "`switches`. Fix: write one number for each key."
                ),
            )
        for position, (name, texts) in zip(link, story.switches.items(), strict=False):
            if texts and not 0 <= position < len(texts):
                yield key, f"{name} has no text with number {position}. Fix: use a number from 0 to {len(texts) - 1}."


def _answer_problems(qa: QATemplate) -> Iterator[tuple[str, str]]:
    for condition in qa.links.keys() - qa.answers.keys():
        yield (
            "answers",
            f"the condition {condition} is under `links`, but not under `answers`. Fix: add it under `answers`.",
        )
    for condition, answers in qa.answers.items():
        key = f"answers.{condition}"
        if condition not in qa.links:
            yield key, "this condition is under `answers`, but not under `links`. Fix: add it under `links`."
        if len(answers) != len(qa.question.options):
            yield (
                key,
                (
                    f"there are {len(answers)} answers for {len(qa.question.options)} options. Fix: write one answer "
                    "for each option."
                ),
            )
        elif set(answers) - {0, 1}:
            yield key, "an answer is not 0 or 1. Fix: write 1 for the right option and 0 for the other options."
        elif sum(answers) != 1:
            found = "no option is" if sum(answers) == 0 else f"{sum(answers)} options are"
            yield key, f"{found} marked as right. Fix: mark exactly one option with 1."


def _is_renderable(question: ScenarioQuestion, tables: Tables, spec: BuildSpec) -> bool:
    """Return True if labels can be inserted into the texts, because the texts have no mistakes."""
    qa, story = question.qa, question.story
    if story is None or any(_cycles(story)) or any(_link_problems(qa, story)):
        return False
    texts = [*dict(_texts(story)).values(), qa.question.prompt, *qa.question.options]
    known = _known_keys(story)
    has_all = all(story.switches.values()) and any(str(level) in story.filler for level in spec.inference_levels)
    return has_all and not any(list(_text_problems("", text, known, tables)) for text in texts)


def _sameness_problems(question: ScenarioQuestion, tables: Tables, spec: BuildSpec) -> Iterator[tuple[str, str]]:
    """Yield a sentence for each pair of options that can have the same text.

    Also yield a sentence for two conditions that have the same texts but different right options.
    """
    qa, story = question.qa, question.story
    assert story is not None
    for sentence in same_options(question, spec, tables):
        yield "question.options", sentence
    compiler = Compiler(story.switches, story.filler)
    level = next(str(level) for level in spec.inference_levels if str(level) in story.filler)

    def shown(condition: str) -> list[tuple[Piece, ...]]:
        links = tuple(qa.links[condition])
        return [
            compiler.resolve(text, links, level) for text in (story.context, qa.question.prompt, *qa.question.options)
        ]

    for one, other in combinations(conditions_of(question, spec), 2):
        if qa.answers.get(one) != qa.answers.get(other) and shown(one) == shown(other):
            letters = " and ".join(condition_letter(qa.capability_type, condition) for condition in (one, other))
            yield (
                "links",
                f"the conditions {letters} have different right options but the same texts. Fix: use a switch (a text "
                "that depends on the condition) in the story or the question.",
            )
