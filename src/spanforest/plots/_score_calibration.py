"""Share of positive microlabels against their score."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from spanforest._parameters import check_count
from spanforest.diagnostics import Positives, in_training_order
from spanforest.plots._style import BLACK, GREEN, Display, tidy


class ScoreCalibrationDisplay(Display):
    """Share of positives against the score, over the microlabels of all examples.

    The microlabels are put into bins of nearly equal size by their score. If scores
    mean the same for all labels, the share rises with the score and passes one half
    at zero.

    Parameters
    ----------
    mean_score : array-like of shape (n_bins,)
        Mean decision function of the microlabels of each bin.
    positive_share : array-like of shape (n_bins,)
        Share of them that are on in truth.
    count : array-like of shape (n_bins,)
        How many there are.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the points are, once drawn.
    figure_ : matplotlib Figure
        The figure around them.

    Examples
    --------
    >>> from spanforest.plots import ScoreCalibrationDisplay
    >>> display = ScoreCalibrationDisplay([-1.0, 0.5], [0.1, 0.8], [50, 50])
    >>> display.plot().ax_.get_ylabel()
    'Positive microlabels (%)'
    """

    def __init__(
        self, mean_score: ArrayLike, positive_share: ArrayLike, count: ArrayLike
    ) -> None:
        self.mean_score = np.asarray(mean_score, dtype=float)
        self.positive_share = np.asarray(positive_share, dtype=float)
        self.count = np.asarray(count)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, Y: Any, *, n_bins: int = 15, ax: Any = None
    ) -> Self:
        """Score examples, compare with their true labels, and draw the shares.

        Parameters
        ----------
        model : estimator
            Fitted; any classifier of binary labels with a `decision_function`.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, best not those of training.
        Y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
            Their true labels.
        n_bins : int, default=15
            Number of bins; fewer if many scores are equal.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ScoreCalibrationDisplay
            With the figure drawn.

        Examples
        --------
        >>> from spanforest import MMCRFClassifier
        >>> from spanforest.datasets import make_circle
        >>> from spanforest.plots import ScoreCalibrationDisplay
        >>> X, Y = make_circle(60, random_state=0)
        >>> model = MMCRFClassifier(tol=0.1, random_state=0).fit(X, Y)
        >>> display = ScoreCalibrationDisplay.from_estimator(model, X, Y, n_bins=5)
        >>> display.count.sum() == Y.size
        np.True_
        """
        n_bins = check_count("n_bins", n_bins)
        Y = in_training_order(model, Y)
        is_on = Positives.of(Y, Y).truth.ravel()
        scores = np.asarray(model.decision_function(X), dtype=float).ravel()
        if len(scores) != len(is_on):
            raise ValueError(
                f"decision_function must give one score per label of each example, "
                f"{len(is_on)} in all; got {len(scores)}. Labels must be binary."
            )
        edges = np.unique(np.quantile(scores, np.linspace(0, 1, n_bins + 1)[1:-1]))
        place = np.searchsorted(edges, scores, side="left")
        count = np.bincount(place)
        used = count > 0
        mean_score = np.bincount(place, scores)[used] / count[used]
        share = np.bincount(place, is_on)[used] / count[used]
        return cls(mean_score, share, count[used]).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        """Draw a point per bin, with two standard errors on either side."""
        share, count = self.positive_share, np.maximum(self.count, 1)
        error = 2 * np.sqrt(share * (1 - share) / count)
        sizes = " to ".join(f"{n:,}" for n in np.unique([count.min(), count.max()]))
        ax.errorbar(
            self.mean_score,
            100 * share,
            yerr=100 * error,
            color=GREEN,
            marker="o",
            markersize=4,
            linewidth=1.2,
            label=f"{len(count)} bins of {sizes} microlabels",
        )
        dashed = {"color": BLACK, "linestyle": (0, (4, 3)), "linewidth": 0.8}
        ax.axvline(0, zorder=1, **dashed)
        ax.axhline(50, zorder=1, **dashed)
        tidy(ax, grid="both")
        ax.set(xlabel="Decision function", ylabel="Positive microlabels (%)")
        ax.set_ylim(-3, 106)
        ax.legend(frameon=False, loc="upper left")
