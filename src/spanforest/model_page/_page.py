"""The page about a model: its sections, put into the template."""

from __future__ import annotations

from textwrap import shorten
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest import __version__
from spanforest._html import Templates
from spanforest._parameters import check_count
from spanforest._wording import count, kernel_in_words, visible
from spanforest.diagnostics import graph_of, relative_gaps
from spanforest.diagnostics._models import FittedModel
from spanforest.kernels import ForestKernel
from spanforest.model_page._confusions import (
    confused_sets,
    predicted_sets,
    swapped_labels,
)
from spanforest.model_page._examples import examples, mistakes_text, select
from spanforest.model_page._graph import graph_section
from spanforest.model_page._outcomes import UNSEEN, Outcomes, Question, shown
from spanforest.model_page._scores import Probabilities, headline, label_rows
from spanforest.tuning import RandomGraphEnsembleClassifierCV

_LONGEST_KERNEL = 400  # letters; a model may have many kernels
N_CONFUSED = 12  # pairs of label sets, and of labels, that are shown
_DECISIONS = {
    "mam": "the label set of highest score",
    "amm": "for each label the value of highest average max-marginal",
    "mve": "for each label the value that most members predict",
}


def make_model_page(
    model: Any,
    X: Any,
    Y: Any = None,
    *,
    title: str = "A model of spanforest",
    n_examples: int = 50,
    k: int = 5,
) -> str:
    """Return a page of HTML about a fitted model and its predictions.

    The page shows scores beside the best that a constant answer can reach, a table of
    the labels, the label graph, the label sets that are confused most often, and
    examples with their k best label sets and the reasons for the prediction. It is one
    file that needs no network. The same model and data give the same page.

    Parameters
    ----------
    model : MMCRFClassifier or RandomGraphEnsembleClassifier
        Fitted; also as the last step of a pipeline, or inside a search.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Examples, as for `predict`; best those that training did not see.
    Y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels), optional
        Their true labels; NaN where they are not known. Without labels the page shows
        what was predicted.
    title : str, default="A model of spanforest"
        Heading of the page.
    n_examples : int, default=50
        How many examples to show. If there are more, the page shows a random choice,
        half of them with mistakes.
    k : int, default=5
        How many label sets to show for each example.

    Returns
    -------
    str
        The page.

    Raises
    ------
    ValueError
        If Y has another number of rows or labels than expected, or if none of its
        values occurred in training.
    ImportError
        If matplotlib or Jinja2 is not installed.

    Examples
    --------
    >>> from spanforest import RandomGraphEnsembleClassifier
    >>> from spanforest.datasets import make_circle
    >>> from spanforest.model_page import make_model_page
    >>> X, Y = make_circle(60, n_labels=4, random_state=0)
    >>> model = RandomGraphEnsembleClassifier(3, random_state=0).fit(X[:40], Y[:40])
    >>> page = make_model_page(model, X[40:], Y[40:], n_examples=4)
    >>> "All labels right" in page, page.count("<article")
    (True, 4)
    """
    n_examples, k = check_count("n_examples", n_examples), check_count("k", k)
    fitted, X = FittedModel.of(model, X)
    X = X.tocsr() if sparse.issparse(X) else X
    classifier = fitted.classifier
    outcomes = Outcomes.of(fitted, X, Y)
    rows = label_rows(outcomes, _probabilities(classifier, X, outcomes))
    selection = select(outcomes, n_examples)
    has_graph = outcomes.n_labels > 1 and graph_of(classifier).n_edges > 0
    templates = Templates("spanforest.model_page")
    templates.environment.filters["percent"] = _percent
    templates.environment.globals["mistakes"] = mistakes_text
    return templates.render(
        title=shown(title),
        outcomes=outcomes,
        scores=headline(outcomes, rows),
        rows=rows,
        has_probabilities=any(row.probability is not None for row in rows),
        notices=_notices(outcomes),
        graph=graph_section(model, classifier, X, outcomes) if has_graph else None,
        confused=confused_sets(outcomes, N_CONFUSED),
        swaps=swapped_labels(outcomes, N_CONFUSED),
        predicted=predicted_sets(outcomes, N_CONFUSED),
        selection=selection,
        examples=examples(classifier, X, outcomes, selection.rows, k),
        facts=_facts(model, classifier, outcomes),
    )


