"""The flow of participants from recruitment to the analysis, as in the CONSORT statement."""

import re
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from analysis.data.columns import PEOPLE
from analysis.exclusions.flow import INCLUDED
from analysis.figures.drawing.lettering import SIZE, SMALL, shortened, wrapped
from analysis.figures.drawing.sheet import SOFT, WIDTH, Drawing, FigureSheet, finished, style, text_height
from analysis.sentences import count

_MAIN, _SIDE, _BETWEEN, _PAD = 150.0, 206.0, 6.0, 5.0
"""In points: width of the main boxes, width of the side boxes, distance between boxes, margin of text in a box."""


def exclusion_flow(flow: pd.DataFrame, kind: str, name: str) -> Drawing | None:
    """Draw the recruited participants, the exclusions of each step, and the participants in the analysis.

    The main boxes run from top to bottom. The exclusions of each step are in a box at the right. Steps without
    exclusions are listed together in small print.

    Parameters
    ----------
    flow : DataFrame
        The flow table of `analysis.exclusions.flow`, with `FLOW_COLUMNS`.
    kind : str
        `human`, `simulated` or `model`.
    name : str
        The name of the figure's files, without the file extension.

    Returns
    -------
    Drawing or None
        None if no participant of this kind was recruited.

    Raises
    ------
    RuntimeError
        If the numbers of the table do not add up.

    References
    ----------
    Schulz, K. F., Altman, D. G., & Moher, D. (2010). CONSORT 2010 statement: Updated guidelines for reporting parallel
    group randomised trials. BMJ, 340, c332.
    """
    rows = flow[flow["kind"] == kind]
    if rows.empty:
        return None
    _check(rows)
    steps, included = rows[rows["step"] != INCLUDED].to_dict("records"), rows.iloc[-1]
    effective = [step for step in steps if step["n_participants"] or step["n_trials"]]
    recruited = _amount(kind, steps[0]["participants_left"] + steps[0]["n_participants"],
                        steps[0]["trials_left"] + steps[0]["n_trials"])  # fmt: skip
    idle = "; ".join(_step_words(step) for step in steps if step not in effective)
    note = wrapped(f"Steps that excluded nobody: {idle}.", WIDTH - 8, SMALL, most_lines=12) if idle else []
    final = _amount(kind, included["n_participants"], included["n_trials"])
    with style():
        sheet = _draw(kind, recruited, effective, final, note)
        who = "Runs" if kind == "model" else "Participants"
        title = f"{who} and trials from recruitment to the analysis ({PEOPLE.get(kind, 'models')})"
        excluded = [
            f"{_step_words(step)}: {_amount(kind, step['n_participants'], step['n_trials'])} excluded"
            for step in effective
        ]
        words = f"Recruited: {recruited}. {'; '.join(excluded) or 'No step excluded anyone'}. In the analysis: {final}."
        return finished(sheet, name, title, words + (f" Steps without exclusions: {idle}." if idle else ""), rows)


def _check(rows: pd.DataFrame) -> None:
    for excluded, left in (("n_participants", "participants_left"), ("n_trials", "trials_left")):
        steps = rows[rows["step"] != INCLUDED]
        start = steps[left].iloc[0] + steps[excluded].iloc[0]
        adds_up = (start - steps[excluded].cumsum() == steps[left]).all()
        if rows["step"].iloc[-1] != INCLUDED or not adds_up or rows[excluded].iloc[-1] != steps[left].iloc[-1]:
            raise RuntimeError(
                f"The exclusion flow does not add up in {left}. Please report this as a bug of Equipoise."
            )


def _amount(kind: str, n_participants: int, n_trials: int) -> str:
    who = "run" if kind == "model" else "participant"
    return f"{count(n_participants, who)}, {count(n_trials, 'test trial')}"


def _step_words(step: dict[Any, Any]) -> str:
    return f"{_name(step)} ({step['criterion']})"


def _name(step: dict[Any, Any]) -> str:
    return re.sub(r"\brt\b", "RT", str(step["step"]).replace("_", " "))


def _draw(kind: str, recruited: str, effective: list[dict[Any, Any]], final: str, note: list[str]) -> FigureSheet:
    """Return the sheet with all boxes. The main boxes are at the left."""
    main = [("Recruited", recruited)]
    main += [("", _amount(kind, step["participants_left"], step["trials_left"])) for step in effective[:-1]]
    main += [("In the analysis", final)]
    boxes = [([heading] if heading else [], _lines(words, _MAIN)) for heading, words in main]
    sides = [
        (wrapped(_capital(_name(step)), _SIDE - 2 * _PAD, bold=True),
         [*wrapped(step["criterion"], _SIDE - 2 * _PAD, SMALL, most_lines=5),
          *_lines(_amount(kind, step["n_participants"], step["n_trials"]), _SIDE)])
        for step in effective
    ]  # fmt: skip
    heights, side_heights = [_height(*box) for box in boxes], [_height(*side) for side in sides]
    gaps = [height + 2 * _BETWEEN for height in side_heights] or [2 * _BETWEEN]
    total = 4 + sum(heights) + sum(gaps) + 4
    sheet = FigureSheet(WIDTH, total + (text_height(len(note), SMALL) + 6 if note else 0))
    paper = sheet.paper()
    y, middle, side_left = 4.0, 4 + _MAIN / 2, WIDTH - _SIDE - 4
    for place, (box, height) in enumerate(zip(boxes, heights, strict=True)):
        _box(sheet, paper, (4, y, _MAIN, height), *box)
        y += height
        if place < len(gaps):
            _arrow(paper, (middle, y), (middle, y + gaps[place]))
        if place < len(sides):
            at = y + gaps[place] / 2
            _arrow(paper, (middle, at), (side_left, at))
            _box(sheet, paper, (side_left, y + _BETWEEN, _SIDE, side_heights[place]), *sides[place])
        y += gaps[place] if place < len(gaps) else 0
    if note:
        sheet.write(4, total + 2, note, at="top", size=SMALL, colour=SOFT)
    return sheet


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lines(amount: str, width: float) -> list[str]:
    """Return the text of a box: the number of participants, and the number of trials."""
    participants, trials = amount.split(", ")
    return [shortened(part, width - 2 * _PAD, SMALL) for part in (participants, trials)]


def _height(bold: list[str], plain: list[str]) -> float:
    return 2 * _PAD + (text_height(len(bold)) + 1 if bold else 0) + text_height(len(plain), SMALL)


def _box(
    sheet: FigureSheet, paper: Axes, box: tuple[float, float, float, float], bold: list[str], plain: list[str]
) -> None:
    x, y, width, height = box
    paper.add_patch(Rectangle((x, y), width, height, facecolor="none", edgecolor=SOFT, linewidth=0.8))
    sheet.write(x + _PAD, y + _PAD, bold, at="top", size=SIZE, bold=True)
    sheet.write(x + _PAD, y + height - _PAD, plain, at="bottom", size=SMALL)


def _arrow(paper: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    paper.annotate(
        "", xy=end, xytext=start,
        arrowprops={
            "arrowstyle": "-|>", "color": SOFT, "linewidth": 0.8, "mutation_scale": 6, "shrinkA": 0, "shrinkB": 0
        },
    )  # fmt: skip
