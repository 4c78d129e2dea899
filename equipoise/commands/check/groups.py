"""Points on counterbalance groups and quotas."""

from equipoise.commands.check.checklist import Point, failed, listed, needs_attention, passed
from experiment.study.analysis_plan import OF_RUNS
from experiment.study.definition import Study, StudyDefinition


def groups_point(study: Study) -> Point:
    """Check that the groups have equally many items, and that each group sees each level of the reported factors."""
    subject, by_group = "Groups", study.test_items_by_group
    sizes = [len(items) for items in by_group.values()]
    n_items = f"{min(sizes)} test items" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)} test items"
    about = f"{len(sizes)} groups with {n_items} each" if len(sizes) > 1 else f"1 group with {n_items}"
    is_in = _groups_of_an_item(study.definition)
    if max(sizes) - min(sizes) > 1:
        return needs_attention(
            subject,
            f"{about}, so participants have different amounts of work.",
            "add or delete items, so that the groups have equally many.",
        )
    for factor in study.definition.analysis.by:
        if factor in OF_RUNS:
            continue
        levels = {group: {item.factors.get(factor) for item in items} for group, items in by_group.items()}
        every = set().union(*levels.values())
        if without := [group for group, seen in levels.items() if seen != every]:
            return needs_attention(
                subject,
                f"{about}. Not every group sees every level of `{factor}`: {_groups(without)} does not.",
                f"use fewer groups, or add `{factor}` to the design.",
            )
    return passed(subject, f"{about}. Each test item is in {is_in}.")


def _groups_of_an_item(definition: StudyDefinition) -> str:
    differences = ["different orders of the blocks"] if definition.n_block_orders > 1 else []
    differences += ["different response keys"] if definition.response_keys.mappings > 1 else []
    n_groups = definition.n_groups // definition.design.groups
    return f"{n_groups} groups, which have {' and '.join(differences)}" if differences else "one group"


def _groups(numbers: list[int]) -> str:
    return listed([f"group {number}" for number in sorted(numbers)], most=3)


def quotas_point(study: Study) -> Point:
    """Check that the quotas can be reached, and fill all groups equally."""
    subject, recruitment, n_groups = "Quotas", study.definition.recruitment, study.definition.n_groups
    quota, per_group = recruitment.quota, recruitment.quota_per_group
    in_groups = None if per_group is None else per_group * n_groups
    limits = [limit for limit in (quota, in_groups) if limit is not None]
    if not limits:
        return needs_attention(
            subject,
            "the study has no quota, so new participants can begin until you stop the server.",
            f"write `quota` under `recruitment` in study.yaml, a multiple of {n_groups}, the number of groups.",
        )
    n_people = min(limits)
    if quota is not None and in_groups is not None and quota > in_groups:
        return failed(
            subject,
            f"`quota` is {quota}, but {n_groups} groups of {per_group} people have only {in_groups} slots.",
            "make the two quotas agree, or delete one of them.",
        )
    if n_people < n_groups:
        return failed(
            subject,
            f"{n_people} people cannot fill {n_groups} groups, so some items would get no responses.",
            f"raise `quota` to {n_groups} or more.",
        )
    if study.panel_ids is not None and len(study.panel_ids) < n_people:
        return needs_attention(
            subject,
            f"`panel_ids` has {len(study.panel_ids)} ids, fewer than the {n_people} people of the quota.",
            "add ids to the file, or lower the quota.",
        )
    if n_people % n_groups:
        return needs_attention(
            subject,
            f"{n_people} people do not divide equally over {n_groups} groups.",
            f"use a multiple of {n_groups}, such as {n_people + n_groups - n_people % n_groups}.",
        )
    return passed(subject, f"{n_people} people, {n_people // n_groups} in each of {n_groups} groups.")
