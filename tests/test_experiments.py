"""Rows, inputs, protocols and the run: nothing is lost, repeated, or learned twice."""

import errno
import gc
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import time
import venv
from collections import Counter
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import Parallel, delayed
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from spanforest._blas import single_blas_thread
from spanforest.datasets import Dataset, make_circle
from spanforest.diagnostics import edge_couplings, graph_of
from spanforest.paper import (
    MEASURES,
    Experiment,
    RowFile,
    StoredGraph,
    _circumstances,
    _inputs,
    _label_graphs,
    _protocols,
    _rows,
    _run,
    identity,
    performance_table,
    run,
)
from spanforest.paper._folds import select_folds
from spanforest.paper._inputs import Fold, FoldKernel, _Stacked
from spanforest.paper._methods import (
    LEARNERS,
    Effort,
    fit_and_score,
    has_trees,
    methods_of,
    run_learner,
    score,
)
from spanforest.paper._paper import METHODS, PAPER_METHODS
from spanforest.paper._protocols import (
    CHOICE_EFFORT,
    PAPER,
    PROTOCOLS,
    TUNED,
    available_learners,
)

TINY = Effort(n_trees=2, n_bags=2, n_rounds=2, n_chains=2, n_forest=3)
PEERS = {"boomer": "mlrl.boosting", "mlknn": "skmultilearn.adapt"}
KINDS = ("dense", "constant", "sparse", "text", "tanimoto", "kernel")


