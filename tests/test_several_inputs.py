"""Several kernels in one ensemble: a kernel per member in turn, and sums of kernels."""

import numpy as np
import pandas as pd
import pytest
from ensembles import average_scores
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from searches import fold_by_fold
from sklearn.base import clone
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from small_data import (
    CHANCE,
    COINS,
    GRADES,
    NOISE,
    TRIANGLE,
    X_new,
    assert_same_model,
    names,
)
from small_data import X as NUMBERS
from small_data import Y as LABELS
from strategies import PLAIN

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier, _forest_rows
from spanforest._forest_input import ForestInput
from spanforest._input_kinds import input_for, several_inputs
from spanforest._inputs import KernelMatrix, LinearInput, Resources
from spanforest._several_inputs import SeveralBases, SideBySide, SumBasis
from spanforest._training import train_member
from spanforest.diagnostics import (
    edge_couplings,
    explain,
    reconstruction_gap,
    training_couplings,
)
from spanforest.kernels import ForestKernel, KernelSpec, SumKernel
from spanforest.metrics import microlabel_accuracy
from spanforest.tuning import RandomGraphEnsembleClassifierCV

TREES = ForestKernel(10, min_samples_leaf=2)
THREE = [TREES, "rbf", "linear"]
SUM = SumKernel([TREES, "rbf", "linear"], weights=[1, 2, 1])
SEVERAL = {"list": THREE, "sum": SUM, "sum in a list": [SUM, "linear"]}
CODES = LABELS.astype(np.int32)
EVEN, ODD = np.arange(0, 60, 2), np.arange(1, 60, 2)
GAPS = np.where(np.random.default_rng(1).random(NUMBERS.shape) < 0.2, np.nan, NUMBERS)


def ensemble(kernel, n_estimators=4, **params):
    """Return an ensemble that is not fitted and trains quickly."""
    tol = 0.5 if PLAIN else 0.1
    defaults = {"tol": tol, "max_iter": 1000, "random_state": 0}
    return RandomGraphEnsembleClassifier(
        n_estimators, kernel=kernel, **{**defaults, **params}
    )


@pytest.fixture(scope="module")
def three():
    """Return an ensemble of three kernels, fitted. Do not change it."""
    return ensemble(THREE).fit(NUMBERS, LABELS)


@pytest.fixture(params=SEVERAL)
def several(request):
    return SEVERAL[request.param]


# --- members take the kernels in turn -------------------------------------------------


@pytest.mark.needs_compiled
def test_member_t_is_member_t_of_the_ensemble_of_its_kernel(three):
    for t, member in enumerate(three.estimators_):
        alike = ensemble(THREE[t % 3]).fit(NUMBERS, LABELS).estimators_[t]
        assert_same_model(member, alike)
        assert member.get_params() == alike.get_params()
        assert_array_equal(member.predict(X_new), alike.predict(X_new))


def test_scores_are_the_average_of_the_members_scores_on_the_union(three):
    union, expected = average_scores(three, X_new)
    scores = three._scores(three._input.rows(X_new))
    assert_allclose(scores, expected, atol=1e-12)
    assert three._factors.n_cells == union.n_cells


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kernel", [TREES, "rbf", "linear", SUM])
def test_a_list_of_one_kernel_is_that_kernel(kernel):
    one = ensemble([kernel], probability=True).fit(NUMBERS, LABELS)
    same = ensemble(kernel, probability=True).fit(NUMBERS, LABELS)
    assert_array_equal(one._weights, same._weights)
    assert_array_equal(one.predict_proba(X_new), same.predict_proba(X_new))


@pytest.mark.needs_compiled
@pytest.mark.parametrize("aggregation", ["mve", "amm", "mam"])
def test_every_aggregation_and_its_probabilities_take_equal_kernels_as_one(aggregation):
    params = {"aggregation": aggregation, "probability": True}
    twice = ensemble(["linear", "linear"], **params).fit(NUMBERS, LABELS)
    once = ensemble("linear", **params).fit(NUMBERS, LABELS)
    assert_allclose(twice.decision_function(X_new), once.decision_function(X_new))
    assert_allclose(twice.predict_proba(X_new), once.predict_proba(X_new))


