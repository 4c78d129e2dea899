"""Messages on imported replies that do not belong to the study's battery, and on how the two batteries differ."""

from collections.abc import Collection, Sequence
from pathlib import Path

from batteries.canonical_json import same_json
from batteries.errors import InputError
from batteries.items import Item
from equipoise.commands.store_access import StoreAddress, store_of
from experiment.models.imports.collect import FileReport
from experiment.models.imports.replies import ProblemKind
from experiment.models.imports.runs import named_items
from experiment.study.definition import Study


def nothing_found(reports: Sequence[FileReport], paths: Sequence[Path]) -> str:
    """Return the error message of an import that found no reply for this study."""
    problems = [sentence for report in reports for sentence in report.sentences()]
    if problems:
        has_only_failures = {kind for report in reports for kind in report.counts} == {ProblemKind.FAILED}
        fix = "send the failed requests again" if has_only_failures else "import the results of requests for this study"
        return "\n".join([*problems, f"No reply was imported. Fix: {fix}."])
    return f"{paths[0] if paths else 'the import'}: there are no replies. Fix: give the file of results."


def difference(study: Study, digits: str, n: int, location: StoreAddress | None) -> str:
    """Return a description of the `n` lines that belong to another battery. `digits` begin the digest of this battery.

    If the store has the other battery, the description says how its items differ from the study's items.
    """
    own = study.battery
    sentence = (
        f"{n:,} {'line belongs' if n == 1 else 'lines belong'} to the battery with the digest {digits}..., but the "
        f"study has the battery `{own.battery}`, version {own.version}, with the digest {own.digest[:8]}... and "
        f"{len(own.items):,} items."
    )
    try:
        with store_of(study, location, must_exist=True) as store:
            other = store.items_of_battery(digits)
    except InputError:  # There is no store yet, or it cannot be read.
        other = {}
    fix = "Fix: use the version of the study with the items that were sent to the model."
    if not other:
        return f"{sentence} The items of the other battery are not in the store. {fix}"
    mine = own.by_id
    only_own, only_other = mine.keys() - other.keys(), other.keys() - mine.keys()
    changed = [name for name in mine.keys() & other.keys() if not _is_same(mine[name], other[name])]
    return (
        f"{sentence} The other battery has {len(other):,} items. Items only in the study's battery: {_few(only_own)}. "
        f"Items only in the other battery: {_few(only_other)}. Items with another content or key: {_few(changed)}. "
        f"{fix}"
    )


def _is_same(one: Item, other: Item) -> bool:
    return same_json(
        [one.task, one.factors, one.content, one.key], [other.task, other.factors, other.content, other.key]
    )


def _few(ids: Collection[str]) -> str:
    return f"{len(ids):,} ({named_items(sorted(ids))})" if ids else "0"
