"""Words of messages: counts, lists of names, one line per error."""

import re
from pathlib import Path

import numpy as np
import pytest

import spanforest
from spanforest._wording import (
    count,
    did_you_mean,
    kernel_in_words,
    listed,
    numbered_labels,
    one_line,
    quoted,
    to_drop,
)
from spanforest.kernels import ForestKernel, SumKernel


@pytest.mark.parametrize("number", [0, 2, 1000])
def test_every_number_but_one_takes_the_plural(number):
    assert count(number, "label") == f"{number} labels"
    assert count(1, "label") == "1 label"


@pytest.mark.parametrize("n", [1, 5, 6, 100])
def test_a_long_list_shows_five_names_and_says_how_many_there_are(n):
    names = [f"name {j}" for j in range(n)]
    text = listed(names)
    shown = [name for name in names if repr(name) in text]
    assert shown == names[:5]
    assert text.endswith(f"... ({n} in all)") == (n > 5)


def test_labels_without_names_are_numbered_from_zero():
    assert numbered_labels(3) == ("label0", "label1", "label2")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("first\n   second.\n"), "first second"),
        (KeyError(), "KeyError"),
        (ValueError(" . "), "ValueError"),
    ],
)
def test_an_error_is_one_line_without_a_full_stop(error, line):
    assert one_line(error).strip() == line


def test_kernels_of_a_list_and_of_a_sum_are_told_apart():
    assert kernel_in_words("rbf") == "rbf"
    kernels = ["rbf", SumKernel(["linear", ForestKernel(min_samples_leaf=5)])]
    expected = "rbf, linear + ForestKernel(min_samples_leaf=5)"
    assert kernel_in_words(kernels) == kernel_in_words(tuple(kernels)) == expected


def test_sums_of_different_weights_have_different_names():
    sums = [SumKernel(["linear", "rbf"], weights) for weights in (None, [2, 1], [1, 2])]
    assert len(set(map(kernel_in_words, sums))) == 3


def test_a_function_is_named_without_its_address():
    def tanh(A, B):
        return np.tanh(A @ B.T)

    assert kernel_in_words([tanh, "rbf"]) == "tanh, rbf"


def test_a_kernel_of_many_parameters_has_one_line():
    kernel = ForestKernel(
        123, min_samples_leaf=45, max_features=67, kind="random", categories=["colour"]
    )
    assert "\n" in str(kernel)
    assert kernel_in_words(kernel).count("\n") == 0


@pytest.mark.parametrize(
    "value",
    ["x" * 5000, ["some", "texts"] * 500, np.eye(60), {j: "text" for j in range(99)}],
)
def test_a_value_of_any_size_is_shown_in_one_short_line(value):
    assert len(quoted(value)) < 70
    assert "\n" not in quoted(value)
    assert quoted(value).endswith("...")


# files that show only values of bounded size, or slices
SHORT = ("_wording.py", "_csv_format.py", "_csv_parquet.py", "__init__.py")


def test_no_message_shows_values_of_any_size():
    package = Path(spanforest.__file__).parent
    for path in package.rglob("*.py"):
        inside = path.relative_to(package)
        if path.name in SHORT or inside.parts[0] == "tuning":
            continue
        shown = re.findall(r"\{([^{}]*)!r\}", path.read_text(encoding="utf-8"))
        assert not [one for one in shown if not re.search(r":[^]]*\]$", one)], inside


def test_the_closest_names_are_suggested_whatever_their_case():
    known = ["tempo", "loudness", "Happy"]
    assert did_you_mean(["temp", "happy"], known) == " Did you mean 'tempo', 'Happy'?"
    assert did_you_mean(["zzz"], known) == ""
    assert did_you_mean(["temp"], []) == ""
    assert did_you_mean([3], [1, 2]) == ""  # labels may be numbers


def test_columns_to_drop_are_whole_names_or_none():
    long = "How satisfied were you with the service that our staff gave you today?"
    assert to_drop([long]) == f"drop=[{long!r}]"
    assert to_drop(["x" * 500]) == "drop=[...]"
    assert eval(to_drop([f"name {j}" for j in range(1000)]).removeprefix("drop="))
