"""Hostile files: no code in them is run, and no index in them is trusted."""

import copy
import io
import pickle
import sys
import warnings
import zipfile
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import skops.io
from model_files import (
    DAMAGED,
    GRADES,
    Exploit,
    X,
    Y,
    archive,
    array_node,
    assert_not_built,
    dict_node,
    ensemble,
    file_of_schema,
    json_node,
    list_node,
    members_of,
    mmcrf,
    model_file,
    model_node,
    node,
    tuple_node,
)
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR

from spanforest import (
    MMCRFClassifier,
    RandomGraphEnsembleClassifier,
    RandomGraphEnsembleClassifierCV,
    _model_file_checks,
)
from spanforest.graphs import GENERATORS, LabelGraph
from spanforest.kernels import ForestKernel
from spanforest.metrics import MEASURES
from spanforest.paper import baselines
from spanforest.paper.baselines import AdaBoostMHClassifier, PerLabelClassifier
from spanforest.persistence import ModelFileError, load, save

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.spanforest"


# --- trusted names -----------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(_model_file_checks.TRUSTED))
def test_every_trusted_name_belongs_to_a_function_or_class(name):
    module, _, attribute = name.rpartition(".")
    trusted = getattr(import_module(module), attribute)
    assert trusted.__qualname__ == attribute
    assert trusted.__module__ == module


def test_every_estimator_generator_and_measure_of_the_package_is_trusted():
    classes = [
        MMCRFClassifier,
        RandomGraphEnsembleClassifier,
        RandomGraphEnsembleClassifierCV,
        *(getattr(baselines, name) for name in baselines.__all__),
    ]
    needed = [one for one in classes if isinstance(one, type)]
    needed += [
        *GENERATORS.values(),
        *(measure.function for measure in MEASURES.values()),
    ]
    assert len(needed) >= 15
    names = {f"{one.__module__}.{one.__qualname__}" for one in needed}
    assert names <= _model_file_checks.TRUSTED


# --- code in files -------------------------------------------------------------------


@pytest.fixture
def sentinel(tmp_path):
    """A path that code in the file would create; the test fails if it exists."""
    folder = tmp_path / "outside"
    folder.mkdir()
    yield folder / "ran"
    assert not (folder / "ran").exists()


def test_a_schema_made_by_hand_can_be_loaded(path):
    path.write_bytes(file_of_schema(model_node(C=json_node(3.0))))
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
def test_a_file_that_asks_for_an_untrusted_type_is_refused(call, name, path, sentinel):
    argument = {
        "builtins.eval": f"open({str(sentinel)!r}, 'w')",
        "builtins.exec": f"open({str(sentinel)!r}, 'w')",
    }.get(name, f"touch {sentinel}")
    for schema in (
        model_node(kernel=call(name, [json_node(argument)])),
        model_node(graph=list_node(call(name, [json_node(argument)]))),
        call(name, [json_node(argument)]),
    ):
        path.write_bytes(file_of_schema(schema))
        with pytest.raises(ModelFileError, match=f"asks for|{DAMAGED}") as caught:
            load(path)
        if "asks for" in str(caught.value):
            assert name.rpartition(".")[2] in str(caught.value)
            assert "None of its code was run" in str(caught.value)
        assert not sentinel.exists()


def test_the_module_of_a_refused_type_is_not_imported(
    path, sentinel, tmp_path, monkeypatch
):
    folder = tmp_path / "modules"
    folder.mkdir()
    code = f"open({str(sentinel)!r}, 'w')\nclass Evil: pass\n"
    (folder / "evil_module.py").write_text(code)
    monkeypatch.syspath_prepend(folder)
    for call in CALLS.values():
        schema = model_node(kernel=call("evil_module.Evil", []))
        path.write_bytes(file_of_schema(schema))
        with pytest.raises(ModelFileError, match=f"evil_module.Evil|{DAMAGED}"):
            load(path)
    assert "evil_module" not in sys.modules


def test_an_object_with_its_own_reduce_is_refused(path, sentinel):
    try:
        payload = skops.io.dumps(mmcrf(kernel=Exploit(sentinel)))
    except Exception:  # skops may refuse to write it, with any error
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
    path.write_bytes(file_of_schema(schema, {"1.npy": content.getvalue()}))
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


