"""Estimators with arrays, tables and matrices of every kind: the same result."""

import random
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pandas as pd
import pyarrow as pa
from data_files import FOLDER
from harness import Finding, Target
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from spanforest import (
    MMCRFClassifier,
    RandomGraphEnsembleClassifier,
    RandomGraphEnsembleClassifierCV,
)
from spanforest.kernels import ForestKernel, SumKernel

try:
    import polars
except ImportError:  # it is no dependency
    polars = None

Form = Callable[[np.ndarray], Any]


def _memory_map(array: np.ndarray) -> np.ndarray:
    path = FOLDER / f"{uuid4()}.npy"
    np.save(path, array)
    mapped = np.load(path, mmap_mode="r")
    path.unlink()  # the map stays
    return mapped


def _read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def _every_second(array: np.ndarray) -> np.ndarray:
    wide = np.full((2 * array.shape[0], 3 * array.shape[1]), 7, array.dtype)
    wide[::2, ::3] = array
    return wide[::2, ::3]


def _names(array: np.ndarray) -> list[str]:
    return [f"c{j}" for j in range(array.shape[1])]


def _frame(array: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(array, columns=_names(array))


def _unsorted(array: np.ndarray) -> sparse.csr_array:
    matrix = sparse.coo_array(array[:, ::-1]).tocsr()
    matrix.indices = array.shape[1] - 1 - matrix.indices
    return matrix


def _with_zeros_and_halves(array: np.ndarray) -> sparse.coo_array:
    """Return a matrix with entries that are zero, and entries that stand twice."""
    rows, columns = np.indices(array.shape).reshape(2, -1)
    halves = np.tile(array.ravel() / 2, 2)
    ends = (np.tile(rows, 2), np.tile(columns, 2))
    return sparse.coo_array((halves, ends), shape=array.shape)


def _wide_indices(array: np.ndarray) -> sparse.csr_array:
    matrix = sparse.csr_array(array)
    matrix.indices = matrix.indices.astype(np.int64)
    matrix.indptr = matrix.indptr.astype(np.int64)
    return matrix


TABLES: dict[str, Form] = {
    "plain": np.asarray,
    "list": lambda a: a.tolist(),
    "tuples": lambda a: tuple(map(tuple, a.tolist())),
    "list of arrays": list,
    "Fortran": np.asfortranarray,
    "every second": _every_second,
    "reversed": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "memory map": _memory_map,
    "read-only": _read_only,
    "objects": lambda a: a.astype(object),
    "subclass": lambda a: a.view(type("Subclass", (np.ndarray,), {})),
    "masked": np.ma.masked_array,
    "frame": _frame,
    "frame of one block": lambda a: _frame(a).copy(),
    "nullable frame": lambda a: _frame(a).convert_dtypes(),
    "arrow frame": lambda a: _frame(a).convert_dtypes(dtype_backend="pyarrow"),
    "frame of objects": lambda a: _frame(a).astype(object),
    "frame with an index": lambda a: _frame(a).set_index(
        pd.Index(range(9, 9 + len(a)))
    ),
    "arrow table": lambda a: pa.Table.from_pandas(_frame(a)),
}
if polars is not None:
    TABLES["polars"] = lambda a: polars.DataFrame(a, schema=_names(a))
MATRICES: dict[str, Form] = {
    **{f"{form} array": getattr(sparse, f"{form}_array") for form in ("csr", "csc")},
    **{f"{form} matrix": getattr(sparse, f"{form}_matrix") for form in ("csr", "csc")},
    "coo array": sparse.coo_array,
    "lil array": sparse.lil_array,
    "dok array": sparse.dok_array,
    "bsr array": sparse.bsr_array,
    "dia array": sparse.dia_array,
    "unsorted": _unsorted,
    "zeros and halves": _with_zeros_and_halves,
    "wide indices": _wide_indices,
    "read-only matrix": lambda a: _locked(sparse.csr_array(a)),
}


def _locked(matrix: sparse.csr_array) -> sparse.csr_array:
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


TYPES = ["f8", "f8", "f4", "f2", "i8", "i1", "u1", "?", "g"]
_rng = np.random.default_rng(0)
X = _rng.integers(-8, 9, size=(24, 4)) / 4.0
X[_rng.random(X.shape) < 0.3] = 0
X_NEW = _rng.integers(-8, 9, size=(12, 4)) / 4.0
RULE = X @ _rng.normal(size=(4, 3))
Y = (np.median(RULE, axis=0) < RULE).astype(int)


FOREST = ForestKernel(5, min_samples_leaf=2)
KERNELS: dict[str, Any] = {
    **{name: name for name in ("linear", "rbf", "tanimoto", "precomputed")},
    "forest": FOREST,
    "several": ["linear", FOREST],
    "sum": SumKernel(["rbf", FOREST]),
}


class Case(NamedTuple):
    """A combination of forms."""

    estimator: str
    kernel: str
    feature_type: str
    feature_form: str
    new_form: str
    label_type: str
    label_form: str


def make(rng: random.Random) -> Case:
    """Draw a combination."""
    forms = [*TABLES, *MATRICES]
    return Case(
        rng.choice(["one graph", "ensemble", "ensemble", "joint", "tuned"]),
        rng.choice(list(KERNELS)),
        rng.choice(TYPES),
        rng.choice(forms),
        rng.choice(forms),
        rng.choice(["i8", "i1", "u1", "f8", "f4", "?", "U1"]),
        rng.choice([*TABLES, *MATRICES]),
    )


def _new_estimator(case: Case) -> Any:
    kernel = KERNELS[case.kernel]
    options = {"kernel": kernel, "tol": 1e-4, "max_iter": 500, "random_state": 0}
    is_list = isinstance(kernel, list)
    if case.estimator == "one graph" and not is_list:
        return MMCRFClassifier(**options)
    if case.estimator == "joint" and not is_list:
        return RandomGraphEnsembleClassifier(3, training="joint", **options)
    if case.estimator != "tuned":
        return RandomGraphEnsembleClassifier(3, **options)
    kernels = (kernel,)
    options = {"cv": 2, "tol": 1e-4, "max_iter": 500, "random_state": 0}
    return RandomGraphEnsembleClassifierCV(2, kernels=kernels, Cs=(1.0,), **options)


def _apply(form: str, array: np.ndarray) -> Any:
    return {**TABLES, **MATRICES}[form](array)


def check(case: Case) -> None:
    """Fit and predict with odd forms, and compare with plain arrays."""
    base, new = (np.abs(X), np.abs(X_NEW)) if case.kernel == "tanimoto" else (X, X_NEW)
    base, new = (a.astype(case.feature_type) for a in (base, new))
    if case.kernel == "precomputed":
        base, new = base.astype(float), new.astype(float)
        base, new = base @ base.T, new @ base.T
    labels = Y.astype(case.label_type)
    try:
        odd = [_apply(case.feature_form, base), _apply(case.new_form, new)]
        odd.append(_apply(case.label_form, labels))
    except (TypeError, ValueError, NotImplementedError, pa.ArrowException):
        return  # there is no such array
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="X (does not )?ha(s|ve) .*names")
        try:
            model = _new_estimator(case).fit(odd[0], odd[2])
            predicted = model.predict(odd[1])
            model.score(odd[1], _apply(case.label_form, labels[:12]))
        except (ValueError, TypeError) as error:
            _check_error(error)
            return
        plain = _new_estimator(case).fit(
            np.ascontiguousarray(base, dtype=_working_type(case)), labels
        )
        expected = plain.predict(np.ascontiguousarray(new, dtype=_working_type(case)))
    if sparse.issparse(predicted) != (case.label_form in MATRICES):
        raise Finding("predictions have another form than labels")
    if sparse.issparse(predicted):
        predicted = predicted.toarray()
    if predicted.shape != expected.shape:
        raise Finding("predictions have another shape")
    same = predicted.astype(str) == expected.astype(str)
    numeric = case.label_type != "U1"
    if numeric:
        same = predicted.astype(float) == expected.astype(float)
    if same.mean() >= 0.9:  # ties and other ways to one optimum
        return
    decisions = model.decision_function(odd[1]), plain.decision_function(new)
    if not np.allclose(*decisions, rtol=1e-3, atol=1e-2):
        raise Finding("predictions depend on the form of the input")


def _working_type(case: Case) -> str:
    return "f4" if case.feature_type == "f4" and case.kernel != "precomputed" else "f8"


def _check_error(error: Exception) -> None:
    """Refuse an error that does not come from a check."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    if "spanforest" in last.filename:
        return
    if "sklearn" in last.filename and "validation" in last.filename:
        return
    raise error


def warm_up() -> None:
    """Compile what the estimators use."""
    for name in ("one graph", "ensemble", "tuned"):
        for form in ("plain", "csr array"):
            with suppress(Exception):  # findings are for later
                check(Case(name, "linear", "f8", form, form, "i8", "plain"))


TARGETS = [(Target("kinds of input", make, check, warm_up, most_seconds=60), 0.003)]
