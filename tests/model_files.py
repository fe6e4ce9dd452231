"""Models to save, and model files made by hand, for the tests of saving and loading."""

import hashlib
import io
import itertools
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io
from numpy.testing import assert_array_equal
from scipy.sparse import issparse

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest.persistence import FORMAT_VERSION, ModelFileError, load

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 4))
X_new = rng.normal(size=(25, 4))
Y = (X @ rng.normal(size=(4, 5)) + rng.normal(size=(40, 5)) > 0).astype(int)
WORDS = np.array(["no", "yes"])[Y]
GRADES = np.digitize(X[:, :3], [-0.5, 0.5])

DAMAGED = "is damaged, cut short or altered: .* Copy the file again"
NO_MODEL = "is not a spanforest model file: .* Pass a file"


def frame(array, name="column"):
    return pd.DataFrame(array, columns=[f"{name} {j}" for j in range(array.shape[1])])


QUICK = {"kernel": "linear", "scaling": None, "tol": 0.5, "max_iter": 3}


def ensemble(**params):
    defaults = {"n_estimators": 3, **QUICK, "random_state": 0}
    return RandomGraphEnsembleClassifier(**{**defaults, **params})


def mmcrf(**params):
    return MMCRFClassifier(**{**QUICK, "random_state": 0, **params})


def assert_same_bits(one, other):
    assert type(one) is type(other)
    assert one.dtype == other.dtype
    if issparse(one):
        one, other = one.toarray(), other.toarray()
    assert_array_equal(one, other)
    if one.dtype.kind == "f":
        assert one.tobytes() == other.tobytes()


# --- files ---------------------------------------------------------------------------


def model_file(payload: bytes, **changes) -> bytes:
    """A model file as the format describes it, with correct checksums.

    `changes` replaces fields of the header; a field changed to ... is left out.
    """
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


class Exploit:
    """Makes a file when it is unpickled."""

    def __init__(self, sentinel):
        self.sentinel = sentinel

    def __reduce__(self):
        return Path.touch, (self.sentinel,)


# --- schemas of skops ----------------------------------------------------------------

numbers = itertools.count(1)


def node(loader, name, **fields):
    """A node of the schema for the function or class called `name`."""
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


def file_of_schema(schema, files=None) -> bytes:
    """A model file whose payload has this schema and these other members."""
    top = {**schema, "protocol": 2, "_skops_version": skops.__version__}
    members = {"schema.json": json.dumps(top).encode(), **(files or {})}
    return model_file(archive(members))


def assert_not_built(model, path, message):
    """Check that a file of this model is refused when it is loaded."""
    path.write_bytes(model_file(skops.io.dumps(model)))
    with pytest.raises(ModelFileError, match=f"cannot be built: .*{message}"):
        load(path)
