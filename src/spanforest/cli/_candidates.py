"""What tuning tried: the best candidate of every kernel."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spanforest.tuning import RandomGraphEnsembleClassifierCV

HEADER = ("kernel", "C", "loss", "decision", "score", "folds")


def search_facts(search: "RandomGraphEnsembleClassifierCV") -> dict[str, Any]:
    """Return what was chosen, and the best candidate of every kernel, best first.

    Averages of kernels count as kernels. Those that were tried on more folds come
    first: they went on because they were better. A score is the mean over the folds
    that a kernel was tried on.
    """
    import numpy as np

    from spanforest.tuning._candidate_names import decision_in_words, entrant_name

    results, chosen = search.cv_results_, search.best_index_
    places = range(sum(key.startswith("split") for key in results))
    scores = np.array([results[f"split{place}_test_score"] for place in places])
    n_folds = np.isfinite(scores).sum(axis=0)
    best: dict[str, dict[str, Any]] = {}
    for i in np.flatnonzero(n_folds).tolist():
        params = results["params"][i]
        kernel = entrant_name(params)
        candidate: dict[str, Any] = {
            "kernel": kernel,
            "C": float(params["C"]),
            "loss": str(params["loss"]),
            "offset": params.get("offset"),
            "threshold": params.get("threshold"),
            "forest": _forest_in_words(params),
            "decision": decision_in_words(params),
            "score": float(np.nanmean(scores[:, i])),
            "n_folds": int(n_folds[i]),
            "is_chosen": i == chosen,
        }
        if _order(candidate) < _order(best.setdefault(kernel, candidate)):
            best[kernel] = candidate
    return {
        "chosen": search.chosen_,
        "measure": search.scoring if isinstance(search.scoring, str) else "a function",
        "n_candidates": int((n_folds > 0).sum()),
        "kernels": sorted(best.values(), key=_order),
    }


def _forest_in_words(params: dict[str, Any]) -> str | None:
    """Return the forest whose probabilities a threshold takes too, or None.

    Examples
    --------
    >>> _forest_in_words({"threshold": 0.5, "probability": True}) is None
    True
    """
    from spanforest._wording import kernel_in_words

    forest = params.get("probability")
    return None if forest in (None, True) else kernel_in_words(forest)


def _order(candidate: dict[str, Any]) -> tuple[bool, int, float]:
    return not candidate["is_chosen"], -candidate["n_folds"], -candidate["score"]


def candidate_rows(facts: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the rows of the table that shows the facts."""
    return [
        (
            one["kernel"],
            *(f"{one['C']:g}", one["loss"], one["decision"]),
            *(f"{one['score']:.3f}", str(one["n_folds"])),
        )
        for one in facts["kernels"]
    ]
