"""Any CSV file is read completely, cell by cell, or refused with the line of its error."""

import csv
import io
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from analysis.data.data_file_reader import MISSING, columns_in_words, read_data_file
from analysis.output_files import csv_bytes
from batteries.errors import InputError


@pytest.fixture
def read(tmp_path):
    def read_text(content):
        path = tmp_path / "data.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_data_file(path)

    return read_text


@pytest.fixture
def refused(read):
    def message_of(content):
        with pytest.raises(InputError) as error:
            read(content)
        assert "\n" not in str(error.value)
        return str(error.value).split("data.csv", 1)[1]

    return message_of


def cells(table):
    return {name: table[name].astype(object).where(table[name].notna(), None).tolist() for name in table.columns}


# Forms of CSV


@pytest.mark.parametrize(
    "content",
    [
        "id,x\na,1\nb,2\n",
        "\ufeffid,x\na,1\nb,2\n",
        "id,x\r\na,1\r\nb,2\r\n",
        "id,x\ra,1\rb,2\r",
        "id,x\na,1\nb,2",
        "id,x\n\na,1\n\n\nb,2\n\n",
        '"id","x"\n"a","1"\n"b","2"\n',
        " id , x\na,1\nb,2\n",
    ],
    ids=["plain", "mark", "Windows", "old Macintosh", "no last line end", "empty lines", "quoted", "spaced headings"],
)
def test_one_table_is_read_from_every_common_form_of_csv(read, content):
    assert cells(read(content)) == {"id": ["a", "b"], "x": [1, 2]}


def test_commas_quotes_and_line_ends_inside_quotes_are_part_of_the_cell(read):
    table = read('say,x\n"a, ""b""\nc",1\nplain "word" here,2\n')
    assert table["say"].tolist() == ['a, "b"\nc', 'plain "word" here']


def test_letters_of_every_language_and_rare_separators_stay(read):
    texts = ["Ä", "日本", "\u2028", "a\x85b", "😀", "e\u0301"]
    assert read("say,x\n" + "".join(f"{one},1\n" for one in texts))["say"].tolist() == texts


def test_names_of_columns_keep_their_capitals(read):
    assert read("A,a,a b,a.1\n1,2,3,4\n").columns.tolist() == ["A", "a", "a b", "a.1"]


# Refused files


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", ": the file is empty"),
        ("\n\n", ": the file is empty"),
        ("a,b\n", ": there are no rows under the header"),
        ("a,b\n\n\n", ": there are no rows under the header"),
        ("a,b\n1,2\n1,2,3\n", ", line 3: this row has 3 cells, but the header has 2"),
        ("a,b\n1,2,\n", ", line 2: this row has 3 cells, but the header has 2"),
        ("a,b\n1\n", ", line 2: "),
        ('a,b\n"x\ny",1\n2\n', ", line 4: "),
        ("a,b,a\n1,2,3\n", ", line 1: duplicate column `a`"),
        ("a,b, a\n1,2,3\n", ", line 1: duplicate column `a`"),
        ("a,,c\n1,2,3\n", ", line 1: column 2 has no name"),
        ("a,b,\n1,2,\n", ", line 1: column 3 has no name"),
        ("a;b\n1;2\n", ", line 1: the columns are not separated by commas"),
        ("a\tb\n1\t2\n", ", line 1: the columns are not separated by commas"),
        ('a,b\n"x"y,1\n', ", line 2: this is not CSV"),
        ('a,b\n1,2\n"x,1\n', "this is not CSV"),
        ("a,b\n1,\0\n", ": this is not a text file"),
        ("a,b\n1,2\n".encode("utf-16"), ": byte 0 is not UTF-8"),
        ("a,b\nä,2\n".encode("latin-1"), ": byte 4 is not UTF-8"),
        ("'=a,=a\n1,2\n", ", line 1: duplicate column `=a`"),
    ],
)
def test_a_file_that_is_not_a_table_is_refused_with_its_line_and_a_fix(refused, content, expected):
    message = refused(content)
    assert expected in message
    assert message.rstrip().endswith(".")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="this file does not exist"):
        read_data_file(tmp_path / "none.csv")


def test_a_heading_below_empty_lines_is_read(read):
    assert cells(read("\n\na,b\n1,2\n")) == {"a": [1], "b": [2]}


