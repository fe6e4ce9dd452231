"""Model files: what comes back, what is refused, and that nothing in them is run."""

import hashlib
import io
import itertools
import json
import os
import pickle
import stat
import sys
import warnings
import zipfile
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import spanforest
from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest import persistence as persistence_module
from spanforest.ensemble import AGGREGATIONS
from spanforest.graphs import GENERATORS, LabelGraph, random_pairing
from spanforest.kernels import tanimoto_kernel
from spanforest.paper import baselines
from spanforest.paper.baselines import (
    AdaBoostMHClassifier,
    MultiTaskFeatureClassifier,
    PerLabelClassifier,
    bagged_svm,
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

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 4))
X_new = rng.normal(size=(25, 4))
Y = (X @ rng.normal(size=(4, 5)) + rng.normal(size=(40, 5)) > 0).astype(int)
WORDS = np.array(["no", "yes"])[Y]
GRADES = np.digitize(X[:, :3], [-0.5, 0.5])
TEXTS = [" ".join(rng.choice(list("abcdefgh"), size=6)) for _ in range(40)]


def frame(array, name="column"):
    return pd.DataFrame(array, columns=[f"{name} {j}" for j in range(array.shape[1])])


def ensemble(**params):
    defaults = {"n_estimators": 3, "tol": 0.5, "max_iter": 3, "random_state": 0}
    return RandomGraphEnsembleClassifier(**{**defaults, **params})


def mmcrf(**params):
    return MMCRFClassifier(**{"tol": 0.5, "max_iter": 3, "random_state": 0, **params})


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
    "rbf": Case(ensemble(kernel="rbf")),
    "rbf, unit diagonal": Case(ensemble(kernel="poly", normalize_kernel=True)),
    "precomputed": Case(ensemble(kernel="precomputed"), X @ X.T, Y, X_new @ X.T),
    "sparse linear": Case(ensemble(), SPARSE[0], Y, SPARSE[1]),
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
    "bagging": Case(bagged_svm(n_estimators=3, random_state=0, kernel="rbf")),
    "sparse bagging": Case(
        bagged_svm(n_estimators=3, random_state=0), SPARSE[0], Y, SPARSE[1]
    ),
    "bagging, strided X": Case(bagged_svm(n_estimators=3), np.repeat(X, 2, 1)[:, ::2]),
    "trees per label": Case(PerLabelClassifier(DecisionTreeClassifier(random_state=0))),
}


def assert_same_bits(one, other):
    assert one.dtype == other.dtype
    assert_array_equal(one, other)
    if one.dtype.kind == "f":
        assert one.tobytes() == other.tobytes()


def answers(model, X):
    """Everything a fitted model says of some examples."""
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


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_a_file_of_the_first_format_predicts_as_it_did(kernel, path):
    width = 1 / X.shape[1]  # which gamma=None stood for
    model = ensemble(kernel=kernel, gamma=width).fit(X, Y)
    expected = model.decision_function(X_new)
    for part in (model, *model.estimators_):
        part.gamma = None
        del part.gamma_
    path.write_bytes(model_file(skops.io.dumps(model), version=1))
    again = load(path)
    assert_same_bits(again.decision_function(X_new), expected)
    for part in (again, *again.estimators_):
        assert part.gamma_ == (None if kernel == "linear" else width)
        assert part.gamma is None
    # fitted again, it is as new
    new = ensemble(kernel=kernel).fit(X, Y)
    assert again.fit(X, Y).gamma_ == new.gamma_
    assert_same_bits(again.decision_function(X_new), new.decision_function(X_new))


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


@pytest.mark.parametrize("make", RANDOM_STATES.values(), ids=RANDOM_STATES)
def test_random_states_go_on_where_they_were(make, path):
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


def test_what_members_share_is_stored_once(path):
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
    monkeypatch.setattr(persistence_module, "_ALWAYS_ALLOWED", 0)
    zeros = np.zeros((1000, 1000))
    assert_same_bits(reloaded(mmcrf(graph=zeros), path).graph, zeros)


# --- what is not saved ---------------------------------------------------------------


