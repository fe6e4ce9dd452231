"""Saving and loading: what comes back, what cannot be saved, how files are written."""

import hashlib
import json
import os
import pickle
import stat
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io
from model_files import (
    GRADES,
    WORDS,
    X,
    X_new,
    Y,
    assert_same_bits,
    ensemble,
    frame,
    mmcrf,
    model_file,
    rng,
)
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import spanforest
from spanforest import (
    MMCRFClassifier,
    RandomGraphEnsembleClassifier,
    _model_file_checks,
)
from spanforest.aggregation import AGGREGATIONS
from spanforest.graphs import LabelGraph, random_pairing
from spanforest.kernels import ForestKernel, SumKernel, tanimoto_kernel
from spanforest.paper.baselines import (
    AdaBoostMHClassifier,
    BaggedSVMClassifier,
    MultiTaskFeatureClassifier,
    PerLabelClassifier,
    svm_per_label,
)
from spanforest.persistence import (
    FORMAT_VERSION,
    ModelFileError,
    describe,
    load,
    save,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.spanforest"


def reloaded(model, path):
    save(model, path)
    return load(path)


# --- what comes back -----------------------------------------------------------------


class Case(NamedTuple):
    model: Any
    X: Any = X
    Y: Any = Y
    X_new: Any = X_new


TEXTS = [" ".join(rng.choice(list("abcdefgh"), size=6)) for _ in range(40)]
SPARSE = sparse.csr_matrix(np.maximum(X, 0)), sparse.csr_matrix(np.maximum(X_new, 0))
COLUMNS = make_column_transformer(
    (StandardScaler(), ["column 0", "column 1"]),
    (OneHotEncoder(handle_unknown="ignore"), ["column 2"]),
    remainder="passthrough",
)
CASES = {
    "one graph": Case(mmcrf()),
    "one graph with a cycle": Case(mmcrf(graph=[(0, 1), (1, 2), (0, 2)])),
    "linear": Case(ensemble()),
    "offset": Case(ensemble(offset=np.array([0.5, -0.5, 0, 1, 2]))),
    "rbf": Case(ensemble(kernel="rbf")),
    "rbf, unit diagonal": Case(ensemble(kernel="poly", normalize_kernel=True)),
    "precomputed": Case(ensemble(kernel="precomputed"), X @ X.T, Y, X_new @ X.T),
    "sparse linear": Case(ensemble(), SPARSE[0], Y, SPARSE[1]),
    "forest": Case(ensemble(kernel=ForestKernel(5)), X, Y, X_new),
    "several kernels": Case(
        ensemble(kernel=["rbf", ForestKernel(5), "linear"]), X, Y, X_new
    ),
    "sum of kernels": Case(
        ensemble(kernel=[SumKernel(["rbf", ForestKernel(5)], [2, 1]), "linear"]),
        *(X, Y, X_new),
    ),
    "sparse forest": Case(ensemble(kernel="forest"), SPARSE[0], Y, SPARSE[1]),
    "forest with categories": Case(
        ensemble(kernel=ForestKernel(5, categories=[1])),
        np.round(X),
        Y,
        np.round(X_new),
    ),
    "sparse tanimoto": Case(ensemble(kernel="tanimoto"), SPARSE[0], Y, SPARSE[1]),
    "sparse array": Case(
        ensemble(kernel="rbf"),
        sparse.csr_array(SPARSE[0]),
        sparse.csc_array(Y),
        sparse.csr_array(SPARSE[1]),
    ),
    "single precision": Case(
        ensemble(kernel="rbf"), X.astype(np.float32), Y, X_new.astype(np.float32)
    ),
    "Fortran order": Case(ensemble(kernel="rbf"), np.asfortranarray(X)),
    "function of ours as kernel": Case(ensemble(kernel=tanimoto_kernel)),
    "function of scikit-learn as kernel": Case(
        ensemble(kernel=rbf_kernel, kernel_params={"gamma": 0.3})
    ),
    "function of ours as graph": Case(ensemble(graph=random_pairing)),
    "names": Case(ensemble(), frame(X), frame(Y, "label"), frame(X_new)),
    "three values": Case(ensemble(), Y=GRADES),
    "strings": Case(ensemble(), Y=WORDS),
    "objects": Case(ensemble(), Y=WORDS.astype(object)),
    "byte strings": Case(ensemble(), Y=WORDS.astype("S")),
    "bools": Case(ensemble(), Y=Y.astype(bool)),
    "words and numbers": Case(
        ensemble(), Y=pd.DataFrame({"a": WORDS[:, 0], "b": GRADES[:, 0]})
    ),
    "categories": Case(ensemble(), Y=frame(WORDS, "label").astype("category")),
    "one label": Case(ensemble(), Y=Y[:, 0]),
    "one label of strings": Case(ensemble(), Y=WORDS[:, 0]),
    "labels with one value": Case(ensemble(), Y=Y * [0, 1, 1, 1, 1]),
    "pipeline": Case(make_pipeline(StandardScaler(), ensemble(kernel="rbf"))),
    "pipeline with text": Case(
        make_pipeline(TfidfVectorizer(token_pattern=r"\w"), ensemble()),
        *(TEXTS, Y, TEXTS[::-1]),
    ),
    "pipeline with columns": Case(
        make_pipeline(COLUMNS, ensemble()),
        *(frame(X.round()), Y, frame(X_new.round())),
    ),
    "pipeline with a NumPy function": Case(
        make_pipeline(FunctionTransformer(np.arctan), ensemble())
    ),
    "AdaBoost.MH": Case(AdaBoostMHClassifier(n_estimators=3, random_state=0)),
    "multitask": Case(MultiTaskFeatureClassifier()),
    "SVM": Case(svm_per_label()),
    "sparse SVM": Case(svm_per_label(kernel="rbf"), SPARSE[0], WORDS, SPARSE[1]),
    "bagging": Case(BaggedSVMClassifier(n_estimators=3, random_state=0, kernel="rbf")),
    "sparse bagging": Case(
        BaggedSVMClassifier(n_estimators=3, random_state=0), SPARSE[0], Y, SPARSE[1]
    ),
    "bagging, strided X": Case(
        BaggedSVMClassifier(n_estimators=3), np.repeat(X, 2, 1)[:, ::2]
    ),
    "trees per label": Case(PerLabelClassifier(DecisionTreeClassifier(random_state=0))),
}


def answers(model, X):
    """Yield all predictions and scores of a fitted model for some examples."""
    yield model.predict(X)
    if not (isinstance(model, BaseEstimator) and has_many_values(model)):
        yield model.decision_function(X)
    if isinstance(model, RandomGraphEnsembleClassifier):
        for aggregation in AGGREGATIONS:
            yield model.predict(X, aggregation=aggregation)
            yield from model.staged_predict(X, aggregation=aggregation)
        if not has_many_values(model):
            for aggregation in AGGREGATIONS:
                chosen = pickle.loads(pickle.dumps(model))
                yield chosen.set_params(aggregation=aggregation).decision_function(X)
    elif hasattr(model, "staged_predict"):
        yield from model.staged_predict(X)


def has_many_values(model):
    coding = getattr(model, "_coding", None)
    return coding is not None and coding.n_values.max() > 2


@pytest.mark.needs_compiled
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_loaded_model_answers_with_the_same_bits(case, path):
    model = case.model.fit(case.X, case.Y)
    again = reloaded(model, path)
    assert type(again) is type(model)
    expected, found = (list(answers(one, case.X_new)) for one in (model, again))
    assert len(expected) >= 1
    for one, other in zip(expected, found, strict=True):
        assert_same_bits(one, other)
    if isinstance(case.X, pd.DataFrame):
        assert_array_equal(again.feature_names_in_, model.feature_names_in_)
    if isinstance(case.Y, pd.DataFrame):
        assert_array_equal(again.label_names_, model.label_names_)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_model_that_is_not_fitted_keeps_its_parameters(case, path):
    model = clone(case.model)
    assert repr(reloaded(model, path)) == repr(model)


GRAPHS = {
    "pairs": [(0, 1), (1, 2)],
    "set": {(0, 1), (1, 2)},
    "array": np.array([(0, 1), (1, 2)]),
    "graph": LabelGraph(5, [(0, 1), (1, 2)]),
    "matrix": LabelGraph(5, [(0, 1), (1, 2)]).adjacency,
    "one per member": [LabelGraph(5, [(0, 1)]), "chow_liu", [(0, 2), (3, 4)]],
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_a_loaded_model_can_be_fitted_again_on_its_graphs(graph, path):
    model = ensemble(graph=graph).fit(X, Y)
    again = reloaded(model, path)
    assert again.graphs_ == model.graphs_
    assert again.fit(X, Y).graphs_ == model.graphs_


RANDOM_STATES = {
    "None": lambda: None,
    "int": lambda: 7,
    "large int": lambda: 2**31,
    "NumPy int": lambda: np.int32(7),
    "RandomState": lambda: np.random.RandomState(7),
    "Generator": lambda: np.random.default_rng(7),
    "other Generator": lambda: np.random.Generator(np.random.Philox(7)),
}


@pytest.mark.needs_compiled
@pytest.mark.parametrize("make", RANDOM_STATES.values(), ids=RANDOM_STATES)
def test_random_states_continue_after_loading(make, path):
    model = ensemble(random_state=make()).fit(X, Y)
    again = reloaded(model, path)
    assert type(again.random_state) is type(model.random_state)
    if model.random_state is not None:
        assert model.fit(X, Y).graphs_ == again.fit(X, Y).graphs_


def test_numpy_numbers_come_back_as_they_were(path):
    params = {"C": np.float32(0.3), "degree": np.int8(2), "tol": np.float64(0.1)}
    again = reloaded(mmcrf(fit_intercept=np.bool_(False), **params), path)
    for name, value in params.items():
        assert getattr(again, name) == value
        assert type(getattr(again, name)) is type(value)


@pytest.mark.needs_compiled
def test_arrays_that_members_share_are_stored_once(path):
    model = ensemble(kernel="rbf", n_estimators=20).fit(np.tile(X, 50), Y)
    again = reloaded(model, path)
    assert path.stat().st_size < 3 * model.X_fit_.nbytes
    for member, graph in zip(again.estimators_, again.graphs_, strict=True):
        assert member.X_fit_ is again.X_fit_
        assert member._coding is again._coding
        assert member.graph_ is graph
        assert not graph.edges.flags.writeable


@pytest.mark.parametrize("name", ["model", "model.skops", "a model. v2", "Modèle"])
@pytest.mark.parametrize("kind", [str, Path], ids=["str", "Path"])
def test_the_path_may_be_a_string_or_a_path_of_any_name(name, kind, tmp_path):
    path = kind(tmp_path / name)
    assert reloaded(mmcrf(C=3.0), path).C == 3.0
    assert os.listdir(tmp_path) == [name]


def test_pickle_and_joblib_still_work(tmp_path):
    model = make_pipeline(StandardScaler(), ensemble(kernel="rbf")).fit(X, Y)
    joblib.dump(model, tmp_path / "model.joblib")
    for again in (
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "model.joblib"),
    ):
        assert_same_bits(again.decision_function(X_new), model.decision_function(X_new))


def test_a_model_of_zeros_can_be_loaded_although_it_compresses_well(path, monkeypatch):
    monkeypatch.setattr(_model_file_checks, "ALWAYS_ALLOWED", 0)
    zeros = np.zeros((1000, 1000))
    assert_same_bits(reloaded(mmcrf(graph=zeros), path).graph, zeros)


# --- what cannot be saved ------------------------------------------------------------


def own_kernel(X, Y):
    return X @ Y.T


def own_graph(n_labels, rng):
    return [(0, 1)]


class OwnClassifier(MMCRFClassifier):
    pass


KERNEL_ADVICE = 'Fit again with the name of a kernel.*or "precomputed"'
GRAPH_ADVICE = r"Pass edge lists.*set_params\(graph=model.graphs_\) needs no new fit"
OTHER_ADVICE = r"Replace it, or save an estimator without it.*can run any code"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ensemble(kernel=own_kernel), f"its kernel is <.*own_kernel.*{KERNEL_ADVICE}"),
        (ensemble(kernel=lambda X, Y: X @ Y.T), f"its kernel is <.*{KERNEL_ADVICE}"),
        (ensemble(kernel=partial(rbf_kernel, gamma=2)), f"functools.*{KERNEL_ADVICE}"),
        (svm_per_label(kernel=own_kernel), rf"its estimator\.kernel.*{KERNEL_ADVICE}"),
        (ensemble(graph=own_graph), f"its graph is <.*own_graph.*{GRAPH_ADVICE}"),
        (mmcrf(graph=lambda n, rng: [(0, 1)]), f"its graph is <.*{GRAPH_ADVICE}"),
        (ensemble(graph=[own_graph] * 3), rf"its graph\[0\] is <.*{GRAPH_ADVICE}"),
        (ensemble(graph=nx.path_graph(5)), f"its graph is .*Graph.*{GRAPH_ADVICE}"),
        (
            make_pipeline(StandardScaler(), ensemble(kernel=own_kernel)),
            rf"this Pipeline .* its steps\[1\]\[1\]\.kernel is.*{KERNEL_ADVICE}",
        ),
        (
            make_pipeline(FunctionTransformer(own_kernel), ensemble()),
            rf"its steps\[0\]\[1\]\.func is .*own_kernel.*{OTHER_ADVICE}",
        ),
        (OwnClassifier(), f"it needs .*OwnClassifier.*{OTHER_ADVICE}"),
        (ensemble(C=1j), f"cannot be saved: .*{OTHER_ADVICE}"),
        (
            ensemble(random_state=np.random.PCG64(0)),
            f"random_state is .*{OTHER_ADVICE}",
        ),
        (GridSearchCV(ensemble(), {}, scoring=own_kernel), "search.best_estimator_"),
        (MMCRFClassifier, "takes an estimator.*got <class.*Pass the fitted object"),
        ({"model": 1}, "takes an estimator .*; got {'model': 1}"),
    ],
)
def test_a_model_that_load_would_refuse_is_not_saved(model, message, path):
    with pytest.raises(ModelFileError, match=message):
        save(model, path)
    assert not os.listdir(path.parent)