@pytest.mark.parametrize("aggregation", ["amm", "mam"])
def test_the_first_members_predict_as_a_smaller_ensemble(three, aggregation):
    *_, last_but_one, last = three.staged_predict(X_new, aggregation)
    smaller = ensemble(THREE, 3).fit(NUMBERS, LABELS)
    assert_array_equal(last_but_one, smaller.predict(X_new, aggregation))
    assert_array_equal(last, three.predict(X_new, aggregation))


def test_each_kernel_is_computed_once_for_all_members():
    calls = []

    def counted(A, B):
        calls.append(len(A))
        return linear_kernel(A, B)

    ensemble([counted, "rbf"], 6).fit(NUMBERS, LABELS)
    assert calls == [60]


def test_equal_forests_in_a_list_are_grown_from_different_seeds():
    first, second = ensemble([TREES, TREES]).fit(NUMBERS, LABELS)._input.inputs
    assert not np.array_equal(first.rows(X_new), second.rows(X_new))


def test_parameters_are_kept_from_kernels_that_take_none():
    def scaled(A, B, factor):
        return factor * linear_kernel(A, B)

    params = {"kernel_params": {"factor": 2.0}}
    kernels = [scaled, "rbf", SumKernel([scaled, "linear"])]
    fitted = ensemble(kernels, **params).fit(NUMBERS, LABELS)
    assert [m.kernel_params for m in fitted.estimators_[:2]] == [{"factor": 2.0}, None]
    assert_same_model(
        fitted.estimators_[0],
        ensemble(scaled, **params).fit(NUMBERS, LABELS).estimators_[0],
    )
    with pytest.raises(ValueError, match="kernel_params are arguments of a callable"):
        ensemble(["linear", "rbf"], **params).fit(NUMBERS, LABELS)


# --- sums -----------------------------------------------------------------------------


def new_input(kernel, **params):
    spec = KernelSpec(kernel, **params)
    return input_for(spec, normalize=False, resources=Resources(0))


def fitted_input(kernel, X=NUMBERS, codes=CODES, sample_weight=None, **params):
    """Return an input fitted to X without scaling, and the basis of X."""
    given = new_input(kernel, **params)
    given.learn_scaling(None, X)
    return given, given.fit(X, codes, sample_weight)


@pytest.mark.parametrize("most", [0, 5000])
def test_a_sum_weighs_kernels_of_unit_mean_diagonal(most, monkeypatch):
    monkeypatch.setattr(_forest_rows, "MOST_IN_MATRIX", most)
    given, basis = fitted_input(SUM, gamma=0.5)
    trees = given.inputs[0]
    size = np.square(NUMBERS).sum(axis=1).mean()

    def expected(A):
        forest = trees.rows(A) @ np.eye(60)
        rbf, linear = rbf_kernel(A, NUMBERS, gamma=0.5), linear_kernel(A, NUMBERS)
        return (forest + 2 * rbf + linear / size) / 4

    assert_allclose(basis.total.K, expected(NUMBERS), atol=1e-12)
    assert_allclose(given.rows(X_new), expected(X_new), atol=1e-12)
    assert basis.total.K.diagonal().mean() == pytest.approx(1.0)


def test_weights_of_examples_count_in_the_size_of_a_kernel():
    weight = np.where(np.arange(60) < 20, 2.0, 1.0)
    kernel = SumKernel(["linear", "rbf"])
    twice = np.concatenate([NUMBERS[:20], NUMBERS])
    codes = np.concatenate([CODES[:20], CODES])
    weighted, _ = fitted_input(kernel, sample_weight=weight)
    repeated, _ = fitted_input(kernel, twice, codes)
    assert_allclose(weighted.factors, repeated.factors)