def own_kernel(X, Y):
    return X @ Y.T


def own_graph(n_labels, rng):
    return [(0, 1)]


class OwnClassifier(MMCRFClassifier):
    pass


KERNEL_ADVICE = 'Fit again with the name of a kernel.*or "precomputed"'
GRAPH_ADVICE = r"Pass edge lists.*set_params\(graph=model.graphs_\) needs no new fit"
OTHER_ADVICE = r"Replace it, or save the part without it.*can run any code"


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
def test_what_load_would_refuse_is_not_saved(model, message, path):
    with pytest.raises(ModelFileError, match=message):
        save(model, path)
    assert not os.listdir(path.parent)


@pytest.mark.parametrize("graph", [own_graph, nx.path_graph(5), [own_graph] * 3])
def test_the_advice_about_graphs_works(graph, path):
    model = ensemble(graph=graph).fit(X, Y)
    with pytest.raises(ModelFileError, match="set_params"):
        save(model, path)
    model.set_params(graph=model.graphs_)
    assert_same_bits(reloaded(model, path).predict(X_new), model.predict(X_new))


# --- written whole or not at all -----------------------------------------------------


def test_a_file_is_replaced_by_another(path):
    save(mmcrf(C=1.0), path)
    save(mmcrf(C=2.0), path)
    assert load(path).C == 2.0
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("no space left")])
@pytest.mark.parametrize("step", ["os.fsync", "os.replace"])
@pytest.mark.parametrize("is_first", [True, False])
def test_an_interrupted_save_leaves_all_as_it_was(
    error, step, is_first, path, monkeypatch
):
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
def test_permissions_are_those_of_any_new_file_and_then_stay(path):
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
def test_a_link_is_followed(path, tmp_path):
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
def test_what_is_no_ordinary_file_is_neither_written_nor_read(tmp_path):
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


# --- files by hand -------------------------------------------------------------------


def model_file(payload: bytes, **changes) -> bytes:
    """A model file as the format describes it, checksums right, fields changed."""
    header = {
        "format": "spanforest-model",
        "version": FORMAT_VERSION,
        "model": "spanforest.mmcrf.MMCRFClassifier",
        "versions": {"spanforest": "0.1.0", "scikit-learn": sklearn.__version__},
        "payload_bytes": len(payload),
        "payload_sha256": hashlib.sha256(payload).hexdigest(),
    }
    header = {**header, **changes}
    kept = {name: value for name, value in header.items() if value is not ...}
    line = json.dumps(kept).encode() + b"\n"
    return line + hashlib.sha256(line).hexdigest().encode() + b"\n" + payload


def archive(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return file.getvalue()


def members_of(model) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(model))) as made:
        return {name: made.read(name) for name in made.namelist()}


def test_a_file_by_hand_is_read(path):
    path.write_bytes(model_file(skops.io.dumps(mmcrf(C=5.0))))
    assert load(path).C == 5.0


def test_the_header_says_what_is_in_the_file(path):
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


# --- damage --------------------------------------------------------------------------

DAMAGED = "is damaged, cut short or altered: .* Copy it again"
NO_MODEL = "is not a spanforest model file: .* Pass a file"


def test_no_bit_can_change_unnoticed(path):
    save(mmcrf(), path)
    whole = path.read_bytes()
    with open(path, "r+b", buffering=0) as file:
        for i, bit in itertools.product(range(len(whole)), range(8)):
            file.seek(i)
            file.write(bytes([whole[i] ^ 1 << bit]))
            with pytest.raises(ModelFileError, match=f"{DAMAGED}|{NO_MODEL}"):
                load(path)
            file.seek(i)
            file.write(whole[i : i + 1])
    assert load(path).C == mmcrf().C


def test_no_file_cut_short_is_loaded(path):
    save(mmcrf(), path)
    for length in reversed(range(path.stat().st_size)):
        os.truncate(path, length)
        with pytest.raises(ModelFileError, match=f"{DAMAGED}|{NO_MODEL}"):
            load(path)


