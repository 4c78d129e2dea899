"""The study: the content of `study.yaml`, and the whole study with its battery, groups and texts."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from batteries.canonical_json import digest
from batteries.design import Design
from batteries.items import Battery, Item
from batteries.tasks.psychopy_trial import PsychoPyTask
from experiment.records import Source
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.blocks import Blocks
from experiment.study.demographics import DemographicQuestion
from experiment.study.event_codes import BlockLevel, CodeMeaning, EventCodes, PhaseName, list_codes
from experiment.study.exclusion_rules import AttentionCheckRule
from experiment.study.look import Look
from experiment.study.pages_by_source import page_for
from experiment.study.recruitment import Recruitment
from experiment.study.response_keys import ResponseKeys, with_response_keys
from experiment.study.timeline import Confidence, Device, PracticeCriterion, Resume, Timeline, Timing
from experiment.texts import Texts, texts_in


class MaxRun(BaseModel):
    """Rule that at most `length` consecutive test trials have the same levels of the factors in `of`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    of: tuple[str, ...] = Field(min_length=1, description="Factors whose combined levels may not repeat too often.")
    length: int = Field(ge=1, description="Longest allowed run, in trials.")


class ItemSequence(BaseModel):
    """Rule that test items with the same levels of the factors in `of` follow each other, in ascending order of `by`.

    All items of a sequence must be in the same counterbalance group; the design `deal` deals whole sequences. An item
    that has none of the factors in `of` is in no sequence. No attention check and no break is inside a sequence.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    of: tuple[str, ...] = Field(min_length=1, description="Factors whose combined levels define a sequence.")
    by: str = Field(
        description="Factor that orders the items of a sequence: numbers by value, then texts by Unicode code point."
    )


class Order(BaseModel):
    """Constraints on the order of trials. Practice always comes first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    attention_check_spacing: int = Field(
        default=3,
        ge=1,
        description=(
            "Fewest test trials before the first attention check, between checks, and after the last check. With "
            "`sequence`, a whole sequence counts as one trial."
        ),
    )
    max_run: MaxRun | None = Field(
        default=None,
        description="Longest run of trials with equal levels, within a block; no limit if omitted.",
    )
    sequence: ItemSequence | None = Field(
        default=None,
        description="Test items that follow each other, such as a study list and its probe; none if omitted.",
    )

    @model_validator(mode="after")
    def _has_one_rule(self) -> "Order":
        if self.max_run is not None and self.sequence is not None:
            raise ValueError("`max_run` and `sequence` cannot be combined. Fix: delete one of them.")
        return self


class Plugin(BaseModel):
    """A published jsPsych plugin, in its build for browsers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str = Field(pattern=r"\.js$", description="The plugin's file for browsers, such as `index.browser.min.js`.")
    variable: str = Field(
        pattern=r"^[A-Za-z_$][A-Za-z0-9_$]*$",
        description="Variable that contains the plugin after the file is loaded, such as `jsPsychHtmlSliderResponse`.",
    )


class PsychoPyTrialClass(BaseModel):
    """A Python class that draws trials in PsychoPy's window, in the laboratory."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str = Field(pattern=r"\.py$", description="The Python file with the class, such as `gabor.py`.")
    class_name: str = Field(
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="Name of the class in the file, such as `Gabor`."
    )


