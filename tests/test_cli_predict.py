"""The command predict: its columns, formats, aggregations and pipes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from songs import (
    FEATURES,
    FEW,
    LABELS,
    frame_of,
    make_songs,
    predictions,
    reference,
)

from spanforest import RandomGraphEnsembleClassifier, save
from spanforest.cli import main

pytest.importorskip("typer")
pytest.importorskip("skops")
pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".parquet", ".npz"])
@pytest.mark.parametrize("option", [(), ("--scores",)])
def test_every_output_format_holds_the_same_predictions(ok, songs, suffix, option):
    shown = predictions(ok, "songs.spanforest", "test_songs.csv", *option)
    name = f"out{suffix}"
    assert (
        ok("predict", "songs.spanforest", "test_songs.csv", "-o", name, *option) == ""
    )
    if suffix == ".npz":
        with np.load(name) as archive:
            actual = pd.DataFrame(
                archive["scores" if option else "Y"], columns=archive["label_names"]
            )
            assert sorted(archive) == sorted(
                ["Y", "label_names", *(["scores"] if option else [])]
            )
            pd.testing.assert_frame_equal(actual, shown)
            return
    if suffix == ".parquet":
        actual = pd.read_parquet(name)
    else:
        actual = pd.read_csv(name, sep="\t" if suffix == ".tsv" else ",")
    if option:
        actual = actual.filter(regex=" score$").set_axis(shown.columns, axis="columns")
    pd.testing.assert_frame_equal(actual, shown)


def test_predict_says_how_many_rows_it_wrote_where(capsys, songs):
    assert main(["predict", "songs.spanforest", "test_songs.csv", "-o", "out.csv"]) == 0
    assert capsys.readouterr() == ("", "spanforest: wrote 20 rows to out.csv.\n")
    assert main(["predict", "songs.spanforest", "test_songs.csv"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("beside", [None, [0, 1, 2, 1], ["up", "down", "up", "up"]])
@pytest.mark.parametrize("has_gap", [False, True])
def test_labels_that_were_true_and_false_are_predicted_so(ok, folder, beside, has_gap):
    """Other labels may be numbers or text; some may be missing in training."""
    X, Y = make_songs(40, 0)
    frame = pd.DataFrame(X, columns=FEATURES)
    frame["happy"] = pd.Series(Y[:, 0] == 1, dtype=object)
    frame["sad"] = Y[:, 1] == 1
    if has_gap:
        frame.loc[0, "happy"] = None
    if beside is not None:
        frame["mood"] = beside * 10
    frame.to_csv("songs.csv", index=False)
    labels = ",".join(frame.columns[3:])
    ok("train", "songs.csv", "--labels", labels, *FEW, "-o", "m.spanforest")

    actual = predictions(ok, "m.spanforest", "songs.csv")
    assert actual.dtypes.astype(str).tolist()[:2] == ["bool", "bool"]
    assert (actual[["happy", "sad"]] == (Y[:, :2] == 1)).to_numpy().mean() > 0.9
    ok("predict", "m.spanforest", "songs.csv", "-o", "out.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet("out.parquet"), actual)
    assert "happy, sad" in ok("inspect", "m.spanforest")
    if not has_gap:
        ones = frame.assign(happy=Y[:, 0], sad=Y[:, 1])  # as good as true and false
        ones.to_csv("ones.csv", index=False)
        expected = ok("evaluate", "m.spanforest", "songs.csv")
        assert ok("evaluate", "m.spanforest", "ones.csv") == expected


@pytest.mark.parametrize("aggregation", ["mve", "amm", "mam"])
def test_members_are_combined_as_asked(ok, songs, aggregation):
    X, _ = make_songs(20, 1)
    args = ("songs.spanforest", "test_songs.csv", "--aggregation", aggregation)
    assert_array_equal(predictions(ok, *args), reference().predict(X, aggregation))
    expected = reference().set_params(aggregation=aggregation).decision_function(X)
    assert_allclose(predictions(ok, *args, "--scores"), expected)


@pytest.mark.parametrize("command", ["predict", "evaluate", "report"])
def test_one_model_for_all_graphs_has_no_members_to_combine(fails, ok, folder, command):
    songs = frame_of(*make_songs(40, 0))
    model = RandomGraphEnsembleClassifier(2, training="joint", random_state=0)
    save(model.fit(songs[FEATURES], songs[LABELS]), "m")
    args = command, "m", "songs.csv", "--aggregation"
    message = fails(*args, "mve", code=2)
    assert "'--aggregation': mve needs members that were trained apart" in message
    assert "Leave it out, or train with --training separate." in message
    if command != "report":
        ok(*args, "mam")


@pytest.mark.needs_compiled
def test_an_aggregation_takes_the_place_of_a_threshold(ok, folder):
    songs = frame_of(*make_songs(40, 0))
    params = {"probability": True, "threshold": 0.02, "random_state": 0}
    model = RandomGraphEnsembleClassifier(3, **params)
    model.fit(songs[FEATURES], songs[LABELS])
    save(model, "m.spanforest")
    songs.to_csv("songs.csv", index=False)
    by_threshold, by_votes = (model.predict(songs[FEATURES], a) for a in (None, "mve"))
    assert (by_threshold != by_votes).any()
    args = "m.spanforest", "songs.csv"
    assert_array_equal(predictions(ok, *args), by_threshold)
    assert_array_equal(predictions(ok, *args, "--aggregation", "mve"), by_votes)


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="no /dev/stdout here")
@pytest.mark.parametrize("name", ["/dev/stdout", "-"])
def test_predictions_go_through_a_pipe_by_any_name(ok, spanforest, songs, name):
    expected = ok("predict", "songs.spanforest", "test_songs.csv")
    run = spanforest("predict", "songs.spanforest", "test_songs.csv", "-o", name)
    assert (run.stdout, run.stderr, run.returncode) == (expected, "", 0)
    assert not Path("-").exists()


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/stdin"), reason="no /dev/stdin here")
def test_tables_come_through_a_pipe(ok, songs):
    expected = ok("predict", "songs.spanforest", "test_songs.csv")
    command = [sys.executable, "-m", "spanforest", "predict", "songs.spanforest", "-"]
    with open("test_songs.csv") as table:
        pipe = subprocess.Popen(["cat"], stdin=table, stdout=subprocess.PIPE)
        run = subprocess.run(
            [*command, "--format", "csv"],
            stdin=pipe.stdout,
            capture_output=True,
            text=True,
        )
        pipe.stdout.close()
        pipe.wait()
    assert (run.stdout, run.stderr) == (expected, "")
