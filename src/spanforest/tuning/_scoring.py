"""How good predictions are, for the measure that candidates are compared by."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest._labels import LabelCoding
from spanforest._parameters import check_number, check_option
from spanforest.metrics import (
    MEASURES,
    microlabel_accuracy,
    microlabel_f1,
    multilabel_accuracy,
)

SCORINGS = ("mean", *MEASURES)


class Judge(NamedTuple):
    """The true labels, and the measure of predictions."""

    scoring: Any
    Y: NDArray[np.int32]  # codes of all examples, -1 where not observed
    coding: LabelCoding

    @classmethod
    def of(cls, scoring: Any, Y: NDArray[np.int32], coding: LabelCoding) -> Judge:
        """Check that the measure is defined for these labels."""
        if hasattr(scoring, "_score_func") or not callable(scoring):
            # a scorer takes an estimator; only its name would tell what it measures
            check_option("scoring", scoring, SCORINGS)
        if scoring == "microlabel_f1" and coding.n_values.max() > 2:
            j = int(coding.n_values.argmax())
            raise ValueError(
                "the F1 score is defined for labels with two values; label "
                f'{j} has {coding.n_values[j]}. Pass scoring="microlabel_accuracy".'
            )
        return cls(scoring, Y, coding)

    def score(self, rows: NDArray[np.intp], predicted: NDArray[np.integer]) -> float:
        """Return how good the predicted codes of some examples are."""
        known = self.Y[rows] >= 0
        truth = np.where(known, self.Y[rows], predicted)
        if callable(self.scoring):
            labels = self.coding.decode(truth), self.coding.decode(predicted)
            score = self.scoring(*labels)
            return check_number("the result of scoring", score, minimum=-np.inf)
        some = known.any(axis=1)
        scores = {
            "multilabel_accuracy": multilabel_accuracy(truth[some], predicted[some]),
            "microlabel_accuracy": microlabel_accuracy(truth[known], predicted[known]),
        }
        if self.coding.n_values.max() <= 2:
            scores["microlabel_f1"] = microlabel_f1(
                self._is_on(truth)[known], self._is_on(predicted)[known]
            )
        if self.scoring == "mean":
            return float(np.mean(list(scores.values())))
        return scores[self.scoring]

    def _is_on(self, codes: NDArray[np.integer]) -> NDArray[np.bool_]:
        columns = zip(self.coding.is_on, codes.T, strict=True)
        return np.column_stack([is_on[column] for is_on, column in columns])
