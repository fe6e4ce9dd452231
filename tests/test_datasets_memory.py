"""Files that grow when they are read are refused before they fill the memory."""

import bz2
import gzip
import io
import lzma
import subprocess
import sys
import zipfile
from functools import partial

import numpy as np
import pytest

from spanforest.datasets import (
    load_arff,
    load_csv,
    load_libsvm,
    load_npz,
    load_parquet,
    read_arff,
)
from spanforest.datasets._memory import MemoryLimit

TOO_LARGE = r"need more than 1.0 MB of memory.* Pass max_memory="
SMALL = {"max_memory": 10**6}
ARFF = "@relation r\n@attribute a numeric\n@attribute b {0,1}\n@data\n"
PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def test_the_default_is_at_most_half_of_the_memory_and_four_gibibytes():
    assert 0 < MemoryLimit.of("a", None).n_bytes <= 4 * 2**30


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize(
    "body",
    [
        "0,0\n" * 10**5,
        "{0 1}\n" * 10**5,
        "\n" * 10**6,
        "% comment\n" * 10**5,
    ],
    ids=["dense", "sparse", "blank", "comments"],
)
def test_an_arff_file_of_many_rows(tmp_path, suffix, body):
    path = tmp_path / f"a.arff{suffix}"
    path.write_bytes(PACKERS[suffix]((ARFF + body).encode()))
    with pytest.raises(ValueError, match=TOO_LARGE):
        load_arff(path, 1, **SMALL)


def test_an_arff_file_of_many_attributes_or_long_texts():
    many = "".join(f"@attribute a{j} numeric\n" for j in range(10_000))
    with pytest.raises(ValueError, match=TOO_LARGE):
        read_arff(io.StringIO("@relation r\n" + many), **SMALL)
    texts = "\n".join(f"{i}{'x' * 1000}" for i in range(2000))
    text = f"@relation r\n@attribute s string\n@data\n{texts}\n"
    with pytest.raises(ValueError, match=TOO_LARGE):
        read_arff(io.StringIO(text), **SMALL)


def test_a_row_of_an_arff_file_is_no_longer_than_its_attributes_allow():
    text = ARFF + "0," * 10**6
    with pytest.raises(ValueError, match=r"line 5: .* too long for the values"):
        read_arff(io.StringIO(text))


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_table_of_many_rows(tmp_path, suffix):
    path = tmp_path / f"a.csv{suffix}"
    path.write_bytes(PACKERS[suffix](b"a,b\n" + b"0,0\n" * 10**6))
    with pytest.raises(ValueError, match=TOO_LARGE):
        load_csv(path, 1, **SMALL)


def test_a_zipped_table(tmp_path):
    path = tmp_path / "a.csv.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", b"a,b\n" + b"0,0\n" * 10**6)
    with pytest.raises(ValueError, match=TOO_LARGE):
        load_csv(path, 1, **SMALL)


def test_a_parquet_file_of_many_rows(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    pd.DataFrame({"a": np.zeros(10**6), "b": 0}).to_parquet(path)
    assert path.stat().st_size < 10**5
    with pytest.raises(ValueError, match=TOO_LARGE):
        load_parquet(path, 1, **SMALL)


@pytest.mark.parametrize("text", ["1 1:2\n" * 10**5, "1 1:2 99999999:1\n"])
@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2"])
def test_a_libsvm_file_of_many_rows_or_features(tmp_path, text, suffix):
    path = tmp_path / f"a.svm{suffix}"
    path.write_bytes(PACKERS.get(suffix, bytes)(text.encode()))
    with pytest.raises(ValueError, match=TOO_LARGE):
        load_libsvm(path, **SMALL)


@pytest.mark.parametrize("dtype", [np.float64, np.uint8])
def test_an_archive_is_refused_by_what_it_declares(tmp_path, dtype):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, X=np.zeros((1000, 1000), dtype), Y=np.zeros((1000, 1)))
    with pytest.raises(ValueError, match=TOO_LARGE):
        load_npz(path, **SMALL)
    assert load_npz(path, max_memory=10**7).X.shape == (1000, 1000)


