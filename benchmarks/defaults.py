"""Where the defaults come from: kernel, C, loss, intercept and scaling compared.

    python benchmarks/defaults.py [ROWS.jsonl]

Half of every data set, at most 400 rows of it, is learned with ten trees; at most 1000
other examples are predicted, always the same. The 30 most frequent labels are kept: of
more, hardly any label set is ever right. With a file, what it holds is not computed
again, and a run can be interrupted.
"""

import json
import sys
import warnings
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import common
import numpy as np
from scipy import sparse
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from spanforest import RandomGraphEnsembleClassifier
from spanforest.datasets import Dataset, drop_degenerate
from spanforest.metrics import (
    microlabel_accuracy,
    microlabel_f1,
    multilabel_accuracy,
)

NAMES = (
    *("emotions", "yeast", "scene", "enron", "cal500", "fingerprint", "nci60"),
    *("medical", "circle10", "circle50", "bibtex", "tmc2007_500", "genbase"),
)
MEASURES = {
    "multilabel accuracy": multilabel_accuracy,
    "microlabel accuracy": microlabel_accuracy,
    "microlabel F1": microlabel_f1,
}
MOST_ROWS, MOST_TESTED, MOST_LABELS = 400, 1000, 30


class Choice(NamedTuple):
    """A setting of everything that has a default."""

    kernel: str = "linear"  # or a Gaussian, by the rule for its gamma
    C: float = 1.0
    scaling: str = "standard, unit"
    loss: str = "edge"
    intercept: bool = True

    def __str__(self) -> str:
        more = ["" if self.intercept else "no intercept"]
        more += ["" if self.loss == "edge" else self.loss]
        parts = [KERNELS[self.kernel], f"C = {self.C:g}", SCALINGS[self.scaling], *more]
        return "; ".join(filter(None, parts))


KERNELS = {
    "linear": "linear",
    "features": "Gaussian, gamma 1 / n_features",
    "scale": "Gaussian, gamma 1 / (n_features var)",
    "median": "Gaussian, gamma 1 / median",  # of the squared distances
}
SCALINGS = {
    "none": "as they are",
    "standard": "standardised",
    "unit": "unit rows",
    "standard, unit": "standardised, unit rows",
    "tfidf": "TF-IDF",
}
PRODUCT = [
    Choice(kernel, C, scaling)
    for kernel, C, scaling in product(
        ("linear", "features", "median"),
        (0.1, 1.0, 10.0),
        ("none", "standard", "unit", "standard, unit"),
    )
]
CENTRES = (Choice(), Choice("features", 1.0, "standard"))
ALONE = [
    centre._replace(**{factor: value})
    for centre in CENTRES
    for factor, values in {
        "C": (0.3, 3.0),
        "loss": ("hamming",),
        "intercept": (False,),
    }.items()
    for value in values
]
ALONE += [Choice("scale", 1.0, scaling) for scaling in ("none", "standard", "unit")]
FOR_WORDS = [Choice(C=C, scaling="tfidf") for C in (0.1, 1.0, 10.0)]


# --- one run -----------------------------------------------------------------------


def choices(data: Dataset) -> list[Choice]:
    """Return what can be tried on a data set: a kernel matrix has no other kernel."""
    tried = PRODUCT + ALONE + (FOR_WORDS if data.is_text else [])
    if data.X is not None:
        return tried
    return [c for c in tried if c.kernel == "linear" and c.scaling == Choice().scaling]


def small(name: str) -> Dataset:
    """Return a data set with its most frequent labels only."""
    data = common.load(name)
    frequent = np.argsort(-(data.Y > 0).sum(axis=0), kind="stable")[:MOST_LABELS]
    labels = np.sort(frequent)
    names = tuple(data.label_names[j] for j in labels) if data.label_names else ()
    cut = data.__class__(**{**vars(data), "Y": data.Y[:, labels], "label_names": names})
    return drop_degenerate(cut)


def scaler(data: Dataset, scaling: str) -> Any:
    """Return what scales features; sparse ones are not centred."""
    standard = StandardScaler(with_mean=not sparse.issparse(data.X))
    return {
        "none": FunctionTransformer(),
        "standard": standard,
        "unit": Normalizer(),
        "standard, unit": make_pipeline(standard, Normalizer()),
        "tfidf": TfidfTransformer(),
    }[scaling]


def gamma(rule: str, X: Any) -> float:
    """Return the width of the Gaussian kernel that a rule gives for training rows."""
    if rule == "features":
        return 1.0 / X.shape[1]
    if rule == "scale":
        squares = X.multiply(X).mean() if sparse.issparse(X) else (X * X).mean()
        return 1.0 / (X.shape[1] * (squares - X.mean() ** 2))
    distances = euclidean_distances(X, squared=True)
    return 1.0 / np.median(distances[np.triu_indices(len(distances), 1)])


