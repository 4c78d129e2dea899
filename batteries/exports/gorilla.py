"""Export to Gorilla (https://gorilla.sc): one spreadsheet per counterbalance group, for Task Builder 2 and 1.

Sources
-------
- Rows and displays: https://support.gorilla.sc/support/tools/task-builder-2/spreadsheet-walkthrough
- Random order in Task Builder 2: https://support.gorilla.sc/support/tools/task-builder-2/randomisation-walkthrough
- `randomise_blocks`, `randomise_trials` of Task Builder 1: https://gorilla.sc/support/reference/spreadsheet
- The objects on a screen: https://support.gorilla.sc/support/tools/task-builder-2/components-guide
- Where a task runs: https://gorilla.sc/support/info/faq ("Gorilla downloads all task information ... in advance")
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from batteries.exports import KEYS_FILE, ExportedTrial, csv_text, group_names, keys_csv, provenance, trials_by_group
from batteries.items import Battery

FACTORS = ("scenario", "version", "capability_type", "condition", "inference_level")
"""Factors that the spreadsheets contain. Other factors, such as `option_order`, can reveal the right answer, so they
are only in `keys.csv`.
"""


def gorilla_spreadsheets(
    battery: Battery,
    groups: Mapping[str, int],
    practice: Sequence[str],
    attention_checks: Sequence[str],
    fixation_ms: int,
    *,
    answers: bool = False,
) -> dict[str, str]:
    """Return a spreadsheet (CSV) for each group, `keys.csv`, and `gorilla-how-to.md` with the instructions for Gorilla.

    Parameters
    ----------
    battery
        The battery; all its items must be multiple choice.
    groups
        The group (from 1) of each test item, by item id. If empty, all items are in group 1.
    practice, attention_checks
        Ids of the items that every group sees.
    fixation_ms
        Duration of the fixation cross in ms. The instructions state this duration.
    answers
        True to add a column `answer` with the right answers, so that Gorilla scores the responses. Gorilla runs a task
        in the participant's browser, so a participant can find this column. With False, use `keys.csv` to score the
        responses.

    Raises
    ------
    InputError
        If an item is not a valid multiple-choice question or has no group, or if a text could be read as a formula.
    """
    trials = trials_by_group(battery, groups, practice, attention_checks)
    names = {group: f"gorilla-group-{name}.csv" for group, name in group_names(trials).items()}
    n_options = max(len(trial.content["options"]) for in_group in trials.values() for trial in in_group)
    columns = _columns(trials, n_options, answers)
    return {
        **{names[group]: csv_text(columns, _rows(in_group, answers)) for group, in_group in trials.items()},
        KEYS_FILE: keys_csv(trials),
        "gorilla-how-to.md": _how_to(battery, list(names.values()), n_options, fixation_ms, answers),
    }


def trial_html(content: Mapping[str, Any]) -> str:
    """Return story, question and numbered options as one line of HTML.

    A Markdown object of Gorilla shows this line unchanged. Double spaces are kept, because a study can manipulate
    spacing.
    """
    paragraphs = [part for part in re.split(r"\n\s*\n", content["text"]) if part.strip()]
    story = "".join(f"<p>{_lines(paragraph)}</p>" for paragraph in paragraphs)
    options = "".join(f"<li>{_lines(option)}</li>" for option in content["options"])
    question = f"<p><strong>{_lines(content['prompt'])}</strong></p>"
    return f'<div style="text-align: left; white-space: pre-wrap">{story}{question}<ol>{options}</ol></div>'


def _lines(text: str) -> str:
    return "<br>".join(re.split(r"\r\n|\r|\n", escape(text.strip("\r\n"))))


def _columns(trials: Mapping[int, Sequence[ExportedTrial]], n_options: int, answers: bool) -> list[str]:
    known = {factor for in_group in trials.values() for trial in in_group for factor in trial.item.factors}
    return [
        "randomise_blocks",
        "randomise_trials",
        "display",
        "html",
        "text",
        "prompt",
        *(f"option_{number}" for number in range(1, n_options + 1)),
        *(["answer"] if answers else []),
        "item_id",
        "phase",
        *(factor for factor in FACTORS if factor in known),
    ]


def _rows(trials: Sequence[ExportedTrial], answers: bool) -> Iterator[dict[str, object]]:
    for trial in trials:
        content, factors = trial.content, trial.item.factors
        is_practice = trial.phase == "practice"
        yield {
            "randomise_blocks": "",
            "randomise_trials": "" if is_practice else 1,
            # An attention check has the same display as test trials: only its text may differ.
            "display": "practice" if is_practice else "trial",
            "html": trial_html(content),
            "text": content["text"],
            "prompt": content["prompt"],
            **{f"option_{number}": option for number, option in enumerate(content["options"], start=1)},
            **({"answer": trial.item.key if trial.item.is_graded else ""} if answers else {}),
            "item_id": trial.item.item_id,
            "phase": trial.phase,
            **{factor: factors[factor] for factor in FACTORS if factor in factors},
        }


def _how_to(battery: Battery, names: list[str], n_options: int, fixation_ms: int, answers: bool) -> str:
    first_last = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    answer = (
        "a *Scorer* whose\n   correct answer is bound to the column `answer`.\n\n   Gorilla runs a task, with its "
        "spreadsheet, in the participant's browser. A participant can find the\n   answers there. To prevent this, "
        f"remove the Scorer, delete the column `answer` in Gorilla's editor,\n   and score with `{KEYS_FILE}`."
        if answers
        else f"no *Scorer*:\n   the right answers are only in your file `{KEYS_FILE}`."
    )
    return _HOW_TO.format(
        provenance=provenance(battery),
        files=first_last,
        n_groups=len(names),
        fixation_ms=fixation_ms,
        n_options=n_options,
        answer=answer,
        keys=KEYS_FILE,
    )


_HOW_TO = """\
# Running this battery on Gorilla

{provenance}

These steps are for Task Builder 2. In Task Builder 1, objects are called zones, and step 4 is not needed: the column
`randomise_trials` works without a setting.

1. Make a task with two displays, `practice` and `trial`, as named in the column `display`. For instructions and a last
   page, add displays, each with its own row in the spreadsheet.
2. Give each of the two displays two screens. The first screen is a *Fixation* of {fixation_ms} ms. The second screen
   has an *HTML* object (or a *Markdown Text*) bound to the column `html`, with story, question and numbered options. It
   also has a *Keyboard Response* to the keys 1 to {n_options}, an *Advance - Response*, and {answer}
3. Upload {files}, each as a separate spreadsheet.
   Do not open and save the files in a spreadsheet program first: the program can change cells (01 becomes 1).
4. Add the randomisation *Randomise Trials* on the column `randomise_trials`. It shuffles test trials and attention
   checks together, and leaves practice first. Check a few previews.
5. In the experiment, add a balanced *Randomiser* with {n_groups} equal branches, one branch per group. In each
   branch, set the task's spreadsheet to the spreadsheet of the group.
6. The results contain the spreadsheet's columns. Join the results by `item_id` to `{keys}`, which has the keys and all
   factors. The column `phase` marks practice, test trials and attention checks. Do not publish `{keys}`.

The columns `text`, `prompt` and `option_1` to `option_{n_options}` contain the same texts separately, for your own
layout. They are plain text, not Markdown.
"""