def test_a_cell_as_long_as_a_transcript_is_read(read):
    table = read(f'say,x\n"{"word " * 40_000}",1\n')
    assert table["say"].str.len().tolist() == [200_000]


# Kinds of columns


@pytest.mark.parametrize("written", [["true", "false"], ["TRUE", "FALSE"], ["True", "false"], ["tRuE", "FALSE"]])
def test_true_and_false_in_any_spelling_are_yes_and_no(read, written):
    table = read("a,x\n" + "".join(f"{one},1\n" for one in written))
    assert pd.api.types.is_bool_dtype(table["a"])
    assert table["a"].tolist() == [True, False]


@pytest.mark.parametrize("missing", MISSING)
def test_yes_and_no_with_gaps_stay_yes_and_no(read, missing):
    table = read(f"a,x\nTRUE,1\n{missing},2\nfalse,3\n")
    assert pd.api.types.is_bool_dtype(table["a"])
    assert cells(table)["a"] == [True, None, False]


@pytest.mark.parametrize(
    "written", [["true", "1"], ["true", "yes"], ["yes", "no"], ["T", "F"], ["true", "maybe"], ["1", "a"]], ids=str
)
def test_a_column_of_mixed_types_stays_text(read, written):
    assert read("a,x\n" + "".join(f"{one},1\n" for one in written))["a"].tolist() == written


@pytest.mark.parametrize("missing", MISSING)
def test_a_number_with_gaps_is_a_number(read, missing):
    table = read(f"a,x\n1,1\n{missing},2\n2.5,3\n")
    assert cells(table)["a"] == [1.0, None, 2.5]


@pytest.mark.parametrize("word", ["NULL", "None", "n/a", "-", ".", "missing", " NA", "NAN", "#N/A"])
def test_other_words_for_a_missing_value_are_text(read, word):
    assert read(f"a,x\n1,1\n{word},2\n")["a"].tolist() == ["1", word]


def test_a_column_of_gaps_is_kept_with_missing_values(read):
    table = read("a,x\n,1\nNA,2\n")
    assert table["a"].isna().all()
    assert "a" in columns_in_words(table)["column"].tolist()


@pytest.mark.parametrize("cell", ['""', " ", "NA"])
def test_a_gap_in_the_only_column_is_a_row(read, cell):
    """If the row were dropped, n would change; in a file of one column no comma shows an empty cell."""
    assert len(read(f"x\n1\n{cell}\n3\n")) == 3


@pytest.mark.parametrize(
    ("written", "values"),
    [
        (["1", "-2", "+3"], [1, -2, 3]),
        (["1.5", "-0.25", "1e-3"], [1.5, -0.25, 0.001]),
        (["0", "0.1", "0.30000000000000004"], [0.0, 0.1, 0.30000000000000004]),
    ],
)
def test_numbers_are_read_to_their_last_digit(read, written, values):
    assert read("a,x\n" + "".join(f"{one},1\n" for one in written))["a"].tolist() == values


@pytest.mark.parametrize("written", [["2024-01-02", "2024-02-03"], ["1,200", "3"], ["50%", "3%"], ["0x1A"], ["1_000"],
                                     ["10:30"], ["1/2"], ["1.2.3"], ["12 ms"], ["1,5"]], ids=str)  # fmt: skip
def test_dates_and_texts_similar_to_numbers_stay_text(read, written):
    assert read("a,x\n" + "".join(f'"{one}",1\n' for one in written))["a"].tolist() == written


@pytest.mark.parametrize(
    "ids", [["01", "1", "002"], ["001", "002"], ["007", "NA", "7"], ["00", "0"], ["0123456789", "123456789"]], ids=str
)
def test_numbers_with_leading_zeros_stay_different_texts(read, ids):
    """Participant 01 is not participant 1; as numbers they would silently become one participant."""
    table = read("id,x\n" + "".join(f"{one},1\n" for one in ids))
    assert cells(table)["id"] == [None if one == "NA" else one for one in ids]


