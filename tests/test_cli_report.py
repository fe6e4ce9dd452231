"""The command ``spanforest report``."""

from pathlib import Path

import numpy as np
import pytest
from report_rows import graph_field, make_rows, text_of
from songs import FEATURES, FEW, LABELS, RAW, frame_of, make_songs, write_data

from spanforest import load
from spanforest.model_page import make_model_page
from spanforest.paper import RowFile
from spanforest.paper.report import make_report


@pytest.fixture
def command():
    pytest.importorskip("typer")
    from spanforest.cli._report import report

    return report


@pytest.mark.parametrize("is_folder", [True, False])
def test_the_command_reads_a_folder_or_its_rows(command, tmp_path, capsys, is_folder):
    rows = RowFile(tmp_path / "rows.jsonl")
    rows.append(make_rows(("emotions",), ("svm",)))
    output = tmp_path / "report.html"
    command([tmp_path if is_folder else rows.path], output)
    assert output.read_text(encoding="utf-8") == make_report(rows.read())
    assert str(output) in capsys.readouterr().out


def test_control_characters_in_the_name_of_the_page_are_escaped(
    command, tmp_path, capsys
):
    rows = RowFile(tmp_path / "rows.jsonl")
    rows.append(make_rows(("emotions",), ("svm",)))
    command([rows.path], tmp_path / "a\x1b[2J.html")
    assert "a\\x1b[2J.html" in capsys.readouterr().out


def test_the_command_joins_the_rows_of_several_folders(command, tmp_path):
    tuned = make_rows(methods=("svm", "forest"), protocol="tuned")
    paper = make_rows(("emotions",), ("svm",))
    folders = [tmp_path / "paper", tmp_path / "tuned"]
    for folder, rows in zip(folders, (paper, tuned), strict=True):
        RowFile(folder / "rows.jsonl").append(rows)
    output = tmp_path / "report.html"
    command(folders, output)
    assert output.read_text(encoding="utf-8") == make_report(paper + tuned)


def test_the_page_of_the_command_has_the_label_graphs_of_the_rows(command, tmp_path):
    rows = make_rows(("circle10",), ("mam",), label_graph=graph_field())
    RowFile(tmp_path / "rows.jsonl").append(rows)
    output = tmp_path / "report.html"
    command([tmp_path], output)
    text = text_of(output.read_text(encoding="utf-8"))
    assert "Label graphs" in text
    assert "Fold 1 of 2: 5 trees" in text


def test_the_command_says_what_is_missing(command, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"rows\.jsonl; expected the folder"):
        command([tmp_path], tmp_path / "report.html")
    with pytest.raises(FileNotFoundError, match="no folder"):
        command([tmp_path], tmp_path / "nowhere" / "report.html")
    assert not list(tmp_path.iterdir())


# --- a page about a model -------------------------------------------------------------


def test_a_model_and_data_make_the_page_of_the_library(ok, songs):
    said = ok("report", "songs.spanforest", "test_songs.csv", "-o", "m.html")
    assert said == "The report is in m.html\n"
    X, Y = make_songs(20, 1)
    frame = frame_of(X, Y)
    title = "songs.spanforest on test_songs.csv"
    model = load("songs.spanforest")
    expected = make_model_page(model, frame[FEATURES], frame[LABELS], title=title)
    assert Path("m.html").read_text(encoding="utf-8") == expected


def test_numbers_of_examples_and_label_sets_can_be_chosen(ok, songs):
    args = ["report", "songs.spanforest", "test_songs.csv", "--examples", 3, "--top", 2]
    ok(*args, "--aggregation", "mve")
    page = Path("report.html").read_text(encoding="utf-8")
    assert page.count("<article") == 3
    assert page.count('<th scope="row">2</th>') == 3
    assert '<th scope="row">3</th>' not in page
    assert "MVE" in page


@pytest.mark.parametrize("name", ["new.csv", "new.parquet", "new.arff", "new.npz"])
def test_data_without_labels_make_a_page_without_scores(ok, songs, name):
    pytest.importorskip("pyarrow")
    X, Y = make_songs(20, 1)
    if name.endswith("npz"):
        np.savez(name, X=X, feature_names=FEATURES)
    else:
        write_data(name, X, Y, labels=[])
    ok("report", "songs.spanforest", name)
    text = text_of(Path("report.html").read_text(encoding="utf-8"))
    assert "The data have no labels" in text


@pytest.mark.parametrize("name", ["test.csv", "test.arff", "test.npz"])
def test_labels_may_be_missing(ok, songs, name):
    X, Y = make_songs(20, 1)
    Y = Y.astype(object)
    Y[:5, 0] = None
    write_data(name, X, Y)
    ok("report", "songs.spanforest", name)
    text = text_of(Path("report.html").read_text(encoding="utf-8"))
    assert "8.3 % of the labels are not known" in text
    assert "of the 15 whose labels are all known" in text


def test_missing_labels_of_text_stay_missing(ok, folder):
    frame = frame_of(*make_songs(40, 0))
    frame["happy"] = frame["happy"].map({0: "no", 1: "yes"})
    frame.to_csv("words.csv", index=False)
    ok("train", "words.csv", "--labels", "last:3", *FEW, *RAW, "-o", "m")
    frame.loc[:3, "happy"] = None
    frame.to_csv("words.csv", index=False)
    ok("report", "m", "words.csv")
    text = text_of(Path("report.html").read_text(encoding="utf-8"))
    assert "3.3 % of the labels are not known" in text
    assert "did not occur in training" not in text


def test_some_labels_without_the_others_are_refused(fails, songs):
    frame_of(*make_songs(20, 1)).drop(columns="sad").to_csv("some.csv", index=False)
    assert "'sad' not found" in fails("report", "songs.spanforest", "some.csv")
    assert not Path("report.html").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere"], "there is no nowhere; expected a file that 'spanforest train'"),
        (["songs.csv", "songs.csv"], "is not a spanforest model file"),
        (["songs.spanforest", "songs.csv", "-o", "songs.csv"], "songs.csv"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(fails, songs, args, message):
    assert message in fails("report", *args)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["songs.spanforest"], "needs one DATA after it; got no DATA"),
        (["songs.spanforest", "a.csv", "b.csv"], "got 2 of them"),
        (["songs.spanforest", "a.csv", "--model", "m"], "a page about RESULTS"),
        ([".", "--labels", "sad"], "for a page about MODEL and DATA"),
        ([".", "--examples", "3"], "for a page about MODEL and DATA"),
    ],
)
def test_arguments_of_the_other_page_are_bad_usage(fails, songs, args, message):
    assert message in fails("report", *args, code=2)
