"""Write the page of the published jsPsych plugins that were tried as items.

Run `.venv/bin/python docs/generate_plugins_page.py` after a change of tests/end_to_end/published_plugins.py. A test
fails until the page agrees with that file, and another test takes a trial of each plugin in a browser.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.end_to_end.published_plugins import NOT_WORKING, TRIED, Tried, version_of

PAGE = Path(__file__).parent / "reference" / "jspsych-plugins.md"
INTRODUCTION = """<!-- Made by docs/generate_plugins_page.py from the tests; do not edit. -->
# jsPsych plugins in a study

A test of Equipoise runs each plugin on this page as an item of a study ({n_working} plugins). In the test, a person's
keys and clicks in a browser (Chromium) answer the item, and the stored response must be equal to what was entered. The
test uses jsPsych {jspsych} and the versions in the tables. [Use Equipoise with
jsPsych](../how-to/use-with-jspsych.md#a-published-plugin-in-a-study) explains how to add a plugin to a study. Other
plugins for jsPsych 8 may work too.

- *Files in the test* are the parameters that [name files](../how-to/use-with-jspsych.md#files-of-an-item) in the test.
  All parameters can name files.
- *The response contains* lists fields of the plugin's data. Most plugins also record `rt` and repeat their `stimulus`,
  with the paths of files as in the battery.
- All trials have the columns of [Data](data.md) for the fixation and the onset. `rt_ms` is the plugin's `rt`, counted
  from the onset.
"""
HEADER = "| plugin | version | files in the test | the response contains | remarks |\n|---|---|---|---|---|\n"
NOT_WORKING_INTRODUCTION = """
## Plugins that do not work

| plugin | version | reason |
|---|---|---|
"""


def page() -> str:
    """Return the text of the page."""
    rows = [row for kind in TRIED.values() for row in kind]
    parts = [INTRODUCTION.format(n_working=len(rows), jspsych=version_of("jspsych"))]
    for kind, tried in TRIED.items():
        parts += [f"\n## {kind.capitalize()}\n\n", HEADER, *map(_line, tried)]
    reasons = [f"| `{package}` | {version_of(package)} | {reason} |\n" for package, reason in NOT_WORKING.items()]
    return "".join([*parts, NOT_WORKING_INTRODUCTION, *reasons])


def _line(row: Tried) -> str:
    files = ", ".join(f"`{name}`" for name in row.asset_parameters)
    return f"| `{row.package}` | {version_of(row.package)} | {files} | {row.response} | {row.remark} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
