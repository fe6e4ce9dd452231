"""How good predictions are, for the measure that candidates are compared by."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import (
    get_scorer,
    get_scorer_names,
    hamming_loss,
    make_scorer,
)

from spanforest._labels import LabelCoding
from spanforest._parameters import check_number
from spanforest._weights import WeightedLabels
from spanforest._wording import quoted
from spanforest.metrics import MEASURES, Measure

SCORINGS = ("mean", *MEASURES)
# named as scikit-learn would name it, which has no such scorer
HAMMING = "neg_hamming_loss"


class Foretold(BaseEstimator):
    """An estimator that predicts what it is given: scorers ask for an estimator."""

    def __init__(self, predictions):
        self.predictions = predictions

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predictions, whatever X is."""
        return self.predictions


class Scorer(NamedTuple):
    """A scorer of scikit-learn, or one of its kind, as a function of labels."""

    scorer: Callable[..., float]

    def __call__(
        self, truth: NDArray[Any], predicted: NDArray[Any], **options: Any
    ) -> float:
        """Return the score; the scorer sees row numbers in place of features."""
        rows = np.arange(len(truth))[:, None]
        return self.scorer(Foretold(predicted), rows, truth, **options)


class Judge(NamedTuple):
    """The true labels, and the measure of predictions."""

    scoring: Any  # one of SCORINGS, or a function of true and predicted labels
    Y: NDArray[np.int32]  # codes of all examples, -1 where not observed
    coding: LabelCoding
    sample_weight: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, scoring: Any, targets: WeightedLabels) -> Judge:
        """Check that the measure is defined for these labels."""
        coding = targets.coding
        judge = cls(_measure_of(scoring), targets.Y, coding, targets.sample_weight)
        if isinstance(judge.scoring, Scorer):
            judge._try_scorer(scoring)
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
            labels = self._shown(truth), self._shown(predicted)
            with warnings.catch_warnings():
                # a label that no candidate predicts is no news
                warnings.simplefilter("ignore", UndefinedMetricWarning)
                score = self.scoring(*labels, **self._options(rows))
            return check_number("the result of scoring", score, minimum=-np.inf)
        scores = [
            self._measured(measure, truth, predicted, known, rows)
            for name, measure in MEASURES.items()
            if self.scoring == name or (self.scoring == "mean" and self._has(measure))
        ]
        return float(np.mean(scores))

    def _shown(self, codes: NDArray[np.integer]) -> NDArray[Any]:
        """Return labels as a function sees them; scorers know 0 and 1, not "on"."""
        is_indicator = not self.coding.is_vector and self.coding.n_values.max() <= 2
        if isinstance(self.scoring, Scorer) and is_indicator:
            return self._is_on(codes).astype(np.intp)
        return self.coding.to_labels(codes)

    def _try_scorer(self, scoring: Any) -> None:
        """Refuse a scorer that cannot compare label sets."""
        everyone = np.arange(len(self.Y))
        try:
            self.score(everyone, np.maximum(self.Y, 0))
        except Exception as error:
            n_values = int(self.coding.n_values.max())
            ours = ["mean", *(n for n, each in MEASURES.items() if self._has(each))]
            reason = str(error).rstrip(".")
            if isinstance(error, AttributeError) and "Foretold" in reason:
                reason = "it needs probabilities or decision values"
            elif n_values > 2:
                reason = f"a label has {n_values} values"
            raise ValueError(
                "scoring must compare true and predicted label sets; "
                f"{quoted(scoring)} cannot: {reason}. Pass one of "
                f"{', '.join(map(repr, ours))}; or, for labels with two values, a "
                "scorer such as 'f1_micro', 'f1_macro' or 'jaccard_samples'."
            ) from error

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
        function = self.scoring
        function = function.scorer if isinstance(function, Scorer) else function
        try:
            takes_weights = "sample_weight" in signature(function).parameters
        except ValueError:  # a built-in function
            takes_weights = False
        return {"sample_weight": self.sample_weight[rows]} if takes_weights else {}

    def _is_on(self, codes: NDArray[np.integer]) -> NDArray[np.bool_]:
        columns = zip(self.coding.is_on, codes.T, strict=True)
        return np.column_stack([is_on[column] for is_on, column in columns])


def _measure_of(scoring: Any) -> Any:
    """Return the name of one of our measures, or a function of labels.

    Examples
    --------
    >>> _measure_of("mean")
    'mean'
    >>> round(_measure_of("f1_micro")([[1, 0]], [[1, 1]]), 2)
    0.67
    """
    if isinstance(scoring, str) and scoring in SCORINGS:
        return scoring
    if isinstance(scoring, str) and scoring in get_scorer_names():
        return Scorer(get_scorer(scoring))
    if isinstance(scoring, str) and scoring == HAMMING:
        return Scorer(make_scorer(hamming_loss, greater_is_better=False))
    if not callable(scoring):
        raise ValueError(
            f"scoring must be one of {', '.join(map(repr, SCORINGS))}, the name of a "
            "scorer of scikit-learn such as 'f1_macro', a scorer, or a function of "
            f"true and predicted labels; got {quoted(scoring)}."
        )
    n_required, name = _n_required(scoring), getattr(scoring, "__name__", "")
    if n_required == 1 or n_required > 3:
        raise ValueError(
            "scoring must be a function of true and predicted labels, or a scorer; "
            f"{quoted(scoring)} needs {n_required} arguments."
        )
    if name.endswith(("_loss", "_error")):
        raise ValueError(
            f"scoring must be higher for better predictions, and {name} is lower. Pass "
            f"sklearn.metrics.make_scorer({name}, greater_is_better=False)."
        )
    return Scorer(scoring) if n_required == 3 else scoring


def _n_required(function: Callable[..., Any]) -> int:
    """Return how many arguments a function needs; a scorer needs three."""
    try:
        parameters = signature(function).parameters.values()
    except ValueError:  # a built-in function
        return 2
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return sum(
        one.kind in kinds and one.default is Parameter.empty for one in parameters
    )