@pytest.mark.parametrize("read", [load, describe])
def test_a_wrong_size_is_seen_without_the_model(read, path):
    save(mmcrf(), path)
    whole = path.read_bytes()
    for altered in (whole[:-1], whole + b"\0"):
        path.write_bytes(altered)
        with pytest.raises(ModelFileError, match=r"should have \d+ bytes and has \d+"):
            read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"\n", r"it starts with b'\\n'"),
        (b"hello", "it starts with b'hello'"),
        (b"[]\n", "it starts with"),
        (b'{"format": "other"}\n', "it starts with"),
        (pickle.dumps(MMCRFClassifier()), "it is a pickle, which is never loaded"),
        (skops.io.dumps(MMCRFClassifier()), "zip archive, perhaps of skops itself"),
        (archive({"../../etc/passwd": b"x"}), "it is a zip archive"),
        (bytes(2**20), r"it starts with b'\\x00"),
    ],
)
def test_other_files_are_told_apart(content, message, path):
    path.write_bytes(content)
    for read in (load, describe):
        with pytest.raises(ModelFileError, match=f"not a spanforest model.*{message}"):
            read(path)


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path):
    with pytest.raises(ModelFileError, match=r"does not exist\. Check the path"):
        load(tmp_path / "missing")
    with pytest.raises(ModelFileError, match="is not an ordinary file"):
        load(tmp_path)


@pytest.mark.parametrize("version", [FORMAT_VERSION + 1, 10**30])
def test_a_newer_format_is_named(version, path):
    path.write_bytes(model_file(b"of a later age", version=version))
    message = f"has format version {version}; spanforest .* reads .* up to 2. Install"
    for read in (load, describe):
        with pytest.raises(ModelFileError, match=message):
            read(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"version": ...},
        {"version": "1"},
        {"version": 0},
        {"version": None},
        {"model": ...},
        {"model": "a\x1b[31mb"},
        {"versions": ["0.1.0"]},
        {"versions": {"scikit-learn": 1}},
        {"versions": {"scikit-learn": "\x1b[2J"}},
        {"payload_bytes": None},
        {"payload_sha256": ...},
    ],
    ids=str,
)
def test_a_header_that_lacks_something_is_refused(changes, path):
    path.write_bytes(model_file(skops.io.dumps(mmcrf()), **changes))
    with pytest.raises(ModelFileError, match="its header lacks something"):
        load(path)


@pytest.mark.parametrize("rest", [b"}}", b', "a": \xff}', b', "a": ' + b"[" * 60000])
def test_a_header_that_is_no_json_is_refused(rest, path):
    line = b'{"format": "spanforest-model"' + rest + b"\n"
    path.write_bytes(line + hashlib.sha256(line).hexdigest().encode() + b"\n")
    with pytest.raises(ModelFileError, match="its header is not JSON"):
        load(path)


def test_a_header_without_end_is_not_read_into_memory(path):
    path.write_bytes(b'{"format": "spanforest-model", ' + b" " * 2**20)
    with pytest.raises(ModelFileError, match=DAMAGED):
        load(path)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"no archive",
        archive({}),
        archive({"other.json": b"{}"}),
        archive({"schema.json": b""}),
        archive({"schema.json": b"[]"}),
        archive({"schema.json": b"{}"}),
        archive({"schema.json": b"[" * 100_000}),
        archive({"schema.json": b'{"__loader__": "NewNode", "protocol": 2}'}),
        archive({"schema.json": b'{"__loader__": "ListNode", "protocol": 99}'}),
    ],
    ids=range(10),
)
def test_a_payload_that_skops_did_not_write_is_refused(payload, path):
    path.write_bytes(model_file(payload))
    with pytest.raises(ModelFileError, match=f"{DAMAGED}|cannot be built"):
        load(path)


# --- hostile files: nothing in them is run -------------------------------------------

numbers = itertools.count(1)


def node(loader, name, **fields):
    """A node of skops' schema for the thing called `name`."""
    module, _, name = name.rpartition(".")
    number = {"__id__": next(numbers)}
    return {"__loader__": loader, "__module__": module, "__class__": name} | (
        number | fields
    )


def json_node(value):
    text = json.dumps(value)
    return node("JsonNode", "builtins.str", content=text, is_json=True)


