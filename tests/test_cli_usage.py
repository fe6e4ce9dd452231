"""Bad usage is answered in one line."""

import re
from pathlib import Path

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("train songs.csv -o m", "which columns of songs.csv are labels? Use --labels"),
        ("train songs.csv", "--output"),
        ("train songs.csv --labels last:3 -o m --kernel oak", "--kernel"),
        ("train songs.csv --labels last:3 -o m --trees 0", "--trees"),
        ("train songs.csv --labels last:3 -o m --C -1", "greater than 0; got -1"),
        ("train songs.csv --labels last:3 -o m --C 0", "'--C'"),
        ("train songs.csv --labels last:3 -o m --tol 0", "'--tol'"),
        ("train songs.csv --labels last:3 -o m --jobs 0", "'--jobs'"),
        ("train songs.csv --labels first:0 -o m", "at least one label is needed"),
        ("train songs.csv --labels , -o m", "at least one label is needed"),
        ("train songs.csv --labels songs.xml -o m", "ARFF files only"),
        ("predict songs.spanforest test_songs.csv -o out.xls", ".parquet"),
        ("predict songs.spanforest", "DATA"),
        ("plant", "No such command 'plant'"),
        ("trian", "Did you mean 'train'? See"),
        ("train songs.csv -o m --trees 0", "'--trees': it must be 1 or more; got 0. S"),
        ("train songs.csv -o m --trees=-2", "'--trees': it must be 1 or more; got -2."),
        ("train songs.csv -o m --trees x", "it must be a whole number; got x. See"),
        ("train songs.csv -o m --tol x", "'--tol': it must be a number; got x. See"),
        ("train songs.csv -o m --gamma -1", "must be a number greater than 0; got -1."),
        ("train songs.csv -o m --gamma 0", "must be a number greater than 0; got 0."),
        ("train songs.csv -o m --C inf", "must be a number greater than 0; got inf."),
        ("train songs.csv -o m --max-memory much", "a size such as 8GB; got 'much'"),
        ("train songs.csv -o m --delimiter ;;", "it must be one character, such as"),
        ("train circle10 -o m --decimal ,", "a data set with a name has no decimal"),
        ("train a.npz -o m --encoding latin-1", "an npz file has no encoding"),
        ("train a.pq -o m --decimal ,", "a parquet file has no decimal"),
        ("train a.svm -o m --drop x", "a libsvm file says itself"),
        ("train --colour", "No such option: --colour"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(fails, songs, args, message):
    np.savez("a.npz", X=np.eye(2), Y=np.eye(2))
    for name in ("a.pq", "a.svm"):  # refused before they are read
        Path(name).touch()
    line = fails(*args.split(), code=2)
    assert message in line
    assert "Input should" not in line
    command = re.sub("plant|trian", "", args.split()[0])
    assert line.endswith(
        " ".join(filter(None, ["See spanforest", command, "--help.\n"]))
    )


def test_an_unknown_choice_is_refused_with_the_known_ones(fails, folder):
    message = fails("train", "songs.csv", "-o", "m", "--kernel", "oak", code=2)
    assert message.startswith(
        "spanforest train: Invalid value for '--kernel': 'oak' is not one of 'linear',"
    )


def test_a_command_of_two_words_refers_to_its_own_help(fails):
    message = fails("warm-up", "foo", code=2)
    assert message.startswith("spanforest warm-up: ")
    assert message.endswith("See spanforest warm-up --help.\n")
