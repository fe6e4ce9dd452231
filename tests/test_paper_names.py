"""Names and order of data sets, methods and measures."""

from spanforest.datasets import list_datasets
from spanforest.metrics import MEASURES
from spanforest.paper import DATASETS, METHODS, display_name, in_order
from spanforest.paper._names import TITLES


def test_names_are_shown_as_in_the_paper_and_unknown_ones_come_last():
    known = {one.name for one in list_datasets()}
    assert set(TITLES) == {*known, *METHODS, *MEASURES}
    assert set(DATASETS) < known
    assert display_name("nci60") == "NCI60"
    assert in_order(["zoo", "mam", "ant", "svm"], METHODS) == (
        "svm",
        "mam",
        "ant",
        "zoo",
    )
