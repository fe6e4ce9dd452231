"""Readers of data files: a data set, or an error of ours that names the file.

Cases are files with valid contents that were changed, and contents that are drawn.
"""

import bz2
import contextlib
import csv
import gzip
import io
import lzma
import math
import random
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from arff_writer import write_arff
from harness import Finding, Target
from mutations import mutate, shorter
from scipy import sparse

from spanforest.datasets import (
    Attribute,
    Dataset,
    Relation,
    load_arff,
    load_csv,
    load_libsvm,
    load_npz,
    load_parquet,
    read_arff,
)

LEAKS = (  # words of libraries, which tell users nothing
    *("allow_pickle", "pandas", "pyarrow", "numpy", "ndarray", "dtype", "codec"),
    *("zipfile", "Errno", "Traceback", "object at 0x", "astype", "unpack requires"),
)
MOST_MEMORY = 200 * 2**20  # bytes that a LIBSVM file may fill
FOLDER = Path(mkdtemp(prefix="spanforest-fuzz-", dir="/dev/shm"))


class Case(NamedTuple):
    """Files to write into one folder; the first one is read."""

    files: tuple[tuple[str, bytes], ...]
    options: dict[str, Any]


def read(case: Case, load: Callable[..., Dataset]) -> Dataset | None:
    """Return the data set; None for an error of ours. Other errors are findings."""
    for name, content in case.files:
        (FOLDER / name).write_bytes(content)
    path = FOLDER / case.files[0][0]
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*(counts the rows|left out)")
            return load(path, **case.options)
    except ValueError as error:
        last = traceback.extract_tb(error.__traceback__)[-1].filename
        text = str(error)
        if "spanforest" not in last or type(error).__module__.startswith("pandas"):
            raise
        if str(FOLDER) not in text:
            raise Finding(f"no file in the message\n{text}") from error
        if leaked := [word for word in LEAKS if word in text]:
            raise Finding(f"the message mentions {leaked[0]}\n{text}") from error
        if len(text.partition("drop=")[0]) > 2000:  # names to copy are whole
            raise Finding(f"a message of {len(text)} characters\n{text}") from error
        return None
    finally:
        for name, _ in case.files:
            (FOLDER / name).unlink()


def check_sound(data: Dataset) -> None:
    """Refuse a data set whose parts do not fit together."""
    n = data.n_samples
    X = data.X if data.K is None else data.K
    if X is None or X.shape[0] != n or X.ndim != 2 or data.Y.ndim != 2:
        raise Finding("X and Y have different numbers of rows")
    if X.dtype != np.float64:
        raise Finding(f"X has the type {X.dtype}")
    for names, size in ((data.feature_names, X.shape[1]), (data.label_names, n)):
        if not all(isinstance(name, str) for name in names):
            raise Finding("a name is not a text")
        if names is data.feature_names and len(names) not in (0, size):
            raise Finding("there are more or fewer names than features")
    if len(data.label_names) not in (0, data.n_labels):
        raise Finding("there are more or fewer names than labels")
    nominal = data.nominal_features
    if nominal is not None and (
        nominal.shape != (X.shape[1],) or nominal.dtype != bool
    ):
        raise Finding("nominal_features does not fit the features")
    if data.Y.dtype.kind == "f" and not np.isnan(data.Y).any():
        raise Finding("Y is of type float without a missing label")
    if sparse.issparse(X):
        X.check_format(full_check=True)
    repr(data), data.cardinality, data.missing_labels


def smaller_files(case: Case) -> Iterator[Case]:
    """Yield the case with less in one of its files."""
    for place, (name, content) in enumerate(case.files):
        for less in shorter(content):
            files = (*case.files[:place], (name, less), *case.files[place + 1 :])
            yield case._replace(files=files)