def tuple_node(*items):
    return node("TupleNode", "builtins.tuple", content=list(items))


def list_node(*items):
    return node("ListNode", "builtins.list", content=list(items))


def dict_node(**items):
    types = [node("TypeNode", "builtins.str") for _ in items]
    return node("DictNode", "builtins.dict", content=items, key_types=list_node(*types))


def array_node(file):
    return node("NdArrayNode", "numpy.ndarray", type="numpy", file=file)


def model_node(**attributes):
    """A schema for an MMCRFClassifier with these attributes."""
    name = "spanforest.mmcrf.MMCRFClassifier"
    return node("ObjectNode", name, content=dict_node(**attributes))


def hostile_file(schema, files=None) -> bytes:
    top = {**schema, "protocol": 2, "_skops_version": skops.__version__}
    members = {"schema.json": json.dumps(top).encode(), **(files or {})}
    return model_file(archive(members))


class Exploit:
    """Makes a file when it is unpickled, or called."""

    def __init__(self, sentinel):
        self.sentinel = sentinel

    def __reduce__(self):
        return Path.touch, (self.sentinel,)


@pytest.fixture
def sentinel(tmp_path):
    """A path that code of the file would make; checked after the test."""
    folder = tmp_path / "outside"
    folder.mkdir()
    yield folder / "ran"
    assert not (folder / "ran").exists()


def test_the_schema_made_by_hand_is_one_that_loads(path):
    path.write_bytes(hostile_file(model_node(C=json_node(3.0))))
    assert load(path).C == 3.0


CALLS: dict[str, Callable[[str, Any], dict]] = {
    "function": lambda name, args: node("FunctionNode", name, content=name),
    "type": lambda name, args: node("TypeNode", name),
    "object": lambda name, args: node("ObjectNode", name, content=dict_node()),
    "constructor": lambda name, args: node(
        "ConstructorFromReduceNode", name, content=tuple_node(*args)
    ),
    "partial": lambda name, args: node(
        "PartialNode",
        "functools.partial",
        content={
            "func": node("FunctionNode", name, content=name),
            "args": tuple_node(*args),
            "kwds": dict_node(),
            "namespace": json_node(None),
        },
    ),
    "operator": lambda name, args: node(
        "OperatorFuncNode", name, attrs=tuple_node(*args)
    ),
    "method": lambda name, args: node(
        "MethodNode", name, content={"func": "__call__", "obj": json_node(1)}
    ),
    "tree": lambda name, args: node(
        "TreeNode",
        name,
        content=dict_node(),
        constructor=node("TypeNode", name),
        args=tuple_node(*args),
        __reduce__={"args": tuple_node(*args)},
    ),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    "name",
    [
        *("os.system", "posix.system", "builtins.eval", "builtins.exec"),
        *("builtins.getattr", "builtins.__import__", "subprocess.Popen"),
        *("pickle.loads", "joblib.load", "operator.call", "operator.methodcaller"),
        *("pathlib.Path", "pathlib.Path.touch", "numpy.load", "numpy.memmap"),
        *("spanforest.datasets.load_npz", "spanforest.persistence.load"),
    ],
)
def test_a_file_that_asks_for_another_type_is_refused(call, name, path, sentinel):
    argument = {
        "builtins.eval": f"open({str(sentinel)!r}, 'w')",
        "builtins.exec": f"open({str(sentinel)!r}, 'w')",
    }.get(name, f"touch {sentinel}")
    for schema in (
        model_node(kernel=call(name, [json_node(argument)])),
        model_node(graph=list_node(call(name, [json_node(argument)]))),
        call(name, [json_node(argument)]),
    ):
        path.write_bytes(hostile_file(schema))
        with pytest.raises(ModelFileError, match=f"asks for|{DAMAGED}") as caught:
            load(path)
        if "asks for" in str(caught.value):
            assert name.rpartition(".")[2] in str(caught.value)
            assert "Nothing of it was run" in str(caught.value)
        assert not sentinel.exists()


