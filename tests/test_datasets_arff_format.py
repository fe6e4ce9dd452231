"""The format ARFF: written relations are read back, errors name their line."""

import bz2
import gzip
import pickle
from io import StringIO

import numpy as np
import pytest
from arff_writer import write_arff
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from strategies import trials

from spanforest.datasets import (
    ArffError,
    Attribute,
    Relation,
    read_arff,
)

SPECIAL = [*"'\"{},%?\\@\t\n\r ", "\u2028", "\xa0", "a"]


texts = st.text(
    st.one_of(st.sampled_from(SPECIAL), st.characters(codec="utf-8")), max_size=6
)


distinct_texts = st.lists(texts, min_size=1, max_size=4, unique=True)


attribute_kinds = st.one_of(
    st.just(("numeric", ())),
    st.tuples(st.just("nominal"), distinct_texts.map(tuple)),
)


@st.composite
def relations(draw):
    """A relation of numeric and nominal columns, dense, with missing values."""
    names = draw(distinct_texts)
    attributes = tuple(Attribute(name, *draw(attribute_kinds)) for name in names)
    cells = [
        st.one_of(st.just(np.nan), st.floats(allow_nan=False))
        if attribute.kind == "numeric"
        else st.sampled_from([np.nan, *range(len(attribute.values))])
        for attribute in attributes
    ]
    rows = draw(st.lists(st.tuples(*cells), max_size=4))
    data = np.array(rows, dtype=float).reshape(-1, len(attributes))
    return Relation(draw(texts), attributes, data)


def written(relation):
    out = StringIO()
    write_arff(relation, out)
    return out.getvalue()


def read(text):
    return read_arff(StringIO(text))


def header(*declarations):
    attributes = "\n".join(f"@attribute {text}" for text in declarations)
    return f"@relation r\n{attributes}\n@data\n"


def assert_same(one, other):
    assert one.name == other.name
    assert one.attributes == other.attributes
    assert_array_equal(one.data, other.data)


@given(relations())
@trials(60)
def test_a_written_relation_is_read_back_unchanged(relation):
    assert_same(read(written(relation)), relation)


@given(relations())
def test_a_sparse_file_holds_what_the_dense_file_holds(relation):
    as_sparse = relation._replace(data=sparse.csr_array(relation.data))
    actual = read(written(as_sparse))
    assert_array_equal(
        actual.data.toarray() if len(relation.data) else actual.data, relation.data
    )
    assert actual.attributes == relation.attributes


@given(st.lists(st.one_of(st.none(), texts), min_size=1, max_size=6))
def test_strings_are_read_back(column):
    values = tuple(dict.fromkeys(text for text in column if text is not None))
    codes = [[np.nan if text is None else values.index(text)] for text in column]
    relation = Relation("r", (Attribute("s", "string", values),), np.array(codes))
    assert_same(read(written(relation)), relation)


@pytest.mark.parametrize("suffix", ["", ".bz2", ".gz", ".BZ2"])
def test_compression_goes_by_the_name(tmp_path, suffix):
    path = tmp_path / f"a.arff{suffix}"
    relation = Relation("ä", (Attribute("ü"),), np.array([[0.1], [np.nan]]))
    write_arff(relation, path)
    assert_same(read_arff(path), relation)
    assert_same(read_arff(str(path)), relation)
    opener = {"": open, ".bz2": bz2.open, ".gz": gzip.open}[suffix.lower()]
    with opener(path, "rb") as raw:
        assert raw.read(9) == b"@relation"


def test_the_encoding_is_an_argument_and_a_byte_order_mark_is_no_text(tmp_path):
    path = tmp_path / "a.arff"
    path.write_bytes(header("ä numeric").encode("latin-1"))
    assert read_arff(path, encoding="latin-1").attributes[0].name == "ä"
    with pytest.raises(ArffError, match=r"line 1: .* not text in utf-8. Pass e"):
        read_arff(path)
    path.write_bytes(header("ä numeric").encode("utf-8-sig"))
    assert read_arff(path).attributes[0].name == "ä"


def test_names_and_values_may_be_quoted_and_escaped():
    actual = read(
        header(
            "'a b' numeric",
            r"""'c\'d' {x, "y z", "q\"r", 'it\'s', '\u00e4\n\t\\', '?', '%'}""",
            "e' real",
            "f;g INTEGER",
        )
        + "1, 'it\\'s', 2, 3\n2, '?', 1, 1\n"
    )
    names = [attribute.name for attribute in actual.attributes]
    assert names == ["a b", "c'd", "e'", "f;g"]
    values = ("x", "y z", 'q"r', "it's", "ä\n\t\\", "?", "%")
    assert actual.attributes[1].values == values
    assert_array_equal(actual.data[:, 1], [3, 5])