def _mutated_text(
    rng: random.Random, texts: list[tuple[Any, ...]], words: list[bytes]
) -> Case:
    """Change a file, and sometimes compress it, before or after the change."""
    options, *files = rng.choice(texts)
    place = rng.randrange(len(files))
    name, content = files[place]
    pack: Callable[[bytes], bytes] = bytes
    if place == 0 and rng.random() < 0.1:
        suffix, pack = rng.choice(PACKERS)
        name += suffix
    if pack is bytes or rng.random() < 0.7:
        content = pack(mutate(rng, content, words))
    else:
        content = mutate(rng, pack(content))
    files[place] = (name, content)
    return Case(tuple(files), options)


PACKERS = [
    (".gz", lambda data: gzip.compress(data, 1, mtime=0)),
    (".bz2", bz2.compress),
    (".xz", lambda data: lzma.compress(data, preset=0)),
]

# --- ARFF ----------------------------------------------------------------------------

DENSE = rb"""% a comment
@relation 'toy: -C 2'
@attribute rain {no, yes}
@attribute clouds {0, 1, 2}
@ATTRIBUTE 'the temperature' numeric
@attribute "wind \'n rain" real
@attribute sky {clear, 'partly cloudy', "a,b"}

@data
no, 0, 25, 1e-3, clear
yes,2,12.5,?,'partly cloudy' % remark
yes,1,-7,0,"a,b"
"""
SPARSE = b"""@relation r
@attribute a {0,1}
@attribute b {0,1}
@attribute c numeric
@attribute d {x,y,z}
@attribute e {3,-4}
@data
{0 1, 2 3.5}
{}
{1 1,2 ?,3 z,4 -4}
"""
TEXTS = b"""@relation 'x: -C -1'
@attribute when date "yyyy-MM-dd"
@attribute what string
@attribute n integer
@attribute y {f,t}
@data
'2001-01-01','it''s',1,t
?,'\\u0041\\n',2,f
"""
XML = b"""<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="a"></label>
<label name="b"><label name="e"/></label>
</labels>
"""
ARFF_WORDS = [
    *(b"@data", b"@relation r\n", b"@attribute a numeric\n", b"@end", b"-C 9999999999"),
    *(b"{0 1}", b"{-1 1}", b"{999999999 1}", b"numeric", b"string", b"date", b"{a,b}"),
    *(b"relational", b"-C 0", b"-C -7", b"filters.", b"'a", b'"', b"\\'", b"\n{\n"),
    *(b'<label name="c"/>', b"<!DOCTYPE x>", b'<!ENTITY a "b">', b"&a;", b"utf-16"),
    *(b'encoding="ucs9"', b"<label/>", b"<a>" * 2000, b"@attribute '' {''}\n"),
]
ARFFS = [
    ({}, ("toy.arff", DENSE)),
    ({"labels": 2}, ("toy.arff", DENSE)),
    ({}, ("set-train.arff", SPARSE), ("set.xml", XML)),
    ({"labels": -2}, ("set.arff", SPARSE)),
    ({"labels": ["rain", "clouds"], "encoding": "latin-1"}, ("toy.arff", DENSE)),
    ({"drop": ["when", "what"]}, ("x.arff", TEXTS)),
]


def make_arff(rng: random.Random) -> Case:
    """Change an ARFF file or its XML file."""
    return _mutated_text(rng, ARFFS, ARFF_WORDS)


def check_arff(case: Case) -> None:
    """Read a changed file; what can be read can be written and read again."""
    data = read(case, load_arff)
    if data is None:
        return
    check_sound(data)
    for name, content in case.files:
        (FOLDER / name).write_bytes(content)
    relation = read_arff(
        FOLDER / case.files[0][0], encoding=case.options.get("encoding", "utf-8")
    )
    _check_round_trip(relation)


