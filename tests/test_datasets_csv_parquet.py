"""Data sets from CSV and Parquet files."""

import gzip
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import trials

from spanforest.datasets import (
    load_csv,
    load_parquet,
)

pd = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def songs():
    return pd.DataFrame(
        {
            "tempo": [120.5, 60.0, 90.25],
            "loud": [True, False, True],
            "happy": [1, 0, 1],
            "key, of": ["minor", "major", "minor"],
        }
    )


def save(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
        return path, load_parquet
    frame.to_csv(path, index=False, sep="\t" if ".tsv" in path.name else ",")
    return path, load_csv


@pytest.mark.parametrize(
    "name", ["songs.csv", "songs.tsv", "songs.csv.gz", "songs.tsv.bz2", "songs.parquet"]
)
@pytest.mark.parametrize("labels", [-2, ["happy", "key, of"]])
def test_every_format_gives_the_same_data_set(songs, tmp_path, name, labels):
    path, load = save(songs, tmp_path / name)
    dataset = load(path, labels)
    assert dataset.name == "songs"
    assert dataset.feature_names == ("tempo", "loud")
    assert dataset.label_names == ("happy", "key, of")
    assert_array_equal(dataset.X, [[120.5, 1], [60, 0], [90.25, 1]])
    assert dataset.Y.tolist() == [[1, "minor"], [0, "major"], [1, "minor"]]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (1, ("tempo",)),
        (-1, ("happy",)),
        ("happy", ("happy",)),
        (["happy", "loud"], ("happy", "loud")),
        ((), ()),
    ],
)
def test_labels_are_counted_from_either_end_or_named(songs, tmp_path, labels, expected):
    songs["tempo"] = [1, 2, 1]
    path, load = save(songs, tmp_path / "songs.csv")
    dataset = load(path, labels, drop="key, of")
    assert dataset.label_names == expected
    assert dataset.Y.dtype == int
    assert dataset.Y.shape == (3, len(expected))
    assert set(dataset.feature_names) == {"tempo", "loud", "happy"} - set(expected)


def test_features_come_in_the_order_asked_for_and_others_are_not_read(songs, tmp_path):
    path, load = save(songs, tmp_path / "songs.csv")
    dataset = load(path, [], features=["happy", "tempo"])
    assert_array_equal(dataset.X, [[1, 120.5], [0, 60], [1, 90.25]])


@trials(25)
@given(
    X=st.lists(
        st.lists(st.floats(allow_infinity=False), min_size=2, max_size=2),
        min_size=1,
        max_size=5,
    ),
    names=st.lists(
        st.text(
            st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=5
        ).filter(lambda name: not name.isdigit()),
        min_size=3,
        max_size=3,
        unique=True,
    ),
)
def test_files_that_pandas_writes_are_read_back(X, names, tmp_path_factory):
    path = tmp_path_factory.mktemp("round") / "trip.csv"
    frame = pd.DataFrame(X).assign(label=0)
    frame.columns = names
    frame.to_csv(path)  # with the row numbers
    dataset = load_csv(path, -1)
    assert dataset.feature_names == tuple(names[:2])
    assert_allclose(dataset.X, np.array(X), rtol=1e-14)  # old pandas: not exact


def test_missing_features_are_nan_and_nullable_numbers_are_numbers(songs, tmp_path):
    songs["plays"] = pd.array([3, None, 5], dtype="Int64")
    for name in ("songs.csv", "songs.parquet"):
        path, load = save(songs, tmp_path / name)
        dataset = load(path, ["happy"], features=["plays"])
        assert_array_equal(dataset.X, [[3], [np.nan], [5]])