def test_a_refused_type_is_not_even_imported(path, sentinel, tmp_path, monkeypatch):
    folder = tmp_path / "modules"
    folder.mkdir()
    code = f"open({str(sentinel)!r}, 'w')\nclass Evil: pass\n"
    (folder / "evil_module.py").write_text(code)
    monkeypatch.syspath_prepend(folder)
    for call in CALLS.values():
        schema = model_node(kernel=call("evil_module.Evil", []))
        path.write_bytes(hostile_file(schema))
        with pytest.raises(ModelFileError, match=f"evil_module.Evil|{DAMAGED}"):
            load(path)
    assert "evil_module" not in sys.modules


def test_a_class_with_a_reduce_of_its_own_is_refused(path, sentinel):
    try:
        payload = skops.io.dumps(mmcrf(kernel=Exploit(sentinel)))
    except Exception:  # skops may refuse to write it; then there is no such file
        pytest.skip("this skops does not write such objects")
    path.write_bytes(model_file(payload))
    with pytest.raises(ModelFileError, match="asks for"):
        load(path)


def test_a_pickle_under_another_name_is_not_unpickled(path, sentinel):
    path.write_bytes(pickle.dumps(Exploit(sentinel)))
    with pytest.raises(ModelFileError, match="it is a pickle"):
        load(path)
    path.write_bytes(model_file(pickle.dumps(Exploit(sentinel))))
    with pytest.raises(ModelFileError, match=DAMAGED):
        load(path)


def test_a_pickle_inside_an_array_is_not_unpickled(path, sentinel):
    content = io.BytesIO()
    np.save(content, np.array([Exploit(sentinel)], dtype=object), allow_pickle=True)
    schema = model_node(C=array_node("1.npy"))
    path.write_bytes(hostile_file(schema, {"1.npy": content.getvalue()}))
    with pytest.raises(ModelFileError, match="cannot be built"):
        load(path)


def test_a_pickle_inside_a_sparse_matrix_is_not_unpickled(path, sentinel):
    members = members_of(mmcrf(graph=sparse.csr_matrix(np.eye(5))))
    (name,) = (name for name in members if name != "schema.json")
    content = io.BytesIO()
    bad = np.array([Exploit(sentinel)], dtype=object)
    np.savez(content, format=np.array("csr"), data=bad, indices=bad, indptr=bad)
    members[name] = content.getvalue()
    path.write_bytes(model_file(archive(members)))
    with pytest.raises(ModelFileError, match="cannot be built"):
        load(path)


@pytest.mark.parametrize("forest", [RandomForestClassifier(2), ExtraTreesClassifier(2)])
def test_forests_are_neither_saved_nor_loaded(forest, path):
    model = make_pipeline(SelectFromModel(forest), mmcrf()).fit(X, Y[:, 0])
    with pytest.raises(ModelFileError, match="Classifier cannot be checked"):
        save(model, path)
    path.write_bytes(model_file(skops.io.dumps(model)))
    with pytest.raises(ModelFileError, match="Classifier cannot be checked"):
        load(path)


def test_names_from_a_hostile_file_are_made_printable_and_cut(path):
    names = [f"evil.{letter}\x1b[2J{'x' * 10**5}" for letter in "abcdefgh"]
    parts = [node("FunctionNode", name, content=name) for name in names]
    path.write_bytes(hostile_file(model_node(kernel=list_node(*parts))))
    with pytest.raises(ModelFileError, match=r"asks for evil\.a") as caught:
        load(path)
    assert len(str(caught.value)) < 1500
    assert str(caught.value).isprintable()


def test_a_file_with_something_else_than_a_model_is_refused(path):
    path.write_bytes(hostile_file(dict_node(C=json_node(1.0))))
    with pytest.raises(ModelFileError, match="holds a dict, not an estimator"):
        load(path)


# --- hostile archives ----------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("../outside/ran", "/outside/ran", "..\\ran", "C:ran", "a/../../ran"),
        *("folder/", "..", ".hidden"),
    ],
)
def test_a_member_that_points_elsewhere_is_refused(name, path, sentinel):
    path.write_bytes(model_file(archive({**members_of(mmcrf()), name: b"x"})))
    with pytest.raises(ModelFileError, match="a member has the name"):
        load(path)


