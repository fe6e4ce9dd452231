"""How good predictions are, for the measure that candidates are compared by."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from inspect import Parameter, signature
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics
from sklearn.base import BaseEstimator
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import (
    get_scorer,
    get_scorer_names,
    hamming_loss,
    make_scorer,
)

from spanforest._labels import LabelCoding
from spanforest._weights import WeightedLabels
from spanforest._wording import one_line, quoted
from spanforest.metrics import MEASURES, RANKING_MEASURES, Measure

SCORINGS = ("mean", *MEASURES)
# named as scikit-learn would name it, which has no such scorer
HAMMING = "neg_hamming_loss"
NEEDS_SCORES = "it needs probabilities or decision values"
# Functions of scikit-learn that mean nothing for label sets, though they may take them.
# Some versions lack some of them.
OF_SCORES = (
    *("average_precision_score", "brier_score_loss", "coverage_error"),
    *("d2_brier_score", "d2_log_loss_score", "dcg_score", "hinge_loss"),
    *("label_ranking_average_precision_score", "label_ranking_loss", "log_loss"),
    *("ndcg_score", "roc_auc_score", "top_k_accuracy_score"),
)
OF_NUMBERS = (
    *("d2_absolute_error_score", "d2_pinball_score", "d2_tweedie_score"),
    *("explained_variance_score", "max_error", "mean_absolute_error"),
    *("mean_absolute_percentage_error", "mean_gamma_deviance", "mean_pinball_loss"),
    *("mean_poisson_deviance", "mean_squared_error", "mean_squared_log_error"),
    *("mean_tweedie_deviance", "median_absolute_error", "r2_score"),
    *("root_mean_squared_error", "root_mean_squared_log_error"),
)


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
        judge = cls(measure_of(scoring), targets.Y, coding, targets.sample_weight)
        if callable(judge.scoring):
            judge._try(scoring)
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

    @property
    def is_ours(self) -> bool:
        """Whether it is one of our measures, or their mean."""
        return isinstance(self.scoring, str)

    def score(self, rows: NDArray[np.intp], predicted: NDArray[np.integer]) -> float:
        """Return how good the predicted codes of some examples are."""
        known = self.Y[rows] >= 0
        truth = np.where(known, self.Y[rows], predicted)
        if callable(self.scoring):
            return _one_number(self.scoring, self._called(rows, truth, predicted))
        scores = [
            self._measured(measure, truth, predicted, known, rows)
            for name, measure in MEASURES.items()
            if self.scoring == name or (self.scoring == "mean" and self._has(measure))
        ]
        return float(np.mean(scores))

    def _called(
        self,
        rows: NDArray[np.intp],
        truth: NDArray[np.integer],
        predicted: NDArray[np.integer],
    ) -> Any:
        """Return what a scorer or function says of predicted codes."""
        labels = self._shown(truth), self._shown(predicted)
        with warnings.catch_warnings():
            # a label that no candidate predicts is no news
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            return self.scoring(*labels, **self._options(rows))

    def _shown(self, codes: NDArray[np.integer]) -> NDArray[Any]:
        """Return labels as a function sees them; scorers know 0 and 1, not "on"."""
        is_indicator = not self.coding.is_vector and self.coding.n_values.max() <= 2
        if isinstance(self.scoring, Scorer) and is_indicator:
            return self._is_on(codes).astype(np.intp)
        return self.coding.to_labels(codes)

    def _try(self, scoring: Any) -> None:
        """Refuse a scorer or function that cannot compare label sets.

        It is tried on the labels of all examples, as if they had been predicted: an
        error after the first fold would come late.
        """
        reason = _misfit(self.scoring)
        if reason:
            raise self._cannot_compare(scoring, reason)
        everyone, codes = np.arange(len(self.Y)), np.maximum(self.Y, 0)
        try:
            score = self._called(everyone, codes, codes)
        except Exception as error:
            raise self._cannot_compare(scoring, self._reason(error)) from error
        _one_number(self.scoring, score)

    def _reason(self, error: Exception) -> str:
        """Return why a scorer or function failed on these labels."""
        n_values = int(self.coding.n_values.max())
        if isinstance(error, AttributeError) and "Foretold" in str(error):
            return NEEDS_SCORES
        if isinstance(self.scoring, Scorer) and n_values > 2 and not self._is_single:
            return f"a label has {n_values} values"
        if isinstance(error, ValueError):
            return one_line(error)
        return f"{type(error).__name__}: {one_line(error)}"

    def _cannot_compare(self, scoring: Any, reason: str) -> ValueError:
        """Return the error for a scorer or function, with others that can compare."""
        ours = ["mean", *(n for n, each in MEASURES.items() if self._has(each))]
        scorers = "; or a scorer such as 'f1_micro', 'f1_macro' or 'jaccard_samples'"
        if self._is_single:
            scorers = "; or a scorer such as 'f1_macro' or 'f1_weighted'"
        elif self.coding.n_values.max() > 2:
            scorers = ""
        return ValueError(
            f"scoring must compare true and predicted label sets; {_name_of(scoring)} "
            f"cannot: {reason}. Pass one of {', '.join(map(repr, ours))}"
            f"{scorers}."
        )

    @property
    def _is_single(self) -> bool:
        """Whether there is one label: scikit-learn then speaks of classes."""
        return self.Y.shape[1] == 1

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


def measure_of(scoring: Any) -> Any:
    """Return the name of one of our measures, or a function of labels.

    Examples
    --------
    >>> measure_of("mean")
    'mean'
    >>> round(measure_of("f1_micro")([[1, 0]], [[1, 1]]), 2)
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
    if _misfit(scoring):
        return scoring  # refused together with those that fail when they are tried
    n_required, name = _n_required(scoring), _name_of(scoring)
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


