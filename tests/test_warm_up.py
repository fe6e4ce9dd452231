"""After a warm-up nothing is left to compile."""

import os
import subprocess
import sys

import pytest

WARM_UP = "import spanforest; spanforest.warm_up()"
COUNT = """
import warnings
import numpy as np
from scipy import sparse
from numba.core.event import install_recorder
from sklearn.datasets import make_multilabel_classification
from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
warnings.simplefilter("ignore")
X, Y = make_multilabel_classification(60, 5, n_classes=6, random_state=0)

def use():
    for inputs in (X, X.astype(np.float32), sparse.csr_matrix(X, dtype=float)):
        for kernel in ("linear", "poly"):
            clf = RandomGraphEnsembleClassifier(3, kernel=kernel, max_iter=3)
            clf.fit(inputs, Y).predict_topk(inputs, 2)
            clf.predict(inputs, aggregation="amm")
    cycle = MMCRFClassifier([(0, 1), (1, 2), (0, 2)], max_iter=3)
    cycle.fit(X, Y).predict_certified(X)

with install_recorder("numba:compile") as recorder:
    use()
print(len(recorder.buffer))
"""


@pytest.mark.slow
@pytest.mark.needs_compiled
def test_after_a_warm_up_nothing_is_compiled(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def run(code):
        command = [sys.executable, "-W", "ignore", "-c", code]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    run(WARM_UP)
    assert run(COUNT).strip() == "0"
