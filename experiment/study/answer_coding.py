"""The coding of open answers: each answer gets a code, or several, from coders or by a rule."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from batteries.errors import InputError
from batteries.items import Item
from batteries.tasks import task_named

CODED_AS = "coded_as"
"""The column with the codes of each answer. Several codes are joined with ` + `."""
CODING_NAME = "coding_name"
"""The column with the name of the coding of each coded answer."""
CODE = "code_"
"""The first part of the name of the yes-no column of a code, such as `code_physical`."""
BETWEEN_CODES = " + "

CodeName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]
CodingName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=40)]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class Code(BaseModel):
    """One code of a coding."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: CodeName = Field(description="Name of the code: small letters, digits and `_`. Coders see it as words.")
    definition: str = Field(
        min_length=1, max_length=500, description="When an answer gets this code, in one sentence. Coders see it."
    )
    words: tuple[Words, ...] = Field(
        default=(),
        max_length=500,
        description=(
            "For coding by rule: an answer with one of these words or phrases gets the code. `*` at the start or end "
            "of a word replaces any letters, as in `fall*`. Capital letters and punctuation do not matter."
        ),
    )


class Coding(BaseModel):
    """The coding of the answers to some items, by coders (`coders`) or by rule (`words` of the codes)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    items: tuple[str, ...] = Field(
        default=(),
        description="Item ids of the questions. If omitted, all ungraded test items with open answers (`free_text`).",
    )
    # A list, because the order of the codes is a part of the rule, and a locked plan must show if the order changed.
    codes: tuple[Code, ...] = Field(
        min_length=2,
        max_length=9,
        description=(
            "The codes, 2 to 9. By rule, the first code with a matching word counts. A last code without "
            "`words` is for all other answers."
        ),
    )
    several: bool = Field(default=False, description="true: an answer can have several codes.")
    right: tuple[CodeName, ...] = Field(
        default=(),
        description=(
            "Codes of right answers. If given, an answer with one of these codes is correct, and any other coded "
            "answer is not correct. If omitted, the answers stay ungraded."
        ),
    )
    coders: int | None = Field(
        default=None,
        ge=1,
        le=20,
        description="Number of coders for each answer (`equipoise coding new`). If omitted, the coding is by rule.",
    )
    resolve: Literal["consensus", "majority", "first"] = Field(
        default="consensus",
        description=(
            "How the codes of several coders become one. `consensus`: the common code of all coders. `majority`: the "
            "code of more than half of the coders. `first`: the code of the first coder. In each case, the code in "
            "the column `resolved` of disagreements.csv comes first."
        ),
    )
    show: Literal["question", "item", "answer"] = Field(
        default="question",
        description=(
            "What coders see besides the answer. `question`: the question. `item`: also the text and the pictures of "
            "the item, which may show the condition. `answer`: nothing."
        ),
    )

    @property
    def code_names(self) -> list[str]:
        """The names of the codes, in their order."""
        return [code.name for code in self.codes]

    @property
    def is_by_rule(self) -> bool:
        """True if a rule gives the codes, not coders."""
        return self.coders is None

    @model_validator(mode="after")
    def _has_one_method(self) -> "Coding":
        *first, _ = self.codes
        if self.coders is not None:
            for code in self.codes:
                if code.words:
                    raise ValueError(
                        f"the code `{code.name}` has `words`, which are for coding by rule, but there are `coders` "
                        "too. Fix: delete `words` or `coders`."
                    )
            return self
        for code in first:
            if not code.words:
                raise ValueError(
                    f"the code `{code.name}` has no `words`, and there are no `coders`. Fix: write the number of "
                    f"`coders`, or the `words` of `{code.name}`. Only the last code, for all other answers, has no "
                    "words."
                )
        for code in self.codes:
            for words in code.words:
                if not is_pattern(words):
                    raise ValueError(
                        f"the code `{code.name}`: `{words}` has no letters or digits, or a `*` within a word. Fix: "
                        "write words such as `gravity` or `fall*`."
                    )
        for field in ("resolve", "show"):
            if field in self.model_fields_set:
                raise ValueError(f"`{field}` is for coding by coders. Fix: delete `{field}`, or add `coders`.")
        return self

    @field_validator("items", "right")
    @classmethod
    def _each_once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise ValueError("duplicate name. Fix: write each name once.")
        return names

    @model_validator(mode="after")
    def _codes_are_distinct(self) -> "Coding":
        names = self.code_names
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"two codes have the name `{twice}`. Fix: give each code its own name.")
        return self

    @model_validator(mode="after")
    def _right_codes_exist(self) -> "Coding":
        for name in self.right:
            if name not in self.code_names:
                raise ValueError(f"`right` names the code `{name}`, which is not in `codes`. Fix: correct the name.")
        return self


def is_pattern(words: str) -> bool:
    """Return True if words have letters or digits, and each `*` is at the start or end of a word."""
    return all(
        any(sign.isalnum() for sign in word) and "*" not in word.removeprefix("*").removesuffix("*")
        for word in words.split()
    )


def items_of_codings(codings: Mapping[str, Coding], test_items: Iterable[Item]) -> dict[str, list[str]]:
    """Return the item ids of each coding, after a check of all items.

    Parameters
    ----------
    codings
        The entry `coding` of the analysis plan.
    test_items
        The test items of the study.

    Raises
    ------
    InputError
        If an item does not exist or has no open answers, if an item is in two codings, or if a coding has no items.
        Also if a coding names right codes, and an item has a right answer already.
    """
    by_id = {item.item_id: item for item in test_items}
    found: dict[str, list[str]] = {}
    coding_of: dict[str, str] = {}
    for name, coding in codings.items():
        is_open = [id_ for id_, item in by_id.items() if task_named(item.task).has_open_answers and not item.is_graded]
        ids = list(coding.items) or is_open
        if not ids:
            raise InputError(
                f"the coding `{name}`: no test item is ungraded and has open answers. Fix: name the items in `items`, "
                "or delete the coding."
            )
        for item_id in ids:
            if item_id not in by_id:
                raise InputError(
                    f"the coding `{name}` names the item `{item_id}`, which is not a test item. Fix: correct the id."
                )
            item = by_id[item_id]
            if not task_named(item.task).has_open_answers:
                raise InputError(
                    f"the coding `{name}` names the item `{item_id}`, but answers of the task `{item.task}` cannot be "
                    "coded. Fix: name items of the task `free_text`."
                )
            if coding.right and item.is_graded:
                raise InputError(
                    f"the coding `{name}` names right codes, but the item `{item_id}` has a right answer already. "
                    "Fix: write `key: null` for this item, or delete `right`."
                )
            if item_id in coding_of:
                raise InputError(
                    f"the item `{item_id}` is in the codings `{coding_of[item_id]}` and `{name}`. Fix: name the items "
                    "of each coding in `items`, each item once."
                )
            coding_of[item_id] = name
        found[name] = ids
    return found
