"""Calls of compiled routines through pointers."""

import numpy as np
import pytest

from spanforest._compiled.decorators import (
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
    routine = through_pointer(add_up, (0, 0, record), record.kind)
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
        routine = through_pointer(add_up, (0, 0, record), record.kind)
        add_up_there(routine, 1, 4, record.address)
        assert total == [3]
        pointers.add(routine.address)
    assert len(pointers) == 2


LAYOUTS = {
    "C": np.arange(6.0).reshape(2, 3),
    "Fortran": np.arange(6.0).reshape(3, 2).T,
    "strided": np.arange(12.0).reshape(2, 6)[:, ::2],
    "float32": np.arange(6, dtype=np.float32).reshape(2, 3),
    "boolean": np.eye(2, 3, dtype=bool),
    "empty": np.zeros((0, 3)),
    "read-only": np.broadcast_to(np.arange(3.0), (2, 3)),
}


def copy_entries(record):
    number, (array, share), out = record[0]
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            out[i, j] = number + share * array[i, j]


@pytest.mark.needs_compiled
def test_arrays_that_numba_compiles_different_code_for_are_of_different_kinds():
    assert len({pack((array,)).kind for array in LAYOUTS.values()}) == len(LAYOUTS) - 1
    # no code is the same for an array that cannot be written
    fixed = np.arange(3.0)
    fixed.flags.writeable = False
    assert pack((fixed,)).kind != pack((np.arange(3.0),)).kind


@pytest.mark.parametrize("layout", LAYOUTS)
def test_numba_reads_arrays_of_every_layout_from_a_packed_record(layout):
    array, out = LAYOUTS[layout], np.zeros((2, 3))
    record = pack((7, (array, 0.5), out))
    from_python(
        through_pointer(copy_entries, (record,), record.kind), [record.address]
    )()
    np.testing.assert_array_equal(out[: len(array)], 7 + 0.5 * array)


@pytest.mark.needs_compiled
@pytest.mark.parametrize(
    "number", [True, np.bool_(1), np.float32(1), np.int32(1), None]
)
def test_what_numba_would_write_in_another_form_is_not_packed(number):
    with pytest.raises(TypeError, match="expected arrays, integers and floats"):
        pack((np.zeros(1), number))
