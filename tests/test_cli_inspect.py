"""The command inspect, and models that were made in Python."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from songs import (
    LABELS,
    frame_of,
    make_songs,
    predictions,
    reference,
)

from spanforest import MMCRFClassifier
from spanforest.diagnostics import edge_couplings
from spanforest.paper.baselines import svm_per_label

pytest.importorskip("typer")
pytest.importorskip("skops")
pytest.importorskip("pyarrow")
pytest.importorskip("pandas")

from spanforest.persistence import save


def test_inspect_shows_the_facts_of_the_model(ok, songs):
    facts = json.loads(ok("inspect", "songs.spanforest", "--json", "--couplings", "2"))
    model = reference()
    assert facts["n_graphs"] == 3
    assert facts["n_edges"] == model.consensus_graph_.n_edges
    assert facts["n_passes"] == model.n_iter_.tolist()
    gaps = model.duality_gap_ / model.dual_objective_
    assert facts["relative_gap"]["largest"] == pytest.approx(gaps.max())
    assert [label["name"] for label in facts["labels"]] == LABELS
    assert facts["parameters"]["n_estimators"] == 3
    assert {"spanforest", "numpy"} <= set(facts["versions"])
    first, second = facts["couplings"]
    assert abs(first["strength"]) >= abs(second["strength"]) > 0
    strength = edge_couplings(model, *make_songs(40, 0)).strength
    assert abs(first["strength"]) == pytest.approx(np.abs(strength).max())
    shown = ok("inspect", "songs.spanforest")
    for text in ("3: happy, sad, calm", "duality gap", "training examples", "C=1"):
        assert text in shown
    assert "over new_songs.csv" in ok(
        "inspect", "songs.spanforest", "--data", "new_songs.csv"
    )
    assert "couplings" not in ok("inspect", "songs.spanforest", "--couplings", "0")


@pytest.mark.needs_compiled
def test_models_made_in_python_are_understood(ok, fails, songs):
    X, Y = make_songs(40, 0)
    np.savez("a.npz", X=X, Y=Y[:, :1])
    kernel = MMCRFClassifier(kernel="rbf", random_state=0).fit(X, Y[:, 0])  # 1-D
    save(kernel, "kernel.spanforest")
    actual = predictions(ok, "kernel.spanforest", "a.npz")
    assert_array_equal(actual["label0"], kernel.predict(X))
    assert predictions(ok, "kernel.spanforest", "a.npz", "--scores").shape == (40, 1)
    ok("evaluate", "kernel.spanforest", "a.npz")
    linear = MMCRFClassifier(kernel="linear", random_state=0).fit(X, Y)
    save(linear, "linear.spanforest")
    facts = json.loads(ok("inspect", "linear.spanforest", "--json"))
    assert facts["couplings"] == []  # nothing to average over
    save(kernel.fit(X, Y), "kernel.spanforest")
    assert (
        len(json.loads(ok("inspect", "kernel.spanforest", "--json"))["couplings"]) == 2
    )
    args = ("linear.spanforest", "a.npz", "--aggregation", "mve")
    assert "only an ensemble" in fails("predict", *args, code=2)
    save(svm_per_label().fit(X, Y), "other.spanforest")
    assert "Use it from Python" in fails("inspect", "other.spanforest")


def test_inspect_names_the_labels_that_never_vary(ok, folder):
    X, Y = make_songs(40, 0)
    Y[:, 1] = 0
    save(MMCRFClassifier(random_state=0).fit(X, frame_of(X, Y)[LABELS]), "m.spanforest")
    assert "labels       3: happy, sad (always 0), calm" in ok(
        "inspect", "m.spanforest"
    )