def _function_of(scoring: Any) -> Any:
    """Return the measure inside a scorer or a partial function."""
    if isinstance(scoring, Scorer):
        scoring = scoring.scorer
    scoring = getattr(scoring, "_score_func", scoring)  # of scikit-learn's scorers
    while isinstance(scoring, partial):
        scoring = scoring.func
    return scoring


def _misfit(scoring: Any) -> str:
    """Return why a measure that is known is none of label sets; or an empty text.

    Measures of probabilities accept predicted labels too, and so do those of numbers.
    They mean nothing then.

    Examples
    --------
    >>> from sklearn.metrics import f1_score, log_loss, r2_score
    >>> _misfit(f1_score), _misfit(log_loss)
    ('', 'it needs probabilities or decision values')
    >>> _misfit(make_scorer(r2_score))[:33]
    'it compares numbers, not labels ('
    """
    function = _function_of(scoring)
    name = _name_of(function)
    if name in OF_NUMBERS and function is getattr(metrics, name, None):
        sign = "-" if name.endswith(("error", "loss", "deviance")) else ""
        return (
            "it compares numbers, not labels (if yours are numbers: lambda y_true, "
            f"y_pred: {sign}{name}(y_true, y_pred))"
        )
    is_known = name in OF_SCORES and function is getattr(metrics, name, None)
    if is_known or any(function is one for one in RANKING_MEASURES.values()):
        return NEEDS_SCORES
    return ""


def _name_of(scoring: Any) -> str:
    """Return the name of a scorer or function, as messages show it."""
    if isinstance(scoring, Scorer):
        scoring = scoring.scorer
    if isinstance(scoring, partial):
        scoring = _function_of(scoring)
    return getattr(scoring, "__name__", None) or quoted(scoring)


def _one_number(scoring: Any, score: Any) -> float:
    """Return what a scorer or function returned, if it is a finite number.

    Examples
    --------
    >>> _one_number(len, 3)
    3.0
    """
    is_number = isinstance(score, Real) and not isinstance(score, bool)
    if is_number and np.isfinite(score):
        return float(score)
    shown = quoted(score)
    if isinstance(score, np.ndarray):
        shown = f"an array of shape {score.shape}; take its mean"
    raise ValueError(
        "scoring must return a finite number that is higher for better predictions; "
        f"{_name_of(scoring)} returned {shown}."
    )
