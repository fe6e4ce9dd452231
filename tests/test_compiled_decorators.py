"""Calls of compiled routines through pointers."""

import numpy as np
import pytest

from spanforest._compiled.decorators import (
    PACKED_SIZE,
    call_pointer,
    compiled,
    from_python,
    pack,
    through_pointer,
)


def add_one(values, total):
    for i in range(len(values)):
        values[i] += 1
        total[0] += values[i]


@compiled
def call_it(routine, values, total):
    call_pointer(routine, (values, total))


def test_a_call_through_a_pointer_is_a_call_of_the_function():
    values, total = np.arange(4.0), np.zeros(1)
    call_it(through_pointer(add_one, (values, total)), values, total)
    np.testing.assert_array_equal(values, [1, 2, 3, 4])
    assert total == [10]


@pytest.mark.needs_compiled
def test_a_pointer_refuses_arguments_of_other_types_than_it_was_compiled_for():
    values, total = np.arange(4.0), np.zeros(1)
    pointer = through_pointer(add_one, (values, total))
    for others in [(values.astype(np.float32), total), (values[::2], total)]:
        with pytest.raises(TypeError, match="not compiled for"):
            call_it(pointer, *others)
    np.testing.assert_array_equal(values, np.arange(4.0))


@pytest.mark.needs_compiled
def test_arguments_of_each_kind_have_a_routine_of_their_own():
    double, single = np.arange(4.0), np.arange(4, dtype=np.float32)
    total = np.zeros(1)
    for values in (double, single):
        pointer = through_pointer(add_one, (values, total), values.dtype)
        call_it(pointer, values, total)
    np.testing.assert_array_equal(double, single)


@pytest.mark.needs_compiled
def test_a_pointer_consists_of_numbers():
    """Numba recognises them at once; a routine would take it 0.1 ms in every call."""
    pointer = through_pointer(add_one, (np.arange(4.0), np.zeros(1)))
    assert all(type(number) is int for number in pointer)


def add_up(start, stop, record):
    values, (factor, total) = record[0]
    for i in range(start, stop):
        total[0] += factor * values[i]


@compiled
def add_up_there(routine, start, stop, address):
    call_pointer(routine, (start, stop, address))


def packed_numbers(dtype=np.float64):
    total = np.zeros(1)
    return pack((np.arange(4, dtype=dtype), (0.5, total))), total


@pytest.mark.parametrize("from_compiled_code", [True, False])
def test_a_routine_reads_a_packed_record_where_it_is(from_compiled_code):
    record, total = packed_numbers()
    routine = through_pointer(add_up, (0, 0, record), record.checksum)
    if from_compiled_code:
        add_up_there(routine, 1, 4, record.address)
    else:
        from_python(routine, (1, 4, record.address))()
    assert total == [3]


@pytest.mark.needs_compiled
def test_packed_records_of_other_types_have_a_routine_of_their_own():
    pointers = set()
    for dtype in (np.float64, np.float32, np.float64):
        record, total = packed_numbers(dtype)
        routine = through_pointer(add_up, (0, 0, record), record.checksum)
        add_up_there(routine, 1, 4, record.address)
        assert total == [3]
        pointers.add(routine.address)
    assert len(pointers) == 2


@pytest.mark.needs_compiled
def test_a_record_that_is_too_large_is_refused():
    n_arrays = PACKED_SIZE // 56 + 1  # an array of one dimension takes seven numbers
    with pytest.raises(Exception, match="more than 8192 bytes"):
        pack(tuple(np.zeros(1) for _ in range(n_arrays)))
