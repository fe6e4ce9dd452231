"""Rows as the experiment writes them, made by hand for the tests of what reads them."""

from hypothesis import strategies as st

from spanforest.metrics import MEASURES
from spanforest.paper import DATASETS, METHODS
from spanforest.paper._published import TABLE_1, DatasetSize

NOTE = "Only a subset: 59 of 60 cell_lines & no *inactive* ones."


def make_row(dataset="emotions", method="mam", fold=0, score=0.5, **changes):
    """Return a complete row; `score` is that of all measures, or a dict of them."""
    scores = score if isinstance(score, dict) else dict.fromkeys(MEASURES, score)
    statistics = TABLE_1.get(dataset, DatasetSize(100, 5, 7, 2.5, 0.5))
    row = {
        "kind": "fold",
        "protocol": "paper",
        "quick": False,
        "dataset": dataset,
        "method": method,
        "fold": fold,
        "seed": 0,
        "n_folds": 2,
        "n_trees": 60,
        "params": {"C": 1.0},
        "scores": scores,
        "n_positive": 10,
        "seconds": {"fit": 2.0, "fit_processor": 1.9, "predict": 0.25},
        "gap": None,
        "warnings": [],
        "curve": None,
        "members": None,
        "label_graph": None,
        "data": {
            **statistics._asdict(),
            "note": NOTE if dataset == "nci60" else "",
        },
        "error": None,
        "versions": {"spanforest": "0.0", "python": "3.0", "numpy": "2.0"},
        "commit": "abc1234",
        "machine": {"processor": "Abacus", "cores": 2, "system": "Linux"},
        "finished": "2026-11-15T22:00:00+00:00",
    }
    return {**row, **changes}


def failed_row(*args, error="ValueError: no", **changes):
    """Return the row of a failure, which has no scores."""
    return as_failure(make_row(*args, **changes), error)


def as_failure(row, error="ValueError: no"):
    """Return a row as it would be if its fit had failed."""
    nothing = dict.fromkeys(
        ("scores", "n_positive", "seconds", "gap", "warnings", "curve", "members")
    )
    return row | nothing | {"error": error}


def rows_of_line(scores, dataset="emotions", n_folds=1):
    """Return rows of one data set: the same score in all folds of a method."""
    return [
        make_row(dataset, method, fold, score, n_folds=n_folds)
        for method, score in scores.items()
        for fold in range(n_folds)
    ]


def curve_row(method, fold, curve, members, **changes):
    """Return a row whose measures have the same curve, times 1, 1/2 and 1/4."""
    factors = dict(zip(MEASURES, (1, 0.5, 0.25), strict=True))
    scaled = [
        {measure: [x * factor for x in values] for measure, factor in factors.items()}
        for values in (curve, members)
    ]
    row = {"curve": scaled[0], "members": scaled[1], "n_trees": len(curve)}
    return make_row(method=method, fold=fold, **(row | changes))


@st.composite
def experiments(draw):
    """Draw rows with ties, failures, missing folds and methods without positives."""
    datasets = draw(st.sets(st.sampled_from([*DATASETS, "own_data"]), min_size=1))
    methods = draw(st.sets(st.sampled_from(METHODS), min_size=1, max_size=5))
    n_folds = draw(st.integers(1, 3))
    kinds = st.sampled_from(["good"] * 8 + ["failed", "missing", "no positives"])
    scores = st.fixed_dictionaries(
        {measure: st.integers(0, 40).map(lambda k: k / 40) for measure in MEASURES}
    )
    rows = []
    for dataset in sorted(datasets)[:4]:
        for method in sorted(methods):
            for fold in range(n_folds):
                kind = draw(kinds)
                row = make_row(dataset, method, fold, draw(scores), n_folds=n_folds)
                if kind == "failed":
                    row.update(scores=None, error="ValueError: no")
                if kind == "no positives":
                    row["n_positive"] = 0
                if kind != "missing":
                    rows.append(row)
    return rows or [make_row(n_folds=n_folds)]