@pytest.mark.parametrize(("kernel", "is_fitted"), [("rbf", False), (TREES, True)])
def test_a_sum_of_one_kernel_of_unit_diagonal_is_that_kernel(kernel, is_fitted):
    given, basis = fitted_input(SumKernel([kernel]))
    alone, plain = fitted_input(kernel)
    assert isinstance(basis, SumBasis if is_fitted else KernelMatrix)
    assert_array_equal(basis.prepared(1e-9).K, plain.prepared(1e-9).K)
    assert_array_equal(given.rows(X_new), alone.rows(X_new))


def test_a_sum_without_room_for_its_matrix_is_refused_before_any_work():
    with pytest.raises(MemoryError, match=r"745058.1 GiB. A sum .* kernel=\[...\], a"):
        new_input(SUM).fit(np.broadcast_to(1.0, (10**7, 1)), CODES)


def test_a_sum_of_zeros_can_be_trained():
    fitted = ensemble(SumKernel(["linear", "rbf"])).fit(np.zeros((60, 4)), LABELS)
    assert np.isfinite(fitted._weights).all()


# --- folds ----------------------------------------------------------------------------


@pytest.mark.parametrize("single", [False, True])
def test_a_fold_of_a_sum_grows_its_own_forest(single):
    kernel = SumKernel([TREES, "rbf"])
    whole, basis = fitted_input(kernel, gamma=0.5)
    if single:
        basis = basis.in_single_precision()
    inside, rows = basis.fold(EVEN, ODD)
    alone, expected = fitted_input(kernel, NUMBERS[EVEN], CODES[EVEN], gamma=0.5)
    assert inside.total.K.dtype == (np.float32 if single else np.float64)
    assert_allclose(inside.total.K, expected.total.K, atol=1e-6)
    assert_allclose(rows, alone.rows(NUMBERS[ODD]), atol=1e-6)
    assert not np.allclose(rows, whole.rows(NUMBERS[ODD])[:, EVEN], atol=1e-3)


def test_a_fold_of_several_kernels_has_the_folds_of_each():
    specs = [KernelSpec(TREES), KernelSpec("rbf", 0.5)]
    given = several_inputs(specs, normalize=False, resources=Resources(0))
    inside, rows = given.fit(NUMBERS, CODES).fold(EVEN, ODD)
    assert isinstance(inside, SeveralBases)
    assert isinstance(rows, SideBySide)
    for block, spec in zip(rows.blocks, specs, strict=True):
        kernel, gamma = spec.name, spec.gamma
        alone, _ = fitted_input(kernel, NUMBERS[EVEN], CODES[EVEN], gamma=gamma)
        assert_allclose(block, alone.rows(NUMBERS[ODD]))
    with pytest.raises(TypeError, match="of_member"):
        inside.form(None, True)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("case", SEVERAL)
def test_tuning_scores_folds_as_fits_on_them_would(case, monkeypatch):
    # as in the search, no member starts at the first one
    def train_from_zero(*task):
        return train_member(*task), None

    monkeypatch.setattr("spanforest.ensemble.train_first", train_from_zero)
    kernel = {
        "list": [TREES, "linear"],
        "sum": SumKernel([TREES, ForestKernel(5)]),
        "sum in a list": [SumKernel([TREES, ForestKernel(5)]), "linear", TREES],
    }[case]
    # every kernel of a list has a member
    n = len(kernel) if isinstance(kernel, list) else 2
    tuned, _ = fold_by_fold(NUMBERS, LABELS, kernel, n, scaling=None)
    assert tuned.kernel_ == kernel
    assert tuned.cv_results_["param_kernel"][0] == kernel