def _check_round_trip(relation: Relation) -> None:
    file = io.StringIO()
    write_arff(relation, file)
    file.seek(0)
    again = read_arff(file)
    # a text that does not occur any more has no code
    if again.name != relation.name:
        raise Finding("a round trip changes the name")
    plain = all(a.kind in ("numeric", "nominal") for a in relation.attributes)
    if plain and again.attributes != relation.attributes:
        raise Finding("a round trip changes the attributes")
    one, two = _dense(relation.data), _dense(again.data)
    if plain and not np.array_equal(one, two, equal_nan=True):
        raise Finding("a round trip changes the values")


def _dense(data: Any) -> Any:
    return data.toarray() if sparse.issparse(data) else data


# --- CSV -----------------------------------------------------------------------------

CSV = b'''id,"the name",x,y,rain,sky
a,"one, two",0.5,-1e3,0,clear
b,"say ""x""",2,,1,grey
c,three,?,4.5,1,clear
d,,1,2,0,NA
'''
GERMAN = "gr\u00f6\u00dfe;n;rain\n1,5;2;0\n2,25;3;1\n0,5;4;1\n".encode()
TABBED = b"x\ty\tz\n1\t2\t0\n3\t4\t1\n"
NUMBERED = b'"","x","y"\n"1",0.5,TRUE\n"2",1.5,FALSE\n'
CSV_WORDS = [
    *(b'"', b'""', b'"a', b'a"b"', b"\r", b"\n\n", b" \n", b"a,a", b"1.5,2\n", b"a;b"),
    *(b"2020-01-01", b"inf", b"TRUE", b"yes", b"1e5", b"1.000,5", b"9" * 40, b"0.1.2"),
    *(b"\xe4", b"Unnamed: 0", b'"\n"', b"#", b"a.1"),
]
CSVS = [
    ({"labels": ["rain", "sky"], "drop": ["id", "the name"]}, ("t.csv", CSV)),
    ({"labels": -2}, ("t.csv", CSV)),
    ({"labels": "rain", "features": ["x", "y"]}, ("t.csv", CSV)),
    ({"labels": 1}, ("t.csv", GERMAN)),
    ({"labels": "rain", "encoding": "latin-1"}, ("t.csv", GERMAN)),
    ({"labels": 1, "encoding": "utf-8"}, ("t.csv", b"sep=;\r\n" + GERMAN)),
    ({"labels": -1}, ("t.tsv", TABBED)),
    ({"labels": -1}, ("t.csv", NUMBERED)),
    ({"labels": -1}, ("t.csv", "a,b,c\n1,2,0\n2,3,1\n".encode("utf-16"))),
    ({"labels": ()}, ("t.csv", TABBED)),
    ({"labels": -1, "delimiter": ",", "decimal": ","}, ("t.csv", TABBED)),
]


def make_csv(rng: random.Random) -> Case:
    """Change a table of text; some are zipped."""
    case = _mutated_text(rng, CSVS, CSV_WORDS)
    if rng.random() < 0.02:
        ((name, content), *_), options = case
        packed = zip_of({"t.csv": content})
        case = Case(((f"{name}.zip", mutate(rng, packed)),), options)
    return case


def check_csv(case: Case) -> None:
    """Read a changed table; plain tables must hold what Python's csv module reads."""
    data = read(case, load_csv)
    if data is None:
        return
    check_sound(data)
    name, content = case.files[0]
    is_plain = not case.options.keys() & {"encoding", "delimiter", "decimal"}
    if is_plain and name.endswith(".csv") and not content.startswith(b"\xff\xfe"):
        _check_cells(data, content.decode("utf-8-sig"))


def _check_cells(data: Dataset, text: str) -> None:
    """Compare the numbers of a table with those that Python reads from its text."""
    for delimiter in ",;\t|":
        with contextlib.suppress(csv.Error, ValueError):
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
            rows = [
                row
                for row in rows
                if row and (len(row) > 1 or row == [""] or row[0].strip(" \t"))
            ]
            names = [n for n in data.feature_names if n not in data.categories]
            columns = [data.feature_names.index(name) for name in names]
            places = [rows[0].index(name) for name in names]
            rows = rows[1:]
            if len(rows) != data.n_samples:
                raise Finding("a table has more or fewer rows than its text")
            for x, row in zip(data.X[:, columns], rows, strict=True):
                for value, at in zip(x.tolist(), places, strict=True):
                    _check_cell(value, row[at], delimiter)
            return


