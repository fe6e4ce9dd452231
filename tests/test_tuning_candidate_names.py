"""What users see of a candidate."""

import numpy as np

from spanforest.kernels import ForestKernel
from spanforest.tuning._candidate_names import decision_in_words, entrant_name


def test_names_of_kernels_are_short():
    assert entrant_name({"kernel": "linear"}) == "linear"
    assert entrant_name({"kernel": np.dot, "gamma": None}) == "dot"


def test_a_forest_is_named_only_if_probabilities_are_averaged_with_it():
    decision = {"threshold": [0.1, 0.4], "probability": True}
    assert decision_in_words(decision) == "thresholds of labels from 0.1 to 0.4"
    decision["probability"] = ForestKernel(50, kind="random")
    assert decision_in_words(decision) == (
        "thresholds of labels from 0.1 to 0.4 with "
        "ForestKernel(kind='random', n_estimators=50)"
    )
