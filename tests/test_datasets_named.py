"""Data sets by name: listed, generated, read or downloaded."""

from pathlib import Path

import numpy as np
import pytest
from arff_writer import write_arff
from data_folder import needs_data
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import get_data_home
from sklearn.utils import Bunch

from spanforest import datasets
from spanforest.datasets import (
    PAPER_DATASETS,
    Attribute,
    Relation,
    drop_degenerate,
    list_datasets,
    load_dataset,
    make_circle,
)


def openml_like(X, Y):
    """What scikit-learn's fetch_openml gives for a multilabel set."""
    return Bunch(
        data=X,
        target=np.where(Y > 0, "TRUE", "FALSE").astype(object),
        feature_names=[f"f{j}" for j in range(X.shape[1])],
        target_names=[f"l{j}" for j in range(Y.shape[1])],
    )


@pytest.fixture
def no_data(monkeypatch):
    monkeypatch.delenv("SPANFOREST_DATA", raising=False)


@pytest.fixture
def openml(monkeypatch):
    """Replace OpenML by a function; give the list of its calls."""
    calls = []

    def install(answer):
        def fetch(**kwargs):
            calls.append(kwargs)
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(datasets._named, "fetch_openml", fetch)
        return calls

    return install


def emotions_like():
    """Data with the size and cardinality of emotions."""
    Y = np.zeros((593, 6), dtype=int)
    Y.flat[np.arange(0, 593 * 6, 3)[:1108]] = 1
    return np.random.default_rng(0).normal(size=(593, 72)), Y


@pytest.mark.parametrize(("name", "n_labels"), [("Circle10", 10), ("CIRCLE50", 50)])
def test_circle_is_generated_by_name(no_data, name, n_labels):
    dataset = load_dataset(name)
    X, Y = make_circle(n_labels=n_labels, random_state=0)
    assert dataset.name == name.lower()
    assert_array_equal(dataset.X, X)
    assert_array_equal(dataset.Y, Y)
    assert len(dataset.label_names) == n_labels


@pytest.mark.parametrize("from_environment", [True, False])
@pytest.mark.parametrize("form", ["npz", "arff"])
def test_a_data_set_is_read_from_a_folder(
    monkeypatch, tmp_path, form, from_environment
):
    X, Y = emotions_like()
    if form == "npz":
        np.savez(tmp_path / "emotions.npz", X=X, Y=Y)
    else:
        attributes = [Attribute(f"a{j}") for j in range(78)]
        data = np.hstack([X, Y])
        write_arff(Relation("e: -C -6", attributes, data), tmp_path / "emotions.arff")
    monkeypatch.setenv("SPANFOREST_DATA", str(tmp_path if from_environment else "none"))
    actual = load_dataset("Emotions", None if from_environment else tmp_path)
    assert_array_equal(actual.X, X)
    assert_array_equal(actual.Y, Y)
    assert actual.name == "emotions"


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_a_data_set_that_is_in_no_folder_is_downloaded(no_data, openml, container):
    X, Y = emotions_like()
    calls = openml(openml_like(container(X), Y))
    actual = load_dataset("emotions")
    assert_array_equal(dense(actual.X), X)
    assert_array_equal(actual.Y, Y)
    assert actual.label_names == ("l0", "l1", "l2", "l3", "l4", "l5")
    assert [call["data_id"] for call in calls] == [40589]


def test_identifiers_are_dropped_from_downloads(no_data, openml):
    X = np.zeros((662, 1186))
    X[:, 0] = np.arange(662)
    Y = np.zeros((662, 27), dtype=int)
    Y.flat[np.arange(0, 662 * 27, 7)[:829]] = 1
    bunch = openml_like(X, Y)
    bunch.feature_names[0] = "protein"
    openml(bunch)
    assert not load_dataset("genbase").X.any()


def test_without_network_the_message_says_what_to_do(no_data, openml, tmp_path):
    openml(OSError("no route to host"))
    with pytest.raises(FileNotFoundError, match=r"no route.*needs a folder.*data_home"):
        load_dataset("yeast")
    with pytest.raises(FileNotFoundError, match=r"is not in .*SPANFOREST_DATA"):
        load_dataset("yeast", tmp_path)


def test_a_data_set_that_openml_lacks_is_not_requested(no_data, openml, tmp_path):
    calls = openml(AssertionError("not to be called"))
    with pytest.raises(FileNotFoundError, match=r"nci60_subset\.npz"):
        load_dataset("nci60", tmp_path)
    assert not calls


