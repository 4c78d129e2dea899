"""The answers to code, as items of a coding study that show neither participant, condition nor model."""

import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from analysis.coding.coded_trials import answer_texts, is_answer
from batteries.items import Battery, Item
from equipoise.commands.coding.record import CodingFolder, CodingRecord, Place, words_of_code


@dataclass
class Answer:
    """One distinct answer: the texts that coders see, and the trials with this answer."""

    stimulus: list[Any]
    """Pictures, sounds and texts of the item, if coders see them."""
    question: str
    """The words before the answer; empty if coders see only the answer."""
    text: str
    places: list[Place] = field(default_factory=list)


def answers_to_code(folder: CodingFolder, trials: pd.DataFrame, salt: str) -> dict[str, Answer]:
    """Return the distinct answers by id, sorted by id.

    The answers are those of completed sessions of people and of model runs. If there are no people and no models, the
    answers are those of simulated participants. Sessions that the researcher excluded are left out.

    Parameters
    ----------
    folder
        The folder of the coding study.
    trials
        The tidy table of the study with the answers.
    salt
        The secret of the record. The ids are keyed hashes, so they show neither an answer nor the order of sessions.
    """
    own = trials[
        is_answer(trials, folder.coding) & (trials["status"] == "completed") & trials["excluded_reason"].isna()
    ]
    real = own["kind"] != "simulated"
    own = own[real] if real.any() else own
    texts = answer_texts(own)
    answers: dict[str, Answer] = {}
    answered = own.loc[texts.index, ["session", "trial_index", "content"]]
    for (session, index, content), text in zip(answered.itertuples(index=False), texts, strict=True):
        place, (stimulus, question) = (str(session), int(index)), _shown(folder, content)
        shown = json.dumps([stimulus, question, text.strip()], sort_keys=True)
        answer_id = hmac.new(bytes.fromhex(salt), shown.encode(), "sha256").hexdigest()[:16]
        answers.setdefault(answer_id, Answer(stimulus, question, text.strip())).places.append(place)
    return dict(sorted(answers.items()))


def _shown(folder: CodingFolder, content: Mapping[str, Any]) -> tuple[list[Any], str]:
    """Return the parts and the words of an item that coders see before the answer."""
    show, say = folder.coding.show, folder.study.words.say
    if show == "answer":
        return [], ""
    question = f"{say('coding_question')}: {content.get('prompt', '')}"
    if show == "question":
        return [], question
    story = content.get("text", "")
    return list(content.get("stimulus", ())), f"{story}\n\n{question}" if story else question


def battery_of(folder: CodingFolder, record: CodingRecord, answers: Mapping[str, Answer]) -> Battery:
    """Return the battery of a coding study: one item for each answer."""
    say, coding = folder.study.words.say, folder.coding
    options = [f"{words_of_code(code.name)}: {code.definition}" for code in coding.codes]
    several = {"several": {"at_least": 1, "at_most": len(options)}} if coding.several else {}
    items = []
    for answer_id, answer in answers.items():
        text = f"{say('coding_answer')}: {answer.text}"
        content: dict[str, Any] = {
            **({"stimulus": answer.stimulus} if answer.stimulus else {}),
            "text": f"{answer.question}\n\n{text}" if answer.question else text,
            "prompt": say("coding_prompt_several" if coding.several else "coding_prompt"),
            "options": options,
            **several,
        }
        items.append(
            Item(item_id=answer_id, task="multiple_choice", factors={"coding": folder.name}, content=content, key=None)
        )
    return Battery(battery=f"{folder.study.name}-{folder.name}", version=str(record.round), items=tuple(items))