@pytest.mark.parametrize("gap", ["", ",1\n"])
@pytest.mark.parametrize(
    "ids",
    [["9007199254740992", "9007199254740993"], ["18446744073709551614", "18446744073709551615"],
     ["123456789012345678901234", "123456789012345678901235"]],
    ids=lambda ids: ids[0],
)  # fmt: skip
def test_long_numbers_stay_different_with_and_without_gaps(read, ids, gap):
    table = read("id,x\n" + "".join(f"{one},1\n" for one in ids) + gap)
    assert table["id"].nunique() == 2
    assert [str(one) for one in table["id"].dropna()] == ids


@pytest.mark.parametrize("word", ["inf", "-inf", "Infinity", "1e400"])
def test_no_cell_becomes_an_infinite_number(read, word):
    """Otherwise a mean would silently be infinite, and its deviation would be missing."""
    try:
        column = read(f"a,x\n1,1\n{word},2\n")["a"]
    except InputError:
        return
    assert not pd.api.types.is_numeric_dtype(column)


def test_a_long_file_is_read_in_the_same_way_as_a_short_file(read, tmp_path):
    """If the file were read in pieces, the names would be numbers in the first piece and text in the last piece."""
    n, n_columns = 40_000, 40
    content = ",".join(["id", *(f"x{n}" for n in range(n_columns))]) + "\n"
    rest = ",0" * n_columns + "\n"
    content += "".join(f"{row % 100:03}{rest}" for row in range(n)) + f"abc{rest}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = read(content)
    assert table["id"].nunique() == 101


# Guards against spreadsheets


def test_guarded_cells_of_an_export_are_read_unchanged(read):
    table = pd.DataFrame({"say": ["=1+1", "-x", "@b", "'=c", "it's", "'tis", "+", "plain"], "=sum": 1})
    assert cells(read(csv_bytes(table))) == cells(table)


# Description of the columns


def test_the_description_of_a_column_has_its_kind_levels_range_and_gaps(read):
    table = columns_in_words(read("g,n,b,e\nb,10,TRUE,\na,-1.5,false,\nb,NA,true,\n"))
    assert table.to_dict("list") == {
        "column": ["g", "n", "b", "e"],
        "kind": ["text", "number", "yes or no", table["kind"][3]],
        "values": ["a, b", "-1.5 to 10", "false, true", ""],
        "n_distinct": [2, 2, 2, 0],
        "n_missing": [0, 1, 0, 3],
    }


def test_many_levels_are_counted_and_not_all_named(read):
    table = columns_in_words(read("g,x\n" + "".join(f"level{n},1\n" for n in range(30))))
    assert table["values"][0].endswith("level11 and 18 more")
    assert table["values"][0].startswith("level0, level1, level2, ")


def test_a_range_in_words_is_that_of_the_column(read):
    table = columns_in_words(read("rt,x\n30793,1\n1333554,2\n"))
    assert table["values"][0].replace(",", "").replace("\xa0", "") == "30793 to 1333554"


# Random cells

TEXTS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n,\"'=+-@ 0"), min_size=1, max_size=8
).filter(lambda text: text not in MISSING)
CELLS = st.lists(
    st.tuples(TEXTS.map("t{}".format), st.one_of(st.none(), st.integers(-(2**53), 2**53)), TEXTS), min_size=1
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=CELLS)
def test_a_table_written_by_a_program_is_read_unchanged(read, rows):
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["word", "number", "any"])
    writer.writerows([word, "" if number is None else number, f"_{text}"] for word, number, text in rows)
    table = read(written.getvalue())
    assert table["word"].tolist() == [word for word, _, _ in rows]
    assert table["any"].tolist() == [f"_{text}" for _, _, text in rows]
    numbers = table["number"].astype("float64").replace({np.nan: None}).tolist()
    assert numbers == [None if number is None else float(number) for _, number, _ in rows]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_every_number_is_read_back_to_the_last_bit(read, values):
    assert read("x,y\n" + "".join(f"{value!r},1\n" for value in values))["x"].tolist() == values


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(content="x\n ")
@given(content=st.one_of(st.text(alphabet="ab1,\"\n\r;\t '=\0é.-", max_size=40), st.binary(max_size=30)))
def test_any_file_is_read_or_refused_with_one_sentence(read, content):
    try:
        table = read(content)
    except InputError as error:
        message = str(error)
    else:
        message = "."
        assert len(table) > 0
        assert table.columns.is_unique
        assert all(name for name in table.columns)
        json.dumps(columns_in_words(table).to_dict("list"), default=str)
    assert message.endswith(".")
