"""An ensemble that grows equals one that was trained at once."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from small_data import X, X_new, Y, assert_same_model

import spanforest
from spanforest import RandomGraphEnsembleClassifier
from spanforest._warm_start import fingerprint

K = X @ X.T + 1.0


def ensemble(n_estimators=2, **options):
    options = {"kernel": "linear", "tol": 0.2, "random_state": 0, **options}
    return RandomGraphEnsembleClassifier(n_estimators, warm_start=True, **options)


def grown(model, X=X, y=Y, size=4, **data):
    model.fit(X, y, **data)
    kept = model.estimators_
    model.set_params(n_estimators=size).fit(X, y, **data)
    assert model.estimators_[: len(kept)] == kept  # the same objects
    return model


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "rbf", "graph": "informed_tree", "n_jobs": 2},
        {"kernel": "forest"},
        {"probability": True, "aggregation": "amm"},
    ],
    ids=["linear", "rbf", "forest", "probability"],
)
def test_a_grown_ensemble_is_bit_for_bit_the_one_trained_at_once(options):
    model = grown(ensemble(**options))
    at_once = ensemble(4, **options).set_params(warm_start=False).fit(X, Y)
    assert_same_model(model, at_once)
    assert_array_equal(model.predict(X_new), at_once.predict(X_new))
    for one, other in zip(model.estimators_, at_once.estimators_, strict=True):
        assert_same_model(one, other)
        assert one.get_params()["probability"] is False
    if "probability" in options:
        assert_array_equal(model.predict_proba(X_new), at_once.predict_proba(X_new))


def test_kernel_matrices_weights_and_missing_labels_grow_too():
    gaps = np.where(np.arange(Y.size).reshape(Y.shape) % 7 == 0, np.nan, Y)
    weights = np.arange(len(X)) % 3  # some are 0
    options = {"kernel": "precomputed"}
    model = grown(ensemble(**options), K, gaps, sample_weight=weights)
    at_once = ensemble(4, **options).fit(K, gaps, sample_weight=weights)
    assert_same_model(model, at_once)


@pytest.mark.parametrize("kernel", ["linear", "forest"])
@pytest.mark.parametrize("seed", [None, np.random.RandomState(5)], ids=str)
def test_without_a_fixed_seed_the_first_members_stay(kernel, seed):
    model = ensemble(random_state=seed, kernel=kernel).fit(X, Y)
    first = model.predict(X_new)
    model.set_params(n_estimators=4).fit(X, Y)
    *_, second = zip(range(2), model.staged_predict(X_new), strict=False)
    assert_array_equal(second[1], first)


def test_a_list_of_graphs_may_become_longer():
    graphs = [[(0, 1)], [(1, 2)], [(2, 3)]]
    model = ensemble(2, graph=graphs[:2]).fit(X, Y)
    model.set_params(n_estimators=3, graph=graphs).fit(X, Y)
    assert_same_model(model, ensemble(3, graph=graphs).fit(X, Y))


def test_a_saved_ensemble_can_grow(tmp_path):
    spanforest.save(ensemble().fit(X, Y), tmp_path / "model.spanforest")
    model = spanforest.load(tmp_path / "model.spanforest")
    assert_same_model(model.set_params(n_estimators=3).fit(X, Y), ensemble(3).fit(X, Y))


def test_the_first_fit_may_have_been_without_warm_start():
    model = ensemble().set_params(warm_start=False).fit(X, Y)
    model.set_params(warm_start=True, n_estimators=3).fit(X, Y)
    assert_same_model(model, ensemble(3).fit(X, Y))


@pytest.mark.parametrize("change", [{"C": 2.0}, {"kernel": "rbf"}, {"random_state": 1}])
def test_other_parameters_are_refused(change):
    model = ensemble().fit(X, Y).set_params(n_estimators=3, **change)
    with pytest.raises(ValueError, match=r"those of that fit.*warm_start=False"):
        model.fit(X, Y)


def test_other_data_are_refused_and_fewer_members_too():
    model = ensemble().fit(X, Y).set_params(n_estimators=3)
    for data in ((X + 1, Y), (X, 1 - Y), (X, Y, np.arange(len(X)))):
        with pytest.raises(ValueError, match="must be those of that fit"):
            model.fit(*data)
    with pytest.raises(ValueError, match="members that are there, 2; got 1"):
        model.set_params(n_estimators=1).fit(X, Y)


def test_as_many_members_as_before_cause_a_warning_and_no_change():
    model = ensemble().fit(X, Y)
    before = model.estimators_
    with pytest.warns(UserWarning, match="all 2 members are there already"):
        model.fit(X, Y)
    assert model.estimators_ == before


def test_functions_count_by_their_name():
    one, other = (lambda a, b: a @ b.T for _ in range(2))
    assert fingerprint({"kernel": one}) == fingerprint({"kernel": other})
    assert fingerprint({"kernel": one}) != fingerprint({"kernel": K.dot})