DEEP = ForestKernel(30, min_samples_leaf=1)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [[DEEP, "rbf"], SumKernel([DEEP, "rbf"])])
def test_random_labels_are_scored_and_calibrated_at_chance_level(kernel):
    tuned = RandomGraphEnsembleClassifierCV(
        2,
        kernels=[kernel],
        Cs=10.0,
        losses="edge",
        offsets=0,
        thresholds=None,
        scoring="microlabel_accuracy",
        n_estimators_search=2,
        random_state=0,
        probability=True,
    ).fit(NOISE, COINS)
    assert tuned.best_score_ < CHANCE
    assert microlabel_accuracy(COINS, tuned.predict(NOISE)) > 0.9
    P = tuned.predict_proba(np.random.default_rng(8).normal(size=(200, 5)))
    assert np.abs(P - 0.5).max() < 0.2


@pytest.mark.needs_compiled
def test_tuning_chooses_among_single_kernels_lists_and_sums():
    kernels = ["rbf", [TREES, "rbf"], SUM]
    tuned = RandomGraphEnsembleClassifierCV(
        3, kernels=kernels, gammas=(0.5, 1.0), Cs=1.0, losses="edge", random_state=0
    ).set_params(offsets=0, thresholds=None, training="separate")
    tuned.fit(NUMBERS, LABELS)
    chosen = [params["kernel"] for params in tuned.cv_results_["params"]]
    assert chosen == ["rbf", *kernels]
    assert tuned.predict(X_new).shape == (25, 4)


# --- what they accept -----------------------------------------------------------------


LABEL_KINDS = {
    "several values": GRADES,
    "one label": LABELS[:, 0],
    "words": np.array(["no", "yes"])[LABELS],
    "missing": np.where(np.isnan(GAPS), np.nan, LABELS),
    "constant": np.ones((60, 2), dtype=int),
}


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kind", LABEL_KINDS)
def test_labels_of_every_kind_are_learned(several, kind):
    Y = LABEL_KINDS[kind]
    fitted = ensemble(several, probability=True).fit(NUMBERS, Y)
    assert fitted.predict(X_new).shape == (25, *np.shape(Y)[1:])
    assert len(fitted.predict_topk(X_new, 1).labels) == 25
    assert fitted.predict_proba(X_new) is not None


def test_graphs_with_cycles_and_without_edges_are_trained(several):
    for graph in (TRIANGLE, "independent"):
        model = ensemble(several, graph=graph, tol=0.5)
        fitted = model.fit(NUMBERS, LABELS[:, :3])
        assert fitted.predict(X_new).shape == (25, 3)


def test_sparse_examples_are_dense_ones(several):
    X = np.maximum(np.round(2 * NUMBERS), 0)
    dense = ensemble(several).fit(X, LABELS)
    thin = ensemble(several).fit(sparse.csr_array(X), LABELS)
    assert_allclose(thin._weights, dense._weights, atol=1e-3)
    assert_array_equal(thin.predict(sparse.csc_array(X)), dense.predict(X))


def test_weight_zero_is_leaving_an_example_out(several):
    weight = np.ones(60)
    weight[EVEN] = 0
    weighted = ensemble(several).fit(NUMBERS, LABELS, weight)
    fewer = ensemble(several).fit(NUMBERS[ODD], LABELS[ODD])
    assert_array_equal(weighted.predict(X_new), fewer.predict(X_new))
    assert_allclose(weighted._weights, fewer._weights, atol=1e-12)


def test_classes_may_be_balanced(several):
    fitted = ensemble(several, class_weight="balanced").fit(NUMBERS, LABELS)
    assert fitted.score(NUMBERS, LABELS) > 0.3


@pytest.mark.needs_compiled
def test_threads_change_no_bit(several):
    one = ensemble(several).fit(NUMBERS, LABELS)
    two = ensemble(several, n_jobs=2).fit(NUMBERS, LABELS)
    assert_array_equal(one._weights, two._weights)


FORESTS = {
    "list": [TREES, ForestKernel(10)],
    "sum": SumKernel([TREES, ForestKernel(10)]),
    "sum in a list": [SumKernel([TREES, ForestKernel(5)]), TREES],
}