def measure(data: Dataset, choice: Choice) -> dict[str, Any]:
    """Train, predict, and return a row of results."""
    rows = np.random.default_rng(0).permutation(data.n_samples)
    half = data.n_samples // 2
    train, test = rows[:half][:MOST_ROWS], rows[half:][:MOST_TESTED]
    params: dict[str, Any] = {"kernel": "precomputed"}
    if data.K is not None:
        X, X_test = (data.K[np.ix_(part, train)] for part in (train, test))
    else:
        scale = scaler(data, choice.scaling).fit(data.X[train])
        X, X_test = scale.transform(data.X[train]), scale.transform(data.X[test])
        params = {"kernel": "linear"}
        if choice.kernel != "linear":
            params = {"kernel": "rbf", "gamma": gamma(choice.kernel, X)}
    ensemble = RandomGraphEnsembleClassifier(
        n_estimators=10,
        C=choice.C,
        loss=choice.loss,
        fit_intercept=choice.intercept,
        tol=0.05,
        random_state=0,
        **params,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        seconds = common.seconds(lambda: ensemble.fit(X, data.Y[train]))
    predicted = ensemble.predict(X_test)
    short = ensemble.duality_gap_ > ensemble.tol * ensemble.dual_objective_
    return {
        "dataset": data.name,
        "choice": choice._asdict(),
        "scores": {name: f(data.Y[test], predicted) for name, f in MEASURES.items()},
        "unfinished": float(short.mean()),
        "seconds": seconds,
    }


def all_rows(path: Path | None) -> list[dict[str, Any]]:
    """Compute what is not in the file yet; return all rows."""
    rows = []
    if path is not None and path.is_file():
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    known = {(row["dataset"], Choice(**row["choice"])) for row in rows}
    for name in NAMES:
        data = small(name)
        for choice in choices(data):
            if (name, choice) in known:
                continue
            rows.append(measure(data, choice))
            if path is not None:
                with path.open("a") as file:
                    print(json.dumps(rows[-1]), file=file)
    return rows


# --- tables ------------------------------------------------------------------------


class Table:
    """Scores of choices (rows) on those data sets (columns) on which all were tried."""

    def __init__(self, rows: list[dict[str, Any]], tried: list[Choice]):
        found = {(row["dataset"], Choice(**row["choice"])): row for row in rows}
        self.choices = tried
        self.names = [n for n in NAMES if all((n, c) in found for c in tried)]
        self.rows = [[found[name, c] for name in self.names] for c in tried]

    def scores(self, measure: str) -> np.ndarray:
        """Return one measure in percent, (n_choices, n_datasets)."""
        return np.array(
            [[100 * r["scores"][measure] for r in row] for row in self.rows]
        )

    def mean_rank(self) -> np.ndarray:
        """Return ranks averaged over data sets and measures; 1 is best."""
        return np.mean(
            [rankdata(-self.scores(m).round(8), axis=0) for m in MEASURES], axis=(0, 2)
        )

    def cells(self) -> list[list[Any]]:
        """Return a printed row per choice: means, rank, shortfall, convergence."""
        rank = self.mean_rank()
        lost = np.mean([self.scores(m).max(0) - self.scores(m) for m in MEASURES], 0)
        means = np.array([self.scores(m).mean(axis=1) for m in MEASURES]).T
        return [
            [
                *(f"{value:.1f}" for value in means[k]),
                f"{rank[k]:.1f}",
                f"{lost[k].mean():.1f}",
                f"{lost[k].max():.1f}",
                f"{100 * np.mean([r['unfinished'] for r in row]):.0f}",
            ]
            for k, row in enumerate(self.rows)
        ]


HEADER = [
    *MEASURES,
    *("mean rank", "behind the best", "at worst", "not converged, %"),
]


def print_choices(title: str, rows: list[dict[str, Any]], tried: list[Choice]) -> None:
    """Print a table of choices, best rank first."""
    table = Table(rows, tried)
    cells = table.cells()
    print(f"\n{title} ({len(table.names)} data sets)\n")
    best_first = np.argsort(table.mean_rank(), kind="stable")
    common.print_table(
        ["choice", *HEADER], [[str(tried[k]), *cells[k]] for k in best_first]
    )


def main() -> None:
    rows = all_rows(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    print_choices("Kernel, C and scaling together", rows, PRODUCT)
    for centre in CENTRES:
        near = [c for c in ALONE if c.kernel == centre.kernel and c != centre]
        wide = [centre._replace(C=C) for C in (0.1, 10.0)]
        print_choices("One thing changed", rows, [centre, *near, *wide])
    some = ("none", "standard", "unit")
    rules = ("features", "scale", "median")
    tried = [Choice(rule, 1.0, scaling) for scaling in some for rule in rules]
    print_choices("Width of the Gaussian kernel, C = 1", rows, tried)
    words = [c for c in PRODUCT if c.kernel == "linear"] + FOR_WORDS
    print_choices("Words, linear kernel", rows, words)
    print("\nFor each data set:")
    for measure_name in MEASURES:
        shown = [Choice(scaling="none"), *CENTRES, Choice(C=10.0)]
        shown += [Choice("features", 10.0, "standard"), Choice("median", 1.0, "unit")]
        table = Table(rows, shown)
        cells = [[f"{v:.1f}" for v in line] for line in table.scores(measure_name)]
        print(f"\n{measure_name}\n")
        lines = [[str(c), *cell] for c, cell in zip(shown, cells, strict=True)]
        common.print_table(["choice", *table.names], lines)


if __name__ == "__main__":
    main()
