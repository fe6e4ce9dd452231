"""Why a model predicts a label set: edges and features for and against each label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest._labels import LabelCoding
from spanforest._wording import count, did_you_mean, listed, quoted
from spanforest.branch_and_bound import decode_exactly
from spanforest.diagnostics._models import FittedModel
from spanforest.factors import FactorGraph

_DIFFERS = "This explains the label set of highest score. `predict` may differ: it "
THRESHOLD_NOTE = f"{_DIFFERS}takes every label whose probability is above a threshold."
MEMBERS_NOTE = f"{_DIFFERS}decides on each label by itself, as members predict it."


class Contribution(NamedTuple):
    """The share of one factor in a label's margin."""

    other: str | None  # the label at the edge's other end; None for a unary factor
    value: Any  # predicted value of the other label
    difference: float  # factor's score with the value minus with the alternative


class FeatureContribution(NamedTuple):
    """What one feature contributes to a label's margin."""

    feature: str
    value: Any  # of the feature in the example
    difference: float  # contribution to the score with the value minus the alternative


@dataclass(frozen=True)
class LabelExplanation:
    """Why a label has its predicted value and not another, all other labels fixed."""

    label: str
    value: Any  # as predicted
    alternative: Any  # the other value of highest score; None if there is none
    margin: float  # total score with the value minus with the alternative
    contributions: tuple[Contribution, ...]  # sum to the margin; largest first
    # largest first; None if the kernel compares whole examples
    features: tuple[FeatureContribution, ...] | None = None
    constant: float = 0.0  # the rest of the margin, which no feature contributes

    @property
    def support(self) -> tuple[Contribution, ...]:
        """Contributions for the predicted value, strongest first."""
        return tuple(one for one in self.contributions if one.difference > 0)

    @property
    def opposition(self) -> tuple[Contribution, ...]:
        """Contributions against the predicted value, strongest first."""
        return tuple(one for one in self.contributions[::-1] if one.difference < 0)

    def describe(self, n_edges: int = 3, n_features: int = 3) -> str:
        """Return a few lines of text.

        Parameters
        ----------
        n_edges : int, default=3
            How many edges to name on either side; the others appear as one sum.
        n_features : int, default=3
            How many features to name on either side, unless the kernel compares whole
            examples; the others appear as one sum. With 0 features are left out.

        Returns
        -------
        str
            The margin first, then the edges, then the features that add up to it.
        """
        if self.alternative is None:
            return f"{self.label} = {self.value}, the only value seen in training"
        largest = max(abs(one.difference) for one in self.contributions)
        decimals = _decimals(max(largest, abs(self.margin)))
        rows = _shown(self.contributions, n_edges)
        headline = f"{self.label} = {self.value}, not {self.alternative}"
        lines = [f"{headline}, by {self.margin:.{decimals}f}"]
        lines += [f"  {change:+9.{decimals}f}  {cause}" for change, cause in rows]
        if n_features and self.features is not None:
            rows = [*_shown(self.features, n_features), (self.constant, "constant")]
            lines.append("  the same by features:")
            lines += [f"  {change:+9.{decimals}f}  {cause}" for change, cause in rows]
        return "\n".join(lines)


def _shown(
    contributions: Sequence[Contribution | FeatureContribution], number: int
) -> list[tuple[float, str]]:
    """Return the strongest contributions on both sides, and the sum of the others."""
    support = [one for one in contributions if one.difference > 0][:number]
    opposition = [one for one in contributions if one.difference < 0]
    shown = [*support, *opposition[max(0, len(opposition) - number) :]]
    rows = [(one.difference, _cause(one)) for one in shown]
    n_hidden = len(contributions) - len(shown)
    if n_hidden:
        total = sum(one.difference for one in contributions)
        rest = total - sum(one.difference for one in shown)
        rows.append((rest, f"{n_hidden} more"))
    return rows


def _decimals(largest: float) -> int:
    """Return the number of decimals that shows three digits of the largest number."""
    if not 0 < largest < np.inf:
        return 0
    return max(0, 2 - int(np.floor(np.log10(largest))))


def _cause(one: Contribution | FeatureContribution) -> str:
    if isinstance(one, FeatureContribution):
        value = f"{one.value:.4g}" if isinstance(one.value, float) else one.value
        return f"{one.feature} = {value}"
    return "on its own" if one.other is None else f"{one.other} = {one.value}"


