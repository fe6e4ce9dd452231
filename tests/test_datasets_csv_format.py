"""The text of CSV files: encodings, delimiters, decimal marks, and rows."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import trials

from spanforest.datasets import CsvFormat, load_csv
from spanforest.datasets._csv_format import line_of_row

pytest.importorskip("pandas")

ROWS = [["tempo", "loud", "happy"], ["120.5", "-1e3", "1"], ["60", "0.25", "0"]]
X = [[120.5, -1000], [60, 0.25]]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "songs.csv"


def write(path, delimiter, decimal=".", rows=ROWS, encoding="utf-8"):
    lines = [delimiter.join(row) for row in rows]
    text = "\n".join([lines[0], *(line.replace(".", decimal) for line in lines[1:])])
    path.write_bytes((text + "\n").encode(encoding))


@pytest.mark.parametrize(
    ("delimiter", "decimal"),
    [
        (",", "."),
        (";", "."),
        (";", ","),
        ("\t", "."),
        ("\t", ","),
        ("|", ","),
        (":", ","),
    ],
)
def test_delimiters_and_decimal_marks_are_detected_or_given(path, delimiter, decimal):
    write(path, delimiter, decimal)
    usual = delimiter != ":"
    for options in ({"delimiter": delimiter, "decimal": decimal}, {})[: 1 + usual]:
        songs = load_csv(path, -1, **options)
        assert songs.feature_names == ("tempo", "loud")
        assert_array_equal(songs.X, X)
        assert_array_equal(songs.Y, [[1], [0]])


@trials(50)
@given(
    numbers=st.lists(
        st.tuples(*[st.decimals(-999, 999, places=2)] * 3), min_size=1, max_size=9
    ),
    delimiter=st.sampled_from(",;\t|"),
    has_commas=st.booleans(),
)
def test_tables_of_decimal_numbers_are_read_in_any_dress(
    tmp_path_factory, numbers, delimiter, has_commas
):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    rows = [["a", "b", "c", "y"], *([*map(str, row), "1"] for row in numbers)]
    write(path, delimiter, "," if has_commas and delimiter != "," else ".", rows)
    assert_array_equal(load_csv(path, -1).X, [list(map(float, row)) for row in numbers])


def test_marks_inside_names_and_values_do_not_mislead(path):
    path.write_text('"size, m";"weight, kg";ok\n1,5;2,5;1\n3,5;4,0;0\n')
    assert load_csv(path, -1).feature_names == ("size, m", "weight, kg")
    assert_array_equal(load_csv(path, -1).X, [[1.5, 2.5], [3.5, 4]])
    path.write_text("size, m;weight, kg;ok\n1,5;2,5;1\n3,5;4,0;0\n")
    assert_array_equal(load_csv(path, -1).X, [[1.5, 2.5], [3.5, 4]])
    path.write_text('a;b,c\n1,"x;y"\n2,"z;y"\n')
    assert load_csv(path, -1).Y.tolist() == [["x;y"], ["z;y"]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("line", "delimiter"),
    [
        ("sep=;", ";"),
        ("SEP=,", ","),
        ('"Sep=|"', "|"),
        ('sep=";"', ";"),
        ("sep=; ", ";"),
        ("sep=\t", "\t"),
        (r"sep=\t", "\t"),
        ("sep=:", ":"),  # not among those that are detected
        ("sep= ", " "),
    ],
)
def test_a_first_line_of_excel_names_the_delimiter(
    path, line, delimiter, end, encoding
):
    rows = "".join(delimiter.join(row) + end for row in ROWS)
    path.write_bytes((line + end + rows).encode(encoding))
    for options in ({}, {"delimiter": delimiter}, {"encoding": encoding}):
        songs = load_csv(path, -1, **options)
        assert songs.feature_names == ("tempo", "loud")
        assert_array_equal(songs.X, X)


def test_the_delimiter_that_the_file_names_goes_before_the_detected_one(path):
    rows = "x,y;y,z\n1,a;a,p\n1,a;a,p\n2,b;a,q\n"
    for mark, names in ((",", ("x", "y;y", "z")), (";", ("x,y", "y,z"))):
        path.write_text(f"sep={mark}\n{rows}")
        table = load_csv(path, -1)
        assert (*table.feature_names, *table.label_names) == names


def test_the_delimiter_that_is_passed_goes_before_the_one_that_the_file_names(path):
    path.write_text("sep=;\na,b\n1,1\n2,0\n")
    assert_array_equal(load_csv(path, -1, delimiter=",").X, [[1], [2]])
    path.write_text("sep=:\na:b\n1:1\n2:0\n")
    with pytest.raises(ValueError, match=r"one column, 'a:b'. Pass delimiter=':'"):
        load_csv(path, -1, delimiter=",")
    path.write_text("sep=;\na;b\n1,5;2,5\n")
    message = r"line 3: .* found 3. The file begins with sep=;. Pass delimiter=';'"
    with pytest.raises(ValueError, match=message):
        load_csv(path, -1, delimiter=",")


def test_lines_are_counted_from_the_one_that_names_the_delimiter(path):
    path.write_text("sep=;\na;b\n1;2\n\n3;4;5\n")
    with pytest.raises(ValueError, match=r"line 5: expected 2 values.* found 3\.$"):
        load_csv(path, -1)
    path.write_text("\nsep=:\n\na:b\n1:0\n2:1\n3:0\nx:1\n")
    with pytest.raises(ValueError, match=r"'a' of row 4 \(line 8\) is 'x'"):
        load_csv(path, -1)
    assert [line_of_row(path, i, CsvFormat()) for i in (0, 3, 4)] == [5, 8, None]


@pytest.mark.parametrize("name", ["sep=", "sep=a", "sep=:b", "xsep=:", "sep=é"])
def test_other_first_lines_are_names(path, name):
    path.write_text(f"{name}\n1\n2\n", encoding="utf-8")
    assert load_csv(path, ()).feature_names == (name,)
    path.write_text("sep=:,y\n1,0\n2,1\n")
    assert load_csv(path, -1).feature_names == ("sep=:",)


@pytest.mark.parametrize("text", ["sep=;", "sep=;\n", '"sep=;"\n\n'])
def test_a_file_that_only_names_its_delimiter_is_empty(path, text):
    path.write_text(text)
    with pytest.raises(ValueError, match="the file is empty"):
        load_csv(path, -1)


@pytest.mark.parametrize(
    ("text", "line", "number"),
    [
        ("a,b,c\n1,2,3\n\n4,5\n", 4, 2),
        ("a,b,c\n1,2,3\n4,5,6,7\n", 3, 4),
        ('a,b,c\n1,2,"x\ny"\n4,5,6,\n', 4, 4),
        ('a;b\n1;2\n"3;4\n5;6\n', 3, 1),
    ],
)
def test_a_row_of_another_length_is_named_with_its_line(path, text, line, number):
    path.write_text(text)
    message = rf"line {line}: expected \d values, one for each .* found {number}\."
    with pytest.raises(ValueError, match=message):
        load_csv(path, -1)


def test_another_encoding_is_named_with_the_line_and_can_be_given(path):
    rows = [["größe", "loud", "happy"], *ROWS[1:]]
    write(path, ";", rows=rows, encoding="latin-1")
    message = r"line 1: b'\\xf6' is not text in utf-8. Pass encoding='latin-1'"
    with pytest.raises(ValueError, match=message):
        load_csv(path, -1)
    assert load_csv(path, -1, encoding="latin-1").feature_names[0] == "größe"
    write(path, ";", rows=rows, encoding="utf-16")
    assert load_csv(path, -1).feature_names[0] == "größe"
    write(path, ";", rows=rows, encoding="utf-8-sig")
    for encoding in (None, "UTF-8"):
        assert load_csv(path, -1, encoding=encoding).feature_names[0] == "größe"


@pytest.mark.parametrize("encoding", ["utf-8", "utf_8", "U8", "utf-16-le"])
@pytest.mark.parametrize("begin", ["", "sep=,\n"])
def test_a_byte_order_mark_is_no_part_of_the_first_line(path, encoding, begin):
    text = f'\ufeff{begin}"tempo, bpm",happy\n1,0\n'
    path.write_bytes(text.encode(encoding))
    assert load_csv(path, -1, encoding=encoding).feature_names == ("tempo, bpm",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoding": "oak"}, "encoding must be one that Python knows"),
        ({"delimiter": ";;"}, "delimiter must be one character, such as ';'; got ';;'"),
        ({"delimiter": '"'}, "delimiter must be one character"),
        ({"decimal": "'"}, "decimal must be '.' or ','"),
        ({"delimiter": ";"}, "one column, 'tempo,loud,happy'. Pass delimiter=','"),
        ({"max_memory": 0}, "max_memory must be a number of bytes above 0; got 0"),
    ],
)
def test_bad_options_are_refused(path, options, message):
    write(path, ",")
    with pytest.raises(ValueError, match=re.escape(message)):
        load_csv(path, -1, **options)


@pytest.mark.parametrize("name", ["sep", "csv_format", "Delimiter"])
def test_an_unknown_keyword_is_refused_with_the_known_ones(path, name):
    write(path, ",")
    message = f"argument '{name}'. .* by delimiter, decimal, encoding."
    with pytest.raises(TypeError, match=message):
        load_csv(path, -1, **{name: ","})


def test_the_docstrings_describe_every_keyword_of_the_format():
    for text in (CsvFormat.__doc__, load_csv.__doc__):
        described = re.findall(r"^ *(\w+) : str, optional$", text, re.MULTILINE)
        assert described == list(CsvFormat.__annotations__)


def test_a_quote_that_is_never_closed_is_suspected(path):
    path.write_text('a,b\n1,2\n"3,4\n' + "5,6\n" * 50_000)
    with pytest.raises(ValueError, match=r"line 2 or the next: .* a quote not closed"):
        load_csv(path, -1)


def test_the_line_of_a_row_counts_blank_lines_and_line_ends_in_quotes(path):
    path.write_text('a;b\n1;2\n\n  \n"x\ny";3\n4;"5"\n')
    lines = [line_of_row(path, i, CsvFormat()) for i in range(4)]
    assert lines == [2, 5, 7, None]


def test_a_file_that_cannot_be_read_again_has_no_lines(tmp_path):
    damaged = tmp_path / "a.csv.gz"
    damaged.write_bytes(b"no archive")
    for path in (tmp_path / "missing.csv", Path(os.devnull), damaged):
        assert line_of_row(path, 0, CsvFormat()) is None


def test_question_marks_are_missing_values(path):
    path.write_text("tempo,happy\n?,1\n2,?\n3,0\n")
    songs = load_csv(path, -1)
    assert_array_equal(songs.X, [[float("nan")], [2], [3]])
    assert_array_equal(songs.Y, [[1], [float("nan")], [0]])


@pytest.mark.parametrize("text", ['"\n"\n1,x\n', "a;b\n1;2\n\u2028\n"])
def test_odd_white_space_is_no_blank_line(path, text):
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"line \d: expected \d values"):
        load_csv(path, -1)


def test_an_empty_value_in_quotes_is_a_row(path):
    path.write_text('a\n\n""\n \n5\n')
    csv_format = CsvFormat(delimiter=",")
    assert [line_of_row(path, i, csv_format) for i in range(3)] == [3, 5, None]
    assert len(load_csv(path, (), delimiter=",").X) == 2
