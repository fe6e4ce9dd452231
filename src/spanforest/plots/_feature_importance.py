"""Which features matter to which labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from spanforest._parameters import check_count
from spanforest.diagnostics import FeatureImportance, feature_importance
from spanforest.plots._style import GREY, axes_for


class FeatureImportanceDisplay:
    """A row per feature, a column per label, and one for whole label sets.

    Make it with `from_estimator`.

    Parameters
    ----------
    importance : FeatureImportance
        The numbers.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the table is, once drawn.
    figure_ : matplotlib Figure
        The figure around it.

    Examples
    --------
    >>> import numpy as np
    >>> from spanforest import MMCRFClassifier
    >>> from spanforest.plots import FeatureImportanceDisplay
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = MMCRFClassifier(tol=0.1, random_state=0).fit(X, X[:, :2] > 0)
    >>> display = FeatureImportanceDisplay.from_estimator(model, X, X[:, :2] > 0)
    >>> display.importance.labels.shape
    (2, 3)
    """

    def __init__(self, importance: FeatureImportance) -> None:
        self.importance = importance

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, Y: Any, *, ax: Any = None, **options: Any
    ) -> Self:
        """Compute the importance of all features, and draw it.

        Parameters
        ----------
        model : MMCRFClassifier or RandomGraphEnsembleClassifier
            Fitted; also as the last step of a pipeline.
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples, best those that the model was not trained on.
        Y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
            Their labels.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **options
            Passed to `spanforest.diagnostics.feature_importance`.

        Returns
        -------
        FeatureImportanceDisplay
            With the figure drawn.
        """
        return cls(feature_importance(model, X, Y, **options)).plot(ax=ax)

    def plot(self, *, ax: Any = None, max_features: int = 20) -> Self:
        """Draw the table, the feature that matters most to label sets at the top.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        max_features : int, default=20
            Only so many features, those that matter most, are shown.

        Returns
        -------
        FeatureImportanceDisplay
            Itself.
        """
        importance = self.importance
        shown = importance.strongest(check_count("max_features", max_features))
        values = 100 * np.vstack([importance.label_sets, importance.labels])[:, shown].T
        names = ["label sets", *importance.label_names]
        size = 2.5 + 0.45 * len(names), 1.8 + 0.3 * len(shown)
        ax = axes_for(ax, *size)
        limit = max(float(np.abs(values).max()), 1e-9)
        image = ax.imshow(values, cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto")
        colour = ax.figure.colorbar(image, ax=ax)
        colour.set_label("points lost if shuffled")
        turn = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        ax.set_xticks(range(len(names)), names, **turn)
        ax.set_yticks(range(len(shown)), [importance.feature_names[j] for j in shown])
        ax.axvline(0.5, color=GREY, linewidth=1.5)  # label sets | single labels
        n_all = len(importance.feature_names)
        if len(shown) < n_all:
            ax.set_ylabel(f"{len(shown)} of {n_all} features")
        ax.tick_params(length=0)
        self.ax_, self.figure_ = ax, ax.figure
        return self
