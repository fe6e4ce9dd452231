"""Rows of the experiment for the tests of the report, and readers of its page."""

import math
import random
import re
from html import unescape

from rows import as_failure, make_row

from spanforest.aggregation import AGGREGATIONS
from spanforest.metrics import MEASURES

DATASETS = ("emotions", "nci60", "my_data")
METHODS = ("svm", "mtl", "mmcrf", *AGGREGATIONS)
N_TREES, N_FOLDS = 5, 2
SUBSET = "Only a subset: 59 of 60 cell lines."
HOSTILE = (
    "</td></script><script>window.harmed = true</script><img src=x onerror=alert(1)>"
)


def random_row(dataset="emotions", method="mam", fold=0, **changes):
    """Return a complete row whose scores and curve are drawn from the arguments."""
    at_random = random.Random(f"{dataset} {method} {fold}")

    def series():
        return [round(at_random.uniform(0.5, 0.7), 6) for _ in range(N_TREES)]

    has_curve = method in AGGREGATIONS
    curve = {measure: series() for measure in MEASURES} if has_curve else None
    members = random.Random(f"{dataset} {fold}").uniform(0.4, 0.5)
    row = {
        "n_folds": N_FOLDS,
        "n_trees": N_TREES if has_curve else None,
        "gap": 0.031 if has_curve or method == "mmcrf" else None,
        "curve": curve,
        "members": curve and {measure: [members] * N_TREES for measure in MEASURES},
        "data": {
            "n_samples": 593,  # for every data set: not what the paper says
            "n_labels": 6,
            "n_features": 72,
            "cardinality": 1.868,
            "density": 0.311,
            "note": SUBSET if dataset == "nci60" else "",
        },
        "finished": f"2026-11-15T22:0{fold}:00+00:00",
    }
    scores = {measure: at_random.uniform(0.5, 0.7) for measure in MEASURES}
    return make_row(dataset, method, fold, scores, **(row | changes))


def make_rows(datasets=DATASETS, methods=METHODS, **changes):
    """Return a row for each data set, method and fold."""
    return [
        random_row(dataset, method, fold, **changes)
        for dataset in datasets
        for method in methods
        for fold in range(N_FOLDS)
    ]


def graded(rows):
    """Return rows in which the order of the methods is the same on all data sets."""
    methods = sorted({row["method"] for row in rows})
    return [
        row
        | {"scores": dict.fromkeys(MEASURES, 0.5 + 0.02 * methods.index(row["method"]))}
        for row in rows
    ]


def example_rows():
    """Return rows with failures, no positives in one cell, a choice of parameters."""
    rows = make_rows()
    for number, row in enumerate(rows):
        place = row["dataset"], row["method"]
        if place == ("nci60", "mtl"):
            rows[number] = as_failure(row, "MemoryError: 12 GiB")
        if place == ("emotions", "mtl"):
            rows[number] = row | {"n_positive": 0}
    choice = {"kind": "choice", "protocol": "paper", "quick": False, "fold": None}
    choice |= {"dataset": "emotions", "family": "svm", "seed": 0, "n_folds": None}
    return [*rows, {**choice, "params": {"C": 1.0}, "seconds": {"choose": 4.0}}]


def choice_of(family, params, candidates, **place):
    """Return a row about the choice of a family's parameters, in the paper's way."""
    tried = [{"params": each, "score": 0.5} for each in candidates]
    row = {"kind": "choice", "protocol": "paper", "quick": False, "fold": None}
    row |= {"dataset": "emotions", "family": family, "seed": 0, "n_folds": None}
    return row | {"params": params, "candidates": tried, **place}


def graph_field(n_labels=3, n_edges=2):
    """Return a label graph as rows hold it; the first label has an edge to each."""
    return {
        "label_names": [f"name {j}" for j in range(n_labels)],
        "frequencies": [0.5] * n_labels,
        "n_edges": n_edges,
        "n_samples": 474,
        "edges": [[0, j] for j in range(1, n_labels)],
        "strength": [float(j) for j in range(1, n_labels)],
        "is_signed": [True] * (n_labels - 1),
    }


def random_graph_field(n_labels, long_names=False):
    """Return a complete label graph of random strengths, as rows hold it."""
    at_random = random.Random(n_labels)
    edges = [[i, j] for j in range(n_labels) for i in range(j)]
    names = [f"quiet-still and-very-long-{j}" for j in range(n_labels)]
    return {
        "label_names": names if long_names else [],
        "frequencies": [at_random.random() for _ in range(n_labels)],
        "n_edges": len(edges),
        "n_samples": 474,
        "edges": edges,
        "strength": [at_random.gauss(0, 1) for _ in edges],
        "is_signed": [True] * len(edges),
    }


def curve_values(dataset, n_trees, measure="microlabel_accuracy"):
    """Return what a panel must show at a number of trees, computed from the rows."""
    values = {}
    for method in AGGREGATIONS:
        rows = [random_row(dataset, method, fold) for fold in range(N_FOLDS)]
        scores = [row["curve"][measure][n_trees - 1] for row in rows]
        values[method.upper()] = 100 * math.fsum(scores) / len(scores)
    members = [
        random_row(dataset, "mve", k)["members"][measure][0] for k in range(N_FOLDS)
    ]
    values["Mean member"] = 100 * math.fsum(members) / len(members)
    return {name: f"{value:.1f}" for name, value in values.items()}


def mean(rows, dataset, method, measure):
    """Return the mean over folds in per cent, as a table prints it."""
    scores = [
        row["scores"][measure]
        for row in rows
        if row["kind"] == "fold"
        and (row["dataset"], row["method"]) == (dataset, method)
    ]
    return f"{100 * math.fsum(scores) / len(scores):.1f}"


def text_of(page):
    """Return what a reader sees of a page, without styles, scripts and tags."""
    page = re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())
