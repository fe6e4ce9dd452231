"""Arrays and tables of every kind give the same model as plain arrays."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from small_data import CLASSIFIERS, X, X_new, Y, new_classifier, read_only


def frame(array):
    return pd.DataFrame(array, columns=[f"c{j}" for j in range(array.shape[1])])


def memory_map(array, path):
    np.save(path, array)
    return np.load(path, mmap_mode="r")


def locked_matrix(array):
    matrix = sparse.csr_array(array)
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


def polars_frame(array):
    return pytest.importorskip("polars").DataFrame(frame(array).to_dict("list"))


def arrow_table(array):
    return pytest.importorskip("pyarrow").table(frame(array).to_dict("list"))


def arrow_frame(array):
    pytest.importorskip("pyarrow")
    return frame(array).convert_dtypes(dtype_backend="pyarrow")


FORMS = {
    "frame": frame,
    "nullable frame": lambda array: frame(array).convert_dtypes(),
    "frame on Arrow": arrow_frame,
    "Arrow table": arrow_table,
    "polars frame": polars_frame,
    "read-only array": read_only,
    "read-only sparse matrix": locked_matrix,
    "list": np.ndarray.tolist,
    "Fortran order": np.asfortranarray,
    "other byte order": lambda array: array.astype(array.dtype.newbyteorder(">")),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_container_of_features_and_labels_changes_nothing(name, form):
    convert = FORMS[form]
    plain = new_classifier(name).fit(X, Y)
    odd = new_classifier(name).fit(convert(X), convert(Y))
    predicted = odd.predict(convert(X_new))
    if sparse.issparse(predicted):
        predicted = predicted.toarray()
    assert_array_equal(predicted, plain.predict(X_new))
    assert odd.score(convert(X), convert(Y)) == plain.score(X, Y)


def test_examples_on_disk_are_read_and_not_written(tmp_path):
    features, labels, new = (
        memory_map(array, tmp_path / f"{name}.npy")
        for name, array in {"X": X, "Y": Y, "new": X_new}.items()
    )
    fitted = new_classifier(CLASSIFIERS[0]).fit(features, labels)
    expected = new_classifier(CLASSIFIERS[0]).fit(X, Y).predict(X_new)
    assert_array_equal(fitted.predict(new), expected)
