"""Folds of cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.errors import InputError
from kwis.typing import Ints, Seed


def make_folds(n: int, k: int, rng: Seed = 0, group: Any = None) -> Ints:
    """Random fold labels ``0..k-1`` of ``n`` rows, as many rows in each as possible.

    With ``group`` (one label per row) whole groups stay together: they are dealt out in order of size, ties
    at random, each to the fold that has the fewest rows so far.

    Parameters
    ----------
    n
        Number of rows.
    k
        Number of folds.
    rng
        A seed or a generator.
    group
        One label per row, or None.

    Returns
    -------
    ndarray
        ``(n,)`` number of the fold of each row.

    See Also
    --------
    kwis.cv_score : takes the labels.
    kwis.select_bandwidth : draws folds like these itself.

    Examples
    --------
    >>> kwis.make_folds(6, 3)
    array([0, 2, 2, 1, 0, 1])
    """
    n = check.whole(n, "n", 1)
    return _dealt(n, check.fold_count(k, "k", n), "k", rng, group)


def as_folds(folds: Any, n: int, rng: Seed, group: Any) -> Ints:
    """Fold labels from a number of folds or from labels given."""
    if check.as_array(folds, "folds").ndim == 0:
        return _dealt(n, check.fold_count(folds, "folds", n), "folds", rng, group)
    return check.fold_labels(folds, n, rule="a number of folds or integer labels of shape (n,)")


def _dealt(n: int, k: int, name: str, rng: Seed, group: Any) -> Ints:
    generator = check.generator(rng)
    if group is None:
        return generator.permutation(np.arange(n) % k)
    labels = check.labels(group, "group", n, like="")
    sizes = np.bincount(labels)
    if sizes.size < k:
        raise InputError(
            f"`{name}` must not exceed the number of groups, got {k} folds for {sizes.size} groups"
        )
    shuffled = generator.permutation(sizes.size)
    filled, fold_of = np.zeros(k, dtype=np.int64), np.empty(sizes.size, dtype=np.int64)
    for member in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        fold_of[member] = np.argmin(filled)
        filled[fold_of[member]] += sizes[member]
    return fold_of[labels]