@dataclass(frozen=True)
class Explanation:
    """Why a model predicts a label set for one example."""

    labels: tuple[LabelExplanation, ...]  # in the order of the labels
    score: float  # of the predicted label set
    is_proven: bool  # proven: no label set scores higher
    note: str = ""  # what a reader should know first

    def __str__(self) -> str:
        return self.describe()

    def of(self, label: str) -> LabelExplanation:
        """Return the explanation of one label.

        Parameters
        ----------
        label : str
            Its name.

        Returns
        -------
        LabelExplanation
            One of `labels`.
        """
        for explanation in self.labels:
            if explanation.label == label:
                return explanation
        known = [explanation.label for explanation in self.labels]
        raise KeyError(
            f"no label is called {quoted(label)}; the labels are {listed(known)}."
            f"{did_you_mean([label], known)}"
        )

    def describe(
        self, n_labels: int = 10, n_edges: int = 3, n_features: int = 3
    ) -> str:
        """Return the explanation as text, labels of the smallest margin first.

        Parameters
        ----------
        n_labels : int, default=10
            How many labels to explain.
        n_edges : int, default=3
            How many edges to name on either side of each.
        n_features : int, default=3
            How many features to name on either side of each.

        Returns
        -------
        str
            Text of several lines.
        """
        closest = sorted(self.labels, key=lambda explanation: explanation.margin)
        blocks = [one.describe(n_edges, n_features) for one in closest[:n_labels]]
        n_hidden = len(closest) - len(blocks)
        blocks = [self.note, *blocks] if self.note else blocks
        if n_hidden > 0:
            margins = "a larger margin" if n_hidden == 1 else "larger margins"
            blocks.append(f"{count(n_hidden, 'more label')}, decided by {margins}")
        return "\n".join(blocks)


def explain(
    model: Any,
    x: Any,
    *,
    label_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
) -> Explanation:
    """Say which edges and features speak for and against each label of a prediction.

    The predicted value of a label is compared with its best other value, while all
    other labels keep their predicted values. Only the edges at the label change their
    scores; the changes sum to that of the total score. With a linear kernel or a forest
    kernel, the same sum is also divided among the features.

    Parameters
    ----------
    model : MMCRFClassifier or RandomGraphEnsembleClassifier
        Fitted. For an ensemble, the prediction of MAM on the consensus graph is
        explained, whatever its `aggregation` and its `threshold` are. If it has a
        threshold, the text says so.
    x : array-like of shape (n_features,), or a single row of any X
        The example, or its kernel values with the training examples.
    label_names : sequence of str, optional
        Names of the labels; by default those of the training labels, or label0, ...
    feature_names : sequence of str, optional
        Names of the features; by default those of the training examples, or x0, ...

    Returns
    -------
    Explanation
        Print it to read it.

    Notes
    -----
    With a linear kernel a feature contributes its distance from its centre times its
    weight. The centre is the one of `scaling`, or 0. With the cosine kernel that is
    divided by the length of the example. With a forest kernel, a split on the way of
    the example through a tree changes the mean margin of the training examples that get
    as far; the feature that is split contributes the change. The rest is the constant.
    Other kernels compare whole examples. Lists and sums of linear, cosine and forest
    kernels add these contributions up.

    Examples
    --------
    >>> from spanforest import MMCRFClassifier
    >>> from spanforest.diagnostics import explain
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> Y = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]]  # the third is their OR
    >>> clf = MMCRFClassifier(graph=[(0, 2), (1, 2)], C=10, random_state=0).fit(X, Y)
    >>> explanation = explain(clf, [0, 1], label_names=["left", "right", "any"])
    >>> [one.other for one in explanation.of("any").support]
    ['right', 'left']
    >>> print(explanation.of("left").describe())
    left = 0, not 1, by 0.999
         +0.999  any = 1
    """
    _check_single(model, x)
    fitted, X = FittedModel.of(model, _one_row(x))
    (rows,) = fitted.row_chunks(X)
    if rows.shape[0] != 1:
        raise ValueError(
            f"explain takes a single example; got {rows.shape[0]}. Pass one row."
        )
    factors, scores = fitted.factors, fitted.scores(rows)
    best = decode_exactly(factors, scores)
    names = fitted.label_names(label_names)
    labels = tuple(
        _explain_label(factors, scores[0], best.labels[0], j, names, fitted.coding)
        for j in range(factors.n_labels)
    )
    changes = _changes(fitted, best.labels[0], labels)
    contributions = fitted.feature_contributions(X, changes)
    if contributions is not None:
        features = list(
            zip(fitted.feature_names(feature_names), _values(X), strict=True)
        )
        labels = tuple(
            _with_features(label, features, own)
            for label, own in zip(labels, contributions.T, strict=True)
        )
    note = _note_on(fitted.classifier)
    return Explanation(labels, float(best.score[0]), bool(best.proven[0]), note)


