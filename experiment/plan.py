"""The plan of one session: the items, with their order and phases. Laboratory, web and models use the same plan."""

import random
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from batteries.design import levels_of
from experiment.order import shuffle_with_max_run, spread_slots
from experiment.study.definition import Study


class Phase(StrEnum):
    """Purpose of a trial."""

    PRACTICE = "practice"
    TEST = "test"
    ATTENTION_CHECK = "attention_check"


class Trial(BaseModel):
    """One item at one position of one session."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    trial_index: int = Field(ge=0, description="Position in the session, from 0.")
    phase: Phase = Field(description="practice, test or attention_check.")
    item_id: str = Field(description="Id of the item.")


class Plan(BaseModel):
    """All trials of one session, in order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    group: int | None = Field(description="Counterbalance group, from 1; None for a run over the whole battery.")
    seed: int | None = Field(description="Seed of the order; None if the order is not random.")
    trials: tuple[Trial, ...] = Field(description="The trials in order.")


def plan_session(study: Study, group: int, seed: int) -> Plan:
    """Make the plan of one session.

    Practice comes first. The test items of the group follow in random order, with the attention checks between them. If
    the study has a practice criterion, the plan contains the maximum number of practice rounds. The session skips the
    rounds that a participant does not need.

    This is a pure function. The same study, group and seed give the same trials on any machine, in any version of
    Python and its libraries.

    Parameters
    ----------
    study
        The study with its battery.
    group
        Counterbalance group, from 1 to the design's number of groups.
    seed
        Seed of the order, zero or more.

    Raises
    ------
    ValueError
        If the group does not exist.
    InputError
        If no order keeps the study's constraints. A study from `load_study` always has an order, because `load_study`
        tries every group.
    """
    definition = study.definition
    if not 1 <= group <= definition.design.groups:
        last = definition.design.groups
        raise ValueError(f"the design has no group {group}. Fix: use a group from 1 to {last}.")
    rng = random.Random(f"equipoise plan, group {group}, seed {seed}")
    max_run = definition.order.max_run
    items = study.test_items_by_group[group]
    levels = [levels_of(item, max_run.of) if max_run else () for item in items]
    test = shuffle_with_max_run(items, levels, max_run.length if max_run else None, rng)
    checks = shuffle_with_max_run(definition.attention_checks, definition.attention_checks, None, rng)
    slots = spread_slots(len(checks), len(test), definition.order.attention_check_spacing, rng)

    rounds = definition.practice_criterion.rounds if definition.practice_criterion else 1
    sequence = [(Phase.PRACTICE, item_id) for item_id in definition.practice * rounds]
    start = 0
    for check, slot in zip(checks, slots, strict=True):
        sequence += [(Phase.TEST, item.item_id) for item in test[start:slot]]
        sequence.append((Phase.ATTENTION_CHECK, check))
        start = slot
    sequence += [(Phase.TEST, item.item_id) for item in test[start:]]
    return Plan(
        group=group,
        seed=seed,
        trials=tuple(
            Trial(trial_index=index, phase=phase, item_id=item_id) for index, (phase, item_id) in enumerate(sequence)
        ),
    )