class StudyDefinition(BaseModel):
    """The content of `study.yaml`. File names are relative to the folder of `study.yaml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    study: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", description="Name: small letters, digits and hyphens.")
    version: str = Field(min_length=1, description='Version of the study, in quotes, such as "1.0".')
    title: str = Field(min_length=1, description="Title that participants see.")
    language: str = Field(default="en", pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]+)*$", description="Language of the texts.")
    battery: str = Field(description="File with the battery, .jsonl or .yaml.")
    practice: tuple[str, ...] = Field(default=(), description="Item ids of the practice trials, in order.")
    practice_criterion: PracticeCriterion | None = Field(
        default=None,
        description="Practice until enough responses are right; if omitted, each participant has one round.",
    )
    attention_checks: tuple[str, ...] = Field(default=(), description="Item ids of the attention checks.")
    design: Design = Field(description="Assignment of the test items to counterbalance groups.")
    order: Order = Field(default_factory=Order, description="Constraints on the order of trials.")
    blocks: Blocks | None = Field(
        default=None,
        description="Blocks of test trials with instructions and an order; if omitted, the test is one block.",
    )
    response_keys: ResponseKeys = Field(
        default_factory=ResponseKeys,
        description="Keys of options, and the balance of keys over counterbalance groups.",
    )
    timing: Timing = Field(default_factory=Timing, description="Durations of a trial.")
    confidence: Confidence | None = Field(
        default=None,
        description="Question about confidence, which follows every answer, also in practice; none if omitted.",
    )
    timeline: Timeline = Field(default_factory=Timeline, description="The participants' pages.")
    device: Device = Field(default_factory=Device, description="Requirements for a participant's device.")
    resume: Resume = Field(default_factory=Resume, description="Rules for participants who open their session again.")
    event_codes: EventCodes = Field(
        default_factory=EventCodes,
        description="Numbers that the laboratory sends to recording devices, such as an EEG amplifier.",
    )
    look: Look = Field(default_factory=Look, description="The study's own colour and logo.")
    texts: dict[str, str] = Field(
        default_factory=dict,
        description="Texts that replace texts of the catalogue, by name; `{...}` in a text is a placeholder.",
    )
    plugins: dict[str, Plugin] = Field(
        default_factory=dict, description="Published jsPsych plugins for items of the task `jspsych`, by name."
    )
    psychopy_trials: dict[str, PsychoPyTrialClass] = Field(
        default_factory=dict,
        description="Python classes that draw items of the task `psychopy` in the laboratory, by name.",
    )
    completion_code: str | None = Field(
        default=None,
        min_length=4,
        max_length=64,
        description=(
            "Completion code for a panel, the same for all participants; if omitted, each participant gets a different "
            "code."
        ),
    )
    recruitment: Recruitment = Field(
        default_factory=Recruitment,
        description="Who may take part, and how many participants; can change during data collection.",
    )
    analysis: AnalysisPlan = Field(
        default_factory=AnalysisPlan, description="The analysis, fixed before the researchers see data."
    )

    @property
    def n_groups(self) -> int:
        """Number of counterbalance groups of sessions.

        The design's groups of items are crossed with the orders of blocks and with the mappings of response keys. Group
        g has the items of the design's group (g - 1) mod `design.groups` + 1.
        """
        return self.design.groups * self.n_block_orders * self.response_keys.mappings

    @property
    def n_block_orders(self) -> int:
        """Number of orders of blocks over which groups are counterbalanced."""
        return len(self.blocks.orders) if self.blocks else 1

    def response_mapping(self, group: int | None) -> int:
        """Return the number of a group's mapping of keys to responses, from 1.

        A session without a group, such as the run of a model over the whole battery, has mapping 1.
        """
        return 1 if group is None else (group - 1) // (self.design.groups * self.n_block_orders) + 1

    def with_response_keys(self, item: Item, group: int | None) -> Item:
        """Return an item with the response keys of a group. Only participants get this item, not models."""
        return with_response_keys(item, self.response_keys, self.response_mapping(group))

    @property
    def pages(self) -> tuple[str, ...]:
        """The names of all Markdown files with the participants' pages."""
        return self.timeline.texts + (self.blocks.pages if self.blocks else ())

    @property
    def code_files(self) -> frozenset[str]:
        """The names of all files with code: jsPsych plugins, and classes that draw trials in the laboratory."""
        plugins, classes = self.plugins.values(), self.psychopy_trials.values()
        return frozenset({plugin.file for plugin in plugins} | {each.file for each in classes})


