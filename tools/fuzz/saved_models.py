"""Model files with correct checksums and changed contents.

Loading gives a model or a `ModelFileError`, and runs nothing. A model that was loaded
predicts or raises an error; it never reads outside of its arrays. Run with
NUMBA_BOUNDSCHECK=1 and an empty NUMBA_CACHE_DIR, so that such reads are noticed even if
they do not end the process.
"""

import copy
import io
import json
import random
import sys
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import skops.io
from data_files import FOLDER, npy_of, zip_of
from harness import Finding, Target
from model_files import GRADES, WORDS, X_new, ensemble, frame, mmcrf, model_file
from model_files import X as X_OLD
from model_files import Y as Y_OLD
from mutations import mutate
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from spanforest import RandomGraphEnsembleClassifierCV
from spanforest._model_file_checks import TRUSTED
from spanforest.kernels import ForestKernel, SumKernel
from spanforest.paper.baselines import PerLabelClassifier
from spanforest.persistence import ModelFileError, load

SPARSE_X = sparse.csr_array(np.where(X_OLD > 0, X_OLD, 0.0))
GAPS = np.where(np.arange(X_OLD.size).reshape(X_OLD.shape) % 5, X_OLD, np.nan)
HIDDEN = np.where(np.arange(Y_OLD.size).reshape(Y_OLD.shape) % 7, Y_OLD, np.nan)
CYCLE = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)]
AUDITED = (
    *("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.remove"),
    *("os.rename", "os.mkdir", "os.rmdir", "os.chmod", "subprocess.Popen"),
    *("shutil.", "socket.", "pickle.find_class", "ctypes.", "urllib."),
)
NOT_WORKING = (ValueError, TypeError, AttributeError, KeyError, IndexError)
_events: list[str] | None = None


WAYS: list[tuple[str, dict[str, Any]]] = [
    ("predict", {}),
    ("predict", {"inference": "max_product"}),
    ("predict", {"aggregation": "mve"}),
    ("predict_certified", {}),
    ("predict_topk", {"k": 3}),
    ("decision_function", {}),
    ("predict_proba", {}),
    ("predict_ranking", {"k": 2}),
]


class Case(NamedTuple):
    """The members of the archive in a model file."""

    members: dict[str, bytes]


def _fitted() -> Iterator[Any]:
    warnings.simplefilter("ignore")
    yield from _fitted_with_forests()
    yield mmcrf().fit(X_OLD, Y_OLD)
    yield mmcrf(graph=CYCLE, kernel="rbf").fit(X_OLD, WORDS)
    yield mmcrf(probability=True).fit(SPARSE_X, GRADES)
    yield ensemble(kernel="poly", normalize_kernel=True).fit(SPARSE_X, Y_OLD)
    yield ensemble(aggregation="mve").fit(frame(X_OLD), frame(Y_OLD))
    yield ensemble(probability=True, aggregation="amm").fit(X_OLD, HIDDEN)
    yield ensemble(kernel="precomputed").fit(X_OLD @ X_OLD.T, Y_OLD)
    yield make_pipeline(StandardScaler(), mmcrf()).fit(X_OLD, Y_OLD)
    yield DecisionTreeClassifier(max_depth=3).fit(X_OLD, Y_OLD)
    yield PerLabelClassifier(SVC()).fit(X_OLD, Y_OLD)
    yield make_pipeline(KMeans(2, n_init=1), KNeighborsClassifier()).fit(X_OLD, Y_OLD)


def _fitted_with_forests() -> Iterator[Any]:
    forest = ForestKernel(4)
    yield ensemble(kernel=forest, offset=0.3).fit(GAPS, Y_OLD)
    yield ensemble(kernel=forest, training="joint").fit(SPARSE_X, Y_OLD)
    yield ensemble(kernel=["rbf", forest], probability=True).fit(X_OLD, Y_OLD)
    yield ensemble(kernel=SumKernel(["poly", forest])).fit(1e9 + X_OLD, Y_OLD)
    yield mmcrf(kernel=forest, offset=[0.1] * 5).fit(_table(X_OLD), WORDS)
    yield RandomGraphEnsembleClassifierCV(
        2, kernels=("linear", forest), Cs=(1.0,), cv=2, random_state=0
    ).fit(X_OLD, Y_OLD)


def _table(X: Any) -> pd.DataFrame:
    """Return a table with a column of categories."""
    words = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    return frame(X).assign(**{"column 0": pd.Categorical(words)})


SEEDS: list[dict[str, bytes]] = []


def prepare() -> None:
    """Fit and save the models to change; use each of them once, which compiles."""
    sys.addaudithook(_listen)
    for model in _fitted():
        with zipfile.ZipFile(io.BytesIO(skops.io.dumps(model))) as archive:
            SEEDS.append({name: archive.read(name) for name in archive.namelist()})
        exercise(model)
    warnings.simplefilter("ignore")


def _listen(event: str, arguments: tuple[Any, ...]) -> None:
    if _events is None:
        return
    is_write = event == "open" and "w" in str(arguments[1] or "")
    if is_write or event.startswith(AUDITED):
        _events.append(f"{event} {arguments!r:.80}")