def test_column_numbers_are_names_but_values_are_not(tmp_path):
    path = tmp_path / "numbers.csv"
    path.write_text("0,1,2\n0.5,1,0\n")
    assert load_csv(path, -1).label_names == ("2",)
    path.write_text("5.1,3.5,0\n4.9,3.0,1\n")
    with pytest.raises(
        ValueError, match=r"first line must name .* found .* 5\.1, 3\.5"
    ):
        load_csv(path, -1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": ["joy"]}, r"labels .* 'joy' not found. The columns are 'tempo', "),
        ({"labels": 9}, "4 columns, .* between 1 and 4; got 9"),
        ({"labels": -9}, "between 1 and 4; got 9"),
        ({"labels": 0}, "got 0"),
        ({"labels": ["happy", "happy"]}, "'happy' is there twice"),
        ({"labels": "happy", "drop": "id"}, "drop .* 'id' not found"),
        ({"labels": (), "features": ["x"]}, "features .* 'x' not found"),
        (
            {"labels": "tempo", "features": ()},
            r"'tempo' of row 1 \(line 2\) is 120\.5. Is it a feature",
        ),
    ],
)
def test_a_column_that_cannot_be_used_is_named(songs, tmp_path, options, message):
    path, load = save(songs, tmp_path / "songs.csv")
    with pytest.raises(ValueError, match=message) as caught:
        load(path, **options)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"labels": "y"},
        {"labels": 1},
        {"labels": "a.1", "features": ["b"]},
        {"labels": "y", "features": ["a"]},
        {"labels": "y", "drop": "a"},
    ],
)
def test_columns_of_the_same_name_are_refused_where_they_are_used(tmp_path, options):
    path = tmp_path / "twice.csv"
    path.write_text(",a,b,a,,y\n1,1,5,2,1,0\n2,3,5,4,1,1\n")
    advice = r"leave all .* drop=\['a', 'a.1'\]"
    if "features" in options:  # it was asked for
        advice = "Rename all but the one that is meant"
    with pytest.raises(ValueError, match=f"has 'a' more .* {advice}") as caught:
        load_csv(path, **options)
    assert str(path) in str(caught.value)
    assert load_csv(path, "y", features=["b"]).X.tolist() == [[5], [5]]
    rest = load_csv(path, "y", drop=["a", "a.1"])
    assert rest.feature_names == ("b", "Unnamed: 4")


def test_parquet_columns_of_the_same_name_are_refused(tmp_path):
    table = pyarrow.table([[1.0, 2.0], [3.0, 5.0], [0, 1]], names=["a", "a", "y"])
    parquet.write_table(table, tmp_path / "twice.parquet")
    with pytest.raises(ValueError, match=r"twice\.parquet: every .* has 'a' more"):
        load_parquet(tmp_path / "twice.parquet", "y")


def test_fields_inside_parquet_columns_may_have_the_name_of_another_one(tmp_path):
    inside = pyarrow.array([{"a": 1.0}, {"a": 2.0}])
    table = pyarrow.table([[1.0, 2.0], inside, [0, 1]], names=["a", "b", "y"])
    parquet.write_table(table, tmp_path / "inside.parquet")
    loaded = load_parquet(tmp_path / "inside.parquet", "y", features=["a"])
    assert loaded.feature_names == ("a",)


def test_a_first_column_without_a_name_is_left_out(tmp_path, recwarn):
    path = tmp_path / "rows.csv"
    # a part of the rows; names of R; nothing
    for first in (range(2, 8, 2), "abc", ["", "", ""]):
        rows = [f"{name},{i + 0.5},{i % 2}\n" for i, name in enumerate(first)]
        path.write_text(",tempo,y\n" + "".join(rows))
        assert load_csv(path, "y").feature_names == ("tempo",)
    assert not recwarn
    path.write_text(",tempo,y\n7,0.5,0\n7,1.5,1\n")
    with pytest.warns(UserWarning, match=r"has no name.* values repeat. Name it"):
        assert load_csv(path, "y").feature_names == ("tempo",)


@pytest.mark.parametrize("name", ["songs.csv", "songs.parquet"])
def test_missing_labels_come_back_beside_labels_of_every_kind(tmp_path, name):
    frame = pd.DataFrame(
        {
            "tempo": [1.5, 2.5, 3.5],
            "whole": pd.array([0, None, 2], dtype="Int64"),
            "truth": pd.array([True, False, None], dtype="boolean"),
            "text": ["a", None, "b"],
        }
    )
    path, load = save(frame, tmp_path / name)
    actual = load(path, ["whole", "truth"], drop="text")
    assert actual.Y.dtype == float
    assert_array_equal(actual.Y, [[0, 1], [np.nan, 0], [2, np.nan]])
    actual = load(path, ["whole", "text"], drop="truth")
    assert actual.Y.tolist() == [[0, "a"], [None, None], [2, "b"]]
    assert_array_equal(actual.missing_labels, [[0, 0], [1, 1], [0, 0]])
    actual = load(path, ["whole"], features=["tempo"])
    assert_array_equal(actual.Y, [[0], [np.nan], [2]])


