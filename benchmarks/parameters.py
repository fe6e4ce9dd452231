"""Comparison of kernels, C, losses, intercept and ways of scaling.

    python benchmarks/parameters.py [ROWS.jsonl]

Ten trees are trained on at most 400 rows of one half of each data set, and predict at
most 1000 examples of the other half. Only the 30 most frequent labels are kept, because
with more labels hardly any label set is right. The best choices are compared again on
another half. Rows that are already in the file are not computed again, so that a run
can be interrupted.
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
from spanforest.metrics import MEASURES

DENSE = ("emotions", "yeast", "scene", "cal500", "circle10", "circle50")
SPARSE = ("enron", "nci60", "medical", "bibtex", "tmc2007_500", "genbase")
NAMES = (*DENSE, *SPARSE, "fingerprint")  # the last is a kernel matrix
MOST_ROWS, MOST_TESTED, MOST_LABELS = 400, 1000, 30


class Choice(NamedTuple):
    """A value for every parameter that is compared."""

    kernel: str = "linear"  # or the name of a rule for the gamma of a Gaussian
    C: float = 1.0
    scaling: str = "standard, unit"
    loss: str = "edge"
    intercept: bool = True

    def __str__(self) -> str:
        more = ["" if self.intercept else "no intercept"]
        more += ["" if self.loss == "edge" else self.loss]
        first = [KERNELS[self.kernel], f"C = {self.C:g}", SCALINGS[self.scaling]]
        return "; ".join(filter(None, first + more))


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
FINALISTS = [
    *(Choice(scaling=scaling) for scaling in ("none", "unit", "standard, unit")),
    *(
        Choice(rule, 1.0, scaling)
        for rule in ("features", "scale", "median")
        for scaling in ("none", "standard", "unit")
    ),
    Choice(scaling="unit", loss="hamming"),
    Choice(scaling="unit", intercept=False),
    Choice("features", 1.0, "standard", loss="hamming"),
]


class Run(NamedTuple):
    """A choice to be trained on one split of a data set."""

    dataset: str
    choice: Choice
    seed: int  # of the split


# --- one run -----------------------------------------------------------------------


def runs(data: Dataset) -> list[Run]:
    """Return the runs of a data set; a kernel matrix admits no choice of kernels."""
    tried = PRODUCT + ALONE + (FOR_WORDS if data.is_text else [])
    if data.X is None:
        own = Choice().kernel, Choice().scaling
        tried = [c for c in tried if (c.kernel, c.scaling) == own]
        return [Run(data.name, choice, 0) for choice in tried]
    first = [Run(data.name, choice, 0) for choice in tried]
    return first + [Run(data.name, choice, 1) for choice in FINALISTS]


def small(name: str) -> Dataset:
    """Return a data set with only its most frequent labels."""
    data = common.load(name)
    frequent = np.argsort(-(data.Y > 0).sum(axis=0), kind="stable")[:MOST_LABELS]
    labels = np.sort(frequent)
    names = tuple(data.label_names[j] for j in labels) if data.label_names else ()
    cut = data.__class__(**{**vars(data), "Y": data.Y[:, labels], "label_names": names})
    return drop_degenerate(cut)


def scaler(data: Dataset, scaling: str) -> Any:
    """Return the transformer of a scaling; sparse features are not centred."""
    standard = StandardScaler(with_mean=not sparse.issparse(data.X))
    return {
        "none": FunctionTransformer(),
        "standard": standard,
        "unit": Normalizer(),
        "standard, unit": make_pipeline(standard, Normalizer()),
        "tfidf": TfidfTransformer(),
    }[scaling]


def gamma(rule: str, X: Any) -> float:
    """Return the gamma of the Gaussian kernel by a rule, for given training rows."""
    if rule == "features":
        return 1.0 / X.shape[1]
    if rule == "scale":
        squares = X.multiply(X).mean() if sparse.issparse(X) else (X * X).mean()
        return 1.0 / (X.shape[1] * (squares - X.mean() ** 2))
    distances = euclidean_distances(X, squared=True)
    return 1.0 / np.median(distances[np.triu_indices(len(distances), 1)])


def measure(data: Dataset, run: Run) -> dict[str, Any]:
    """Train, predict, and return a row of results."""
    choice = run.choice
    rows = np.random.default_rng(run.seed).permutation(data.n_samples)
    half = data.n_samples // 2
    train, test = rows[:half][:MOST_ROWS], rows[half:][:MOST_TESTED]
    params: dict[str, Any] = {"kernel": "precomputed"}
    if data.K is not None:
        X, X_test = (data.K[np.ix_(rows, train)] for rows in (train, test))
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
        scaling=None,  # done here
        random_state=0,
        **params,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        seconds = common.seconds(lambda: ensemble.fit(X, data.Y[train]))
    predicted = ensemble.predict(X_test)
    short = ensemble.duality_gap_ > ensemble.tol * ensemble.dual_objective_
    return {
        **run._asdict(),
        "choice": choice._asdict(),
        "scores": {
            name: measure.function(data.Y[test], predicted)
            for name, measure in MEASURES.items()
        },
        "unfinished": float(short.mean()),
        "seconds": seconds,
    }


def all_rows(path: Path | None) -> list[dict[str, Any]]:
    """Compute the rows that the file lacks, append them, and return all rows."""
    rows = []
    if path is not None and path.is_file():
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    known = {run_of(row) for row in rows}
    for name in NAMES:
        data = small(name)
        for run in runs(data):
            if run in known:
                continue
            rows.append(measure(data, run))
            if path is not None:
                with path.open("a") as file:
                    print(json.dumps(rows[-1]), file=file)
    return rows


def run_of(row: dict[str, Any]) -> Run:
    """Return the run whose result a row is."""
    return Run(row["dataset"], Choice(**row["choice"]), row["seed"])


# --- tables ------------------------------------------------------------------------

HEADER = [
    *(measure.title for measure in MEASURES.values()),
    *("mean rank", "behind the best", "at worst", "not converged, %"),
]
Results = dict[Run, dict[str, Any]]


class Table:
    """Scores of choices (rows) on the data sets (columns) where all were tried."""

    def __init__(
        self,
        results: Results,
        tried: list[Choice],
        names: tuple[str, ...] = NAMES,
        seed: int = 0,
    ):
        self.choices = tried
        self.names = [
            name for name in names if all(Run(name, c, seed) in results for c in tried)
        ]
        self.rows = [
            [results[Run(name, c, seed)] for name in self.names] for c in tried
        ]

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


def print_choices(title: str, table: Table) -> None:
    """Print a table of choices, best rank first."""
    cells = table.cells()
    best_first = np.argsort(table.mean_rank(), kind="stable")
    print(f"\n{title} ({', '.join(table.names)})\n")
    common.print_table(
        ["choice", *HEADER], [[str(table.choices[k]), *cells[k]] for k in best_first]
    )


def print_scores(table: Table) -> None:
    """Print the scores on every data set, a table per measure."""
    for name, (title, _) in MEASURES.items():
        print(f"\n{title}\n")
        scores = zip(table.choices, table.scores(name), strict=True)
        lines = [[str(c), *(f"{value:.1f}" for value in line)] for c, line in scores]
        common.print_table(["choice", *table.names], lines)


def main() -> None:
    rows = all_rows(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    results = {run_of(row): row for row in rows}
    kinds = {"numbers in columns": DENSE, "words and bits": SPARSE}
    for kind, names in kinds.items():
        title = f"Kernel, C and scaling together: {kind}"
        print_choices(title, Table(results, PRODUCT, names))
    for kind, names in kinds.items():
        title = f"On another half: {kind}"
        print_choices(title, Table(results, FINALISTS, names, seed=1))
    for centre in CENTRES:
        near = [c for c in ALONE if c.kernel == centre.kernel]
        near += [centre._replace(C=C) for C in (0.1, 10.0)]
        print_choices("One parameter changed", Table(results, [centre, *near]))
    words = [c for c in PRODUCT if c.kernel == "linear"] + FOR_WORDS
    print_choices("Words", Table(results, words, SPARSE))
    print("\nOn another half, in percent:")
    print_scores(Table(results, FINALISTS[:12], seed=1))


if __name__ == "__main__":
    main()
