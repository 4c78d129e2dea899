"""The minutes left, from synthetic durations of questions and breaks."""

from collections.abc import Callable
from typing import Any

import pytest

from experiment.texts import catalogue, languages
from tests.experiment.web.node_program import NodeProgram

PROGRAM = """
globalThis.document = { getElementById: () => null };
const { Pace } = await import("./src/timing/pace");
let text = "";
process.stdin.on("data", (part) => (text += part)).on("end", () => {
  const { parts, coming } = JSON.parse(text);
  let now_ms = 0;
  const pace = new Pace(() => now_ms);
  const minutes = parts.map(([part, seconds], index) => {
    pace.begin(part);
    now_ms += 1000 * seconds;
    return pace.minutesFor(coming[index]);
  });
  console.log(JSON.stringify(minutes));
});
"""
SAY = """
globalThis.document = { getElementById: () => globalThis.catalogue };
let text = "";
process.stdin.on("data", (part) => (text += part)).on("end", async () => {
  const { language, minutes_left, minutes } = JSON.parse(text);
  globalThis.catalogue = { lang: language, textContent: JSON.stringify({ minutes_left }) };
  const { sayMinutesLeft } = await import("./src/timing/pace");
  console.log(JSON.stringify(minutes.map((number) => sayMinutesLeft(number))));
});
"""
Run = Callable[[list[tuple[str | None, float]], int], list[int | None]]


@pytest.fixture(scope="module")
def minutes_left(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return the minutes before each part of a session, given the parts with their durations in seconds."""
    program = NodeProgram(PROGRAM, tmp_path_factory.mktemp("pace"))

    def run(parts: list[tuple[str | None, float]], n_coming: int = 0) -> list[int | None]:
        names = [part for part, _ in parts] + [parts[-1][0]] * n_coming
        coming = [[name for name in names[at:] if name] for at in range(len(parts))]
        found: list[int | None] = program.run({"parts": parts, "coming": coming})
        return found

    return run


def test_nothing_is_said_before_five_questions(minutes_left: Run) -> None:
    assert minutes_left([("rating", 30)] * 7, 20) == [None] * 5 + [10, 10]


def test_practice_says_nothing_about_the_pace(minutes_left: Run) -> None:
    assert minutes_left([(None, 600)] * 5 + [("rating", 6)] * 6, 99)[-2:] == [None, 10]


def test_one_long_absence_changes_nothing(minutes_left: Run) -> None:
    steady, interrupted = [("rating", 30.0)] * 12, [("rating", 30.0)] * 12
    interrupted[6] = ("rating", 3600.0)
    assert minutes_left(steady, 30) == minutes_left(interrupted, 30)


def test_each_task_has_its_own_pace_and_breaks_count(minutes_left: Run) -> None:
    done: list[tuple[str | None, float]] = [("rating", 5.0)] * 10 + [("free_text", 60.0)] * 3
    assert minutes_left([*done, ("free_text", 60.0)], 40)[-1] == 40
    assert minutes_left([*done, ("break", 60.0), ("break", 60.0)], 40)[-1] == 40


def test_the_number_changes_seldom_and_ends_at_one(minutes_left: Run) -> None:
    durations = [20 + 15 * (at % 3) for at in range(60)]
    shown = [number for number in minutes_left([("rating", seconds) for seconds in durations]) if number is not None]
    assert shown[-1] == 1
    assert shown == sorted(shown, reverse=True)
    assert len(set(shown)) <= 15
    assert all(number <= 10 or number % 5 == 0 or number == 12 for number in shown)


PLURALS = {
    "en": ["about 1 minute left", "about 2 minutes left", "about 10 minutes left"],
    "de": ["noch etwa 1 Minute", "noch etwa 2 Minuten", "noch etwa 10 Minuten"],
    "es": ["aprox. 1 minuto más", "aprox. 2 minutos más", "aprox. 10 minutos más"],
    "ar": ["المتبقي تقريبًا: دقيقة", "المتبقي تقريبًا: دقيقتان", "المتبقي تقريبًا: 10 دقائق"],
}


@pytest.mark.parametrize("language", languages())
def test_the_plural_is_right_in_each_language(language: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    program = NodeProgram(SAY, tmp_path_factory.mktemp("say"))
    given: dict[str, Any] = {"language": language, "minutes": [1, 2, 10, None]}
    words = program.run(given | {"minutes_left": catalogue(language)["minutes_left"]})
    assert words == [*PLURALS[language], ""]
