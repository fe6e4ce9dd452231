"""Text files: opening them, and the lines of their rows."""

import bz2
import gzip
import os
from pathlib import Path

import pytest

from spanforest.datasets._text_files import line_of_example, line_of_row, open_text


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2"])
def test_text_is_read_plain_or_compressed(tmp_path, suffix):
    path = tmp_path / f"a.csv{suffix}"
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[suffix]
    path.write_bytes(pack("é\n".encode()))
    with open_text(path) as file:
        assert file.read() == "é\n"
    assert line_of_row(path, -1) == 1


def test_the_line_of_a_row_counts_blank_lines_and_line_ends_in_quotes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('a,b\n1,2\n\n  \n"x\ny",3\n4,"5"\n')
    assert [line_of_row(path, i) for i in range(4)] == [2, 5, 7, None]


def test_the_line_of_an_example_skips_header_and_comments(tmp_path):
    path = tmp_path / "a.arff"
    path.write_text("% title\n@relation a\n@DATA\n\n1,2\n% no\n3,4\n")
    assert [line_of_example(path, i, header_end="@data") for i in range(3)] == [
        *(5, 7, None),
    ]
    path.write_text("# title\n1 1:2\n\n 1:3\n")
    assert [line_of_example(path, i) for i in range(3)] == [2, 4, None]


def test_a_file_that_cannot_be_read_again_has_no_lines(tmp_path):
    assert line_of_row(tmp_path / "missing.csv", 0) is None
    assert line_of_row(Path(os.devnull), 0) is None
    damaged = tmp_path / "a.csv.gz"
    damaged.write_bytes(b"no archive")
    assert line_of_row(damaged, 0) is None
