"""Why a model predicts a label set: the edges that spoke for and against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest._labels import LabelCoding
from spanforest.branch_and_bound import decode_exactly
from spanforest.diagnostics._models import (
    factors_of,
    fitted_model,
    names_of,
    one_row,
)
from spanforest.factors import FactorGraph


class Contribution(NamedTuple):
    """What one factor says about a label's predicted value."""

    other: str | None  # the label at the edge's other end; None: a factor of its own
    value: Any  # the other label's predicted value
    difference: float  # its score with the predicted value minus with the alternative


@dataclass(frozen=True)
class LabelExplanation:
    """Why a label got its value and not the best other one, all others unchanged."""

    label: str
    value: Any  # as predicted
    alternative: Any  # the other value of highest score; None if there is none
    margin: float  # total score with the value minus with the alternative
    contributions: tuple[Contribution, ...]  # they sum to the margin; largest first

    @property
    def support(self) -> tuple[Contribution, ...]:
        """What spoke for the predicted value, strongest first."""
        return tuple(c for c in self.contributions if c.difference > 0)

    @property
    def opposition(self) -> tuple[Contribution, ...]:
        """What spoke against it, strongest first."""
        return tuple(c for c in self.contributions[::-1] if c.difference < 0)

    def describe(self, n_edges: int = 3) -> str:
        """Return a few lines of text.

        Parameters
        ----------
        n_edges : int, default=3
            How many edges to name on either side; the others are summed up.

        Returns
        -------
        str
            The margin first, then what it is made of.
        """
        if self.alternative is None:
            return f"{self.label} = {self.value}, the only value seen in training"
        largest = max(abs(part.difference) for part in self.contributions)
        decimals = _decimals(max(largest, abs(self.margin)))
        shown = [*self.support[:n_edges], *self.opposition[:n_edges][::-1]]
        rows = [(part.difference, _cause(part)) for part in shown]
        n_hidden = len(self.contributions) - len(shown)
        if n_hidden:
            rest = self.margin - sum(part.difference for part in shown)
            rows.append((rest, f"{n_hidden} more"))
        headline = f"{self.label} = {self.value}, not {self.alternative}"
        return "\n".join(
            [
                f"{headline}, by {self.margin:.{decimals}f}",
                *(
                    f"  {difference:+9.{decimals}f}  {cause}"
                    for difference, cause in rows
                ),
            ]
        )


def _decimals(largest: float) -> int:
    """Return how many decimals show three digits of the largest number."""
    if not 0 < largest < np.inf:
        return 0
    return max(0, 2 - int(np.floor(np.log10(largest))))


def _cause(part: Contribution) -> str:
    return "on its own" if part.other is None else f"{part.other} = {part.value}"


@dataclass(frozen=True)
class Explanation:
    """Why a model predicts a label set for one example."""

    labels: tuple[LabelExplanation, ...]  # in the order of the labels
    score: float  # of the predicted label set
    is_proven: bool  # no label set scores higher, for certain

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
        for found in self.labels:
            if found.label == label:
                return found
        known = ", ".join(found.label for found in self.labels)
        raise KeyError(f"no label is called {label!r}; there are {known}.")

    def describe(self, n_labels: int = 10, n_edges: int = 3) -> str:
        """Return the explanation as text, the closest decisions first.

        Parameters
        ----------
        n_labels : int, default=10
            How many labels to explain.
        n_edges : int, default=3
            How many edges to name on either side of each.

        Returns
        -------
        str
            Text of several lines.
        """
        closest = sorted(self.labels, key=lambda found: found.margin)
        blocks = [found.describe(n_edges) for found in closest[:n_labels]]
        n_hidden = len(closest) - len(blocks)
        if n_hidden > 0:
            blocks.append(f"{n_hidden} more labels, decided by larger margins")
        return "\n".join(blocks)


def explain(
    model: Any, x: Any, *, label_names: Sequence[str] | None = None
) -> Explanation:
    """Say which edges spoke for and against each label of a prediction.

    A label's predicted value is compared with the best other value, all other labels as
    predicted. Only the edges at the label then change, and the differences of their
    scores add up to that of the whole.

    Parameters
    ----------
    model : MMCRFClassifier or RandomGraphEnsembleClassifier
        Fitted. Of an ensemble the prediction of MAM is explained, on the consensus
        graph, whatever its `aggregation` is.
    x : array-like of shape (n_features,), or a single row of any X
        The example, or its kernel values with the training examples.
    label_names : sequence of str, optional
        Names of the labels; by default those of the training labels, or numbers.

    Returns
    -------
    Explanation
        Print it to read it.

    Examples
    --------
    >>> from spanforest import MMCRFClassifier
    >>> from spanforest.diagnostics import explain
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> Y = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]]  # the third is their OR
    >>> clf = MMCRFClassifier(graph=[(0, 2), (1, 2)], C=10, random_state=0).fit(X, Y)
    >>> explanation = explain(clf, [0, 1], label_names=["left", "right", "any"])
    >>> [part.other for part in explanation.of("any").support]
    ['right', 'left']
    >>> print(explanation.of("left").describe())
    left = 0, not 1, by 1.00
          +1.00  any = 1
    """
    model, X = fitted_model(model, one_row(x))
    (basis,) = model._bases(X)
    if basis.shape[0] != 1:
        raise ValueError(
            f"explain takes a single example; got {basis.shape[0]}. Pass one row."
        )
    factors, scores = factors_of(model), model._scores(basis)
    found = decode_exactly(factors, scores)
    names = names_of(model, label_names)
    coding = model._coding
    labels = tuple(
        _explain_label(factors, scores[0], found.labels[0], j, names, coding)
        for j in range(factors.n_labels)
    )
    return Explanation(labels, float(found.score[0]), bool(found.proven[0]))


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
    parts = scores[factors.cells(variants)[:, at_label]]  # (n_values, n_edges of j)
    totals = parts.sum(axis=1)
    totals[codes[j]] = -np.inf
    rival = int(totals.argmax())
    differences = parts[codes[j]] - parts[rival]
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
