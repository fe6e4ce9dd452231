"""The defaults of the ensemble against other settings, on features as they come.

    python benchmarks/defaults.py [--rows 1000] [--candidates] [NAME ...]

Each setting is trained on at most `rows` examples of one half of each data set, then of
the other half, and predicts at most 1000 examples of the other. Nothing is scaled
before. `--candidates` adds settings between the earlier defaults and the present ones.
"""

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import common
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from spanforest import RandomGraphEnsembleClassifier
from spanforest.datasets import Dataset, load_npz
from spanforest.metrics import MEASURES
from spanforest.model_selection import LabelCardinalityKFold

TABLES = ("emotions", "yeast", "scene", "cal500", "foodtruck", "water_quality")
WORDS = ("medical", "enron", "slashdot", "nci60")
NAMES = (*TABLES, "circle10", "random", *WORDS)
# files that `load_dataset` does not know by name
FILES = ("foodtruck", "slashdot", "water_quality")

# before there was scaling; the paper's settings but for its features and 60 trees
EARLIER = {"n_estimators": 50, "kernel": "linear", "scaling": None, "tol": 0.01}
SETTINGS: dict[str, dict[str, Any]] = {"earlier defaults": EARLIER, "defaults": {}}
CANDIDATES: dict[str, dict[str, Any]] = {
    "linear kernel": {"kernel": "linear"},
    "Gaussian kernel": {"kernel": "rbf"},
    "Gaussian kernel, no scaling": {"kernel": "rbf", "scaling": None},
    "linear kernel, standard": {"kernel": "linear", "scaling": "standard"},
    "C = 3": {"C": 3.0},
    "gap of 1 %": {"tol": 0.01},
    "50 trees": {"n_estimators": 50},
    "10 trees": {"n_estimators": 10},
}


class Outcome(NamedTuple):
    """Results of one setting on one data set, means over both halves."""

    scores: list[float]  # in the order of MEASURES, percent
    converged: float  # share of the members, percent
    seconds: float  # of the processor, in fit


def load(name: str) -> Dataset:
    """Return a data set; "random" has 20 columns of sizes from 0.001 to 1000."""
    if name == "random":
        rng = np.random.default_rng(0)
        X = rng.normal(size=(3000, 20))
        Y = (X @ rng.normal(size=(20, 8)) + 2 * rng.normal(size=(3000, 8)) > 1) * 1
        return Dataset(name, Y, X * np.logspace(-3, 3, 20))
    if name in FILES:
        return load_npz(Path(os.environ.get("SPANFOREST_DATA", "."), f"{name}.npz"))
    return common.load(name)


def measure(data: Dataset, setting: dict[str, Any], rows: int) -> Outcome:
    """Train and test on both halves of a data set."""
    halves = LabelCardinalityKFold(2, random_state=0).split(data.Y, data.Y)
    results = [
        _measure_half(data, setting, train[:rows], test[:1000])
        for train, test in halves
    ]
    means = np.mean(results, axis=0)
    return Outcome(means[:-2].tolist(), *means[-2:])


def _measure_half(
    data: Dataset, setting: dict[str, Any], train: np.ndarray, test: np.ndarray
) -> list[float]:
    X: Any = data.X
    ensemble = RandomGraphEnsembleClassifier(random_state=0, **setting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.process_time()
        ensemble.fit(X[train], data.Y[train])
        seconds = time.process_time() - start
    predicted = ensemble.predict(X[test])
    reached = ensemble.duality_gap_ <= ensemble.tol * ensemble.dual_objective_
    scores = [m.function(data.Y[test], predicted) for m in MEASURES.values()]
    return [*(100 * score for score in scores), 100 * reached.mean(), seconds]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--candidates", action="store_true")
    options = parser.parse_args()
    settings = {**SETTINGS, **(CANDIDATES if options.candidates else {})}
    compile_routines()
    titles = [each.title for each in MEASURES.values()]
    header = ["setting", *titles, "converged, %", "seconds"]
    outcomes: dict[str, list[Outcome]] = {name: [] for name in settings}
    for name in options.names or NAMES:
        data = load(name)
        lines = []
        for title, setting in settings.items():
            outcome = measure(data, setting, options.rows)
            outcomes[title].append(outcome)
            lines.append([title, *cells(outcome)])
        print(f"\n{name}\n", flush=True)
        common.print_table(header, lines)
    print("\nmean of all\n")
    means = {
        title: Outcome(
            np.mean([each.scores for each in of_title], axis=0).tolist(),
            float(np.mean([each.converged for each in of_title])),
            float(np.mean([each.seconds for each in of_title])),
        )
        for title, of_title in outcomes.items()
    }
    common.print_table(header, [[title, *cells(mean)] for title, mean in means.items()])


def compile_routines() -> None:
    """Fit a little of everything, so that no clock counts the compilation."""
    for name in ("circle10", "medical"):
        for setting in (EARLIER, {}):
            measure(load(name), {**setting, "n_estimators": 2}, rows=50)


def cells(outcome: Outcome) -> list[str]:
    return [
        *(f"{score:.1f}" for score in outcome.scores),
        f"{outcome.converged:.0f}",
        f"{outcome.seconds:.2f}",
    ]


if __name__ == "__main__":
    main()