def _note_on(classifier: Any) -> str:
    """Return how `predict` may differ from the label set of highest score."""
    if getattr(classifier, "threshold", None) is not None:
        return THRESHOLD_NOTE
    is_mam = getattr(classifier, "aggregation", "mam") == "mam"
    return "" if is_mam else MEMBERS_NOTE


def _check_single(model: Any, x: Any) -> None:
    """Refuse several texts for a model that takes texts, which has no features."""
    takes_texts = not hasattr(model, "n_features_in_")
    if takes_texts and np.ndim(x) == 1 and len(x) > 1 and isinstance(x[0], str):
        raise ValueError(
            f"explain takes a single example; got {len(x)} texts. Pass one text."
        )


def _one_row(x: Any) -> Any:
    """Return a matrix of one row from an example in any form; a text as a list."""
    text = next(iter(x)) if np.ndim(x) == 1 and len(x) == 1 else x
    if isinstance(text, str):  # for a pipeline that begins with a vectorizer
        return [text]
    if hasattr(x, "to_frame"):  # a row taken from a DataFrame is a Series
        return x.to_frame().T
    if not sparse.issparse(x) and np.ndim(x) == 1:
        return np.reshape(x, (1, -1))
    return x


def _explain_label(
    factors: FactorGraph,
    scores: NDArray[np.float64],
    codes: NDArray[np.intp],
    j: int,
    names: list[str],
    coding: LabelCoding,
) -> LabelExplanation:
    values = coding.classes[j]
    value = values[codes[j]]
    if len(values) == 1:
        return LabelExplanation(names[j], value, None, np.inf, ())
    first, second = factors.arrays.factor["first"], factors.arrays.factor["second"]
    at_label = np.flatnonzero((first == j) | (second == j))
    variants = np.tile(codes, (len(values), 1))
    variants[:, j] = np.arange(len(values))
    tables = scores[factors.cells(variants)[:, at_label]]  # (n_values, n_factors of j)
    totals = tables.sum(axis=1)
    totals[codes[j]] = -np.inf
    rival = int(totals.argmax())
    differences = tables[codes[j]] - tables[rival]
    contributions = []
    for f in np.argsort(-differences, kind="stable"):
        ends = (int(first[at_label[f]]), int(second[at_label[f]]))
        other = ends[0] if ends[1] == j else ends[1]
        contributions.append(
            Contribution(
                other=None if other < 0 else names[other],
                value=None if other < 0 else coding.classes[other][codes[other]],
                difference=float(differences[f]),
            )
        )
    margin = float(differences.sum())
    return LabelExplanation(
        names[j], value, values[rival], margin, tuple(contributions)
    )


def _changes(
    fitted: FittedModel,
    codes: NDArray[np.intp],
    labels: tuple[LabelExplanation, ...],
) -> Any:
    """Return the cells of the prediction minus those with an alternative, per label."""
    variants = np.tile(codes, (len(labels), 1))
    for j, (label, values) in enumerate(
        zip(labels, fitted.coding.classes, strict=True)
    ):
        if label.alternative is not None:
            variants[j, j] = int(np.flatnonzero(values == label.alternative)[0])
    factors, changes = fitted.factors, 0
    for sign, labellings in ((1.0, np.tile(codes, (len(labels), 1))), (-1.0, variants)):
        cells = factors.cells(labellings)
        places = cells.ravel(), np.repeat(np.arange(len(labels)), cells.shape[1])
        shape = factors.n_cells, len(labels)
        changes += sparse.csr_array((np.full(cells.size, sign), places), shape=shape)
    return changes


def _with_features(
    label: LabelExplanation,
    features: list[tuple[str, Any]],
    contributions: NDArray[np.float64],
) -> LabelExplanation:
    if label.alternative is None:
        return label
    own = tuple(
        FeatureContribution(features[j][0], features[j][1], float(contributions[j]))
        for j in np.argsort(-contributions, kind="stable")
        if contributions[j] != 0.0
    )
    return replace(
        label, features=own, constant=label.margin - float(contributions.sum())
    )


def _values(X: Any) -> list[Any]:
    """Return the features of a matrix of one row, as the caller gave them."""
    matrix = X.toarray() if sparse.issparse(X) else np.asarray(X)
    return matrix[0].tolist()