def _probabilities(classifier: Any, X: Any, outcomes: Outcomes) -> Probabilities | None:
    """Return the calibrated probabilities of a model that has them."""
    if not hasattr(classifier, "calibration_"):
        return None
    P = classifier.predict_proba(X)
    is_vector = outcomes.coding.is_vector
    of_values = [P] if is_vector else P if isinstance(P, list) else None

    def of(question: Question) -> NDArray[np.float64]:
        if of_values is None:
            return P[:, question.label]
        if question.code == UNSEEN:  # the label had one value, which is off
            return np.zeros(outcomes.n_samples)
        return of_values[question.label][:, question.code]

    return of


def _notices(outcomes: Outcomes) -> list[str]:
    """Return what a reader must know before the numbers."""
    if outcomes.truth is None:
        return ["The data have no labels, so nothing can be compared with the truth."]
    notices = []
    n_missing = int((outcomes.truth == -1).sum())
    if n_missing:
        share = _percent(n_missing / outcomes.truth.size)
        notices.append(f"{share} of the labels are not known; only the others count.")
    unseen = np.flatnonzero((outcomes.truth == UNSEEN).any(axis=0))
    if len(unseen):
        names = ", ".join(outcomes.names[j] for j in unseen[:5])
        more = f" and {len(unseen) - 5} more" if len(unseen) > 5 else ""
        notices.append(
            "These labels have values that did not occur in training, so that they are "
            f"never predicted: {names}{more}."
        )
    return notices


def _facts(model: Any, classifier: Any, outcomes: Outcomes) -> dict[str, str]:
    """Return facts about the model, by name."""
    last = model
    while hasattr(last, "steps"):
        last = last.steps[-1][1]
    is_tuned = isinstance(last, RandomGraphEnsembleClassifierCV)
    kernel = visible(kernel_in_words(classifier.kernel_))
    is_ensemble = hasattr(classifier, "estimators_")
    n_edges = count(graph_of(classifier).n_edges, "edge")
    n_graphs = len(classifier.graphs_) if is_ensemble else 1
    gaps = relative_gaps(classifier)
    facts = {
        "Model": type(last if is_tuned else classifier).__name__,
        "Graphs": f"{n_graphs}, with {n_edges} together",
        "Kernel": shorten(kernel, _LONGEST_KERNEL, placeholder=" ..."),
        "C": f"{classifier.C:g}",
        "Decision": _decision(classifier),
        "Labels": str(outcomes.n_labels),
        "Duality gap": f"at most {_percent(float(gaps.max()))} of the dual objective: "
        "how far training was from its optimum",
        "Version": f"spanforest {__version__}",
    }
    if is_ensemble:
        facts["Aggregation"] = classifier.aggregation.upper()
    if is_tuned:
        facts["Chosen"] = visible(last.chosen_)
    return facts


def _decision(classifier: Any) -> str:
    """Return how label sets follow from scores.

    Examples
    --------
    >>> from spanforest import MMCRFClassifier
    >>> clf = MMCRFClassifier(offset=0.3, random_state=0).fit([[0], [1]], [[0], [1]])
    >>> _decision(clf)
    'the label set of highest score, with an offset of 0.3 for labels that are on'
    """
    # only ensembles have thresholds and aggregations
    threshold = getattr(classifier, "threshold", None)
    if threshold is not None:
        limit = "its own threshold" if np.ndim(threshold) else f"{threshold:g}"
        whose = "each label whose probability"
        if isinstance(classifier.probability, ForestKernel):
            whose += f", a mean with {kernel_in_words(classifier.probability)},"
        return f"{whose} is above {limit}"
    decision = _DECISIONS[getattr(classifier, "aggregation", "mam")]
    offset = classifier.offset_
    if not np.any(offset):
        return decision
    added = "offsets" if np.ndim(offset) else f"an offset of {float(offset):g}"
    return f"{decision}, with {added} for labels that are on"


def _percent(share: float | None) -> str:
    """Return a share in per cent, a dash for None.

    Examples
    --------
    >>> _percent(0.8125), _percent(None)
    ('81.2 %', '-')
    """
    return "-" if share is None else f"{100 * share:.1f} %"
