"""How good predictions are, for the measure that candidates are compared by."""

from __future__ import annotations

from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest._labels import LabelCoding
from spanforest._parameters import check_number, check_option
from spanforest._weights import Targets
from spanforest.metrics import MEASURES, Measure

SCORINGS = ("mean", *MEASURES)


class Judge(NamedTuple):
    """The true labels, and the measure of predictions."""

    scoring: Any
    Y: NDArray[np.int32]  # codes of all examples, -1 where not observed
    coding: LabelCoding
    sample_weight: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, scoring: Any, targets: Targets) -> Judge:
        """Check that the measure is defined for these labels."""
        if hasattr(scoring, "_score_func") or not callable(scoring):
            # a scorer takes an estimator; only its name would tell what it measures
            check_option("scoring", scoring, SCORINGS)
        coding = targets.coding
        judge = cls(scoring, targets.Y, coding, targets.sample_weight)
        if (
            isinstance(scoring, str)
            and scoring in MEASURES
            and not judge._has(MEASURES[scoring])
        ):
            j = int(coding.n_values.argmax())
            raise ValueError(
                "the F1 score is defined for labels with two values; label "
                f'{j} has {coding.n_values[j]}. Pass scoring="microlabel_accuracy".'
            )
        return judge

    def score(self, rows: NDArray[np.intp], predicted: NDArray[np.integer]) -> float:
        """Return how good the predicted codes of some examples are."""
        known = self.Y[rows] >= 0
        truth = np.where(known, self.Y[rows], predicted)
        if callable(self.scoring):
            labels = self.coding.to_labels(truth), self.coding.to_labels(predicted)
            score = self.scoring(*labels, **self._options(rows))
            return check_number("the result of scoring", score, minimum=-np.inf)
        scores = [
            self._measured(measure, truth, predicted, known, rows)
            for name, measure in MEASURES.items()
            if self.scoring == name or (self.scoring == "mean" and self._has(measure))
        ]
        return float(np.mean(scores))

    def _has(self, measure: Measure) -> bool:
        """Return whether a measure is defined for these labels."""
        return measure.counts != "positives" or bool(self.coding.n_values.max() <= 2)

    def _measured(
        self,
        measure: Measure,
        truth: NDArray[np.integer],
        predicted: NDArray[np.integer],
        known: NDArray[np.bool_],
        rows: NDArray[np.intp],
    ) -> float:
        """Return a measure of the labels that are known."""
        weight = np.ones(len(rows))
        if self.sample_weight is not None:
            weight = self.sample_weight[rows]
        if measure.counts == "label sets":
            some = known.any(axis=1)
            return measure.function(truth[some], predicted[some], weight[some])
        weights = np.broadcast_to(weight[:, None], known.shape)[known]
        if measure.counts == "positives":
            is_on = self._is_on(truth), self._is_on(predicted)
            return measure.function(is_on[0][known], is_on[1][known], weights)
        return measure.function(truth[known], predicted[known], weights)

    def _options(self, rows: NDArray[np.intp]) -> dict[str, Any]:
        """Return the weights of examples for a function that takes them."""
        if self.sample_weight is None:
            return {}
        try:
            takes_weights = "sample_weight" in signature(self.scoring).parameters
        except ValueError:  # a built-in function
            takes_weights = False
        return {"sample_weight": self.sample_weight[rows]} if takes_weights else {}

    def _is_on(self, codes: NDArray[np.integer]) -> NDArray[np.bool_]:
        columns = zip(self.coding.is_on, codes.T, strict=True)
        return np.column_stack([is_on[column] for is_on, column in columns])
