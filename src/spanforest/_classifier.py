"""The base of all classifiers on output graphs: reads data, scores, returns labels."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from spanforest._category_columns import (
    point_out_complex,
    point_out_dates,
    point_out_text,
)
from spanforest._copies import put_together
from spanforest._input_kinds import input_for, kinds_of_inputs
from spanforest._inputs import Input, Resources
from spanforest._label_predictions import LabelPredictionsMixin
from spanforest._label_weights import LabelWeightsMixin
from spanforest._labels import LabelCoding, column_names, read_labels, series_name
from spanforest._leaf_shares import LeafShares, check_probability
from spanforest._offsets import check_offset, read_offset
from spanforest._parameters import (
    LARGEST,
    check_count,
    check_n_jobs,
    check_number,
    check_option,
    check_verbose,
)
from spanforest._scaling import kernel_for
from spanforest._training import Settings, TrainingSet, model_factors, scores_of
from spanforest._weights import WeightedLabels, read_targets
from spanforest._wording import did_you_mean, listed
from spanforest.aggregation import predicted_margins
from spanforest.branch_and_bound import Limits, TopLists, decode_exactly, k_best
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph
from spanforest.inference import Decoding, decode, max_product
from spanforest.kernels import ForestKernel, KernelSpec
from spanforest.losses import find_loss
from spanforest.metrics import multilabel_accuracy

__all__ = [
    "DATA_ATTRIBUTES",
    "GraphClassifier",
    "find_decoder",
    "forget",
    "is_auto",
    "whole_or_nothing",
]

CHUNK_CELLS = 2**22  # entries of the largest array of a chunk: 32 MB
Decoder = Callable[[FactorGraph, NDArray[np.float64]], Decoding]
DECODERS: dict[str, Decoder] = {
    "certified": decode_exactly,
    "max_product": lambda factors, scores: (
        decode(factors, scores)
        if factors.graph.is_forest
        else max_product(factors, scores)[0]
    ),
}
# in messages of NumPy and pandas about values that are no numbers
NO_NUMBER = ("could not convert string", "NAType", "with a sequence", "not 'complex'")
# private attributes that only some fits set: to delete before a refit
OPTIONAL_ATTRIBUTES = (
    "_stacked_weights",
    "_calibrated_aggregation",
    "_fit_digest",
    "_leaf_shares",
)
# attributes that describe the training data: members have those of their ensemble
DATA_ATTRIBUTES = (
    "_coding",
    "has_node_factors_",
    "classes_",
    "label_names_",
    "n_features_in_",
    "feature_names_in_",
)


def forget(estimator: Any) -> None:
    """Delete what the last fit learned."""
    learned = [one for one in vars(estimator) if one.endswith("_") and one[0] != "_"]
    for name in (*OPTIONAL_ATTRIBUTES, *learned):
        vars(estimator).pop(name, None)


@contextmanager
def whole_or_nothing(estimator: Any) -> Iterator[None]:
    """Forget all that a fit has learned if it fails or is stopped."""
    try:
        yield
    except BaseException:
        forget(estimator)
        raise


def is_auto(choice: Any) -> bool:
    """Return whether `fit` chooses."""
    return isinstance(choice, str) and choice == "auto"


def _limits(seconds: float | None) -> Limits:
    if seconds is None:
        return Limits()
    return Limits(n_edges=sys.maxsize, seconds=check_number("seconds", seconds))


class GraphClassifier(
    LabelWeightsMixin, LabelPredictionsMixin, ClassifierMixin, BaseEstimator, ABC
):
    """Base of the classifiers: reads data, computes scores, returns labels.

    A subclass trains in `fit`, and sets `_factors`: the factor graph that it decodes
    on, which belongs to its weights.
    """

    label_names_: Any
    offset_: NDArray[np.float64]
    _coding: LabelCoding
    _input: Input
    _factors: FactorGraph

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        kinds = kinds_of_inputs(self.kernel)
        is_pairwise = any(kind.is_pairwise for kind in kinds)
        tags.input_tags.sparse = not is_pairwise
        tags.input_tags.pairwise = is_pairwise
        tags.input_tags.allow_nan = all(kind.accepts_nan for kind in kinds)
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        # the last that `fit` sets: a fit that failed leaves nothing to predict with
        return "cell_intercept_" in vars(self)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_factors", None)  # rebuilt from the rest when loaded
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(
            {name: value for name, value in state.items() if name != "_factors"}
        )
        if "cell_intercept_" in state:
            self._factors = self._build_factors()

    @abstractmethod
    def _build_factors(self) -> FactorGraph:
        """Return the factor graph that belongs to the fitted weights."""

    @property
    @abstractmethod
    def _offset_cells(self) -> NDArray[np.float64]:
        """The part of the intercept that is the offset."""

    def _factors_on(self, graph: LabelGraph) -> FactorGraph:
        return model_factors(
            graph, self._coding.n_values, unary_everywhere=self.has_node_factors_
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the multilabel accuracy: the share of examples with all labels right.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, as for `predict`.
        y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
            Their true labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the examples.

        Returns
        -------
        float
            Between 0 and 1.
        """
        check_is_fitted(self)
        y = self._in_training_order(y)
        if self.missing_label is not None:
            # refuses missing_label; the measure below refuses NaN
            read_labels(y, missing_label=self.missing_label)
        return multilabel_accuracy(y, self.predict(X), sample_weight=sample_weight)

    def _in_training_order(self, y: Any) -> Any:
        """Return y, with its columns in the order of fit if both have names.

        A Series with a name is a single column.
        """
        columns = column_names(y)
        names = series_name(y) if columns is None else columns
        if self.label_names_ is None or names is None:
            return y
        if set(names) != set(self.label_names_):
            wanted, given = ([*map(str, each)] for each in (self.label_names_, names))
            unknown = [name for name in given if name not in wanted]
            raise ValueError(
                "the columns of y must be the labels of fit, in any order: "
                f"{listed(wanted)}; got {listed(given)}."
                f"{did_you_mean(unknown, wanted)}"
            )
        if columns is None:
            return y
        wanted = list(self.label_names_)
        return y[wanted] if hasattr(y, "iloc") else y.select(wanted)

    @property
    def _random_state(self) -> Any:
        """What the randomness of a fit comes from."""
        return self.random_state

    @property
    def _kernel_spec(self) -> KernelSpec:
        # until `_begin_fit` has seen the examples, "auto" may need what "rbf" needs
        kernel = "rbf" if is_auto(self.kernel) else self.kernel
        return KernelSpec(
            kernel, self.gamma, self.degree, self.coef0, self.kernel_params
        )

    @property
    def _weights(self) -> NDArray[np.float64]:
        return getattr(self, self._input.weights_name)

    @_weights.setter
    def _weights(self, weights: NDArray[np.float64]) -> None:
        setattr(self, self._input.weights_name, weights)

    def _settings(self) -> Settings:
        find_loss(self.loss)  # refuses unknown names
        check_verbose(self.verbose)
        check_n_jobs(getattr(self, "n_jobs", None))  # a single model has none
        is_pairwise = any(kind.is_pairwise for kind in kinds_of_inputs(self.kernel))
        check_probability(self.probability, is_pairwise=is_pairwise)
        return Settings(
            C=check_number("C", self.C, maximum=LARGEST),
            loss=self.loss,
            fit_intercept=bool(self.fit_intercept),
            tol=check_number("tol", self.tol),
            max_iter=check_count("max_iter", self.max_iter),
            offset=read_offset(self.offset),
        )

    def _read_examples(self, X: Any, *, reset: bool) -> Any:
        """Check X; features come out dense, or as CSR without duplicate entries.

        With `reset`, X are training examples: they get a new `_input`.
        """
        if reset:
            # predict uses this input, even if set_params changes the kernel after fit
            self._input = self._new_input(self._resources)
        X = self._validated(X, reset=reset)
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X

    @property
    def _resources(self) -> Resources:
        return Resources(self._random_state, getattr(self, "n_jobs", None))

    def _new_input(self, resources: Resources) -> Input:
        """Return the input of the kernel, not yet fitted."""
        return input_for(self._kernel_spec, self.normalize_kernel, resources)

    def _validated(self, X: Any, *, reset: bool) -> Any:
        """Return X as scikit-learn's checks return it, numbers for categories."""
        accepts_nan = self._input.accepts_nan
        options = {
            "accept_sparse": False if self._input.is_pairwise else "csr",
            "dtype": [np.float64, np.float32],
            "ensure_all_finite": "allow-nan" if accepts_nan else True,
        }
        try:
            if self._input.has_categories(X, reset=reset):
                validate_data(self, X, reset=reset, skip_check_array=True)  # the names
                numbers = self._input.numbers(X)
                return check_array(numbers, estimator=self, input_name="X", **options)
            point_out_dates(X)
            point_out_complex(X)
            return validate_data(self, X, reset=reset, **options)
        except (TypeError, ValueError) as error:
            if "got 1D array instead" in str(error):  # scikit-learn shows the array
                raise ValueError(
                    f"Expected 2D array, got 1D array instead: X has shape "
                    f"{np.shape(X)}. Reshape your data with X.reshape(-1, 1) if it is "
                    "one feature, or with X.reshape(1, -1) if it is one example."
                ) from None
            if any(clue in str(error) for clue in NO_NUMBER):
                point_out_text(X)
            if "contains NaN" in str(error) and not accepts_nan:
                self._input.refuse_gaps(X)
            raise

    def _read_targets(self, X: Any, y: Any, sample_weight: Any) -> WeightedLabels:
        """Check labels and weights against examples that were checked."""
        return read_targets(
            X.shape[0], y, sample_weight, self.class_weight, self.missing_label
        )

    def _begin_fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, for_folds: bool = False
    ) -> TrainingSet:
        """Forget the last fit, check the data, and return the training set.

        Examples of weight 0 or without any label are left out. The attributes that
        describe the data are set. The kernel matrix is computed here. With `for_folds`,
        it may be that only folds of the training set can be learned from: a forest is
        not grown.
        """
        forget(self)
        X = self._read_examples(X, reset=True)
        targets = self._read_targets(X, y, sample_weight)
        self._coding, copies = targets.coding, None
        self._check_decisions()
        if targets.rows is not None:
            X = self._input.select(X, targets.rows)
        if not for_folds:
            self._input.check(X)
        if not self._input.is_pairwise:
            X, targets, copies = put_together(X, targets)
        Y, weight = targets.Y, targets.sample_weight
        if is_auto(self.kernel):
            spec = replace(self._kernel_spec, name=kernel_for(X))
            columns = self._input.columns
            self._input = input_for(spec, self.normalize_kernel)
            self._input.columns = columns
        self.has_node_factors_ = bool((Y < 0).any())
        self.classes_ = self._coding.sklearn_classes
        self.label_names_ = self._coding.names
        self._input.learn_scaling(self.scaling, X, weight)
        learn = self._input.for_folds if for_folds else self._input.fit
        basis = learn(X, Y, weight)
        is_fitted = not (for_folds and self._input.is_fitted_per_fold)
        if copies is not None and is_fitted:
            self._input.tell_apart(copies)
        self._use_input(self._input)
        if isinstance(self.probability, ForestKernel) and not for_folds:
            n_values = self._coding.n_values
            self._leaf_shares = LeafShares.grow(
                *(self.probability, X, Y, n_values, weight, self._resources)
            )
        of_values = targets.label_weight
        names = self.label_names_
        return TrainingSet(basis, Y, names, weight, of_values, copies=copies)

    def _check_decisions(self) -> None:
        """Refuse an offset that does not fit the labels."""
        check_offset(read_offset(self.offset), self._coding.n_values)

    def _warn_of_identifiers(self, data: TrainingSet, stacklevel: int) -> None:
        """Warn of categories that name the rows, once in a fit."""
        if self._input.columns is not None:
            names = getattr(self, "feature_names_in_", None)
            columns = self._input.columns
            n_samples = len(data.as_given[0])
            columns.warn_of_identifiers(n_samples, names, stacklevel + 1)

    def _use_input(self, given: Input) -> None:
        """Take a fitted input, and show users what it learned."""
        self._input = given
        for name, value in given.attributes.items():
            setattr(self, name, value)

    def _read_new_examples(self, X: Any) -> Any:
        if self._input.is_pairwise and np.ndim(X) == 2:
            width = np.shape(X)[1]
            if width != self.n_features_in_:
                raise ValueError(
                    f"predict needs kernel values with the {self.n_features_in_} "
                    f"training examples, shape (n_samples, {self.n_features_in_}); "
                    f"got {width} columns. Compute K(X_test, X_train)."
                )
        return self._read_examples(X, reset=False)

    def _row_chunks(self, X: Any) -> Iterator[Any]:
        """Yield the rows that weights multiply, as many at a time as memory allows."""
        X = self._read_new_examples(X)
        n_weights, n_cells = self._weights.shape
        widest = max(self._input.row_size(n_weights), n_cells, 1)
        step = max(1, CHUNK_CELLS // widest)
        for start in range(0, X.shape[0], step):
            yield self._input.rows(X[start : start + step])

    def _scores(self, rows: Any) -> NDArray[np.float64]:
        """Return the scores of examples, given the rows that weights multiply."""
        with np.errstate(over="ignore", invalid="ignore"):  # the check below reports it
            scores = scores_of(rows, self._weights, self.cell_intercept_)
        if not np.isfinite(scores).all():
            raise ValueError(
                "some scores overflow: X has values far outside those of training. "
                "Scale new examples as the training examples were scaled."
            )
        return scores

    def _labels_by(
        self, X: Any, choose: Callable[[Any], NDArray[np.intp]]
    ) -> NDArray[Any]:
        """Return the labels of the codes that `choose` returns for rows."""
        codes = [choose(rows) for rows in self._row_chunks(X)]
        return self._coding.to_output(np.concatenate(codes))

    def _predict_by(self, X: Any, decoder: Decoder) -> NDArray[Any]:
        """Return the labels that a decoder chooses by their scores."""
        return self._labels_by(
            X, lambda rows: decoder(self._factors, self._scores(rows)).labels
        )

    def predict_certified(self, X: Any, seconds: float | None = None) -> Decoding:
        """Predict label sets of highest score, with their scores and a proof.

        On trees and forests every label set is proven best. On graphs with cycles,
        message passing proves most of them; a search goes on with the others until it
        has a proof or reaches its limit. An ensemble predicts by MAM here, whatever its
        `aggregation` and its `threshold` are; its graph has cycles as a rule.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel values with the training examples.
        seconds : float, optional
            Longest search for one example. Without it the limit is a number of steps,
            so that the same examples give the same result every time.

        Returns
        -------
        Decoding
            `labels` (a dense array), their `score`, a `bound` on the score of any label
            set, the `slack` that rounding adds to it, and `proven`: whether no label
            set scores more than this one by more than `slack`.

        Examples
        --------
        >>> from spanforest import RandomGraphEnsembleClassifier
        >>> from spanforest.datasets import make_circle
        >>> X, Y = make_circle(100, random_state=0)
        >>> clf = RandomGraphEnsembleClassifier(5, random_state=0).fit(X, Y)
        >>> bool(clf.predict_certified(X).proven.all())
        True
        """
        check_is_fitted(self)
        limits = _limits(seconds)
        factors = self._factors
        decodings = [
            decode_exactly(factors, self._scores(rows), limits)
            for rows in self._row_chunks(X)
        ]
        labels, *numbers = map(np.concatenate, zip(*decodings, strict=True))
        return Decoding(self._coding.to_labels(labels), *numbers)

    def predict_topk(
        self, X: Any, k: int = 5, seconds: float | None = None
    ) -> TopLists:
        """Predict the k label sets of highest score, best first.

        On trees and forests every place is proven. On graphs with cycles a search goes
        on until it has a proof or reaches its limit. An ensemble predicts by MAM here,
        whatever its `aggregation` and its `threshold` are; its graph has cycles as a
        rule.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel values with the training examples.
        k : int, default=5
            How many; all label sets if there are fewer.
        seconds : float, optional
            Longest search for one example. Without it the limit is a number of steps,
            so that the same examples give the same result every time.

        Returns
        -------
        TopLists
            `labels` of shape (n_samples, k, n_labels), values as from `predict`; their
            `scores`; a `bound` on the score of any other label set; the `slack` that
            rounding adds to it; and `proven`, which tells the label sets that are
            certain to have their place, up to `slack`.

        Examples
        --------
        >>> from spanforest import MMCRFClassifier
        >>> clf = MMCRFClassifier([(0, 1)], kernel="linear", C=10, random_state=0)
        >>> clf = clf.fit([[0], [1], [2]], [[0, 0], [0, 1], [1, 1]])
        >>> clf.predict_topk([[0]], k=2).labels.tolist()
        [[[0, 0], [0, 1]]]
        """
        check_is_fitted(self)
        k = check_count("k", k)
        limits, factors = _limits(seconds), self._factors
        lists = [
            k_best(factors, self._scores(rows), k, limits)
            for rows in self._row_chunks(X)
        ]
        labels, *numbers = map(np.concatenate, zip(*lists, strict=True))
        n, k, n_labels = labels.shape
        values = self._coding.to_labels(labels.reshape(n * k, n_labels))
        return TopLists(values.reshape(n, k, *values.shape[1:]), *numbers)

    def _calibrated_margins(self, rows: Any) -> list[NDArray[np.float64]]:
        """Return margins of the kind that the calibration was fitted to.

        An offset is for decisions: it is no reason to call a label more probable.
        """
        return predicted_margins(self._factors, self._scores(rows) - self._offset_cells)

    def _decisions(
        self, X: Any, margins: Callable[[Any], list[NDArray[np.float64]]]
    ) -> NDArray[np.float64]:
        """Return the decision function that follows from the margins of rows."""
        return self._margins_to_decisions(self._by_label(X, margins))

    def _by_label(
        self, X: Any, compute: Callable[[Any], list[NDArray[np.float64]]]
    ) -> list[NDArray[np.float64]]:
        """Return one array per label, computed a chunk of examples at a time."""
        chunks = [compute(rows) for rows in self._row_chunks(X)]
        return [np.concatenate(of_label) for of_label in zip(*chunks, strict=True)]

    def _margins(self, rows: Any) -> list[NDArray[np.float64]]:
        """Return the margins around the label sets that `predict` gives."""
        return predicted_margins(self._factors, self._scores(rows))


def find_decoder(name: str) -> Decoder:
    """Return the function that decodes scores on a factor graph."""
    return DECODERS[check_option("inference", name, tuple(DECODERS))]