@dataclass(frozen=True)
class Study:
    """A study, read and checked (see `experiment.load_study`)."""

    folder: Path
    definition: StudyDefinition
    battery: Battery
    groups: Mapping[str, int]
    """Group of the design (from 1) of every test item, by item id."""
    texts: Mapping[str, str]
    """Texts by file name: pages (Markdown), questions about the participant (YAML), and code (JavaScript, Python).

    A page contains the sections of all sources; `page` returns the words for one source.
    """
    demographics: tuple[DemographicQuestion, ...] = ()
    """Questions about the participant."""
    panel_ids: frozenset[str] | None = None
    """The accepted panel ids; None if every id is accepted. The digest does not include these ids."""

    @property
    def name(self) -> str:
        """The study's name."""
        return self.definition.study

    @property
    def store_path(self) -> Path:
        """The file of the study's store."""
        return self.folder / "data" / "equipoise.db"

    def page(self, name: str, source: Source) -> str:
        """Return the words of a page for the browser (`Source.WEB`) or for the laboratory (`Source.LAB`)."""
        return page_for(self.texts[name], source, self.folder / name)

    @cached_property
    def words(self) -> Texts:
        """The texts that participants see besides the study's pages and items, such as labels of buttons."""
        return texts_in(self.definition.language, self.definition.texts)

    @cached_property
    def test_items(self) -> list[Item]:
        """The items that are neither practice items nor attention checks, ordered by id."""
        return sorted(
            (item for item in self.battery.items if item.item_id in self.groups), key=lambda item: item.item_id
        )

    @cached_property
    def test_items_by_group(self) -> dict[int, list[Item]]:
        """The test items of each group of sessions, ordered by id."""
        dealt: dict[int, list[Item]] = {}
        for item in self.test_items:
            dealt.setdefault(self.groups[item.item_id], []).append(item)
        n_dealt = self.definition.design.groups
        return {group: dealt.get((group - 1) % n_dealt + 1, []) for group in range(1, self.definition.n_groups + 1)}

    @cached_property
    def lab_only_item(self) -> Item | None:
        """The first item that only the laboratory can show; None if a browser can show all items."""
        return next((item for item in self.battery.items if item.task == PsychoPyTask.name), None)

    def phase_of(self, item_id: str) -> PhaseName:
        """Return the phase in which an item is shown."""
        if item_id in self.groups:
            return "test"
        return "practice" if item_id in self.definition.practice else "attention_check"

    @cached_property
    def event_code_meanings(self) -> list[CodeMeaning]:
        """The meanings of all event codes that can be sent in a session."""
        blocks = self.definition.blocks
        levels = [BlockLevel(blocks.of, block.level) for block in blocks.levels] if blocks else []
        items = [(self.phase_of(item.item_id), item) for item in self.battery.items]
        return list_codes(self.definition.event_codes, items, levels)

    @property
    def highest_event_code(self) -> int:
        """The highest event code that can be sent in a session; 0 if no codes are sent."""
        return max((meaning.code for meaning in self.event_code_meanings), default=0)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content that affects what participants see (`content_digest`)."""
        return content_digest(self.definition, self.battery.digest, self.texts)


def served_entries(definition: StudyDefinition) -> dict[str, Any]:
    """Return the part of a definition that affects what participants see, without default values.

    `recruitment` is excluded, because it can change during data collection. `analysis` is excluded except for the rule
    on attention checks, by which the server decides which participants are replaced.
    """
    entries: dict[str, Any] = definition.model_dump(
        mode="json", exclude_defaults=True, exclude={"recruitment", "analysis"}
    )
    rules = [rule for rule in definition.analysis.exclusions if isinstance(rule, AttentionCheckRule)]
    if rules:
        entries["analysis"] = {"exclusions": {"attention_check": rules[0].model_dump(mode="json")}}
    return entries


def content_digest(definition: StudyDefinition, battery_digest: str, texts: Mapping[str, str]) -> str:
    """Return the SHA-256 of a study's content: a part of its definition (`served_entries`), its battery and its texts.

    Default values are excluded. So if Equipoise adds an optional field, the digests of existing studies stay the same.
    """
    return digest({"definition": served_entries(definition), "battery": battery_digest, "texts": dict(texts)})


def consent_digest(definition: StudyDefinition, texts: Mapping[str, str], source: Source) -> str | None:
    """Return the SHA-256 of the consent's words for a source; None if the study does not ask for consent.

    Parameters
    ----------
    definition, texts
        The study's definition, and its texts by file name.
    source
        `Source.WEB` or `Source.LAB`. Without sections in the consent, both have the digest of the whole text.
    """
    name = definition.timeline.consent
    return None if name is None else hashlib.sha256(page_for(texts[name], source).encode()).hexdigest()