@pytest.mark.parametrize("case", FORESTS)
def test_missing_values_are_accepted_if_all_kernels_accept_them(case):
    model = ensemble(FORESTS[case]).fit(GAPS, LABELS)
    assert model.predict(np.full((1, 4), np.nan)).shape == (1, 4)
    mixed = ensemble(SEVERAL[case])
    with pytest.raises(ValueError, match=r'contains NaN.* Choose kernel="forest"'):
        mixed.fit(GAPS, LABELS)
    nan_tags = [m.__sklearn_tags__().input_tags.allow_nan for m in (model, mixed)]
    assert nan_tags == [True, False]


COLOURS = np.random.default_rng(3).choice(["red", "green", "blue"], 60)
COLOURED = np.column_stack([COLOURS == "red", NUMBERS[:, 0] > 0]).astype(int)


def coloured_frame():
    frame = pd.DataFrame(NUMBERS, columns=list("abcd"))
    frame["colour"] = pd.Categorical(COLOURS)
    return frame


@pytest.mark.parametrize("case", FORESTS)
@pytest.mark.parametrize("kernels", [FORESTS, SEVERAL])
def test_columns_of_categories_are_read_once_for_all_kernels(case, kernels):
    frame = coloured_frame()
    fitted = ensemble(kernels[case], C=10).fit(frame, names(COLOURED))
    assert fitted.score(frame, names(COLOURED)) > 0.9
    assert fitted.n_features_in_ == 5
    assert all(len(m.predict(frame)) == 60 for m in fitted.estimators_)


def test_beside_other_kernels_forests_see_a_column_per_category():
    frame = coloured_frame()
    mixed = ensemble([TREES, "linear"]).fit(frame, names(COLOURED))
    X = np.column_stack([NUMBERS, *(c == COLOURS for c in np.unique(COLOURS))])
    by_hand = ensemble([TREES, "linear"]).fit(X, COLOURED)
    assert_array_equal(mixed._weights, by_hand._weights)
    assert_array_equal(mixed.predict(frame), by_hand.predict(X))


@pytest.mark.parametrize("kernel", ["auto", "linear", "rbf"])
def test_a_single_kernel_sees_a_column_per_category(kernel):
    frame = coloured_frame()
    fitted = ensemble(kernel).fit(frame, names(COLOURED))
    X = np.column_stack([NUMBERS, *(c == COLOURS for c in np.unique(COLOURS))])
    by_hand = ensemble(kernel).fit(X, COLOURED)
    assert_array_equal(fitted.predict(frame), by_hand.predict(X))


def test_any_forest_of_a_list_may_name_the_columns_of_categories():
    X = np.column_stack([NUMBERS[:, :1].astype(object), COLOURS])
    for columns in ([1], np.array([1, 1])):
        kernels = [TREES, ForestKernel(10, categories=columns)]
        assert ensemble(kernels, C=10).fit(X, COLOURED).score(X, COLOURED) > 0.9


def test_features_are_scaled_for_each_kernel_as_if_it_were_alone():
    X = np.abs(NUMBERS) * [1000, 1, 1, 1]
    fitted = ensemble(["tanimoto", "linear", "rbf"]).fit(X, LABELS)
    for given, kernel in zip(fitted._input.inputs, fitted.kernel, strict=True):
        alone = ensemble(kernel).fit(X, LABELS)._input
        assert (given.scaling is None) == (kernel == "tanimoto")
        if given.scaling is not None:
            assert_array_equal(given.scaling.factor, alone.scaling.factor)


# --- what users see -------------------------------------------------------------------


def test_kernels_and_gammas_are_lists_and_weights_stand_on_the_members(three):
    assert three.kernel_ == THREE
    assert three.gamma_ == [None, three.estimators_[1].gamma_, None]
    assert_array_equal(three.X_fit_, NUMBERS)
    assert not {"cell_coef_", "dual_coef_"} & vars(three).keys()
    assert three.estimators_[0].dual_coef_.shape[0] == 60
    assert "X_fit_" not in vars(three.estimators_[2])