def test_fractions_below_a_gap_are_named_with_their_own_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,\n2,1\n3,1.5\n")
    with pytest.raises(ValueError, match=r"'y' of row 3 \(line 4\) is 1.5. Is it"):
        load_csv(path, -1)


def test_a_stray_word_is_found_in_its_column_row_and_line(songs, tmp_path):
    text = 'tempo,loud,happy\n1,2,0\n\n2,"3",1\n3,loudish,1\nfast,?,0\n'
    path = tmp_path / "stray.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"'tempo' of row 4 \(line 6\) is 'fast'\."):
        load_csv(path, -1)
    with pytest.raises(ValueError, match=r"'loud' of row 3 \(line 5\) is 'loudish'"):
        load_csv(path, -1, drop="tempo")
    songs["tempo"] = ["120", "60", "90"]  # numbers in quotes are text in Parquet
    path, load = save(songs, tmp_path / "songs.parquet")
    with pytest.raises(ValueError, match="'tempo' of row 1 is '120'"):
        load(path, ["happy"], features=["tempo"])


def test_yes_and_no_with_gaps_are_numbers_with_gaps(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("loud,happy\nTrue,1\n,0\nFalse,1\n")
    assert_array_equal(load_csv(path, -1).X, [[1], [np.nan], [0]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "first one with the names of the columns; the file is empty"),
        (b"a,b\n", "no rows"),
        (b"\n \n", "the file is empty"),
        (b"a,b\n1,2\n1,2,3\n", r"line 3: expected 2 values, .* found 3"),
        (b"a,b\n1,2,3\n1,2,3\n", r"line 2: expected 2 values, .* found 3"),
        (b"a,b\n\xff,2\n", r"line 2: b'\\xff' is not text in utf-8"),
    ],
)
def test_files_that_are_no_tables_are_refused(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=message):
        load_csv(path, 1)


def test_damaged_archives_and_other_files_are_refused(tmp_path):
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n" * 99)[:20])
    with pytest.raises(ValueError, match="cannot be decompressed"):
        load_csv(path, 1)
    path = tmp_path / "no.parquet"
    path.write_bytes(b"no Parquet")
    with pytest.raises(ValueError, match="expected a Parquet file"):
        load_parquet(path, 1)


def test_without_pandas_the_extra_is_named(songs, tmp_path, monkeypatch):
    path, load = save(songs, tmp_path / "songs.csv")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r'pip install "spanforest\[data\]"'):
        load(path, 1)


def test_without_pyarrow_the_extra_is_named(songs, tmp_path, monkeypatch):
    path, load = save(songs, tmp_path / "songs.parquet")

    def fail(*_):
        raise ImportError("Missing optional dependency")

    monkeypatch.setattr(pd, "read_parquet", fail)
    with pytest.raises(ImportError, match=r'pyarrow: pip install "spanforest\[cli\]"'):
        load(path, 1)


def test_a_number_of_thousands_of_digits_is_refused_with_its_beginning(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"x,y\n{'1' * 5000},0\n2,1\n")
    with pytest.raises(ValueError, match=r"'x' of row 1 \(line 2\) is .*1") as caught:
        load_csv(path, -1)
    assert len(str(caught.value)) < 500


def test_a_parquet_file_damaged_anywhere_is_refused_by_name(tmp_path, songs):
    path, _ = save(songs, tmp_path / "a.parquet")
    whole = path.read_bytes()
    for place in range(len(whole) - 300, len(whole) - 8, 7):
        path.write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
        try:
            load_parquet(path, ["happy"])
        except ValueError as error:
            assert str(path) in str(error)  # noqa: PT017
    path.write_bytes(whole[: len(whole) // 2] + whole[-8:])
    with pytest.raises(ValueError, match=r"a\.parquet: expected a Parquet file"):
        load_parquet(path, ["happy"])
    with pytest.raises(FileNotFoundError):
        load_parquet(tmp_path / "missing.parquet", ["happy"])


def test_bytes_in_a_parquet_file_are_categories(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"x": [b"\xff", b"a", b"a"], "y": [0, 1, 1]}).to_parquet(path)
    assert load_parquet(path, -1).X.ravel().tolist() == [0, 1, 1]