def test_case_white_space_comments_and_tabs_do_not_matter():
    actual = read(
        "% a comment\n\n  @RELATION\t'r % s' % another\n"
        "@Attribute\ta\tREAL\n@attribute b{no , yes} % why\n@DATA % now\n"
        "  1 ,  yes  \n\n% 5, yes\n2,no % last\n3\tyes\n4 \t, no\n"
    )
    assert actual.name == "r % s"
    assert_array_equal(actual.data, [[1, 1], [2, 0], [3, 1], [4, 0]])


def test_a_percent_sign_inside_a_word_is_no_comment():
    actual = read(header("a {50%, 5}", "b {%x, y}") + "50%,%x\n")
    assert actual.attributes[0].values == ("50%", "5")
    assert_array_equal(actual.data, [[0, 0]])


def test_an_unquoted_question_mark_is_missing_and_a_quoted_one_is_not():
    actual = read(header("a {'?', b}", "n numeric") + "?, ?\n'?', 1\n")
    assert_array_equal(actual.data, [[np.nan, np.nan], [0, 1]])


def test_dates_stay_text():
    actual = read(header('d date "yyyy-MM-dd HH:mm"', "e DATE") + "'a 1', b\n?, b\n")
    assert actual.attributes[0] == Attribute("d", "date", ("a 1",))
    assert_array_equal(actual.data, [[0, 0], [np.nan, 0]])


def test_sparse_rows():
    actual = read(
        header("a numeric", "b {x, 'y, z'}", "s string", "c {no,yes}")
        + "{0 2.5, 3 yes}\n{}\n{ 1 'y, z' , 0 1}\n{1 x}\n{2 t, 0 ?}\n"
    )
    expected = [[2.5, 0, 0, 1], [0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]]
    assert_array_equal(actual.data.toarray(), [*expected, [np.nan, 0, 1, 0]])
    assert actual.attributes[2].values == ("", "t")
    assert actual.data.nnz == 6
    assert actual.data.has_sorted_indices


def test_indices_of_sparse_data_suit_scikit_learn():
    data = read(header("a numeric") + "{0 1}\n").data
    assert data.indices.dtype == data.indptr.dtype == np.int32  # liblinear takes these


def test_a_file_without_rows_has_no_rows():
    assert read(header("a numeric", "b numeric")).data.shape == (0, 2)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "before @data"),
        ("@relation r\n@attribute a numeric\n", 2, "before @data"),
        ("@relation r\n@data\n", 2, "before any @attribute"),
        ("@relation r\n@relation s\n", 2, "second @relation"),
        ("@relation 'r\n", 1, "quotes"),
        ("relation r\n", 1, "expected @relation"),
        ("@attribute\n", 1, "a name and a type"),
        ("@attribute {a}\n", 1, "a name and a type"),
        ("@attribute a\n", 1, "the type of 'a'"),
        ("@attribute a relational\n", 1, "found 'relational'"),
        ("@attribute a real [0, 1]\n", 1, "the type of 'a'"),
        ("@attribute a {b, c\n", 1, "must end with"),
        ("@attribute a {b, b}\n", 1, "distinct"),
        ("@attribute a {b, ?}\n", 1, "in quotes"),
        ("@attribute a {}\n", 1, "empty"),
        ("@attribute a {b,,c}\n", 1, "empty"),
        ("@attribute a real\n@attribute a real\n@data\n", 3, "'a' is declared more"),
        ("@attribute a real\n@data 1\n", 2, "nothing may follow"),
        (header("a real") + "1,2\n", 4, "expected 1 values.*found 2"),
        (header("a real") + "\n%\nx\n", 6, "expected a number for 'a'; found 'x'"),
        (header("a real") + "1_0\n", 4, "expected a number"),
        (header("a real", "b real") + "1,\n", 5, "written '\\?'"),
        (header("a real", "b real") + "?,\n", 5, "written '\\?'"),
        (header("a {b,c}") + "d\n", 4, "expected one of 'b', 'c' for 'a'; found 'd'"),
        (header("a {1,2,3,4,5,6}") + "7\n", 4, "'5', \\.\\.\\. for"),
        (header("a string") + "'b\n", 4, "quotes do not match"),
        (header("a string") + "'b'c\n", 4, "quotes do not match"),
        (header("a real") + "1\n{0 1}\n", 5, "all dense or all sparse"),
        (header("a real") + "{0 1}\n1\n", 5, "all dense or all sparse"),
        (header("a real") + "{0 1\n", 4, "end with '}'"),
        (header("a real") + "{1 1}\n", 4, "from 0 to 0; found 1"),
        (header("a real") + "{0 1, 0 2}\n", 4, "twice"),
        (header("a real") + "{0}\n", 4, "an index and a value"),
        (header("a real") + "{-1 0}\n", 4, "an index and a value"),
        (header("a real") + "{0 1,}\n", 4, "an index and a value"),
        (header("a real") + "{0 ,}\n", 4, "an index and a value|empty"),
        (header("a real") + "{0 x}\n", 4, "expected a number"),
        (header("a real") + f"{{{'9' * 5000} 1}}\n", 4, "an index and a value"),
    ],
)
def test_an_error_names_the_line(text, line, message):
    with pytest.raises(ArffError, match=message) as caught:
        read(text)
    assert caught.value.line == line
    assert f"<text>, line {line}: " in str(caught.value)