def test_the_examples_are_kept_once():
    fitted = ensemble(["rbf", "poly", SumKernel(["rbf", "linear"])]).fit(
        NUMBERS, LABELS
    )
    kept = {id(given.X_fit) for given in fitted._input.singles}
    assert kept == {id(fitted.X_fit_)}


def test_a_refit_forgets_the_kernels_of_the_first_fit():
    model = ensemble(THREE).fit(NUMBERS, LABELS)
    model.set_params(kernel="linear").fit(NUMBERS, LABELS)
    assert not {"_stacked_weights", "X_fit_"} & vars(model).keys()
    assert_array_equal(
        model.predict(X_new), ensemble("linear").fit(NUMBERS, LABELS).predict(X_new)
    )


def test_clones_have_equal_kernels_of_their_own(several):
    model = ensemble(several)
    copy = clone(model)
    assert copy.kernel == model.kernel
    assert copy.kernel is not model.kernel


def test_members_can_be_fitted_again(three):
    for member in three.estimators_:
        assert clone(member).fit(NUMBERS, LABELS).predict(X_new).shape == (25, 4)


def test_predictions_are_explained_and_couplings_measured(several):
    fitted = ensemble(several).fit(NUMBERS, LABELS)
    explanation = explain(fitted, X_new[0])
    assert [one.value for one in explanation.labels] == fitted.predict(X_new[:1])[
        0
    ].tolist()
    assert explanation.labels[0].features is None  # no part of rbf has a feature
    couplings = edge_couplings(fitted, NUMBERS)
    assert_allclose(training_couplings(fitted).strength, couplings.strength)
    terms = reconstruction_gap(fitted, NUMBERS, LABELS)
    assert terms.gap == pytest.approx(terms.variance)


@pytest.mark.parametrize(
    "kernel",
    [
        [TREES, "linear"],
        SumKernel([TREES, TREES]),
        [SumKernel([TREES])],
        SumKernel(["linear", TREES]),
    ],
)
def test_margins_are_divided_among_features_where_every_kernel_can(kernel):
    frame = coloured_frame()
    model = ensemble(kernel).fit(frame, names(COLOURED))
    for label in explain(model, frame[:1]).labels:
        assert [one.feature for one in label.features].count("colour") == 1
        total = sum(one.difference for one in label.features) + label.constant
        assert total == pytest.approx(label.margin)
    if isinstance(kernel, list) and len(kernel) > 1:
        scores = model._scores(model._input.rows(model._read_new_examples(frame)))
        weights, X = model._weights, model._read_new_examples(frame[:1])
        total = model._input.feature_contributions(X, weights).sum(axis=0)
        linear = model._input.inputs[1]
        shift = linear.scaling.centre @ weights[60:]
        forest = model._input.inputs[0].rows(model._read_new_examples(frame))
        mean = (forest @ weights[:60]).mean(axis=0)
        expected = scores[0] - model.cell_intercept_ - shift - mean
        assert_allclose(total, expected, atol=1e-9)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", ["linear", "cosine"])
def test_features_contribute_to_a_sum_with_a_linear_kernel(name, form, normalize):
    """As to the linear kernel alone, and to forests what they change of the mean."""
    kernel = SumKernel([name, TREES], weights=[3, 1])
    given = input_for(KernelSpec(kernel), normalize, Resources(0))
    examples, new = form(NUMBERS), form(X_new[:1])
    given.learn_scaling("auto", examples)
    given.fit(examples, LABELS)
    weights = np.random.default_rng(0).normal(size=(len(NUMBERS), 2))
    total = given.feature_contributions(new, weights)
    alone = LinearInput(KernelSpec(name), normalize)
    alone.learn_scaling("auto", examples)
    own = alone.fit(examples, LABELS).rows.T @ weights
    if not alone.has_unit_length:
        own, _ = alone.weights_of_rows(own, np.zeros(2))
    expected = given.factors[0] * alone.feature_contributions(new, own)
    expected += given.factors[1] * given.inputs[1].feature_contributions(new, weights)
    assert_allclose(total, expected)
    mean = given.factors[1] * (given.inputs[1].rows(examples) @ weights).mean(axis=0)
    assert_allclose(total.sum(axis=0), (given.rows(new) @ weights)[0] - mean)


