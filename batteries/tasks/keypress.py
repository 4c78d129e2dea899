"""`keypress`: a fast response with a key (two-choice, go/no-go). The response is the name of the key."""

from typing import Annotated, Any, Self

from pydantic import Field, JsonValue, StringConstraints, field_validator, model_validator

from batteries.errors import InputError
from batteries.stimulus.parts import Part, StimulusContent, stimulus_words
from batteries.tasks.question import n_words
from batteries.tasks.replies.reading import Reading
from batteries.tasks.task import Feedback, Score, Task

WITHHELD = "none"
"""The response of a participant who presses no key, if the item allows this response."""

Key = Annotated[str, StringConstraints(pattern=r"^([a-z0-9]|space|left|right|up|down)$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=40, strip_whitespace=False)]


class KeypressContent(StimulusContent):
    """Content of an item with the task `keypress`."""

    text: str = Field(default="", description="A text above the stimulus. An empty line begins a new paragraph.")
    prompt: str = Field(default="", description="A short question above the stimulus, such as `Word or nonword?`.")
    keys: dict[Key, Name] = Field(
        min_length=1,
        max_length=9,
        description="The response keys, each with the name of its response, such as `{f: word, j: nonword}`. A key is "
        "a small letter, a digit, `space`, `left`, `right`, `up` or `down`.",
    )
    stimulus_ms: int | None = Field(
        default=None,
        ge=10,
        le=600_000,
        description="Duration of the stimulus in ms, rounded to whole frames. If omitted, it stays until the response.",
    )
    mask: tuple[Part, ...] = Field(
        default=(), max_length=20, description="Parts that replace the stimulus after `stimulus_ms`."
    )
    mask_ms: int | None = Field(
        default=None,
        ge=10,
        le=600_000,
        description="Duration of the mask in ms, rounded to whole frames. If omitted, it stays until the response.",
    )
    window_ms: int | None = Field(
        default=None,
        ge=100,
        le=600_000,
        description="Time after stimulus onset in which a key is accepted, in ms. It replaces `deadline_ms` of the "
        "study. If omitted, `deadline_ms` applies.",
    )
    withhold: bool = Field(
        default=False,
        description="true: to press no key within `window_ms` is a response, named `none` (go/no-go). false: it is a "
        "missing response.",
    )

    @field_validator("keys")
    @classmethod
    def _are_distinct(cls, keys: dict[str, str]) -> dict[str, str]:
        names = {name.casefold() for name in keys.values()}  # Replies of models differ in capital letters.
        if len(names) < len(keys):
            raise ValueError("two keys have the same name. Fix: give each key its own name.")
        if WITHHELD in names:
            raise ValueError(f"a key has the name `{WITHHELD}`, which means no key. Fix: give the key another name.")
        return dict(sorted(keys.items()))  # The same order before and after a battery is written as JSON.

    @model_validator(mode="after")
    def _durations_agree(self) -> Self:
        if self.mask and self.stimulus_ms is None:
            raise ValueError("a mask needs the duration of the stimulus. Fix: add `stimulus_ms`, or delete `mask`.")
        if self.mask_ms is not None and not self.mask:
            raise ValueError("`mask_ms` has no `mask`. Fix: add `mask`, or delete `mask_ms`.")
        if self.withhold and self.window_ms is None:
            raise ValueError("`withhold` needs a response window. Fix: add `window_ms`.")
        if not (self.stimulus or self.text or self.prompt):
            raise ValueError("the item shows nothing. Fix: add `stimulus`, `text` or `prompt`.")
        return self


class Keypress(Task):
    """The response is the name of the pressed key, or `none` for no key if the item allows it. So is the key.

    A response is right if it equals the key. The chance is 1 divided by the number of possible responses.
    """

    name = "keypress"
    content_model = KeypressContent
    wording = frozenset({"screens", "stimulus", "mask", "text", "prompt"})

    def responses(self, content: dict[str, Any]) -> list[JsonValue]:
        return [*content["keys"].values(), *([WITHHELD] if content["withhold"] else [])]

    def check_response(self, content: dict[str, Any], response: JsonValue) -> None:
        possible = self.responses(content)
        if response not in possible:
            names = ", ".join(f"`{name}`" for name in possible)
            raise InputError(
                f"the response must be the name of a key: {names} (it is {response!r}). Fix: use one of these names."
            )

    def score(self, content: dict[str, Any], key: JsonValue, response: JsonValue) -> Score:
        correct = response == key
        return Score(correct, float(correct))

    def choice(self, content: dict[str, Any], response: JsonValue) -> str | None:
        self.check_response(content, response)
        return str(response)

    def read_reply(self, content: dict[str, Any], reply: str) -> Reading:
        from batteries.tasks.replies import keys  # noqa: PLC0415  (only imports of models' replies need it)

        return keys.read(content["keys"], WITHHELD if content["withhold"] else None, reply)

    def n_words(self, content: dict[str, Any]) -> int:
        """Return the number of words of the stimulus. Participants know text and prompt from the trials before."""
        return n_words(stimulus_words(content))

    def feedback(self, content: dict[str, Any], key: JsonValue, response: JsonValue) -> Feedback:
        correct = response == key
        if key == WITHHELD:
            return Feedback(correct, "withhold_right" if correct else "withhold_wrong", {}, key)
        return Feedback(correct, "choice_right" if correct else "choice_wrong", {"answer": str(key)}, key)
