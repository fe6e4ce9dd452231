"""Calls that run at the same time: results in order, arguments unchanged."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from spanforest._parallel import LARGE, Workers, _call, _pack


class Record(NamedTuple):
    """A named tuple, such as training sets are."""

    first: Any
    second: Any = None


def filled(n_bytes):
    return np.ones(n_bytes // 8)


LARGE_ITEMS = [
    filled(LARGE),
    filled(2 * LARGE).reshape(2, -1),
    sparse.csr_array(filled(LARGE)[None]),
    sparse.csr_matrix(filled(LARGE)[None]),
]
SMALL_ITEMS = [
    filled(LARGE - 8),
    np.zeros((0, 3)),
    sparse.csr_array(filled(LARGE - 8)[None]),
    "x" * LARGE,
    range(LARGE),
    frozenset([1, 2]),
    1.5,
    None,
]
items = st.sampled_from([*LARGE_ITEMS, *SMALL_ITEMS])
arguments = st.recursive(
    items,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.builds(Record, inner, inner)
    ),
    max_leaves=12,
)
calls = st.lists(arguments, max_size=4).map(tuple)


def leaves(item):
    """Yield what nested tuples and lists hold, in order."""
    if isinstance(item, tuple | list):
        for inner in item:
            yield from leaves(inner)
    else:
        yield item


def is_large(item):
    return any(item is large for large in LARGE_ITEMS)


def assert_same(one, other):
    """Both are built alike, of the same objects."""
    assert type(one) is type(other)
    if isinstance(one, tuple | list):
        assert len(one) == len(other)
        for mine, yours in zip(one, other, strict=True):
            assert_same(mine, yours)
    else:
        assert one is other


def as_given(*call):
    return call


@given(calls)
def test_a_packed_call_gets_the_arguments_it_was_given(call):
    box, arrays = _pack(call)
    assert_same(_call(as_given, box, *arrays), call)


@given(calls)
def test_exactly_the_large_arrays_are_taken_out_of_a_call(call):
    box, arrays = _pack(call)
    expected = [item for item in leaves(call) if is_large(item)]
    assert len(arrays) == len(expected)
    assert all(one is other for one, other in zip(arrays, expected, strict=True))
    assert not any(is_large(item) for item in leaves(box))


@given(calls)
def test_packing_leaves_the_call_as_it_is(call):
    before = list(leaves(call))
    _pack(call)
    assert all(one is other for one, other in zip(leaves(call), before, strict=True))


def power(base, exponent):
    return base**exponent


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 5, -1])
@pytest.mark.parametrize("verbose", [False, True])
def test_results_come_in_the_order_of_the_calls(n_jobs, verbose):
    calls = [(number, 2) for number in range(20)]
    squares = Workers(n_jobs, verbose).run(power, calls, "powers")
    assert squares == [number**2 for number in range(20)]


def test_no_calls_have_no_results():
    assert Workers(2).run(power, [], "powers") == []


def test_calls_may_come_from_a_generator():
    assert Workers().run(power, ((2, n) for n in range(3)), "powers") == [1, 2, 4]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_a_call_reaches_the_caller(n_jobs):
    with pytest.raises(ZeroDivisionError):
        Workers(n_jobs).run(power, [(1, 1), (0, -1)], "powers")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_share_the_arguments_without_a_copy(n_jobs):
    array = filled(LARGE)
    calls = [(Record(array, [array]),)] * 4
    for (record,) in Workers(n_jobs).run(as_given, calls, "calls"):
        assert record.first is record.second[0] is array
