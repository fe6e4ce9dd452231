"""Which attributes of an ARFF file are labels: Mulan's XML files and MEKA's -C."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from spanforest._wording import listed
from spanforest.datasets._columns import Columns
from spanforest.datasets._text_files import stem

_OPTION = re.compile(r"-C\s+(-?\d{1,9})")
_LAST_WORD = re.compile(r"(?i)[-_. ]+[^-_. ]*$|(?<=.)(train|test)(ing)?$")
_ADVICE = (
    "Pass labels= a Mulan XML file, the names, or a number of attributes (negative: "
    "the last ones)."
)


def choose_labels(
    labels: Any, relation_name: str, everything: Columns, kept: Columns
) -> list[str]:
    """Return the names of the labels; see `load_arff`.

    `everything` are the attributes of the file, `kept` those that are not dropped.
    """
    if labels is None:
        return _labels_of_file(relation_name, everything)
    if isinstance(labels, str | os.PathLike):
        labels = _read_xml(os.fspath(labels))
    names = kept.choose(labels)
    everything.check(names, "labels")
    return names


def _labels_of_file(relation_name: str, attributes: Columns) -> list[str]:
    """Return the labels that an XML file in the same folder, or the -C, tells.

    An XML file comes first: a relation keeps its old -C when Weka's filters have moved
    the labels. Such a -C is no evidence, neither for nor against.
    """
    options = _OPTION.findall(relation_name)
    counted = _counted(options[0], attributes) if options else None
    is_sure = len(set(options)) == 1 and "filters." not in relation_name
    looked = [f"{name}.xml" for name in _stems(stem(attributes.path))]
    xml = _fitting_xml(looked, attributes)
    if xml is not None:
        path, named = xml
        if is_sure and counted is not None and set(counted) != set(named):
            raise ValueError(
                f"{attributes.path}: which attributes are labels? {path.name} names "
                f"{listed(named)}, and -C {options[0]} in the relation's name means "
                f"{listed(counted)}. {_ADVICE}"
            )
        return named
    if not options:
        raise ValueError(
            f"{attributes.path}: which attributes are labels? There is no "
            f"{' or '.join(looked)} next to it, and no '-C n' in the relation's name. "
            f"{_ADVICE}"
        )
    if not is_sure:
        meaning = f", which now means {listed(counted)}" if counted else ""
        raise ValueError(
            f"{attributes.path}: which attributes are labels? The relation's name says "
            f"-C {options[0]}{meaning}, but filters have rewritten that name since. "
            f"There is no {' or '.join(looked)} next to the file. {_ADVICE}"
        )
    return attributes.choose(int(options[0]))


def _counted(option: str, attributes: Columns) -> list[str] | None:
    """Return the attributes that MEKA's -C means; None if there are not so many."""
    number = int(option)
    is_possible = 0 < abs(number) <= len(attributes.names)
    return attributes.choose(number) if is_possible else None


def _stems(name: str) -> Iterator[str]:
    """Yield names under which a file may have an XML file, the longest first.

    Examples
    --------
    >>> list(_stems("medical-train-1"))
    ['medical-train-1', 'medical-train', 'medical']
    """
    while name:
        yield name
        shorter = _LAST_WORD.sub("", name, count=1)
        if shorter == name:
            return
        name = shorter


def _fitting_xml(
    names: list[str], attributes: Columns
) -> tuple[Path, list[str]] | None:
    """Return the first XML file in the folder that fits the attributes, and its labels.

    It fits if all its labels are attributes. Return None if there is no XML file. Raise
    the error of the first one if none fits.
    """
    problem: ValueError | None = None
    for name in names:
        path = Path(attributes.path).with_name(name)
        if not path.is_file():
            continue
        try:
            labels = _read_xml(str(path))
            attributes.check(labels, f"the labels in {name}")
            return path, labels
        except ValueError as error:
            problem = problem or error
    if problem is not None:
        raise problem
    return None


def _read_xml(path: str) -> list[str]:
    """Return the names in a Mulan XML file; a hierarchy is read from top to bottom."""
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise ValueError(
            f"{path}, line {error.position[0]}: expected a Mulan XML file, which names "
            f"the labels; {error}."
        ) from error
    except (LookupError, ValueError) as error:
        raise ValueError(
            f"{path}, line 1: expected a Mulan XML file in an encoding that Python "
            "knows. Save it in UTF-8."
        ) from error
    elements = [one for one in root.iter() if one.tag.rpartition("}")[2] == "label"]
    names = [name for one in elements if (name := one.get("name")) is not None]
    if not names or len(names) < len(elements):
        raise ValueError(
            f'{path}: expected elements <label name="..."/>; found {len(elements)} '
            f"label elements, {len(names)} of them with a name."
        )
    return names
