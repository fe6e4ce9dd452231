"""The label graph of an ensemble, small enough to be stored in a row."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest.diagnostics import Couplings, edge_couplings, label_frequencies

MOST_EDGES = 200  # only the strongest: a picture of more cannot be read


class StoredGraph(NamedTuple):
    """The strongest couplings of a consensus graph, and the data behind them."""

    couplings: Couplings
    n_edges: int  # of the whole graph
    frequencies: NDArray[np.float64]  # of each label
    label_names: tuple[str, ...]  # empty if they have none
    n_samples: int  # number of training examples

    @classmethod
    def of(
        cls, ensemble: Any, X: Any, Y: NDArray, label_names: Sequence[str] = ()
    ) -> "StoredGraph":
        """Measure the couplings of a fitted ensemble on its training examples.

        Parameters
        ----------
        ensemble : RandomGraphEnsembleClassifier
            A fitted ensemble.
        X, Y
            The training examples and their labels, as for `fit`.
        label_names : sequence of str, default=()
            One name per label, or none.

        Examples
        --------
        >>> from spanforest import RandomGraphEnsembleClassifier
        >>> X, Y = [[0.0], [1.0], [2.0]], np.array([[0, 0], [0, 1], [1, 1]])
        >>> ensemble = RandomGraphEnsembleClassifier(2, tol=0.1, random_state=0)
        >>> graph = StoredGraph.of(ensemble.fit(X, Y), X, Y, ["sun", "warm"])
        >>> field = graph.as_field()
        >>> field["edges"], field["n_edges"], field["label_names"]
        ([[0, 1]], 1, ['sun', 'warm'])
        >>> StoredGraph.from_field(field).as_field() == field
        True
        """
        couplings = edge_couplings(ensemble, X, Y)
        return cls(
            couplings.strongest(MOST_EDGES),
            len(couplings.strength),
            label_frequencies(Y, ensemble.missing_label),
            tuple(map(str, label_names)),
            len(Y),
        )

    def as_field(self) -> dict[str, Any]:
        """Return the field of a row, with numbers of six digits."""
        edges, strength, is_signed = self.couplings
        return {
            "label_names": list(self.label_names),
            "frequencies": _six_digits(self.frequencies),
            "n_edges": self.n_edges,
            "n_samples": self.n_samples,
            "edges": edges.tolist(),
            "strength": _six_digits(strength),
            "is_signed": is_signed.tolist(),
        }

    @classmethod
    def from_field(cls, field: Mapping[str, Any]) -> "StoredGraph":
        """Read what `as_field` returned."""
        couplings = Couplings(
            np.array(field["edges"], dtype=np.intp).reshape(-1, 2),
            np.array(field["strength"], dtype=np.float64),
            np.array(field["is_signed"], dtype=np.bool_),
        )
        return cls(
            couplings,
            field["n_edges"],
            np.array(field["frequencies"], dtype=np.float64),
            tuple(field["label_names"]),
            field["n_samples"],
        )


def _six_digits(values: NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.6g}") for value in values]
