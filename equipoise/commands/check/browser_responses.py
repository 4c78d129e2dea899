"""Responses of a participant in a real browser: presses and clicks, by the task of the question on the screen."""

from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from batteries.tasks.blackbox_play import BlackboxPlay
from batteries.tasks.blackbox_predict import BlackboxPredict
from batteries.tasks.free_text import FreeText
from batteries.tasks.keypress import WITHHELD, Keypress
from batteries.tasks.number import NumberTask
from batteries.tasks.rating import Rating
from batteries.tasks.recall import Recall

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

KEYS = {"space": "Space", "left": "ArrowLeft", "right": "ArrowRight", "up": "ArrowUp", "down": "ArrowDown"}
"""Playwright's names of the keys without a letter or a digit."""
SUBMIT = "#submit-response"


async def give_response(
    page: "Page", task: str, content: dict[str, Any], response: JsonValue, timeout_ms: float
) -> None:
    """Give a response to the question on the screen.

    Parameters
    ----------
    page
        The browser's page.
    task, content
        The task and the content of the item.
    response
        A possible response, in the form of the task.
    timeout_ms
        Longest wait for each button.
    """

    def on_screen(selector: str) -> "Locator":
        return page.locator(f"#stimulus:not(.closed) {selector}")

    async def click(*selectors: str) -> None:
        for selector in selectors:
            await on_screen(selector).click(timeout=timeout_ms)

    async def enter(text: str) -> None:
        await on_screen("#typed-answer").fill(text, timeout=timeout_ms)

    match task:
        case Keypress.name:
            key = next((key for key, name in content["keys"].items() if name == response), None)
            if key is not None:  # No key is the response WITHHELD.
                await page.keyboard.press(KEYS.get(key, key))
            else:
                assert response == WITHHELD, f"no key means {response}"
        case Rating.name if content["shown_as"] == "slider":
            await _slide(on_screen("#rating-slider"), content["step"], response)
            await click(SUBMIT)
        case Rating.name:
            await click(f'[data-point="{response:.12g}"]')
        case NumberTask.name:
            await enter(f"{response:.{content['decimals']}f}")
            await click(SUBMIT)
        case FreeText.name:
            await enter(str(response))
            await click(SUBMIT)
        case Recall.name:
            assert isinstance(response, list)
            for entry in response:
                await enter(str(entry))
                await click("#add-entry")
            # Without an entry, the page asks first whether there is none.
            await click(*([SUBMIT] if response else [SUBMIT, SUBMIT]))
        case BlackboxPlay.name | BlackboxPredict.name:
            await click(*_on_board(task, response))
        case _ if isinstance(response, list):  # several options, or all options in an order
            await click(*(f'[data-option="{number}"]' for number in response), SUBMIT)
        case _:
            await click(f'[data-option="{response}"]')


def _on_board(task: str, response: Any) -> list[str]:
    """Return the buttons of a Black Box that give a response, in order."""
    if task == BlackboxPlay.name:  # The right response is a guess without rays.
        (move,) = response
        cells = [f'[data-cell="{row},{column}"]' for row, column in move["action"]["cells"]]
        return ["#play-guess", *cells, SUBMIT]
    attribute = "data-response" if response in {"absorbed", "reflected"} else "data-port"
    return [f'[{attribute}="{response}"]', SUBMIT]


async def _slide(slider: "Locator", step: float, response: Any) -> None:
    """Click on a slider, and then move its mark with the keys to a value."""
    await slider.click()
    n_steps = round((response - float(await slider.input_value())) / step)
    for _ in range(abs(n_steps)):
        await slider.press("ArrowUp" if n_steps > 0 else "ArrowDown")