def test_messages_show_names_from_a_file_printable_and_cut(path):
    names = [f"evil.{letter}\x1b[2J{'x' * 10**5}" for letter in "abcdefgh"]
    parts = [node("FunctionNode", name, content=name) for name in names]
    path.write_bytes(file_of_schema(model_node(kernel=list_node(*parts))))
    with pytest.raises(ModelFileError, match=r"asks for evil\.a") as caught:
        load(path)
    assert len(str(caught.value)) < 1500
    assert str(caught.value).isprintable()


def test_a_file_without_a_model_is_refused(path):
    path.write_bytes(file_of_schema(dict_node(C=json_node(1.0))))
    with pytest.raises(ModelFileError, match="holds a dict, not an estimator"):
        load(path)


# --- searches ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def search():
    kernels = ["linear", ForestKernel(5), ["linear", "rbf"]]
    return RandomGraphEnsembleClassifierCV(
        2, kernels=kernels, Cs=[1.0], losses="edge", offsets=0, random_state=0
    ).fit(X, Y)


def test_what_was_chosen_among_what_is_saved(search, path):
    fitted = search
    save(fitted, path)
    again = load(path)
    assert again.chosen_ == fitted.chosen_
    assert str(again.best_params_) == str(fitted.best_params_)
    assert again.cv_results_.keys() == fitted.cv_results_.keys()
    for name, column in fitted.cv_results_.items():
        assert str(again.cv_results_[name]) == str(column), name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("best_index_", 10**6),
        ("best_index_", -1),
        ("best_index_", None),
        ("params", []),
        ("params", [{"C": 1.0}] * 3),
        ("split1_test_score", np.zeros(2)),
    ],
)
def test_results_of_a_search_that_do_not_fit_are_refused(search, path, name, value):
    fitted = copy.deepcopy(search)
    if name in fitted.cv_results_:
        fitted.cv_results_[name] = value
    else:
        setattr(fitted, name, value)
    path.write_bytes(model_file(skops.io.dumps(fitted)))
    with pytest.raises(ModelFileError, match="candidates and their scores do not fit"):
        load(path)


# --- archives ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("../outside/ran", "/outside/ran", "..\\ran", "C:ran", "a/../../ran"),
        *("folder/", "..", ".hidden"),
    ],
)
def test_a_member_name_that_is_a_path_is_refused(name, path, sentinel):
    path.write_bytes(model_file(archive({**members_of(mmcrf()), name: b"x"})))
    with pytest.raises(ModelFileError, match="a member has the name"):
        load(path)


def test_two_members_with_the_same_name_are_refused(path):
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


def test_an_archive_that_would_unpack_to_far_more_bytes_is_refused(path, monkeypatch):
    monkeypatch.setattr(_model_file_checks, "ALWAYS_ALLOWED", 2**20)
    path.write_bytes(model_file(archive({**members_of(mmcrf()), "1.npy": ZEROS})))
    with pytest.raises(ModelFileError, match=BOMB):
        load(path)


def test_the_size_of_an_archive_inside_the_archive_counts(path, monkeypatch):
    monkeypatch.setattr(_model_file_checks, "ALWAYS_ALLOWED", 2**20)
    inner = archive({"data.npy": ZEROS})
    path.write_bytes(model_file(archive({**members_of(mmcrf()), "1.npz": inner})))
    with pytest.raises(ModelFileError, match=BOMB):
        load(path)


def test_an_archive_that_declares_less_than_it_holds_is_refused(path, monkeypatch):
    monkeypatch.setattr(_model_file_checks, "ALWAYS_ALLOWED", 2**20)
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
    path.write_bytes(file_of_schema(schema, {"1.npy": content.getvalue()}))
    with pytest.raises(ModelFileError, match="cannot be built"):
        load(path)


# --- objects that do not fit together ------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [["cell_coef_"], ["cell_intercept_"], ["cell_coef_", "cell_intercept_"]],
)
@pytest.mark.parametrize("make", [mmcrf, ensemble])
def test_weights_of_another_graph_are_refused(make, names, path):
    model = make().fit(X, Y)
    for name in names:
        setattr(model, name, getattr(model, name)[..., :-1].copy())
    assert_not_built(model, path, "weights and its graph do not fit together")


def test_weights_of_a_member_that_do_not_fit_its_graph_are_refused(path):
    model = ensemble().fit(X, Y)
    model.estimators_[1].cell_coef_ = model.estimators_[1].cell_coef_[:, :-1].copy()
    assert_not_built(model, path, "weights and its graph do not fit together")


def test_a_graph_over_other_labels_is_refused(path):
    model = mmcrf().fit(X, Y)
    model.graph_ = LabelGraph(6, [(0, 1)])
    assert_not_built(model, path, "one number per label of the graph, 6; got 5")


