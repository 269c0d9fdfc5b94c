"""Smoothness of projections over the nearest neighbours of each row."""

import numpy as np
import scipy.sparse
from scipy.special import expit
from sklearn.neighbors import kneighbors_graph
from sklearn.utils import gen_batches

from crossmodal.methods._linear.inputs import Inputs
from crossmodal.methods._linear.moments import cross_scatter

COLUMNS = 512  # multiplied at a time


def normalised_adjacency(rows: np.ndarray, neighbours: int) -> scipy.sparse.csr_array:
    """Return D^-1/2 K D^-1/2 (n, n) of the k-NN graph; the normalised Laplacian is I minus it.

    K_ij = 1 / (1 + exp(|x_i - x_j|)) if i is among the nearest neighbours of j or the reverse.
    Memory: 2 n k elements, and blocks of distances.

    Args:
        rows: (n, d).
        neighbours: k, at most n - 1 are taken.
    """
    k = min(neighbours, len(rows) - 1)
    graph = scipy.sparse.csr_array(kneighbors_graph(rows, k, mode="distance"))
    graph.data = expit(-graph.data)
    graph = graph.maximum(graph.T)
    scale = scipy.sparse.diags_array(1 / np.sqrt(graph.sum(axis=1)))
    return (scale @ graph @ scale).tocsr()


def smoothed_scatter(view: Inputs, neighbours: int) -> np.ndarray:
    """Return X' A X (d, d) of rows X and their `normalised_adjacency` A, in float64.

    Neighbours are searched, and their distances taken, in float32.
    Memory: X in float32, then A and twice `COLUMNS` columns of X.
    """
    adjacency = normalised_adjacency(view.every(np.float32), neighbours)
    parts = gen_batches(view.width, COLUMNS)
    return np.hstack([cross_scatter(view, adjacency @ view.every(columns=p)) for p in parts])
