"""Tables of other programs: each ready-made map finds the trials, and a mistake is reported with its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.imports.table_map import TableMap, read_table_map, ready_made_maps
from analysis.imports.trial_records import TrialRecord, read_records
from analysis.imports.view_rows import OfStudy, plain_rows, pseudonyms, view_rows
from batteries.errors import InputError
from batteries.items import Battery, Item

GORILLA = """\
Participant Private ID,Trial Number,Response Type,Spreadsheet: item_id,Spreadsheet: phase,Response,Correct,Reaction Time
9001,BEGIN TASK,info,,,,,
9001,1,response,q1,practice,2,1,812.4
9001,2,response,q2,test,1,0,1500
9001,2,info,q2,test,,,
9002,1,response,q2,test,2,1,640
"""
JSPSYCH = [
    {"participant": 7, "trial_type": "instructions", "trial_index": 0, "rt": None, "response": None},
    {"participant": 7, "trial_index": 2, "item_id": "q2", "phase": "test", "response": 1, "rt": 1500.25},
    {"participant": 7, "trial_index": 1, "item_id": "q1", "phase": "practice", "response": 2, "rt": None},
]
LABJS = """\
sender,sender_type,sender_id,timestamp,code,item_id,response,correct,duration,ended_on
Welcome,html.Page,0,2026-01-01T10:00:00Z,c1,,,,2000,response
Trial,canvas.Screen,1_0,2026-01-01T10:00:05Z,c1,q1,2,true,812.5,response
Trial,canvas.Screen,1_1,2026-01-01T10:00:09Z,c1,q2,,,5000,timeout
"""
OTREE = """\
participant.id_in_session,participant.code,session.code,subsession.round_number,player.item_id,player.response,\
player.correct,player.rt_ms
1,ab12,s1,1,q1,2,1,812
1,ab12,s1,2,q2,1,0,1500
1,ab12,s2,1,q1,1,0,900
"""
PSYCHOPY = """\
trials.thisN,item_id,key_resp.keys,key_resp.corr,key_resp.rt,participant,session,date,
,,,,,P07,001,2026-01-01,
0,q1,2,1,0.8124,P07,001,2026-01-01,
1,q2,None,0,,P07,001,2026-01-01,
"""
QUALTRICS = """\
StartDate,ResponseId,Finished,Q1,Q2,t_1_First Click,t_1_Page Submit
Start Date,Response ID,Finished,First?,Second?,Timing - First Click,Timing - Page Submit
"{""ImportId"":""startDate""}","{""ImportId"":""_recordId""}","{""ImportId"":""finished""}",x,y,z,w
2026-01-01 10:00:00,R_1,True,yes,2,0.5,1.25
2026-01-01 10:00:00,R_2,False,,1,0.5,
"""


def written(folder: Path, name: str, content: str | list[dict[str, Any]]) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def short(records: list[TrialRecord]) -> list[tuple[Any, ...]]:
    return [(r.participant, r.item_id, r.response, r.correct, r.rt_ms, r.phase) for r in records]


FOUND: dict[str, tuple[str, str | list[dict[str, Any]], list[tuple[Any, ...]]]] = {
    "gorilla": ("data.csv", GORILLA, [
        ("9001", "q1", "2", True, 812.4, "practice"),
        ("9001", "q2", "1", False, 1500.0, "test"),
        ("9002", "q2", "2", True, 640.0, "test"),
    ]),
    "jspsych": ("data.json", JSPSYCH, [
        ("7", "q2", "1", None, 1500.25, "test"),
        ("7", "q1", "2", None, None, "practice"),
    ]),
    "labjs": ("data.csv", LABJS, [
        ("c1", "q1", "2", True, 812.5, None),
        ("c1", "q2", None, None, 5000.0, None),
    ]),
    "otree": ("data.csv", OTREE, [
        ("ab12", "q1", "2", True, 812.0, None),
        ("ab12", "q2", "1", False, 1500.0, None),
        ("ab12", "q1", "1", False, 900.0, None),
    ]),
    "psychopy": ("data.csv", PSYCHOPY, [
        ("P07", "q1", "2", True, 812.4, None),
        ("P07", "q2", None, False, None, None),
    ]),
    "qualtrics": ("data.csv", QUALTRICS, [
        ("R_1", "1", "yes", None, 1250.0, None),
        ("R_1", "2", "2", None, None, None),
        ("R_2", "1", None, None, None, None),
        ("R_2", "2", "1", None, None, None),
    ]),
}  # fmt: skip


def test_every_ready_made_map_has_a_table_here() -> None:
    assert set(ready_made_maps()) == FOUND.keys()


@pytest.mark.parametrize("program", sorted(FOUND))
def test_a_ready_made_map_finds_the_trials_of_its_program(program: str, tmp_path: Path) -> None:
    name, content, expected = FOUND[program]
    assert short(read_records([written(tmp_path, name, content)], read_table_map(program))) == expected


def test_several_tables_are_read_together(tmp_path: Path) -> None:
    paths = [written(tmp_path, f"{n}.csv", PSYCHOPY.replace("P07", f"P{n}")) for n in (1, 2)]
    assert [r.participant for r in read_records(paths, read_table_map("psychopy"))] == ["P1", "P1", "P2", "P2"]


def item(item_id: str, key: int) -> Item:
    return Item(item_id=item_id, task="multiple_choice", factors={"side": item_id}, key=key,
                content={"text": "", "prompt": "Which?", "options": ["no", "yes", "perhaps"]})  # fmt: skip


STUDY = OfStudy("demo", "1.0", Battery(battery="b", version="1", items=(item("q1", 2), item("q2", 1))), ("q1",))


def as_view(records: list[TrialRecord]) -> tuple[list[dict[str, Any]], list[str]]:
    from analysis.data.columns import VIEW_COLUMNS

    rows, notes = view_rows(records, STUDY, pseudonyms(records, is_kept=False))
    return [dict(zip(VIEW_COLUMNS, row, strict=True)) for row in rows], notes


def test_with_a_battery_the_rows_have_items_phases_and_pseudonyms(tmp_path: Path) -> None:
    rows, notes = as_view(read_records([written(tmp_path, "data.json", JSPSYCH)], read_table_map("jspsych")))
    assert [(r["participant"], r["trial_index"], r["item_id"], r["phase"], r["response"]) for r in rows] == [
        ("P1", 0, "q1", "practice", "2"),
        ("P1", 1, "q2", "test", "1"),
    ]
    assert [(r["study"], r["source"], r["status"], r["battery"]) for r in rows] == [
        ("demo", "import", "completed", STUDY.battery.digest)
    ] * 2
    assert notes == []


def test_a_score_of_the_table_that_differs_from_the_key_is_reported(tmp_path: Path) -> None:
    _, notes = as_view(read_records([written(tmp_path, "data.csv", OTREE)], read_table_map("otree")))
    assert len(notes) == 1
    assert notes[0].startswith("1 responses have another score in the table than with the battery's key, the first at ")
    assert "data.csv, line 3." in notes[0]


def test_sessions_of_one_participant_are_numbered(tmp_path: Path) -> None:
    rows, _ = as_view(read_records([written(tmp_path, "data.csv", OTREE)], read_table_map("otree")))
    assert [(r["session"], r["session_number"], r["trial_index"]) for r in rows] == [
        ("P1-1", 1, 0), ("P1-1", 1, 1), ("P1-2", 2, 0),
    ]  # fmt: skip


def test_the_text_of_an_option_is_its_number_and_unfinished_sessions_are_active(tmp_path: Path) -> None:
    table_map = read_table_map("qualtrics").model_copy(update={"responses": {}})
    records = read_records([written(tmp_path, "data.csv", QUALTRICS.replace("Q1,Q2", "Qq1,Qq2"))], table_map)
    rows, _ = as_view(records)
    assert [(r["item_id"], r["response"], r["status"]) for r in rows] == [
        ("q1", "2", "completed"), ("q2", "2", "completed"), ("q1", None, "active"), ("q2", "1", "active"),
    ]  # fmt: skip


def test_without_a_battery_the_table_has_only_columns_with_values(tmp_path: Path) -> None:
    given = {"participant": "who", "item": "q", "response": "said", "columns": {"side": "Side", "age": ["Age", "AGE"]}}
    records = read_records([written(tmp_path, "t.csv", "who,q,said,Side\n5f3a,q1,=1,left\n5f3a,q2,,right\n")],
                           TableMap.model_validate(given))  # fmt: skip
    header, rows = plain_rows(records, pseudonyms(records, is_kept=False))
    assert header == ["participant", "session", "trial_index", "phase", "item_id", "response", "side"]
    assert rows == [["P1", "P1-1", 0, "test", "q1", "=1", "left"], ["P1", "P1-1", 1, "test", "q2", None, "right"]]
    assert pseudonyms(records, is_kept=True) == {"5f3a": "5f3a"}


MAP = {"participant": "who", "item": "q", "response": "said"}


@pytest.mark.parametrize(
    ("table", "changes", "message"),
    [
        (
            "who,q\na,q1\n",
            {},
            "line 1: there is no column `said`, which the map names for `response`. The columns are who",
        ),
        ("q,said\nq1,1\n", {"participant": ["who", "id"]}, "line 1: there is no column `who` or `id`"),
        ("who,q,said\n,q1,1\n", {}, "line 2: the cell `who` is empty. Fix: write the participant's id."),
        ("who,q,said,t\na,q1,1,fast\n", {"rt": "t"}, "line 2: the cell `t` is 'fast', but `rt` needs a number. Fix:"),
        ("who,q,said,c\na,q1,1,maybe\n", {"correct": "c"}, "line 2: the cell `c` is 'maybe', but `correct` needs true"),
        ("who,q,said,p\na,q1,1,warm-up\n", {"phase": "p"}, "line 2: the cell `p` is 'warm-up', which is not a phase"),
        ("who,q,said\na,,1\n", {}, "no row is a trial. Fix: check `where` and `skip_without` in the map."),
        ("who,q,said,who\na,q1,1,b\n", {}, "line 1: duplicate column `who`"),
        ("who,q,said\na,q1,1\n", {"where": {"kind": "trial"}}, "line 1: there is no column `kind`"),
        ("who,q,said\na,q1,1\n", {"wide": {"response": "Q(?P<item>.+)"}}, "no column fits `wide.response`"),
    ],
)
def test_a_mistake_in_a_table_is_reported_with_its_place(
    table: str, changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = written(tmp_path, "t.csv", table)
    with pytest.raises(InputError) as refused:
        read_records([path], TableMap.model_validate(MAP | changes))
    assert message in str(refused.value)
    assert str(refused.value).startswith(str(path))
    assert "Fix: " in str(refused.value)


@pytest.mark.parametrize(
    ("said", "message"),
    [("4", "line 2: '4' is not a possible response to the item `q1`. Fix: add this text to `responses`"),
     ("true", "is not a possible response")],
)  # fmt: skip
def test_an_impossible_response_is_refused(said: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", f"who,q,said\na,q1,{said}\n")
    with pytest.raises(InputError) as refused:
        as_view(read_records([path], TableMap.model_validate(MAP)))
    assert message in str(refused.value)


def test_an_unknown_item_is_refused_and_a_response_can_be_renamed(tmp_path: Path) -> None:
    renamed = TableMap.model_validate(MAP | {"responses": {"J": 2}})
    rows, _ = as_view(read_records([written(tmp_path, "t.csv", "who,q,said\na,q1,J\n")], renamed))
    assert rows[0]["response"] == "2"
    records = read_records([written(tmp_path, "t.csv", "who,q,said\na,q9,1\n")], renamed)
    with pytest.raises(InputError, match="line 2: the battery has no item `q9`"):
        as_view(records)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("participant: who\n", "does not say which columns have the item and the response. Fix: add `item`"),
        ("participant: who\nwide: {response: 'Q('}\n", "is not a regular expression"),
        ("participant: who\nwide: {response: 'Q.*'}\n", "has no group `item`. Fix: write (?P<item>...)"),
        ("participant: who\nitem: q\nresponse: r\nrespnse: x\n", "respnse"),
    ],
)
def test_a_mistake_in_a_map_is_reported(text: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, "map.yaml", text)
    with pytest.raises(InputError) as refused:
        read_table_map(path)
    assert message in str(refused.value)
    assert str(path) in str(refused.value)


def test_an_unknown_map_is_refused_with_the_names_of_the_maps(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Fix: write a YAML file, or one of gorilla, jspsych, labjs"):
        read_table_map(tmp_path / "no.yaml")
