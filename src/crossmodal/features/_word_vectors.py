"""Word vectors learnt on captions, without a download.

With n_ij the number of times that words i and j are at most `window` apart in a caption, n_i and n
its sums, the positive pointwise mutual information and its D largest singular values are

    M_ij = max(0, ln(n_ij n / (n_i n_j))),   M ~ U S V',   x_i = U_i S^(1/2)

Source: O. Levy and Y. Goldberg, Neural word embedding as implicit matrix factorization, NIPS 2014:
word2vec's skip-grams factorise the same matrix, shifted.
"""

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import randomized_svd


def word_vectors(captions: list[np.ndarray], words: int, dims: int, window: int) -> np.ndarray:
    """Return vectors x (words, dims), on the principal axes of the words as often as they occur.

    Args:
        captions: Word ids of each caption, in 0 .. words - 1.
        words: Size of the vocabulary.
        dims: D, at most the number of words.
        window: Largest distance of two words that count.
    """
    counts = _neighbours(captions, words, window)
    totals = np.asarray(counts.sum(axis=1)).ravel()
    pairs = counts.tocoo()
    information = np.log(pairs.data * totals.sum() / (totals[pairs.row] * totals[pairs.col]))
    positive = information.clip(min=0), (pairs.row, pairs.col)
    matrix = sparse.csr_array(positive, shape=counts.shape)
    left, values, _ = randomized_svd(matrix, dims, random_state=0)
    return principal_axes(
        left * values**0.5, np.bincount(np.concatenate(captions), minlength=words)
    )


def principal_axes(x: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return rows (n, d), centred and rotated to uncorrelated columns of decreasing variance.

    Args:
        x: Rows.
        counts: How often each row counts, (n,).
    """
    shares = counts / counts.sum()
    x = x - shares @ x
    _, axes = np.linalg.eigh((x.T * shares) @ x)
    return x @ axes[:, ::-1]


def _neighbours(captions: list[np.ndarray], words: int, window: int) -> sparse.csr_array:
    """Return n_ij, symmetric (words, words)."""
    ids = np.concatenate(captions)
    owners = np.repeat(np.arange(len(captions)), [len(caption) for caption in captions])
    counts = sparse.csr_array((words, words))
    for distance in range(1, window + 1):
        together = owners[:-distance] == owners[distance:]
        pair = ids[:-distance][together], ids[distance:][together]
        counts += sparse.csr_array((np.ones(len(pair[0])), pair), shape=(words, words))
    return counts + counts.T