def test_an_unknown_name_lists_the_known_ones(no_data):
    message = r"emotions, .*slashdot, or that of a file .* data_home; got 'iris'"
    with pytest.raises(ValueError, match=message):
        load_dataset("iris")


@pytest.mark.parametrize("name", ["my_birds", "MY-Birds"])
@pytest.mark.parametrize("form", ["npz", "arff"])
def test_any_other_name_is_that_of_a_file_in_the_folder(tmp_path, form, name):
    X, Y = np.arange(6.0).reshape(3, 2), np.array([[0, 1], [1, 0], [1, 1]])
    if form == "npz":
        np.savez(tmp_path / "My-Birds.npz", X=X, Y=Y)
    else:
        attributes = [Attribute(f"a{j}") for j in range(4)]
        relation = Relation("birds: -C -2", attributes, np.hstack([X, Y]))
        write_arff(relation, tmp_path / "My-Birds.arff")
    actual = load_dataset(name, tmp_path)
    assert actual.name == "my_birds"
    assert_array_equal(actual.X, X)
    assert_array_equal(actual.Y, Y)


def test_a_name_without_a_file_names_the_folder(tmp_path):
    with pytest.raises(ValueError, match=rf"\.arff\.gz in {tmp_path}; got 'birds'"):
        load_dataset("birds", tmp_path)


@pytest.mark.parametrize("change", ["row", "feature", "label", "cardinality"])
def test_data_that_are_not_the_set_are_refused(tmp_path, change):
    X, Y = emotions_like()
    if change == "row":
        X, Y = X[1:], Y[1:]
    elif change == "feature":
        X = X[:, 1:]
    elif change == "label":
        Y = Y[:, 1:]
    else:
        Y[0] = 1
    np.savez(tmp_path / "emotions.npz", X=X, Y=Y)
    with pytest.raises(ValueError, match=r"emotions must have .*emotions\.npz"):
        load_dataset("emotions", tmp_path)


def test_the_paper_has_ten_data_sets():
    assert len(set(PAPER_DATASETS)) == 10
    assert set(PAPER_DATASETS) <= set(datasets._named._KNOWN)


@needs_data
@pytest.mark.parametrize("name", sorted(datasets._named._KNOWN))
def test_every_name_gives_its_data_set(name):
    dataset = load_dataset(name.upper())  # checks size and cardinality
    assert dataset.name == name
    assert (dataset.X is None) != (dataset.K is None)
    assert dataset.Y.min() == 0
    assert dataset.Y.max() == 1
    assert len(dataset.label_names) == dataset.n_labels
    assert len(dataset.feature_names) == dataset.n_features
    texts = ("enron", "medical", "bibtex", "tmc2007_500", "slashdot")
    assert dataset.is_text == (name in texts)
    assert bool(dataset.note) == (name == "nci60")


@needs_data
def test_the_fingerprint_set_has_two_labels_without_positives():
    assert drop_degenerate(load_dataset("fingerprint")).n_labels == 284


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("name", ["emotions", "yeast", "scene", "enron", "genbase"])
def test_openml_has_the_set(no_data, name):
    assert load_dataset(name).name == name
    assert Path(get_data_home()).is_dir()


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def test_the_list_names_the_source_that_load_dataset_uses(tmp_path, monkeypatch):
    monkeypatch.delenv("SPANFOREST_DATA", raising=False)
    (tmp_path / "cal500.arff").touch()
    (tmp_path / "nci60_subset.npz").touch()
    sources = {known.name: known.source for known in list_datasets(tmp_path)}
    assert sources["cal500"] == str(tmp_path / "cal500.arff")
    assert sources["nci60"] == str(tmp_path / "nci60_subset.npz")
    assert sources["emotions"] == "OpenML"
    assert sources["medical"] == ""
    with pytest.raises(FileNotFoundError):
        load_dataset("medical", tmp_path)
    assert not any(known.source == str(tmp_path) for known in list_datasets())


def test_listed_sizes_are_those_of_the_data():
    listed = next(known for known in list_datasets() if known.name == "circle50")
    loaded = load_dataset("circle50")
    assert (listed.n_samples, listed.n_features, listed.n_labels) == (
        loaded.n_samples,
        loaded.n_features,
        loaded.n_labels,
    )
    assert listed.cardinality == pytest.approx(loaded.cardinality, abs=5e-3)


def test_a_data_set_that_is_nearly_right_is_suggested():
    with pytest.raises(ValueError, match=r"Did you mean 'emotions'\?"):
        load_dataset("emotons")