def _check_cell(value: float, text: str, delimiter: str) -> None:
    text = text.strip()
    with contextlib.suppress(ValueError):
        if delimiter != ",":
            text = text.replace(",", ".")
        number = float(text)
        if "_" in text or not text.isascii():
            return
        close = math.isclose(value, number, rel_tol=1e-14, abs_tol=1e-307)
        if not close and not (math.isnan(value) and math.isnan(number)):
            raise Finding(f"a table reads another number\n{text!r} as {value}")


# --- Parquet -------------------------------------------------------------------------


def parquet_of(table: pa.Table) -> bytes:
    """Return a table as a file."""
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


_FRAME = pd.DataFrame({"x": [0.5, 2.0, np.nan], "s": ["a", "b", "a"], "y": [0, 1, 1]})
_INDEXED = _FRAME.set_index("s")
PARQUETS = [parquet_of(pa.Table.from_pandas(frame)) for frame in (_FRAME, _INDEXED)]
_COLUMNS: list[Callable[[int], pa.Array]] = [
    lambda n: pa.array([0.5] * n),
    lambda n: pa.array([float("nan"), None, float("inf")][:n] + [1.0] * (n - 3)),
    lambda n: pa.array([2**63 + i for i in range(n)], pa.uint64()),
    lambda n: pa.array([i % 2 == 0 for i in range(n)]),
    lambda n: pa.array([None] * n),
    lambda n: pa.array([True, None] * n)[:n],
    lambda n: pa.array([b"\xff\xfe"] * n),
    lambda n: pa.array([[1, 2]] * n),
    lambda n: pa.array([{"a": 1}] * n),
    lambda n: pa.array([[]] * n),
    lambda n: pa.array(["a", "b"] * n)[:n].dictionary_encode(),
    lambda n: pa.array([1, 2] * n)[:n].dictionary_encode(),
    lambda n: pa.array([f"t{i}" for i in range(n)]),
    lambda n: pa.array(["1", "2", None] * n)[:n],
    lambda n: pa.array([0] * n, pa.timestamp("ns")),
    lambda n: pa.array([0] * n, pa.timestamp("us", tz="Europe/Paris")),
    lambda n: pa.array([0] * n, pa.date32()),
    lambda n: pa.array([0] * n, pa.time32("s")),
    lambda n: pa.array([0] * n, pa.duration("s")),
    lambda n: pa.array([1] * n, pa.decimal128(38, 0)),
    lambda n: pa.array([1.5, None] * n, pa.float32())[:n],
    lambda n: pa.array([i % 3 for i in range(n)], pa.int8()),
    lambda n: pa.array([0.5] * n, pa.float16()),
]


def make_parquet(rng: random.Random) -> Case:
    """Change bytes of a Parquet file, or draw a table with odd columns."""
    labels = rng.choice([1, -1, -2, "x", ["y"], []])
    if rng.random() < 0.5:
        content = mutate(rng, rng.choice(PARQUETS))
    else:
        n = rng.choice((0, 1, 2, 3, 7, 60))
        columns = [rng.choice(_COLUMNS)(n)[:n] for _ in range(rng.randint(0, 4))]
        names = [rng.choice("xyz") for _ in columns]
        content = parquet_of(pa.Table.from_arrays(columns, names))
    return Case((("t.parquet", content),), {"labels": labels})


def check_parquet(case: Case) -> None:
    """Read a table."""
    data = read(case, load_parquet)
    if data is not None:
        check_sound(data)


# --- LIBSVM --------------------------------------------------------------------------