@pytest.mark.parametrize("graph", [own_graph, nx.path_graph(5), [own_graph] * 3])
def test_after_the_advice_about_graphs_the_model_can_be_saved(graph, path):
    model = ensemble(graph=graph).fit(X, Y)
    with pytest.raises(ModelFileError, match="set_params"):
        save(model, path)
    model.set_params(graph=model.graphs_)
    assert_same_bits(reloaded(model, path).predict(X_new), model.predict(X_new))


# --- writing files -------------------------------------------------------------------


def test_a_file_is_replaced_by_another(path):
    save(mmcrf(C=1.0), path)
    save(mmcrf(C=2.0), path)
    assert load(path).C == 2.0
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("no space left")])
@pytest.mark.parametrize("step", ["os.fsync", "os.replace"])
@pytest.mark.parametrize("is_first", [True, False])
def test_an_interrupted_save_changes_no_file(error, step, is_first, path, monkeypatch):
    if not is_first:
        save(mmcrf(C=1.0), path)
    before = {name.name: name.read_bytes() for name in path.parent.iterdir()}

    def fail(*args):
        raise error

    with monkeypatch.context() as context:
        context.setattr(step, fail)
        with pytest.raises((KeyboardInterrupt, OSError)):
            save(mmcrf(C=2.0), path)
    assert {name.name: name.read_bytes() for name in path.parent.iterdir()} == before


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_permissions_follow_the_umask_and_are_kept_on_replacement(path):
    old = os.umask(0o027)
    try:
        save(mmcrf(), path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o600)
    save(mmcrf(), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")
def test_a_symbolic_link_is_followed(path, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(path)
    save(mmcrf(C=2.0), link)
    assert link.is_symlink()
    assert load(path).C == load(link).C == 2.0


def test_a_folder_is_not_overwritten(tmp_path):
    with pytest.raises(ModelFileError, match=r"is a folder\. Choose the name"):
        save(mmcrf(), tmp_path)
    assert tmp_path.is_dir()


@pytest.mark.skipif(os.name != "posix", reason="pipes are files on POSIX only")
def test_a_pipe_is_neither_written_nor_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ModelFileError, match=r"is not an ordinary file\. Choose"):
        save(mmcrf(), pipe)
    with pytest.raises(ModelFileError, match="is not an ordinary file"):
        load(pipe)


def test_the_folder_must_exist(tmp_path):
    with pytest.raises(ModelFileError, match=r"no folder .*missing to .* Make it"):
        save(mmcrf(), tmp_path / "missing" / "model")
    assert not os.listdir(tmp_path)


# --- header, versions, extras -------------------------------------------------------


def test_a_file_made_by_hand_can_be_loaded(path):
    path.write_bytes(model_file(skops.io.dumps(mmcrf(C=5.0))))
    assert load(path).C == 5.0


def test_the_header_describes_the_file(path):
    model = make_pipeline(StandardScaler(), mmcrf()).fit(X, Y)
    save(model, path)
    found = describe(path)
    assert found.model == "sklearn.pipeline.Pipeline"
    assert found.versions["spanforest"] == spanforest.__version__
    assert found.versions["numpy"] == np.__version__
    assert found.versions["scikit-learn"] == sklearn.__version__
    first, second, payload = path.read_bytes().split(b"\n", 2)
    assert json.loads(first)["version"] == FORMAT_VERSION
    assert second.decode() == hashlib.sha256(first + b"\n").hexdigest()
    assert found.payload_bytes == len(payload)
    assert found.payload_sha256 == hashlib.sha256(payload).hexdigest()


def test_one_warning_names_another_version_of_scikit_learn(path, monkeypatch):
    monkeypatch.setattr("sklearn.base.__version__", "1.2.3")  # the scaler notes it too
    model = make_pipeline(StandardScaler(), mmcrf()).fit(X, Y)
    payload = skops.io.dumps(model)
    monkeypatch.undo()
    path.write_bytes(model_file(payload, versions={"scikit-learn": "1.2.3"}))
    message = f"scikit-learn 1.2.3; this is scikit-learn {sklearn.__version__}. Compare"
    with pytest.warns(UserWarning, match=message) as caught:
        again = load(path)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert_same_bits(again.predict(X_new), model.predict(X_new))


def test_a_model_that_cannot_be_built_says_which_versions_differ(path):
    model = mmcrf().fit(X, Y)
    del model.graph_
    payload = skops.io.dumps(model)
    versions = {"scikit-learn": sklearn.__version__, "spanforest": "0.0.1"}
    path.write_bytes(model_file(payload, versions=versions))
    message = r"graph_.*It was saved with spanforest 0\.0\.1 \(here: "
    with pytest.raises(ModelFileError, match=message):
        load(path)


def test_without_skops_the_message_names_the_extra(path, monkeypatch):
    save(mmcrf(), path)
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for call in (partial(save, mmcrf(), path), partial(load, path)):
        with pytest.raises(ImportError, match=r'pip install "spanforest\[save\]"'):
            call()
    assert describe(path).model == "spanforest.mmcrf.MMCRFClassifier"
