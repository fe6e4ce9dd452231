"""Draw the figures of real data sets for the user guide.

Run by hand, with the data sets in the folder that SPANFOREST_DATA names::

    python docs/make_figures.py            # all of them, some minutes
    python docs/make_figures.py trees      # one of them

The figures go to ``docs/figures``.
"""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import SVC

from spanforest import RandomGraphEnsembleClassifier
from spanforest.datasets import Dataset, load_dataset
from spanforest.metrics import multilabel_accuracy
from spanforest.model_page import make_model_page
from spanforest.model_selection import LabelCardinalityKFold
from spanforest.plots import EnsembleCurveDisplay, LabelGraphDisplay

FOLDER = Path(__file__).parent / "figures"


def _pipeline(classifier: Any, *, unit_length: bool = False) -> Any:
    steps = [StandardScaler(), Normalizer()] if unit_length else [StandardScaler()]
    return make_pipeline(*steps, classifier)


def label_graph() -> Any:
    """Draw the consensus graph of emotions."""
    data = load_dataset("emotions")
    model = _pipeline(
        RandomGraphEnsembleClassifier(
            50,
            kernel="rbf",
            gamma=_gamma(data),
            scaling=None,
            tol=0.01,
            random_state=0,
            n_jobs=2,
        )
    ).fit(data.X, data.Y)
    names = [name.replace("-", " ") for name in data.label_names]
    return LabelGraphDisplay.from_estimator(
        model, data.X, data.Y, label_names=names
    ).figure_


def trees() -> Any:
    """Draw learning curves of three data sets, averaged over five folds."""
    names = ("emotions", "yeast", "scene")
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for name, ax in zip(names, axes, strict=True):
        curves, member = _mean_curves(load_dataset(name))
        EnsembleCurveDisplay(curves, member, "multilabel_accuracy").plot(ax=ax)
        ax.set_title(name)
        ax.get_legend().remove()
    axes[1].legend(frameon=False, loc="center right", bbox_to_anchor=(1.0, 0.4))
    return figure


def _mean_curves(data: Dataset) -> tuple[dict[str, Any], float]:
    """Return the scores of the first trees per aggregation, and of one tree alone."""
    curves: dict[str, list[list[float]]] = {"mve": [], "amm": [], "mam": []}
    alone = []
    for train, test in LabelCardinalityKFold(5, random_state=0).split(data.Y, data.Y):
        scaler = StandardScaler().fit(data.X[train])
        ensemble = RandomGraphEnsembleClassifier(
            60,
            kernel="rbf",
            gamma=_gamma(data),
            scaling=None,
            tol=0.05,
            random_state=0,
            n_jobs=2,
        ).fit(scaler.transform(data.X[train]), data.Y[train])
        X, Y = scaler.transform(data.X[test]), data.Y[test]
        for name, of_folds in curves.items():
            predictions = ensemble.staged_predict(X, name)
            of_folds.append(
                [multilabel_accuracy(Y, predicted) for predicted in predictions]
            )
        alone += [member.score(X, Y) for member in ensemble.estimators_]
    means = {name: np.mean(of_folds, axis=0) for name, of_folds in curves.items()}
    return means, float(np.mean(alone))


def choice_of_c() -> Any:
    """Draw scores against C, for two kernels, beside one SVM per label."""
    values = (0.1, 0.3, 1.0, 3.0, 10.0)
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for name, ax in zip(("emotions", "scene"), axes, strict=True):
        data = load_dataset(name)
        folds = LabelCardinalityKFold(5, random_state=0)
        for kernel, colour in (("rbf", "#d55e00"), ("linear", "#0072b2")):
            for kind, style in (("MAM", "o-"), ("SVM per label", "s--")):
                scores = []
                for C in values:
                    model = _pipeline(
                        _classifier(kind, kernel, C, _gamma(data)),
                        unit_length=kernel == "linear",
                    )
                    scores.append(
                        100 * np.mean(cross_val_score(model, data.X, data.Y, cv=folds))
                    )
                label = f"{kind}, {'Gaussian' if kernel == 'rbf' else 'linear'}"
                ax.plot(values, scores, style, color=colour, markersize=4, label=label)
        ax.set(xscale="log", xlabel="C", ylabel="Multilabel accuracy (%)", title=name)
        ax.set_xticks(values, [f"{C:g}" for C in values])
        ax.minorticks_off()
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False)
    return figure


def _gamma(data: Dataset) -> float:
    """Return the usual width of a Gaussian kernel on standardised features."""
    return 1.0 / data.n_features


def _classifier(kind: str, kernel: str, C: float, gamma: float) -> Any:
    if kind == "MAM":
        return RandomGraphEnsembleClassifier(
            20,
            kernel=kernel,
            gamma=gamma,
            C=C,
            scaling=None,
            tol=0.05,
            max_iter=300,
            random_state=0,
            n_jobs=2,
        )
    return OneVsRestClassifier(SVC(kernel=kernel, C=C, gamma=gamma))


def model_page(path: Path) -> None:
    """Take a picture of the page about a model of emotions, in Chromium."""
    data = load_dataset("emotions")
    order = np.random.default_rng(0).permutation(data.n_samples)
    train, test = np.split(order, [2 * data.n_samples // 3])
    labels = pd.DataFrame(data.Y, columns=data.label_names)
    model = RandomGraphEnsembleClassifier(random_state=0, probability=True, n_jobs=2)
    model.fit(data.X[train], labels.iloc[train])
    page = make_model_page(model, data.X[test], labels.iloc[test], title="Emotions")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        tab = browser.new_page(viewport={"width": 1280, "height": 1500})
        tab.set_content(page)
        tab.screenshot(path=path)
        browser.close()


FIGURES: dict[str, Callable[[], Any]] = {
    "label_graph": label_graph,
    "trees": trees,
    "choice_of_c": choice_of_c,
}
SCREENSHOTS: dict[str, Callable[[Path], None]] = {"model_page": model_page}


def main(names: list[str]) -> None:
    """Draw the figures with these names, or all."""
    if "SPANFOREST_DATA" not in os.environ:
        sys.exit("SPANFOREST_DATA must name the folder of the data sets.")
    FOLDER.mkdir(exist_ok=True)
    for name in names or (*FIGURES, *SCREENSHOTS):
        path = FOLDER / f"{name}.png"
        if name in SCREENSHOTS:
            SCREENSHOTS[name](path)
        else:
            FIGURES[name]().savefig(path, dpi=110)
        with Image.open(path) as picture:  # few colours: a third of the size
            picture.convert("RGB").quantize(64).save(path, optimize=True)
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
