"""Dates, times and durations: the types, values and texts that count as such."""

import datetime

import numpy as np
import pytest

from spanforest._dates import (
    is_date,
    is_date_text,
    is_date_type,
    is_duration,
    is_duration_type,
)

pd = pytest.importorskip("pandas")

DAYS = pd.Series(pd.date_range("2024-05-01", periods=3))
COLUMNS = {  # and whether they hold durations
    "dates": (DAYS, False),
    "dates of a time zone": (DAYS.dt.tz_localize("UTC"), False),
    "periods": (DAYS.dt.to_period("D"), False),
    "durations": (DAYS - DAYS[0], True),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_of_dates_has_a_type_and_values_of_dates(name):
    column, holds_durations = COLUMNS[name]
    assert is_date_type(column.dtype)
    assert is_duration_type(column.dtype) == holds_durations
    for value in column:
        assert is_date(value)
        assert is_duration(value) == holds_durations


@pytest.mark.parametrize(
    "name",
    [
        *("Date", "Datetime(time_unit='us', time_zone=None)", "Duration('ms')", "Time"),
        *("date32[day]", "timestamp[ns]", "duration[ns]", "time64[us]", "period[M]"),
    ],
)
def test_types_of_polars_and_pyarrow_are_known_by_their_names(name):
    assert is_date_type(name)
    assert is_duration_type(name) == name.lower().startswith("duration")


@pytest.mark.parametrize(
    "value",
    [
        *(datetime.date(2024, 5, 1), datetime.datetime(2024, 5, 1), datetime.time(12)),
        *(datetime.timedelta(1), np.datetime64("2024-05-01"), np.timedelta64(1, "D")),
    ],
)
def test_dates_of_python_and_numpy_are_dates(value):
    assert is_date(value)
    is_difference = isinstance(value, datetime.timedelta | np.timedelta64)
    assert is_duration(value) == is_difference


@pytest.mark.parametrize("value", [None, 20240501, 1.5, True, "2024-05-01", np.nan])
def test_numbers_texts_and_gaps_are_no_dates(value):
    assert not is_date(value)
    assert not is_duration(value)


@pytest.mark.parametrize("name", ["float64", "int32", "object", "category", "str"])
def test_other_types_are_no_dates(name):
    assert not is_date_type(np.dtype(name) if name != "category" else name)
    assert not is_duration_type(name)


@pytest.mark.parametrize(
    "text",
    [
        *("2024-05-01", "2024/5/1", "1.5.2024", "5/1/2024", "5/1/24", " 2024-05-01 "),
        *("2024-05-01T12:30", "2024-05-01 12:30:15.5", "5/1/24 1:30 PM"),
        *("2024-05-01T12:30:00Z", "2024-05-01 12:30:00+02:00"),
    ],
)
def test_usual_ways_to_write_a_date_are_recognised(text):
    assert is_date_text(text)


@pytest.mark.parametrize(
    "text", ["", "1.5", "1.5.24", "2024-05", "12:30", "2024-05/01", "May 1", "1-2-3"]
)
def test_versions_times_and_fractions_are_no_dates(text):
    assert not is_date_text(text)
