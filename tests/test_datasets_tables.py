"""Tables: features of text, identifiers, and very many columns."""

import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from spanforest.datasets import load_csv, load_parquet

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture(params=["csv", "parquet"])
def load(request, tmp_path):
    """Write a table, and read its last column as label."""

    def write_and_read(frame, **options):
        path = tmp_path / f"a.{request.param}"
        if request.param == "csv":
            frame.to_csv(path, index=False)
            return load_csv(path, -1, **options)
        frame.to_parquet(path)
        return load_parquet(path, -1, **options)

    return write_and_read


def songs(**columns):
    n_rows = max(map(len, columns.values()))
    return pd.DataFrame(columns).assign(happy=np.arange(n_rows) % 2)


def test_text_becomes_codes_of_categories(load):
    frame = songs(
        tempo=[1.5, 2, 2, 2.5, 4],
        key=["minor", "major", None, "minor", "blues"],
        live=["yes", "no", "no", None, "yes"],
        loud=[True, False, None, True, True],
    )
    actual = load(frame)
    assert actual.categories == {"key": ("blues", "major", "minor")}
    assert_array_equal(actual.nominal_features, [False, True, False, False])
    nan = np.nan
    assert_array_equal(
        actual.X[:, 1:], [[2, 1, 1], [1, 0, 0], [nan, 0, nan], [2, nan, 1], [0, 1, 1]]
    )


def test_numbers_alone_have_no_categories(load):
    actual = load(songs(tempo=[1.5, 2, 3], plays=[7, 9, 5]))
    assert actual.categories == {}
    assert actual.nominal_features is None


def test_a_column_with_more_numbers_than_words_has_stray_words(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("tempo,happy\n1,0\n2,1\nfast,0\n")
    message = r"'tempo' of row 3 \(line 4\) is 'fast'. .* drop=\['tempo'\]"
    with pytest.raises(ValueError, match=message):
        load_csv(path, -1)


def test_an_identifier_is_pointed_out_and_not_encoded(load):
    frame = songs(title=["a", "b", "c"], isbn=["x1", "x2", "x3"], tempo=[1.5, 2, 3])
    message = (
        "'title' has 3 different texts in 3 rows, such as 'a': it names the rows, or "
        "is free text, and is no category. Leave it out: drop=['title', 'isbn']."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        load(frame)
    assert load(frame, drop=["title", "isbn"]).feature_names == ("tempo",)
    named = load(frame, features=["title"])  # whoever names it wants it
    assert named.categories == {"title": ("a", "b", "c")}


DATES = ["2024-05-01", "2024-05-02 10:30", "1.5.2024", "05/01/24 9:30 PM"]


@pytest.mark.parametrize("text", DATES)
def test_dates_are_no_categories_even_if_they_repeat(load, text):
    """A category that training never saw says nothing, and new dates are all new."""
    frame = songs(when=[text] * 5 + [text.replace("1", "2")] * 5, tempo=[1.5, 2] * 5)
    message = r"'when' holds dates.*such as the month.*drop=\['when'\]"
    with pytest.raises(ValueError, match=message):
        load(frame)
    assert load(frame, drop="when").feature_names == ("tempo",)
    assert len(load(frame, features=["when"]).categories["when"]) == 2


@pytest.mark.parametrize("text", ["1.2.3", "2024-05", "12-5", "3/4", "10.1.1.2024"])
def test_text_that_resembles_dates_is_a_category(load, text):
    frame = songs(version=[text] * 5 + ["2024-05-01"] * 5)
    assert set(load(frame).categories["version"]) == {text, "2024-05-01"}


@pytest.mark.parametrize("unit", ["date", "time", "duration"])
def test_columns_of_dates_and_durations_are_refused(tmp_path, unit):
    days = pd.Series(pd.date_range("2024-05-01", periods=6))
    column = {"date": days, "time": days.dt.time, "duration": days - days[0]}[unit]
    songs(when=column).to_parquet(tmp_path / "a.parquet")
    for options in ({}, {"features": ["when"]}):
        with pytest.raises(ValueError, match="'when' holds dates, times or durations"):
            load_parquet(tmp_path / "a.parquet", -1, **options)


def test_labels_that_are_true_and_false_are_numbers_with_a_note(load):
    frame = pd.DataFrame({"tempo": [1.5, 2, 3], "happy": [True, False, None]})
    actual = load(frame)
    assert_array_equal(actual.Y, [[1], [0], [np.nan]])
    assert actual.boolean_labels == ("happy",)
    assert load(frame.assign(happy=[1, 0, 1])).boolean_labels == ()
    assert load(frame.assign(happy=["yes", "no", "yes"])).boolean_labels == ()


def test_a_very_long_column_name_does_not_fill_the_screen(load):
    frame = pd.DataFrame({"x" * 5000: ["a", "b", "c"], "happy": [1, 0, 1]})
    with pytest.raises(ValueError, match="names the rows") as caught:
        load(frame)
    assert len(str(caught.value)) < 600


def test_text_that_hardly_repeats_is_no_category(load):
    texts = [f"text {i // 2 if i < 30 else i}" for i in range(60)]
    with pytest.raises(ValueError, match="'about' has 45 different texts in 60 rows"):
        load(songs(about=texts))
    assert len(load(songs(about=[f"text {i // 2}" for i in range(60)])).categories) == 1


def test_row_numbers_are_pointed_out(load):
    frame = songs(id=np.arange(7, 19), tempo=np.arange(12) + 0.5, plays=[3, 4] * 6)
    with pytest.warns(UserWarning, match=r"'id' counts the rows.* drop=\['id'\]"):
        load(frame)
    load(frame, features=["id"])
    load(frame, drop="id")


def test_a_wide_table_is_read_whole(tmp_path):
    """How long it takes is measured by benchmarks/wide_tables.py."""
    n_columns = 5_000
    names = ",".join(f"x{j}" for j in range(n_columns))
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([f"{names},y", *[f"{'0.5,' * n_columns}1"] * 3, ""]))
    assert load_csv(path, -1).X.shape == (3, n_columns)
