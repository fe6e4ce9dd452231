"""Names and order of data sets, methods and measures."""

from spanforest.metrics import MEASURES
from spanforest.paper import DATASETS, METHODS, display_name, in_order
from spanforest.paper._names import TITLES


def test_names_are_shown_as_in_the_paper_and_unknown_ones_come_last():
    assert set(TITLES) == {*DATASETS, *METHODS, *MEASURES}
    assert display_name("nci60") == "NCI60"
    assert in_order(["zoo", "mam", "ant", "svm"], METHODS) == (
        "svm",
        "mam",
        "ant",
        "zoo",
    )
