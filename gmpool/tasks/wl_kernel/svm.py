"""The WL-subtree kernel (Shervashidze et al., JMLR 2011) with a support vector machine.

k_h(G, G') = Σ_{t=0…h} Σ_c n_t(G, c) · n_t(G', c)

n_t(G, c) counts the nodes of G with colour c after t rounds of refinement (`gmpool.graph.colours`).
There is no network: a training fits machines for every h and C, and keeps the one that is best on
the validation part (`task.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gmpool.errors import UserError

C_GRID = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)  # as Morris et al. (TUDataset, 2020) choose from


NAME = "wl-svm"


class WLSubtreeSVM:
    """WL-subtree kernel with an SVM: what was used before neural pooling.

    iterations: h is chosen from 0 … iterations, C from seven powers of ten.
    normalise: k(G, G') / √(k(G, G) k(G', G')), so that large graphs do not outweigh small ones.
    """

    def __init__(self, *, iterations: int = 5, normalise: bool = True) -> None:
        if iterations < 0:
            raise UserError(f"iterations must not be negative, got {iterations}")
        self.iterations, self.normalise = iterations, normalise

    def kernels(
        self, counts: Sequence[Any], rows: NDArray[Any], columns: NDArray[Any]
    ) -> Iterator[NDArray[np.float64]]:
        """k_0, k_1, … between the graphs `rows` and the graphs `columns`. [rows, columns] each

        counts: n_0, n_1, … as sparse matrices [G, colours].
        """
        total = np.zeros((len(rows), len(columns)))
        norm = np.zeros(counts[0].shape[0])  # k(G, G)
        for n in counts:
            total += (n[rows] @ n[columns].T).toarray()
            norm += np.asarray(n.multiply(n).sum(1)).ravel()
            # A graph without nodes has the norm 0, and is like no other.
            scale = np.sqrt(np.where(norm > 0, norm, 1.0))
            made = total.copy()
            if self.normalise:
                made /= scale[rows][:, None]
                made /= scale[columns]
            yield made


class Machine:
    """Support vector machines on a kernel matrix: one for classes, else one per label column.

    iterations: the number of refinements that the kernel was made of.
    """

    def __init__(self, task: str, num_outputs: int, C: float, iterations: int = 0) -> None:
        self.task, self.num_outputs, self.C, self.iterations = task, num_outputs, C, iterations
        self.parts: list[_Part] = []

    def fit(self, kernel: NDArray[Any], y: NDArray[Any]) -> Machine:
        """kernel [n, n]; y [n] classes, or [n, T] with NaN for a missing label"""
        columns = [y] if self.task == "multiclass" else list(y.T)
        self.parts = [_Part(self.task, self.C, kernel, column) for column in columns]
        return self

    def outputs(self, kernel: NDArray[Any]) -> NDArray[Any]:
        """As a network's: the largest is the class [m, C], above 0 is yes, or values [m, T].

        kernel [m, n]: between new graphs and those of `fit`.
        """
        found = [part.outputs(kernel) for part in self.parts]
        if self.task == "multiclass":
            return np.eye(self.num_outputs)[found[0].astype(np.int64)]
        return np.stack(found, axis=1)

    @property
    def num_parameters(self) -> int:
        """Support vectors, counted once per machine."""
        return sum(0 if part.machine is None else len(part.machine.support_) for part in self.parts)


class _Part:
    """One machine on the graphs that have the label; a constant where there is one value only."""

    def __init__(self, task: str, C: float, kernel: NDArray[Any], y: NDArray[Any]) -> None:
        self.task, self.machine = task, None
        self.there: Any = slice(None)
        if np.isnan(y).any():
            self.there = np.flatnonzero(~np.isnan(y))
            y, kernel = y[self.there], kernel[np.ix_(self.there, self.there)]
        # Targets are fitted at mean 0 and deviation 1.
        self.mean, self.std = 0.0, 1.0
        if task == "regression" and len(y):
            self.mean, self.std = float(y.mean()), float(y.std()) or 1.0
        self.constant = float(y[0]) if len(y) else 0.0
        if len(np.unique(y)) > 1:
            self.machine = _machine(task, C, kernel, (y - self.mean) / self.std)

    def outputs(self, kernel: NDArray[Any]) -> NDArray[Any]:
        """The class, a score that is above 0 for yes, or the value. [m]"""
        if self.machine is None:
            level = 2 * self.constant - 1 if self.task == "binary" else self.constant
            return np.full(len(kernel), level)
        if self.task == "binary":
            return self.machine.decision_function(kernel[:, self.there])
        return self.machine.predict(kernel[:, self.there]) * self.std + self.mean


def _machine(task: str, C: float, kernel: NDArray[Any], y: NDArray[Any]) -> Any:
    from sklearn.svm import SVC, SVR

    # C shall mean the same for all kernels: it counts from graphs of mean square norm 1.
    unit = float(np.mean(np.diag(kernel))) or 1.0
    chosen = SVR if task == "regression" else SVC
    return chosen(kernel="precomputed", C=C / unit).fit(kernel, y)