@pytest.mark.needs_compiled
def test_a_warm_start_goes_on_with_the_kernels_in_turn():
    def function(A, B):
        return linear_kernel(A, B)

    kernels = [TREES, "rbf", SumKernel([function, "linear"])]
    model = ensemble(kernels, 3, warm_start=True).fit(NUMBERS, LABELS)
    grown = model.set_params(n_estimators=5).fit(NUMBERS, LABELS)
    at_once = ensemble(kernels, 5).fit(NUMBERS, LABELS)
    assert_array_equal(grown._weights, at_once._weights)
    model.set_params(kernel=[*kernels[:2], SumKernel([function, "rbf"])])
    with pytest.raises(ValueError, match="warm_start"):
        model.set_params(n_estimators=6).fit(NUMBERS, LABELS)


# --- bad input ------------------------------------------------------------------------


BAD_KERNELS = {
    "empty": ([], "kernel must be a list of one or more kernels"),
    "nested": (["rbf", ["linear"]], r"flat list.*SumKernel"),
    "precomputed": (["rbf", "precomputed"], '"precomputed" cannot be one of several'),
    "precomputed in a sum": (SumKernel(["precomputed"]), '"precomputed" cannot be'),
    "auto": (["auto", "rbf"], '"auto" cannot be one of several kernels'),
    "unknown": (["rbf", "rfb"], "Unknown kernel 'rfb'"),
    "unknown in a sum": (SumKernel(["rbf", "rfb"]), "Unknown kernel 'rfb'"),
    "no kernel": (["rbf", 3], "Unknown kernel 3"),
    "too many": (["rbf"] * 5, r"every kernel needs a member.*n_estimators=5"),
    "bad forest": (["rbf", ForestKernel(0)], "n_estimators of a ForestKernel"),
    "a sum of nothing": (SumKernel([]), "the kernels of a SumKernel must be a list"),
    "a bad gamma": ([SumKernel(["rbf"]), "poly"], "gamma must be a positive number"),
}


@pytest.mark.parametrize("case", BAD_KERNELS)
def test_bad_kernels_are_refused_and_nothing_is_fitted(case):
    kernel, message = BAD_KERNELS[case]
    gamma = -1.0 if case == "a bad gamma" else None
    model = ensemble(kernel, gamma=gamma)
    with pytest.raises(ValueError, match=message):
        model.fit(NUMBERS, LABELS)
    assert not hasattr(model, "estimators_")
    if gamma is None:
        tuned = RandomGraphEnsembleClassifierCV(4, kernels=[kernel], random_state=0)
        with pytest.raises(ValueError, match=message):
            tuned.fit(NUMBERS, LABELS)


def test_a_single_model_refuses_a_list_and_names_the_sum():
    with pytest.raises(ValueError, match=r"a single kernel.*SumKernel"):
        MMCRFClassifier(kernel=["rbf", "linear"]).fit(NUMBERS, LABELS)
    fitted = MMCRFClassifier(kernel=SUM, random_state=0).fit(NUMBERS, LABELS)
    assert fitted.kernel_ == SUM
    assert isinstance(fitted._input.inputs[0], ForestInput)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_part_of_a_sum_may_vanish(dtype):
    tiny = 2.0**-70 if dtype is np.float32 else 2.0**-530
    X = (tiny * NUMBERS).astype(dtype)  # their squares are no normal numbers
    classifier = ensemble(SumKernel(["linear", "rbf"]), scaling=None).fit(X, LABELS)
    alone = ensemble("rbf", scaling=None).fit(X, LABELS)
    assert np.isfinite(classifier.decision_function(X)).all()
    half = 0.5 * alone._input.rows(X)
    assert_allclose(classifier._input.rows(X), half, rtol=1e-5, atol=1e-6)