LIBSVMS = [
    ({}, ("a.svm", b"2,5 1:0.5 3:1\n2 2:4 # remark\n\n 3:1e3\n7,2 1:-1 2:5\n")),
    ({}, ("a.svm", b"0 0:1 5:2\n1 1:1\n")),
    ({"label_names": ["2"], "feature_names": list("abc")}, ("a.svm", b"2,5 1:1 3:1\n")),
]
LIBSVM_WORDS = [
    *(b"1:1", b"qid:3", b"0:1", b"-1:1", b"9999999999:1", b"1:", b":1", b",", b"2,,3"),
    *(
        b"1.5 ",
        b"-1 ",
        b"nan ",
        b"inf ",
        b"1e300 ",
        b"#",
        b"1:nan",
        b"1:inf",
        b"5000:1",
    ),
]


def make_libsvm(rng: random.Random) -> Case:
    """Change a LIBSVM file."""
    return _mutated_text(rng, LIBSVMS, LIBSVM_WORDS)


def check_libsvm(case: Case) -> None:
    """Read a changed file; what was read can be written and read again."""
    # a single number can ask for millions of features, whose names take the memory
    options = {"max_memory": MOST_MEMORY, **case.options}
    data = read(case._replace(options=options), load_libsvm)
    if data is None:
        return
    check_sound(data)
    if case.options or not data.n_samples or not data.label_names:
        return
    if not (data.Y.any(axis=1) | (data.X.count_nonzero(axis=1) > 0)).all():
        return  # the line of such an example is empty
    start = int(data.feature_names[:1] != ("0",))
    lines = []
    for i in range(data.n_samples):
        x = data.X[[i]]
        labels = ",".join(np.array(data.label_names)[data.Y[i] > 0])
        entries = zip(x.indices.tolist(), x.data.tolist(), strict=True)
        lines.append(f"{labels} {' '.join(f'{j + start}:{v!r}' for j, v in entries)}\n")
    again = read(Case((("b.svm", "".join(lines).encode()),), {}), load_libsvm)
    if again is None or again.label_names != data.label_names:
        raise Finding("a round trip changes the labels")
    if not np.array_equal(again.Y, data.Y):
        raise Finding("a round trip changes the labels")
    difference = _dense(again.X) != _dense(data.X)[:, : again.n_features]
    if difference.any() and not np.isnan(data.X.data).any():
        raise Finding("a round trip changes the features")


# --- npz -----------------------------------------------------------------------------


def zip_of(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """Return an archive with correct checksums."""
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", method) as archive:
        warnings.simplefilter("ignore")  # duplicate names
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return file.getvalue()


def npy_of(array: Any) -> bytes:
    """Return an array as a file."""
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array))
    return file.getvalue()


_CSR = sparse.csr_array(np.array([[0, 1.5], [2, 0], [0, 0]]))
_Y = np.array([[0, 1], [1, 1], [0, 0]])
NPZS: list[dict[str, Any]] = [
    {
        **{"X": np.eye(3), "Y": _Y, "feature_names": ["a", "b", "c"]},
        **{"label_names": ["y", "z"], "nominal_features": [True, False, False]},
        "split": [2, 1],
    },
    {"K": np.eye(3), "Y": _Y},
    {
        **{"X_data": _CSR.data, "X_indices": _CSR.indices, "X_indptr": _CSR.indptr},
        **{"X_shape": _CSR.shape, "Y": _Y},
    },
]
_ARRAYS: list[Any] = [
    *(0, -1, 2**63, np.nan, np.inf, "a", b"a", 1.5, True, [], [[]], [0], [1, 2, 3]),
    *([-1, 2], [2**40, 2**40], [3, -1], [np.nan] * 3, ["a", "b"], [b"\xff"], [[["a"]]]),
    *(np.zeros((3, 0)), np.zeros((0, 2)), np.zeros((3, 2, 1)), np.zeros(3)),
    *(np.full((3, 2), np.nan), np.full((3, 2), 1e300), np.full((3, 2), 0.5)),
    *(np.full((3, 2), 2**63, np.uint64), np.full((3, 2), "x"), np.full((3, 2), b"1")),
    *(np.zeros((3, 2), np.complex128), np.zeros((3, 2), ">f4"), np.zeros((3, 2), "?")),
    *(np.zeros((3, 2), "M8[s]"), np.zeros((3, 2), np.float16), np.zeros(3, "f8,i4")),
    *(np.zeros((3, 2), np.longdouble), np.asfortranarray(np.ones((3, 2)))),
    *(np.array([0, 9, 9, 9]), np.array([0, 1, 2, 2]), np.array([3, 2, 1, 0])),
]
NPY_WORDS = [
    *(b"<f8", b">i8", b"|O", b"|S0", b"|V8", b"<U0", b"<M8[s]", b"|b1", b"<c16"),
    *(b"(3,)", b"(-1,)", b"()", b"(3,2,1)", b"(99999999999,)", b"None", b"True"),
    *(b"'shape'", b"'descr'", b"[('a', '<f8')]", b"(" * 200, b"'", b"\\x00", b"3L"),
]