def test_members_over_other_labels_are_refused(path):
    chain = ensemble(graph=[(0, 1), (1, 2)])
    model, other = clone(chain).fit(X, Y[:, :3]), clone(chain).fit(X, GRADES)
    model.estimators_[1] = other.estimators_[1]
    assert_not_built(model, path, "graph and its labels do not fit together")


def test_a_label_without_values_is_refused(path):
    model = mmcrf().fit(X, Y)
    model._coding.classes[0] = np.empty(0, dtype=int)
    n_cells = model._factors.n_cells
    model.cell_coef_ = model.cell_coef_[:, :n_cells].copy()
    model.cell_intercept_ = model.cell_intercept_[:n_cells].copy()
    assert_not_built(model, path, "graph and its labels do not fit together")


@pytest.mark.parametrize(
    "edges", [[[0, 9]], [[-1, 0]], [[1, 1]], [[1, 0]], [[0, 1], [0, 1]]], ids=str
)
def test_a_graph_that_its_constructor_would_refuse_is_refused(edges, path):
    content = io.BytesIO()
    np.save(content, np.array(edges))
    attributes = dict_node(n_labels=json_node(3), edges=array_node("1.npy"))
    graph = node(
        "ObjectNode", "spanforest.graphs._label_graph.LabelGraph", content=attributes
    )
    path.write_bytes(
        file_of_schema(model_node(graph=graph), {"1.npy": content.getvalue()})
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
        spoil("children_left", 0),  # its own child: an endless walk
        spoil("children_left", -1),  # one child only
        spoil("children_right", -5),
        spoil("feature", 10**6),
        spoil("feature", -2),
        one_child_twice,
    ],
)
def test_a_decision_tree_with_wrong_indices_is_refused(change, path):
    model = AdaBoostMHClassifier(n_estimators=2, random_state=0).fit(X, Y)
    change(model.estimators_[1].tree_)
    assert_not_built(model, path, "one of its trees is not a tree")


def test_a_tree_deeper_than_it_says_is_refused(path):
    model = AdaBoostMHClassifier(n_estimators=2, random_state=0).fit(X, Y)
    tree = model.estimators_[1].tree_
    tree.__setstate__({**tree.__getstate__(), "max_depth": tree.max_depth - 1})
    assert_not_built(model, path, "one of its trees is not a tree")


@pytest.mark.parametrize("n_features", [3, 5])
def test_a_tree_over_other_features_is_refused(n_features, path):
    model = AdaBoostMHClassifier(n_estimators=2, random_state=0).fit(X, Y)
    model.estimators_[1].n_features_in_ = n_features
    assert_not_built(model, path, "one of its trees is not a tree")


def svm(kernel="rbf"):
    inputs = X @ X.T if kernel == "precomputed" else X
    return PerLabelClassifier(SVC(kernel=kernel)).fit(inputs, Y)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_support_vector_machines_can_be_saved(kernel, path):
    save(svm(kernel), path)
    inputs = X @ X.T if kernel == "precomputed" else X
    np.testing.assert_array_equal(
        load(path).predict(inputs), svm(kernel).predict(inputs)
    )


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("_n_support", lambda counts: counts + np.array([-99, 99])),
        ("_n_support", lambda counts: counts[:1]),
        ("support_", lambda rows: rows - 99),
        ("support_", lambda rows: rows + 99),
        ("support_vectors_", lambda vectors: vectors[:, :2]),
        ("_dual_coef_", lambda dual: dual[:, :2]),
        ("_intercept_", lambda intercept: intercept[:0]),
        ("_probA", lambda _: np.zeros(5)),
    ],
)
def test_a_support_vector_machine_with_wrong_sizes_is_refused(name, change, path):
    model = svm()
    machine = model.estimators_[0]
    setattr(machine, name, change(getattr(machine, name)))
    assert_not_built(model, path, "one of its support vector machines is not sound")


def test_a_machine_of_another_kind_is_refused(path):
    assert_not_built(SVR().fit(X, X[:, 0]), path, "a SVR cannot be checked")


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (KNeighborsClassifier(algorithm="brute"), "_fit_X"),
        (KMeans(2, n_init=1, random_state=0), "cluster_centers_"),
    ],
)
def test_examples_with_other_numbers_of_features_are_refused(model, name, path):
    model.fit(X, Y)
    save(model, path)
    setattr(model, name, getattr(model, name)[:, :2].copy())
    assert_not_built(model, path, f"its {name} and its number of features do not fit")
