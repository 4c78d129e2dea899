"""Rules for ratings on a scale, with buttons or with a slider."""

from dataclasses import replace
from functools import lru_cache

from batteries.tasks.rating import points_of
from experiment.lab.input.response_state import ARROWS, ENTER, SUBMIT, Content, ResponseState

POINT = "point-"
"""First part of the name of the region of a point; the second part is the point's index, from 0."""
_STEPS = {"right": 1, "up": 1, "left": -1, "down": -1}


def keys_of_rating(content: Content) -> tuple[str, ...]:
    """Return the keys of the points, and the keys that move and submit the choice."""
    digits = [f"{block}{point}" for point in points(content) for block in ("", "num_")] if has_digits(content) else []
    return (*digits, *ARROWS, "home", "end", *ENTER)


def after_rating(content: Content, state: ResponseState, press: str) -> ResponseState:
    """Return the state of a rating after a press.

    A digit or a click on a button gives the response at once. The arrow keys choose a point, which Enter submits. A
    click on a slider also only chooses a point.
    """
    if press in {*ENTER, SUBMIT}:
        return state if state.chosen is None else replace(state, response=state.chosen)
    all_points = points(content)
    if press.startswith(POINT):
        point = all_points[int(press.removeprefix(POINT))]
        return ResponseState(point) if content["shown_as"] == "slider" else ResponseState(point, point)
    digit = press.removeprefix("num_")
    if digit.isdecimal():
        return ResponseState(int(digit), int(digit)) if has_digits(content) and int(digit) in all_points else state
    index = _moved(content, all_points, state, press)
    return state if index is None else ResponseState(all_points[min(max(index, 0), len(all_points) - 1)])


def points(content: Content) -> list[int | float]:
    """Return the points of the scale in order."""
    return _points(content["low"], content["high"], content["step"])


@lru_cache(maxsize=64)
def _points(low: float, high: float, step: float) -> list[int | float]:
    return points_of(low, high, step)


def has_digits(content: Content) -> bool:
    """Return True if every point is shown as a button and has a key of its own: whole numbers from 0 to 9."""
    return content["shown_as"] == "buttons" and all(
        isinstance(point, int) and 0 <= point <= 9 for point in points(content)
    )


def _moved(content: Content, all_points: list[int | float], state: ResponseState, press: str) -> int | None:
    """Return the index of the point that a key chooses; None for other keys."""
    if press in {"home", "end"}:
        return 0 if press == "home" else len(all_points) - 1
    if press not in _STEPS:
        return None
    if state.chosen is not None:
        return all_points.index(state.chosen) + _STEPS[press]  # type: ignore[arg-type]
    if content["shown_as"] == "slider":  # As on the web, the first step begins in the middle of the line.
        return (len(all_points) - 1) // 2 + _STEPS[press]
    return 0 if _STEPS[press] > 0 else len(all_points) - 1
