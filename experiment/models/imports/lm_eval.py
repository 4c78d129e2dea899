"""Samples of the lm-evaluation-harness (`--log_samples`), as JSON Lines.

Each line has `doc`, `arguments`, `resps`, `filtered_resps` and `target`. The document `doc` must have the id of the
request or item in a field `item_id`, `custom_id` or `id`. If the model wrote a text (output type `generate_until`), the
text is the reply. If a sample has several texts, each text is one epoch (repetition). If the harness computed the
log-likelihood of each option, the response is the option with the largest log-likelihood.

The file does not name the model. The name comes from the file `results_*.json` in the same folder, or from a map
(`--map model==NAME`).
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from batteries.errors import InputError
from batteries.items import Item
from batteries.stimulus.parts import option_words
from experiment.models.imports.lines import Fields, inner, json_objects, number_of, text_of, time_of, whole_of
from experiment.models.imports.replies import ImportedReply, Problem, ProblemKind, Records
from experiment.models.imports.study_items import FoundItem, StudyItems

NAME = "lm-eval"
_ID_FIELDS = ("item_id", "custom_id", "id")


def fits(fields: Fields) -> bool:
    """Return True if a line has the fields of a sample."""
    return "doc" in fields and "resps" in fields and ("target" in fields or "filtered_resps" in fields)


def read(path: Path, items: StudyItems, model: str | None) -> Records:
    """Yield the replies of a file. If `model` is None, the file `results_*.json` of the evaluation names the model.

    Raises
    ------
    InputError
        If the name of the model is unknown.
    """
    results = _results(path)
    name = model or inner(results, "model_name") or inner(results, "config", "model_args")
    if not isinstance(name, str) or not name:
        raise InputError(
            f"{path}: samples of lm-evaluation-harness do not name the model, and this folder has no results_*.json of "
            "the same evaluation. Fix: name the model with --map model==NAME."
        )
    started = time_of(results.get("date"))
    for line, fields in json_objects(path):
        if isinstance(fields, Problem):
            yield fields
        elif not fits(fields):
            yield Problem(line, ProblemKind.FOREIGN, "not a sample")
        else:
            for record in _records(line, fields, items, name):
                yield record if isinstance(record, Problem) else replace(record, time=started)


def _results(path: Path) -> Fields:
    """Return the content of the file `results_*.json` with the same time in its name as the file of samples.

    If there is no such file, the only file `results_*.json` in the folder is used.
    """
    stamp = path.stem.rpartition("_")[2]
    found = [path.with_name(f"results_{stamp}.json"), *sorted(path.parent.glob("results_*.json"))[:2]]
    others = found[1:] if len(found) == 2 else []  # One file of results without the same time is the only candidate.
    for candidate in (found[0], *others):
        try:
            value = json.loads(candidate.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return {}


def _records(line: int, fields: Fields, items: StudyItems, model: str) -> list[ImportedReply | Problem]:
    doc = fields["doc"]
    request = next((text_of(doc[name]) for name in _ID_FIELDS if name in doc), "") if isinstance(doc, dict) else ""
    if not request:
        return [Problem(line, ProblemKind.FOREIGN, "the field `doc` has no `item_id`, `custom_id` or `id`")]
    found = items.find(line, request)
    if isinstance(found, Problem):
        return [found]
    settings = inner(_first_arguments(fields), "arg_1")
    asked = ImportedReply(
        line=line,
        request=request,
        model=model,
        provider="lm-eval",
        reply="",
        temperature=number_of(inner(settings, "temperature")),
        max_tokens=whole_of(inner(settings, "max_gen_toks")),
    )
    resps = fields["resps"] if isinstance(fields["resps"], list) else []
    if any(_log_likelihood(resp) is not None for resp in resps):
        return [_chosen(asked, fields, found, items)]
    texts = [text for resp in resps for text in (resp if isinstance(resp, list) else [resp]) if isinstance(text, str)]
    if not texts:
        return [Problem(line, ProblemKind.FAILED, "the field `resps` has no reply", request)]
    if len(texts) == 1:
        return [replace(asked, reply=texts[0])]
    return [replace(asked, reply=text, epoch=epoch) for epoch, text in enumerate(texts, start=1)]


def _first_arguments(fields: Fields) -> Any:
    arguments = fields.get("arguments")
    if isinstance(arguments, dict):
        return next(iter(arguments.values()), None)
    return {"arg_1": inner(arguments, 0, 1)}  # Older versions write lists.


def _continuations(fields: Fields) -> list[str]:
    """Return the texts whose log-likelihoods were computed, in the order of `resps`.

    The list is empty if these texts are unknown.
    """
    arguments = fields.get("arguments")
    if isinstance(arguments, dict):
        texts = [inner(each, "arg_1") for each in arguments.values()]
    else:
        texts = [inner(each, 1) for each in arguments] if isinstance(arguments, list) else []
    return [text.strip() for text in texts] if all(isinstance(text, str) for text in texts) else []


def _log_likelihood(resp: Any) -> float | None:
    """Return the log-likelihood in `resp`, such as -1.2 in `[[-1.2, false]]` or `[-1.2, false]`.

    None if `resp` is a text.
    """
    value = inner(resp, 0, 0) if isinstance(inner(resp, 0), list) else inner(resp, 0)
    try:
        is_number = isinstance(value, int | float) or (isinstance(value, str) and isinstance(inner(resp, 0), list))
        return float(value) if is_number else None
    except ValueError:
        return None


def _chosen(asked: ImportedReply, fields: Fields, found: FoundItem, items: StudyItems) -> ImportedReply | Problem:
    item = items.items[found.position]
    values = [_log_likelihood(resp) for resp in fields["resps"]]
    options = _options(item, _continuations(fields), len(values))
    if options is None or None in values:
        detail = "the log-likelihoods are not those of the item's options"
        return Problem(asked.line, ProblemKind.FAILED, detail, asked.request)
    known = [value for value in values if value is not None]
    best = [option for option, value in zip(options, known, strict=True) if value == max(known)]
    likelihoods = json.dumps({str(option): value for option, value in sorted(zip(options, known, strict=True))})
    # If two options have the same log-likelihood, the reply has no response.
    return replace(asked, reply=likelihoods, has_response=True, response=best[0] if len(best) == 1 else None)


def _options(item: Item, continuations: list[str], n: int) -> list[int] | None:
    """Return, for each log-likelihood, the number of its option.

    Return None if the texts with log-likelihoods are not the item's options.
    """
    texts = option_words(item.content) if item.task == "multiple_choice" else []
    if len(texts) != n or item.content.get("several"):
        return None
    if not continuations:
        return list(range(1, n + 1))
    forms = (
        [text.strip() for text in texts],
        [str(number) for number in range(1, n + 1)],
        [chr(ord("A") + number) for number in range(n)],
    )
    for form in forms:
        if sorted(form) == sorted(continuations):
            return [form.index(text) + 1 for text in continuations]
    return None
