"""The pages between the trials of a session: breaks, and the instructions of blocks.

Laboratory, web and models use the same rules.
"""

from collections.abc import Iterable

from batteries.design import levels_of
from batteries.items import Item
from experiment.plan import Phase, sequence_of
from experiment.study.definition import StudyDefinition

PlannedItem = tuple[Phase, Item]
"""The phase of a trial, and its item."""


def block_instructions(definition: StudyDefinition, trials: Iterable[PlannedItem]) -> dict[int, tuple[str, ...]]:
    """Return the file names of each block's instructions, by the position of the block's first test trial.

    A block without instructions has an empty entry. An attention check between two blocks belongs to the block before.
    So the instructions come directly before the questions that they explain.

    Parameters
    ----------
    definition
        The study's definition.
    trials
        All trials of the session, in order.
    """
    blocks = definition.blocks
    if blocks is None:
        return {}
    found: dict[int, tuple[str, ...]] = {}
    pages = {block.level: block.instructions for block in blocks.levels}
    before = None
    for position, (phase, item) in enumerate(trials):
        if phase is not Phase.TEST:
            continue
        (level,) = levels_of(item, [blocks.of])
        if not found or level != before:
            found[position] = pages[level]
        before = level
    return found


def break_positions(definition: StudyDefinition, trials: Iterable[PlannedItem]) -> list[int]:
    """Return the positions of the trials that come after a break.

    A break that would be inside a sequence comes after the sequence.

    Parameters
    ----------
    definition
        The study's definition.
    trials
        All trials of the session, in order.
    """
    breaks, rule = definition.timeline.breaks, definition.order.sequence
    if breaks is None:
        return []
    found: list[int] = []
    n_questions, is_due, before = 0, False, None
    for position, (phase, item) in enumerate(trials):
        if phase is Phase.PRACTICE:
            continue
        sequence = sequence_of(item, rule) if phase is Phase.TEST else None
        is_due = is_due or (n_questions > 0 and n_questions % breaks.every == 0)
        if is_due and (sequence is None or sequence != before):
            found.append(position)
            is_due = False
        before = sequence
        n_questions += 1
    return found
