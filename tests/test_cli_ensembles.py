"""Train tunes by default, and trains a plain ensemble if parameters are given."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from songs import (
    FEATURES,
    LABELS,
    frame_of,
    make_songs,
    predictions,
    write_data,
    write_libsvm,
)

from spanforest import RandomGraphEnsembleClassifier, RandomGraphEnsembleClassifierCV
from spanforest.cli import main
from spanforest.datasets import Dataset

pytest.importorskip("typer")
pytest.importorskip("skops")
pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

from spanforest.cli._ensembles import Wanted, make_ensemble  # noqa: E402
from spanforest.cli._train_options import Scaling  # noqa: E402
from spanforest.persistence import load  # noqa: E402

WHICH = ("--labels", "last:3")
# the first kernel is tried on one fold, and nothing else
AT_ONCE = ("--trees", "2", "--time-limit", "1e-6")
ESTIMATORS = (RandomGraphEnsembleClassifier, RandomGraphEnsembleClassifierCV)


@pytest.fixture
def made(monkeypatch, capsys, folder):
    """Return the ensemble that train would fit, given options of it."""

    def run(*args, data="songs.csv"):
        caught = []

        def catch(self, X, y):
            caught.append(self)
            raise KeyboardInterrupt

        for estimator in ESTIMATORS:
            monkeypatch.setattr(estimator, "fit", catch)
        which = () if data.endswith("npz") else WHICH
        assert main(["train", data, *which, *args, "-o", "m"]) == 130
        capsys.readouterr()
        (ensemble,) = caught
        return ensemble

    return run


@pytest.mark.parametrize(
    ("options", "params"),
    [
        ((), {}),
        (("--measure", "f1_macro"), {"scoring": "f1_macro"}),
        (("--time-limit", "60"), {"time_limit": 60}),
        (("--trees", "7"), {"n_estimators": 7}),
        (("--graph", "random_pairing"), {"graph": "random_pairing"}),
        (("--graph", "chow_liu"), {"graph": "chow_liu", "n_estimators": 1}),
        (("--aggregation", "mve"), {"aggregation": "mve"}),
        (("--training", "joint"), {"training": "joint"}),
        (("--training", "both"), {"training": ("separate", "joint")}),
        (("--class-weight", "balanced"), {"class_weight": "balanced"}),
        (("--probability",), {"probability": True}),
        (("--scale", "none"), {"scaling": None}),
        (("--normalize",), {"normalize_kernel": True}),
        (("--tol", "0.2", "--max-iter", "9"), {"tol": 0.2, "max_iter": 9}),
        (("--jobs", "2", "--seed", "3"), {"n_jobs": 2, "random_state": 3}),
    ],
)
def test_train_tunes_with_every_option_that_tuning_does_not_choose(
    made, options, params
):
    expected = {"random_state": 0, "verbose": 1, **params}
    default = RandomGraphEnsembleClassifierCV(**expected)
    ensemble = made(*options)
    assert type(ensemble) is type(default)
    assert ensemble.get_params() == default.get_params()
    if {"--measure", "--time-limit", "both"} & set(options):
        return
    ensemble = made(*options, "--C", "1")
    known = {"n_estimators": 30, **expected}
    plain = RandomGraphEnsembleClassifier(**known)
    assert type(ensemble) is type(plain)
    assert ensemble.get_params() == plain.get_params()


@pytest.mark.parametrize(
    ("option", "value", "parameter"),
    [
        ("--kernel", "rbf", "rbf"),
        ("--gamma", "0.5", 0.5),
        ("--C", "3", 3.0),
        ("--loss", "hamming", "hamming"),
    ],
)
def test_what_tuning_would_choose_asks_for_a_plain_ensemble(
    made, fails, option, value, parameter
):
    ensemble = made(option, value)
    assert type(ensemble) is RandomGraphEnsembleClassifier
    assert ensemble.get_params()[option.strip("-")] == parameter
    for other in ("--measure mean", "--time-limit 9", "--training both"):
        message = fails(
            *("train", "songs.csv", *WHICH, option, value, *other.split(), "-o", "m"),
            code=2,
        )
        name = other if other.endswith("both") else other.split()[0]
        assert f"'{name}': it is for tuning, and there is no tuning with" in message
        assert f"Leave out {name} to train" in message
        assert f"or {option} to tune" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--kernel forest --gamma 3", "'--gamma': it is for rbf or laplacian or poly"),
        ("--kernel linear --gamma 3", "the kernel is linear. Leave it out, or use --k"),
        ("--kernel linear,forest --gamma 3", "the kernel is linear and forest. Leave"),
        ("--kernel rbf --degree 5", "'--degree': it is for poly, and the kernel is rb"),
        ("--kernel linear+rbf --degree 5", "or use --kernel poly."),
        ("--degree 5", "it is for poly, and the kernel is rbf."),
        ("--C 1 --degree 5", "it is for poly, and the kernel is rbf."),
    ],
)
def test_options_of_other_kernels_are_refused(fails, folder, options, message):
    args = ("train", "songs.csv", *WHICH, *options.split(), "-o", "m")
    assert message in fails(*args, code=2)


def test_options_of_kernels_are_refused_if_the_data_choose_another(fails, made):
    X, Y = make_songs(20, 0)
    np.savez("k.npz", K=X @ X.T, Y=Y)
    np.savez("words.npz", X=np.eye(20), Y=Y)
    for data, message in (
        ("k.npz", "the kernel is precomputed. Leave it out: it cannot change"),
        ("words.npz", "the kernel is linear. Leave it out, or use --kernel rbf."),
    ):
        assert message in fails("train", data, "--gamma", "3", "-o", "m", code=2)


@pytest.mark.parametrize(
    "options", ["--gamma 3", "--kernel linear,rbf --gamma 3", "--kernel poly+rbf"]
)
def test_options_of_kernels_reach_them(made, options):
    options = options.replace("poly+rbf", "poly+rbf --degree 2 --gamma 3")
    params = made(*options.split()).get_params()
    assert params["gamma"] == 3
    assert params["degree"] == (2 if "degree" in options else 3)


def test_a_kernel_matrix_and_a_kernel_that_is_known_to_suit_are_kept(made):
    X, Y = make_songs(20, 0)
    np.savez("k.npz", K=X @ X.T, Y=Y)
    assert made(data="k.npz").kernels == "precomputed"
    plain = dict.fromkeys(("--kernel", "--gamma", "--degree", "--C", "--loss"))
    search = dict.fromkeys(("--measure", "--time-limit"))
    wanted = Wanted(plain, search, None, None, Scaling.auto, {})
    bits = Dataset("bits", X=np.ones((2, 1)), Y=np.ones((2, 1)), kernel="tanimoto")
    assert make_ensemble(bits, wanted, None).kernels == ["tanimoto", "forest"]


@pytest.mark.parametrize("name", ["roc_auc", "f1", "accurate"])
def test_an_unknown_measure_is_answered_with_those_that_are_known(fails, folder, name):
    args = ("train", "songs.csv", *WHICH, "--measure", name, "-o", "m")
    message = fails(*args, code=2)
    assert f"{name!r} is not one of mean, multilabel_accuracy, " in message
    for known in ("microlabel_f1", "f1_micro", "jaccard_samples", "neg_hamming_loss"):
        assert known in message


def test_a_measure_that_does_not_suit_the_labels_is_refused(fails, folder):
    frame = frame_of(*make_songs(12, 0)).assign(happy=[0, 1, 2] * 4)
    frame.to_csv("values.csv", index=False)
    args = ("train", "values.csv", *WHICH, "-o", "m", "--measure")
    assert "'f1_micro' cannot: a label has 3 values" in fails(*args, "f1_micro")
    assert "Use --measure" in fails(*args, "microlabel_f1")
    frame[:2].to_csv("few.csv", index=False)
    message = fails("train", "few.csv", *WHICH, "-o", "m")
    assert "tuning needs more examples" in message
    assert "Use --C 1" in message
    assert not Path("m").exists()


@pytest.mark.needs_compiled
def test_the_tuned_model_is_that_of_the_library_and_all_commands_take_it(ok, folder):
    options = ("--measure", "f1_micro", *AT_ONCE, "--probability")
    printed = ok("train", "songs.csv", *WHICH, *options, "-o", "m").splitlines()
    X, Y = make_songs(40, 0)
    expected = RandomGraphEnsembleClassifierCV(
        2, scoring="f1_micro", time_limit=1e-6, random_state=0
    ).fit(X, Y)
    assert re.match(
        "m: 2 graphs over 3 labels, tuned and trained on 40 exa.* s; dua", printed[0]
    )
    assert printed[1] == f"chosen: {expected.chosen_}"
    assert printed[2].startswith("3 labels, ")
    new, truth = make_songs(20, 1)
    scores = predictions(ok, "m", "test_songs.csv", "--scores")
    assert_allclose(scores, expected.decision_function(new))
    facts = json.loads(ok("evaluate", "m", "test_songs.csv", "--json"))
    assert facts["multilabel_accuracy"] == expected.score(new, truth)
    ok("report", "m", "test_songs.csv", "-o", "m.html")
    shown = ok("inspect", "m", "--couplings", "0")
    assert f"chosen       {expected.chosen_}" in shown
    n_tried = np.isfinite(expected.cv_results_["split0_test_score"]).sum()
    assert f"{n_tried} candidates, compared by f1_micro: the best with each" in shown
    model = load("m")
    assert [name for name, _ in model.steps] == ["classifier"]
    assert model[-1].verbose == model[-1].best_estimator_.verbose == 0
    frame = pd.DataFrame(new, columns=FEATURES)
    assert model.predict_proba(frame).shape == (20, 3)


def write_sparse_arff(name, X, Y):
    """Write a sparse file, with a feature of three values if its name says so."""
    kinds = ["numeric"] * 3 + ["{0, 1}"] * 3
    columns = np.hstack([X.astype(object), Y.astype(object)])
    if name.startswith("nominal"):
        kinds[2] = "{low, middle, high}"
        columns[:, 2] = np.where(X[:, 2] > 0.5, "high", "low")
    lines = [
        f"@attribute {one} {kind}"
        for one, kind in zip([*FEATURES, *LABELS], kinds, strict=True)
    ]
    cells = [
        ", ".join(f"{j} {value}" for j, value in enumerate(row)) for row in columns
    ]
    rows = [f"{{{row}}}" for row in cells]
    Path(name).write_text("\n".join(["@relation r", *lines, "@data", *rows]))


@pytest.mark.needs_compiled
@pytest.mark.parametrize(
    "name",
    [
        *("a.csv", "a.tsv", "a.parquet", "a.arff", "a.npz", "a.svm", "k.npz"),
        *("sparse.arff", "nominal.arff"),
    ],
)
def test_files_of_all_formats_are_tuned(ok, folder, name):
    X, Y = make_songs(20, 0)
    if name == "k.npz":
        np.savez(name, K=X @ X.T + 1, Y=Y)
    elif name in ("sparse.arff", "nominal.arff"):
        write_sparse_arff(name, X, Y)
    elif name == "a.svm":
        write_libsvm(X, Y, name)
    else:
        write_data(name, X, Y)
    which = WHICH if name.endswith(("csv", "tsv", "parquet", "arff")) else ()
    printed = ok("train", name, *which, *AT_ONCE, "-o", "m")
    assert "tuned and trained on 20 examples" in printed
    assert json.loads(ok("evaluate", "m", name, "--json"))["microlabel_accuracy"] > 0.6


def patients(n_samples=30):
    """A table as people bring it: numbers of any size, text, and gaps."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "income": 10_000 * rng.lognormal(size=n_samples).round(3),
            "city": rng.choice(["Bern", "Oslo", "Rome"], n_samples),
        }
    )
    frame["north"] = (frame["city"] == "Oslo").astype(int)
    frame["south"] = (frame["city"] == "Rome").astype(int)
    frame["rich"] = (frame["income"] > 10_000).astype(int)
    return frame


