"""A writer of ARFF files, the other half of the round trips."""

import bz2
import gzip
import math
import os
import re
from contextlib import nullcontext
from pathlib import Path

import numpy as np


def write_arff(relation, file):
    """Write a relation to a path, which tells the compression, or to an open file."""
    name, attributes, data = relation
    is_path = isinstance(file, str | os.PathLike)
    with _open(Path(file)) if is_path else nullcontext(file) as out:
        out.write(f"@relation {quote(name)}\n")
        for attribute in attributes:
            kind = attribute.kind
            if kind == "nominal":
                kind = "{" + ",".join(map(quote, attribute.values)) + "}"
            out.write(f"@attribute {quote(attribute.name)} {kind}\n")
        out.write("@data\n")
        out.writelines(f"{row}\n" for row in _rows(attributes, data))


def _open(path):
    opener = {".bz2": bz2.open, ".gz": gzip.open}.get(path.suffix.lower(), open)
    return opener(path, "wt", encoding="utf-8")


def _rows(attributes, data):
    if isinstance(data, np.ndarray):
        for row in data.tolist():
            yield ",".join(map(_cell, attributes, row))
        return
    for start, stop in zip(data.indptr[:-1], data.indptr[1:], strict=True):
        entries = zip(data.indices[start:stop], data.data[start:stop], strict=True)
        cells = (f"{j} {_cell(attributes[j], value)}" for j, value in sorted(entries))
        yield "{" + ",".join(cells) + "}"


def _cell(attribute, value):
    if math.isnan(value):
        return "?"
    if attribute.kind == "numeric":
        return repr(float(value)).removesuffix(".0")
    return quote(attribute.values[int(value)])


def quote(text):
    """Return a name or value in quotes if it needs them."""
    if re.fullmatch(r"[A-Za-z0-9_.+-]+", text):
        return text
    for plain, escape in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(plain, escape)
    return f"'{text}'"