def test_an_error_names_the_file_and_survives_pickling(tmp_path):
    path = tmp_path / "bad.arff"
    path.write_text("nonsense")
    with pytest.raises(ArffError, match=r"bad\.arff, line 1") as caught:
        read_arff(path)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.path, copy.line) == (str(caught.value), str(path), 1)


def test_a_missing_file_raises_file_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_arff(tmp_path / "none.arff")


SAMPLE = (
    header("'a b' numeric", 'c {x, "y z"}', "d string", "e date")
    + "1.5, 'y z', \"it's\", ?\n-2e3,x,'\\u00e4\\n',b % end\n"
)


SPARSE_SAMPLE = header("a numeric", "b {x,'y, z'}", "c string") + (
    "{0 1, 1 'y, z'}\n{}\n{2 'q\\'', 0 ?}\n"
)


pieces = st.one_of(
    st.characters(),
    st.sampled_from([*SPECIAL, "@data", "@attribute ", "\\u", "{0 1}"]),
)


mutations = st.lists(
    st.tuples(st.integers(0, 200), st.integers(0, 3), pieces), min_size=1, max_size=5
)


def outcome(file):
    """What is read, or the error that is told."""
    try:
        return read_arff(file)
    except ArffError as error:
        return error


@given(st.sampled_from([SAMPLE, SPARSE_SAMPLE]), mutations)
@example(SAMPLE, [(0, 0, "\x00")])
@trials(400)
def test_mutated_text_raises_nothing_but_arff_errors(text, mutations):
    for position, removed, inserted in mutations:
        position %= len(text) + 1
        text = text[:position] + inserted + text[position + removed :]
    actual = outcome(StringIO(text))
    if isinstance(actual, ArffError):
        assert 1 <= actual.line <= text.count("\n") + text.count("\r") + 1
    else:
        assert actual.data.shape[1] == len(actual.attributes)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("garbage")


@given(
    st.sampled_from(["a.arff", "a.arff.bz2", "a.arff.gz"]),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=4),
    st.integers(0, 400),
)
@trials(300)
def test_mutated_files_raise_nothing_but_arff_errors(scratch, name, bytes_, length):
    compress = {"arff": bytes, "bz2": bz2.compress, "gz": gzip.compress}
    data = bytearray(compress[name.rpartition(".")[2]](SAMPLE.encode()))
    for position, value in bytes_:
        data[position % len(data)] = value
    path = scratch / name
    path.write_bytes(data[: len(data) - length if length < len(data) else None])
    actual = outcome(path)
    assert not isinstance(actual, ArffError) or actual.path == str(path)


@pytest.mark.parametrize("encoding", ["ucs-9", "hex"])
def test_an_encoding_that_is_none_is_refused(tmp_path, encoding):
    path = tmp_path / "a.arff"
    path.write_text(header("a numeric"))
    with pytest.raises(ValueError, match=r"encoding must be one that Python knows"):
        read_arff(path, encoding=encoding)


def test_messages_show_the_beginning_of_a_long_value():
    for attribute in ("a numeric", "a {0,1}", "a {" + "y" * 9000 + ",z}"):
        with pytest.raises(ArffError) as caught:
            read_arff(StringIO(header(attribute) + "x" * 9000 + "\n"))
        assert len(str(caught.value)) < 300