# --- making --------------------------------------------------------------------------


def make(rng: random.Random) -> Case:
    """Change the schema or arrays of a model."""
    members = dict(rng.choice(SEEDS))
    schema = json.loads(members["schema.json"])
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        arrays = [name for name in members if name.endswith(".npy")]
        if arrays and rng.random() < 0.5:
            name = rng.choice(arrays)
            try:
                members[name] = _changed_array(rng, members, name, arrays)
            except (TypeError, ValueError, OSError, SyntaxError):
                members[name] = members[rng.choice(arrays)]  # it cannot be changed so
        else:
            _change_schema(rng, schema, arrays)
    members["schema.json"] = json.dumps(schema).encode()
    return Case(members)


def _changed_array(rng, members, name, names) -> bytes:
    kind = rng.randrange(10)
    if kind == 0:
        return members[rng.choice(names)]
    if kind == 1:
        return mutate(rng, members[name])
    array = np.load(io.BytesIO(members[name])).copy()
    flat = array.reshape(-1)
    if kind in (2, 3, 4, 5) and len(flat):
        _spoil(rng, flat)
    elif kind == 6:
        array = flat[: rng.randint(0, len(flat))]
    elif kind == 7:
        array = np.concatenate([flat, flat])
    elif kind == 8:
        array = array.T.copy() if rng.random() < 0.5 else array[..., None]
    else:
        array = array.astype(rng.choice(["i1", ">i8", "u8", "f4", "f8", "U3", "?"]))
    return npy_of(array)


def _spoil(rng, flat) -> None:
    """Put an odd number into an array."""
    at = rng.randrange(len(flat))
    if flat.dtype.kind == "f":
        flat[at] = rng.choice([np.nan, np.inf, -np.inf, 1e308, 5e-324, 0.0, -1.0])
    elif flat.dtype.kind in "iu":
        limits = np.iinfo(flat.dtype)
        near = int(flat[at]) + rng.choice([-1, 1])
        values = [limits.max, limits.min, 0, 1, len(flat), near, 1000]
        flat[at] = rng.choice([v for v in values if limits.min <= v <= limits.max])
    elif flat.dtype.names:
        field = rng.choice(flat.dtype.names)
        if flat.dtype[field].kind in "iuf":
            flat[field][at] = rng.choice([0, 1, 7, 100])
    else:
        flat[at] = flat[rng.randrange(len(flat))]


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container and key of a schema."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in list(items):
        yield node, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _change_schema(rng, schema, arrays) -> None:
    places = list(_places(schema))
    holder, key = rng.choice(places)
    value = holder[key]
    if key == "content" and isinstance(value, str):
        holder[key] = rng.choice(
            ["0", "1", "-1", "null", "true", "1e999", "NaN", "[]", '"a"', "99999999999"]
        )
    elif key in ("__module__", "__class__"):
        name = rng.choice([*sorted(TRUSTED), "os.system", "builtins.eval", "x.y"])
        holder["__module__"], _, holder["__class__"] = name.rpartition(".")
    elif key == "file" and arrays:
        holder[key] = rng.choice(arrays)
    elif isinstance(value, int):
        holder[key] = rng.choice([0, -1, 1, value + 1, 10**12])
    elif isinstance(value, dict) and rng.random() < 0.7:
        other, at = rng.choice([(h, k) for h, k in places if isinstance(h[k], dict)])
        holder[key] = copy.deepcopy(other[at])  # no cycles
    elif isinstance(holder, dict) and rng.random() < 0.5:
        del holder[key]
    else:
        holder[key] = rng.choice([None, "a", [], {}, value])


# --- checking ------------------------------------------------------------------------


def check(case: Case) -> None:
    """Load a changed file, and use the model."""
    global _events
    path = FOLDER / "model.spanforest"
    path.write_bytes(model_file(zip_of(case.members)))
    _events = []
    try:
        model = load(path)
    except ModelFileError as error:
        if len(str(error)) > 1500:
            raise Finding(f"a message of {len(str(error))} characters") from error
        return
    finally:
        events, _events = _events, None
        if events:
            raise Finding(f"loading does more than read\n{events}")
    exercise(model, is_changed=True)


def exercise(model: Any, *, is_changed: bool = False) -> None:
    """Predict in every way; errors of Python are allowed if the model was changed."""
    for name, options in WAYS:
        try:
            method = getattr(model, name, None)
            if method is not None:
                method(_examples(model), **options)
        except Exception as error:
            if is_changed and not isinstance(error, NOT_WORKING):
                raise
            if "index is out of bounds" in str(error):
                raise Finding(f"{name} reads outside of an array") from error


def _examples(model: Any) -> Any:
    n_features = getattr(model, "n_features_in_", 4)
    if "feature_names_in_" in vars(model):  # of a table with categories, or of others
        with suppress(Exception):
            return _table(X_new[:5]).set_axis(model.feature_names_in_, axis=1)
    if isinstance(n_features, int) and 0 < n_features < 1000:
        return np.resize(X_new, (5, n_features))
    return X_new[:5]


TARGETS = [(Target("model files", make, check, prepare), 0.05)]
