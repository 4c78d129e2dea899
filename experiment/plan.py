"""The plan of one session: the items, with their order and phases. Laboratory, web and models use the same plan."""

import random
from collections.abc import Iterable
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from batteries.design import levels_of, natural_order
from batteries.items import Item, Level
from experiment.order import draw, shuffle_with_max_run, spread_slots
from experiment.study.definition import ItemSequence, Order, Study
from experiment.study.timeline import IntertrialRange, Timing


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

    Practice comes first. The test items of the group follow, block by block. The order within a block is random, but
    the items of a sequence stay together. The attention checks are between the test items, but not inside a sequence.
    If the study has a practice criterion, the plan contains the maximum number of practice rounds. The session skips
    the rounds that a participant does not need.

    This is a pure function. The same study, group and seed give the same trials on any machine, in any version of
    Python and its libraries.

    Parameters
    ----------
    study
        The study with its battery.
    group
        Counterbalance group, from 1 to the study's number of groups.
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
    if not 1 <= group <= definition.n_groups:
        raise ValueError(f"the design has no group {group}. Fix: use a group from 1 to {definition.n_groups}.")
    rng = random.Random(f"equipoise plan, group {group}, seed {seed}")
    test = [unit for items in _blocks(study, group, rng) for unit in _shuffled_units(items, definition.order, rng)]
    checks = shuffle_with_max_run(definition.attention_checks, definition.attention_checks, None, rng)
    counted = "sequences of test trials" if definition.order.sequence else "test trials"
    slots = spread_slots(len(checks), len(test), definition.order.attention_check_spacing, rng, counted)

    rounds = definition.practice_criterion.rounds if definition.practice_criterion else 1
    sequence = [(Phase.PRACTICE, item_id) for item_id in definition.practice * rounds]
    start = 0
    for check, slot in zip(checks, slots, strict=True):
        sequence += [(Phase.TEST, item.item_id) for unit in test[start:slot] for item in unit]
        sequence.append((Phase.ATTENTION_CHECK, check))
        start = slot
    sequence += [(Phase.TEST, item.item_id) for unit in test[start:] for item in unit]
    return Plan(
        group=group,
        seed=seed,
        trials=tuple(
            Trial(trial_index=index, phase=phase, item_id=item_id) for index, (phase, item_id) in enumerate(sequence)
        ),
    )


def intertrial_ms(timing: Timing, seed: int | None, trial_index: int) -> int:
    """Return the interval before a trial, in ms: the time of the blank screen after the trial before.

    This is a pure function, with a random number generator for each trial. So the intervals do not affect the order of
    trials, and a resumed session has the same intervals. A trial after a page has no interval; the caller knows this.
    """
    interval = timing.intertrial_ms
    if not isinstance(interval, IntertrialRange):
        return interval
    rng = random.Random(f"equipoise intertrial interval, seed {seed}, trial {trial_index}")
    return interval.min + draw(rng, interval.max - interval.min + 1)


def _blocks(study: Study, group: int, rng: random.Random) -> list[list[Item]]:
    """Return the test items of each block, in the order of the blocks. Without blocks, all items are one block."""
    items, blocks = study.test_items_by_group[group], study.definition.blocks
    if blocks is None:
        return [items]
    orders = blocks.orders
    levels = orders[(group - 1) // study.definition.design.groups % len(orders)]
    if blocks.order == "random":
        levels = shuffle_with_max_run(levels, levels, None, rng)
    return [[item for item in items if levels_of(item, [blocks.of]) == (level,)] for level in levels]


def _shuffled_units(items: list[Item], order: Order, rng: random.Random) -> list[list[Item]]:
    """Return the sequences of a block in random order. An item that is in no sequence is a sequence of one item."""
    max_run, units = order.max_run, sequences_of(items, order.sequence)
    levels = [levels_of(unit[0], max_run.of) if max_run else () for unit in units]
    return shuffle_with_max_run(units, levels, max_run.length if max_run else None, rng)


def sequence_of(item: Item, rule: ItemSequence | None) -> tuple[Level, ...] | None:
    """Return the levels that name the item's sequence; None if it is in no sequence.

    An item that has none of the factors in `rule.of` is in no sequence.
    """
    if rule is None or not set(rule.of) & item.factors.keys():
        return None
    return levels_of(item, rule.of)


def sequences_of(items: Iterable[Item], rule: ItemSequence | None) -> list[list[Item]]:
    """Return the sequences of items, each in its order. An item that is in no sequence is a sequence of one item."""
    if rule is None:
        return [[item] for item in items]
    sequences: dict[tuple[Level, ...] | str, list[Item]] = {}
    for item in items:
        sequences.setdefault(sequence_of(item, rule) or item.item_id, []).append(item)
    return [
        sorted(sequence, key=lambda item: natural_order(*levels_of(item, [rule.by]))) if len(sequence) > 1 else sequence
        for sequence in sequences.values()
    ]
