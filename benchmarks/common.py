"""Helpers that the benchmarks share: one thread, data, clocks, tables, machine facts.

Import this module before NumPy: BLAS and OpenMP read their number of threads on import.
"""

import os
import sys

if "numpy" in sys.modules:
    raise ImportError("import common before NumPy, or BLAS may use several threads")
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import hashlib
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler, normalize

import spanforest
from spanforest.datasets import Dataset, load_dataset
from spanforest.factors import FactorGraph
from spanforest.graphs import random_spanning_tree
from spanforest.losses import edge_loss
from spanforest.solver import Problem

PACKAGES = ("spanforest", "numpy", "scipy", "scikit-learn", "numba", "joblib")


# --- data --------------------------------------------------------------------------


def load(name: str) -> Dataset:
    """Return a data set, or exit with a message that says what is missing."""
    if "SPANFOREST_DATA" not in os.environ:
        sys.exit("Set SPANFOREST_DATA to the folder that holds the data sets.")
    try:
        return load_dataset(name)
    except FileNotFoundError as error:
        sys.exit(str(error))


def unit_rows(data: Dataset) -> Any:
    """Return features with rows of unit length: TF-IDF of words, else standardised."""
    if data.is_text:
        return TfidfTransformer().fit_transform(data.X)
    return normalize(StandardScaler().fit_transform(data.X))


def four_fifths(name: str, *, are_words: bool) -> tuple[Any, np.ndarray]:
    """Return scaled features and labels of four fifths of a data set, at random."""
    data = load(name)
    rows = np.random.default_rng(0).permutation(data.n_samples)
    rows = np.sort(rows[: int(0.8 * data.n_samples)])
    if are_words:
        return unit_rows(data)[rows], data.Y[rows]
    return StandardScaler().fit_transform(data.X[rows]), data.Y[rows]


def gaussian_kernel(data: Dataset) -> np.ndarray:
    """Return the Gaussian kernel of the standardised features, gamma 1/n_features."""
    return rbf_kernel(StandardScaler().fit_transform(data.X))


def yeast_part(n_samples: int = 1933) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of yeast, by default four fifths: features, Gaussian kernel, Y."""
    data = load("yeast")
    rows = np.random.default_rng(0).permutation(data.n_samples)[:n_samples]
    return (
        unit_rows(data)[rows],
        gaussian_kernel(data)[np.ix_(rows, rows)],
        data.Y[rows],
    )


def tree_problem(Y: np.ndarray, C: float = 1.0) -> Problem:
    """Return the problem of learning binary labels on one random tree."""
    n_labels = Y.shape[1]
    tree = random_spanning_tree(n_labels, np.random.default_rng(0))
    factors = FactorGraph(tree, np.full(n_labels, 2))
    ends = factors.arrays.factor
    loss = edge_loss(ends["first"], ends["second"])
    return Problem(factors, loss, np.ascontiguousarray(Y, dtype=np.int32), C)


# --- clocks ------------------------------------------------------------------------


def seconds(
    run: Callable[[], Any], clock: Callable[[], float] = time.perf_counter
) -> float:
    """Return the time of one call, by default the wall time."""
    start = clock()
    run()
    return clock() - start


def race(
    ours: Callable[[], Any],
    reference: Callable[[], Any],
    repeats: int = 3,
    before: Callable[[], Any] = lambda: None,
    summary: Callable[[Sequence[float]], float] = statistics.median,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, float]:
    """Return the seconds of both calls, by default medians.

    The two calls take turns, so that a busy moment of the machine slows down both.
    `before` is called before each run and is not timed. Compile before: all runs count.
    """
    times = []
    for _ in range(repeats):
        before()
        mine = seconds(ours, clock)
        before()
        times.append((mine, seconds(reference, clock)))
    return tuple(map(summary, zip(*times, strict=True)))


# --- tables ------------------------------------------------------------------------


class Comparison(NamedTuple):
    """A row of a benchmark: our seconds, those of the reference, the target ratio."""

    what: str
    ours: float
    reference: float
    target: float | None = None
    speedup: bool = False  # ratio = reference / ours, at least `target`

    def cells(self) -> list[str]:
        """Return the row as it is printed."""
        ratio = self.ours / self.reference
        goal = "-"
        if self.speedup:
            ratio = 1.0 / ratio
        if self.target is not None:
            met = ratio >= self.target if self.speedup else ratio <= self.target
            side = "at least" if self.speedup else "at most"
            goal = f"{side} {self.target:.3g} ({'met' if met else 'missed'})"
        times = f"{self.ours:.3g}", f"{self.reference:.3g}"
        return [self.what, *times, f"{ratio:.2f}", goal]


def print_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print Markdown."""
    print("|", " | ".join(header), "|")
    print("|" + "---|" * len(header))
    for row in rows:
        print("|", " | ".join(map(str, row)), "|")


def print_comparisons(rows: Iterable[Comparison]) -> None:
    """Print comparisons in Markdown."""
    header = ["what", "seconds, ours", "seconds, reference", "ratio", "target"]
    print_table(header, [row.cells() for row in rows])


# --- machine -----------------------------------------------------------------------


def machine_facts() -> dict[str, str]:
    """Return versions and hardware that the figures depend on, but no machine name."""
    facts = {
        "processor": _cpu_model(),
        "cores": str(os.cpu_count()),
        "system": platform.system(),
        "Python": platform.python_version(),
    }
    facts |= {name: version(name) for name in PACKAGES}
    return facts | {"commit": _commit(), "sources": _fingerprint()}


def _commit() -> str:
    """Return the measured commit, with "-dirty" if the sources differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True
        )
    except FileNotFoundError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def _fingerprint() -> str:
    """Return a digest of the package's sources, to tell uncommitted states apart."""
    digest = hashlib.sha256()
    for path in sorted(Path(spanforest.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def _cpu_model() -> str:
    listing = Path("/proc/cpuinfo")
    if listing.is_file():
        for line in listing.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()