def test_two_members_of_one_name_are_refused(path):
    file = io.BytesIO(skops.io.dumps(mmcrf()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(file, "a") as made:
            made.writestr("schema.json", b"{}")
    path.write_bytes(model_file(file.getvalue()))
    with pytest.raises(ModelFileError, match="two members have the same name"):
        load(path)


ZEROS = bytes(2**24)
BOMB = "would unpack from .* bytes; at most .* are accepted.*Do not use this file"


def test_an_archive_that_would_unpack_to_far_more_is_refused(path, monkeypatch):
    monkeypatch.setattr(persistence_module, "_ALWAYS_ALLOWED", 2**20)
    path.write_bytes(model_file(archive({**members_of(mmcrf()), "1.npy": ZEROS})))
    with pytest.raises(ModelFileError, match=BOMB):
        load(path)


def test_an_archive_within_the_archive_counts_too(path, monkeypatch):
    monkeypatch.setattr(persistence_module, "_ALWAYS_ALLOWED", 2**20)
    inner = archive({"data.npy": ZEROS})
    path.write_bytes(model_file(archive({**members_of(mmcrf()), "1.npz": inner})))
    with pytest.raises(ModelFileError, match=BOMB):
        load(path)


def test_an_archive_that_declares_less_than_it_holds_is_refused(path, monkeypatch):
    monkeypatch.setattr(persistence_module, "_ALWAYS_ALLOWED", 2**20)
    members = members_of(mmcrf(C=np.zeros(2**21)))
    (name,) = (name for name in members if name != "schema.json")
    payload = bytearray(archive(members))
    declared = len(members[name]).to_bytes(4, "little")
    assert payload.count(declared) == 2  # before the member, and in the directory
    path.write_bytes(model_file(payload.replace(declared, (100).to_bytes(4, "little"))))
    with pytest.raises(ModelFileError, match=f"{DAMAGED}|cannot be built"):
        load(path)


def test_an_array_that_claims_to_be_huge_is_refused(path):
    content = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (2**55,)}
    np.lib.format.write_array_header_1_0(content, header)
    schema = model_node(C=array_node("1.npy"))
    path.write_bytes(hostile_file(schema, {"1.npy": content.getvalue()}))
    with pytest.raises(ModelFileError, match="cannot be built"):
        load(path)


# --- parts that do not fit together --------------------------------------------------


def assert_not_built(model, path, message):
    path.write_bytes(model_file(skops.io.dumps(model)))
    with pytest.raises(ModelFileError, match=f"cannot be built: .*{message}"):
        load(path)


@pytest.mark.parametrize("names", [["coef_"], ["intercept_"], ["coef_", "intercept_"]])
@pytest.mark.parametrize("make", [mmcrf, ensemble])
def test_weights_of_another_graph_are_refused(make, names, path):
    model = make().fit(X, Y)
    for name in names:
        setattr(model, name, getattr(model, name)[..., :-1].copy())
    assert_not_built(model, path, "weights and its graph do not fit together")


def test_weights_of_a_member_are_checked_too(path):
    model = ensemble().fit(X, Y)
    model.estimators_[1].coef_ = model.estimators_[1].coef_[:, :-1].copy()
    assert_not_built(model, path, "weights and its graph do not fit together")


def test_a_graph_over_other_labels_is_refused(path):
    model = mmcrf().fit(X, Y)
    model.graph_ = LabelGraph(6, [(0, 1)])
    assert_not_built(model, path, "graph and its labels do not fit together")


def test_members_over_other_labels_are_refused(path):
    chain = ensemble(graph=[(0, 1), (1, 2)])
    model, other = clone(chain).fit(X, Y[:, :3]), clone(chain).fit(X, GRADES)
    model.estimators_[1] = other.estimators_[1]
    assert_not_built(model, path, "graph and its labels do not fit together")


def test_a_label_without_values_is_refused(path):
    model = mmcrf().fit(X, Y)
    model._coding.classes[0] = np.empty(0, dtype=int)
    n_cells = model._factors.n_cells
    model.coef_ = model.coef_[:, :n_cells].copy()
    model.intercept_ = model.intercept_[:n_cells].copy()
    assert_not_built(model, path, "graph and its labels do not fit together")


@pytest.mark.parametrize(
    "edges", [[[0, 9]], [[-1, 0]], [[1, 1]], [[1, 0]], [[0, 1], [0, 1]]], ids=str
)
def test_a_graph_that_its_constructor_would_refuse_is_refused(edges, path):
    content = io.BytesIO()
    np.save(content, np.array(edges))
    attributes = dict_node(n_labels=json_node(3), edges=array_node("1.npy"))
    graph = node("ObjectNode", "spanforest.graphs.LabelGraph", content=attributes)
    path.write_bytes(
        hostile_file(model_node(graph=graph), {"1.npy": content.getvalue()})
    )
    with pytest.raises(ModelFileError, match="cannot be built"):
        load(path)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix])
