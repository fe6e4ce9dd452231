"""Text files: opening them, and the lines of their rows."""

import bz2
import gzip
import io
import lzma
import os
import re
import zipfile
from pathlib import Path

import pytest

from spanforest.datasets._memory import MemoryLimit
from spanforest.datasets._text_files import (
    TextCost,
    line_of_example,
    lines_within,
    open_text,
    read_bytes,
)

COST = TextCost(character=1)
PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", PACKERS)
def test_text_is_read_plain_or_compressed(tmp_path, suffix):
    path = tmp_path / f"a.csv{suffix}"
    path.write_bytes(PACKERS[suffix]("é\n".encode()))
    with open_text(path) as file:
        assert file.read() == "é\n"
    assert read_bytes(str(path), MemoryLimit(str(path), 3), COST) == "é\n".encode()
    with pytest.raises(ValueError, match="need more than 2 bytes of memory"):
        read_bytes(str(path), MemoryLimit(str(path), 2), COST)


def test_a_zip_archive_must_hold_one_file(tmp_path):
    path = tmp_path / "a.csv.zip"
    for number in (1, 2):
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(f"{number}.csv", "text")
        if number == 1:
            assert read_bytes(str(path), MemoryLimit("", 9), COST) == b"text"
    with pytest.raises(ValueError, match="of one file; found 2 files"):
        read_bytes(str(path), MemoryLimit("", 9), COST)


@pytest.mark.parametrize("text", ["a\nbcd\n\ne", ""])
def test_lines_are_those_of_the_file_if_none_is_too_long(text):
    lines = lines_within(io.StringIO(text), lambda: 4, MemoryLimit("a", 99))
    assert list(lines) == text.splitlines(keepends=True)


def test_a_line_that_is_too_long_is_never_held(tmp_path):
    lines = lines_within(io.StringIO("ab\nabcdef\n"), lambda: 3, MemoryLimit("a", 99))
    with pytest.raises(ValueError, match=re.escape("a, line 2: a line of more than 3")):
        list(lines)


def test_the_line_of_an_example_skips_header_and_comments(tmp_path):
    path = tmp_path / "a.arff"
    path.write_text("% title\n@relation a\n@DATA % rows\n\n#1,2\n% no\n3,4\n")
    assert [line_of_example(path, i, header_end="@data") for i in range(3)] == [
        *(5, 7, None),
    ]
    path.write_text("# title\n1 1:2\n\n 1:3\n")
    assert [line_of_example(path, i) for i in range(3)] == [2, 4, None]


def test_a_file_that_cannot_be_read_again_has_no_lines(tmp_path):
    assert line_of_example(tmp_path / "missing.arff", 0) is None
    assert line_of_example(Path(os.devnull), 0) is None
    damaged = tmp_path / "a.arff.gz"
    damaged.write_bytes(b"no archive")
    assert line_of_example(damaged, 0) is None
