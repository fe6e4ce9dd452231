"""Examples to step through: labels, the best label sets, and the reasons for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from spanforest._wording import count
from spanforest.diagnostics import (
    Contribution,
    FeatureContribution,
    LabelExplanation,
    explain,
)
from spanforest.model_page._outcomes import UNKNOWN, Outcomes, codes_of, shown

N_REASONS = 8  # labels of an example that are explained
N_CAUSES = 3  # edges, and features, on either side of an explanation


class Mark(NamedTuple):
    """A label of an example, and whether its prediction is right."""

    text: str
    kind: str  # "right", "missed" (true, not predicted), "extra", or "predicted"


class RankedSet(NamedTuple):
    """One of the best label sets of an example."""

    labels: list[str]  # the whole set; for all but the first, see `added`, `removed`
    added: list[str]  # compared with the best set
    removed: list[str]
    score: float
    is_proven: bool  # certain to have its place
    is_true: bool
    is_predicted: bool


class Cause(NamedTuple):
    """Something that speaks for or against the predicted value of a label."""

    text: str
    difference: str


class Reason(NamedTuple):
    """Why a label has its predicted value."""

    label: str
    value: str
    alternative: str
    margin: str
    is_wrong: bool
    edges: tuple[list[Cause], list[Cause]]  # for the value, and against it
    features: tuple[list[Cause], list[Cause]] | None


class Example(NamedTuple):
    """An example as the page shows it."""

    number: int  # counted from 1
    n_wrong: int | None  # None if no label is known
    marks: list[Mark]
    sets: list[RankedSet]
    reasons: list[Reason]
    n_unexplained: int  # labels without a reason on the page
    is_other: bool  # the prediction is not the label set that is explained


class Selection(NamedTuple):
    """Which examples are shown, and how they were chosen."""

    rows: NDArray[np.intp]
    text: str


def select(outcomes: Outcomes, number: int) -> Selection:
    """Choose examples at random: half of them with mistakes, if there are as many.

    The same outcomes give the same examples.
    """
    n_samples = outcomes.n_samples
    if number >= n_samples:
        return Selection(np.arange(n_samples), "All examples are shown.")
    rng = np.random.default_rng(0)
    is_wrong = outcomes.wrong().any(axis=1)
    wrong, right = np.flatnonzero(is_wrong), np.flatnonzero(~is_wrong)
    n_wrong = min(len(wrong), max(number // 2, number - len(right)))
    n_right = number - n_wrong
    rows = [rng.permutation(wrong)[:n_wrong], rng.permutation(right)[:n_right]]
    if outcomes.truth is None:
        text = f"{number} of {n_samples} examples, drawn at random."
    else:
        text = (
            f"{number} of {n_samples} examples, drawn at random: {n_wrong} of the "
            f"{len(wrong)} with mistakes, and {n_right} of the {len(right)} without."
        )
    return Selection(np.sort(np.concatenate(rows)), text)


def examples(
    classifier: Any, X: Any, outcomes: Outcomes, rows: NDArray[np.intp], k: int
) -> list[Example]:
    """Return the examples of some rows, with their k best label sets."""
    if not len(rows):
        return []
    lists = classifier.predict_topk(_safe_indexing(X, rows), k)
    n, k = lists.scores.shape
    flat = lists.labels.reshape(n * k, -1)
    codes = codes_of(flat, outcomes.coding).reshape(n, k, outcomes.n_labels)
    shown_examples = []
    for i, *numbers in zip(rows, codes, lists.scores, lists.proven, strict=True):
        example = _safe_indexing(X, [int(i)])
        reasons = explain(classifier, example, label_names=outcomes.names).labels
        sets = _ranked_sets(outcomes, int(i), *numbers)
        shown_examples.append(_example(outcomes, int(i), sets, reasons))
    return shown_examples


def _example(
    outcomes: Outcomes,
    i: int,
    sets: list[RankedSet],
    explanations: Sequence[LabelExplanation],
) -> Example:
    reasons = _reasons(outcomes, i, explanations)
    is_known = outcomes.truth is not None and bool((outcomes.truth[i] != UNKNOWN).any())
    predicted = zip(outcomes.coding.classes, outcomes.predicted[i], strict=True)
    is_explained = [
        explanation.value == values[code]
        for explanation, (values, code) in zip(explanations, predicted, strict=True)
    ]
    return Example(
        number=i + 1,
        n_wrong=int(outcomes.wrong(slice(i, i + 1)).sum()) if is_known else None,
        marks=_marks(outcomes, i),
        sets=sets,
        reasons=reasons,
        n_unexplained=outcomes.n_labels - len(reasons),
        is_other=not all(is_explained),
    )


def _marks(outcomes: Outcomes, i: int) -> list[Mark]:
    """Return the labels that are on, in truth or in the prediction."""
    marks = []
    for j, code in enumerate(outcomes.predicted[i]):
        text = outcomes.text(j, int(code))
        true = UNKNOWN if outcomes.truth is None else int(outcomes.truth[i, j])
        if true in (UNKNOWN, code):
            marks.append(Mark(text, "predicted" if true == UNKNOWN else "right"))
        else:
            marks += [Mark(text, "extra"), Mark(outcomes.text(j, true), "missed")]
    return [mark for mark in marks if mark.text]


def _ranked_sets(
    outcomes: Outcomes,
    i: int,
    codes: NDArray[np.int32],
    scores: NDArray[np.float64],
    proven: NDArray[np.bool_],
) -> list[RankedSet]:
    truth = None if outcomes.truth is None else outcomes.truth[i]
    best = outcomes.label_set(codes[0])
    sets = []
    for row, score, is_proven in zip(codes, scores, proven, strict=True):
        labels = outcomes.label_set(row)
        sets.append(
            RankedSet(
                labels,
                added=[text for text in labels if text not in best],
                removed=[text for text in best if text not in labels],
                score=float(score),
                is_proven=bool(is_proven),
                is_true=truth is not None and bool((row == truth).all()),
                is_predicted=bool((row == outcomes.predicted[i]).all()),
            )
        )
    return sets


def _reasons(
    outcomes: Outcomes, i: int, explanations: Sequence[LabelExplanation]
) -> list[Reason]:
    """Explain the wrong labels first, then those decided by the smallest margins."""
    wrong = outcomes.wrong(slice(i, i + 1))[0]
    order = sorted(
        (j for j, each in enumerate(explanations) if each.alternative is not None),
        key=lambda j: (not wrong[j], explanations[j].margin),
    )
    return [_reason(explanations[j], bool(wrong[j])) for j in order[:N_REASONS]]


def _reason(explanation: LabelExplanation, is_wrong: bool) -> Reason:
    features = explanation.features
    return Reason(
        explanation.label,
        shown(explanation.value),
        shown(explanation.alternative),
        _number(explanation.margin),
        is_wrong,
        _both_sides(
            [(_neighbour(one), one.difference) for one in explanation.contributions]
        ),
        None if features is None else _feature_sides(features, explanation.constant),
    )


def _neighbour(one: Contribution) -> str:
    return "on its own" if one.other is None else f"{one.other} = {shown(one.value)}"


def _feature_sides(
    features: Sequence[FeatureContribution], constant: float
) -> tuple[list[Cause], list[Cause]]:
    causes = [
        (f"{shown(one.feature)} = {_number(one.value)}", one.difference)
        for one in features
    ]
    return _both_sides([*causes, ("no feature", constant)])


def _both_sides(
    differences: Sequence[tuple[str, float]],
) -> tuple[list[Cause], list[Cause]]:
    """Return the strongest causes for and against, with a sum of the others."""
    sides = []
    for sign in (1, -1):
        side = [(text, change) for text, change in differences if sign * change > 0]
        side.sort(key=lambda cause: -abs(cause[1]))
        causes = [Cause(text, _signed(change)) for text, change in side[:N_CAUSES]]
        rest = [change for _, change in side[N_CAUSES:]]
        if rest:
            causes.append(Cause(f"{len(rest)} more", _signed(sum(rest))))
        sides.append(causes)
    return sides[0], sides[1]


def _number(value: Any) -> str:
    is_number = isinstance(value, int | float | np.number)
    return f"{value:.3g}" if is_number else shown(value)


def _signed(value: float) -> str:
    return f"{value:+.3g}"


def mistakes_text(example: Example, n_labels: int) -> str:
    """Say how many labels of an example are wrong."""
    if example.n_wrong is None:
        return "its true labels are not known"
    if not example.n_wrong:
        return "no mistake"
    return f"{count(example.n_wrong, 'mistake')} in {count(n_labels, 'label')}"
