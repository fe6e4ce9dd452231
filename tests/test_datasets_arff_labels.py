"""Which attributes of an ARFF file are labels."""

import bz2
import re
from pathlib import Path

import pytest
from data_folder import DATA, needs_data

from spanforest.datasets import load_arff

TOY = """@relation '{name}'
@attribute a {{0, 1}}
@attribute b {{0, 1}}
@attribute c {{0, 1}}
@attribute d {{0, 1}}
@data
0, 1, 0, 1
1, 0, 0, 1
"""
FILTERED = "toy: -C 2 -I 0-weka.filters.unsupervised.attribute.Remove-R1-2"


def write_toy(folder, relation="toy", name="toy.arff", **xml):
    """Write a file with the attributes a to d, and XML files that name labels."""
    path = folder / name
    path.write_text(TOY.format(name=relation))
    for stem, labels in xml.items():
        elements = "".join(f'<label name="{label}"/>' for label in labels)
        (folder / f"{stem}.xml").write_text(f"<labels>{elements}</labels>")
    return path


@pytest.mark.parametrize(
    ("relation", "labels"),
    [
        ("toy: -C 2", ("a", "b")),
        ("toy: -C -2", ("c", "d")),
        ("-X -C  1 -Y", ("a",)),
        ("toy: -C 2 -split-percentage 67", ("a", "b")),
    ],
)
def test_labels_by_the_option_of_meka(tmp_path, relation, labels):
    assert load_arff(write_toy(tmp_path, relation)).label_names == labels


def test_an_option_counts_dropped_attributes_too(tmp_path):
    path = write_toy(tmp_path, "toy: -C 2")
    assert load_arff(path, drop="a").label_names == ("b",)


@pytest.mark.parametrize("relation", ["toy", FILTERED, "toy: -C 2", "toy: -C 99"])
def test_an_xml_file_beside_names_the_labels(tmp_path, relation):
    path = write_toy(tmp_path, relation, toy=["b", "a"])
    assert load_arff(path).label_names == ("b", "a")


def test_an_option_that_filters_have_left_behind_does_not_contradict(tmp_path):
    path = write_toy(tmp_path, FILTERED, toy=["d"])
    assert load_arff(path).label_names == ("d",)


@pytest.mark.parametrize(
    "part", ["-train", "_test", ".train", "-train-1", "Test", " 2"]
)
@pytest.mark.parametrize("relation", ["toy", FILTERED])
def test_parts_of_a_data_set_share_its_xml_file(tmp_path, part, relation):
    path = write_toy(tmp_path, relation, f"toy{part}.arff", toy=["c", "d"])
    assert load_arff(path).label_names == ("c", "d")


def test_the_closest_name_that_fits_is_preferred(tmp_path):
    path = write_toy(tmp_path, name="toy-train.arff", toy=["c"])
    assert load_arff(path).label_names == ("c",)
    write_toy(tmp_path, name="toy-train.arff", **{"toy-train": ["a"]})
    assert load_arff(path).label_names == ("a",)
    write_toy(tmp_path, name="toy-train.arff", **{"toy-train": ["oak"]})
    assert load_arff(path).label_names == ("c",)
    write_toy(tmp_path, name="toy-train.arff", toy=["elm"])
    with pytest.raises(
        ValueError, match=r"labels in toy-train\.xml .* 'oak' not found"
    ):
        load_arff(path)


@pytest.mark.parametrize("name", ["toy.arff", "toy-train.arff"])
def test_an_xml_file_and_an_option_that_disagree_are_refused(tmp_path, name):
    path = write_toy(tmp_path, "toy: -C 2", name, toy=["c", "d"])
    message = "toy.xml names 'c', 'd', and -C 2 in the relation's name means 'a', 'b'."
    with pytest.raises(ValueError, match=re.escape(message) + " Pass labels="):
        load_arff(path)
    assert load_arff(path, 2).label_names == ("a", "b")
    assert load_arff(path, tmp_path / "toy.xml").label_names == ("c", "d")


@pytest.mark.parametrize(
    ("relation", "message"),
    [
        (FILTERED, "says -C 2, which now means 'a', 'b', but filters .* no toy.xml"),
        ("toy: -C 9-weka.filters.X", "says -C 9, but filters"),
        ("A: -C 2_B: -C 3", "says -C 2, which now means 'a', 'b', but filters"),
        ("toy", "no toy.xml next to it, and no '-C n'"),
    ],
)
def test_labels_that_nothing_reliable_tells_are_asked_for(tmp_path, relation, message):
    with pytest.raises(
        ValueError, match=f"which attributes .* {message}.* Pass labels"
    ):
        load_arff(write_toy(tmp_path, relation))


def test_every_name_that_was_looked_for_is_told(tmp_path):
    path = write_toy(tmp_path, name="toy-train.arff.arff")
    with pytest.raises(
        ValueError, match=r"no toy-train\.arff\.xml or toy-train\.xml or toy"
    ):
        load_arff(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<labels><label name='p'/>", r"bad\.xml, line 1"),
        ("<labels/>", "found 0 label"),
        ("<labels><label/></labels>", "0 of them with a name"),
    ],
)
def test_a_bad_xml_file_is_refused(tmp_path, text, message):
    path = write_toy(tmp_path, name="bad.arff")
    (tmp_path / "bad.xml").write_text(text)
    for labels in (None, tmp_path / "bad.xml"):
        with pytest.raises(ValueError, match=message):
            load_arff(path, labels)


@needs_data
def test_words_are_not_taken_for_labels_where_the_option_is_out_of_date(tmp_path):
    """Mulan's medical says -C 45, and its labels come last."""
    medical = Path(DATA, "medical.arff.bz2")
    expected = load_arff(medical, -45).label_names
    assert load_arff(medical).label_names == expected
    part = tmp_path / "medical-train.arff"
    part.write_bytes(bz2.decompress(medical.read_bytes()))
    with pytest.raises(ValueError, match=r"-C 45, which now means .* but filters have"):
        load_arff(part)
    (tmp_path / "medical.xml").write_bytes(Path(DATA, "medical.xml").read_bytes())
    assert load_arff(part).label_names == expected


@pytest.mark.parametrize("encoding", ["ucs-9", "utf-16"])
def test_an_xml_file_in_an_unknown_encoding_is_refused_by_name(tmp_path, encoding):
    path = write_toy(tmp_path)
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n<labels/>\n'
    (tmp_path / "toy.xml").write_text(text)
    with pytest.raises(ValueError, match=r"toy\.xml, line 1: expected a Mulan XML"):
        load_arff(path)
