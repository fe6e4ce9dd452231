"""Processor time of imports, against that of scikit-learn itself.

Every import runs in a new process; the best of several times counts. An estimator needs
scikit-learn and Numba, so the last column compares with the import of both.
"""

import subprocess
import sys

import common

RUNS = 7
STATEMENTS = {
    "Python alone": "pass",
    "`import spanforest`": "import spanforest",
    "`import sklearn`": "import sklearn",
    "scikit-learn's `SVC`": "from sklearn.svm import SVC",
    "Numba and scikit-learn's `SVC`": "import numba; from sklearn.svm import SVC",
    "`MMCRFClassifier`": "from spanforest import MMCRFClassifier",
    "`RandomGraphEnsembleClassifier`": (
        "from spanforest import RandomGraphEnsembleClassifier"
    ),
}
BASE = "Numba and scikit-learn's `SVC`"


def seconds(statement):
    """Return the processor time of a new process, from its start to its end."""
    code = f"{statement}\nimport time; print(time.process_time())"
    command = [sys.executable, "-c", code]
    return float(subprocess.run(command, capture_output=True, check=True).stdout)


def main():
    times = {name: [] for name in STATEMENTS}
    for _ in range(RUNS):  # in turns, so that all see the same load
        for name, statement in STATEMENTS.items():
            times[name].append(seconds(statement))
    best = {name: min(values) for name, values in times.items()}
    rows = [
        [name, f"{value:.2f}", f"{value / best[BASE]:.2f}"]
        for name, value in best.items()
    ]
    common.print_table(["import", "seconds", "ratio"], rows)


if __name__ == "__main__":
    main()
