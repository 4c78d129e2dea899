"""Ids of requests to language models. An id says which item was asked, with which prompt, temperature and epoch."""

import re
from dataclasses import dataclass

from batteries.errors import InputError
from batteries.items import Item
from experiment.study.definition import Study

_ID = re.compile(r"([0-9a-f]{8})-([0-9]{5,9})-([0-9a-f]{8})-t(x|[0-9]{3})-e([1-9][0-9]{0,8})")


@dataclass(frozen=True)
class RequestId:
    """The parts of a request's id, such as `a1b2c3d4-00012-9f8e7d6c-t070-e1`."""

    battery: str
    """First eight digits of the battery's digest."""
    item_index: int
    """Position of the item in the battery's file, from 0."""
    template: str
    """First eight digits of the digest of the template and its fixed texts."""
    temperature: float | None
    """Sampling temperature with at most two decimals; None if the request has no temperature."""
    epoch: int
    """Number of the repetition, from 1."""

    def __str__(self) -> str:
        temperature = "x" if self.temperature is None else f"{round(100 * self.temperature):03d}"
        return f"{self.battery}-{self.item_index:05d}-{self.template}-t{temperature}-e{self.epoch}"

    @classmethod
    def parse(cls, text: str) -> "RequestId":
        """Return the parts of an id.

        Raises
        ------
        InputError
            If the text is not the id of a request.
        """
        found = _ID.fullmatch(text)
        if found is None:
            raise InputError(
                f"`{text[:64]}` is not the id of a request from `equipoise models prompts`. Fix: use the "
                "results of requests from this command, with unchanged ids."
            )
        battery, item_index, template, temperature, epoch = found.groups()
        hundredths = None if temperature == "x" else int(temperature)
        return cls(
            battery, int(item_index), template, None if hundredths is None else hundredths / 100, int(epoch)
        )  # fmt: skip

    @classmethod
    def of(cls, study: Study, item: Item, template_digest: str, temperature: float | None, epoch: int) -> "RequestId":
        """Return the id of one request for an item of the study's battery."""
        ids = (each.item_id for each in study.battery.items)
        item_index = next(index for index, item_id in enumerate(ids) if item_id == item.item_id)
        return cls(study.battery.digest[:8], item_index, template_digest[:8], temperature, epoch)
