"""Kernels by name: formulas, parameters, and new entries of the registry."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_kernels
from small_data import X, X_new, Y, assert_same_model, draw_examples, gamma_by_hand
from strategies import seeds, trials

from spanforest import MMCRFClassifier
from spanforest.kernels import (
    KERNEL_NAMES,
    KERNELS,
    Kernel,
    KernelSpec,
    Scale,
    absolute_gamma,
    check_kernel_matrix,
    median_gamma,
    scale_gamma,
)
from spanforest.tuning import RandomGraphEnsembleClassifierCV

FEATURE_KERNELS = sorted(KERNELS)
SKLEARN_PARAMETERS = {
    "linear": (),
    "cosine": (),
    "rbf": ("gamma",),
    "laplacian": ("gamma",),
    "poly": ("gamma", "degree", "coef0"),
}


gammas = st.none() | st.floats(0.05, 2.0) | st.floats(0.05, 2.0).map(np.float64)


def plain_kernel(name, gamma, x, y):
    if name == "tanimoto":
        shared = sum(a * b for a, b in zip(x, y, strict=True))
        total = sum(a * a for a in x) + sum(b * b for b in y)
        return 1.0 if total == 0 else shared / (total - shared)
    if name == "cosine":
        length = np.sqrt(sum(a * a for a in x)) * np.sqrt(sum(b * b for b in y))
        return 0.0 if length == 0 else sum(x * y) / length
    if name == "rbf":
        return np.exp(-gamma * sum((x - y) ** 2))
    if name == "laplacian":
        return np.exp(-gamma * sum(abs(x - y)))
    return (gamma * sum(x * y) + 1) ** 3 if name == "poly" else sum(x * y)


def linear_callable(X, Y, scale=1.0):
    return scale * (X @ Y.T)


@given(name=st.sampled_from(FEATURE_KERNELS), gamma=gammas, seed=seeds)
@trials(60)
def test_matrix_equals_a_double_loop_over_the_formula(name, gamma, seed):
    X, Y = draw_examples(seed, 5, 3), draw_examples(seed + 1, 4, 3)
    used = gamma
    if gamma is None:
        derived = {"rbf": gamma_by_hand, "laplacian": absolute_gamma}
        used = derived[name](Y) if name in derived else 1 / 3

    expected = [[plain_kernel(name, used, x, y) for y in Y] for x in X]

    assert_allclose(KernelSpec(name, gamma).matrix(X, Y), expected, atol=1e-12)


@given(
    name=st.sampled_from(sorted(SKLEARN_PARAMETERS)),
    gamma=gammas,
    degree=st.integers(1, 4),
    coef0=st.floats(0, 3),
    seed=seeds,
)
@trials(60)
def test_matrix_equals_scikit_learn(name, gamma, degree, coef0, seed):
    X, Y = draw_examples(seed, 6, 4), draw_examples(seed + 1, 3, 4)
    values = {"gamma": gamma, "degree": degree, "coef0": coef0}
    used = {key: values[key] for key in SKLEARN_PARAMETERS[name]}
    derived = {"rbf": gamma_by_hand, "laplacian": absolute_gamma}
    if name in derived and gamma is None:
        used["gamma"] = derived[name](Y)

    expected = pairwise_kernels(X, Y, metric=name, **used)

    assert_allclose(KernelSpec(name, **values).matrix(X, Y), expected)


@given(
    name=st.sampled_from([*FEATURE_KERNELS, linear_callable]),
    gamma=gammas,
    seed=seeds,
    dtype=st.sampled_from([np.float32, np.float64]),
)
@trials(80)
def test_sparse_equals_dense_and_precision_is_kept(name, gamma, seed, dtype):
    X, Y = draw_examples(seed, 6, 4, dtype), draw_examples(seed + 1, 3, 4, dtype)
    spec = KernelSpec(name, gamma)
    rtol = 1e-4 if dtype == np.float32 else 1e-10

    for make_sparse in (sparse.csr_matrix, sparse.csr_array):
        dense, from_sparse = spec.matrix(X, Y), spec.matrix(make_sparse(X), Y)
        both_sparse = spec.matrix(make_sparse(X), make_sparse(Y))
        diagonal = spec.diagonal(make_sparse(X))

        assert_allclose(from_sparse, dense, rtol=rtol, atol=rtol)
        assert_allclose(both_sparse, dense, rtol=rtol, atol=rtol)
        assert_allclose(diagonal, spec.diagonal(X), rtol=rtol)
        for result in (dense, from_sparse, both_sparse, diagonal, spec.diagonal(X)):
            assert isinstance(result, np.ndarray)
            assert result.dtype == dtype


@given(
    name=st.sampled_from([*FEATURE_KERNELS, linear_callable]),
    gamma=gammas,
    degree=st.integers(1, 4),
    coef0=st.floats(0, 3),
    seed=seeds,
    n_samples=st.integers(1, 40),
)
@trials(80)
def test_matrix_is_a_kernel_matrix_and_diagonal_is_its_diagonal(
    name, gamma, degree, coef0, seed, n_samples
):
    X = draw_examples(seed, n_samples, 3)
    spec = KernelSpec(name, gamma, degree, coef0)

    K = spec.matrix(X)

    assert_allclose(K, K.T, atol=1e-10 * np.abs(K).max())
    assert np.linalg.eigvalsh(K)[0] >= -1e-10 * max(1, np.abs(K).sum())
    assert_allclose(spec.diagonal(X), K.diagonal(), rtol=1e-10, atol=1e-12)
    assert_allclose(K, spec.matrix(X, X.copy()), atol=1e-10 * max(1, np.abs(K).max()))
    check_kernel_matrix(K)


@given(seed=seeds, factor=st.sampled_from([1e-6, 0.3, 1e5]))
@trials(30)
def test_scaling_or_shifting_the_features_changes_no_kernel_value(seed, factor):
    rng = np.random.default_rng(seed)
    X, X_new, shift = (rng.normal(size=(n, 3)) for n in (12, 4, 1))
    spec = KernelSpec("rbf")

    K = spec.matrix(factor * (X_new + 10 * shift), factor * (X + 10 * shift))

    assert_allclose(K, spec.matrix(X_new, X), rtol=1e-9)


def test_a_kernel_with_its_scale_keeps_it():
    X = np.random.default_rng(0).normal(size=(9, 4))
    names = "rbf", "laplacian", "poly", "cosine"
    gammas = median_gamma(X), absolute_gamma(X), 1 / 4, None
    for name, expected in zip(names, gammas, strict=True):
        spec = KernelSpec(name).with_gamma(X)
        assert spec.gamma == expected
        assert spec.with_gamma(2 * X) == spec
    assert KernelSpec("rbf", 3.0).with_gamma(X).gamma == 3.0
    assert KernelSpec("linear", 3.0).with_gamma(X).gamma is None


@pytest.mark.parametrize("name", FEATURE_KERNELS)
def test_lists_integers_and_data_frames_are_as_good_as_float_arrays(name):
    X = np.array([[1, 0, 2], [0, 0, 0], [3, 1, 0]])
    spec = KernelSpec(name)
    expected = spec.matrix(X.astype(float))

    for same in (X, X.tolist(), pd.DataFrame(X, columns=list("abc"))):
        assert_allclose(spec.matrix(same), expected)
        assert_allclose(spec.diagonal(same), expected.diagonal())
        assert spec.matrix(same).dtype == np.float64


def test_a_precomputed_matrix_is_returned_and_not_copied():
    spec = KernelSpec("precomputed")
    for dtype in (np.float32, np.float64):
        K = np.arange(6, dtype=dtype).reshape(2, 3)
        assert spec.matrix(K) is K
    assert spec.matrix([[1, 2]]).dtype == np.float64
    assert_array_equal(spec.diagonal([[1, 2], [2, 5]]), [1, 5])
    with pytest.raises(ValueError, match="2 rows and 3 columns"):
        spec.diagonal(K)


def test_a_callable_gets_both_matrices_and_its_parameters():
    calls = []

    def kernel(X, Y, *, scale):
        calls.append((X, Y))
        return scale * X @ Y.T

    X, Y = np.eye(3), np.ones((2, 3))
    spec = KernelSpec(kernel, kernel_params={"scale": 2.0})

    assert_allclose(spec.matrix(X, Y), 2 * X @ Y.T)
    assert calls[-1][0] is X
    assert calls[-1][1] is Y
    assert_allclose(spec.matrix(X), 2 * np.eye(3))
    assert calls[-1][0] is calls[-1][1] is X


def test_parameters_changed_after_the_spec_was_made_do_not_reach_it():
    parameters = {"scale": 2.0}
    spec = KernelSpec(linear_callable, kernel_params=parameters)
    parameters["scale"] = 3.0
    assert_allclose(spec.matrix(np.eye(2)), 2 * np.eye(2))


def test_a_spec_survives_pickling_and_can_be_a_key():
    for spec in (KernelSpec("rbf", 0.5), KernelSpec(linear_callable, kernel_params={})):
        assert pickle.loads(pickle.dumps(spec)) == spec
        assert {spec: 1}[spec] == 1


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda X, Y: X[0] @ Y[0], r"shape \(3, 2\); it returned shape \(\)"),
        (lambda X, Y: Y @ X.T, r"shape \(3, 2\); it returned shape \(2, 3\)"),
        (lambda X, Y: X @ Y.T * [1, np.nan], "row 0, column 1 is nan"),
        (lambda X, Y: X @ Y.T * [np.inf, 1], "row 0, column 0 is inf"),
        (lambda X, Y: X @ Y.T * 1j, "must be real; got complex128"),
    ],
)
def test_a_callable_that_returns_something_else_is_told_what_was_expected(
    kernel, message
):
    with pytest.raises(ValueError, match=message):
        KernelSpec(kernel).matrix(np.ones((3, 2)), np.ones((2, 2)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"name": "gauss"}, "Unknown kernel 'gauss'"),
        ({"name": 3}, "Unknown kernel 3"),
        ({"name": ["rbf"]}, "a single model has a single kernel; got the list"),
        ({"name": "rbf", "gamma": "auto"}, "gamma must be a positive .*got 'auto'"),
        ({"name": "rbf", "gamma": 0}, "gamma must be a positive number.*got 0"),
        ({"name": "rbf", "gamma": np.nan}, "gamma must be a positive number"),
        ({"name": "poly", "gamma": "median"}, "gamma must .*got 'median'"),
        ({"name": "poly", "degree": 0}, "degree must be a positive integer; got 0"),
        ({"name": "poly", "degree": 2.5}, "degree must be a positive integer"),
        ({"name": "poly", "coef0": -1}, "coef0 must be a number >= 0.*got -1"),
        ({"name": "rbf", "kernel_params": {"gamma": 1}}, "kernel_params .*'rbf'"),
    ],
)
def test_a_wrong_parameter_is_named_with_its_value(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelSpec(**parameters)


def test_an_unknown_kernel_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match="Unknown kernel") as error:
        KernelSpec("sigmoid")
    assert all(repr(name) in str(error.value) for name in KERNEL_NAMES)


@pytest.mark.parametrize("name", ["linear", "cosine", "tanimoto", "precomputed"])
def test_parameters_that_a_kernel_does_not_use_are_not_checked(name):
    KernelSpec(name, gamma=-1, degree=0.5, coef0=-1, kernel_params={})


def mean_distance_gamma(X, sample_weight=None):
    return 1 / np.abs(X[:, None] - X).sum(axis=2).mean()


def refuse_large_gamma(spec):
    if spec.gamma is not None and spec.gamma > 100:
        raise ValueError(f"gamma must be at most 100; got {spec.gamma}.")


DOUBLED = Kernel(
    matrix=lambda spec, X, Y: 2.0 * laplacian_kernel(X, Y, gamma=spec.gamma),
    diagonal=lambda spec, X: np.full(len(X), 2.0),
    scale=Scale(default=mean_distance_gamma, unit=lambda X, sample_weight: 0.25),
    checks=(refuse_large_gamma,),
)


@pytest.fixture
def doubled(monkeypatch):
    """Add one entry to the registry, and nothing else."""
    monkeypatch.setitem(KERNELS, "doubled", DOUBLED)


def test_the_list_of_names_is_that_of_the_registry():
    assert set(KERNEL_NAMES) == {*KERNELS, "forest", "precomputed"}


@pytest.mark.parametrize("normalize_kernel", [False, True])
def test_a_new_entry_of_the_registry_works_in_an_estimator(doubled, normalize_kernel):
    shared = {"max_iter": 1000, "random_state": 0, "scaling": None}
    shared["normalize_kernel"] = normalize_kernel
    fitted = MMCRFClassifier(kernel="doubled", **shared).fit(X, Y)
    gamma = mean_distance_gamma(X)
    assert fitted.gamma_ == gamma

    def by_hand(A, B):
        return 2.0 * laplacian_kernel(A, B, gamma=gamma)

    plain = MMCRFClassifier(kernel=by_hand, **shared).fit(X, Y)
    assert_same_model(fitted, plain)
    assert_array_equal(fitted.predict(X_new), plain.predict(X_new))
    assert fitted.score(X, Y) > 0.6


def test_the_checks_of_a_new_entry_refuse_bad_parameters(doubled):
    with pytest.raises(ValueError, match="at most 100; got 200"):
        MMCRFClassifier(kernel="doubled", gamma=200).fit(X, Y)


@pytest.mark.needs_compiled
def test_gammas_of_a_new_entry_are_tuned_as_multiples_of_its_unit(doubled):
    tuned = RandomGraphEnsembleClassifierCV(
        1, kernels="doubled", gammas=[2, 1], Cs=1.0, losses="edge", random_state=0
    )
    tuned.set_params(offsets=0.0, thresholds=None).fit(X, Y)
    assert tuned.cv_results_["param_gamma"].tolist() == [0.25, 0.5]
    assert tuned.gamma_ in (0.25, 0.5)


OVERFLOWING = {
    "large features": ({"kernel": "poly"}, 1e110),
    "a high degree": ({"kernel": "poly", "degree": 200, "gamma": 100.0}, 1.0),
    "a large gamma": ({"kernel": "poly", "gamma": 1e300}, 1.0),
}


@pytest.mark.parametrize("case", OVERFLOWING)
def test_a_named_kernel_that_overflows_is_refused_with_advice(case):
    params, scale = OVERFLOWING[case]
    with pytest.raises(
        ValueError, match=r"must have finite values.*Scale the features"
    ):
        MMCRFClassifier(**params, scaling=None).fit(scale * X, Y)


def test_a_gamma_beyond_single_precision_is_refused():
    with pytest.raises(ValueError, match="too large for these features in float32"):
        MMCRFClassifier(kernel="rbf", gamma=1e300).fit(X.astype(np.float32), Y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_kernel_values_beyond_single_precision_are_trained_in_double():
    clf = MMCRFClassifier(kernel="poly", degree=3, max_iter=5).fit(1e8 * X, Y)
    assert np.isfinite(clf.dual_coef_).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("method", ["predict", "predict_certified", "predict_topk"])
def test_new_examples_far_outside_are_refused(kernel, method):
    clf = MMCRFClassifier(kernel=kernel, max_iter=1000, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"overflow|finite"):
        getattr(clf, method)(X * 1e200)


@pytest.mark.parametrize("name", ["rbf", "poly"])
def test_the_name_scale_stands_for_a_number(name):
    by_name = KernelSpec(name, "scale").with_gamma(X)
    assert by_name.gamma == scale_gamma(X)
    for spec in (by_name, KernelSpec(name, "scale")):
        assert_array_equal(spec.matrix(X_new, X), by_name.matrix(X_new, X))
    assert_allclose(
        KernelSpec(name, "scale").diagonal(X), by_name.matrix(X, X).diagonal()
    )
    model = MMCRFClassifier(kernel=name, gamma="scale", scaling=None, tol=0.1)
    assert model.fit(X, Y).gamma_ == scale_gamma(X)