def test_a_sparse_matrix_with_indices_outside_is_refused(make, path):
    matrix = make(np.eye(5))
    matrix.indices[2] = 10**6
    assert_not_built(mmcrf(graph=matrix), path, "")


def spoil(name, value):
    def change(tree):
        getattr(tree, name)[0] = value

    return change


def one_child_twice(tree):
    tree.children_left[0] = tree.children_right[0]


@pytest.mark.parametrize(
    "change",
    [
        spoil("children_left", 10**6),
        spoil("children_left", 0),  # its own child: walked for ever
        spoil("children_left", -1),  # one child only
        spoil("children_right", -5),
        spoil("feature", 10**6),
        spoil("feature", -2),
        one_child_twice,
    ],
)
def test_a_tree_that_is_no_tree_is_refused(change, path):
    model = AdaBoostMHClassifier(n_estimators=2, random_state=0).fit(X, Y)
    change(model.estimators_[1].tree_)
    assert_not_built(model, path, "one of its trees is no tree")


def test_a_tree_deeper_than_it_says_is_refused(path):
    model = AdaBoostMHClassifier(n_estimators=2, random_state=0).fit(X, Y)
    tree = model.estimators_[1].tree_
    tree.__setstate__({**tree.__getstate__(), "max_depth": tree.max_depth - 1})
    assert_not_built(model, path, "one of its trees is no tree")


@pytest.mark.parametrize("n_features", [3, 5])
def test_a_tree_over_other_features_is_refused(n_features, path):
    model = AdaBoostMHClassifier(n_estimators=2, random_state=0).fit(X, Y)
    model.estimators_[1].n_features_in_ = n_features
    assert_not_built(model, path, "one of its trees is no tree")


# --- versions, names, extras ---------------------------------------------------------


def test_another_version_of_scikit_learn_is_named_in_one_warning(path, monkeypatch):
    monkeypatch.setattr("sklearn.base.__version__", "1.2.3")  # noted by the scaler too
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


def trusted_names():
    return sorted(persistence_module._TRUSTED)


@pytest.mark.parametrize("name", trusted_names())
def test_every_trusted_name_is_the_name_of_something(name):
    module, _, attribute = name.rpartition(".")
    found = getattr(import_module(module), attribute)
    assert found.__qualname__ == attribute
    assert found.__module__ == module


def test_every_estimator_and_generator_of_the_package_is_trusted():
    classes = [MMCRFClassifier, RandomGraphEnsembleClassifier]
    classes += [getattr(baselines, name) for name in baselines.__all__]
    things = [c for c in classes if isinstance(c, type)] + list(GENERATORS.values())
    assert len(things) >= 11
    names = {f"{thing.__module__}.{thing.__qualname__}" for thing in things}
    assert names <= set(trusted_names())


def test_without_skops_the_message_names_the_extra(path, monkeypatch):
    save(mmcrf(), path)
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for call in (partial(save, mmcrf(), path), partial(load, path)):
        with pytest.raises(ImportError, match=r'pip install "spanforest\[save\]"'):
            call()
    assert describe(path).model == "spanforest.mmcrf.MMCRFClassifier"