def make_dataset(kind="dense", n_samples=24, n_labels=3, seed=0):
    """Small data of any kind that the experiments meet."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n_samples, n_labels)) < 0.4).astype(int)
    X = rng.normal(size=(n_samples, 5)) * [1, 10, 0.1, 3, 1] + [5, 0, -1, 0, 0]
    if kind == "constant":
        X[:, 2] = 1.0
    if kind in ("sparse", "text", "tanimoto"):
        counts = rng.poisson(0.5, size=(n_samples, 12))
        counts[:, 0] += 1  # no example without features
        bits = np.minimum(counts, 1) if kind == "tanimoto" else counts
        X = sparse.csr_array(bits.astype(float))
    if kind == "kernel":
        return Dataset(kind, Y, K=(X @ X.T + 3.0) ** 2)
    return Dataset(
        kind,
        Y,
        X,
        is_text=kind == "text",
        kernel="tanimoto" if kind == "tanimoto" else "linear",
    )


def make_fold(kind="dense", scaling="unit", n_train=16, seed=0):
    rows = np.random.default_rng(seed).permutation(24)
    return Fold(make_dataset(kind, seed=seed), rows[:n_train], rows[n_train:], scaling)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Neither for the disk nor for threads that other processes hold up."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    with single_blas_thread():
        yield


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


# Rows


def numbered_rows(min_size=0):
    values = st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        ),
        max_leaves=5,
    )
    contents = st.fixed_dictionaries({"scores": values, "é": values})
    return st.lists(contents, min_size=min_size, max_size=5).map(
        lambda rows: [{**row, "fold": number} for number, row in enumerate(rows)]
    )


@given(batches=st.lists(numbered_rows(), max_size=3))
@settings(deadline=None, max_examples=30)
def test_rows_are_read_as_they_were_appended(tmp_path_factory, batches):
    file = RowFile(tmp_path_factory.mktemp("rows") / "new" / "folder" / "rows.jsonl")
    expected = []
    assert file.read() == []
    for seed, batch in enumerate(batches):
        rows = [{**row, "seed": seed} for row in batch]
        file.append(rows)
        expected += rows
        assert file.read() == list(file) == expected


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("machine", "Abacus"),
        ("machine.cores", "two"),
        ("versions", ["2.0"]),
        ("versions.numpy", 2.0),
        ("scores", 0.5),
        ("finished", 2026),
        ("dataset", ["yeast"]),
        ("gap", "small"),
    ],
)
def test_a_row_with_a_damaged_field_is_named(tmp_path, field, value):
    path = tmp_path / "rows.jsonl"
    name, _, part = field.partition(".")
    damaged = {"kind": "fold", name: {part: value} if part else value}
    RowFile(path).append([{"kind": "fold", "machine": None}, damaged])
    with pytest.raises(
        ValueError, match=f"rows.jsonl, line 2: .* '{field}' .* damaged"
    ):
        RowFile(path).read()


def test_a_file_cut_at_any_byte_loses_the_cut_row_alone(tmp_path):
    rows = [{"kind": "fold", "fold": k, "text": "é\n" * k} for k in range(3)]
    path = tmp_path / "rows.jsonl"
    RowFile(path).append(rows)
    whole = path.read_bytes()
    ends = [k for k, byte in enumerate(whole) if byte == ord("\n")]
    assert len(ends) == 3
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        left = [row for row, end in zip(rows, ends, strict=True) if end <= cut]
        assert RowFile(path).read() == left, cut

        new = {"kind": "fold", "fold": 10 + cut}
        RowFile(path).append([new])

        assert RowFile(path).read() == [*left, new], cut
        lines = path.read_bytes().split(b"\n")
        assert [json.loads(line) for line in lines[:-1]] == [*left, new], cut
        assert lines[-1] == b""


@given(
    rows=numbered_rows(min_size=1),
    new=numbered_rows(),
    share=st.floats(0, 1, exclude_max=True),
)
@settings(deadline=None, max_examples=50)
def test_what_is_written_after_an_accident_is_whole(tmp_path_factory, rows, new, share):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    RowFile(path).append(rows)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    left = RowFile(path).read()
    new = [{**row, "seed": 1} for row in new]

    RowFile(path).append(new)

    assert left == rows[: len(left)]
    assert RowFile(path).read() == left + new


def test_a_long_row_that_was_cut_off_is_removed(tmp_path):
    path = tmp_path / "rows.jsonl"
    sizes = (90_000, 200_000, 70_000)
    first, second, third = ({"fold": k, "text": "x" * n} for k, n in enumerate(sizes))
    RowFile(path).append([first, second])
    path.write_bytes(path.read_bytes()[:-10])

    RowFile(path).append([third])

    assert RowFile(path).read() == [first, third]
    path.write_bytes(b'{"text": "' + b"x" * 200_000)
    RowFile(path).append([third])
    assert RowFile(path).read() == [third]


@pytest.mark.parametrize("broken", ['{"fold": 1', "[1]", "1", "null", "\x00", "\xff"])
def test_a_broken_line_in_the_middle_is_an_error_with_file_and_number(tmp_path, broken):
    path = tmp_path / "rows.jsonl"
    text = f'{{"fold": 0}}\n\n{broken}\n{{"fold": 2}}\n'.encode("latin-1")
    path.write_bytes(text)

    with pytest.raises(ValueError, match=r"rows\.jsonl, line 3: .*JSON object"):
        RowFile(path).read()

    assert path.read_bytes() == text


def test_the_last_row_of_one_identity_counts(tmp_path):
    file = RowFile(tmp_path / "rows.jsonl")
    row = {"kind": "fold", "dataset": "yeast", "method": "svm", "fold": 0, "seed": 0}
    file.append([{**row, "error": "ValueError: no"}, {**row, "fold": 1}])

    file.append([{**row, "error": None}])

    assert file.read() == [{**row, "error": None}, {**row, "fold": 1}]
    assert len(file.path.read_text().splitlines()) == 3


def test_of_rows_with_one_identity_the_one_that_was_finished_last_counts(tmp_path):
    fold = {"kind": "fold", "protocol": "paper", "dataset": "yeast", "method": "svm"}
    fold |= {"fold": 0, "seed": 0, "n_folds": 5, "quick": False}
    early = {**fold, "finished": "2026-01-01", "error": None}
    late = {**fold, "finished": "2026-01-02", "error": "ValueError: no"}
    for number, rows in enumerate(([early, late], [late, early])):
        file = RowFile(tmp_path / f"{number}.jsonl")
        file.append(rows)
        assert file.read() == [late]
        assert select_folds(rows, "paper")[1] == [late]


def test_a_file_is_locked_against_other_runs_but_not_against_its_own(tmp_path):
    pytest.importorskip("fcntl", reason="only Unix has these locks")
    path = tmp_path / "new" / "rows.jsonl"
    mine, other = RowFile(path), RowFile(path)
    with mine.locked(), mine.locked():
        mine.append([{"fold": 0}])
        with pytest.raises(BlockingIOError, match=re.escape(str(path.parent))):
            other.locked().__enter__()
    with other.locked():
        assert other.read() == [{"fold": 0}]


def test_a_process_that_was_killed_leaves_no_lock(tmp_path):
    pytest.importorskip("fcntl", reason="only Unix has these locks")
    code = (
        "import sys, time\n"
        "from spanforest.paper._rows import RowFile\n"
        "with RowFile(sys.argv[1]).locked():\n"
        "    print('locked', flush=True)\n"
        "    time.sleep(600)\n"
    )
    file = rows_at(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(file.path)], stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(BlockingIOError), file.locked():
            pass
        process.kill()
    with file.locked():
        file.append([{"fold": 0}])


def test_where_files_cannot_be_locked_a_run_goes_on(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "no locks available")

    fcntl = pytest.importorskip("fcntl", reason="only Unix has these locks")
    monkeypatch.setattr(fcntl, "flock", refuse)
    with rows_at(tmp_path).locked(), rows_at(tmp_path).locked():
        pass
    monkeypatch.setattr(_rows, "fcntl", None)
    with rows_at(tmp_path).locked(), rows_at(tmp_path).locked():
        pass


@pytest.mark.parametrize("value", [np.nan, np.inf, {1}, np.int64(1)])
def test_nothing_is_written_if_a_row_cannot_be(tmp_path, value):
    path = tmp_path / "folder" / "rows.jsonl"
    good = {"fold": 0}
    with pytest.raises((ValueError, TypeError)):
        RowFile(path).append([good, {"fold": 1, "scores": [value]}])
    assert not path.parent.exists()

    RowFile(path).append([good])
    before = path.read_bytes()
    with pytest.raises((ValueError, TypeError)):
        RowFile(path).append([{"fold": 1}, {"scores": {"a": value}}])
    assert path.read_bytes() == before


def test_identity_tells_pieces_of_work_apart_and_not_their_outcomes():
    row = Experiment(("yeast",))._label(_run.FoldTask("yeast", "svm", 0, ()), "svm")
    for name in row:
        assert identity({**row, name: "other"}) != identity(row), name
    assert identity({**row, "scores": {}, "error": "no", "seconds": 1}) == identity(row)


# Inputs of a fold


def inputs_of(fold, part):
    """Everything that a method may be given of one part, dense."""
    pieces = [fold.features, fold.unit_features, fold.kernel()]
    for width in (None, 0.5, 2.0):
        pieces += [fold.kernel(width), fold.explicit_features(width)]
    return [dense(piece[part]) for piece in pieces] + [fold.Y[part]]


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 1000), scaling=st.sampled_from(["unit", "standard"]))
@settings(deadline=None, max_examples=8)
def test_nothing_is_learned_from_test_rows(kind, seed, scaling):
    fold = make_fold(kind, scaling, seed=seed)
    dataset, train, test = fold._dataset, fold._train, fold._test
    other = make_dataset(kind, seed=seed + 5000)
    Y = dataset.Y.copy()
    Y[test] = 1 - Y[test]
    X = K = None
    if kind == "kernel":
        K = other.K.copy()
        K[np.ix_(train, train)] = dataset.K[np.ix_(train, train)]
    else:
        X = dense(dataset.X).copy()
        X[test] = 1 - X[test] if kind == "tanimoto" else 100 * dense(other.X)[test] + 1
        X = sparse.csr_array(X) if sparse.issparse(dataset.X) else X
    changed = Dataset(kind, Y, X, K, is_text=dataset.is_text, kernel=dataset.kernel)

    after = Fold(changed, train, test, scaling)

    for one, two in zip(inputs_of(fold, 0), inputs_of(after, 0), strict=True):
        assert_array_equal(one, two)
    assert (fold.Y.test != after.Y.test).all()


@pytest.mark.parametrize("width", [None, 0.5, 2.0])
@pytest.mark.parametrize("scaling", ["unit", "standard"])
@pytest.mark.parametrize("kind", KINDS)
def test_kernels_have_a_unit_diagonal_and_are_positive_semidefinite(
    kind, scaling, width
):
    fold = make_fold(kind, scaling)
    K = fold.kernel(width).train

    assert K.shape == (16, 16)
    assert fold.kernel(width).test.shape == (8, 16)
    assert_allclose(np.diagonal(K), 1.0)
    assert_allclose(K, K.T, atol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-9
    # the rows of the test part are those of one kernel over both parts
    rows = np.concatenate([fold._train, fold._test])
    both = Fold(fold._dataset, fold._train, rows, scaling).kernel(width).test
    assert_allclose(both, np.concatenate(fold.kernel(width)), atol=1e-12)


@pytest.mark.parametrize("scaling", ["unit", "standard"])
@pytest.mark.parametrize("kind", ["dense", "constant", "sparse", "text"])
def test_products_of_unit_features_are_the_kernel(kind, scaling):
    fold = make_fold(kind, scaling)
    assert fold.is_linear
    for X, K in zip(fold.unit_features, fold.kernel(), strict=True):
        assert_allclose(np.linalg.norm(dense(X), axis=1), 1.0)
        assert_allclose(dense(X) @ dense(fold.unit_features.train).T, K, atol=1e-12)


def test_features_of_the_paper_lie_between_zero_and_one():
    train = make_fold("dense").features.train
    assert_allclose(train.min(axis=0), 0.0, atol=1e-12)
    assert_allclose(train.max(axis=0), 1.0)


def test_the_constant_feature_of_circle_survives_scaling():
    X, Y = make_circle(30, 10, random_state=0)
    rows = np.arange(30)
    fold = Fold(Dataset("circle10", Y, X), rows[:20], rows[20:])
    for part in fold.features:
        assert_array_equal(part[:, 2], 1.0)


def test_a_feature_that_no_training_example_has_stays_zero():
    dataset = make_dataset("dense")
    X = np.column_stack([dataset.X, np.arange(24) >= 16])
    fold = Fold(Dataset("new", dataset.Y, X), np.arange(16), np.arange(16, 24))
    without = Fold(dataset, np.arange(16), np.arange(16, 24))

    assert_array_equal(fold.features.train[:, -1], 0.0)
    assert_array_equal(fold.kernel().train, without.kernel().train)


@pytest.mark.parametrize("width", [0.5, 1.0, 3.0])
def test_gaussian_kernel_of_standardised_features_is_the_naive_one(width):
    fold = make_fold("dense", "standard")
    X, train, test = fold._dataset.X, fold._train, fold._test
    Z = (X - X[train].mean(axis=0)) / X[train].std(axis=0)

    def squared_distance(i, j):
        return sum((a - b) ** 2 for a, b in zip(Z[i], Z[j], strict=True))

    mean = np.mean([squared_distance(i, j) for i in train for j in train])
    naive = [
        [np.exp(-2 * squared_distance(i, j) / (width * mean)) for j in train]
        for i in (*train, *test)
    ]

    assert_allclose(np.concatenate(fold.kernel(width)), naive)


def test_gaussian_kernel_of_equal_examples_is_one():
    dataset = Dataset("equal", np.eye(6, 2, dtype=int), np.ones((6, 2)))
    kernel = Fold(dataset, np.arange(4), np.arange(4, 6)).kernel(1.0)
    assert_array_equal(np.concatenate(kernel), 1.0)


def test_tanimoto_data_use_the_tanimoto_kernel():
    fold = make_fold("tanimoto")
    bits = [set(row.nonzero()[0]) for row in dense(fold._dataset.X)]
    naive = [
        [len(bits[i] & bits[j]) / len(bits[i] | bits[j]) for j in fold._train]
        for i in (*fold._train, *fold._test)
    ]
    assert not fold.is_linear
    assert_allclose(np.concatenate(fold.kernel()), naive)
    assert_array_equal(dense(fold.features.test), dense(fold._dataset.X)[fold._test])


def test_kernel_data_have_their_kernel_as_features():
    fold = make_fold("kernel")
    K = fold._dataset.K
    naive = K / np.sqrt(np.outer(np.diagonal(K), np.diagonal(K)))
    for part, rows in zip(fold.kernel(), (fold._train, fold._test), strict=True):
        assert_allclose(part, naive[np.ix_(rows, fold._train)])
    for one, two in zip(fold.features, fold.kernel(), strict=True):
        assert_array_equal(one, two)


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_of_a_fold_is_the_fold_of_its_rows(kind):
    outer = make_fold(kind)
    train, test = np.array([5, 1, 2, 9]), np.array([0, 7])
    rows = outer._train
    direct = Fold(outer._dataset, rows[train], rows[test])

    nested = outer.part(train, test)

    assert_array_equal(nested.Y.train, outer.Y.train[train])
    assert_array_equal(nested.Y.test, outer.Y.train[test])
    for part in (0, 1):
        for one, two in zip(
            inputs_of(nested, part), inputs_of(direct, part), strict=True
        ):
            assert_array_equal(one, two)


def test_a_part_of_a_fold_keeps_its_scaling():
    nested = make_fold("dense", "standard").part(np.arange(8), np.arange(8, 16))
    assert_allclose(nested.features.train.mean(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize("width", [None, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_products_of_explicit_features_are_the_kernel(kind, width):
    fold = make_fold(kind)
    features = fold.explicit_features(width)
    for X, K in zip(features, fold.kernel(width), strict=True):
        assert X.shape[0] == K.shape[0]
        products = dense(X) @ dense(features.train).T
        assert_allclose(products, K, atol=1e-6)


def test_explicit_features_project_a_kernel_on_some_examples(monkeypatch):
    fold = make_fold("dense")
    K = fold.kernel(1.0).train
    left = []
    for n_basis in (4, 8, 12):
        monkeypatch.setattr(_inputs, "_N_BASIS", n_basis)
        features = fold.explicit_features(1.0)
        assert features.train.shape == (16, n_basis)
        assert features.test.shape == (8, n_basis)
        residual = K - features.train @ features.train.T
        exact = np.abs(residual).max(axis=1) < 1e-8
        assert exact.sum() == n_basis  # the basis itself
        assert np.linalg.eigvalsh(residual).min() > -1e-9
        left.append(np.trace(residual))
    assert left[0] > left[1] > left[2] > 0


def test_explicit_features_of_many_examples_are_three_hundred():
    dataset = make_dataset("dense", n_samples=330)
    fold = Fold(dataset, np.arange(320), np.arange(320, 330))
    features = fold.explicit_features(0.01)  # narrow: full rank
    assert features.train.shape == (320, 300)
    assert features.test.shape == (10, 300)


# Protocols


def test_every_method_of_the_tables_is_run_and_no_other():
    def methods(protocol):
        return tuple(m for name in protocol.learners for m in methods_of(name))

    assert methods(TUNED) == METHODS
    assert set(methods(PAPER)) == {*PAPER_METHODS, "mve", "amm"}
    assert {name for p in PROTOCOLS.values() for name in p.learners} == set(LEARNERS)


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_every_family_is_chosen_by_one_of_its_learners(protocol):
    assert set(protocol.learners.values()) == set(protocol.families)
    for name, family in protocol.families.items():
        assert protocol.learners[family.learner] == name
        points = [json.dumps(each, sort_keys=True) for each in family.candidates]
        assert 1 <= len(points) == len(set(points))


def test_every_tuned_method_chooses_for_itself_among_as_many_candidates():
    assert {name: name for name in TUNED.learners} == dict(TUNED.learners)
    assert {len(family.candidates) for family in TUNED.families.values()} == {12}


def test_whatever_can_use_a_kernel_tries_the_same_kernels():
    without = {"adaboost", "forest", "boomer", "mlknn"}  # trees, rules, neighbours
    for name, family in TUNED.families.items():
        widths = Counter(each.get("width", "none") for each in family.candidates)
        wanted = {"none": 12} if name in without else {None: 3, 0.5: 3, 1.0: 3, 2.0: 3}
        assert widths == wanted, name


@pytest.mark.parametrize("kind", ["dense", "kernel"])
def test_mtl_is_given_kernels_when_it_is_tuned_and_features_in_the_paper(kind):
    fold = make_fold(kind)
    setup = LEARNERS["mtl"]
    for width in (None, 1.0):
        inputs = setup(fold, {"gamma": 1.0, "width": width}, TINY, 0).inputs
        for found, wanted in zip(inputs, fold.explicit_features(width), strict=True):
            assert_array_equal(found, wanted)
    inputs = setup(fold, {"gamma": 1.0}, TINY, 0).inputs
    for found, wanted in zip(inputs, fold.features, strict=True):
        assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", ["dense", "text", "tanimoto", "kernel"])
def test_a_kernel_of_numbers_is_the_kernel_of_the_fold(kind):
    fold = make_fold(kind)
    numbers = fold.numbers
    for width in (None, 0.5):
        kernel = FoldKernel(fold, width)
        for found, wanted in zip(numbers, fold.kernel(width), strict=True):
            assert_array_equal(kernel(found, numbers.train), wanted)
            assert_array_equal(
                kernel(found[::-2], numbers.train[1:4]), wanted[::-2, 1:4]
            )


def test_a_kernel_of_numbers_is_computed_when_called_and_the_last_one_kept(monkeypatch):
    fold = make_fold()
    asked, kernel = [], Fold.kernel
    monkeypatch.setattr(
        Fold,
        "kernel",
        lambda fold, width=None: asked.append(width) or kernel(fold, width),
    )
    train = fold.numbers.train
    kernels = [FoldKernel(fold, width) for width in (0.5, 1.0)]
    assert asked == []
    found = [(each(train, train), each(train, train))[1] for each in kernels]
    assert [width for width in asked if width] == [0.5, 1.0]
    kept = [value for value in vars(fold).values() if isinstance(value, _Stacked)]
    assert [each.width for each in kept] == [1.0]
    for each, wanted in zip(kernels, found, strict=True):
        assert clone(each, safe=False) is each
        again = pickle.loads(pickle.dumps(each))
        assert again.width == each.width
        assert_array_equal(again(train, train), wanted)


def test_what_has_trees_is_what_their_number_changes():
    fold = make_fold()
    for learner, make in LEARNERS.items():
        if learner in PEERS:
            assert not has_trees(learner)
            continue
        family = TUNED.families[learner]
        params = params_for(family, 0)
        few, many = (
            str(make(fold, params, TINY._replace(n_trees=n), 0).estimator.get_params())
            for n in (3, 4)
        )
        assert has_trees(learner) == (without_addresses(few) != without_addresses(many))


def without_addresses(text):
    return re.sub(r"0x[0-9a-f]+", "", text)


def params_for(family, number):
    """Give a candidate as its learner takes it: one that tunes itself takes lists."""
    params = family.candidates[number]
    if family.tunes_itself:
        return {name: [value] for name, value in params.items()}
    return params


def test_the_ensemble_that_tunes_itself_has_the_means_of_the_others():
    family = TUNED.families["selftuned"]
    assert _protocols._grid(**family.grid) == family.candidates
    estimator = LEARNERS["selftuned"](make_fold(), family.grid, TINY, 0).estimator
    assert estimator.cv == _protocols.CHOICE_FOLDS
    assert estimator.n_estimators_search == CHOICE_EFFORT.n_trees
    assert estimator.n_estimators == TINY.n_trees


@pytest.mark.parametrize("kind", ["dense", "kernel"])
def test_what_tunes_itself_is_the_ensemble_with_the_parameters_it_tells(kind):
    fold = make_fold(kind)
    family = TUNED.families["selftuned"]
    result = run_learner("selftuned", fold, family.grid, TINY, 0)["selftuned"]

    assert [each["params"] for each in result.choice.candidates] == [*family.candidates]
    best = max(result.choice.candidates, key=lambda each: each["score"])
    assert result.choice.params == best["params"]
    plain = LEARNERS["ensemble"](fold, result.choice.params, TINY, 0).estimator
    plain.set_params(kernel="precomputed", graph="informed_tree")
    K = fold.kernel(result.choice.params["width"])
    plain.fit(K.train, fold.Y.train)
    assert result.scores == score(fold.Y.test, plain.predict(K.test))
    assert run_learner("svm", fold, {"C": 0.1}, TINY, 0)["svm"].choice is None


CASES = [
    pytest.param(protocol, learner, id=f"{protocol.name}-{learner}")
    for protocol in PROTOCOLS.values()
    for learner in protocol.learners
    if learner not in PEERS
]


def check_learner(protocol, learner):
    """Fit with the first and last candidate, to data with one-valued labels."""
    family = protocol.families[protocol.learners[learner]]
    for kind in ("dense", "text", "kernel"):
        fold = make_fold(kind, protocol.scaling)
        for number, value in enumerate((0, 1)):
            fold.Y.train[:, number] = value
        for params in (params_for(family, 0), params_for(family, -1)):
            results = run_learner(learner, fold, params, TINY, 0)
            assert tuple(results) == methods_of(learner)
            for result in results.values():
                assert set(result.scores) == set(MEASURES)
                assert all(0 <= score <= 1 for score in result.scores.values())
                json.dumps(result, allow_nan=False)
            again = fit_and_score(learner, fold, params, TINY, 0)
            mean = np.mean(list(results[methods_of(learner)[-1]].scores.values()))
            assert_allclose(again, mean)


@pytest.mark.parametrize(("protocol", "learner"), CASES)
def test_every_learner_runs_on_labels_with_one_value(protocol, learner):
    check_learner(protocol, learner)


@pytest.mark.parametrize("learner", PEERS)
def test_peers_run_on_labels_with_one_value(learner):
    pytest.importorskip(PEERS[learner])
    check_learner(TUNED, learner)


def check_that_it_learns(learner):
    """Its first or last candidate must beat the most frequent value of each label."""
    X, Y = make_circle(120, 6, random_state=0)
    fold = Fold(Dataset("circle", Y, X), np.arange(60), np.arange(60, 120))
    effort = Effort(n_trees=2, n_bags=5, n_rounds=20, n_chains=3, n_forest=20)
    most_frequent = np.maximum(fold.Y.test.mean(0), 1 - fold.Y.test.mean(0)).mean()
    family = TUNED.families[TUNED.learners[learner]]
    results = [
        run_learner(learner, fold, params_for(family, number), effort, 0)
        for number in (0, -1)
    ]
    for method in methods_of(learner):
        scores = [each[method].scores["microlabel_accuracy"] for each in results]
        assert max(scores) > most_frequent + 0.02, method


@pytest.mark.parametrize("learner", [n for n in TUNED.learners if n not in PEERS])
def test_every_learner_learns_what_can_be_learned(learner):
    check_that_it_learns(learner)


@pytest.mark.parametrize("learner", PEERS)
def test_peers_learn_what_can_be_learned(learner):
    pytest.importorskip(PEERS[learner])
    check_that_it_learns(learner)


@pytest.mark.slow
def test_peers_work_in_an_environment_of_their_own(tmp_path):
    # BOOMER wants older packages than the rest of the tests are run with
    root = Path(__file__).parents[1]
    venv.create(tmp_path / "peers", with_pip=True)
    python = tmp_path / "peers" / "bin" / "python"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}

    def call(*args):
        return subprocess.run(
            [python, "-m", *args],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
        )

    wanted = (f"{root}[peers]", "pytest", "hypothesis")
    installed = call("pip", "install", "--quiet", *wanted)
    if installed.returncode:
        reason = (installed.stderr.strip().splitlines() or ["no message"])[-1]
        pytest.skip(f"the extra peers cannot be installed: {reason}")

    tests = "test_peers_run or test_peers_learn"
    options = ("-q", "-p", "no:cacheprovider", "-k", tests)
    done = call("pytest", *options, str(Path(__file__).relative_to(root)))

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{2 * len(PEERS)} passed" in done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.parametrize("learner", ["mmcrf", "ensemble"])
def test_the_gap_is_zero_where_there_is_nothing_to_learn(learner):
    fold = make_fold()
    fold.Y.train[:] = [0, 1, 1]
    for result in run_learner(learner, fold, {"C": 1.0}, TINY, 0).values():
        assert result.gap == 0.0


@pytest.mark.parametrize("kind", ["dense", "kernel"])
def test_the_gap_is_that_of_the_worst_member(kind):
    fold = make_fold(kind)
    for learner in ("mmcrf", "ensemble"):
        estimator, inputs = LEARNERS[learner](fold, {"C": 0.1}, TINY, 0)
        estimator.fit(inputs.train, fold.Y.train)
        members = getattr(estimator, "estimators_", [estimator])
        worst = max(one.duality_gap_ / one.dual_objective_ for one in members)
        for result in run_learner(learner, fold, {"C": 0.1}, TINY, 0).values():
            assert_allclose(result.gap, worst)
            assert 0 < result.gap <= estimator.tol
    assert run_learner("svm", fold, {"C": 0.1}, TINY, 0)["svm"].gap is None


def test_seeds_change_what_is_random():
    fold = make_fold()
    for learner in ("bagging", "ensemble"):
        effort = TINY._replace(n_bags=1, n_trees=4)
        runs = [run_learner(learner, fold, {"C": 1.0}, effort, s) for s in (0, 0, 1, 2)]
        facts = [
            [(r.scores, r.n_positive, r.members) for r in one.values()] for one in runs
        ]
        assert facts[0] == facts[1]
        assert facts[0] != facts[2] or facts[0] != facts[3]


def test_an_empty_folder_of_a_name_is_not_an_installed_peer(monkeypatch, tmp_path):
    for name in ("mlrl", "skmultilearn"):
        (tmp_path / name).mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(
        _protocols,
        "_MODULES",
        {"boomer": "mlrl.no_such_part", "mlknn": "no_such_package.adapt"},
    )
    assert not set(available_learners(TUNED)) & set(PEERS)
    assert available_learners(PAPER) == tuple(PAPER.learners)


# What an experiment is


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"protocol": "other"}, "protocol must be one of paper, tuned; got 'other'"),
        ({"methods": ("svm", "forest")}, r"are svm, .*, mam; got 'forest'"),
        ({"methods": ("lstm",), "protocol": "tuned"}, r"ecc, .*; got 'lstm'\.$"),
        ({"methods": "svm"}, "methods must be a sequence of different names; got"),
        ({"methods": ()}, "methods must be a sequence of different names"),
        ({"datasets": "yeast"}, "datasets must be a sequence of different names"),
        ({"datasets": ("yeast", "yeast")}, "datasets must be a sequence of different"),
        ({"n_trees": 0}, "n_trees must be at least 1; got 0"),
        ({"n_folds": 1}, "n_folds must be at least 2; got 1"),
        ({"seed": -1}, "seed must be at least 0; got -1"),
        ({"seed": 2**32}, r"seed must be less than 2\*\*32"),
    ],
)
def test_what_cannot_be_run_is_refused_at_once(settings, message):
    with pytest.raises(ValueError, match=message):
        Experiment(**settings)


def test_a_method_that_is_not_installed_is_named_with_its_extra(monkeypatch):
    monkeypatch.setattr(_protocols, "_is_installed", lambda _: False)
    for name in PEERS:
        with pytest.raises(ValueError, match=rf"got '{name}'\. .*spanforest\[peers\]"):
            Experiment(methods=("svm", name), protocol="tuned")
        with pytest.raises(ValueError, match=rf"got '{name}'\.$"):
            Experiment(methods=(name,))  # of no use to the paper's protocol


def test_the_experiment_of_the_paper_is_the_default():
    experiment = Experiment()
    assert len(experiment.datasets) == 10
    assert experiment.chosen_methods == METHODS[:8]
    assert (experiment.folds, experiment.effort.n_trees) == (5, 60)
    assert experiment.n_rows == 400


def test_given_sizes_count_in_a_quick_run_too():
    quick = Experiment(quick=True)
    assert (quick.folds, quick.effort.n_trees) == (2, 10)
    given_sizes = Experiment(quick=True, n_trees=3, n_folds=4)
    assert (given_sizes.folds, given_sizes.effort.n_trees) == (4, 3)


# The run


DATASETS = {
    "small": make_dataset("dense", n_samples=36, n_labels=4, seed=1),
    "words": make_dataset("text", n_samples=33, n_labels=3, seed=2),
}


@pytest.fixture
def small_run(monkeypatch):
    """Run with the data sets of this file, two candidates and two inner folds."""

    def load(name, data_home=None):
        if name not in DATASETS:
            raise FileNotFoundError(f"no {name}")
        return DATASETS[name]

    monkeypatch.setattr(_run, "load_dataset", load)
    monkeypatch.setattr(_run, "CHOICE_FOLDS", 2)
    for name, protocol in list(PROTOCOLS.items()):
        families = {
            key: family._replace(candidates=family.candidates[1:3] or ({},))
            for key, family in protocol.families.items()
        }
        monkeypatch.setitem(PROTOCOLS, name, protocol._replace(families=families))
    _run._load.cache_clear()
    _run._warm_up()
    yield
    _run._load.cache_clear()


@pytest.fixture
def fits(monkeypatch, small_run):
    """What is fitted from now on, and what is to go wrong."""
    log = Log()
    for name, make in list(LEARNERS.items()):
        monkeypatch.setitem(LEARNERS, name, log.wrap(name, make))
    return log


class Log(list):
    """Fits (learner, is it for a choice); `fail` may raise in one of them."""

    def fail(self, name, is_choice):
        pass

    def wrap(self, name, make):
        def logged(fold, params, effort, seed):
            is_choice = effort is CHOICE_EFFORT
            self.append((name, is_choice))
            self.fail(name, is_choice)
            return make(fold, params, effort, seed)

        return logged

    def take(self):
        """Give the number of fits since the last time, choices left out."""
        counts = Counter(name for name, is_choice in self if not is_choice)
        self.clear()
        return dict(counts)


def experiment_of(*methods, **changes):
    options = {"datasets": ("small",), "n_trees": 3, "quick": True, **changes}
    return Experiment(methods=methods or None, **options)


def outcomes(rows):
    """Rows without what differs from run to run, in any order."""
    left = [
        {k: v for k, v in row.items() if k not in ("seconds", "finished")}
        for row in rows
    ]
    return sorted(left, key=lambda row: str(identity(row)))


def rows_at(tmp_path, name="rows.jsonl"):
    return RowFile(tmp_path / name)


def test_every_piece_of_work_gives_a_row(tmp_path, small_run):
    experiment = experiment_of("svm", "mve", "mam", datasets=("small", "words"))

    results = run(experiment, rows_at(tmp_path))

    assert len(results) == experiment.n_rows == 12
    for row in results:
        assert row["error"] is None
        assert set(row["scores"]) == set(MEASURES)
        assert row["params"]["C"] in (0.1, 0.5)
        assert row["n_trees"] == (None if row["method"] == "svm" else 3)
        assert row["data"]["n_samples"] == DATASETS[row["dataset"]].n_samples
        assert row["seconds"]["fit"] > 0
        assert row["seconds"]["predict"] > 0
        assert set(row["versions"]) >= {"spanforest", "numpy", "python"}
    in_file = rows_at(tmp_path).read()
    choices = [row for row in in_file if row["kind"] == "choice"]
    assert sorted((row["dataset"], row["family"]) for row in choices) == [
        (dataset, family) for dataset in DATASETS for family in ("mmcrf", "svm")
    ]
    for choice in choices:
        scores = [candidate["score"] for candidate in choice["candidates"]]
        chosen = next(
            candidate["params"]
            for candidate in choice["candidates"]
            if candidate["score"] == max(scores)
        )
        assert choice["params"] == chosen
        used = {
            json.dumps(row["params"])
            for row in results
            if row["dataset"] == choice["dataset"]
            and (row["method"] == "svm") == (choice["family"] == "svm")
        }
        assert used == {json.dumps(chosen)}


@pytest.mark.parametrize("name", DATASETS)
def test_the_row_of_mam_holds_the_strongest_couplings_of_its_fit(
    tmp_path, small_run, monkeypatch, name
):
    monkeypatch.setattr(_label_graphs, "MOST_EDGES", 2)
    experiment = experiment_of("svm", "mve", "mam", datasets=(name,))
    results = run(experiment, rows_at(tmp_path))

    dataset = DATASETS[name]
    train, test = _run._split(dataset, experiment)[0]
    fold = Fold(dataset, train, test)
    seed = _run._seed(experiment, _run.FoldTask(name, "ensemble", 0, ()))
    [row] = [row for row in results if (row["method"], row["fold"]) == ("mam", 0)]
    make = LEARNERS["ensemble"]
    ensemble, inputs = make(fold, row["params"], experiment.effort, seed)
    ensemble.fit(inputs.train, fold.Y.train)
    couplings = edge_couplings(ensemble, inputs.train, fold.Y.train)
    stored = StoredGraph.from_field(row["label_graph"])
    expected = couplings.strongest(2)
    assert_array_equal(stored.couplings.edges, expected.edges)
    assert_allclose(stored.couplings.strength, expected.strength, rtol=1e-5)
    assert stored.n_edges == len(couplings.strength) == graph_of(ensemble).n_edges
    assert_allclose(stored.frequencies, fold.Y.train.mean(axis=0), rtol=1e-5)
    assert stored.label_names == dataset.label_names
    assert stored.n_samples == len(train)
    others = [row["label_graph"] for row in results if row["method"] != "mam"]
    assert others == [None] * len(others)


def test_scores_are_those_of_a_fit_by_hand(tmp_path, small_run):
    experiment = experiment_of("svm")
    results = run(experiment, rows_at(tmp_path))
    dataset = DATASETS["small"]
    splits = _run._split(dataset, experiment)

    for row, (train, test) in zip(results, splits, strict=True):
        fold = Fold(dataset, train, test)
        found = run_learner("svm", fold, row["params"], experiment.effort, 0)["svm"]
        assert row["scores"] == found.scores
        assert row["n_positive"] == found.n_positive
    assert_array_equal(np.sort(np.concatenate([s[1] for s in splits])), np.arange(36))


def test_resuming_repeats_nothing(tmp_path, fits):
    experiment = experiment_of("svm", "mmcrf", "mam", "mve")
    first = run(experiment, rows_at(tmp_path))
    assert fits.take() == {"svm": 2, "mmcrf": 2, "ensemble": 2}
    before = rows_at(tmp_path).path.read_bytes()

    second = run(experiment, rows_at(tmp_path))

    assert fits == []
    assert second == first
    assert rows_at(tmp_path).path.read_bytes() == before


@pytest.mark.parametrize(
    ("stop_at", "n_choices", "n_done"), [(1, 0, 0), (8, 1, 0), (15, 3, 2), (18, 3, 5)]
)
def test_a_stopped_run_goes_on_where_it_stopped(
    tmp_path, fits, stop_at, n_choices, n_done
):
    experiment = experiment_of("svm", "mtl", "mam")
    undisturbed = run(experiment, rows_at(tmp_path, "whole.jsonl"))
    n_fits, fits_each = len(fits), fits.take()
    assert n_fits == 3 * 2 * 2 + 3 * 2  # choices on two folds, then the fits

    def stop(name, is_choice):
        if len(fits) == stop_at:
            raise KeyboardInterrupt

    fits.fail = stop
    with pytest.raises(KeyboardInterrupt):
        run(experiment, rows_at(tmp_path))
    fits.fail = lambda *_: None
    done = rows_at(tmp_path).read()
    fits.take()

    results = run(experiment, rows_at(tmp_path))

    assert Counter(row["kind"] for row in done) == Counter(
        {"choice": n_choices, "fold": n_done}
    )
    assert sum(fits.take().values()) == sum(fits_each.values()) - n_done
    assert outcomes(results) == outcomes(undisturbed)
    assert outcomes(rows_at(tmp_path).read()) == outcomes(
        rows_at(tmp_path, "whole.jsonl").read()
    )
    lines = rows_at(tmp_path).path.read_text().splitlines()
    assert [json.loads(line) for line in lines[: len(done)]] == done


def test_the_order_of_work_changes_no_result(tmp_path, small_run, monkeypatch):
    class Backwards:
        def __init__(self, **_):
            pass

        def __call__(self, calls):
            for function, args, options in reversed(list(calls)):
                yield function(*args, **options)

    experiment = experiment_of("svm", "mtl", "mve", datasets=("small", "words"))
    results = run(experiment, rows_at(tmp_path))
    monkeypatch.setattr(_run, "Parallel", Backwards)

    backwards = run(experiment, rows_at(tmp_path, "backwards.jsonl"))

    assert outcomes(backwards) == outcomes(results)
    assert [identity(row) for row in backwards] == [identity(row) for row in results]


def test_another_method_is_all_that_is_run_for_it(tmp_path, fits):
    run(experiment_of("svm"), rows_at(tmp_path))
    fits.take()

    results = run(experiment_of("svm", "bagging", "adaboost"), rows_at(tmp_path))

    assert not any(is_choice for _, is_choice in fits)  # bagging shares, boosting lacks
    assert fits.take() == {"bagging": 2, "adaboost": 2}
    assert [row["method"] for row in results[:3]] == ["svm", "bagging", "adaboost"]


def test_another_aggregation_adds_its_rows_alone(tmp_path, small_run):
    both = run(experiment_of("mve", "mam"), rows_at(tmp_path, "both.jsonl"))
    run(experiment_of("mve"), rows_at(tmp_path))
    before = rows_at(tmp_path).path.read_bytes()

    results = run(experiment_of("mve", "mam"), rows_at(tmp_path))

    after = rows_at(tmp_path).path.read_bytes()
    assert after.startswith(before)
    added = [json.loads(line) for line in after[len(before) :].splitlines()]
    assert [(row["kind"], row["method"]) for row in added] == [("fold", "mam")] * 2
    assert outcomes(results) == outcomes(both)


def test_another_number_of_trees_repeats_the_ensembles_alone(tmp_path, fits):
    methods = ("svm", "mmcrf", "amm", "mam")
    five = run(experiment_of(*methods, n_trees=5), rows_at(tmp_path))
    fits.take()

    ten = run(experiment_of(*methods, n_trees=10), rows_at(tmp_path))

    assert fits.take() == {"ensemble": 2}
    assert len(ten) == len(five) == 8
    again = run(experiment_of(*methods, n_trees=5), rows_at(tmp_path))
    assert (fits, again) == ([], five)
    for short, long in zip(five, ten, strict=True):
        assert short["method"] == long["method"]
        if short["method"] in ("svm", "mmcrf"):
            assert short == long
            assert short["curve"] is short["members"] is None
            continue
        for measure in MEASURES:
            for kind in ("curve", "members"):
                assert len(long[kind][measure]) == 10
                assert long[kind][measure][:5] == short[kind][measure]
            for row in (short, long):
                end = row["curve"][measure][-1]
                assert_allclose(end, row["scores"][measure], atol=1e-6)


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"n_folds": 3}, {"quick": False, "n_folds": 2}],
    ids=lambda change: next(iter(change)),
)
def test_other_settings_are_other_work(tmp_path, fits, change):
    first = run(experiment_of("mtl"), rows_at(tmp_path))
    fits.clear()

    other = run(experiment_of("mtl", **change), rows_at(tmp_path))

    assert fits.take() == {"mtl": len(other)}
    assert not {identity(row) for row in first} & {identity(row) for row in other}


def test_quick_and_full_runs_share_the_choice_of_parameters(tmp_path, fits):
    run(experiment_of("mtl"), rows_at(tmp_path))
    fits.clear()
    run(experiment_of("mtl", quick=False), rows_at(tmp_path))
    assert fits == [("mtl", False)] * 5


def test_a_failure_is_a_row_and_the_others_go_on(tmp_path, fits):
    def fail(name, is_choice):
        if name == "ensemble" and not is_choice:
            raise ArithmeticError("lost\nits way")

    fits.fail = fail
    experiment = experiment_of("svm", "mve", "mam")
    results = run(experiment, rows_at(tmp_path))

    assert len(results) == 6
    for row in results:
        good = row["method"] == "svm"
        assert row["error"] == (None if good else "ArithmeticError: lost\nits way")
        for name in ("scores", "n_positive", "seconds"):
            assert (row[name] is not None) == good
        assert row["params"] is not None
        assert row["data"]["n_labels"] == 4
    fits.take()

    fits.fail = lambda *_: None
    assert run(experiment, rows_at(tmp_path)) == results
    assert fits == []

    repaired = run(experiment, rows_at(tmp_path), retry=True)
    assert fits.take() == {"ensemble": 2}
    assert outcomes(repaired) == outcomes(run(experiment, rows_at(tmp_path, "other")))
    assert outcomes(run(experiment, rows_at(tmp_path))) == outcomes(repaired)


def test_a_failed_choice_fails_what_depends_on_it(tmp_path, fits):
    def fail(name, is_choice):
        if name == "svm" and is_choice:
            raise ValueError("no such luck")

    fits.fail = fail
    experiment = experiment_of("svm", "bagging", "mtl")
    results = run(experiment, rows_at(tmp_path))

    for row in results:
        wanted = "parameter choice failed: ValueError: no such luck"
        assert row["error"] == (None if row["method"] == "mtl" else wanted)
    assert fits.take() == {"mtl": 2}

    fits.fail = lambda *_: None
    repaired = run(experiment, rows_at(tmp_path), retry=True)
    assert fits.take() == {"svm": 2, "bagging": 2}
    assert all(row["error"] is None for row in repaired)


def test_more_folds_than_examples_are_failures(tmp_path, small_run):
    for protocol in PROTOCOLS:
        results = run(
            experiment_of("mtl", n_folds=40, protocol=protocol), rows_at(tmp_path)
        )
        assert len(results) == 40
        assert all("n_splits=40" in row["error"] for row in results)


def test_a_data_set_that_is_not_there_is_an_error_not_a_result(tmp_path, small_run):
    with pytest.raises(FileNotFoundError, match="no other"):
        run(experiment_of("adaboost", datasets=("other",)), rows_at(tmp_path))
    assert rows_at(tmp_path).read() == []


def test_rows_of_other_kinds_are_left_alone(tmp_path, small_run):
    note = {"kind": "note", "text": "by hand"}
    rows_at(tmp_path).append([note])
    for retry in (False, True):
        results = run(experiment_of("mtl"), rows_at(tmp_path), retry=retry)
        assert len(results) == 2
    assert note in rows_at(tmp_path).read()


def test_tuned_parameters_are_chosen_in_each_fold_on_its_training_part(
    tmp_path, monkeypatch, small_run
):
    experiment = experiment_of("mtl", protocol="tuned", n_folds=3)
    first = run(experiment, rows_at(tmp_path))
    choices = [row for row in rows_at(tmp_path).read() if row["kind"] == "choice"]
    assert sorted(row["fold"] for row in choices) == [0, 1, 2]
    for choice in choices:
        (row,) = (row for row in first if row["fold"] == choice["fold"])
        assert row["params"] == choice["params"]

    # other features in the test part of fold 0: its choice must not notice
    whole = DATASETS["small"]
    test = _run._split(whole, experiment)[0][1]
    X = whole.X.copy()
    X[test] = np.random.default_rng(0).normal(size=X[test].shape)
    monkeypatch.setitem(DATASETS, "small", Dataset("small", whole.Y, X))
    _run._load.cache_clear()
    run(experiment, rows_at(tmp_path, "changed.jsonl"))
    changed = [
        row
        for row in rows_at(tmp_path, "changed.jsonl").read()
        if row["kind"] == "choice"
    ]
    candidates = {row["fold"]: row["candidates"] for row in choices}
    other = {row["fold"]: row["candidates"] for row in changed}
    assert candidates[0] == other[0]
    assert candidates[1] != other[1]


def change_candidates(monkeypatch, protocol, family, candidates):
    changed = dict(PROTOCOLS[protocol].families)
    changed[family] = changed[family]._replace(candidates=candidates)
    whole = PROTOCOLS[protocol]._replace(families=changed)
    monkeypatch.setitem(PROTOCOLS, protocol, whole)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_choice_among_other_candidates_is_made_again(
    tmp_path, fits, monkeypatch, protocol
):
    experiment = experiment_of("svm", "mtl", protocol=protocol)
    old = run(experiment, rows_at(tmp_path))
    candidates = PROTOCOLS[protocol].families["svm"].candidates
    fits.clear()

    # a better one among them, and others that are worse: both are another grid
    change_candidates(monkeypatch, protocol, "svm", ({**candidates[0], "C": 1e-9},))
    assert [row["method"] for row in experiment.select(rows_at(tmp_path).read())] == [
        "mtl",
        "mtl",
    ]
    new = run(experiment, rows_at(tmp_path))
    assert fits.take() == {"svm": 2}
    assert [row["params"]["C"] for row in new if row["method"] == "svm"] == [1e-9] * 2
    assert outcomes(row for row in new if row["method"] == "mtl") == outcomes(
        row for row in old if row["method"] == "mtl"
    )
    assert run(experiment, rows_at(tmp_path)) == new
    assert fits == []
    assert performance_table(new, protocol) == performance_table(
        rows_at(tmp_path).read(), protocol
    )


def test_results_stand_if_another_choice_comes_to_the_same(tmp_path, fits, monkeypatch):
    old = run(experiment_of("svm"), rows_at(tmp_path))
    candidates = PROTOCOLS["paper"].families["svm"].candidates
    fits.clear()

    change_candidates(monkeypatch, "paper", "svm", (*candidates, {"C": 1e-9}))
    new = run(experiment_of("svm"), rows_at(tmp_path))

    assert (new, fits.take()) == (old, {})
    choices = [row for row in rows_at(tmp_path).read() if row["kind"] == "choice"]
    assert [len(row["candidates"]) for row in choices] == [3]


def test_a_failed_choice_is_made_again_only_for_other_candidates(
    tmp_path, fits, monkeypatch
):
    def fail(name, is_choice):
        if is_choice:
            raise ValueError("no such luck")

    fits.fail = fail
    run(experiment_of("svm"), rows_at(tmp_path))
    fits.fail = lambda *_: None
    assert fits.take() == {}
    assert run(experiment_of("svm"), rows_at(tmp_path))[0]["error"] is not None
    assert fits == []

    change_candidates(monkeypatch, "paper", "svm", ({"C": 1.0}, {"C": 2.0}))
    assert run(experiment_of("svm"), rows_at(tmp_path))[0]["error"] is None


def test_all_methods_choose_by_the_same_inner_folds(tmp_path, small_run, monkeypatch):
    splits = {}

    def look(name, fold, params, effort, seed):
        parts = splits.setdefault(name, {})
        parts.setdefault(json.dumps(params), []).append((fold._train, fold._test))
        return 0.5

    monkeypatch.setattr(_run, "fit_and_score", look)
    monkeypatch.setattr(_run, "_evaluate", lambda *_: [])
    monkeypatch.setattr(_protocols, "_is_installed", lambda _: True)
    run(experiment_of(protocol="tuned", n_folds=3), rows_at(tmp_path))

    assert set(splits) == set(TUNED.learners) - {"selftuned"}  # it chooses in fit
    wanted = next(iter(splits["svm"].values()))
    assert len(wanted) == 3 * 2  # outer folds, inner folds
    for by_candidate in splits.values():
        for found in by_candidate.values():
            for one, two in zip(found, wanted, strict=True):
                assert_array_equal(np.concatenate(one), np.concatenate(two))
                assert len(one[0]) == len(two[0])


def test_what_tunes_itself_tells_its_choice_in_its_own_row(tmp_path, fits, monkeypatch):
    experiment = experiment_of("selftuned", protocol="tuned")
    results = run(experiment, rows_at(tmp_path))

    assert rows_at(tmp_path).read() == results  # no row of a choice
    candidates = [*PROTOCOLS["tuned"].families["selftuned"].candidates]
    for row in results:
        assert row["n_trees"] == 3
        assert "choice" not in row
        assert [each["params"] for each in row["candidates"]] == candidates
        best = max(row["candidates"], key=lambda each: each["score"])
        assert row["params"] == best["params"]
    fits.clear()
    assert run(experiment, rows_at(tmp_path)) == results
    assert fits == []

    change_candidates(monkeypatch, "tuned", "selftuned", candidates[:1])
    assert experiment.select(rows_at(tmp_path).read()) == []
    again = run(experiment, rows_at(tmp_path))
    assert [len(row["candidates"]) for row in again] == [1, 1]


def test_a_failure_of_what_tunes_itself_stands(tmp_path, fits):
    def fail(name, is_choice):
        raise ValueError("no such luck")

    fits.fail = fail
    experiment = experiment_of("selftuned", protocol="tuned")
    results = run(experiment, rows_at(tmp_path))
    assert [row["error"] for row in results] == ["ValueError: no such luck"] * 2
    assert [row["params"] for row in results] == [None, None]
    fits.clear()
    assert run(experiment, rows_at(tmp_path)) == results
    assert fits == []


def test_the_sample_of_the_paper_is_a_tenth_but_not_too_small():
    for n_samples, size in ((1000, 100), (305, 30), (100, 30), (20, 20)):
        dataset = Dataset("any", np.zeros((n_samples, 2), dtype=int))
        rows = _run._sample(dataset, 0)
        assert len(rows) == len(set(rows)) == size
        assert rows.min() >= 0
        assert rows.max() < n_samples
    many = Dataset("any", np.zeros((1000, 2), dtype=int))
    assert (_run._sample(many, 0) == _run._sample(many, 0)).all()
    assert (_run._sample(many, 0) != _run._sample(many, 1)).any()


def test_what_was_left_out_of_a_data_set_is_noted(tmp_path, small_run, monkeypatch):
    whole = make_dataset("dense", n_samples=36, n_labels=4)
    X, Y = whole.X.copy(), whole.Y.copy()
    X[:2], Y[:, 3] = 0.0, 1
    monkeypatch.setitem(DATASETS, "small", Dataset("small", Y, X, note="Toy."))
    row = run(experiment_of("mtl"), rows_at(tmp_path))[0]
    assert row["data"]["note"] == (
        "Toy. Left out: 2 examples without features, 1 labels with one value."
    )
    assert (row["data"]["n_samples"], row["data"]["n_labels"]) == (36, 4)


def test_other_folds_have_other_seeds():
    experiment = Experiment()
    tasks = [_run.FoldTask("yeast", "svm", fold, ()) for fold in range(5)]
    choice = _run.ChoiceTask("yeast", "svm", None)
    seeds = [_run._seed(e, t) for e in (experiment, Experiment(seed=1)) for t in tasks]
    assert len({*seeds, _run._seed(experiment, choice)}) == 11


def test_select_gives_the_rows_of_the_experiment_alone(tmp_path, small_run):
    small = experiment_of("mtl")
    run(experiment_of("mtl", "svm", datasets=("small", "words")), rows_at(tmp_path))
    rows = rows_at(tmp_path).read()
    selected = small.select(rows[::-1])
    assert [(r["dataset"], r["method"], r["fold"]) for r in selected] == [
        ("small", "mtl", 0),
        ("small", "mtl", 1),
    ]
    assert small.select([]) == []


def test_comparable_results_are_all_that_a_table_may_hold(tmp_path, small_run):
    file = rows_at(tmp_path)
    wanted = run(experiment_of("mtl", "mam", datasets=("small", "words")), file)
    wanted += run(experiment_of("svm"), file)
    for changes in ({"n_trees": 2}, {"seed": 1}, {"n_folds": 3}):
        run(experiment_of("mam", **changes), file)
    run(experiment_of("mtl", quick=False, n_folds=2), file)
    run(experiment_of("mtl", protocol="tuned"), file)

    found = experiment_of("mve", datasets=("other",)).select_comparable(file.read())

    assert outcomes(found) == outcomes(wanted)


def small_world(dataset, protocol):
    """Give a Parallel whose processes know one more data set and few candidates."""

    def inside(function, *args):  # goes to the worker as it stands
        from spanforest.paper import _run  # the worker's own

        with (
            mock.patch.object(_run, "load_dataset", return_value=dataset),
            mock.patch.dict(_run.PROTOCOLS, {protocol.name: protocol}),
        ):
            return function(*args)

    class SmallWorld(Parallel):
        def __call__(self, calls):
            return super().__call__(
                delayed(inside)(function, *args) for function, args, _ in calls
            )

    return SmallWorld


@pytest.mark.slow
@pytest.mark.parametrize("learner", TUNED.learners)
def test_tuned_results_do_not_depend_on_the_number_of_processes(
    tmp_path, monkeypatch, learner
):
    if learner in PEERS:
        pytest.importorskip(PEERS[learner])
    family = TUNED.families[learner]
    # the first two are a whole grid, as a family that tunes itself must have
    few = family._replace(candidates=family.candidates[:2])
    protocol = TUNED._replace(families={**TUNED.families, learner: few})
    monkeypatch.setitem(PROTOCOLS, "tuned", protocol)
    world = small_world(make_dataset("dense", n_samples=45, n_labels=4), protocol)
    monkeypatch.setattr(_run, "Parallel", world)
    experiment = Experiment(
        ("tiny",), methods_of(learner), "tuned", n_trees=3, quick=True
    )
    one = run(experiment, rows_at(tmp_path), n_jobs=1)
    two = run(experiment, rows_at(tmp_path, "two.jsonl"), n_jobs=2)
    assert len(one) == experiment.n_rows
    assert all(row["error"] is None for row in one)
    assert outcomes(two) == outcomes(one)
    choices = [
        [row for row in rows_at(tmp_path, name) if row["kind"] == "choice"]
        for name in ("rows.jsonl", "two.jsonl")
    ]
    assert outcomes(choices[0]) == outcomes(choices[1])


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_processes(tmp_path):
    experiment = Experiment(
        ("circle10",), ("svm", "bagging", "mam"), n_trees=3, quick=True
    )
    one = run(experiment, rows_at(tmp_path), n_jobs=1)
    two = run(experiment, rows_at(tmp_path, "two.jsonl"), n_jobs=2)
    assert len(one) == 6
    assert outcomes(two) == outcomes(one)
    assert [identity(row) for row in two] == [identity(row) for row in one]


@pytest.mark.slow
def test_a_run_stopped_while_a_row_is_written_ends_in_silence(tmp_path):
    class Interrupted(RowFile):
        def append(self, rows):
            super().append(rows)
            time.sleep(0.3)  # while loky hands out work, it does not like to be stopped
            raise KeyboardInterrupt

    experiment = Experiment(("circle10",), ("mtl", "adaboost"), quick=True)
    file = rows_at(tmp_path)
    for n_rows in (1, 2):  # a warning of joblib would be an error here
        with pytest.raises(KeyboardInterrupt):
            run(experiment, Interrupted(file.path), n_jobs=2)
        gc.collect()
        assert len(file.read()) == n_rows


# Circumstances


def test_versions_of_optional_packages_are_given_where_they_are_installed(monkeypatch):
    versions = {"numpy": "2.3", "mlrl-boomer": "0.12.3"}
    monkeypatch.setattr(_circumstances, "_version", versions.get)
    found = _circumstances._constant.__wrapped__()["versions"]
    assert (found["numpy"], found["mlrl-boomer"]) == ("2.3", "0.12.3")
    assert "scikit-multilearn-ng" not in found
    assert found["spanforest"] is None


def test_the_commit_is_that_of_the_sources_or_none(tmp_path, monkeypatch):
    if shutil.which("git") is None:
        pytest.skip("needs git")

    def git(*args):
        name = ("-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path))
        subprocess.run(["git", *name, *args], check=True, capture_output=True)

    for variable in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(variable, raising=False)
    source = tmp_path / "environment" / "module.py"
    source.parent.mkdir()
    source.write_text("")
    monkeypatch.setattr(_circumstances, "__file__", str(source))
    git("init")
    git("commit", "--allow-empty", "-m", "something else")
    assert _circumstances._commit() is None  # in a checkout, but not of it

    git("add", ".")
    git("commit", "-m", "sources")
    commit = _circumstances._commit()
    assert commit is not None
    assert not commit.endswith("-dirty")
    source.write_text("changed")
    assert _circumstances._commit() == f"{commit}-dirty"


def test_without_git_there_is_no_commit(monkeypatch):
    def missing(*_, **__):
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", missing)
    assert _circumstances._commit() is None
