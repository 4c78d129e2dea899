"""Blocks of a session: the test items with the same level of a factor, with their instructions and their order."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from batteries.items import Level


class Block(BaseModel):
    """The test items with one level of the factor that defines the blocks."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    level: Level = Field(description="Level of the factor `blocks.of`.")
    instructions: tuple[str, ...] = Field(
        default=(), description="Files (Markdown) shown before the first test trial of the block, one page each."
    )


class Blocks(BaseModel):
    """Blocks of test trials. Every test item is in the block with its level of the factor `of`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    of: str = Field(description="Factor whose levels define the blocks.")
    order: Literal["fixed", "random", "balanced"] = Field(
        description=(
            "Order of the blocks: `fixed` as listed, `random` from the seed of the session, or `balanced` by a "
            "balanced Latin square, which multiplies the number of groups."
        )
    )
    levels: tuple[Block, ...] = Field(
        min_length=2, max_length=20, description="The blocks: one entry for each level of the factor."
    )

    @model_validator(mode="after")
    def _each_level_once(self) -> "Blocks":
        seen: list[Level] = []
        for block in self.levels:
            if block.level in seen:
                raise ValueError(f"`levels` names the level {block.level!r} more than once. Fix: name each level once.")
            seen.append(block.level)
        return self

    @property
    def orders(self) -> list[list[Level]]:
        """The orders of the levels over which groups are counterbalanced; only one unless `order` is `balanced`."""
        levels = [block.level for block in self.levels]
        if self.order != "balanced":
            return [levels]
        return [[levels[position] for position in row] for row in balanced_latin_square(len(levels))]

    @property
    def pages(self) -> tuple[str, ...]:
        """The names of all files with instructions."""
        return tuple(name for block in self.levels for name in block.instructions)


def balanced_latin_square(n: int) -> list[list[int]]:
    """Return orders of the numbers 0 to n - 1, balanced for positions and for immediate predecessors.

    Over all rows, each number is in each position equally often, and each number follows each other number equally
    often. For an even n there are n rows, for an odd n there are 2n rows.

    Parameters
    ----------
    n
        How many numbers each row has.

    References
    ----------
    Williams, E. J. (1949). Experimental designs balanced for the estimation of residual effects of treatments.
    *Australian Journal of Scientific Research, Series A*, 2, 149-168.

    Examples
    --------
    >>> balanced_latin_square(4)
    [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]]
    """
    first = [(position + 1) // 2 if position % 2 else -(position // 2) % n for position in range(n)]
    rows = [[(number + row) % n for number in first] for row in range(n)]
    return rows if n % 2 == 0 else rows + [row[::-1] for row in rows]