def make_npz(rng: random.Random) -> Case:
    """Replace arrays, change bytes of arrays, or change bytes of the archive."""
    arrays = dict(rng.choice(NPZS))
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        name = rng.choice([*arrays, *rng.choice(NPZS), "X", "other"])
        if rng.random() < 0.15:
            arrays.pop(name, None)
        else:
            arrays[name] = rng.choice(_ARRAYS)
    members = {f"{name}.npy": npy_of(array) for name, array in arrays.items()}
    if members and rng.random() < 0.4:
        name = rng.choice(list(members))
        members[name] = mutate(rng, members[name], NPY_WORDS)
    content = zip_of(members, rng.choice([0, 0, 8, 12, 14]))
    if rng.random() < 0.3:
        content = mutate(rng, content)
    return Case((("a.npz", content),), {"is_complete": rng.random() < 0.8})


def check_npz(case: Case) -> None:
    """Read an archive."""
    data = read(case, load_npz)
    if data is not None:
        check_sound(data)


# --- relations that are drawn --------------------------------------------------------

_NAMES = [
    "a",
    "",
    " ",
    "b c",
    "it's",
    '"',
    "\\",
    "%",
    "{",
    "?",
    "\n",
    ",",
    "\u00e9",
    "0",
]
_NUMBERS = [0.0, -0.0, 1.0, -1.5, 1e308, 5e-324, math.nan, math.inf, -math.inf, 1 / 3]


def make_relation(rng: random.Random) -> Relation:
    """Draw a relation with odd names and values."""
    attributes = []
    for name in rng.sample(_NAMES, rng.randint(1, 5)):
        kind = rng.choice(["numeric", "nominal"])
        values = tuple(rng.sample(_NAMES, rng.randint(1, 4)))
        attributes.append(Attribute(name, kind, values if kind == "nominal" else ()))
    n_rows = rng.choice((0, 1, 2, 5))
    data = np.empty((n_rows, len(attributes)))
    for j, attribute in enumerate(attributes):
        codes = [float(i) for i in range(len(attribute.values))] or _NUMBERS
        data[:, j] = [rng.choice([*codes, math.nan]) for _ in range(n_rows)]
    is_sparse = n_rows and rng.random() < 0.5
    matrix = sparse.csr_array(data) if is_sparse else data
    return Relation(rng.choice(_NAMES), tuple(attributes), matrix)


TARGETS = [
    (Target("arff", make_arff, check_arff, smaller=smaller_files), 0.3),
    (Target("arff round trips", make_relation, _check_round_trip), 0.1),
    (Target("csv", make_csv, check_csv, smaller=smaller_files), 0.2),
    (Target("libsvm", make_libsvm, check_libsvm, smaller=smaller_files), 0.15),
    (Target("npz", make_npz, check_npz), 0.2),
    (Target("parquet", make_parquet, check_parquet), 0.05),
]
