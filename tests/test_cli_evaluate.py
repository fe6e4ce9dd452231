"""The command evaluate: its measures, and the labels it compares."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import f1_score, precision_recall_fscore_support
from songs import (
    FEATURES,
    FEW,
    LABELS,
    RAW,
    frame_of,
    make_songs,
    predictions,
    reference,
    write_data,
)

from spanforest import RandomGraphEnsembleClassifierCV
from spanforest.cli import main
from spanforest.metrics import (
    RANKING_MEASURES,
    microlabel_accuracy,
    microlabel_f1,
    multilabel_accuracy,
)
from spanforest.persistence import save

pytest.importorskip("typer")
pytest.importorskip("skops")
pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

QUICK = {"kernels": "linear", "Cs": 1, "losses": "edge", "n_estimators_search": 1}


def test_evaluate_gives_the_measures_of_the_library(ok, songs):
    Path("songs.csv").rename("test_songs.csv")  # where every label is predicted
    X, Y = make_songs(40, 0)
    expected = reference().predict(X)
    text = ok("evaluate", "songs.spanforest", "test_songs.csv", "--per-label", "--json")
    facts = json.loads(text)
    assert facts["n_samples"] == 40
    for measure in (microlabel_accuracy, multilabel_accuracy, microlabel_f1):
        assert facts[measure.__name__] == measure(Y, expected)
    strengths = reference().decision_function(X)
    for name, ranking_measure in RANKING_MEASURES.items():
        assert facts[name] == ranking_measure(Y, strengths)
    scores = precision_recall_fscore_support(Y, expected, average=None)
    for name, values in zip(
        ("precision", "recall", "f1", "n_true"), scores, strict=True
    ):
        assert_allclose([label[name] for label in facts["labels"]], values)
    n_predicted = [label["n_predicted"] for label in facts["labels"]]
    assert n_predicted == expected.sum(axis=0).tolist()
    shown = ok("evaluate", "songs.spanforest", "test_songs.csv", "--per-label")
    assert f"{100 * facts['multilabel_accuracy']:.2f} %" in shown
    assert f"{facts['coverage']:.2f} labels" in shown
    assert all(name in shown for name in LABELS)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("words", [(0, 1), ("no", "yes")])
def test_a_model_is_measured_by_what_it_was_tuned_for(ok, folder, words):
    X, Y = make_songs(40, 0)
    frame = frame_of(X, np.array(words, dtype=object)[Y]).infer_objects()
    frame.to_csv("songs.csv", index=False)
    search = RandomGraphEnsembleClassifierCV(2, **QUICK, random_state=0)
    search.set_params(scoring="f1_macro").fit(frame[FEATURES], frame[LABELS])
    save(search, "m")
    facts = json.loads(ok("evaluate", "m", "songs.csv", "--json"))
    expected = f1_score(Y, search.predict(frame[FEATURES]) == words[1], average="macro")
    assert facts["tuned_for"] == {"measure": "f1_macro", "score": expected}
    shown = ok("evaluate", "m", "songs.csv")
    assert re.search(rf"f1_macro \(tuned for\) +{100 * expected:.2f} %", shown)
    save(search.set_params(scoring="microlabel_f1"), "m")  # shown in any case
    assert json.loads(ok("evaluate", "m", "songs.csv", "--json"))["tuned_for"] is None


@pytest.mark.needs_compiled
def test_a_single_label_is_measured_as_the_search_saw_it(ok, folder):
    frame = frame_of(*make_songs(40, 0))[[*FEATURES, LABELS[0]]]
    frame[LABELS[0]] += 1  # for scikit-learn 1 is positive, and so the lower one
    X, y = frame[FEATURES], frame[LABELS[0]].copy()
    search = RandomGraphEnsembleClassifierCV(1, **QUICK, scoring="f1", random_state=0)
    save(search.fit(X, y), "m")
    y[:9] = 3 - y[:9]  # some predictions are wrong
    frame.assign(**{LABELS[0]: y}).to_csv("songs.csv", index=False)
    facts = json.loads(ok("evaluate", "m", "songs.csv", "--json"))
    assert facts["tuned_for"]["score"] == f1_score(y, search.predict(X))
    assert f1_score(y, search.predict(X)) != f1_score(y, search.predict(X), pos_label=2)


@pytest.mark.needs_compiled
def test_a_loss_that_a_model_was_tuned_for_is_no_percentage(ok, folder):
    frame = frame_of(*make_songs(40, 0))
    frame.to_csv("songs.csv", index=False)
    search = RandomGraphEnsembleClassifierCV(2, **QUICK, random_state=0)
    search.set_params(scoring="neg_hamming_loss").fit(frame[FEATURES], frame[LABELS])
    save(search, "m")
    shown = ok("evaluate", "m", "songs.csv")
    assert re.search(r"neg_hamming_loss \(tuned for\) +-0\.\d{4}", shown)


def test_a_label_that_never_occurs_has_no_recall(ok, folder):
    X, Y = make_songs(40, 0)
    Y[:, 0] = 0
    frame_of(X, Y).to_csv("a.csv", index=False)
    ok("train", "a.csv", "--labels", "last:3", *FEW, "-o", "m")
    facts = json.loads(ok("evaluate", "m", "a.csv", "--per-label", "--json"))
    first = facts["labels"][0]
    assert (first["n_true"], first["accuracy"], first["recall"]) == (0, 1, None)
    assert facts["microlabel_f1"] == microlabel_f1(Y, predictions(ok, "m", "a.csv"))


@pytest.mark.needs_compiled
@pytest.mark.parametrize("words", [("no", "yes"), (1, 2), ("absent", "present")])
def test_f1_counts_the_higher_of_two_values(ok, folder, words):
    X, Y = make_songs(40, 0)
    np.savez("bits.npz", X=X, Y=Y)
    frame_of(X, np.array(words, dtype=object)[Y]).to_csv("words.csv", index=False)
    ok("train", "bits.npz", *FEW, "-o", "bits")
    ok("train", "words.csv", "--labels", "last:3", *FEW, "-o", "words")
    bits = json.loads(ok("evaluate", "bits", "bits.npz", "--json"))
    assert json.loads(ok("evaluate", "words", "words.csv", "--json")) == bits


def test_a_label_with_three_values_hides_no_measure_of_the_others(ok, folder):
    X, Y = make_songs(40, 0)
    Y[:, 1] = np.digitize(X[:, 0], [-0.5, 0.5])
    frame_of(X, Y).to_csv("a.csv", index=False)
    ok("train", "a.csv", "--labels", "last:3", *FEW, *RAW, "-o", "m")
    actual = json.loads(ok("evaluate", "m", "a.csv", "--per-label", "--json"))
    assert actual["ranking_loss"] is None
    assert actual["n_labels_of_f1"] == 2
    shown = ok("evaluate", "m", "a.csv")
    assert re.search(r"coverage +-\n", shown)
    assert "microlabel F1 (2 labels with two values)" in shown
    first, wide, last = actual["labels"]
    assert wide["f1"] is wide["n_true"] is None
    assert wide["accuracy"] > 0.5
    predicted = predictions(ok, "m", "a.csv").to_numpy()
    two = [0, 2]
    assert actual["microlabel_f1"] == microlabel_f1(Y[:, two], predicted[:, two])
    for j, label in ((0, first), (2, last)):
        expected = precision_recall_fscore_support(
            Y[:, j], predicted[:, j], average="binary"
        )[:3]
        assert_allclose([label[k] for k in ("precision", "recall", "f1")], expected)
        assert label["n_true"] == Y[:, j].sum()


def test_evaluate_refuses_missing_labels_and_says_where(ok, fails, songs):
    X, Y = make_songs(20, 1)
    Y = Y.astype(object)
    Y[4, 1] = Y[7, 0] = None
    write_data("gaps.csv", X, Y)
    message = fails("evaluate", "songs.spanforest", "gaps.csv")
    assert "2 of 20 examples lack some, the first: 'sad' of row 5 (line 6)" in message
    ok("predict", "songs.spanforest", "gaps.csv")  # which needs no labels
    frame = pd.read_csv("test_songs.csv").assign(other=None)  # not of the model
    frame.to_csv("more.csv", index=False)
    ok("evaluate", "songs.spanforest", "more.csv")


def renamed_npz(name, X, Y, **names):
    np.savez(name, X=X, Y=Y, feature_names=FEATURES, **names)


def test_labels_of_other_names_are_refused_by_evaluate(fails, songs):
    X, Y = make_songs(20, 1)
    renamed_npz("a.npz", X, Y, label_names=["happy", "grief", "joy"])
    message = fails("evaluate", "songs.spanforest", "a.npz")
    assert "a.npz: its labels are not those of the model" in message
    assert "missing: 'sad', 'calm'; not in the model: 'grief', 'joy'" in message
    frame = frame_of(X, Y).rename(columns={"happy": "grief"})
    frame.to_csv("b.csv", index=False)
    message = fails("evaluate", "songs.spanforest", "b.csv", "--labels", "last:3")
    assert "missing: 'happy'; not in the model: 'grief'" in message
    write_data("c.arff", X, Y)
    text = Path("c.arff").read_text().replace("happy", "joy").replace("sad", "grief")
    Path("c.arff").write_text(text)
    message = fails("evaluate", "songs.spanforest", "c.arff")
    assert "missing: 'happy', 'sad'" in message


def test_reordered_labels_are_put_into_the_order_of_the_model(ok, songs):
    X, Y = make_songs(20, 1)
    renamed_npz("a.npz", X, Y[:, [2, 0, 1]], label_names=["calm", "happy", "sad"])
    expected = ok("evaluate", "songs.spanforest", "test_songs.csv", "--per-label")
    assert ok("evaluate", "songs.spanforest", "a.npz", "--per-label") == expected


def test_labels_without_names_are_matched_by_position_if_their_number_agrees(
    ok, warns, fails, songs
):
    X, Y = make_songs(20, 1)
    renamed_npz("a.npz", X, Y)
    expected = ok("evaluate", "songs.spanforest", "test_songs.csv")
    message = "a.npz: labels are matched with those of the model by position"
    assert warns(message, "evaluate", "songs.spanforest", "a.npz") == expected
    renamed_npz("b.npz", X, Y[:, :2])
    assert "has 3 labels; found 2" in fails("evaluate", "songs.spanforest", "b.npz")


def test_labels_that_the_model_was_not_trained_on_are_left_out_with_a_warning(
    ok, capsys, songs
):
    X, Y = make_songs(20, 1)
    names = ["other", *LABELS]
    renamed_npz("a.npz", X, np.column_stack([Y[:, 0], Y]), label_names=names)
    expected = ok("evaluate", "songs.spanforest", "test_songs.csv")
    assert main(["evaluate", "songs.spanforest", "a.npz"]) == 0
    out, err = capsys.readouterr()
    assert out == expected
    assert err == (
        "spanforest: warning: a.npz: labels that the model does not know are left out: "
        "'other'.\n"
    )


def test_labels_that_the_model_does_not_know_are_left_out_with_a_warning(
    ok, capsys, folder
):
    Path("a.svm").write_text("1 1:1\n2 2:1\n1,2 1:1 2:1\n 1:-1\n")
    ok("train", "a.svm", *FEW, "-o", "m")
    Path("b.svm").write_text("1,3 1:1\n")
    assert main(["evaluate", "m", "b.svm"]) == 0
    assert capsys.readouterr().err == (
        "spanforest: warning: b.svm: 1 labels are not among the expected ones and are "
        "left out: 3.\n"
    )


CASES = {
    "two values": (["no", "yes"], ["no", "yes"]),
    "three values in training": ([0, 1, 2], [0, 1, 2]),
    "a value that training lacks": ([0, 1], [0, 1, 2]),
    "never on in training": ([0], [0, 1]),
    "always on in training": ([1], [0, 1]),
    "one word in training": (["b"], ["a", "b"]),
}


@pytest.mark.needs_compiled
def test_values_that_training_lacks_are_pointed_out(ok, fails, warns, folder):
    X, Y = make_songs(40, 0)
    frame = frame_of(X, Y)
    words = np.array(["no", "yes"], dtype=object)[Y[:, 0]]
    frame.assign(sad=words).to_csv("a.csv", index=False)
    ok("train", "a.csv", "--labels", "last:3", *FEW, "-o", "m")
    in_german = np.array(["nein", "ja"], dtype=object)[Y[:, 0]]
    frame.assign(sad=in_german).to_csv("b.csv", index=False)
    message = "in training they were 'no', 'yes'. Write them as in the training data."
    assert message in fails("evaluate", "m", "b.csv")
    words[0] = "perhaps"
    frame.assign(sad=words).to_csv("c.csv", index=False)
    warns(
        "c.csv: the label 'sad' has values that training lacks: 'perhaps'; in training "
        "they were 'no', 'yes'. They count as predicted wrongly.",
        *("evaluate", "m", "c.csv"),
    )


@pytest.mark.needs_compiled
@pytest.mark.parametrize("case", CASES)
def test_evaluate_and_report_have_the_same_f1(ok, warns, folder, case):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    from spanforest.cli._data import Request, read_for_model
    from spanforest.cli._model import TrainedModel
    from spanforest.diagnostics._models import FittedModel
    from spanforest.model_page._outcomes import Outcomes
    from spanforest.model_page._scores import headline, label_rows

    X, Y = make_songs(40, 0)
    frame = frame_of(X, Y)
    for name, values in zip(("a.csv", "b.csv"), CASES[case], strict=True):
        sad = np.array(values, dtype=object)[np.arange(40) % len(values)]
        frame.assign(sad=sad).to_csv(name, index=False)
    ok("train", "a.csv", "--labels", "last:3", *FEW, "-o", "m")
    model, request = TrainedModel.load(Path("m")), Request("b.csv")
    if case == "a value that training lacks":
        facts = json.loads(
            warns("training lacks: 2", "evaluate", "m", "b.csv", "--json")
        )
        with pytest.warns(UserWarning, match="training lacks: 2"):
            dataset = read_for_model(request, model, with_labels=True)
    else:
        facts = json.loads(ok("evaluate", "m", "b.csv", "--json"))
        dataset = read_for_model(request, model, with_labels=True)
    fitted, X = FittedModel.of(model.estimator, model.inputs(dataset))
    outcomes = Outcomes.of(fitted, X, dataset.Y)
    scores = headline(outcomes, label_rows(outcomes, None))
    (of_page,) = [one.value for one in scores if one.name == "F1 over labels"]
    assert facts["microlabel_f1"] == pytest.approx(of_page)
