"""Point on the pictures, sounds and videos of a study: their number, their size, and the time to load them."""

from batteries.items import Item
from batteries.stimulus.asset_files import asset_file
from batteries.stimulus.parts import asset_parts, path_of, stored_name
from equipoise.commands.check.checklist import Point, needs_attention, passed
from experiment.study.definition import Study

LINE_MBIT_PER_S = 10
"""Speed of a slow home connection, for the estimate of the loading time."""
LONGEST_LOADING_S = 60
"""Longest loading time of the files of one session that needs no decision."""
SUBJECT = "Pictures and sounds"


def assets_points(study: Study) -> list[Point]:
    """Return the point on the files of a study's items. A study without such files has no point."""
    sizes = _sizes(study, list(study.battery.items))
    if not sizes:
        return []
    apart = [study.battery.by_id[name] for name in (*study.definition.practice, *study.definition.attention_checks)]
    per_group = [_sizes(study, [*apart, *items]) for items in study.test_items_by_group.values()]
    largest = max(per_group, key=lambda group: sum(group.values()))
    megabytes = sum(largest.values()) / 1e6
    seconds = megabytes * 8 / LINE_MBIT_PER_S
    files = "1 file" if len(sizes) == 1 else f"{len(sizes):,} files"
    found = (
        f"{files} with {sum(sizes.values()) / 1e6:.1f} MB. A session loads up to {len(largest):,} of them with "
        f"{megabytes:.1f} MB, in about {max(1, round(seconds))} s at {LINE_MBIT_PER_S} Mbit/s."
    )
    if seconds > LONGEST_LOADING_S:
        return [needs_attention(SUBJECT, found, "save the files with fewer pixels or a lower bit rate.")]
    return [passed(SUBJECT, found)]


def _sizes(study: Study, items: list[Item]) -> dict[str, int]:
    """Return the sizes in bytes of the different files of items, by their digests."""
    folder = (study.folder / study.definition.battery).parent
    parts = {stored_name(part): path_of(part) for item in items for part in asset_parts(item.content)}
    return {name: asset_file(folder, path).stat().st_size for name, path in parts.items()}