@pytest.mark.needs_compiled
@pytest.mark.parametrize("has_gaps", [False, True])
def test_text_and_gaps_are_tuned_as_they_are(ok, warns, folder, few_trees, has_gaps):
    """With codes for the three cities, no linear model finds the one in the middle."""
    frame = patients()
    if has_gaps:
        frame.loc[[1, 2], "income"] = np.nan
        frame.loc[[3], "city"] = None
    frame.to_csv("a.csv", index=False)
    printed = ok("train", "a.csv", *WHICH, *AT_ONCE, "-o", "m").splitlines()
    kernel = "ForestKernel(min_samples_leaf=5)" if has_gaps else "linear"
    assert printed[1].startswith(f"chosen: {kernel}, C ")
    assert ("only forests were tried" in printed[1]) == has_gaps
    assert printed[3].endswith("encoded by its categories (so many): city (3)")
    assert [name for name, _ in load("m").steps] == ["classifier"]
    facts = json.loads(ok("evaluate", "m", "a.csv", "--json", "--per-label"))
    assert facts["labels"][0]["accuracy"] > (0.9 if has_gaps else 0.99)
    patients(6).assign(city="Lima").to_csv("new.csv", index=False)
    warns("'city' has values that did not occur", "predict", "m", "new.csv")
    others = patients(6).assign(city=["Rome", "Oslo"] * 3)  # other codes for the same
    others.to_csv("others.csv", index=False)
    north = predictions(ok, "m", "others.csv")["north"]
    assert north.tolist() == [0, 1] * 3


@pytest.mark.needs_compiled
def test_gaps_that_are_filled_or_refused_are_not_left_to_forests(ok, fails, folder):
    frame = patients()
    frame.loc[[1, 2], "income"] = np.nan
    frame.to_csv("a.csv", index=False)
    args = ("train", "a.csv", *WHICH, *AT_ONCE, "-o", "m", "--missing")
    assert "chosen: linear, C " in ok(*args, "mean")
    assert [name for name, _ in load("m").steps[:2]] == ["nominal", "missing"]
    predictions(ok, "m", "a.csv")
    assert "2 values of features are missing" in fails(*args, "refuse")
    frame.assign(income=np.nan).to_csv("empty.csv", index=False)
    message = fails("train", "empty.csv", *WHICH, "-o", "m")
    assert "no value in any row: 'income'. Leave them out with --drop" in message


def test_labels_of_a_tuned_model_are_those_that_were_named(ok, folder):
    args = ("--labels", "calm,happy", "--drop", "sad", *AT_ONCE, "-o", "m")
    ok("train", "songs.csv", *args)
    assert predictions(ok, "m", "new_songs.csv").columns.tolist() == ["calm", "happy"]