def declare(path, **shapes):
    """Write an archive whose arrays declare more than they hold."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, shape in shapes.items():
            header = io.BytesIO()
            facts = {"descr": "<f8", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(header, facts)
            archive.writestr(f"{name}.npy", header.getvalue())


def test_an_archive_may_lie_about_its_size(tmp_path):
    path = tmp_path / "a.npz"
    declare(path, X=(10**9, 10**9), Y=(10**9, 1))
    with pytest.raises(ValueError, match=r"memory.* Pass max_memory="):
        load_npz(path)
    declare(path, X=(10**9, 1), Y=(3, 1))  # nothing is read of it
    with pytest.raises(ValueError, match=r"a row for each row of X.* \(3, 1\) and"):
        load_npz(path)
    declare(path, X=(10, 1), Y=(10, 1))
    with pytest.raises(ValueError, match="expected a NumPy archive"):
        load_npz(path)


def test_names_of_features_count_in_the_memory_of_a_file(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 13000:1\n")  # each name is a text, in a list and in a tuple
    with pytest.raises(ValueError, match=TOO_LARGE):
        load_libsvm(path, **SMALL)


@pytest.mark.parametrize("content", [b"", b"nonsense", "pickle", "objects"])
def test_nobody_is_advised_to_allow_pickles(tmp_path, content):
    path = tmp_path / "a.npz"
    if content == "objects":
        np.savez(path, X=np.eye(2), Y=np.array([[None], ["a"]], dtype=object))
    elif content == "pickle":
        np.array([None]).dump(path)
    else:
        path.write_bytes(content)
    with pytest.raises(ValueError, match="expected a NumPy archive") as caught:
        load_npz(path)
    assert "pickle" not in str(caught.value)
    if content == "objects":
        assert "Y holds Python objects, which are not read" in str(caught.value)


BOMB = """
import resource, sys
from spanforest.datasets import load_arff
import gzip
with gzip.open(sys.argv[1], "wb") as file:
    file.write(b"@relation r\\n@attribute a numeric\\n@data\\n")
    for _ in range(300):
        file.write(b"0," * 500_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    load_arff(sys.argv[1], 1)
except ValueError as error:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
def test_a_bomb_of_one_line_takes_no_memory(tmp_path):
    pytest.importorskip("resource")
    run = partial(subprocess.run, capture_output=True, text=True, check=True)
    grown = run([sys.executable, "-c", BOMB, str(tmp_path / "a.arff.gz")])
    assert int(grown.stdout) < 50_000  # kilobytes, of 300,000 in the file


@pytest.mark.parametrize("suffix", ["", *PACKERS])
@pytest.mark.parametrize("rows", ["0,0\n", "{0 1}\n", "\n", "% comment\n"])
def test_many_rows_are_counted_before_one_is_parsed(tmp_path, suffix, rows):
    """Parsing would stop at the first row: parsing the others takes minutes."""
    path = tmp_path / f"a.arff{suffix}"
    text = ARFF + "not a row\n" + rows * (10**6 // 30)
    path.write_bytes(PACKERS.get(suffix, bytes)(text.encode()))
    with pytest.raises(ValueError, match=TOO_LARGE):
        load_arff(path, 1, **SMALL)
    with pytest.raises(ValueError, match="line 5: expected 2 values"):
        load_arff(path, 1)


def test_many_lines_of_a_libsvm_file_are_counted_before_one_is_parsed(tmp_path):
    path = tmp_path / "a.svm.gz"
    path.write_bytes(gzip.compress(b"not a row\n" + b"\n" * 10**4))
    with pytest.raises(ValueError, match=TOO_LARGE):
        load_libsvm(path, **SMALL)


def test_labels_that_make_a_sparse_file_dense_are_counted(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("".join(f"{i} 1:1\n" for i in range(500)))
    with pytest.raises(ValueError, match=TOO_LARGE):
        load_libsvm(path, **SMALL)
    path = tmp_path / "a.arff"
    attributes = "".join(f"@attribute a{j} {{0,1}}\n" for j in range(1000))
    path.write_text(f"@relation r\n{attributes}@data\n" + "{}\n" * 200)
    with pytest.raises(ValueError, match=TOO_LARGE):
        load_arff(path, 999, **SMALL)
    assert load_arff(path, 2, **SMALL).X.shape == (200, 998)


def test_categories_that_make_sparse_features_dense_are_counted(tmp_path):
    path = tmp_path / "a.arff"
    attributes = "".join(f"@attribute a{j} {{3,1}}\n" for j in range(1000))
    path.write_text(f"@relation r\n{attributes}@data\n" + "{}\n" * 200)
    with pytest.raises(ValueError, match=TOO_LARGE):
        load_arff(path, 1, **SMALL)
