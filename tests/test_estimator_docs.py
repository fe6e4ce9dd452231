"""Every estimator describes all of its parameters on its own page."""

import inspect
import re

import pytest

from spanforest import (
    MMCRFClassifier,
    RandomGraphEnsembleClassifier,
    RandomGraphEnsembleClassifierCV,
)
from spanforest._estimator_docs import ATTRIBUTES, PARAMETERS, documented

ESTIMATORS = [
    MMCRFClassifier,
    RandomGraphEnsembleClassifier,
    RandomGraphEnsembleClassifierCV,
]


def entries(cls, title):
    """Return the first line and the text of every entry of a section."""
    section = cls.__doc__.split(f"{title}\n{'-' * len(title)}\n")[1].split("\n\n")[0]
    return re.findall(r"^(\S.*)\n?((?:    .*\n?)*)", section, re.MULTILINE)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_every_parameter_is_described_in_the_order_of_the_signature(cls):
    described = entries(cls, "Parameters")
    names = [head.partition(" : ")[0] for head, _ in described]
    assert names == list(inspect.signature(cls).parameters)
    for head, text in described:
        assert " : " in head
        assert text.strip()
        assert not re.search(r"\b(as in|see) `\w+`", text, re.IGNORECASE), head


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_the_defaults_are_those_of_the_signature(cls):
    for head, _ in entries(cls, "Parameters"):
        name, _, rest = head.partition(" : ")
        default = inspect.signature(cls).parameters[name].default
        end = ", optional" if default is None else f", default={default!r}"
        assert rest.replace('"', "'").endswith(end)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_every_attribute_is_described(cls):
    for head, text in entries(cls, "Attributes"):
        assert text.strip(), head


@pytest.mark.parametrize("text", [PARAMETERS, ATTRIBUTES])
def test_no_shared_paragraph_is_left_over(text):
    pages = "".join(cls.__doc__ for cls in ESTIMATORS)
    for name in re.findall(r"^\w+", text, re.MULTILINE):
        assert re.search(rf"^{name} : ", pages, re.MULTILINE)


def test_a_class_without_docstrings_is_left_as_it_is():
    class Bare:
        pass

    assert documented(Bare).__doc__ is None
