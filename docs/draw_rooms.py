"""Draws the path of one item and of one response through the packages into CONTRIBUTING.md, from the imports.

Run `.venv/bin/python docs/draw_rooms.py` after moving a module of the way; a test fails until it is done.
"""

import re
from itertools import pairwise
from pathlib import Path

import grimp

CONTRIBUTING = Path(__file__).parent.parent / "CONTRIBUTING.md"
START, END = "<!-- Made by docs/draw_rooms.py from the imports; do not edit. -->\n", "<!-- End of the drawing. -->\n"
ROOMS = ("batteries", "experiment", "server", "analysis", "equipoise")

BROWSER, STORE = "experiment/web (browser)", "the store"
ITEM = ("batteries.items", "experiment.load_study", "experiment.plan", "server.store.sql.plan_cache",
        "server.participants.participant_json", BROWSER)  # fmt: skip
"""The way of an item from its battery to a participant."""
RESPONSE = (BROWSER, "server.participants.views", "server.store.sql.responses", "server.store.sql.group_commit", STORE,
            "analysis.data.trials_reader", "analysis.data.tidy_table", "analysis.exclusions.flow",
            "analysis.measures.accuracy", "analysis.study_tables", "analysis.report.study_report",
            "analysis.study", "equipoise.commands.analyze")  # fmt: skip
"""The way of a response from a participant to the report."""
NOT_PYTHON = (BROWSER, STORE)


def drawing() -> str:
    """Return both ways as a Mermaid flowchart: a solid arrow is an import, a dotted one is data without an import.

    Raises
    ------
    LookupError
        If a module of a way does not exist.
    """
    graph = grimp.build_graph(*ROOMS)
    steps = list(dict.fromkeys([*pairwise(ITEM), *pairwise(RESPONSE)]))
    names = list(dict.fromkeys([*ITEM, *RESPONSE]))
    if missing := set(names) - graph.modules - set(NOT_PYTHON):
        raise LookupError(f"no module {', '.join(sorted(missing))}. Fix: correct the ways in docs/draw_rooms.py.")
    lines = ["flowchart TB"]
    for room in ROOMS:
        members = [name for name in names if name.startswith(f"{room}.")]
        boxes = [f'    {_identifier(name)}["{name.removeprefix(f"{room}.")}"]' for name in members]
        lines += [f"  subgraph {room}", *boxes, "  end"]
    lines += [f'  {_identifier(name)}["{name}"]' for name in NOT_PYTHON]
    for source, target in steps:
        arrow = "-->" if _are_linked(graph, source, target) else "-.->"
        lines.append(f"  {_identifier(source)} {arrow} {_identifier(target)}")
    return "\n".join(lines)


def _are_linked(graph: grimp.ImportGraph, one: str, other: str) -> bool:
    """Return True if one of two modules imports the other, directly or through others."""
    if one in NOT_PYTHON or other in NOT_PYTHON:
        return False
    return graph.chain_exists(importer=one, imported=other) or graph.chain_exists(importer=other, imported=one)


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


def with_drawing(text: str) -> str:
    """Return a text with today's drawing between its two marks."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    return f"{before}{START}\n```mermaid\n{drawing()}\n```\n\n{END}{after}"


if __name__ == "__main__":
    CONTRIBUTING.write_text(with_drawing(CONTRIBUTING.read_text(encoding="utf-8")), encoding="utf-8")
