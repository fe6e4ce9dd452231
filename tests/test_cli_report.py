"""The command ``spanforest report``."""

import pytest
from report_rows import graph_field, make_rows, text_of

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
